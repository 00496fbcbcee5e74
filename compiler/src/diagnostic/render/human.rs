//! The form for people: the lines that a diagnostic is about, across files, with notes and fixes.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Patch, Renderer, Snippet};

use super::floor;
use crate::diagnostic::{Diagnostic, Label};
use crate::source::{FileId, Source, SourceMap};

/// One diagnostic, ending with a newline.
pub(super) fn block(diagnostic: &Diagnostic, sources: &SourceMap, color: bool) -> String {
    let title = Level::ERROR.primary_title(diagnostic.message.as_str()).id(diagnostic.id.as_str());
    let mut main = Group::with_title(title);
    for file in files(diagnostic) {
        let source = sources.file(file);
        let labels = diagnostic.labels.iter().filter(|l| l.span.file == file);
        let snippet = Snippet::source(source.text.as_str()).path(source.path.as_str());
        main = main.element(snippet.annotations(labels.map(|l| annotation(l, source))));
    }
    for note in &diagnostic.notes {
        main = main.element(Level::NOTE.no_name().message(note.as_str()));
    }
    // The last help owns the patches, so it becomes a group of its own that shows the patched lines.
    let (patched, plain) = match diagnostic.helps.split_last() {
        _ if diagnostic.patches.is_empty() => (None, &diagnostic.helps[..]),
        Some((last, rest)) => (Some(last.as_str()), rest),
        None => (Some("change it to"), &[][..]),
    };
    for help in plain {
        main = main.element(Level::HELP.message(help.as_str()));
    }

    let explain = Level::NOTE.with_name("explain").message(format!("tenon explain {}", diagnostic.id));
    let groups = match patched {
        None => vec![main.element(explain)],
        Some(help) => vec![main, fix(help, diagnostic, sources).element(explain)],
    };
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.render(&groups);
    text.push('\n');
    text
}

fn fix<'a>(help: &'a str, diagnostic: &'a Diagnostic, sources: &'a SourceMap) -> Group<'a> {
    let mut group = Group::with_title(Level::HELP.secondary_title(help));
    let mut files: Vec<FileId> = diagnostic.patches.iter().map(|p| p.span.file).collect();
    files.sort();
    files.dedup();
    for file in files {
        let source = sources.file(file);
        let patches = diagnostic.patches.iter().filter(|p| p.span.file == file);
        let patches = patches.map(|p| Patch::new(within(&p.span.range, source), p.replacement.as_str()));
        group = group.element(Snippet::source(source.text.as_str()).path(source.path.as_str()).patches(patches));
    }
    group
}

/// The files of the labels, that of the error first.
fn files(diagnostic: &Diagnostic) -> Vec<FileId> {
    let mut files: Vec<FileId> = diagnostic.place().map(|span| span.file).into_iter().collect();
    for label in &diagnostic.labels {
        if !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    files
}

fn annotation<'a>(label: &'a Label, source: &Source) -> Annotation<'a> {
    let kind = if label.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let annotation = kind.span(within(&label.span.range, source));
    if label.text.is_empty() { annotation } else { annotation.label(label.text.as_str()) }
}

fn within(range: &Range<usize>, source: &Source) -> Range<usize> {
    let start = floor(&source.text, range.start);
    start..floor(&source.text, range.end).max(start)
}
