//! A strict typed reader of TOML: what is not read is an error, every value keeps its place, and errors accumulate.

mod value;

use std::cell::{Cell, RefCell};

use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Diagnostics, Id, did_you_mean, listed, nearest, quoted};
use crate::source::{FileId, Source, Span, Spanned};

pub(crate) use value::{Value, Vocabulary};

/// Where the value of a key is usually found, for `missing-key`.
pub(crate) type Whereabouts = fn(&str) -> Option<&'static str>;

/// Reads one file with `read`. `None` when anything in it is wrong; then `diags` says what.
pub(crate) fn read_file<T>(
    file: FileId,
    source: &Source,
    whereabouts: Whereabouts,
    diags: &mut Diagnostics,
    read: impl FnOnce(Table<'_>) -> Option<T>,
) -> Option<T> {
    let (document, errors) = DeTable::parse_recoverable(&source.text);
    let reading = Reading {
        file,
        text: &source.text,
        whereabouts,
        found: RefCell::default(),
        missing: RefCell::default(),
        done: RefCell::default(),
        open: Cell::new(0),
    };
    let end = source.text.trim_end().len();
    let root = Table::new(&reading, String::new(), reading.span(end..end), document.get_ref());
    let result = read(root);
    debug_assert!(result.is_none() || reading.open.get() == 0, "a table was neither finished nor abandoned");

    if errors.is_empty() {
        reading.settle();
        let found = reading.found.into_inner();
        let good = found.is_empty();
        diags.extend(found);
        return result.filter(|_| good);
    }
    // What else was found may follow from the syntax errors: a broken header moves keys into another table, a broken line
    // takes its key away. What is wrong with a value on another line stands on its own.
    let line = |byte: usize| source.text.as_bytes()[..byte.min(source.text.len())].iter().filter(|b| **b == b'\n').count();
    let spans: Vec<_> = errors.iter().map(|e| e.span().unwrap_or(0..0)).collect();
    let broken: Vec<usize> = spans.iter().map(|span| line(span.start)).collect();
    diags.extend(reading.found.into_inner().into_iter().filter(|d| {
        let of_a_value =
            matches!(d.id, Id::WrongType | Id::UnknownValue | Id::ValueOutOfRange | Id::TodoValue | Id::ExpressionSyntax);
        of_a_value && d.place().is_some_and(|place| !broken.contains(&line(place.range.start)))
    }));
    diags.extend(errors.iter().zip(spans).map(|(error, range)| syntax(error.message(), Span { file, range }, &source.text)));
    None
}

/// What the parser says, in the words of the other diagnostics.
fn syntax(message: &str, span: Span, text: &str) -> Diagnostic {
    let what = text.get(span.range.clone()).unwrap_or_default();
    let diagnostic = |message: String| Diagnostic::new(Id::TomlSyntax, message);
    match message {
        "duplicate key" if !what.is_empty() => {
            let message = format!("duplicate key `{}`", what.trim_matches('"'));
            diagnostic(message).label(&span, "it is given above already").help("keep one of them")
        }
        _ if message.starts_with("string values must be quoted") && !what.is_empty() => {
            let diagnostic = diagnostic("text must be quoted".to_owned()).label(&span, "no number, date or truth value");
            diagnostic.help("put it in quotes").patch(&span, format!("{what:?}"))
        }
        _ => {
            // The parser's message is "what, expected what"; its first part is the error, the second belongs to the place.
            let (what, expected) = message.split_once(", expected ").unwrap_or((message, ""));
            let label = if expected.is_empty() { String::new() } else { format!("expected {expected}") };
            diagnostic(what.replace('\n', " ")).label(&span, label).help("TOML is described at toml.io")
        }
    }
}

/// One file while it is read.
struct Reading<'t> {
    file: FileId,
    text: &'t str,
    whereabouts: Whereabouts,
    found: RefCell<Vec<Diagnostic>>,
    /// Kept apart, because a key that nothing reads often explains one that is missing.
    missing: RefCell<Vec<Missing>>,
    done: RefCell<Vec<Done>>,
    /// Tables that are neither finished nor abandoned.
    open: Cell<usize>,
}

/// A table that has been read to its end.
struct Done {
    path: String,
    asked: Vec<&'static str>,
    present: Vec<String>,
    unread: Vec<Unread>,
}

/// A key or table that must be there and is not.
struct Missing {
    /// The table that needs it, and where that begins.
    path: String,
    header: Span,
    key: String,
    table: bool,
}

/// A key that nothing asked for.
struct Unread {
    key: String,
    span: Span,
    table: bool,
}

impl Reading<'_> {
    fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span { file: self.file, range }
    }

    fn push(&self, diagnostic: Diagnostic) {
        self.found.borrow_mut().push(diagnostic);
    }

    /// Reports what was left over and what was missing. It runs last, when every table's keys are known, so that it can say
    /// where a key belongs, and so that a misspelt key is one error and not two.
    fn settle(&self) {
        let done = self.done.borrow();
        let mut missing = self.missing.take();
        for table in done.iter() {
            for unread in &table.unread {
                let (diagnostic, explained) = self.unknown_key(table, unread, &done, &missing);
                self.push(diagnostic);
                if let Some(at) = explained {
                    missing.remove(at);
                }
            }
        }
        for missing in &missing {
            self.push(self.missing_key(missing, &done));
        }
    }

    /// The error for a key that nothing reads, and which of the missing keys was meant.
    fn unknown_key(&self, table: &Done, unread: &Unread, all: &[Done], missing: &[Missing]) -> (Diagnostic, Option<usize>) {
        let key = unread.key.as_str();
        let message = match (unread.table, table.path.is_empty()) {
            (true, true) => format!("unknown table `[{key}]`"),
            (true, false) => format!("unknown table `[{}.{key}]`", table.path),
            (false, true) => format!("unknown key `{key}` before the first table"),
            (false, false) => format!("unknown key `{key}` in `[{}]`", table.path),
        };
        let diagnostic = Diagnostic::new(Id::UnknownKey, message);
        let belongs =
            |path: &str| if path.is_empty() { "belongs to the top level".to_owned() } else { format!("belongs to `[{path}]`") };
        if let Some(at) = missing.iter().position(|m| m.path != table.path && m.key == key) {
            let diagnostic = diagnostic.label(&unread.span, belongs(&missing[at].path));
            let diagnostic = diagnostic.context(&missing[at].header, "is missing here");
            return (diagnostic.help("move it there"), Some(at));
        }
        if let Some(other) = all.iter().find(|t| t.path != table.path && t.asked.contains(&key)) {
            return (diagnostic.label(&unread.span, belongs(&other.path)).help("move it there, or delete it"), None);
        }
        // A key that is there already cannot be what was meant.
        let candidates = table.asked.iter().copied().filter(|asked| !table.present.iter().any(|p| p == asked));
        let candidates: Vec<&str> = candidates.collect();
        let diagnostic = diagnostic.label(&unread.span, "nothing reads this");
        match (did_you_mean(key, candidates.iter().copied()), &nearest(key, candidates)[..]) {
            (Some(question), [name]) => {
                let explained = missing.iter().position(|m| m.path == table.path && m.key == *name);
                (diagnostic.help(question).patch(&unread.span, *name), explained)
            }
            (Some(question), _) => (diagnostic.help(question), None),
            // What a table may still have says more than "delete it" alone.
            (None, _) => {
                let rest = table.asked.iter().filter(|asked| !table.present.iter().any(|p| p == *asked));
                let rest: Vec<&str> = rest.copied().take(12).collect();
                let help =
                    if rest.is_empty() { "delete it".to_owned() } else { format!("delete it, or write {}", listed(&rest, "or")) };
                (diagnostic.help(help), None)
            }
        }
    }

    fn missing_key(&self, missing: &Missing, all: &[Done]) -> Diagnostic {
        let Missing { path, header, key, table } = missing;
        let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let name = if *table { format!("`[{full}]`") } else { format!("`{key}`") };
        let label = if path.is_empty() {
            "the file ends without it".to_owned()
        } else if self.text[header.range.clone()].starts_with('[') {
            format!("`{}` needs it", &self.text[header.range.clone()])
        } else {
            format!("`{path}` needs it")
        };
        let diagnostic = Diagnostic::new(Id::MissingKey, format!("{name} is missing")).label(header, label);
        let keys = all.iter().filter(|t| *table && t.path == full).map(|t| format!("it has the keys {}", quoted(&t.asked)));
        let place = (self.whereabouts)(key).map(|place| format!("`{key}` is usually found in {place}"));
        keys.chain(place).fold(diagnostic, Diagnostic::help)
    }
}

/// A table that remembers which of its keys were read. It must be finished or abandoned.
pub(crate) struct Table<'r> {
    reading: &'r Reading<'r>,
    path: String,
    header: Span,
    /// In the order of the file.
    entries: Vec<Entry<'r>>,
    asked: Vec<&'static str>,
    /// The table is missing and that has been reported: its keys are asked for, so that they are known, but not missed.
    absent: bool,
}

struct Entry<'r> {
    key: &'r str,
    span: Span,
    value: &'r TomlSpanned<DeValue<'r>>,
    read: bool,
}

impl<'r> Table<'r> {
    fn new(reading: &'r Reading<'r>, path: String, header: Span, table: &'r DeTable<'r>) -> Self {
        let entry = |(key, value): (&'r TomlSpanned<_>, _)| {
            let name: &'r std::borrow::Cow<'r, str> = key.get_ref();
            Entry { key: name.as_ref(), span: reading.span(key.span()), value, read: false }
        };
        let mut entries: Vec<_> = table.iter().map(entry).collect();
        entries.sort_by_key(|e| e.span.range.start);
        reading.open.set(reading.open.get() + 1);
        Self { reading, path, header, entries, asked: Vec::new(), absent: false }
    }

    /// Stands for a table that is missing.
    fn absent(&self, key: &str) -> Self {
        self.reading.open.set(self.reading.open.get() + 1);
        let (path, header) = (self.path_of(key), self.header.clone());
        Self { reading: self.reading, path, header, entries: Vec::new(), asked: Vec::new(), absent: true }
    }

    /// Where the table begins: its header, or the braces of an inline table.
    pub(crate) fn header(&self) -> &Span {
        &self.header
    }

    /// The value of a key, which must be there.
    pub(crate) fn required(&mut self, key: &'static str) -> Option<Value<'r>> {
        self.asked.push(key);
        match self.take(key) {
            Some((span, value)) => Value::new(self.reading, key, span, value),
            None => {
                self.miss(key, false);
                None
            }
        }
    }

    /// The value of a key, if it is there.
    pub(crate) fn optional(&mut self, key: &'static str) -> Option<Value<'r>> {
        self.asked.push(key);
        let (span, value) = self.take(key)?;
        Value::new(self.reading, key, span, value)
    }

    /// Where a key stands, if it is there. It counts as read only once its value is asked for.
    pub(crate) fn key_span(&self, key: &str) -> Option<Span> {
        self.entries.iter().find(|e| e.key == key).map(|e| e.span.clone())
    }

    /// A table below this one, which must be there. When it is not, that is reported and the keys of the result are not.
    pub(crate) fn table(&mut self, key: &'static str) -> Self {
        let there = self.key_span(key).is_some();
        if let Some(table) = self.optional_table(key) {
            return table;
        }
        if !there {
            self.miss(key, true);
        }
        self.absent(key)
    }

    /// A table below this one, if it is there.
    pub(crate) fn optional_table(&mut self, key: &'static str) -> Option<Self> {
        let path = self.path_of(key);
        self.optional(key)?.table(path)
    }

    /// `[[key]]`: the tables of an array, if there is one.
    pub(crate) fn tables(&mut self, key: &'static str) -> Vec<Self> {
        let path = self.path_of(key);
        let Some(value) = self.optional(key) else { return Vec::new() };
        value.tables(&path)
    }

    /// Every table below this one that was not asked for by name, in the order of the file: those whose names the user chooses.
    pub(crate) fn named_tables(&mut self) -> Vec<(Spanned<String>, Self)> {
        let mut tables = Vec::new();
        for (name, value) in self.rest(|value| value.is_table()) {
            let path = self.path_of(&name);
            if let Some(table) = value.table(path) {
                tables.push((name, table));
            }
        }
        tables
    }

    /// Every value that was not asked for by name, in the order of the file.
    pub(crate) fn named_values(&mut self) -> Vec<(Spanned<String>, Value<'r>)> {
        self.rest(|_| true)
    }

    fn rest(&mut self, wanted: impl Fn(&DeValue<'_>) -> bool) -> Vec<(Spanned<String>, Value<'r>)> {
        let mut rest = Vec::new();
        for entry in self.entries.iter_mut().filter(|e| !e.read && wanted(e.value.get_ref())) {
            entry.read = true;
            let name = Spanned { value: entry.key.to_owned(), span: entry.span.clone(), key: entry.span.clone() };
            if let Some(value) = Value::new(self.reading, entry.key, entry.span.clone(), entry.value) {
                rest.push((name, value));
            }
        }
        rest
    }

    /// Ends the table: what was not read is an error.
    pub(crate) fn finish(self) {
        self.reading.open.set(self.reading.open.get() - 1);
        let unread = self.entries.iter().filter(|e| !e.read);
        let unread = unread.map(|e| Unread { key: e.key.to_owned(), span: e.span.clone(), table: e.value.get_ref().is_table() });
        let (unread, present) = (unread.collect(), self.entries.iter().map(|e| e.key.to_owned()).collect());
        self.reading.done.borrow_mut().push(Done { path: self.path, asked: self.asked, present, unread });
    }

    /// Ends a table that cannot be read further, because what decides on its keys is wrong. The file has errors then.
    pub(crate) fn abandon(mut self) {
        let reading = self.reading;
        let reason = self.absent || !reading.found.borrow().is_empty() || !reading.missing.borrow().is_empty();
        debug_assert!(reason, "abandoned without a reason");
        self.entries.clear();
        self.finish();
    }

    /// Reports something about this table.
    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        self.reading.push(diagnostic);
    }

    /// Notes that a key or a table below this one is missing, unless this table itself is.
    fn miss(&self, key: &str, table: bool) {
        if !self.absent {
            let missing = Missing { path: self.path.clone(), header: self.header.clone(), key: key.to_owned(), table };
            self.reading.missing.borrow_mut().push(missing);
        }
    }

    /// Adds to a diagnostic where the value of a key is usually found.
    pub(crate) fn whereabouts(&self, key: &str, diagnostic: Diagnostic) -> Diagnostic {
        match (self.reading.whereabouts)(key) {
            Some(place) => diagnostic.help(format!("`{key}` is usually found in {place}")),
            None => diagnostic,
        }
    }

    /// Counts a key as read that has been reported otherwise.
    pub(crate) fn skip(&mut self, key: &str) {
        let _ = self.take(key);
    }

    fn take(&mut self, key: &str) -> Option<(Span, &'r TomlSpanned<DeValue<'r>>)> {
        let entry = self.entries.iter_mut().find(|e| e.key == key)?;
        entry.read = true;
        Some((entry.span.clone(), entry.value))
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

#[cfg(test)]
mod tests;
