//! The places of a spec: its keys with their values, and its tables.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// A key of a table, or of an inline table, with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The whole path: `mixer.attention.rope.factor`.
    pub path: String,
    /// The path without names that the author chose: `mixer.*.rope.factor`.
    pub general: String,
    /// The key.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
    /// Key and value: whole lines, or the part of an inline table.
    pub whole: Range<usize>,
    /// What the value is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A whole number.
    Integer,
    /// Another number.
    Float,
    /// `true` or `false`.
    Boolean,
    /// A text without its quotes.
    Text(String),
    /// A list, with the places and kinds of its elements.
    List(Vec<(Range<usize>, Kind)>),
    /// An inline table.
    Inline,
}

/// A table with a header.
#[derive(Clone, Debug)]
pub struct Table {
    /// As it stands in the brackets.
    pub path: String,
    /// Without names that the author chose.
    pub general: String,
    /// The text in the brackets.
    pub name: Range<usize>,
    /// From the header to the next one.
    pub whole: Range<usize>,
    /// The lines below the header.
    pub body: Range<usize>,
}

/// All places of a text.
#[derive(Clone, Debug)]
pub struct Places {
    /// In the order of the text.
    pub entries: Vec<Entry>,
    /// In the order of the text.
    pub tables: Vec<Table>,
}

impl Places {
    /// The places of a good spec.
    ///
    /// # Panics
    /// Where the text is no TOML: goldens are.
    pub fn of(text: &str) -> Self {
        let root = DeTable::parse(text).unwrap_or_else(|e| panic!("a spec is no TOML: {e}"));
        let mut entries = Vec::new();
        read(text, "", root.get_ref(), false, &mut entries);
        entries.sort_by_key(|entry| entry.key.start);
        let tables = tables(text, &entries);
        Self { entries, tables }
    }
}

fn read(text: &str, path: &str, table: &DeTable<'_>, inline: bool, into: &mut Vec<Entry>) {
    for (key, value) in table {
        let path = if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
        let (key, span) = (key.span(), value.span());
        let kind = match value.get_ref() {
            DeValue::Table(table) if !text[span.clone()].starts_with('{') => {
                read(text, &path, table, false, into);
                continue;
            }
            DeValue::Array(array) if array.iter().any(|e| !text[e.span()].starts_with('{') && e.get_ref().is_table()) => {
                for table in array.iter().filter_map(|e| e.get_ref().as_table()) {
                    read(text, &path, table, false, into);
                }
                continue;
            }
            DeValue::Table(table) => {
                read(text, &path, table, true, into);
                Kind::Inline
            }
            other => kind(other),
        };
        let whole = if inline { key.start..span.end } else { line_start(text, key.start)..line_end(text, span.end) };
        into.push(Entry { general: general(&path), path, key, value: span, whole, kind });
    }
}

fn kind(value: &DeValue<'_>) -> Kind {
    match value {
        DeValue::Integer(_) => Kind::Integer,
        DeValue::Float(_) => Kind::Float,
        DeValue::Boolean(_) => Kind::Boolean,
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Array(array) => Kind::List(array.iter().map(|e| (e.span(), kind(e.get_ref()))).collect()),
        DeValue::Table(_) | DeValue::Datetime(_) => Kind::Inline,
    }
}

/// A path without names that the author chose: those of blocks, mixers and feed-forwards.
pub fn general(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('.').collect();
    let named = matches!(parts[0], "mixer" | "ffn") || parts[0] == "layers" && parts.len() > 2;
    if named && parts.len() > 1 {
        parts[1] = "*";
    }
    parts.join(".")
}

fn tables(text: &str, entries: &[Entry]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let inside = entries.iter().any(|entry| entry.whole.contains(&range.start));
        let Some(name) = line.trim_end().strip_prefix('[').and_then(|l| l.strip_suffix(']')).filter(|_| !inside) else {
            continue;
        };
        if let Some(last) = tables.last_mut() {
            (last.whole.end, last.body.end) = (range.start, range.start);
        }
        let name = name.trim_matches(['[', ']']);
        let at = range.start + line.find(name).unwrap_or(1);
        // Of a block too the last part is a name.
        let general = if name.starts_with("layers.") { "layers.*".to_owned() } else { general(name) };
        tables.push(Table {
            path: name.to_owned(),
            general,
            name: at..at + name.len(),
            whole: range.start..text.len(),
            body: range.end..text.len(),
        });
    }
    tables
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}
