//! The run: its own test first, then every mutant of every template on as many threads as there are processors.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenon_compiler::driver::nvcc::{self, Nvcc};

use crate::instance::Instance;
use crate::parallel::{in_parallel, part, threads};
use crate::template::Template;

use super::build::{Refusal, build};
use super::change::{Mutant, Origin, apply};
use super::parallel::Turn;
use super::plan::{Control, Plan};
use super::process::{Task, Worker};
use super::report::{Demands, Row, faults, totals};
use super::sanitize::{Tool, under, work_under};
use super::verdict::{Gate, How, Kill, Verdict};
use super::{Options, automatic, self_test, written};

/// So many instances may miss an automatic mutant before it counts as missed. A written one is tried on all that were chosen.
const AUTOMATIC_TRIES: usize = 4;
/// So many instances are compiled for an automatic mutant: most that leave one as it is are in code that no instance uses.
const AUTOMATIC_BUILDS: usize = 6;
/// So many of those that missed it run under a sanitizer.
const SANITIZED_TRIES: usize = 2;
/// How often each case of a mutant without a barrier runs.
const RACES: usize = 10;
/// Seconds for the mutant that must not end.
const ENDLESS: f64 = 5.0;
/// Launches take so many times longer under a sanitizer.
const SANITIZED: f64 = 3.0;

/// What runs mutants.
pub(super) struct Harness<'a> {
    pub(super) options: &'a Options,
    pub(super) nvcc: Nvcc,
    pub(super) program: PathBuf,
    pub(super) on_device: (Mutex<usize>, Condvar),
    /// Sanitizers take seconds, most of them on the host: they wait for each other, and nobody for them.
    sanitized: (Mutex<usize>, Condvar),
    /// What is wrong beside mutants: kernels that are not clean as they are.
    unclean: Mutex<Vec<String>>,
    /// Processes that wait for a mutant, and how many were started.
    workers: Mutex<Vec<Worker>>,
    started: AtomicUsize,
    /// Whether goldens pass as they are, by the beginning of their names.
    pub(super) goldens: Mutex<BTreeMap<String, Verdict>>,
}

/// What a process runs.
struct Job<'a> {
    plan: &'a Plan<'a>,
    instance: &'a Instance,
    folder: &'a Path,
    bytes: &'a [u8],
    /// The folder with the kernel as it is.
    control: Option<&'a Path>,
    repeat: usize,
    timeout: f64,
    shared: bool,
    ends_early: bool,
    tool: Option<Tool>,
}

/// One mutant on its way: how long it waited for the device.
#[derive(Default)]
pub(super) struct Waits(pub(super) Cell<Duration>);

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
    let plan = |(index, template): (usize, _)| Plan::new(template, index, &instances, options);
    let chosen = templates.iter().enumerate().filter(|(_, t)| options.only.is_empty() || options.only.contains(&t.name));
    let chosen = part(chosen.collect(), options.shard.as_deref())?;
    let plans: Vec<Plan> = chosen.into_iter().map(plan).collect::<Result<_, _>>()?;
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let nvcc = Nvcc::new(&nvcc::find().map_err(|e| e.to_string())?, &options.cache)?;
    let turns = || (Mutex::new(options.at_once.max(1)), Condvar::new());
    let harness = Harness {
        options,
        nvcc,
        program,
        on_device: turns(),
        sanitized: turns(),
        unclean: Mutex::default(),
        goldens: Mutex::default(),
        workers: Mutex::default(),
        started: AtomicUsize::new(0),
    };

    let start = Instant::now();
    let simplest = templates.iter().enumerate().find(|(_, t)| t.name == "scale").or(templates.iter().enumerate().next());
    self_test::run(&harness, || plan(simplest.ok_or("there is no template")?))?;

    let mut tasks = Vec::new();
    for plan in &plans {
        let mut list = written(&options.templates, &plan.template.name)?;
        list.extend(automatic(&options.templates, plan.template, options.automatic)?);
        tasks.extend(list.into_iter().map(|mutant| (plan, mutant)));
    }
    let is_whole = options.only.is_empty() && options.shard.is_none() && !options.compile_only;
    let known: Mutex<Vec<Row>> = Mutex::default();
    in_parallel(&tasks, threads(), |(plan, mutant)| {
        let row = if start.elapsed().as_secs_f64() > options.seconds {
            let verdict = Verdict::Broken(format!("no time was left for it after {:.0} s", options.seconds));
            Row { template: plan.template.name.clone(), mutant: mutant.clone(), instance: None, verdict, seconds: 0.0 }
        } else {
            harness.one(plan, mutant)
        };
        println!("{}", row.line());
        let mut rows = known.lock().unwrap_or_else(PoisonError::into_inner);
        rows.push(row);
        // A run that is cut leaves what it knows. That this cannot be written is told at the end.
        let _ = keep(options, &totals(&rows, &["the run was cut".to_owned()], start.elapsed().as_secs_f64()).1);
    });
    let mut rows = known.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by(|a, b| (&a.template, &a.mutant.name).cmp(&(&b.template, &b.mutant.name)));
    let mut faults = faults(&rows, Demands { four: !options.compile_only, gates: is_whole });
    faults.extend(harness.unclean.into_inner().unwrap_or_else(PoisonError::into_inner));
    faults.extend(plans.iter().flat_map(|plan| plan.contradicted(&rows)));
    let seconds = start.elapsed().as_secs_f64();
    let (text, json) = totals(&rows, &faults, seconds);
    println!("{} mutants of {} templates in {seconds:.0} s", rows.len(), plans.len());
    print!("{text}");
    keep(options, &json)?;
    Ok(json["failed"] == 0)
}

/// Writes results where they are wanted, whole or not at all.
fn keep(options: &Options, results: &serde_json::Value) -> Result<(), String> {
    let Some(path) = &options.json else { return Ok(()) };
    let half = path.with_extension("half");
    std::fs::write(&half, results.to_string())
        .and_then(|()| std::fs::rename(&half, path))
        .map_err(|e| format!("{}: {e}", path.display()))
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
        let (tries, builds) = match mutant.gate {
            // No case is to notice, so not all of them are asked.
            Some(Gate::Sanitizer | Gate::Goldens) => (AUTOMATIC_TRIES, usize::MAX),
            Some(_) => (usize::MAX, usize::MAX),
            None => (AUTOMATIC_TRIES, AUTOMATIC_BUILDS),
        };
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
                Err(Refusal::Asserted(why)) if mutant.may_be_refused() => {
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
                Verdict::Caught(kill) if mutant.gate.is_some_and(|gate| !kill.is_by(gate)) => {
                    elsewhere = Some((Verdict::CaughtElsewhere(kill), Some(control.instance)));
                    missed.push((control, bytes));
                }
                verdict => return (verdict, Some(control.instance)),
            }
            if missed.len() == tries {
                break;
            }
        }
        if mutant.gate.is_none_or(|gate| gate == Gate::Sanitizer) {
            for (control, bytes) in missed.iter().take(SANITIZED_TRIES) {
                if let Some(verdict) = self.sanitize(plan, mutant, control, folder, bytes, waits) {
                    let before = elsewhere.as_ref().and_then(|(verdict, _)| verdict.kill());
                    return (verdict.after(before), Some(control.instance));
                }
            }
        }
        if mutant.gate == Some(Gate::Goldens) && !missed.is_empty() {
            let verdict = self.with_goldens(plan, mutant, &template, folder, waits).unwrap_or_else(Verdict::Broken);
            let before = elsewhere.as_ref().and_then(|(verdict, _)| verdict.kill());
            return (verdict.after(before), None);
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
        let control = self.folder_of(instance, plan, "control");
        let job = Job {
            plan,
            instance,
            folder,
            bytes,
            control: Some(&control),
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
            // That it does not end in time says nothing: the tool makes it slow.
            let verdict = self.process(&self.under(tool, plan, control.instance, folder, bytes), waits);
            if verdict.kill().is_some_and(|kill| kill.gates == [Gate::Sanitizer]) {
                return Some(verdict);
            }
        }
        None
    }

    fn under<'j>(&self, tool: Tool, plan: &'j Plan, instance: &'j Instance, folder: &'j Path, bytes: &'j [u8]) -> Job<'j> {
        let timeout = SANITIZED * self.options.timeout;
        Job {
            plan,
            instance,
            folder,
            bytes,
            control: None,
            repeat: 1,
            timeout,
            shared: false,
            ends_early: false,
            tool: Some(tool),
        }
    }

    fn folder_of(&self, instance: &Instance, plan: &Plan, what: &str) -> PathBuf {
        self.options.folder.join(&plan.template.name).join(format!("{what}{}-{}", plan.label, instance.name))
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
            control: None,
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

    /// Judges machine code, when one more may: in a process that judged others before, unless there is reason to doubt that.
    fn process(&self, job: &Job, waits: &Waits) -> Verdict {
        let stem = job.tool.map_or("plain", Tool::name);
        let cubin = job.folder.join("code.cubin");
        if let Err(e) = std::fs::write(&cubin, job.bytes) {
            return Verdict::Broken(format!("{}: {e}", cubin.display()));
        }
        let task = Task {
            template: job.plan.template.name.clone(),
            instance: job.instance.name.clone(),
            cubin,
            control: job.control.map(|control| control.join("code.cubin")),
            result: job.folder.join(format!("{stem}.json")),
            repeat: job.repeat,
            cases: if job.plan.start.empty { 0 } else { usize::MAX },
            shared: job.shared,
            ends_early: job.ends_early,
        };
        let start = Instant::now();
        let _turn = Turn::take(if job.tool.is_some() { &self.sanitized } else { &self.on_device });
        waits.0.set(waits.0.get() + start.elapsed());
        let limit = Duration::from_secs_f64(job.timeout);
        if let Some(tool) = job.tool {
            let log = job.folder.join(format!("{stem}.log"));
            let mut command = under(&self.options.sanitizer, tool, &log, &self.program);
            return work_under(tool, self.arguments(&mut command).arg("--sanitized"), &log, &task, limit);
        }
        let idle = || self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let mut worker = match waiting.map_or_else(|| self.worker(), Ok) {
            Ok(worker) => worker,
            Err(why) => return Verdict::Broken(why),
        };
        let (outcome, goes_on) = worker.work(&task, limit);
        if goes_on {
            idle().push(worker);
        }
        if !outcome.is_doubtful {
            return outcome.verdict;
        }
        match self.worker() {
            Ok(alone) => alone.work_alone(&task, limit).verdict,
            Err(why) => Verdict::Broken(why),
        }
    }

    /// A process that has judged nothing.
    fn worker(&self) -> Result<Worker, String> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let errors = self.options.folder.join(format!("worker-{number}.err"));
        Worker::start(self.arguments(&mut Command::new(&self.program)), errors)
    }

    fn arguments<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .arg("mutant-worker")
            .arg("--templates")
            .arg(&self.options.templates)
            .arg("--instances")
            .arg(&self.options.instances)
    }
}
