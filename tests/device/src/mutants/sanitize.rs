//! compute-sanitizer over what the cases alone do not notice.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::change::Origin;
use super::process::{Task, Worker};
use super::verdict::{Gate, How, Kill, Verdict};

/// What it exits with where it finds something.
const FOUND: i32 = 88;

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Accesses outside what is allocated.
    Memcheck,
    /// Accesses to shared memory that nothing orders.
    Racecheck,
    /// Barriers that not all threads reach.
    Synccheck,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Memcheck, Self::Racecheck, Self::Synccheck];

    /// Those that may see what such a mutant does, the likeliest first.
    pub fn of(origin: Origin) -> &'static [Self] {
        match origin {
            Origin::Barrier => &[Self::Racecheck, Self::Synccheck],
            Origin::Written | Origin::SelfTest => &[Self::Racecheck, Self::Memcheck, Self::Synccheck],
            Origin::Bound | Origin::Accumulator | Origin::Parameter => &[Self::Memcheck, Self::Racecheck],
        }
    }

    /// As compute-sanitizer calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Synccheck => "synccheck",
        }
    }

    fn how(self) -> How {
        match self {
            Self::Memcheck => How::Memcheck,
            Self::Racecheck => How::Racecheck,
            Self::Synccheck => How::Synccheck,
        }
    }
}

/// The command that runs another under a tool, without the other's arguments. What it finds goes to `log`.
pub fn under(sanitizer: &Path, tool: Tool, log: &Path, program: &Path) -> Command {
    let mut command = Command::new(sanitizer);
    command.args(["--tool", tool.name(), "--error-exitcode", &FOUND.to_string(), "--print-limit", "4", "--log-file"]);
    command.arg(log).arg(program);
    command
}

/// Runs such a command with one task. What the tool finds is told by its exit status, and in words by its log.
pub fn work_under(tool: Tool, command: &mut Command, log: &Path, task: &Task, limit: Duration) -> Verdict {
    let _ = std::fs::remove_file(log);
    let worker = match Worker::start(command, log.with_extension("err")) {
        Ok(worker) => worker,
        Err(why) => return Verdict::Broken(why),
    };
    let outcome = worker.work_alone(task, limit);
    if outcome.code == Some(FOUND) {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        return Verdict::Caught(Kill::by(Gate::Sanitizer, tool.how(), finding(&text)));
    }
    outcome.verdict
}

/// The first lines of a log that say what was found.
fn finding(log: &str) -> String {
    let lines = log.lines().map(|line| line.trim_start_matches('=').trim());
    let mut told = lines.filter(|line| !line.is_empty() && !line.starts_with("COMPUTE-SANITIZER")).take(2);
    let first = told.next().unwrap_or("it says nothing").to_owned();
    told.next().map_or(first.clone(), |second| format!("{first}, {second}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_told_without_its_banner() {
        let log =
            "========= COMPUTE-SANITIZER\n========= Error: Race reported between Read\n=========     and Write\n========= x\n";
        assert_eq!(finding(log), "Error: Race reported between Read, and Write");
        assert_eq!(finding("========= COMPUTE-SANITIZER\n"), "it says nothing");
    }

    #[test]
    fn the_exit_status_tells_and_not_the_log() {
        let folder = std::env::temp_dir().join(format!("tenon-sanitize-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (result, log) = (folder.join("result.json"), folder.join("racecheck.log"));
        let task = Task { result: result.clone(), ..Task::default() };
        let run = |code: usize| {
            let script = r#"read task; echo '{"cases": 1}' > "$0.x"; mv "$0.x" "$0"; echo '========= Error: none' > "$1"; exit "#;
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("{script}{code}")).arg(&result).arg(&log);
            work_under(Tool::Racecheck, &mut command, &log, &task, Duration::from_secs(5))
        };
        assert_eq!(run(0), Verdict::Missed);
        assert_eq!(run(88), Verdict::Caught(Kill::by(Gate::Sanitizer, How::Racecheck, "Error: none")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
