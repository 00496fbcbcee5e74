//! Processes of mutants: started, given tasks, watched, and ended where they do not end by themselves.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::verdict::{Gate, How, Kill, Verdict};

/// References may take so long before the device is touched.
const REFERENCES: Duration = Duration::from_secs(300);
/// How often a result is looked for.
const LOOK: Duration = Duration::from_millis(2);

/// Machine code of one instance to be judged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Task {
    /// Whose cases to run.
    pub template: String,
    /// Which instance it is.
    pub instance: String,
    /// The machine code.
    pub cubin: PathBuf,
    /// That of the kernel as it is, which must be right wherever the other is found to be wrong.
    pub control: Option<PathBuf>,
    /// Where the report goes.
    pub result: PathBuf,
    /// How often each case runs: a race does not show every time.
    pub repeat: usize,
    /// So many cases at most.
    pub cases: usize,
    /// The reference makes the same mistake: it is not asked.
    pub shared: bool,
    /// Ends without a result once the device is open, as a process does that crashes: for the test of the harness itself.
    pub ends_early: bool,
}

/// What a process writes of a task.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Cases that were run.
    pub cases: usize,
    /// What each gate noticed first, in the order in which it was.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Why nothing can be said.
    pub broken: Option<String>,
    /// The kernel as it is failed in this process too: what an earlier task did to it is told of this one.
    #[serde(default)]
    pub poisoned: bool,
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

    /// Whether the device refused to go on.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "called where there is a device"))]
    pub fn crashed(&self) -> bool {
        self.faults.iter().any(|fault| fault.gate == Gate::Crash)
    }

    /// Writes it where the harness looks for it, whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "called where there is a device"))]
    pub fn write(&self, result: &Path) -> Result<(), String> {
        let text = serde_json::to_string(self).map_err(|e| e.to_string())?;
        let half = result.with_extension("half");
        std::fs::write(&half, text)
            .and_then(|()| std::fs::rename(&half, result))
            .map_err(|e| format!("{}: {e}", result.display()))
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

/// A process that does one task after the other.
pub struct Worker {
    child: Child,
    tasks: Option<ChildStdin>,
    errors: PathBuf,
    /// How many tasks it did.
    pub done: usize,
}

/// What became of a task.
pub struct Outcome {
    /// What is known of the mutant.
    pub verdict: Verdict,
    /// What the process did before may show in the verdict: another must judge.
    pub is_doubtful: bool,
    /// The exit status of a process that has ended.
    pub code: Option<i32>,
}

impl Worker {
    /// Starts a process, which says its errors in a file.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command, errors: PathBuf) -> Result<Self, String> {
        let start = |to: File| command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(to).spawn();
        let child = File::create(&errors).and_then(start);
        let mut child = child.map_err(|e| format!("{} does not start: {e}", command.get_program().display()))?;
        let tasks = child.stdin.take();
        Ok(Self { child, tasks, errors, done: 0 })
    }

    /// Gives it a task, and waits for the result. `limit` counts from when the process says that it is ready. Whether it can do more.
    pub fn work(&mut self, task: &Task, limit: Duration) -> (Outcome, bool) {
        let ready = ready(&task.result);
        for file in [&task.result, &ready] {
            let _ = std::fs::remove_file(file);
        }
        let line = serde_json::to_string(task).unwrap_or_default() + "\n";
        // A process that is gone does not read: that it is gone shows below.
        let _ = self.tasks.as_mut().map(|tasks| tasks.write_all(line.as_bytes()));
        let was_used = self.done > 0;
        self.done += 1;
        let (report, verdict) = self.wait(task, &ready, limit);
        let is_poisoned = report == Some(true);
        let ended = verdict.kill().is_some_and(|kill| kill.gates.iter().any(|gate| matches!(gate, Gate::Crash | Gate::Timeout)));
        let goes_on = !ended && !is_poisoned && !matches!(verdict, Verdict::Broken(_));
        (Outcome { verdict, is_doubtful: is_poisoned || (was_used && ended), code: None }, goes_on)
    }

    /// The one task of a process that ends after it.
    pub fn work_alone(mut self, task: &Task, limit: Duration) -> Outcome {
        let (outcome, _) = self.work(task, limit);
        if outcome.verdict.kill().is_some_and(|kill| kill.how == How::Timeout) {
            return Outcome { is_doubtful: false, ..outcome };
        }
        // No more tasks: it ends, and a sanitizer around it says what it found. What does not end is ended when this is dropped.
        self.tasks = None;
        let start = Instant::now();
        let code = loop {
            match self.child.try_wait() {
                Ok(None) if start.elapsed() < limit => std::thread::sleep(LOOK),
                Ok(status) => break status.and_then(|status| status.code()),
                Err(_) => break None,
            }
        };
        Outcome { is_doubtful: false, code, ..outcome }
    }

    /// What it says of a task, and where it wrote a report, whether the kernel as it is failed too.
    fn wait(&mut self, task: &Task, ready: &Path, limit: Duration) -> (Option<bool>, Verdict) {
        let (start, mut ready_at) = (Instant::now(), None);
        loop {
            // In this order: what has ended may have written before it did.
            let status = self.child.try_wait();
            if task.result.exists() {
                let report = std::fs::read(&task.result).ok().and_then(|bytes| serde_json::from_slice::<Report>(&bytes).ok());
                return match report {
                    Some(report) => (Some(report.poisoned), report.verdict()),
                    None => (None, self.gone("a result that is no JSON", true)),
                };
            }
            match status {
                Ok(None) => {}
                Ok(Some(status)) => return (None, self.gone(&format!("no result, {status}"), ready.exists())),
                Err(e) => return (None, Verdict::Broken(format!("its process cannot be waited for: {e}"))),
            }
            if ready_at.is_none() && ready.exists() {
                ready_at = Some(Instant::now());
            }
            if ready_at.is_some_and(|at| at.elapsed() > limit) {
                let text = format!("after {:.0} s", limit.as_secs_f64());
                return (None, Verdict::Caught(Kill::by(Gate::Timeout, How::Timeout, text)));
            }
            if ready_at.is_none() && start.elapsed() > REFERENCES {
                let text = format!("its references take more than {:.0} s", REFERENCES.as_secs_f64());
                return (None, Verdict::Broken(text));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// What it is that there is no result: a crash, once the device was touched. Before that there is nothing of the mutant that could.
    fn gone(&self, what: &str, was_ready: bool) -> Verdict {
        let text = format!("{what}{}", last_line(&self.errors));
        if was_ready { Verdict::Caught(Kill::by(Gate::Crash, How::Crash, text)) } else { Verdict::Broken(text) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended since; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The file that says that references are computed.
pub fn ready(result: &Path) -> PathBuf {
    result.with_extension("ready")
}

/// Runs goldens, which write their results as `tenon-device-tests goldens` does.
pub fn watch_goldens(command: &mut Command, result: &Path, limit: Duration) -> Verdict {
    let errors = result.with_extension("err");
    let _ = std::fs::remove_file(result);
    let mut worker = match Worker::start(command, errors) {
        Ok(worker) => worker,
        Err(why) => return Verdict::Broken(why),
    };
    let start = Instant::now();
    let ended = loop {
        match worker.child.try_wait() {
            Ok(None) if start.elapsed() < limit => std::thread::sleep(LOOK),
            Ok(status) => break status,
            Err(e) => return Verdict::Broken(format!("its process cannot be waited for: {e}")),
        }
    };
    let Some(status) = ended else {
        return Verdict::Caught(Kill::by(Gate::Goldens, How::Timeout, format!("after {:.0} s", limit.as_secs_f64())));
    };
    let text = std::fs::read_to_string(result).unwrap_or_default();
    let Ok(json) = serde_json::from_str::<serde_json::Value>(&text) else {
        let text = format!("no result, {status}{}", last_line(&worker.errors));
        return Verdict::Caught(Kill::by(Gate::Goldens, How::Crash, text));
    };
    let fault = json["goldens"].as_array().into_iter().flatten().find(|golden| golden["passed"] == false);
    match (json["passed"].as_u64(), fault) {
        (_, Some(golden)) => {
            let text = format!("{}: {} of {}, {}", golden["test"], golden["value"], golden["bound"], golden["fault"]);
            Verdict::Caught(Kill::by(Gate::Goldens, How::Assert, text))
        }
        (Some(passed), None) if passed > 0 => Verdict::Missed,
        _ => Verdict::ControlEmpty,
    }
}

fn last_line(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(result: PathBuf) -> Task {
        Task { result, ..Task::default() }
    }

    /// What becomes of tasks that a shell script does, whose `$0` is the result and `$1` the file that says ready.
    fn of<const N: usize>(name: &str, script: &str) -> [(Verdict, bool, bool); N] {
        let folder = std::env::temp_dir().join(format!("tenon-process-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let result = folder.join("result.json");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(&result).arg(ready(&result));
        let mut worker = Worker::start(&mut command, folder.join("errors")).unwrap();
        let outcomes = [(); N].map(|()| {
            let (outcome, goes_on) = worker.work(&task(result.clone()), Duration::from_millis(300));
            (outcome.verdict, outcome.is_doubtful, goes_on)
        });
        drop(worker);
        std::fs::remove_dir_all(&folder).unwrap();
        outcomes
    }

    fn one(name: &str, script: &str) -> Verdict {
        let [(verdict, ..)] = of(name, &format!("read task; {script}"));
        verdict
    }

    #[test]
    fn a_result_is_read() {
        assert_eq!(one("good", r#": > "$1"; echo '{"cases": 3}' > "$0.x"; mv "$0.x" "$0""#), Verdict::Missed);
        assert_eq!(one("empty", r#"echo '{"cases": 0}' > "$0.x"; mv "$0.x" "$0""#), Verdict::ControlEmpty);
        let fault = r#"echo '{"cases": 1, "faults": [{"gate": "g2", "how": "non-finite", "text": "out"},
            {"gate": "g1", "how": "assert", "text": "x"}]}' > "$0.x"; mv "$0.x" "$0""#;
        let kill = Kill { how: How::NonFinite, gates: vec![Gate::G1, Gate::G2], text: "out".to_owned() };
        assert_eq!(one("fault", fault), Verdict::Caught(kill));
        let broken = r#"echo '{"cases": 0, "broken": "no device"}' > "$0.x"; mv "$0.x" "$0""#;
        assert_eq!(one("broken", broken), Verdict::Broken("no device".to_owned()));
    }

    #[test]
    fn no_result_is_a_crash_once_the_device_is_touched() {
        let crash = one("crash", r#": > "$1"; echo 'trap' >&2; exit 7"#);
        assert_eq!(crash, Verdict::Caught(Kill::by(Gate::Crash, How::Crash, "no result, exit status: 7: trap")));
        let half = one("half", r#": > "$1"; echo '{"cas' > "$0.x"; mv "$0.x" "$0""#);
        assert_eq!(half.kill().map(|kill| kill.how), Some(How::Crash));
        assert!(matches!(one("early", "exit 1"), Verdict::Broken(_)));
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let late = one("late", r#": > "$1"; exec sleep 60"#);
        assert_eq!(late, Verdict::Caught(Kill::by(Gate::Timeout, How::Timeout, "after 0 s")));
    }

    #[test]
    fn a_process_that_did_something_before_is_doubted_where_that_may_show() {
        let good = r#"echo '{"cases": 1, "faults": [{"gate": "g1", "how": "assert", "text": "x"}]}' > "$0.x"; mv "$0.x" "$0""#;
        let [first, second] = of("used", &format!(r#"read task; {good}; read task; : > "$1"; exit 7"#));
        assert_eq!((first.0.name(), first.1, first.2), ("caught", false, true));
        assert_eq!((second.0.name(), second.1, second.2), ("caught", true, false));
        let poisoned = good.replace(r#""cases": 1"#, r#""cases": 1, "poisoned": true"#);
        let [only] = of("poisoned", &format!("read task; {poisoned}; read task"));
        assert_eq!((only.1, only.2), (true, false));
    }

    #[test]
    fn goldens_fail_by_what_they_write_and_by_writing_nothing() {
        let of = |name: &str, script: &str| {
            let result = std::env::temp_dir().join(format!("tenon-goldens-{}-{name}.json", std::process::id()));
            let mut command = Command::new("sh");
            command.arg("-c").arg(script).arg(&result);
            let verdict = watch_goldens(&mut command, &result, Duration::from_secs(5));
            let _ = std::fs::remove_file(&result);
            verdict
        };
        assert_eq!(of("green", r#"echo '{"passed": 2, "goldens": [{"passed": true}]}' > "$0""#), Verdict::Missed);
        assert_eq!(of("empty", r#"echo '{"passed": 0, "goldens": []}' > "$0""#), Verdict::ControlEmpty);
        let red = r#"echo '{"passed": 1, "goldens": [{"test": "a", "passed": false, "value": 2, "bound": 1}]}' > "$0"; exit 1"#;
        let kill = |how| Some((how, vec![Gate::Goldens]));
        let told = |verdict: Verdict| verdict.kill().map(|kill| (kill.how, kill.gates.clone()));
        assert_eq!(told(of("red", red)), kill(How::Assert));
        assert_eq!(told(of("gone", "exit 3")), kill(How::Crash));
    }
}
