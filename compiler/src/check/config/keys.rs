//! The keys of one contract as its tables state them, one table after the other, and where two of them disagree.

use super::absent_or;
use crate::check::stated::Stated;
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::ConfigValue;
use crate::source::Span;
use crate::spec::ModelSpec;

/// The keys so far, and who stated each.
#[derive(Default)]
pub(super) struct Keys<'s> {
    list: Vec<Bound<'s>>,
    /// Keys about which a second table says otherwise.
    disagreements: Vec<Disagreement<'s>>,
    /// The table in hand; none for `[model]` and for what the architecture fixes.
    table: Option<TableName<'s>>,
    /// Keys of the config from which the table in hand departs, with the key of `[deviation]`.
    deviate: Vec<(&'static str, String)>,
}

/// The table of a mixer or a feed-forward.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum TableName<'s> {
    /// `[mixer.<name>]`, and its rope.
    Mixer(&'s str),
    /// `[ffn.<name>]`
    Ffn(&'s str),
}

struct Bound<'s> {
    key: String,
    value: ConfigValue,
    table: Option<TableName<'s>>,
}

struct Disagreement<'s> {
    key: String,
    first: Option<TableName<'s>>,
    second: Option<TableName<'s>>,
}

impl<'s> Keys<'s> {
    /// What is added from now on is of this table, which departs from the config in these keys.
    pub(super) fn of(&mut self, table: Option<TableName<'s>>, deviate: Vec<(&'static str, String)>) {
        (self.table, self.deviate) = (table, deviate);
    }

    /// Of a value that may be absent and the same one that may not, the second is asked for. A value that the config must not have is
    /// asked for where no table asks for one that it must; two such values must both be others than the config's.
    pub(super) fn add(&mut self, key: &str, value: ConfigValue) {
        let value = match self.deviate.iter().find(|(config, _)| *config == key) {
            Some((_, deviation)) => ConfigValue::Not(Box::new(value), deviation.clone()),
            None => value,
        };
        let new = Bound { key: key.to_owned(), value, table: self.table };
        let is_not = |bound: &Bound<'_>| matches!(bound.value, ConfigValue::Not(..));
        match self.list.iter_mut().find(|known| known.key == key) {
            None => self.list.push(new),
            Some(known) if known.value == new.value || new.value == absent_or(known.value.clone()) => {}
            Some(known) if known.value == absent_or(new.value.clone()) => *known = new,
            Some(known) if is_not(known) && is_not(&new) => self.list.push(new),
            Some(known) if is_not(known) => *known = new,
            Some(_) if is_not(&new) => {}
            Some(known) => self.disagreements.push(Disagreement { key: new.key, first: known.table, second: new.table }),
        }
    }

    pub(super) fn int(&mut self, key: &str, value: usize) {
        self.add(key, ConfigValue::Int(value as u64));
    }

    pub(super) fn float(&mut self, key: &str, value: f64) {
        self.add(key, ConfigValue::Float(value));
    }

    pub(super) fn bool(&mut self, key: &str, value: bool) {
        self.add(key, ConfigValue::Bool(value));
    }

    pub(super) fn optional_int(&mut self, key: &str, value: Option<usize>) {
        self.add(key, value.map_or(ConfigValue::Absent, |value| ConfigValue::Int(value as u64)));
    }

    pub(super) fn optional_float(&mut self, key: &str, value: Option<f64>) {
        self.add(key, value.map_or(ConfigValue::Absent, ConfigValue::Float));
    }

    /// Whether some table states a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.list.iter().any(|known| known.key == key)
    }

    /// The keys and their values.
    pub(super) fn into_list(self) -> Vec<(String, ConfigValue)> {
        self.list.into_iter().map(|bound| (bound.key, bound.value)).collect()
    }

    /// Reports keys about which two tables disagree: each place once, since one wrong `rope_type` makes several keys differ. Where
    /// a table departs from its architecture, which is reported by now, that may be all.
    pub(super) fn disagreements(&self, spec: &ModelSpec, stated: &[Stated<'_>], model_type: &str, diags: &mut Diagnostics) {
        if diags.has_errors() {
            return;
        }
        let mut reported: Vec<&Span> = Vec::new();
        for Disagreement { key, first, second } in &self.disagreements {
            // What the architecture fixes has been compared with its conventions.
            let (Some(first), Some(second)) = (first, second) else { continue };
            let place = second.place(key, spec, stated);
            if reported.contains(&place) {
                continue;
            }
            reported.push(place);
            let message = format!("a checkpoint has one `{key}` for all layers, and two tables differ about it");
            diags.push(
                Diagnostic::new(Id::ArchitectureMismatch, message)
                    .label(place, "another value")
                    .context(first.place(key, spec, stated), "than here")
                    .note(format!("no layer of a `{model_type}` has a value of its own"))
                    .help("write in both what the checkpoint's config says"),
            );
        }
    }
}

impl TableName<'_> {
    /// Where the table states a key of config.json; where it is one that the table leaves out, its name.
    fn place<'p>(self, key: &str, spec: &'p ModelSpec, stated: &[Stated<'p>]) -> &'p Span {
        let tables = match self {
            Self::Mixer(name) => [format!("mixer.{name}"), format!("mixer.{name}.rope")],
            Self::Ffn(name) => [format!("ffn.{name}"), String::new()],
        };
        let of_table = stated.iter().filter(|one| tables.contains(&one.table) && one.config.contains(&key));
        let stated = of_table.filter_map(|one| one.place).map(|(key, _)| key).next();
        stated.unwrap_or_else(|| {
            let mixers = || spec.mixers.iter().map(|(name, _)| name).find(|name| self == TableName::Mixer(&name.value));
            let ffns = || spec.ffns.iter().map(|(name, _)| name).find(|name| self == TableName::Ffn(&name.value));
            &mixers().or_else(ffns).expect("only tables that a block names are read").span
        })
    }
}
