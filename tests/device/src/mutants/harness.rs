//! The run: its own test first, then every mutant of every template on as many threads as there are processors.

use std::cell::Cell;
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
use super::report::{Demands, Row, faults, totals};
use super::sanitize::{Tool, under, watch_under};
use super::verdict::{Gate, How, Kill, Verdict};
use super::{Options, Survivor, automatic, choose, self_test, survivors, written};

/// So many instances may miss an automatic mutant before it counts as missed. A written one is tried on all that were chosen.
const AUTOMATIC_TRIES: usize = 2;
/// So many instances are compiled for an automatic mutant: most that leave one as it is are in code that no instance uses.
const AUTOMATIC_BUILDS: usize = 4;
/// How often each case of a mutant without a barrier runs.
const RACES: usize = 10;
/// Seconds for the mutant that must not end.
const ENDLESS: f64 = 5.0;
/// Launches take so many times longer under a sanitizer.
const SANITIZED: f64 = 3.0;

/// What runs mutants.
pub(super) struct Harness<'a> {
    pub(super) options: &'a Options,
    nvcc: Nvcc,
    program: PathBuf,
    on_device: (Mutex<usize>, Condvar),
    /// What is wrong beside mutants: kernels that are not clean as they are.
    unclean: Mutex<Vec<String>>,
}

/// A template with the instances that its mutants are tried on.
pub(super) struct Plan<'a> {
    pub(super) template: &'a Template,
    /// Where its text and `include` stand.
    pub(super) texts: &'a Path,
    controls: Vec<Control<'a>>,
    pub(super) survivors: Vec<Survivor>,
    /// How each process of it is started beside what is usual.
    pub(super) start: Start,
}

/// What the harness makes of a process on purpose, to test itself.
#[derive(Clone, Copy, Default)]
pub(super) struct Start {
    /// Without any case.
    pub(super) empty: bool,
    /// To end without a result, once for the kernel as it is and once for each mutant.
    pub(super) ends_early: bool,
}

/// An instance as it is: its machine code if it is green, or why it is not.
struct Control<'a> {
    instance: &'a Instance,
    made: OnceLock<Result<Vec<u8>, Verdict>>,
    /// Whether each tool of the sanitizer finds nothing in it.
    clean: [OnceLock<bool>; Tool::ALL.len()],
}

/// What a process runs.
struct Job<'a> {
    plan: &'a Plan<'a>,
    instance: &'a Instance,
    folder: &'a Path,
    bytes: &'a [u8],
    repeat: usize,
    timeout: f64,
    shared: bool,
    ends_early: bool,
    tool: Option<Tool>,
}

/// One mutant on its way: how long it waited for the device.
#[derive(Default)]
struct Waits(Cell<Duration>);

/// Runs `mutants`. True where every viable mutant is caught, and the harness judges as it should.
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
    let plan = |(index, template): (usize, _)| Plan::new(template, index, &instances, options);
    let chosen = templates.iter().enumerate().filter(|(_, t)| options.only.is_empty() || options.only.contains(&t.name));
    let plans: Vec<Plan> = chosen.skip(part).step_by(parts).map(plan).collect::<Result<_, _>>()?;
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let nvcc = Nvcc::new(&nvcc::find().map_err(|e| e.to_string())?, &options.cache)?;
    let on_device = (Mutex::new(options.at_once.max(1)), Condvar::new());
    let harness = Harness { options, nvcc, program, on_device, unclean: Mutex::default() };

    let start = Instant::now();
    let simplest = templates.iter().enumerate().find(|(_, t)| t.name == "scale").or(templates.iter().enumerate().next());
    self_test::run(&harness, || plan(simplest.ok_or("there is no template")?))?;

    let mut tasks = Vec::new();
    for plan in &plans {
        let mut list = written(&options.templates, &plan.template.name)?;
        list.extend(automatic(&options.templates, plan.template, options.automatic)?);
        tasks.extend(list.into_iter().enumerate().map(|(at, mutant)| (at, plan, mutant)));
    }
    // The first of every template first: instances as they are run side by side, too.
    tasks.sort_by_key(|(at, ..)| *at);
    let mut rows = in_parallel(&tasks, |(_, plan, mutant)| {
        let row = harness.one(plan, mutant);
        println!("{}", row.line());
        row
    });
    rows.sort_by(|a, b| a.template.cmp(&b.template));
    let is_whole = options.only.is_empty() && parts == 1 && !options.compile_only;
    let mut faults = faults(&rows, Demands { four: !options.compile_only, gates: is_whole });
    faults.extend(harness.unclean.into_inner().unwrap_or_else(PoisonError::into_inner));
    let seconds = start.elapsed().as_secs_f64();
    let (text, json) = totals(&rows, &faults, seconds);
    println!("{} mutants of {} templates in {seconds:.0} s", rows.len(), plans.len());
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

pub(super) fn in_parallel<T: Sync, R: Send>(tasks: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
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

impl<'a> Plan<'a> {
    fn new(template: &'a Template, index: usize, instances: &'a [Instance], options: &'a Options) -> Result<Self, String> {
        let own: Vec<&Instance> = instances.iter().filter(|i| i.template == index).collect();
        let control = |instance| Control { instance, made: OnceLock::new(), clean: Default::default() };
        let controls = choose(&own).into_iter().map(control).collect();
        let survivors = survivors(&options.templates, &template.name)?;
        Ok(Self { template, texts: &options.templates, controls, survivors, start: Start::default() })
    }
}

impl Harness<'_> {
    /// What becomes of one mutant: on the first instance that catches it, or on none.
    pub(super) fn one(&self, plan: &Plan, mutant: &Mutant) -> Row {
        let folder = self.options.folder.join(&plan.template.name).join(mutant.folder());
        let (start, waits) = (Instant::now(), Waits::default());
        let (verdict, instance) = self.judge(plan, mutant, &folder, &waits);
        if matches!(verdict, Verdict::Caught(_) | Verdict::Equivalent | Verdict::Built) {
            // What is left behind costs nothing but room.
            let _ = std::fs::remove_dir_all(&folder);
        }
        let instance = instance.map(|instance| instance.name.clone());
        let seconds = start.elapsed().saturating_sub(waits.0.get()).as_secs_f64();
        Row { template: plan.template.name.clone(), mutant: mutant.clone(), instance, verdict, seconds }
    }

    fn judge<'p>(&self, plan: &'p Plan, mutant: &Mutant, folder: &Path, waits: &Waits) -> (Verdict, Option<&'p Instance>) {
        // A folder of an earlier run may hold files that there are no more.
        let _ = std::fs::remove_dir_all(folder);
        let template = match apply(&mutant.change, plan.texts, plan.template, folder) {
            Ok(template) => template,
            Err(why) => return (Verdict::NotApplied(why), None),
        };
        let is_written = mutant.origin == Origin::Written;
        let (tries, builds) = if is_written { (usize::MAX, usize::MAX) } else { (AUTOMATIC_TRIES, AUTOMATIC_BUILDS) };
        let mut missed: Vec<(&Control, Vec<u8>)> = Vec::new();
        let (mut unviable, mut elsewhere) = (None, None);
        for control in plan.controls.iter().take(builds) {
            let original = match control.made.get_or_init(|| self.control(plan, control.instance, waits)) {
                Ok(bytes) => bytes,
                Err(verdict) => return (verdict.clone(), Some(control.instance)),
            };
            let changed = mutant.change.instance(control.instance);
            let bytes = match build(&self.nvcc, folder, &template, &changed) {
                Ok(bytes) if bytes == *original => continue,
                Ok(bytes) => bytes,
                Err(Refusal::Asserted(why)) if mutant.origin == Origin::Parameter || mutant.gate == Some(Gate::Build) => {
                    return (Verdict::Caught(Kill::by(Gate::Build, How::Build, why)), Some(control.instance));
                }
                Err(Refusal::Asserted(why) | Refusal::Other(why)) => {
                    unviable = Some((Verdict::Unviable(why), Some(control.instance)));
                    if is_written { continue } else { break }
                }
            };
            if self.options.compile_only {
                return (Verdict::Built, Some(control.instance));
            }
            match self.run(plan, mutant, control.instance, folder, &bytes, waits) {
                Verdict::Missed => missed.push((control, bytes)),
                Verdict::Caught(kill) if mutant.gate.is_some_and(|gate| !kill.gates.contains(&gate)) => {
                    elsewhere = Some((Verdict::CaughtElsewhere(kill), Some(control.instance)));
                    if mutant.gate == Some(Gate::Sanitizer) {
                        missed.push((control, bytes));
                    }
                }
                verdict => return (verdict, Some(control.instance)),
            }
            if missed.len() == tries {
                break;
            }
        }
        if mutant.gate.is_none_or(|gate| gate == Gate::Sanitizer) {
            for (control, bytes) in &missed {
                if let Some(verdict) = self.sanitize(plan, mutant, control, folder, bytes, waits) {
                    return (verdict, Some(control.instance));
                }
            }
        }
        let reason = || plan.survivors.iter().find(|known| known.matches(mutant, plan.texts, &plan.template.name));
        match (elsewhere, missed.first(), unviable) {
            (Some(elsewhere), ..) => elsewhere,
            (None, Some((first, _)), _) => {
                let verdict = reason().map_or(Verdict::Missed, |known| Verdict::Survives(known.because.clone()));
                (verdict, Some(first.instance))
            }
            (None, None, Some(unviable)) => unviable,
            (None, None, None) if plan.controls.is_empty() => (Verdict::ControlEmpty, None),
            (None, None, None) => (Verdict::Equivalent, None),
        }
    }

    /// A mutant through all gates but the sanitizer.
    fn run(&self, plan: &Plan, mutant: &Mutant, instance: &Instance, folder: &Path, bytes: &[u8], waits: &Waits) -> Verdict {
        let job = Job {
            plan,
            instance,
            folder,
            bytes,
            repeat: if mutant.origin == Origin::Barrier { RACES } else { 1 },
            timeout: if mutant.origin == Origin::SelfTest { self.options.timeout.min(ENDLESS) } else { self.options.timeout },
            shared: mutant.shared,
            ends_early: plan.start.ends_early,
            tool: None,
        };
        self.process(&job, waits)
    }

    /// What the first tool finds that finds nothing in the kernel as it is.
    fn sanitize(
        &self,
        plan: &Plan,
        mutant: &Mutant,
        control: &Control,
        folder: &Path,
        bytes: &[u8],
        waits: &Waits,
    ) -> Option<Verdict> {
        for &tool in Tool::of(mutant.origin) {
            let is_clean = control.clean[tool as usize].get_or_init(|| {
                let Some(Ok(original)) = control.made.get() else { return false };
                let folder = self.folder_of(control.instance, plan, tool.name());
                if std::fs::create_dir_all(&folder).is_err() {
                    return false;
                }
                let verdict = self.process(&self.under(tool, plan, control.instance, &folder, original), waits);
                if verdict != Verdict::Missed {
                    let text = format!(
                        "{} as it is, under {}: {} {}",
                        control.instance.name,
                        tool.name(),
                        verdict.name(),
                        verdict.text()
                    );
                    self.unclean.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                }
                verdict == Verdict::Missed
            });
            if !is_clean {
                continue;
            }
            match self.process(&self.under(tool, plan, control.instance, folder, bytes), waits) {
                Verdict::Missed => {}
                verdict => return Some(verdict),
            }
        }
        None
    }

    fn under<'j>(&self, tool: Tool, plan: &'j Plan, instance: &'j Instance, folder: &'j Path, bytes: &'j [u8]) -> Job<'j> {
        let timeout = SANITIZED * self.options.timeout;
        Job { plan, instance, folder, bytes, repeat: 1, timeout, shared: false, ends_early: false, tool: Some(tool) }
    }

    fn folder_of(&self, instance: &Instance, plan: &Plan, what: &str) -> PathBuf {
        self.options.folder.join(&plan.template.name).join(format!("{what}-{}", instance.name))
    }

    /// The machine code of an instance as it is, which must be green over at least one case.
    fn control(&self, plan: &Plan, instance: &Instance, waits: &Waits) -> Result<Vec<u8>, Verdict> {
        let template = Template { folder: plan.texts.join(&plan.template.name), ..plan.template.clone() };
        let bytes = build(&self.nvcc, plan.texts, &template, instance)
            .map_err(|why| Verdict::ControlRed(format!("it does not build: {why:?}")))?;
        if self.options.compile_only {
            return Ok(bytes);
        }
        let folder = self.folder_of(instance, plan, "control");
        std::fs::create_dir_all(&folder).map_err(|e| Verdict::Broken(format!("{}: {e}", folder.display())))?;
        let timeout = self.options.timeout;
        let job = Job {
            plan,
            instance,
            folder: &folder,
            bytes: &bytes,
            repeat: 1,
            timeout,
            shared: false,
            ends_early: false,
            tool: None,
        };
        match self.process(&job, waits) {
            Verdict::Missed => Ok(bytes),
            Verdict::Caught(kill) => Err(Verdict::ControlRed(format!("{}: {}", kill.how.name(), kill.text))),
            other => Err(other),
        }
    }

    /// Runs a process, when one more may.
    fn process(&self, job: &Job, waits: &Waits) -> Verdict {
        let Job { plan, instance, folder, bytes, repeat, .. } = job;
        let stem = job.tool.map_or("plain", Tool::name);
        let (cubin, result) = (folder.join("code.cubin"), folder.join(format!("{stem}.json")));
        if let Err(e) = std::fs::write(&cubin, bytes) {
            return Verdict::Broken(format!("{}: {e}", cubin.display()));
        }
        let mut command = match job.tool {
            Some(tool) => under(&self.options.sanitizer, tool, &result, &self.program),
            None => Command::new(&self.program),
        };
        command.arg("mutant-case");
        let paths = [
            ("--templates", &self.options.templates),
            ("--instances", &self.options.instances),
            ("--cubin", &cubin),
            ("--result", &result),
        ];
        paths.iter().for_each(|(name, path)| _ = command.arg(name).arg(path));
        command.args(["--template", &plan.template.name, "--instance", &instance.name, "--repeat", &repeat.to_string()]);
        let flags = [("--shared", job.shared), ("--sanitized", job.tool.is_some()), ("--ends-early", job.ends_early)];
        command.args(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag));
        if plan.start.empty {
            command.args(["--cases", "0"]);
        }
        let start = Instant::now();
        let _turn = Turn::take(&self.on_device);
        waits.0.set(waits.0.get() + start.elapsed());
        let limit = Duration::from_secs_f64(job.timeout);
        match job.tool {
            Some(tool) => watch_under(tool, &mut command, &result, limit),
            None => watch(&mut command, &result, limit).verdict,
        }
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
