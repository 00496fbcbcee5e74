//! Templates that say something else than before, and the models that run them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Side, ValueChange, leaves};
use crate::model::Model;

/// A template that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TemplateDifference {
    /// The folder's name, which names the template.
    pub name: String,
    /// `added`, `removed` or `changed`.
    pub change: &'static str,
    /// The values of its TEMPLATE.toml that changed; none where it was added or removed.
    pub values: Vec<ValueChange>,
    /// Models that ran it before, sorted.
    pub old_users: Vec<String>,
    /// Models that run it after, sorted.
    pub new_users: Vec<String>,
}

/// TEMPLATE.toml texts by the name of their folder.
fn texts<'s>(side: Side<'s>) -> BTreeMap<&'s str, &'s str> {
    let named = |path: &'s str| path.strip_suffix("/TEMPLATE.toml").map(|folder| folder.rsplit('/').next().unwrap_or(folder));
    side.sources.files().filter_map(|(_, file)| Some((named(&file.path)?, file.text.as_str()))).collect()
}

fn users(side: Side<'_>, template: &str) -> Vec<String> {
    let runs = |model: &&Model| model.kernels.iter().flat_map(|(_, chosen)| chosen).any(|(_, k)| k.template == template);
    let mut names: Vec<String> = side.models.iter().filter(runs).map(|model| model.name.clone()).collect();
    names.sort();
    names
}

/// What differs, by name. With `names`, only templates that one of these models runs on either side.
pub(super) fn templates(old: Side<'_>, new: Side<'_>, names: &[String]) -> Vec<TemplateDifference> {
    let (before, after) = (texts(old), texts(new));
    let mut all: Vec<&str> = before.keys().chain(after.keys()).copied().collect();
    all.sort_unstable();
    all.dedup();
    let difference = |name: &str| {
        let (change, values) = match (before.get(name), after.get(name)) {
            (Some(old), Some(new)) => {
                let values: Vec<ValueChange> = leaves::changes(old, new).into_iter().map(|(change, _)| change).collect();
                if values.is_empty() {
                    return None;
                }
                ("changed", values)
            }
            (Some(_), None) => ("removed", Vec::new()),
            (None, _) => ("added", Vec::new()),
        };
        let (old_users, new_users) = (users(old, name), users(new, name));
        let concerns = names.is_empty() || old_users.iter().chain(&new_users).any(|user| names.contains(user));
        concerns.then(|| TemplateDifference { name: name.to_owned(), change, values, old_users, new_users })
    };
    all.into_iter().filter_map(difference).collect()
}
