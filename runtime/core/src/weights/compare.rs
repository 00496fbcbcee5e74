//! The comparison of a checkpoint with a plan: every difference, before anything is loaded.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;

use tenon_formats::TensorEntry;
use tenon_formats::expect::{self, ConfigContract};
use tenon_formats::shown::shown;

use super::error::Mismatch;
use super::spec::{Need, TensorCheck};
use super::{Checkpoint, LoadError};

/// The placeholder of a layer's number in tensor names.
const LAYER: &str = "{layer}";

/// Compares everything that the checkpoint says with everything that the plan needs.
pub(super) fn compare(checkpoint: &Checkpoint, tensors: &[TensorCheck], config: &ConfigContract) -> Result<(), LoadError> {
    let mut differences: Vec<String> = expect::compare(checkpoint.config(), config).iter().map(ToString::to_string).collect();
    differences.extend(tensor_differences(checkpoint, tensors));
    refuse(checkpoint, differences)
}

/// Compares one tensor, for a loader whose table does not list it.
pub(super) fn compare_one(checkpoint: &Checkpoint, name: &str, need: &Need) -> Result<(), LoadError> {
    let differences = one(checkpoint.tensor(name), need);
    refuse(checkpoint, differences.into_iter().map(|what| format!("{name}{what}")).collect())
}

fn refuse(checkpoint: &Checkpoint, differences: Vec<String>) -> Result<(), LoadError> {
    if differences.is_empty() {
        return Ok(());
    }
    Err(LoadError::Mismatch(Mismatch { path: checkpoint.path().to_owned(), differences }))
}

/// The name of a tensor in one layer.
pub(super) fn in_layer(name: &str, layer: usize) -> String {
    name.replacen(LAYER, &layer.to_string(), 1)
}

/// Differences under a name with its layer's number taken out, so that what all layers share is said once.
#[derive(Default)]
struct Grouped(BTreeMap<(String, String), Vec<Option<usize>>>);

impl Grouped {
    fn add(&mut self, name: &str, layer: Option<usize>, what: String) {
        self.0.entry((name.to_owned(), what)).or_default().push(layer);
    }

    fn lines(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|((name, what), layers)| match layers.as_slice() {
            [Some(layer)] => format!("{}{what}", shown(&in_layer(&name, *layer))),
            [None] => format!("{}{what}", shown(&name)),
            _ => format!("{} (layers {}){what}", shown(&name), ranges(layers.into_iter().flatten().collect())),
        })
    }
}

fn tensor_differences(checkpoint: &Checkpoint, checks: &[TensorCheck]) -> impl Iterator<Item = String> {
    let mut grouped = Grouped::default();
    let mut needed = HashSet::new();
    let (unread, read): (Vec<_>, Vec<_>) = checks.iter().partition(|check| matches!(check.need, Need::Nothing));
    for check in read {
        for (name, layer) in names(check) {
            for what in one(checkpoint.tensor(&name), &check.need) {
                grouped.add(check.name, layer, what);
            }
            needed.insert(name);
        }
    }
    for tensor in checkpoint.tensors() {
        let (name, layer) = without_layer(&tensor.name);
        let is_ignored = unread.iter().any(|check| check.name == tensor.name || check.name == name);
        if !is_ignored && !needed.contains(&tensor.name) {
            grouped.add(&name, layer, " is in the checkpoint and not in the plan".to_owned());
        }
    }
    grouped.lines()
}

/// The names that a table entry stands for.
fn names(check: &TensorCheck) -> Vec<(String, Option<usize>)> {
    match check.layers {
        None => vec![(check.name.to_owned(), None)],
        Some(layers) => layers.iter().map(|&layer| (in_layer(check.name, layer), Some(layer))).collect(),
    }
}

/// What is wrong with one tensor; each text follows its name.
fn one(found: Option<&TensorEntry>, need: &Need) -> Vec<String> {
    let Some(found) = found else { return vec![" is missing".to_owned()] };
    let mut differences = Vec::new();
    if found.shape != need.shape() {
        let text = format!(": the spec needs {:?}, the checkpoint has {:?}", need.shape(), found.shape);
        differences.push(text);
    }
    let accepted = need.accepted();
    if !found.format.known().is_some_and(|format| accepted.contains(&format)) {
        differences.push(format!(" is {}, and the spec accepts {}", found.format, listed(&accepted)));
    }
    differences
}

/// A name with its first number between dots replaced by `{layer}`, and that number.
fn without_layer(name: &str) -> (String, Option<usize>) {
    let mut start = 0;
    for part in name.split('.') {
        // Only as it would be written, so that putting the number back gives the same name.
        if let Some(layer) = part.parse::<usize>().ok().filter(|n| n.to_string() == part) {
            return (format!("{}{LAYER}{}", &name[..start], &name[start + part.len()..]), Some(layer));
        }
        start += part.len() + 1;
    }
    (name.to_owned(), None)
}

/// `0..3, 5, 7..9` (ends excluded) for sorted or unsorted numbers.
fn ranges(mut numbers: Vec<usize>) -> String {
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{}..{}", run[0], run[run.len() - 1] + 1),
    });
    runs.collect::<Vec<_>>().join(", ")
}

fn listed(items: &[impl Display]) -> String {
    if items.is_empty() {
        return "nothing that a norm or a bias may be".to_owned();
    }
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_written_as_ranges() {
        assert_eq!(ranges(vec![2, 0, 1]), "0..3");
        assert_eq!(ranges(vec![0, 1, 2, 5, 7, 8]), "0..3, 5, 7..9");
    }

    #[test]
    fn the_first_number_is_the_layer() {
        assert_eq!(without_layer("blk.12.ffn.3.w"), ("blk.{layer}.ffn.3.w".into(), Some(12)));
        assert_eq!(without_layer("a.007.w"), ("a.007.w".into(), None));
        assert_eq!(without_layer("norm"), ("norm".into(), None));
        assert_eq!(without_layer("..5"), ("..{layer}".into(), Some(5)));
    }
}
