//! The form for editors and scripts: one JSON document.

use serde::Serialize;

use super::line_column;
use crate::diagnostic::Diagnostic;
use crate::source::{SourceMap, Span};

#[derive(Serialize)]
struct Document<'a> {
    diagnostics: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    severity: &'static str,
    id: &'static str,
    message: &'a str,
    labels: Vec<LabelEntry<'a>>,
    notes: &'a [String],
    helps: &'a [String],
    patches: Vec<PatchEntry<'a>>,
    explain: String,
}

#[derive(Serialize)]
struct LabelEntry<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    text: &'a str,
    primary: bool,
}

#[derive(Serialize)]
struct PatchEntry<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    replacement: &'a str,
}

/// Bytes count from 0 with an exclusive end; lines and columns count from 1, columns in characters.
#[derive(Serialize)]
struct Place<'a> {
    path: &'a str,
    byte_start: usize,
    byte_end: usize,
    line_start: usize,
    column_start: usize,
    line_end: usize,
    column_end: usize,
}

/// `{"diagnostics": [..]}`, ending with a newline.
pub(super) fn document(diagnostics: &[&Diagnostic], sources: &SourceMap) -> String {
    let diagnostics = diagnostics.iter().map(|d| entry(d, sources)).collect();
    let mut text = serde_json::to_string_pretty(&Document { diagnostics }).expect("strings and numbers are always valid JSON");
    text.push('\n');
    text
}

fn entry<'a>(diagnostic: &'a Diagnostic, sources: &'a SourceMap) -> Entry<'a> {
    let labels = diagnostic.labels.iter();
    let patches = diagnostic.patches.iter();
    Entry {
        severity: "error",
        id: diagnostic.id.as_str(),
        message: &diagnostic.message,
        labels: labels.map(|l| LabelEntry { place: place(&l.span, sources), text: &l.text, primary: l.primary }).collect(),
        notes: &diagnostic.notes,
        helps: &diagnostic.helps,
        patches: patches.map(|p| PatchEntry { place: place(&p.span, sources), replacement: &p.replacement }).collect(),
        explain: format!("tenon explain {}", diagnostic.id),
    }
}

fn place<'a>(span: &Span, sources: &'a SourceMap) -> Place<'a> {
    let file = sources.file(span.file);
    let (line_start, column_start) = line_column(&file.text, span.range.start);
    let (line_end, column_end) = line_column(&file.text, span.range.end);
    let (byte_start, byte_end) = (span.range.start, span.range.end);
    Place { path: &file.path, byte_start, byte_end, line_start, column_start, line_end, column_end }
}
