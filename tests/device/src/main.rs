//! Command line: compile instances, run them against their references, time them.

#[cfg(feature = "cuda")]
mod on_device;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tenon_compiler::driver::nvcc::{self, Cubin, Job, Nvcc};
use tenon_device_tests::goals::Goals;
use tenon_device_tests::instance::Instance;
use tenon_device_tests::table;
use tenon_device_tests::template::Template;
use tenon_device_tests::{REFERENCES, goldens, launches, mutants, part, report, sanitize};

const WITHOUT_DEVICE: &str = "built without a device: build with --features cuda";

const WITHOUT_COUNTERS: &str = "built without counters: build with --features count-launches";

/// Kernels on a GPU: correct, and how fast.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints every instance, and how many cases it has.
    List(Which),
    /// Prints what needs a device, by name and count: what is skipped where there is none.
    Suites(Which),
    /// Compiles every instance, and fails where one spills.
    Compile(Which),
    /// Runs everything on the device: `ops`, then `goldens`.
    All(Which),
    /// Runs every case of every instance on the device.
    Ops(Which),
    /// Counts launches on the device, and compares each step of each golden with its plan: of a build with the feature count-launches.
    Launches(Which),
    /// Runs every golden on the device: chunkings, batch mixes, prefix hits, graphs and single launches.
    Goldens(Which),
    /// Checks and times every instance on the device.
    Bench(Which),
    /// Puts faults into kernels, and runs the cases that must catch them.
    Mutants(mutants::Options),
    /// Runs the cases of mutants: `mutants` starts it.
    #[cfg(feature = "cuda")]
    #[command(hide = true)]
    MutantWorker(mutants::WorkerOptions),
    /// Runs all of this, part by part, and writes DEVICE_RESULTS.md.
    Report(Box<report::Options>),
    /// Runs kernels under memcheck, racecheck, synccheck and initcheck, in the release build and with assertions on the device.
    Sanitize(sanitize::Options),
    /// Runs what one process of `sanitize` is given: it is started under a tool.
    #[cfg(feature = "cuda")]
    #[command(hide = true)]
    SanitizeCase(sanitize::ChildOptions),
    /// Puts the JSON files of shards into one table.
    Merge {
        /// The files.
        files: Vec<PathBuf>,
    },
}

#[derive(Args, Clone)]
struct Which {
    /// The folder of the templates.
    #[arg(long, default_value = "kernel-templates")]
    templates: PathBuf,
    /// Which instances are tested beside those of models.
    #[arg(long, default_value = "tests/device/instances.toml")]
    instances: PathBuf,
    /// The CUDA text of the instances of models: these are tested too.
    #[arg(long, default_value = "generated/kernels/sm_90a")]
    models: PathBuf,
    /// Only templates with these names, or goldens whose names start so.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only instances that rows of this file name; `bench` takes their sizes and the matrix library's products from there, too.
    #[arg(long)]
    goals: Option<PathBuf>,
    /// One of n equal parts, such as 1/4.
    #[arg(long)]
    shard: Option<String>,
    /// Where machine code is kept between runs.
    #[arg(long, default_value = "target/tenon-cubins")]
    cache: PathBuf,
    /// Compiles kernels with the assertions of `include/contract.cuh`.
    #[arg(long)]
    device_asserts: bool,
    /// Where the results go as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::List(which) => list(&which),
        Command::Suites(which) => suites(&which),
        Command::Compile(which) => compile(&which).map(|compiled| compiled.iter().all(|c| c.cubin.is_some())),
        Command::Report(options) => report::report(&options),
        Command::Merge { files } => table::merge(&files).map(|(text, passed)| {
            print!("{text}");
            passed
        }),
        Command::Mutants(options) if cfg!(feature = "cuda") || options.compile_only => mutants::mutants(&options),
        #[cfg(feature = "cuda")]
        Command::MutantWorker(options) => mutants::worker(&options),
        Command::Sanitize(options) if cfg!(feature = "cuda") || options.compile_only => sanitize::sanitize(&options),
        #[cfg(feature = "cuda")]
        Command::SanitizeCase(options) => sanitize::child(&options),
        Command::Sanitize(_) | Command::Mutants(_) => Err(WITHOUT_DEVICE.to_owned()),
        #[cfg(feature = "cuda")]
        Command::All(which) => compile(&which).and_then(|compiled| {
            let (mut ops, goldens) = (on_device::ops(&compiled)?, on_device::goldens(&which.only, which.shard.as_deref())?);
            let sum = |key: &str| ops[key].as_u64().unwrap_or(0) + goldens[key].as_u64().unwrap_or(0);
            let (passed, failed) = (sum("passed"), sum("failed"));
            (ops["passed"], ops["failed"], ops["goldens"]) = (passed.into(), failed.into(), goldens["goldens"].clone());
            println!("{passed} passed, {failed} failed");
            keep(&which, &ops)
        }),
        #[cfg(feature = "cuda")]
        Command::Ops(which) => {
            compile(&which).and_then(|compiled| on_device::ops(&compiled)).and_then(|results| keep(&which, &results))
        }
        #[cfg(feature = "cuda")]
        Command::Goldens(which) => {
            on_device::goldens(&which.only, which.shard.as_deref()).and_then(|results| keep(&which, &results))
        }
        Command::Launches(_) if !cfg!(feature = "count-launches") => Err(WITHOUT_COUNTERS.to_owned()),
        #[cfg(feature = "cuda")]
        Command::Launches(which) => {
            on_device::launches(&which.only, which.shard.as_deref()).and_then(|results| keep(&which, &results))
        }
        #[cfg(feature = "cuda")]
        Command::Bench(which) => goals(&which)
            .and_then(|goals| on_device::bench(&compile(&which)?, goals.as_ref()).and_then(|results| keep(&which, &results))),
        #[cfg(not(feature = "cuda"))]
        Command::All(_) | Command::Ops(_) | Command::Goldens(_) | Command::Launches(_) | Command::Bench(_) => {
            Err(WITHOUT_DEVICE.to_owned())
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Writes results where they are wanted. True where nothing in them failed.
#[cfg(feature = "cuda")]
fn keep(which: &Which, results: &serde_json::Value) -> Result<bool, String> {
    if let Some(path) = &which.json {
        std::fs::write(path, results.to_string()).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(results["failed"].as_u64().unwrap_or(0) == 0)
}

/// The instances asked for, with their templates.
fn chosen(which: &Which) -> Result<(Vec<Template>, Vec<Instance>), String> {
    let templates = Template::all(&which.templates)?;
    let mut instances = Instance::listed(&templates, &which.instances, &which.only)?;
    for instance in Instance::of_models(&templates, &which.models, &which.only)? {
        if !instances.iter().any(|known| known.name == instance.name) {
            instances.push(instance);
        }
    }
    if let Some(goals) = goals(which)? {
        instances.retain(|instance| goals.goals.iter().any(|goal| goal.is_of(&instance.name)));
    }
    Ok((templates, part(instances, which.shard.as_deref())?))
}

/// What speed is measured against, where that chooses.
fn goals(which: &Which) -> Result<Option<Goals>, String> {
    which.goals.as_deref().map(Goals::read).transpose()
}

fn list(which: &Which) -> Result<bool, String> {
    let (templates, instances) = chosen(which)?;
    let mut total = 0;
    for instance in &instances {
        let template = &templates[instance.template].name;
        let cases = REFERENCES.iter().find(|r| r.template == *template).map_or(0, |r| (r.cases)(&instance.params).len());
        total += cases;
        println!("{:<60} {cases} cases", instance.name);
    }
    println!("{} instances, {total} cases", instances.len());
    Ok(true)
}

fn suites(which: &Which) -> Result<bool, String> {
    let (templates, instances) = chosen(which)?;
    for (index, template) in templates.iter().enumerate() {
        let count = instances.iter().filter(|instance| instance.template == index).count();
        println!("skipped: kernel {}, {count} instances against their reference and the CPU's kernel", template.name);
    }
    let settings = which.instances.with_file_name("sanitize.toml");
    println!("skipped: sanitize, {}", sanitize::suite(&templates, &instances, &settings)?);
    let tests = goldens::tests();
    for case in goldens::CASES {
        println!("skipped: golden {case}, {} tests", tests.iter().filter(|test| test.case == case).count());
    }
    let (models, steps) = (launches::models().count(), launches::steps::all().len());
    println!("skipped: launches of {models} models, {steps} steps each against their plan");
    println!(
        "device suites skipped: {} kernels with {} instances, {} goldens with {} tests",
        templates.len(),
        instances.len(),
        goldens::CASES.len(),
        tests.len()
    );
    Ok(true)
}

/// An instance and its machine code, if it compiled as it must.
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "read where there is a device"))]
struct Compiled {
    template: Template,
    instance: Instance,
    cubin: Option<Cubin>,
}

fn compile(which: &Which) -> Result<Vec<Compiled>, String> {
    let (templates, instances) = chosen(which)?;
    let build = if which.device_asserts { sanitize::Build::DeviceAsserts } else { sanitize::Build::Release };
    let nvcc = Nvcc::new(&nvcc::find().map_err(|e| e.to_string())?, &which.cache)?.with_defines(build.defines().iter().copied());
    let mut jobs = Vec::new();
    for instance in &instances {
        let template = &templates[instance.template];
        jobs.push(Job {
            name: instance.name.clone(),
            source: instance.render(template)?,
            include: vec![template.folder.clone(), which.templates.join("include")],
            // Assertions keep values alive that the kernel itself has in registers.
            max_spill_bytes: if which.device_asserts { u64::MAX } else { template.max_spill_bytes },
            dynamic_shared_bytes: 0,
        });
    }
    let start = std::time::Instant::now();
    let results = nvcc.each(&jobs, std::thread::available_parallelism().map_or(2, |n| n.get()));
    let cached = results.iter().flatten().filter(|cubin| cubin.cached).count();
    println!("{} instances compiled in {:.1} s, {cached} of them before", jobs.len(), start.elapsed().as_secs_f64());
    let compiled = instances.into_iter().zip(results).map(|(instance, result)| {
        if let Err(failure) = &result {
            println!("{}", failure.to_string().lines().take(12).collect::<Vec<_>>().join("\n"));
        }
        Compiled { template: templates[instance.template].clone(), instance, cubin: result.ok() }
    });
    Ok(compiled.collect())
}
