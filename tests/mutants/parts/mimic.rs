//! Stands in for the crate of this name in the mutated copy: runs the trials that the harness asks for, and writes what came of
//! them as JSON.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;
use std::{env, fs};

use serde_json::{Value, json};

/// Why a trial failed.
pub struct Failed(String);

impl<M: Display> From<M> for Failed {
    fn from(message: M) -> Self {
        Self(message.to_string())
    }
}

/// One named test.
pub struct Trial {
    name: String,
    ignored: bool,
    run: Box<dyn FnOnce() -> Result<(), Failed> + Send>,
}

impl Trial {
    /// A test.
    pub fn test(name: impl Into<String>, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Self {
        Self { name: name.into(), ignored: false, run: Box::new(run) }
    }

    /// Ignored ones do not run.
    pub fn with_ignored_flag(self, ignored: bool) -> Self {
        Self { ignored, ..self }
    }
}

/// What the harness asks for.
pub struct Arguments {
    mutant: u32,
}

impl Arguments {
    /// Reads the environment, and turns the mutant on.
    pub fn from_args() -> Self {
        let mutant = env::var("TENON_MUTANT").ok().map_or(0, |text| text.parse().expect("TENON_MUTANT is a number"));
        tenon_mutant::set(mutant);
        Self { mutant }
    }
}

/// The outcome.
pub struct Conclusion;

impl Conclusion {
    /// Always success: the outcome is in the JSON.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::SUCCESS
    }
}

/// Runs each line of `TENON_MUTANT_TRIALS`, `case word word ...`: the trials of a case whose names contain all words. With a mutant, a
/// line ends at the first failure.
pub fn run(arguments: &Arguments, trials: Vec<Trial>) -> Conclusion {
    static PANIC: Mutex<Option<String>> = Mutex::new(None);
    std::panic::set_hook(Box::new(|info| {
        // The first is the cause; threads that wait for it follow.
        PANIC.lock().expect("nothing panics with it").get_or_insert(info.to_string());
    }));
    let mut trials: Vec<Option<Trial>> = trials.into_iter().filter(|t| !t.ignored).map(Some).collect();
    let lines = env::var("TENON_MUTANT_TRIALS").expect("the harness says which trials run");
    let mut results: Vec<Value> = Vec::new();
    for line in lines.lines() {
        let (start, mut ran, mut failed) = (Instant::now(), 0, Value::Null);
        let mut words = line.split_whitespace();
        let case = words.next().expect("a line begins with a case");
        let words: Vec<&str> = words.collect();
        for trial in &mut trials {
            let is_of_case = |name: &str| name.strip_prefix(case).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let wanted = |t: &Trial| is_of_case(&t.name) && words.iter().all(|word| t.name.contains(word));
            if !trial.as_ref().is_some_and(wanted) {
                continue;
            }
            let Trial { name, run, .. } = trial.take().expect("it was wanted");
            ran += 1;
            *PANIC.lock().expect("nothing panics with it") = None;
            let outcome = catch_unwind(AssertUnwindSafe(run));
            let (how, message) = match outcome {
                Ok(Ok(())) => continue,
                Ok(Err(Failed(message))) => (how(&message), message),
                Err(payload) => {
                    ("panic", PANIC.lock().expect("nothing panics with it").take().unwrap_or_else(|| text(&*payload)))
                }
            };
            failed = json!({ "trial": name, "how": how, "message": message });
            break;
        }
        results.push(json!({ "line": line, "ran": ran, "failed": failed, "seconds": start.elapsed().as_secs_f64() }));
    }
    let text = json!({ "mutant": arguments.mutant, "lines": results }).to_string();
    fs::write(env::var_os("TENON_MUTANT_RESULT").expect("the harness says where results go"), text).expect("it is writable");
    Conclusion
}

/// Which sort of failure a message of the goldens is.
fn how(message: &str) -> &'static str {
    match message.split_once("relative error ").and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok()) {
        Some(value) if value.is_finite() => "error over the bound",
        Some(_) => "non-finite",
        None if message.contains("NaN") => "non-finite",
        None => "differs",
    }
}

fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|t| (*t).to_owned())).unwrap_or_default()
}
