//! Diagnostics as text: for people with the lines they are about, one line each, or JSON.

mod human;
mod json;

use std::fmt::Write as _;
use std::str::FromStr;

use super::Diagnostic;
use crate::source::SourceMap;

/// How diagnostics are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// With the lines of the files, labels and fixes.
    #[default]
    Human,
    /// `path:line:column: error[id]: message`
    Short,
    /// One JSON document.
    Json,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Human, Self::Short, Self::Json];

    /// The spelling on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Short => "short",
            Self::Json => "json",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == text);
        found.ok_or_else(|| format!("`{text}` is no format; there are human, short and json"))
    }
}

/// Writes diagnostics in the given order. `color` adds ANSI escapes to [`Format::Human`] and changes nothing else.
/// Every form ends with a newline, unless it is empty.
pub fn render(diagnostics: &[&Diagnostic], sources: &SourceMap, format: Format, color: bool) -> String {
    match format {
        Format::Human => {
            let blocks: Vec<_> = diagnostics.iter().map(|d| human::block(d, sources, color)).collect();
            blocks.join("\n")
        }
        Format::Short => diagnostics.iter().map(|d| short(d, sources)).collect(),
        Format::Json => json::document(diagnostics, sources),
    }
}

fn short(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let mut line = String::new();
    if let Some(span) = diagnostic.place() {
        let file = sources.file(span.file);
        let (row, column) = line_column(&file.text, span.range.start);
        let _ = write!(line, "{}:{row}:{column}: ", file.path);
    }
    let _ = writeln!(line, "error[{}]: {}", diagnostic.id, diagnostic.message);
    line
}

/// Line and column of a byte, both from 1; columns count characters. Anything beyond the text counts as its end.
fn line_column(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..floor(text, byte)];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (1 + before.matches('\n').count(), 1 + before[start..].chars().count())
}

/// The last character boundary at or before a byte, so that no span can make rendering panic.
fn floor(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

#[cfg(test)]
mod tests;
