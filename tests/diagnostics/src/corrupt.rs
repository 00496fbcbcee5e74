//! Corruptions of a spec: every place of its text times every operator that makes sense there, one at a time.

mod formula;
mod places;
mod tables;
mod values;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

pub use places::{Entry, Kind, Places, general};

/// One change of a spec's text.
#[derive(Clone, Debug)]
pub struct Corruption {
    /// The key or table that is changed: `mixer.attention.rope.factor`.
    pub place: String,
    /// What is done to it.
    pub operator: &'static str,
    /// The texts that replace others, from the beginning to the end, without overlap.
    edits: Vec<(Range<usize>, String)>,
}

impl Corruption {
    fn new(place: &str, operator: &'static str, mut edits: Vec<(Range<usize>, String)>) -> Self {
        edits.sort_by_key(|(range, _)| range.start);
        Self { place: place.to_owned(), operator, edits }
    }

    /// The spec with the change.
    pub fn apply(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 64);
        let mut from = 0;
        for (range, with) in &self.edits {
            out.push_str(&text[from..range.start]);
            out.push_str(with);
            from = range.end;
        }
        out + &text[from..]
    }

    /// The new texts on one line, to tell corruptions of one place apart.
    pub fn what(&self) -> String {
        let texts = self.edits.iter().map(|(_, with)| with.trim().replace('\n', "; "));
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" | ")
    }
}

/// What may stand elsewhere than in the spec at hand: other specs, and the names that keys take.
#[derive(Clone, Debug, Default)]
pub struct Lexicon {
    /// By the general place of a key (`mixer.*.rope.factor`), every value that some spec has there.
    values: BTreeMap<String, BTreeSet<String>>,
    /// By the general place of a table, the keys and values that it has in each spec.
    tables: BTreeMap<String, BTreeSet<String>>,
    /// By the general place of a key, the names that it takes.
    names: BTreeMap<String, BTreeSet<String>>,
}

impl Lexicon {
    /// Takes in all that a spec says.
    pub fn read(&mut self, text: &str) {
        let places = Places::of(text);
        for entry in &places.entries {
            self.values.entry(entry.general.clone()).or_default().insert(text[entry.value.clone()].to_owned());
        }
        for table in &places.tables {
            self.tables.entry(table.general.clone()).or_default().insert(text[table.body.clone()].to_owned());
        }
    }

    /// Takes in names that a key may have.
    pub fn add_names(&mut self, general: &str, names: impl IntoIterator<Item = String>) {
        self.names.entry(general.to_owned()).or_default().extend(names);
    }

    fn values(&self, general: &str) -> impl Iterator<Item = &str> {
        self.values.get(general).into_iter().flatten().map(String::as_str)
    }

    fn tables(&self, general: &str) -> impl Iterator<Item = &str> {
        self.tables.get(general).into_iter().flatten().map(String::as_str)
    }

    fn names(&self, general: &str) -> impl Iterator<Item = &str> {
        self.names.get(general).into_iter().flatten().map(String::as_str)
    }

    /// The keys of a table that some spec has, with a value each.
    fn keys_of<'l>(&'l self, table: &'l str) -> impl Iterator<Item = (&'l str, &'l BTreeSet<String>)> {
        let of = move |place: &'l str| place.strip_prefix(table)?.strip_prefix('.').filter(|key| !key.contains('.'));
        self.values.iter().filter_map(move |(place, values)| Some((of(place)?, values)))
    }
}

/// Every corruption of a text, each once: two ways to the same text count as the first of them, and none leaves the text as it is.
pub fn every(text: &str, lexicon: &Lexicon) -> Vec<Corruption> {
    let places = Places::of(text);
    let mut all = Vec::new();
    for (at, entry) in places.entries.iter().enumerate() {
        values::corrupt(text, entry, lexicon, &mut all);
        tables::of_entry(text, &places, at, lexicon, &mut all);
    }
    tables::of_tables(text, &places, lexicon, &mut all);
    let mut seen = HashSet::from([text.to_owned()]);
    all.retain(|corruption| seen.insert(corruption.apply(text)));
    all
}
