//! A process whose answer is a file of JSON.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Runs a process that is to write `answer`, with what it says in `log`. An answer counts even where the process says that something failed.
///
/// # Errors
/// No answer: the last that the process said.
pub fn json(command: &mut Command, log: &Path, answer: &Path, limit: Duration) -> Result<Value, String> {
    // An older answer would be taken for this one's.
    if answer.exists() {
        std::fs::remove_file(answer).map_err(|e| format!("{}: {e}", answer.display()))?;
    }
    let ended = run(command, log, limit)?;
    match std::fs::read(answer) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", answer.display())),
        Err(_) => Err(format!("{ended} without a result: {}", last(log))),
    }
}

/// Runs a process to its end, or ends it; says how it ended.
///
/// # Errors
/// It does not start.
pub fn run(command: &mut Command, log: &Path, limit: Duration) -> Result<String, String> {
    let open = || -> std::io::Result<(File, File)> {
        let out = File::create(log)?;
        Ok((out.try_clone()?, out))
    };
    let (out, err) = open().map_err(|e| format!("{}: {e}", log.display()))?;
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().map_err(|e| format!("{program}: {e}"))?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| format!("{program}: {e}"))? {
            return Ok(status.to_string());
        }
        if started.elapsed() > limit {
            // It may have ended since; either way it is gone afterwards.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(format!("ended after {:.0} s", limit.as_secs_f64()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The last lines of a log that say something.
pub fn last(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(script: &str, limit: Duration) -> Result<Value, String> {
        let name = format!("tenon-report-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let answer = folder.join("answer");
        // What an earlier run left is no answer of this one.
        std::fs::write(&answer, "1").unwrap();
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).env("ANSWER", &answer);
        let result = json(&mut command, &folder.join("log"), &answer, limit);
        std::fs::remove_dir_all(&folder).unwrap();
        result
    }

    #[test]
    fn an_answer_counts_and_silence_is_told() {
        let long = Duration::from_secs(60);
        assert_eq!(of("echo 2 > $ANSWER; exit 1", long), Ok(Value::from(2)));
        assert_eq!(of("echo it broke; exit 3", long), Err("exit status: 3 without a result: it broke".to_owned()));
        let started = Instant::now();
        let said = of("sleep 60", Duration::from_millis(50)).unwrap_err();
        assert!(said.starts_with("ended after") && started.elapsed() < long, "{said}");
    }
}
