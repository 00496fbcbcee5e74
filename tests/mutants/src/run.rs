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
    /// The executable holds tests of rustc's own kind, and the one line is the name of one.
    pub libtest: bool,
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
    let log = results.with_extension("txt");
    let output = if job.libtest { fs::File::create(&log).map_or_else(|_| Stdio::null(), Stdio::from) } else { Stdio::null() };
    let start = Instant::now();
    let child = Command::new(&job.test)
        .args(if job.libtest { vec!["--exact", job.lines[0].as_str()] } else { Vec::new() })
        .env("TENON_MUTANT", job.number.to_string())
        .env("TENON_MUTANT_TRIALS", job.lines.join("\n"))
        .env("TENON_MUTANT_RESULT", &results)
        .stdin(Stdio::null())
        .stdout(output)
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
    if job.libtest {
        let said = fs::read_to_string(&log).unwrap_or_default();
        let Some(line) = libtest(&job.lines[0], &said, start.elapsed().as_secs_f64()) else {
            return Ended::Crashed(format!("no results, {status}"));
        };
        return Ended::Results(Results { mutant: job.number, lines: vec![line] });
    }
    let text = fs::read_to_string(&results).ok();
    match text.and_then(|text| serde_json::from_str::<Results>(&text).ok()) {
        Some(results) if results.mutant == job.number && results.lines.len() == job.lines.len() => Ended::Results(results),
        _ => Ended::Crashed(format!("no results, {status}")),
    }
}

/// What rustc's harness says of the one test that was asked for.
fn libtest(name: &str, said: &str, seconds: f64) -> Option<Line> {
    let result = said.lines().find_map(|line| line.strip_prefix("test result: "))?;
    let count = |what: &str| {
        let before = result.split(what).next()?;
        before.trim_end().rsplit(' ').next()?.parse::<usize>().ok()
    };
    let (passed, failed) = (count(" passed")?, count(" failed")?);
    let message = said.lines().find(|line| line.contains(" panicked at ")).unwrap_or("it fails").to_owned();
    let failure = Failure { trial: name.to_owned(), how: "fails".to_owned(), message };
    Some(Line { line: name.to_owned(), ran: passed + failed, failed: (failed > 0).then_some(failure), seconds })
}

/// A number of its own for each call.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rustc_says_of_a_test() {
        let said = |passed, failed| {
            format!("\nrunning 1 test\ntest result: ok. {passed} passed; {failed} failed; 0 ignored; 7 filtered out\n")
        };
        let green = libtest("a::b", &said(1, 0), 0.1).unwrap();
        assert_eq!((green.ran, green.failed.is_none()), (1, true));
        let red = libtest("a::b", &said(0, 1), 0.1).unwrap();
        assert_eq!((red.ran, red.failed.unwrap().trial), (1, "a::b".to_owned()));
        assert_eq!(libtest("a::b", &said(0, 0), 0.1).unwrap().ran, 0);
        assert!(libtest("a::b", "", 0.1).is_none());
    }
}
