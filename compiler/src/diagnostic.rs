//! Diagnostics: what is wrong with a spec, where it says so, and how to put it right.

mod id;
mod render;
mod suggest;

use std::panic::Location;

use crate::source::{SourceMap, Span};

pub use id::Id;
pub use render::{Format, render};
pub use suggest::{did_you_mean, listed, nearest, quoted, thousands};

/// One error. The message is one line, lower case, without a trailing period; details stand in the labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which error this is; `tenon explain` has its page.
    pub id: Id,
    /// One line.
    pub message: String,
    /// The places that it is about; the first primary one says where the error stands.
    pub labels: Vec<Label>,
    /// Facts that belong to no single place.
    pub notes: Vec<String>,
    /// Ways out.
    pub helps: Vec<String>,
    /// Edits that together carry out the last of `helps`.
    pub patches: Vec<Patch>,
    /// Where the compiler made it, for the test that every such place is reached by a case.
    pub site: Site,
}

/// A place in the compiler's own source. It says nothing of the error, so all are equal.
#[derive(Clone, Copy, Debug)]
pub struct Site(pub &'static Location<'static>);

impl PartialEq for Site {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Site {}

/// A place in a file, and what is to be said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// May be empty: then the place is marked and nothing is said.
    pub text: String,
    /// Whether the error stands here, or whether this place only explains it.
    pub primary: bool,
}

/// Replaces the text of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// What goes; an empty range inserts.
    pub span: Span,
    /// What comes.
    pub replacement: String,
}

impl Diagnostic {
    /// A diagnostic that points nowhere yet.
    #[track_caller]
    pub fn new(id: Id, message: impl Into<String>) -> Self {
        let site = Site(Location::caller());
        Self { id, message: message.into(), labels: Vec::new(), notes: Vec::new(), helps: Vec::new(), patches: Vec::new(), site }
    }

    /// Marks where the error stands.
    pub fn label(mut self, span: &Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span: span.clone(), text: text.into(), primary: true });
        self
    }

    /// Marks a place that explains the error, in the same or another file.
    pub fn context(mut self, span: &Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span: span.clone(), text: text.into(), primary: false });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds a way out.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(text.into());
        self
    }

    /// Adds an edit to the fix that the last help describes.
    pub fn patch(mut self, span: &Span, replacement: impl Into<String>) -> Self {
        self.patches.push(Patch { span: span.clone(), replacement: replacement.into() });
        self
    }

    /// Where the error stands: the first primary label, or else the first label.
    pub fn place(&self) -> Option<&Span> {
        self.labels.iter().find(|l| l.primary).or(self.labels.first()).map(|l| &l.span)
    }
}

/// The diagnostics of a run. Stages push into it and go on, so that one run reports everything.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Moves all of another's here.
    pub fn append(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// How many were pushed.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether anything was reported. Every diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        !self.list.is_empty()
    }

    /// In the order of files, then of places, then of ids, each once; those that point nowhere come first.
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut sorted: Vec<&Diagnostic> = self.list.iter().collect();
        sorted.sort_by(|a, b| (a.place(), a.id, &a.message).cmp(&(b.place(), b.id, &b.message)));
        // The sort key leaves out labels and notes, so equal ones need not be neighbours among those of equal key.
        let mut seen: Vec<&Diagnostic> = Vec::with_capacity(sorted.len());
        for diagnostic in sorted {
            if !seen.contains(&diagnostic) {
                seen.push(diagnostic);
            }
        }
        seen
    }

    /// All diagnostics in one of the three forms; see [`render()`].
    pub fn render(&self, sources: &SourceMap, format: Format, color: bool) -> String {
        render(&self.sorted(), sources, format, color)
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, iter: T) {
        self.list.extend(iter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_by_place_and_each_once() {
        let mut sources = SourceMap::default();
        let first = sources.add("a/MODEL.toml", "x = 1\ny = 2\n");
        let second = sources.add("b/MODEL.toml", "x = 1\n");
        let at = |file, range| Span { file, range };
        let mut diags = Diagnostics::default();
        assert!(!diags.has_errors());
        diags.push(Diagnostic::new(Id::UnknownKey, "three").label(&at(second, 0..1), ""));
        diags.push(Diagnostic::new(Id::UnknownKey, "two").context(&at(first, 0..1), "").label(&at(first, 6..7), ""));
        diags.push(Diagnostic::new(Id::WrongType, "one").label(&at(first, 0..1), ""));
        diags.push(Diagnostic::new(Id::UnknownKey, "three").label(&at(second, 0..1), ""));
        diags.push(Diagnostic::new(Id::GeneratedStale, "zero"));
        let messages: Vec<_> = diags.sorted().iter().map(|d| d.message.as_str()).collect();
        assert_eq!(messages, ["zero", "one", "two", "three"]);
        assert!(diags.has_errors());
    }
}
