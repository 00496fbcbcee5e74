//! Reads what compute-sanitizer says.

use std::collections::BTreeMap;

use serde::Serialize;

/// What is asked of it, so that it says what is read here.
pub const OPTIONS: [&str; 0] = [];

/// What a tool said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// Errors by its own count; none where it has no summary.
    pub errors: Option<u64>,
    /// What it reports, in order.
    pub records: Vec<Record>,
    /// Launches that it has seen, by kernel.
    pub launches: BTreeMap<String, usize>,
}

/// One report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The kernel, where it names one.
    pub kernel: Option<String>,
    /// What it is.
    pub what: String,
}

/// The version that `--version` says.
pub fn version(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.trim().strip_prefix("Version ")).map(str::to_owned)
}

/// Reads a log.
pub fn read(_text: &str) -> Log {
    Log::default()
}
