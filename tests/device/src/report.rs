//! `report`: runs everything that needs a device, part by part, and writes `DEVICE_RESULTS.md`.
//!
//! Each part is a process of its own, so that a fault of the device ends one part and not the report, and leaves a file of JSON. A part whose
//! file is of the same card, driver and commit is kept. The page is written after each part, from the files alone.

mod here;
mod models;
mod process;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::goals::Goals;
use crate::results::{Name, Part, Results};

/// What `report` is asked for.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// The folder of the templates.
    #[arg(long, default_value = "kernel-templates")]
    pub templates: PathBuf,
    /// Which instances are tested beside those of models.
    #[arg(long, default_value = "tests/device/instances.toml")]
    pub instances: PathBuf,
    /// The CUDA text of the instances of models.
    #[arg(long, default_value = "generated/kernels/sm_90a")]
    pub models: PathBuf,
    /// Where machine code is kept between runs.
    #[arg(long, default_value = "target/tenon-cubins")]
    pub cache: PathBuf,
    /// What speed is measured against.
    #[arg(long, default_value = "tests/device/goals.toml")]
    pub goals: PathBuf,
    /// Where each part leaves its file, and its log.
    #[arg(long, default_value = "target/tenon-results")]
    pub json_dir: PathBuf,
    /// The page.
    #[arg(long, default_value = "tests/DEVICE_RESULTS.md")]
    pub out: PathBuf,
    /// Runs nothing, and writes the page from the files of this folder: needs no device.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["parts", "again"])]
    pub from: Option<PathBuf>,
    /// Only these parts; what others left in the folder is on the page, too.
    #[arg(long, value_delimiter = ',')]
    pub parts: Vec<Name>,
    /// Runs parts again that have run on the same card with the same commit.
    #[arg(long)]
    pub again: bool,
    /// What was built, where git cannot say it.
    #[arg(long)]
    pub commit: Option<String>,
    /// Says that what was built is not just that commit.
    #[arg(long, requires = "commit")]
    pub changed: bool,
    /// Seconds after which a part is ended.
    #[arg(long, default_value_t = 1800)]
    pub limit: u64,
    /// More options of the command of a part, such as `mutants=--automatic 8 --at-once 12`.
    #[arg(long, value_name = "PART=OPTIONS")]
    pub pass: Vec<String>,
    /// This program with the feature `count-launches`, whose kernels count themselves: cargo builds it where it is not there.
    #[arg(long, default_value = "target/count-launches/release/tenon-device-tests")]
    pub counting: PathBuf,
    /// A Python with PyTorch and numpy.
    #[arg(long, default_value = "python3")]
    pub python: PathBuf,
    /// The folder with `peers.py` and `random_checkpoint.py`.
    #[arg(long, default_value = "tests/device")]
    pub scripts: PathBuf,
    /// The server that whole models are timed with: cargo builds it where it is not there.
    #[arg(long, default_value = "target/release/tenon-server")]
    pub server: PathBuf,
    /// Where checkpoints of random weights stand while they are timed: needs room for the largest, in memory if that can be.
    #[arg(long, default_value = "/dev/shm")]
    pub scratch: PathBuf,
    /// Only these models.
    #[arg(long, value_delimiter = ',')]
    pub only_models: Vec<String>,
}

/// Runs what is asked for and writes the page. True where everything ran and nothing failed.
///
/// # Errors
/// A file that cannot be read or written.
pub fn report(options: &Options) -> Result<bool, String> {
    let goals = Goals::read(&options.goals)?;
    // A mistake here is told before an hour of device time.
    options.pass.iter().try_for_each(|pass| passed(pass).map(|_| ()))?;
    if let Some(folder) = &options.from {
        let results = Results::read(folder)?;
        if results.parts.is_empty() {
            return Err(format!("{}: there is no part of a report", folder.display()));
        }
        write(&options.out, &results.markdown(&goals))?;
        return Ok(results.passed());
    }
    std::fs::create_dir_all(&options.json_dir).map_err(|e| format!("{}: {e}", options.json_dir.display()))?;
    let mut results = Results::read(&options.json_dir)?;
    for name in Name::ALL.into_iter().filter(|name| options.parts.is_empty() || options.parts.contains(name)) {
        let mut run = here::here(options)?;
        let earlier = results.parts.get(&name).filter(|part| !options.again && part.error.is_none() && part.run.serves(&run));
        // Models are kept one by one.
        if let Some(part) = earlier
            && name != Name::Models
        {
            println!("{:<10} kept: it ran at {}", name.name(), part.run.date);
            continue;
        }
        println!("{:<10} runs; {}", name.name(), log(options, name).display());
        let started = Instant::now();
        let outcome = match name {
            Name::Speed => speed(options, &goals),
            Name::Models => models::models(options, &goals, earlier.map(|part| &part.result)),
            Name::Launches => counting(options).and_then(|program| child(options, name, &program, &[])),
            _ => this().and_then(|program| child(options, name, &program, &[])),
        };
        run.seconds = started.elapsed().as_secs_f64();
        let (result, error) = match outcome {
            Ok(result) => (result, None),
            Err(error) => (Value::Null, Some(error)),
        };
        let part = Part { run, error, result };
        let mark = if part.passed() { "ok" } else { "FAILED" };
        println!("{:<10} {mark} after {:.0} s", name.name(), part.run.seconds);
        write(&name.file(&options.json_dir), &serde_json::to_string(&part).map_err(|e| e.to_string())?)?;
        results.parts.insert(name, part);
        write(&options.out, &results.markdown(&goals))?;
    }
    write(&options.out, &results.markdown(&goals))?;
    println!("{}", options.out.display());
    Ok(results.passed())
}

/// The part and the options of a `--pass`.
fn passed(pass: &str) -> Result<(Name, Vec<&str>), String> {
    let (part, more) = pass.split_once('=').ok_or_else(|| format!("`{pass}` is no PART=OPTIONS"))?;
    match Name::ALL.into_iter().find(|name| name.name() == part) {
        Some(name) if name != Name::Models => Ok((name, more.split_whitespace().collect())),
        _ => Err(format!("`{part}` is no part that has options of its own")),
    }
}

/// This program.
fn this() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|e| e.to_string())
}

/// This program with counters in its kernels.
fn counting(options: &Options) -> Result<PathBuf, String> {
    let args = ["-p", "tenon-device-tests", "--features", "count-launches", "--target-dir", "target/count-launches"];
    built(options, &options.counting, &args)
}

/// A program, which cargo builds where it is not there.
fn built(options: &Options, program: &Path, args: &[&str]) -> Result<PathBuf, String> {
    if !program.exists() {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release"]).args(args);
        let log = options.json_dir.join("cargo.log");
        let ended = process::run(&mut cargo, &log, Duration::MAX)?;
        if !program.exists() {
            return Err(format!(
                "{} is not there, and cargo does not build it: {ended}: {}",
                program.display(),
                process::last(&log)
            ));
        }
    }
    // A bare name would be looked for elsewhere.
    program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))
}

/// What this program calls a part.
fn command(name: Name) -> &'static str {
    match name {
        Name::Sanitizers => "sanitize",
        Name::Speed => "bench",
        _ => name.name(),
    }
}

fn log(options: &Options, name: Name) -> PathBuf {
    options.json_dir.join(format!("{}.log", name.name()))
}

/// Runs this program, or another build of it, with the command of a part, and gives the JSON that it writes.
fn child(options: &Options, name: Name, program: &Path, more: &[&str]) -> Result<Value, String> {
    let result = options.json_dir.join(format!("{}.part", name.name()));
    let mut child = Command::new(program);
    child.arg(command(name)).arg("--json").arg(&result);
    for (option, path) in [("--templates", &options.templates), ("--instances", &options.instances), ("--cache", &options.cache)]
    {
        child.arg(option).arg(path);
    }
    // These two take the smallest of the listed instances.
    if !matches!(name, Name::Mutants | Name::Sanitizers) {
        child.arg("--models").arg(&options.models);
    }
    child.args(more);
    for pass in &options.pass {
        let (part, more) = passed(pass)?;
        if part == name {
            child.args(more);
        }
    }
    process::json(&mut child, &log(options, name), &result, limit(options))
}

fn limit(options: &Options) -> Duration {
    Duration::from_secs(options.limit)
}

/// Ours first, then the libraries, on the same card one after the other.
fn speed(options: &Options, goals: &Goals) -> Result<Value, String> {
    let path = options.goals.display().to_string();
    let mut result = child(options, Name::Speed, &this()?, &["--goals", &path])?;
    let works = options.json_dir.join("peers.works");
    write(&works, &peer_works(goals)?.to_string())?;
    let answer = options.json_dir.join("peers.part");
    let mut peers = Command::new(&options.python);
    peers.arg(options.scripts.join("peers.py")).arg(&works).arg(&answer);
    let log = options.json_dir.join("peers.log");
    match process::json(&mut peers, &log, &answer, limit(options)) {
        Ok(peers) => result["peers"] = peers,
        Err(error) => {
            // What is to stand beside ours is missing.
            result["failed"] = (result["failed"].as_u64().unwrap_or(0) + 1).into();
            result["peers"] = json!({ "error": error });
        }
    }
    Ok(result)
}

/// What `peers.py` is to time.
fn peer_works(goals: &Goals) -> Result<Value, String> {
    let mut works = Vec::new();
    for goal in &goals.goals {
        for peer in &goal.peers {
            let mut work = serde_json::to_value(peer).map_err(|e| e.to_string())?;
            work["name"] = goal.name_of(peer).into();
            works.push(work);
        }
    }
    Ok(json!({ "works": works }))
}

/// Writes a file as a whole or not at all.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path)).map_err(|e| format!("{}: {e}", path.display()))
}
