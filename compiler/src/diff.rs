//! What a change of specs changes: dimensions, scales, dtypes, kernels, bytes and memory first, then generated files.
//!
//! Two sides are compared that the same compiler has compiled. Nothing here does IO or fails: [`crate::driver`] finds the two
//! sides, [`compare`] and [`files`] say how they differ, and a [`Report`] is that as text or JSON.

mod files;
mod kernels;
mod leaves;
mod lines;
mod model;
mod quantities;
mod templates;
mod tensors;
mod text;

use serde::Serialize;

use crate::model::Model;
use crate::source::SourceMap;

pub use files::{FileChange, FileDifference, files};
pub use kernels::KernelChange;
pub use lines::{LineCount, LineDiff};
pub use model::{Facts, ModelChanges, TargetChanges};
pub use quantities::Quantity;
pub use templates::TemplateDifference;
pub use tensors::TensorChange;

/// One side of a comparison: specs and templates, and what `check` made of them.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The files that were compiled.
    pub sources: &'a SourceMap,
    /// The models, all of which passed `check`.
    pub models: &'a [Model],
}

/// How two sides differ: models in the order of their names, then templates.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Models that differ.
    pub models: Vec<ModelDifference>,
    /// Templates that differ.
    pub templates: Vec<TemplateDifference>,
}

impl Difference {
    /// Whether the sides say the same.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty() && self.templates.is_empty()
    }
}

/// How one model differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelDifference {
    /// Its name.
    pub name: String,
    /// In which way.
    #[serde(flatten)]
    pub change: ModelChange,
}

/// In which way a model differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum ModelChange {
    /// The old side has no such model.
    Added(Facts),
    /// The new side has no such model.
    Removed(Facts),
    /// Both have it.
    Changed(Box<ModelChanges>),
}

/// A value of a TOML that changed, as it is written there; `None` where it is not given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueChange {
    /// The path of its key, such as `mixer.attention.head_dim`.
    pub key: String,
    /// Before.
    pub old: Option<String>,
    /// After.
    pub new: Option<String>,
}

/// What `tenon diff` says: what was compared, and how it differs.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What the summary compares; `None` where there is no old side, and then `note` says why.
    pub specs: Option<Compared>,
    /// What cannot be said, and why.
    pub note: Option<String>,
    /// The summary.
    #[serde(flatten)]
    pub difference: Difference,
    /// What the list of files compares.
    pub generated: Compared,
    /// Generated files that differ.
    pub files: Vec<FileDifference>,
}

/// The two sides of a comparison, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// What `-` and the left of an arrow stand for.
    pub old: String,
    /// What `+` and the right of an arrow stand for.
    pub new: String,
}

impl Report {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.difference.is_empty() && self.files.is_empty()
    }

    /// For people. `full` adds the unified difference of every file.
    pub fn text(&self, full: bool) -> String {
        text::report(self, full)
    }

    /// As one JSON document that ends with a newline: the fields of this type by their names. Numbers are numbers, in the
    /// units that their fields state; values of TOMLs are texts, as they are written. `full` adds to each file its unified
    /// difference as `diff`, which is null without.
    pub fn json(&self, full: bool) -> String {
        let mut report = self.clone();
        if !full {
            report.files.iter_mut().for_each(|file| file.diff = None);
        }
        let mut text = serde_json::to_string_pretty(&report).expect("strings and finite numbers are always valid JSON");
        text.push('\n');
        text
    }
}

/// Compares two sides. Only `names` count where any are given.
pub fn compare(old: Side<'_>, new: Side<'_>, names: &[String]) -> Difference {
    let wanted = |model: &&Model| names.is_empty() || names.contains(&model.name);
    let mut all: Vec<&str> = old.models.iter().chain(new.models).filter(wanted).map(|m| m.name.as_str()).collect();
    all.sort_unstable();
    all.dedup();
    let mut models = Vec::new();
    for name in all {
        let change = match (find(old.models, name), find(new.models, name)) {
            (Some(model), None) => Some(ModelChange::Removed(model::facts(model))),
            (None, Some(model)) => Some(ModelChange::Added(model::facts(model))),
            (Some(before), Some(after)) => {
                let changes = model::changes((old.sources, before), (new.sources, after));
                changes.map(|changes| ModelChange::Changed(Box::new(changes)))
            }
            (None, None) => None,
        };
        models.extend(change.map(|change| ModelDifference { name: name.to_owned(), change }));
    }
    Difference { models, templates: templates::templates(old, new, names) }
}

fn find<'m>(models: &'m [Model], name: &str) -> Option<&'m Model> {
    models.iter().find(|model| model.name == name)
}

#[cfg(test)]
mod tests;
