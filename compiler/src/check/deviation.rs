//! `[deviation]`: where a spec departs from its checkpoint's config, or from the architecture's convention, on purpose.

use super::stated::{OF_ROPE_TYPE, Stated};
use super::suggest;
use crate::architecture::Architecture;
use crate::diagnostic::{Diagnostic, Diagnostics, Id, quoted};
use crate::model::Deviation;
use crate::source::{SourceMap, Span, Spanned};
use crate::spec::ModelSpec;

/// The deviations of one spec, each of a key that may deviate.
#[derive(Clone, Debug, Default)]
pub struct Deviations(Vec<Resolved>);

#[derive(Clone, Debug)]
struct Resolved {
    name: Spanned<String>,
    reason: String,
    table: String,
    /// Keys of the config that are not compared for it.
    config: Vec<&'static str>,
    /// Key and value in the spec; `None` where the spec leaves the key out.
    place: Option<(Span, Span)>,
    /// It took back an `architecture-mismatch`.
    lifts: bool,
}

impl Deviations {
    /// Finds the key that each entry is about.
    pub fn resolve(
        spec: &ModelSpec,
        stated: &[Stated<'_>],
        architecture: Option<&Architecture>,
        diags: &mut Diagnostics,
    ) -> Self {
        let mut found: Vec<Resolved> = Vec::new();
        for (name, reason) in &spec.deviation {
            if reason.value.trim().is_empty() {
                let message = format!("the deviation of `{}` has no reason", name.value);
                let diagnostic = Diagnostic::new(Id::MissingKey, message).label(&reason.span, "an empty reason");
                diags.push(diagnostic.help("say why the spec departs from its checkpoint here"));
            }
            let is_named = |s: &&Stated<'_>| if name.contains('.') { s.path() == name.value } else { s.key == name.value };
            let named: Vec<&Stated<'_>> = stated.iter().filter(is_named).collect();
            let one = match named.as_slice() {
                [one] => *one,
                [] => {
                    diags.push(unknown(name, stated));
                    continue;
                }
                several => {
                    diags.push(ambiguous(name, several));
                    continue;
                }
            };
            if let Err(why) = one.deviates {
                let message = format!("`{}` cannot deviate from the checkpoint", name.value);
                let diagnostic = Diagnostic::new(Id::DeviationRefused, message).label(&name.span, why);
                let diagnostic = one.place.iter().fold(diagnostic, |d, (key, _)| d.context(key, "the spec states it here"));
                diags.push(diagnostic.help("delete the entry, and state what the checkpoint has"));
                continue;
            }
            if let Some(first) = found.iter().find(|other| (&other.table, other.key()) == (&one.table, one.key)) {
                let diagnostic = Diagnostic::new(Id::DuplicateValue, format!("`{}` deviates twice", one.path()));
                let diagnostic = diagnostic.label(&name.span, "again").context(&first.name.span, "first here");
                diags.push(diagnostic.help("delete one of the two"));
                continue;
            }
            found.push(Resolved {
                name: name.clone(),
                reason: reason.value.clone(),
                table: one.table.clone(),
                config: covered(one, architecture),
                place: one.place.map(|(key, value)| (key.clone(), value.clone())),
                lifts: false,
            });
        }
        Self(found)
    }

    /// The config keys from which these tables depart, each with the key of `[deviation]`.
    pub fn of_tables(&self, tables: &[&str]) -> Vec<(&'static str, String)> {
        let of_tables = self.0.iter().filter(|one| tables.contains(&one.table.as_str()));
        of_tables.flat_map(|one| one.config.iter().map(|key| (*key, one.name.value.clone()))).collect()
    }

    /// The config keys from which the spec departs, each with the key of `[deviation]`.
    pub fn all(&self) -> Vec<(&'static str, String)> {
        self.0.iter().flat_map(|one| one.config.iter().map(|key| (*key, one.name.value.clone()))).collect()
    }

    /// Takes back what the architecture holds against a value from which the spec departs on purpose.
    pub fn lift(&mut self, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let deviates = |one: &Resolved, place: &Span| one.place.as_ref().is_some_and(|(k, v)| k == place || v == place);
        let lifted = |diagnostic: &Diagnostic, all: &mut [Resolved]| {
            let place = diagnostic.place().filter(|_| diagnostic.id == Id::ArchitectureMismatch);
            let one = place.and_then(|place| all.iter_mut().find(|one| deviates(one, place)));
            one.map(|one| one.lifts = true).is_some()
        };
        found.into_iter().filter(|diagnostic| !lifted(diagnostic, &mut self.0)).collect()
    }

    /// Reports deviations from a convention that the spec follows. Whether one from a config is one, its checkpoint says.
    pub fn unused(&self, model_type: &Spanned<String>, diags: &mut Diagnostics) {
        for one in self.0.iter().filter(|one| one.config.is_empty() && !one.lifts) {
            let message = format!("`{}` deviates from nothing", one.name.value);
            let diagnostic = Diagnostic::new(Id::DeviationRefused, message).label(&one.name.span, "is no deviation");
            let agrees = format!("what every `{}` has", model_type.value);
            let diagnostic = match &one.place {
                Some((_, value)) => diagnostic.context(value, agrees),
                None => diagnostic.context(&model_type.span, "and this has none either"),
            };
            diags.push(diagnostic.help("delete the entry"));
        }
    }

    /// For the plan, with what the spec says.
    pub fn for_model(&self, sources: &SourceMap) -> Vec<Deviation> {
        let value = |one: &Resolved| match &one.place {
            Some((_, value)) => sources.text(value).to_owned(),
            None => "left out".to_owned(),
        };
        let deviation = |one: &Resolved| Deviation { key: one.name.value.clone(), value: value(one), reason: one.reason.clone() };
        self.0.iter().map(deviation).collect()
    }
}

impl Resolved {
    fn key(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

/// What the config may say otherwise.
fn covered(stated: &Stated<'_>, architecture: Option<&Architecture>) -> Vec<&'static str> {
    match stated.key {
        // The other keys of a rotation follow from its type; each may deviate alone too.
        "rope_type" if !stated.config.is_empty() => OF_ROPE_TYPE.to_vec(),
        // Where no layer of the architecture has a window, a list of layers would say so.
        "sliding_window" if architecture.is_some_and(|a| a.sliding_rope_theta.is_none()) => vec!["sliding_window", "layer_types"],
        _ => stated.config.clone(),
    }
}

fn unknown(name: &Spanned<String>, stated: &[Stated<'_>]) -> Diagnostic {
    let paths: Vec<String> = stated.iter().map(Stated::path).collect();
    let mut known: Vec<&str> = stated.iter().map(|stated| stated.key).collect();
    known.extend(paths.iter().map(String::as_str));
    let message = format!("`[deviation]` names `{}`, which no checkpoint is compared by", name.value);
    let diagnostic =
        Diagnostic::new(Id::DeviationRefused, message).label(&name.span, "neither a config nor the architecture says it");
    suggest(diagnostic, &name.value, &known, &name.span, || {
        "name a key of `[model]`, `[mixer.*]` or `[ffn.*]` that config.json or the architecture states too".to_owned()
    })
}

fn ambiguous(name: &Spanned<String>, several: &[&Stated<'_>]) -> Diagnostic {
    let message = format!("`{}` is stated in {} tables", name.value, several.len());
    let diagnostic = Diagnostic::new(Id::DeviationRefused, message).label(&name.span, "which of them deviates?");
    let places = several.iter().filter_map(|stated| Some((stated.place?.0, stated)));
    let diagnostic = places.fold(diagnostic, |d, (key, stated)| d.context(key, format!("`[{}]`", stated.table)));
    let paths: Vec<String> = several.iter().map(|stated| stated.path()).collect();
    diagnostic.help(format!("write its path: one of {}", quoted(&paths)))
}
