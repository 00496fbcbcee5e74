//! compute-sanitizer over what the cases alone do not notice.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::change::Origin;
use super::process::{Ended, watch};
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

/// The command that runs another under a tool, without the other's arguments.
pub fn under(sanitizer: &Path, tool: Tool, result: &Path, program: &Path) -> Command {
    let mut command = Command::new(sanitizer);
    command.args(["--tool", tool.name(), "--error-exitcode", &FOUND.to_string(), "--print-limit", "4", "--log-file"]);
    command.arg(log(result)).arg(program);
    command
}

fn log(result: &Path) -> PathBuf {
    result.with_extension("log")
}

/// Runs such a command. What the tool finds is told by its exit status, and in words by its log.
pub fn watch_under(tool: Tool, command: &mut Command, result: &Path, limit: Duration) -> Verdict {
    let log = log(result);
    let _ = std::fs::remove_file(&log);
    let Ended { verdict, code } = watch(command, result, limit);
    if code == Some(FOUND) {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        return Verdict::Caught(Kill::by(Gate::Sanitizer, tool.how(), finding(&text)));
    }
    verdict
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
        let result = folder.join("result.json");
        let run = |script: &str| {
            let mut command = Command::new("sh");
            command.arg("-c").arg(script).arg(&result).arg(super::super::process::ready(&result)).arg(log(&result));
            watch_under(Tool::Racecheck, &mut command, &result, Duration::from_secs(5))
        };
        let green = r#": > "$1"; echo '{"cases": 1}' > "$0"; echo '========= Error: none' > "$2"; exit"#;
        assert_eq!(run(&format!("{green} 0")), Verdict::Missed);
        assert_eq!(run(&format!("{green} 88")), Verdict::Caught(Kill::by(Gate::Sanitizer, How::Racecheck, "Error: none")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
