//! Generated files that differ.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{LineCount, LineDiff};
use crate::emit::File;

/// A generated file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDifference {
    /// Relative to the crate of models, such as `src/llama/cpu.rs`.
    pub path: String,
    /// In which way.
    pub change: FileChange,
    /// How many lines go and how many come.
    #[serde(flatten)]
    pub lines: LineCount,
    /// The hunks in the unified form.
    pub diff: Option<String>,
}

/// In which way a generated file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// The old side has no such file.
    Added,
    /// The new side has no such file.
    Removed,
    /// Both have it.
    Changed,
}

/// Compares files by content and as a set, sorted by path. What is not UTF-8 on the old side is compared as if it were.
pub fn files(old: &BTreeMap<String, Vec<u8>>, new: &[File]) -> Vec<FileDifference> {
    let emitted: BTreeMap<&str, &str> = new.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let mut paths: Vec<&str> = old.keys().map(String::as_str).chain(emitted.keys().copied()).collect();
    paths.sort_unstable();
    paths.dedup();
    let differs = |path: &str| {
        let (before, after) = (old.get(path), emitted.get(path));
        let change = match (before, after) {
            (Some(before), Some(after)) if before.as_slice() == after.as_bytes() => return None,
            (Some(_), Some(_)) => FileChange::Changed,
            (Some(_), None) => FileChange::Removed,
            (None, _) => FileChange::Added,
        };
        let before = before.map_or(std::borrow::Cow::Borrowed(""), |bytes| String::from_utf8_lossy(bytes));
        let diff = LineDiff::new(&before, after.copied().unwrap_or_default());
        Some(FileDifference { path: path.to_owned(), change, lines: diff.count(), diff: Some(diff.unified()) })
    };
    paths.into_iter().filter_map(differs).collect()
}
