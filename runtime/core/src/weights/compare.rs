//! The comparison of a checkpoint with a plan: every difference, before anything is loaded.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;

use tenon_formats::TensorEntry;
use tenon_formats::expect::{self, ConfigContract};
use tenon_formats::shown::shown;

use super::error::Mismatch;
use super::experts::TensorNeed;
use super::spec::{Need, TensorCheck};
use super::stored::{self, Ending, Lies, MatrixNeed};
use super::{Checkpoint, LoadError, StorageFormat};

/// The placeholder of a layer's number in tensor names.
const LAYER: &str = "{layer}";
/// The placeholder of an expert's number.
const EXPERT: &str = "{expert}";

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

/// Compares the tensors of one matrix, and says how it is stored.
pub(super) fn compare_matrix(
    checkpoint: &Checkpoint,
    name: &str,
    need: &MatrixNeed,
    accept: &[StorageFormat],
) -> Result<stored::Stored, LoadError> {
    let found = stored::find(checkpoint, name, need, accept);
    refuse(checkpoint, found.differences.iter().map(|(ending, what)| format!("{}{what}", ending.of(name))).collect())?;
    Ok(found.stored.expect("a matrix without differences was found"))
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

/// The name of a tensor of one expert.
pub(super) fn in_expert(name: &str, expert: Option<usize>) -> String {
    expert.map_or(name.to_owned(), |expert| name.replacen(EXPERT, &expert.to_string(), 1))
}

/// Differences under a name with the numbers of its layer and expert taken out, so that what all of them share is said once.
#[derive(Default)]
struct Grouped(BTreeMap<(String, String), Vec<Place>>);

/// A layer and an expert.
#[derive(Clone, Copy, Default)]
struct Place {
    layer: Option<usize>,
    expert: Option<usize>,
}

impl Place {
    fn name(self, template: &str) -> String {
        let name = self.layer.map_or(template.to_owned(), |layer| in_layer(template, layer));
        in_expert(&name, self.expert)
    }
}

impl Grouped {
    fn add(&mut self, name: &str, place: Place, what: String) {
        self.0.entry((name.to_owned(), what)).or_default().push(place);
    }

    fn lines(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|((name, what), places)| match places.as_slice() {
            [place] => format!("{}{what}", shown(&place.name(&name))),
            _ => {
                let of = |kind, number: fn(&Place) -> Option<usize>| {
                    let numbers: Vec<usize> = places.iter().filter_map(number).collect();
                    (!numbers.is_empty()).then(|| format!("{kind} {}", ranges(numbers)))
                };
                let numbers = [of("layers", |place| place.layer), of("experts", |place| place.expert)];
                format!("{} ({}){what}", shown(&name), numbers.into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
        })
    }
}

/// The comparison of a table with a checkpoint.
struct Comparison<'a> {
    checkpoint: &'a Checkpoint,
    grouped: Grouped,
    /// Tensors that are read, and those beside them that need not be.
    needed: HashSet<String>,
}

impl Comparison<'_> {
    fn read(&mut self, check: &TensorCheck) {
        let layers = check.layers.map_or(vec![None], |layers| layers.iter().copied().map(Some).collect());
        for layer in layers {
            let place = Place { layer, expert: None };
            match &check.need {
                Need::Nothing => {}
                Need::Matrix { shape: [rows, inputs], accept } => {
                    let need = MatrixNeed { stack: None, rows: *rows, inputs: *inputs, lies: Lies::Rows };
                    self.matrix(check.name, place, &need, accept);
                }
                Need::Experts(experts) => {
                    for tensor in experts.tensors() {
                        let place = Place { expert: tensor.expert, ..place };
                        match &tensor.need {
                            TensorNeed::Matrix(need) => self.matrix(tensor.template, place, need, experts.accept),
                            TensorNeed::Biases(shape) => {
                                self.vector(tensor.template, place, &Need::Biases { shape: *shape, accept: experts.accept });
                            }
                        }
                    }
                }
                other => self.vector(check.name, place, other),
            }
        }
    }

    fn matrix(&mut self, template: &str, place: Place, need: &MatrixNeed, accept: &[StorageFormat]) {
        let name = place.name(template);
        let found = stored::find(self.checkpoint, &name, need, accept);
        for (ending, what) in found.differences {
            self.grouped.add(&ending.of(template), place, what);
        }
        self.needed.extend(found.companions.into_iter().chain([Ending::Same]).map(|ending| ending.of(&name)));
    }

    fn vector(&mut self, template: &str, place: Place, need: &Need) {
        let name = place.name(template);
        for what in one(self.checkpoint.tensor(&name), need) {
            self.grouped.add(template, place, what);
        }
        self.needed.insert(name);
    }
}

fn tensor_differences(checkpoint: &Checkpoint, checks: &[TensorCheck]) -> impl Iterator<Item = String> {
    let mut comparison = Comparison { checkpoint, grouped: Grouped::default(), needed: HashSet::new() };
    let (unread, read): (Vec<&TensorCheck>, Vec<&TensorCheck>) =
        checks.iter().partition(|check| matches!(check.need, Need::Nothing));
    read.into_iter().filter(|check| check.compared).for_each(|check| comparison.read(check));
    let Comparison { mut grouped, needed, .. } = comparison;
    for tensor in checkpoint.tensors() {
        let (name, layer) = without_layer(&tensor.name);
        let is_ignored = unread.iter().any(|check| is_named(check.name, &tensor.name) || is_named(check.name, &name));
        if !is_ignored && !needed.contains(&tensor.name) {
            let (name, expert) = without_expert(&name);
            grouped.add(&name, Place { layer, expert }, " is in the checkpoint and not in the plan".to_owned());
        }
    }
    grouped.lines()
}

/// True for the name itself, and for one that begins as a name that ends in `*` does.
fn is_named(wanted: &str, name: &str) -> bool {
    wanted.strip_suffix('*').map_or(wanted == name, |beginning| name.starts_with(beginning))
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

/// A name with the number after `experts` replaced by `{expert}`, and that number.
fn without_expert(name: &str) -> (String, Option<usize>) {
    const BEFORE: &str = ".experts.";
    let Some(start) = name.find(BEFORE).map(|at| at + BEFORE.len()) else { return (name.to_owned(), None) };
    let part = name[start..].split('.').next().unwrap_or_default();
    match part.parse::<usize>() {
        Ok(expert) if expert.to_string() == part => {
            (format!("{}{EXPERT}{}", &name[..start], &name[start + part.len()..]), Some(expert))
        }
        _ => (name.to_owned(), None),
    }
}

/// `0..3, 5, 7..9` (ends excluded) for numbers in any order, each as often as it likes.
fn ranges(mut numbers: Vec<usize>) -> String {
    numbers.sort_unstable();
    numbers.dedup();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{}..{}", run[0], run[run.len() - 1] + 1),
    });
    runs.collect::<Vec<_>>().join(", ")
}

pub(super) fn listed(items: &[impl Display]) -> String {
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

    #[test]
    fn the_number_after_experts_is_the_expert() {
        assert_eq!(without_expert("l.{layer}.experts.12.w"), ("l.{layer}.experts.{expert}.w".into(), Some(12)));
        assert_eq!(without_expert("l.{layer}.experts.012.w"), ("l.{layer}.experts.012.w".into(), None));
        assert_eq!(without_expert("l.{layer}.experts.gate"), ("l.{layer}.experts.gate".into(), None));
        assert_eq!(without_expert("experts.3"), ("experts.3".into(), None));
    }

    #[test]
    fn a_star_stands_for_any_ending() {
        assert!(is_named("model.mtp.*", "model.mtp.layers.0.w") && is_named("*", "w"));
        assert!(!is_named("model.mtp.*", "model.mt") && !is_named("a.w", "a.w2"));
    }
}
