//! What a process under a tool runs, and what it says of it: files between the command and its processes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::settings::Reads;

/// What a process runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The folder of the templates.
    pub templates: PathBuf,
    /// The instances that are tested.
    pub instances: PathBuf,
    /// Outputs and workspaces are allocated without being written.
    pub unwritten: bool,
    /// What kernels may read of memory that they also write.
    pub reads: Vec<Reads>,
    /// In this order.
    pub units: Vec<Unit>,
    /// The last unit is a planted fault that must be reported with these words: a tool that reports it has looked on to the end.
    pub shows: Option<String>,
}

/// An instance with its machine code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unit {
    /// Its template.
    pub template: String,
    /// Its name.
    pub instance: String,
    /// The name of its kernel: that of the instance, or of the fault that is planted in it.
    pub kernel: String,
    /// Its machine code.
    pub cubin: PathBuf,
    /// So many of its cases, at most.
    pub cases: usize,
}

/// A line that a process writes before and after every launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Which unit of the plan.
    pub unit: usize,
    /// The name of the case.
    pub case: String,
    /// Milliseconds since the process began.
    pub ms: u64,
    /// What there is to say.
    pub state: State,
}

/// How far a case is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Of the unit, so many cases are left out: what this line says before the first.
    LeftOut(usize),
    /// It is launched next.
    Started,
    /// Its kernel ended, and its results are right.
    Right,
    /// Its kernel ended, and its results are wrong.
    Wrong(String),
    /// The driver says no.
    Failed(String),
    /// Nothing is left of the plan.
    Over,
}

/// The lines of a process. One that was cut off, as of a process that was ended, is none.
pub fn lines(text: &str) -> Vec<Line> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Where a process writes its lines.
pub fn result_of(folder: &Path) -> PathBuf {
    folder.join("result.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_none() {
        let line = Line { unit: 3, case: "ragged \"tail\"".to_owned(), ms: 7, state: State::Failed("ASSERT".to_owned()) };
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(lines(&format!("{text}\n{}", &text[..text.len() / 2])), [line]);
    }
}
