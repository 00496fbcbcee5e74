//! The process of one mutant: started, watched, and ended where it does not end by itself.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::verdict::{Gate, How, Kill, Verdict};

/// References may take so long before the device is touched.
const REFERENCES: Duration = Duration::from_secs(300);

/// What a process writes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Cases that were run.
    pub cases: usize,
    /// What each gate noticed first, in the order in which it was.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Why nothing can be said.
    pub broken: Option<String>,
}

/// What is wrong with what a kernel does.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fault {
    /// What noticed.
    pub gate: Gate,
    /// How it shows.
    pub how: How,
    /// In words.
    pub text: String,
}

impl Report {
    /// Keeps what a gate noticed, where it noticed nothing before.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "called where there is a device"))]
    pub fn notice(&mut self, gate: Gate, how: How, text: String) {
        if self.faults.iter().all(|known| known.gate != gate) {
            self.faults.push(Fault { gate, how, text });
        }
    }

    /// What it says of the mutant.
    fn verdict(self) -> Verdict {
        let mut gates: Vec<Gate> = self.faults.iter().map(|fault| fault.gate).collect();
        gates.sort();
        match (self.broken, self.faults.into_iter().next()) {
            (Some(why), _) => Verdict::Broken(why),
            (None, Some(Fault { how, text, .. })) => Verdict::Caught(Kill { how, gates, text }),
            (None, None) if self.cases == 0 => Verdict::ControlEmpty,
            (None, None) => Verdict::Missed,
        }
    }
}

/// The file that says that references are computed.
pub fn ready(result: &Path) -> std::path::PathBuf {
    result.with_extension("ready")
}

/// How a process ended.
pub struct Ended {
    /// What its result says of the mutant.
    pub verdict: Verdict,
    /// Its exit status, where it ended by itself.
    pub code: Option<i32>,
}

impl From<Verdict> for Ended {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, code: None }
    }
}

/// Runs a process that is to write `result`. `limit` counts from when it says that it is ready.
pub fn watch(command: &mut Command, result: &Path, limit: Duration) -> Ended {
    let (said, ready) = (result.with_extension("err"), ready(result));
    for file in [result, &ready] {
        let _ = std::fs::remove_file(file);
    }
    let child = File::create(&said).and_then(|errors| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn());
    let mut child = match child {
        Ok(child) => child,
        Err(e) => return Verdict::Broken(format!("its process does not start: {e}")).into(),
    };
    let (start, mut ready_at) = (Instant::now(), None);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(e) => return Verdict::Broken(format!("its process cannot be waited for: {e}")).into(),
        }
        if ready_at.is_none() && ready.exists() {
            ready_at = Some(Instant::now());
        }
        let late = ready_at.is_some_and(|at| at.elapsed() > limit);
        if late || (ready_at.is_none() && start.elapsed() > REFERENCES) {
            // It may have ended since; either way it is gone afterwards.
            let _ = child.kill();
            let _ = child.wait();
            let verdict = if late {
                Verdict::Caught(Kill::by(Gate::Timeout, How::Timeout, format!("after {:.0} s", limit.as_secs_f64())))
            } else {
                Verdict::Broken(format!("its references take more than {:.0} s", REFERENCES.as_secs_f64()))
            };
            return verdict.into();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let report = std::fs::read(result).ok().and_then(|bytes| serde_json::from_slice::<Report>(&bytes).ok());
    let verdict = match report {
        Some(report) => report.verdict(),
        // Before the device is touched there is nothing of the mutant that could crash.
        None if ready_at.is_none() && !ready.exists() => Verdict::Broken(format!("no result, {status}{}", last_line(&said))),
        None => Verdict::Caught(Kill::by(Gate::Crash, How::Crash, format!("no result, {status}{}", last_line(&said)))),
    };
    Ended { verdict, code: status.code() }
}

fn last_line(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict over a shell script whose `$0` is the result and `$1` the file that says ready.
    fn of(name: &str, script: &str) -> Verdict {
        let folder = std::env::temp_dir().join(format!("tenon-process-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let result = folder.join("result.json");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(&result).arg(ready(&result));
        let verdict = watch(&mut command, &result, Duration::from_millis(300)).verdict;
        std::fs::remove_dir_all(&folder).unwrap();
        verdict
    }

    #[test]
    fn a_result_is_read() {
        assert_eq!(of("good", r#": > "$1"; echo '{"cases": 3}' > "$0""#), Verdict::Missed);
        assert_eq!(of("empty", r#"echo '{"cases": 0}' > "$0""#), Verdict::ControlEmpty);
        let fault = r#"echo '{"cases": 1, "faults": [{"gate": "g2", "how": "non-finite", "text": "out"},
            {"gate": "g1", "how": "assert", "text": "x"}]}' > "$0""#;
        let kill = Kill { how: How::NonFinite, gates: vec![Gate::G1, Gate::G2], text: "out".to_owned() };
        assert_eq!(of("fault", fault), Verdict::Caught(kill));
        let broken = r#"echo '{"cases": 0, "broken": "no device"}' > "$0""#;
        assert_eq!(of("broken", broken), Verdict::Broken("no device".to_owned()));
    }

    #[test]
    fn no_result_is_a_crash_once_the_device_is_touched() {
        let crash = of("crash", r#": > "$1"; echo 'trap' >&2; exit 7"#);
        assert_eq!(crash, Verdict::Caught(Kill::by(Gate::Crash, How::Crash, "no result, exit status: 7: trap")));
        let half = of("half", r#": > "$1"; echo '{"cas' > "$0""#);
        assert_eq!(half.kill().map(|kill| kill.how), Some(How::Crash));
        assert!(matches!(of("early", "exit 1"), Verdict::Broken(_)));
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let late = of("late", r#": > "$1"; exec sleep 60"#);
        assert_eq!(late, Verdict::Caught(Kill::by(Gate::Timeout, How::Timeout, "after 0 s")));
    }
}
