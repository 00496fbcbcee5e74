//! The run: its own test first, then every mutant of every template on as many threads as there are processors.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tenon_compiler::driver::nvcc::{self, Nvcc};

use crate::instance::Instance;
use crate::template::Template;

use super::build::{Refusal, build};
use super::change::{Mutant, Origin, apply};
use super::process::watch;
use super::report::{Row, faults, totals};
use super::self_test::self_tests;
use super::verdict::{How, Verdict};
use super::{Options, automatic, choose, written};

/// So many instances may miss an automatic mutant before it counts as missed. A written one is tried on all that were chosen.
const AUTOMATIC_TRIES: usize = 2;
/// So many instances are compiled for an automatic mutant: most that leave one as it is are in code that no instance uses.
const AUTOMATIC_BUILDS: usize = 4;
/// How often each case of a mutant without a barrier runs.
const RACES: usize = 10;
/// Seconds for the mutant that must not end.
const ENDLESS: f64 = 5.0;

struct Harness<'a> {
    options: &'a Options,
    nvcc: Nvcc,
    program: PathBuf,
    on_device: (Mutex<usize>, Condvar),
}

/// A template with the instances that its mutants are tried on.
struct Plan<'a> {
    template: &'a Template,
    controls: Vec<Control<'a>>,
}

/// An instance as it is: its machine code if it is green, or why it is not.
struct Control<'a> {
    instance: &'a Instance,
    made: OnceLock<Result<Vec<u8>, Verdict>>,
}

/// What a process runs.
struct Job<'a> {
    template: &'a Template,
    instance: &'a Instance,
    folder: &'a Path,
    bytes: &'a [u8],
    /// What the manifest says, where that is not what the instance says.
    manifest: Vec<u32>,
    repeat: usize,
    timeout: f64,
}

/// Runs `mutants`. True where every written mutant is caught, and the harness judges as it should.
///
/// # Errors
/// No nvcc, files that cannot be read or written, and a harness that misjudges itself.
pub fn mutants(options: &Options) -> Result<bool, String> {
    let templates = Template::all(&options.templates)?;
    let instances = Instance::listed(&templates, &options.instances, &[])?;
    if let Some(stranger) = options.only.iter().find(|name| !templates.iter().any(|t| t.name == **name)) {
        return Err(format!("there is no template `{stranger}`"));
    }
    let (part, parts) = shard(options.shard.as_deref())?;
    let plan = |(index, template)| {
        let own: Vec<&Instance> = instances.iter().filter(|i| i.template == index).collect();
        let controls = choose(&own).into_iter().map(|instance| Control { instance, made: OnceLock::new() });
        Plan { template, controls: controls.collect() }
    };
    let chosen = templates.iter().enumerate().filter(|(_, t)| options.only.is_empty() || options.only.contains(&t.name));
    let plans: Vec<Plan> = chosen.skip(part).step_by(parts).map(plan).collect();
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let nvcc = Nvcc::new(&nvcc::find().map_err(|e| e.to_string())?, &options.cache)?;
    let harness = Harness { options, nvcc, program, on_device: (Mutex::new(options.at_once.max(1)), Condvar::new()) };

    let simplest = templates.iter().enumerate().find(|(_, t)| t.name == "scale").or(templates.iter().enumerate().next());
    harness.test_itself(&plan(simplest.ok_or("there is no template")?))?;

    let mut tasks = Vec::new();
    for plan in &plans {
        let mut list = written(&options.templates, &plan.template.name)?;
        list.extend(automatic(&options.templates, plan.template, options.automatic)?);
        tasks.extend(list.into_iter().enumerate().map(|(at, mutant)| (at, plan, mutant)));
    }
    // The first of every template first: instances as they are run side by side, too.
    tasks.sort_by_key(|(at, ..)| *at);
    let start = Instant::now();
    let mut rows = in_parallel(&tasks, |(_, plan, mutant)| {
        let row = harness.one(plan, mutant);
        println!("{}", row.line());
        row
    });
    rows.sort_by(|a, b| a.template.cmp(&b.template));
    let faults = faults(&rows, options.compile_only, options.survivors);
    let (text, json) = totals(&rows, &faults);
    println!("{} mutants of {} templates in {:.0} s", rows.len(), plans.len(), start.elapsed().as_secs_f64());
    print!("{text}");
    if let Some(path) = &options.json {
        std::fs::write(path, json.to_string()).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(json["failed"] == 0)
}

/// Which of how many parts, the first being 0.
fn shard(text: Option<&str>) -> Result<(usize, usize), String> {
    let Some(text) = text else { return Ok((0, 1)) };
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
    let (part, parts) = parts.filter(|(i, n)| (1..=*n).contains(i)).ok_or_else(|| format!("`{text}` is no part such as 1/4"))?;
    Ok((part - 1, parts))
}

fn in_parallel<T: Sync, R: Send>(tasks: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(at) else { break };
                    let result = work(task);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

impl Harness<'_> {
    /// Mutants with known verdicts must get them.
    fn test_itself(&self, plan: &Plan) -> Result<(), String> {
        let tests = self_tests(&self.options.templates, &plan.template.name)?;
        let rows = in_parallel(&tests, |(mutant, _)| self.one(plan, mutant));
        for (row, (_, expected)) in rows.iter().zip(&tests) {
            let how = if let Verdict::Caught(how, _) = &row.verdict { Some(*how) } else { None };
            let needs_device = matches!(expected, (_, Some(_))) || expected.0 == "missed";
            let expected = if self.options.compile_only && needs_device { ("built", None) } else { *expected };
            if (row.verdict.name(), how) != expected {
                return Err(format!("the harness misjudges: {}", row.line()));
            }
        }
        println!("the harness judges {} mutants of {} as it should", tests.len(), plan.template.name);
        Ok(())
    }

    /// What becomes of one mutant: on the first instance that catches it, or on none.
    fn one(&self, plan: &Plan, mutant: &Mutant) -> Row {
        let folder = self.options.folder.join(&plan.template.name).join(mutant.folder());
        let (verdict, instance) = self.judge(plan, mutant, &folder);
        if matches!(verdict, Verdict::Caught(..) | Verdict::Equivalent | Verdict::Built) {
            // What is left behind costs nothing but room.
            let _ = std::fs::remove_dir_all(&folder);
        }
        let instance = instance.map(|instance| instance.name.clone());
        Row { template: plan.template.name.clone(), mutant: mutant.clone(), instance, verdict }
    }

    fn judge<'p>(&self, plan: &'p Plan, mutant: &Mutant, folder: &Path) -> (Verdict, Option<&'p Instance>) {
        // A folder of an earlier run may hold files that there are no more.
        let _ = std::fs::remove_dir_all(folder);
        let template = match apply(&mutant.change, &self.options.templates, plan.template, folder) {
            Ok(template) => template,
            Err(why) => return (Verdict::NotApplied(why), None),
        };
        let is_written = mutant.origin == Origin::Written;
        let (tries, builds) = if is_written { (usize::MAX, usize::MAX) } else { (AUTOMATIC_TRIES, AUTOMATIC_BUILDS) };
        let mut missed = Vec::new();
        let mut unviable = None;
        for control in plan.controls.iter().take(builds) {
            let original = match control.made.get_or_init(|| self.control(plan.template, control.instance)) {
                Ok(bytes) => bytes,
                Err(verdict) => return (verdict.clone(), Some(control.instance)),
            };
            let changed = mutant.change.instance(control.instance);
            let bytes = match build(&self.nvcc, folder, &template, &changed) {
                Ok(bytes) if bytes == *original => continue,
                Ok(bytes) => bytes,
                Err(Refusal::Asserted(why)) if mutant.origin == Origin::Parameter => {
                    return (Verdict::Caught(How::Build, why), Some(control.instance));
                }
                Err(Refusal::Asserted(why) | Refusal::Other(why)) => {
                    unviable = Some((Verdict::Unviable(why), Some(control.instance)));
                    if is_written { continue } else { break }
                }
            };
            if self.options.compile_only {
                return (Verdict::Built, Some(control.instance));
            }
            let job = Job {
                template: plan.template,
                instance: control.instance,
                folder,
                bytes: &bytes,
                // An instance that says of itself what it is would be refused at once, and nothing of it would run.
                manifest: if mutant.origin == Origin::Parameter { changed.manifest() } else { Vec::new() },
                repeat: if mutant.origin == Origin::Barrier { RACES } else { 1 },
                timeout: if mutant.origin == Origin::SelfTest { self.options.timeout.min(ENDLESS) } else { self.options.timeout },
            };
            match self.process(&job) {
                Verdict::Missed => missed.push(control.instance),
                verdict => return (verdict, Some(control.instance)),
            }
            if missed.len() == tries {
                break;
            }
        }
        match (missed.first(), unviable) {
            (Some(first), _) => (Verdict::Missed, Some(*first)),
            (None, Some(unviable)) => unviable,
            (None, None) if plan.controls.is_empty() => (Verdict::ControlEmpty, None),
            (None, None) => (Verdict::Equivalent, None),
        }
    }

    /// The machine code of an instance as it is, which must be green over at least one case.
    fn control(&self, template: &Template, instance: &Instance) -> Result<Vec<u8>, Verdict> {
        let bytes = build(&self.nvcc, &self.options.templates, template, instance)
            .map_err(|why| Verdict::ControlRed(format!("it does not build: {why:?}")))?;
        if self.options.compile_only {
            return Ok(bytes);
        }
        let folder = self.options.folder.join(&template.name).join(format!("control-{}", instance.name));
        std::fs::create_dir_all(&folder).map_err(|e| Verdict::Broken(format!("{}: {e}", folder.display())))?;
        let verdict = self.process(&Job {
            template,
            instance,
            folder: &folder,
            bytes: &bytes,
            manifest: Vec::new(),
            repeat: 1,
            timeout: self.options.timeout,
        });
        match verdict {
            Verdict::Missed => Ok(bytes),
            Verdict::Caught(how, text) => Err(Verdict::ControlRed(format!("{}: {text}", how.name()))),
            other => Err(other),
        }
    }

    /// Runs a process, when one more may.
    fn process(&self, job: &Job) -> Verdict {
        let Job { template, instance, folder, bytes, manifest, repeat, timeout } = job;
        let (cubin, result) = (folder.join("code.cubin"), folder.join("result.json"));
        if let Err(e) = std::fs::write(&cubin, bytes) {
            return Verdict::Broken(format!("{}: {e}", cubin.display()));
        }
        let mut command = Command::new(&self.program);
        command.arg("mutant-case");
        let paths = [
            ("--templates", &self.options.templates),
            ("--instances", &self.options.instances),
            ("--cubin", &cubin),
            ("--result", &result),
        ];
        paths.iter().for_each(|(name, path)| _ = command.arg(name).arg(path));
        command.args(["--template", &template.name, "--instance", &instance.name, "--repeat", &repeat.to_string()]);
        if !manifest.is_empty() {
            let numbers: Vec<String> = manifest.iter().map(u32::to_string).collect();
            command.args(["--manifest", &numbers.join(",")]);
        }
        let _turn = Turn::take(&self.on_device);
        watch(&mut command, &result, Duration::from_secs_f64(*timeout))
    }
}

/// The right to use the device, until it is dropped.
struct Turn<'a>(&'a (Mutex<usize>, Condvar));

impl<'a> Turn<'a> {
    fn take(of: &'a (Mutex<usize>, Condvar)) -> Self {
        let free = of.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = of.1.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Self(of)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.1.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(shard(None).unwrap(), (0, 1));
        assert_eq!(shard(Some("2/3")).unwrap(), (1, 3));
        assert!(shard(Some("0/3")).is_err() && shard(Some("4/3")).is_err() && shard(Some("x")).is_err());
    }

    #[test]
    fn results_come_in_order_and_turns_are_given_back() {
        let device = (Mutex::new(2), Condvar::new());
        let tasks: Vec<usize> = (0..50).collect();
        let doubled = in_parallel(&tasks, |n| {
            let _turn = Turn::take(&device);
            2 * n
        });
        assert_eq!(doubled, (0..50).map(|n| 2 * n).collect::<Vec<_>>());
        assert_eq!(*device.0.lock().unwrap(), 2);
    }
}
