//! Sources and spans: where in which file a value of a spec stands.

use std::cmp::Ordering;
use std::ops::Range;

/// One file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// A range of bytes in one file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Bytes in it.
    pub range: Range<usize>,
}

impl Span {
    /// Another place in the same file.
    pub fn at(&self, range: Range<usize>) -> Self {
        Self { file: self.file, range }
    }
}

/// By file, then from where it begins (std gives ranges no order).
impl Ord for Span {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |span: &Self| (span.file, span.range.start, span.range.end);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Span {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where the value stands.
    pub span: Span,
    /// Where its key stands, for a value of a table.
    pub key: Span,
}

impl<T> Spanned<T> {
    /// The same place with another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: f(self.value), span: self.span, key: self.key }
    }

    /// The same place with another value.
    pub fn with<U>(&self, value: U) -> Spanned<U> {
        Spanned { value, span: self.span.clone(), key: self.key.clone() }
    }
}

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// A file that the driver read: its path relative to the workspace, with forward slashes, and its text.
#[derive(Clone, Debug)]
pub struct Source {
    /// Relative path.
    pub path: String,
    /// Content.
    pub text: String,
}

/// Every file that a run looks at. The compiler reads files only through this map, so that it does no IO.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<Source>,
}

impl SourceMap {
    /// Adds a file.
    pub fn add(&mut self, path: impl Into<String>, text: impl Into<String>) -> FileId {
        self.files.push(Source { path: path.into(), text: text.into() });
        FileId(u32::try_from(self.files.len() - 1).expect("fewer than 2^32 files"))
    }

    /// Replaces the text of a file that is there, if it is.
    pub fn replace(&mut self, path: &str, text: impl Into<String>) {
        if let Some(file) = self.files.iter_mut().find(|file| file.path == path) {
            file.text = text.into();
        }
    }

    /// The file with this id.
    pub fn file(&self, id: FileId) -> &Source {
        &self.files[id.0 as usize]
    }

    /// All files with their ids, in the order in which they were added.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &Source)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }

    /// The text of a span.
    pub fn text(&self, span: &Span) -> &str {
        &self.file(span.file).text[span.range.clone()]
    }
}
