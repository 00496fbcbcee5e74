//! What differs between a spec and a checkpoint's config, with both places.

use std::collections::BTreeSet;

use serde_json::Value;
use tenon_formats::config::show;
use tenon_formats::{ConfigMismatch, ConfigValue, Expected, Origin};

use super::{Against, expect, in_one_line, shown_key};
use crate::architecture::SoftCaps;
use crate::check::stated::{Kind, Stated};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, did_you_mean};
use crate::source::Span;

/// Keys of one config that a diagnostic shows: who sees more has another model in hand.
const MOST_PLACES: usize = 4;

impl<'a> Against<'a> {
    /// Reports what differs, and says which canonical keys do.
    pub(super) fn config(&self, diags: &mut Diagnostics) -> BTreeSet<String> {
        expect::with_contract(&self.model.config, |contract| {
            let found = tenon_formats::expect::compare(self.config, contract);
            // One key of a spec may speak for several of a config: its differences are one error.
            let mut groups: Vec<(Vec<&Stated<'a>>, Vec<&ConfigMismatch<'_>>)> = Vec::new();
            for mismatch in &found {
                match mismatch {
                    ConfigMismatch::Different { key, .. } | ConfigMismatch::Missing { key, .. } => {
                        let stated = self.stating(key);
                        let same = |other: &&mut (Vec<&Stated<'_>>, _)| {
                            let first = |stated: &[&Stated<'_>]| stated.first().map(|one| one.path());
                            !stated.is_empty() && first(&other.0) == first(&stated)
                        };
                        match groups.iter_mut().find(same) {
                            Some((_, group)) => group.push(mismatch),
                            None => groups.push((stated, vec![mismatch])),
                        }
                    }
                    ConfigMismatch::Unbound { key, origin, value } => diags.push(self.unbound(key, origin, value)),
                    ConfigMismatch::Agrees { deviation, values } => diags.push(self.agrees(deviation, values)),
                }
            }
            diags.extend(groups.iter().map(|(stated, group)| self.difference(stated, group)));
            found.iter().map(|mismatch| mismatch.key().to_owned()).collect()
        })
    }

    /// The keys of the spec that say what a canonical key of the config says; those that say "none" only where no other does.
    fn stating(&self, key: &str) -> Vec<&Stated<'a>> {
        // Where the architecture fixes a key, a spec that leaves it out says all that it may.
        let may = |stated: &&Stated<'a>| stated.place.is_some() || !self.is_fixed(key);
        let all: Vec<&Stated<'a>> = self.stated.iter().filter(|stated| stated.config.contains(&key)).filter(may).collect();
        let says = |stated: &&&Stated<'a>| stated.place.is_some_and(|(_, value)| self.sources.text(value) != NONE);
        let saying: Vec<&Stated<'a>> = all.iter().filter(says).copied().collect();
        if saying.is_empty() { all } else { saying }
    }

    /// Whether no spec of this architecture may say anything about a key.
    fn is_fixed(&self, key: &str) -> bool {
        let implied = self.architecture.implied.iter().any(|(implied, _)| *implied == key);
        implied || key == "attn_logit_softcapping" && self.architecture.soft_caps != SoftCaps::LogitsAndScores
    }

    /// Two values of one thing.
    fn difference(&self, stated: &[&Stated<'a>], group: &[&ConfigMismatch<'_>]) -> Diagnostic {
        let of_key = |key: &str| group.iter().find(|mismatch| mismatch.key() == key);
        let main = stated.first().and_then(|one| of_key(one.config[0])).unwrap_or(&group[0]);
        let key = main.key();
        let message = in_one_line(self.sentence(main, stated.first().copied()), || {
            format!("`{key}` of the spec and of the checkpoint differ")
        });
        let mut diagnostic = Diagnostic::new(Id::CheckpointMismatch, message);
        for (i, one) in stated.iter().enumerate() {
            diagnostic = match (one.place, i) {
                (Some((_, value)), 0) => diagnostic.label(value, "in the spec"),
                (Some((_, value)), _) => diagnostic.context(value, "and here"),
                (None, 0) => diagnostic.label(&self.beside(one), format!("`[{}]` does not state `{}`", one.table, one.key)),
                (None, _) => diagnostic,
            };
        }
        if stated.is_empty() {
            let model_type = &self.spec.checkpoint.model_type;
            diagnostic = diagnostic.label(&model_type.span, format!("fixes `{key}`"));
        }
        for mismatch in group.iter().take(MOST_PLACES) {
            diagnostic = self.with_places(diagnostic, mismatch, stated.first().copied());
        }
        if group.len() > MOST_PLACES {
            let more: Vec<String> = group[MOST_PLACES..].iter().map(|mismatch| format!("`{}`", mismatch.key())).collect();
            diagnostic = diagnostic.note(format!("so do {}", more.join(", ")));
        }
        if let Some(layer) = first_layer(main) {
            diagnostic = diagnostic.note(layer);
        }
        // Tables that speak for one key of the config deviate together.
        let may = stated.iter().filter(|one| one.deviates.is_ok());
        let deviations: Vec<String> = may.map(|one| format!("`{} = \"...\"`", self.deviation_name(one))).collect();
        if !deviations.is_empty() {
            let deviations = deviations.join(" and ");
            diagnostic = diagnostic.help(format!("to depart from it on purpose, say why: {deviations} in `[deviation]`"));
        }
        let source = &self.spec.checkpoint.source.value;
        if stated.is_empty() {
            let model_type = &self.spec.checkpoint.model_type.value;
            return diagnostic
                .help(format!("no spec of a `{model_type}` can say it: give the checkpoint that it is for, `{source}`"));
        }
        let patches: Option<Vec<(Span, String)>> = stated.iter().map(|one| self.correction(one, main)).collect();
        match patches.filter(|patches| !patches.is_empty() && group.len() == 1) {
            Some(patches) => {
                let diagnostic = diagnostic.help("if the spec is for this checkpoint, write what it says");
                patches.iter().fold(diagnostic, |diagnostic, (span, text)| diagnostic.patch(span, text.as_str()))
            }
            None => diagnostic.help(format!("write what the checkpoint says, or give the one that the spec is for, `{source}`")),
        }
    }

    /// Both values in a sentence.
    fn sentence(&self, mismatch: &ConfigMismatch<'_>, stated: Option<&Stated<'_>>) -> String {
        // As the spec writes it, where one value says it.
        let written = stated.filter(|one| one.kind != Kind::Other && one.config.first() == Some(&mismatch.key()));
        let written = written.and_then(|one| Some(self.sources.text(one.place?.1).to_owned()));
        match mismatch {
            ConfigMismatch::Different { key, expected: Expected::Absent, found } => {
                format!("`{key}` is {} in the checkpoint, and the spec has none", show(&found.value))
            }
            ConfigMismatch::Different { key, expected, found } => {
                let expected = written.unwrap_or_else(|| expected.to_string());
                format!("`{key}` is {expected} in the spec, and {} in the checkpoint", show(&found.value))
            }
            ConfigMismatch::Missing { key, expected } => {
                let expected = written.unwrap_or_else(|| expected.to_string());
                format!("`{key}` is {expected} in the spec, and the checkpoint has none")
            }
            ConfigMismatch::Unbound { .. } | ConfigMismatch::Agrees { .. } => mismatch.to_string(),
        }
    }

    /// Where the config says it, and the rule that connects both.
    fn with_places(&self, diagnostic: Diagnostic, mismatch: &ConfigMismatch<'_>, stated: Option<&Stated<'_>>) -> Diagnostic {
        let key = mismatch.key();
        let ConfigMismatch::Different { found: ConfigValue { value, origin }, .. } = mismatch else {
            return diagnostic.context(&self.model_type_place(), format!("this config does not state `{key}`"));
        };
        match origin {
            Origin::Stated(path) => {
                let place = self.place(path).map_or_else(|| self.start(), |(_, value)| value);
                let diagnostic = diagnostic.context(&place, format!("`{}` of the checkpoint", shown_key(path)));
                match stated {
                    Some(one) if *path == one.key => diagnostic,
                    Some(one) => {
                        let says = if one.config.first() == Some(&key) { "what" } else { "part of what" };
                        let (path, table, key) = (shown_key(path), &one.table, one.key);
                        diagnostic.note(format!("`{path}` of a checkpoint is {says} `[{table}]` states as `{key}`"))
                    }
                    None => diagnostic,
                }
            }
            Origin::Default(model_type) => {
                let has = format!("a `{}` that does not state `{key}` has {}", shown_key(model_type), show(value));
                diagnostic.context(&self.model_type_place(), has)
            }
            Origin::Derived(how) => {
                let words = how.split(|c: char| !(c.is_alphanumeric() || "_.".contains(c)));
                let stated = words.filter_map(|word| match &self.config.get(word)?.origin {
                    Origin::Stated(path) => self.place(path),
                    _ => None,
                });
                let mut places: Vec<Span> = stated.map(|(_, value)| value).collect();
                if places.is_empty() {
                    places.push(self.model_type_place());
                }
                let note = format!("`{key}` of the checkpoint is {}: {}", show(value), shown_key(how));
                places.iter().fold(diagnostic, |d, place| d.context(place, format!("`{key}` follows from it"))).note(note)
            }
        }
    }

    /// A key that nothing accounts for.
    fn unbound(&self, key: &str, path: &str, value: &Value) -> Diagnostic {
        let shown = shown_key(path);
        let message = in_one_line(format!("nothing accounts for `{shown}` of the checkpoint, {}", show(value)), || {
            "a key of the checkpoint is neither stated nor ignored".to_owned()
        });
        let place = self.place(path).map_or_else(|| self.start(), |(key, _)| key);
        let diagnostic = Diagnostic::new(Id::ConfigKeyUnbound, message).label(&place, "neither stated nor ignored");
        let model_type = &self.spec.checkpoint.model_type;
        let diagnostic = match self.stating(key).first().and_then(|one| Some((one.key, one.place?.1))) {
            Some((key, place)) => diagnostic.context(place, format!("with this `{key}`, nothing reads it")),
            None => diagnostic.context(&model_type.span, format!("nothing of a `{}` reads it", model_type.value)),
        };
        let leaf = path.rsplit('.').next().unwrap_or(path);
        let bound = self.model.config.keys.iter().map(|(key, _)| key.as_str());
        let meant = did_you_mean(leaf, bound).map(|question| format!("where the file is wrong: {question}"));
        let diagnostic = meant.into_iter().fold(diagnostic, Diagnostic::help);
        let ignored = if key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            key.to_owned()
        } else {
            format!("\"{}\"", shown_key(key))
        };
        diagnostic.help(format!(
            "read the reference code: where the key cannot change the output, say why: `{ignored} = \"...\"` in `[config.ignore]`"
        ))
    }

    /// A deviation from nothing.
    fn agrees(&self, name: &str, values: &[(&str, Expected<'_>)]) -> Diagnostic {
        let message = format!("`{name}` deviates from nothing: the checkpoint has what the spec says");
        let entry = self.spec.deviation.iter().find(|(key, _)| key.value == name);
        let diagnostic = Diagnostic::new(Id::DeviationRefused, message);
        let diagnostic = match entry {
            Some((key, _)) => diagnostic.label(&key.span, "is no deviation"),
            None => diagnostic.label(&self.spec.checkpoint.model_type.span, "is no deviation"),
        };
        let of_config = values.iter().filter_map(|(key, _)| match &self.config.get(key)?.origin {
            Origin::Stated(path) => self.place(path),
            _ => None,
        });
        let spec = values.first().and_then(|(key, _)| self.stating(key).first().and_then(|one| one.place));
        let diagnostic = spec.iter().fold(diagnostic, |d, (_, value)| d.context(value, "in the spec"));
        of_config.take(MOST_PLACES).fold(diagnostic, |d, (_, value)| d.context(&value, "the same")).help("delete the entry")
    }

    /// How `[deviation]` names a key.
    fn deviation_name(&self, stated: &Stated<'_>) -> String {
        let alone = self.stated.iter().filter(|other| other.key == stated.key).count() == 1;
        if alone { stated.key.to_owned() } else { stated.path() }
    }

    /// The place and the text that make the spec say what the checkpoint says, where a value can be written there.
    fn correction(&self, stated: &Stated<'_>, mismatch: &ConfigMismatch<'_>) -> Option<(Span, String)> {
        let found = match mismatch {
            ConfigMismatch::Different { found, .. } => Some(&found.value),
            _ => None,
        };
        let value = match stated.config.first() == Some(&mismatch.key()) {
            true => written(stated.kind, found)?,
            // Two keys of a config say how much of a head is rotated, and the spec has the width.
            false if stated.key == "rotary_dim" => self.config.int("rotary_dim")?.to_string(),
            false => return None,
        };
        match stated.place {
            Some((_, span)) => Some((span.clone(), value)),
            None => Some((self.line_after(stated), format!("\n{} = {value}", stated.key))),
        }
    }

    /// Another key of a table, for one that the table leaves out.
    fn beside(&self, stated: &Stated<'_>) -> Span {
        self.last_of(stated).map_or_else(|| self.spec.model.header.clone(), |(key, _)| key.clone())
    }

    /// The end of the last line of a table.
    fn line_after(&self, stated: &Stated<'_>) -> Span {
        let last = self.last_of(stated).map_or_else(|| self.spec.model.header.clone(), |(_, value)| value.clone());
        let text = &self.sources.file(last.file).text;
        let end = text[last.range.end..].find('\n').map_or(text.len(), |at| last.range.end + at);
        last.at(end..end)
    }

    fn last_of(&self, stated: &Stated<'_>) -> Option<(&'a Span, &'a Span)> {
        let of_table = self.stated.iter().filter(|other| other.table == stated.table);
        of_table.filter_map(|other| other.place).max_by_key(|(_, value)| value.range.end)
    }
}

/// How MODEL.toml spells what a config does not state.
const NONE: &str = "\"none\"";

/// The first layer about which two lists differ.
fn first_layer(mismatch: &ConfigMismatch<'_>) -> Option<String> {
    let ConfigMismatch::Different { expected, found, .. } = mismatch else { return None };
    let by_spec: Vec<&str> = match expected {
        Expected::Each(name, count) => vec![*name; *count],
        Expected::List(names) => names.to_vec(),
        Expected::AbsentOr(Expected::Each(name, count)) => vec![*name; *count],
        Expected::AbsentOr(Expected::List(names)) => names.to_vec(),
        _ => return None,
    };
    let found = found.value.as_array()?;
    if found.len() != by_spec.len() {
        return Some(format!("the spec has {} layers, and the list is of {}", by_spec.len(), found.len()));
    }
    let (layer, (spec, found)) = by_spec.iter().zip(found).enumerate().find(|(_, (spec, found))| found.as_str() != Some(spec))?;
    Some(format!("layer {layer} is `{spec}` in the spec, and {} in the checkpoint", show(found)))
}

/// A value of a config as MODEL.toml writes it.
fn written(kind: Kind, value: Option<&Value>) -> Option<String> {
    let Some(value) = value else { return matches!(kind, Kind::IntOrNone | Kind::FloatOrNone).then(|| NONE.to_owned()) };
    match kind {
        Kind::Int | Kind::IntOrNone => value.as_i64().filter(|v| *v >= 0).map(|v| v.to_string()),
        // Debug, because Display writes 10000.0 as 10000, which is another type.
        Kind::Float | Kind::FloatOrNone => value.as_f64().map(|v| format!("{v:?}")),
        Kind::Bool => value.as_bool().map(|v| v.to_string()),
        Kind::Name(names) => value.as_str().filter(|v| names.contains(v)).map(|v| format!("\"{v}\"")),
        Kind::Other => None,
    }
}
