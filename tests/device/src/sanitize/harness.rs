//! The run: everything is compiled first, then every tool looks at every build, and at the planted faults.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tenon_compiler::driver::nvcc::{self, Job, Nvcc};

use crate::instance::Instance;
use crate::mutants::choose;
use crate::parallel::in_parallel;
use crate::template::Template;

use super::plan::{Plan, Unit};
use super::planted::plant;
use super::process::{Outcome, Runner};
use super::report::{Report, Row, Seen};
use super::settings::{Fault, Settings, Watcher, settings};
use super::tool::{Build, Tool};
use super::{MOST_INSTANCES, Options, log};

/// So many cases of the fault at the end of each process: a process that has come to them has shown what it must.
const CASES_AT_THE_END: usize = 2;

/// An instance that is run, with what nvcc is given for it.
struct Chosen<'a> {
    template: &'a Template,
    instance: &'a Instance,
    job: Job,
}

/// A fault in the first instance whose machine code it changes.
struct Planted<'a> {
    fault: &'a Fault,
    unit: Unit,
}

/// A plan, and whose it is.
struct Task {
    tool: Tool,
    of: Of,
    plan: Plan,
    folder: String,
}

impl Task {
    /// The units without the planted fault at the end.
    fn kernels(&self) -> &[Unit] {
        &self.plan.units[..self.plan.units.len() - usize::from(self.plan.shows.is_some())]
    }
}

enum Of {
    /// Kernels as they are.
    Kernels(Build),
    /// The planted fault of this number.
    Fault(usize),
}

/// What `sanitize` would run with its defaults, in words: it needs a device.
///
/// # Errors
/// A file that cannot be read.
pub fn suite(templates: &[Template], instances: &[Instance], path: &Path) -> Result<String, String> {
    let faults = settings(path)?.fault.len();
    let count = |(index, _): (usize, &Template)| {
        let own: Vec<&Instance> = instances.iter().filter(|i| i.template == index).collect();
        choose(&own).len().min(MOST_INSTANCES)
    };
    let instances: usize = templates.iter().enumerate().map(count).sum();
    Ok(format!("{} tools over {instances} instances in {} builds, {faults} planted faults", Tool::ALL.len(), Build::ALL.len()))
}

/// Runs `sanitize`. True where every tool saw every kernel and found nothing, and every planted fault was seen.
///
/// # Errors
/// No nvcc, no compute-sanitizer, and files that cannot be read or written.
pub fn sanitize(options: &Options) -> Result<bool, String> {
    let templates = Template::all(&options.templates)?;
    let settings = settings(&options.settings)?;
    if let Some(stranger) = options.only.iter().find(|name| !templates.iter().any(|t| t.name == **name)) {
        return Err(format!("there is no template `{stranger}`"));
    }
    let instances = Instance::listed(&templates, &options.instances, &[])?;
    let wanted: Vec<(usize, &Template)> = templates
        .iter()
        .enumerate()
        .filter(|(_, template)| options.only.is_empty() || options.only.contains(&template.name))
        .collect();
    let wanted = crate::part(wanted, options.shard.as_deref())?;
    let mut chosen = Vec::new();
    for (index, template) in &wanted {
        let own: Vec<&Instance> = instances.iter().filter(|i| i.template == *index).collect();
        for instance in choose(&own).into_iter().take(options.most_instances.max(1)) {
            chosen.push(Chosen { template, instance, job: job(&options.templates, template, instance)? });
        }
    }
    let tools: BTreeSet<Tool> =
        if options.tools.is_empty() { Tool::ALL.into_iter().collect() } else { options.tools.iter().copied().collect() };

    let start = Instant::now();
    let nvcc = Nvcc::new(&nvcc::find().map_err(|e| e.to_string())?, &options.cache)?;
    std::fs::create_dir_all(&options.folder).map_err(|e| format!("{}: {e}", options.folder.display()))?;
    let builds: Vec<Nvcc> = Build::ALL.iter().map(|build| nvcc.clone().with_defines(build.defines().iter().copied())).collect();
    // Of all templates, whichever are asked for: they show that the tools see anything at all.
    let faults: Vec<&Fault> = settings.fault.iter().filter(|fault| tools.contains(&fault.watcher.tool())).collect();
    let mut units: Vec<Vec<Unit>> = Vec::new();
    for (build, nvcc) in Build::ALL.iter().zip(&builds) {
        units.push(compiled(options, &chosen, *build, nvcc)?);
    }
    let planted = plant_all(options, &faults, &templates, &instances, &builds)?;
    println!(
        "{} instances of {} templates in {} builds and {} planted faults compiled in {:.1} s",
        chosen.len(),
        wanted.len(),
        Build::ALL.len(),
        planted.len(),
        start.elapsed().as_secs_f64()
    );
    if options.compile_only {
        return Ok(true);
    }

    let version = version(&options.sanitizer)?;
    println!("compute-sanitizer {version}");
    let start = Instant::now();
    let tasks = tasks(options, &settings, &tools, &units, &planted);
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let deadline = options.seconds.map(|seconds| start + Duration::from_secs_f64(seconds));
    let runner = Runner { sanitizer: &options.sanitizer, program, timeout: Duration::from_secs_f64(options.timeout), deadline };
    let at_once = options.at_once.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, |n| n.get()));
    let outcomes = in_parallel(&tasks, at_once, |task| {
        let outcome = runner.run(task.tool, &task.plan, &options.folder.join(&task.folder));
        if outcome.as_ref().is_ok_and(|outcomes| outcomes.iter().take(task.kernels().len()).all(Outcome::is_clean)) {
            // What is left behind costs nothing but room.
            let _ = std::fs::remove_dir_all(options.folder.join(&task.folder));
        }
        outcome
    });

    let mut report = Report { version, seconds: start.elapsed().as_secs_f64(), ..Report::default() };
    for (task, outcome) in tasks.iter().zip(outcomes) {
        let outcomes = outcome?;
        match task.of {
            Of::Kernels(build) => report.rows.extend(task.kernels().iter().zip(outcomes).map(|(unit, outcome)| Row {
                template: unit.template.clone(),
                instance: unit.instance.clone(),
                tool: task.tool,
                build,
                outcome,
            })),
            Of::Fault(at) => {
                let unit = &task.plan.units[0];
                let outcome = outcomes.into_iter().next().unwrap_or_default();
                report.seen.push(Seen::new(planted[at].fault, &unit.instance, &outcome));
            }
        }
    }
    report.rows.sort_by(|a, b| (&a.template, &a.instance, a.build, a.tool).cmp(&(&b.template, &b.instance, b.build, b.tool)));
    report.instances = instances.iter().filter(|i| wanted.iter().any(|(index, _)| i.template == *index)).count();
    report.skipped = settings.skip.iter().filter(|skip| wanted.iter().any(|(_, t)| t.name == skip.template)).cloned().collect();
    report.skipped.retain(|skip| tools.contains(&skip.tool));
    report.caps = (options.most_instances.max(1), options.most_cases.max(1));
    let (text, json) = report.texts();
    print!("{text}");
    if let Some(path) = &options.json {
        std::fs::write(path, json.to_string()).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(json["failed"] == 0)
}

fn job(root: &Path, template: &Template, instance: &Instance) -> Result<Job, String> {
    Ok(Job {
        name: instance.name.clone(),
        source: instance.render(template)?,
        include: vec![template.folder.clone(), root.join("include")],
        // Assertions keep values alive that the kernel itself has in registers.
        max_spill_bytes: u64::MAX,
        dynamic_shared_bytes: 0,
    })
}

/// Machine code of all instances in one build, as files.
fn compiled(options: &Options, chosen: &[Chosen], build: Build, nvcc: &Nvcc) -> Result<Vec<Unit>, String> {
    let jobs: Vec<Job> = chosen.iter().map(|one| one.job.clone()).collect();
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    let cubins = nvcc.compile(&jobs, threads).map_err(|failures| {
        let texts: Vec<String> = failures.iter().map(ToString::to_string).collect();
        format!("in the build `{build}`:\n{}", texts.join("\n"))
    })?;
    let unit = |(one, cubin): (&Chosen, nvcc::Cubin)| {
        let path = options.folder.join(format!("{}.{build}.cubin", cubin.name));
        std::fs::write(&path, &cubin.bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        let (template, instance) = (one.template.name.clone(), one.instance.name.clone());
        Ok(Unit { template, kernel: instance.clone(), instance, cubin: path, cases: options.most_cases.max(1) })
    };
    chosen.iter().zip(cubins).map(unit).collect()
}

/// Plants the faults and compiles them, each in the build that its watcher needs.
fn plant_all<'a>(
    options: &Options,
    faults: &[&'a Fault],
    templates: &[Template],
    instances: &[Instance],
    builds: &[Nvcc],
) -> Result<Vec<Planted<'a>>, String> {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    let planted = in_parallel(faults, threads, |fault| {
        let (index, template) = templates
            .iter()
            .enumerate()
            .find(|(_, template)| template.name == fault.template)
            .ok_or_else(|| format!("{}: there is no template `{}`", fault.name, fault.template))?;
        let folder = options.folder.join("planted").join(&fault.name);
        plant(fault, &options.templates, template, &folder)?;
        let nvcc = &builds[usize::from(fault.watcher == Watcher::DeviceAsserts)];
        let own: Vec<&Instance> = instances.iter().filter(|i| i.template == index).collect();
        for instance in choose(&own) {
            // Its kernel has the name of the fault, by which reports of it are known.
            let named = Instance { name: fault.name.clone(), ..instance.clone() };
            let mut jobs = [job(&options.templates, template, &named)?, job(&options.templates, template, &named)?];
            jobs[1].include.insert(0, folder.clone());
            let cubins = nvcc.compile(&jobs, 1).map_err(|failures| format!("{}: {}", fault.name, failures[0]))?;
            if cubins[0].bytes == cubins[1].bytes {
                continue;
            }
            let path = folder.join("code.cubin");
            std::fs::write(&path, &cubins[1].bytes).map_err(|e| format!("{}: {e}", path.display()))?;
            let (template, instance) = (template.name.clone(), instance.name.clone());
            // All cases: which of them shows it is for the tool to say.
            return Ok(Planted {
                fault,
                unit: Unit { template, instance, kernel: fault.name.clone(), cubin: path, cases: usize::MAX },
            });
        }
        Err(format!("{}: it changes the machine code of no instance", fault.name))
    });
    planted.into_iter().collect()
}

/// Every tool over every build, in processes of some instances, and every fault in one of its own. The faults come first: their processes
/// are short.
fn tasks(options: &Options, settings: &Settings, tools: &BTreeSet<Tool>, units: &[Vec<Unit>], planted: &[Planted]) -> Vec<Task> {
    let plan = |tool: Tool, units: Vec<Unit>, shows: Option<String>| Plan {
        templates: options.templates.clone(),
        instances: options.instances.clone(),
        unwritten: tool == Tool::Initcheck,
        reads: settings.reads.clone(),
        units,
        shows,
    };
    let mut tasks = Vec::new();
    for (at, one) in planted.iter().enumerate() {
        let tool = one.fault.watcher.tool();
        let folder = format!("fault-{}", one.fault.name);
        tasks.push(Task { tool, of: Of::Fault(at), plan: plan(tool, vec![one.unit.clone()], None), folder });
    }
    for &tool in tools {
        for (build, units) in Build::ALL.iter().zip(units) {
            // Neighbours are alike, so each process gets some of all.
            let units: Vec<&Unit> = units.iter().filter(|unit| !skipped(settings, tool, &unit.template)).collect();
            let processes = units.len().div_ceil(options.of_process.max(1)).max(1);
            for process in 0..processes {
                let mut own: Vec<Unit> = units.iter().skip(process).step_by(processes).map(|unit| (*unit).clone()).collect();
                let fault =
                    planted.iter().find(|one| one.fault.watcher.tool() == tool && one.fault.watcher != Watcher::DeviceAsserts);
                own.extend(fault.map(|one| Unit { cases: CASES_AT_THE_END, ..one.unit.clone() }));
                let shows = fault.map(|one| one.fault.shows.clone());
                let folder = format!("{tool}-{build}-{process}");
                tasks.push(Task { tool, of: Of::Kernels(*build), plan: plan(tool, own, shows), folder });
            }
        }
    }
    tasks
}

fn skipped(settings: &Settings, tool: Tool, template: &str) -> bool {
    settings.skip.iter().any(|skip| skip.tool == tool && skip.template == template)
}

fn version(sanitizer: &Path) -> Result<String, String> {
    let output = Command::new(sanitizer).arg("--version").output().map_err(|e| format!("{}: {e}", sanitizer.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    log::version(&text).ok_or_else(|| format!("{} --version says no version", sanitizer.display()))
}
