//! Each mutant in a process of its own, and what came of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde::Deserialize;

/// What the child writes.
#[derive(Debug, Deserialize)]
pub struct Results {
    /// The mutant that was on.
    pub mutant: u32,
    /// One for each line that was asked for.
    pub lines: Vec<Line>,
}

/// The trials of one line.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    /// What was asked for.
    pub line: String,
    /// How many ran.
    pub ran: usize,
    /// The one that failed.
    pub failed: Option<Failure>,
    /// How long they took.
    pub seconds: f64,
}

/// A trial that failed.
#[derive(Clone, Debug, Deserialize)]
pub struct Failure {
    /// Its name.
    pub trial: String,
    /// In which way.
    pub how: String,
    /// In words.
    pub message: String,
}

/// How a process ended.
pub enum Ended {
    /// With results.
    Results(Results),
    /// Without, which says how.
    Crashed(String),
    /// Not in time.
    TimedOut,
}

/// What to run: a mutant, its lines, and how long it may take.
pub struct Job {
    /// The executable.
    pub test: PathBuf,
    /// The mutant, or 0.
    pub number: u32,
    /// Lines of trials.
    pub lines: Vec<String>,
    /// Seconds.
    pub limit: f64,
}

/// Runs jobs, a few at a time; results in their order.
pub fn all(folder: &Path, jobs: &[Job]) -> Vec<(Ended, f64)> {
    let next = AtomicUsize::new(0);
    let ended: Mutex<Vec<Option<(Ended, f64)>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let workers = thread::available_parallelism().map_or(1, usize::from).min(8);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    let Some(job) = jobs.get(at) else { break };
                    let start = Instant::now();
                    let how = one(folder, job);
                    ended.lock().expect("workers do not panic")[at] = Some((how, start.elapsed().as_secs_f64()));
                }
            });
        }
    });
    ended.into_inner().expect("workers do not panic").into_iter().map(|e| e.expect("each job ran")).collect()
}

fn one(folder: &Path, job: &Job) -> Ended {
    let results: PathBuf = folder.join(format!("{}-{}.json", job.number, thread_number()));
    let _ = fs::remove_file(&results);
    let child = Command::new(&job.test)
        .env("TENON_MUTANT", job.number.to_string())
        .env("TENON_MUTANT_TRIALS", job.lines.join("\n"))
        .env("TENON_MUTANT_RESULT", &results)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) => return Ended::Crashed(format!("it did not start: {e}")),
    };
    let deadline = Instant::now() + Duration::from_secs_f64(job.limit);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Ended::TimedOut;
            }
            Err(e) => return Ended::Crashed(e.to_string()),
        }
    };
    let text = fs::read_to_string(&results).ok();
    match text.and_then(|text| serde_json::from_str::<Results>(&text).ok()) {
        Some(results) if results.mutant == job.number && results.lines.len() == job.lines.len() => Ended::Results(results),
        _ => Ended::Crashed(format!("no results, {status}")),
    }
}

/// A number of its own for each call.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::SeqCst)
}
