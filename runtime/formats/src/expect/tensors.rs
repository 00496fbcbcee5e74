//! The comparison of a checkpoint's tensors with what a plan needs: every difference, before anything is loaded.
//!
//! The loader and `tenon check --checkpoint` call the same [`compare`], so that what the one accepts the other does not refuse.

mod experts;
mod need;
mod problem;
pub mod stored;

use std::collections::{BTreeMap, HashSet};

use self::stored::{Ending, Lies, MatrixNeed};
use crate::tensor::TensorEntry;

pub use self::experts::{ExpertNames, ExpertTensor, ExpertsNeed, GatedExpertNames, PlainExpertNames, TensorNeed};
pub use self::need::{Need, TensorCheck};
pub use self::problem::{TensorDifference, TensorProblem, ranges};

/// The placeholder of a layer's number in tensor names.
const LAYER: &str = "{layer}";
/// The placeholder of an expert's number.
const EXPERT: &str = "{expert}";

/// The tensors of a checkpoint, to be found by name.
#[derive(Clone, Copy, Debug)]
pub struct Tensors<'c>(&'c [TensorEntry]);

impl<'c> Tensors<'c> {
    /// Wraps entries that are sorted by name, as readers return them.
    pub fn sorted(entries: &'c [TensorEntry]) -> Self {
        debug_assert!(entries.is_sorted_by(|a, b| a.name < b.name), "entries are sorted by name, each once");
        Self(entries)
    }

    /// Where the tensor with this name stands in the list.
    pub fn position(self, name: &str) -> Option<usize> {
        self.0.binary_search_by(|t| t.name.as_str().cmp(name)).ok()
    }

    /// The tensor with this name.
    pub fn get(self, name: &str) -> Option<&'c TensorEntry> {
        self.position(name).map(|at| &self.0[at])
    }
}

/// Every difference between what a plan needs and what a checkpoint has, sorted by name. What several layers or experts share is
/// one difference.
pub fn compare(tensors: Tensors<'_>, checks: &[TensorCheck<'_>]) -> Vec<TensorDifference> {
    let mut comparison = Comparison { tensors, grouped: Grouped::default(), needed: HashSet::new() };
    let (unread, read): (Vec<_>, Vec<_>) = checks.iter().partition(|check| matches!(check.need, Need::Nothing));
    read.into_iter().for_each(|check| comparison.read(check));
    let Comparison { mut grouped, needed, .. } = comparison;
    for tensor in tensors.0 {
        let (name, layer) = without_layer(&tensor.name);
        let is_ignored = unread.iter().any(|check| is_named(check.name, &tensor.name) || is_named(check.name, &name));
        if !is_ignored && !needed.contains(&tensor.name) {
            let (name, expert) = without_expert(&name);
            grouped.add(&name, None, Place { layer, expert }, TensorProblem::LeftOver);
        }
    }
    grouped.differences()
}

/// What is wrong with one tensor that is read alone.
pub fn compare_one(found: Option<&TensorEntry>, need: &Need<'_>) -> Vec<TensorProblem> {
    let Some(found) = found else { return vec![TensorProblem::Missing] };
    let mut problems = Vec::new();
    if found.shape != need.shape() {
        problems.push(TensorProblem::Shape { needed: vec![need.shape().to_vec()], found: found.shape.clone() });
    }
    let accepted = need.accepted();
    if !found.format.known().is_some_and(|format| accepted.contains(&format)) {
        problems.push(TensorProblem::NotAccepted { found: found.format.clone(), accepted });
    }
    problems
}

/// The name of a tensor in one layer.
pub fn in_layer(name: &str, layer: usize) -> String {
    name.replacen(LAYER, &layer.to_string(), 1)
}

/// The name of a tensor of one expert.
pub fn in_expert(name: &str, expert: Option<usize>) -> String {
    expert.map_or(name.to_owned(), |expert| name.replacen(EXPERT, &expert.to_string(), 1))
}

/// Differences under a name with the numbers of its layer and expert taken out, so that what all of them share is said once. The
/// second name is that of the check, with the same numbers taken out.
#[derive(Default)]
struct Grouped(BTreeMap<(String, TensorProblem, Option<String>), Vec<Place>>);

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
    fn add(&mut self, name: &str, of: Option<&str>, place: Place, problem: TensorProblem) {
        self.0.entry((name.to_owned(), problem, of.map(str::to_owned))).or_default().push(place);
    }

    fn differences(self) -> Vec<TensorDifference> {
        let difference = |((name, problem, of), places): (_, Vec<Place>)| TensorDifference {
            name,
            of,
            layers: sorted(places.iter().filter_map(|place| place.layer)),
            experts: sorted(places.iter().filter_map(|place| place.expert)),
            problem,
        };
        let mut differences: Vec<TensorDifference> = self.0.into_iter().map(difference).collect();
        differences.sort_by_cached_key(|difference| (difference.name.clone(), difference.problem.to_string()));
        differences
    }
}

/// Numbers in order, each once.
fn sorted(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The comparison of a table with a checkpoint.
struct Comparison<'c> {
    tensors: Tensors<'c>,
    grouped: Grouped,
    /// Tensors that are read, and those beside them that need not be.
    needed: HashSet<String>,
}

impl Comparison<'_> {
    fn read(&mut self, check: &TensorCheck<'_>) {
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

    fn matrix(&mut self, template: &str, place: Place, need: &MatrixNeed, accept: &[crate::StorageFormat]) {
        let name = place.name(template);
        let found = stored::find(self.tensors, &name, need, accept);
        for (ending, problem) in found.differences {
            self.grouped.add(&ending.of(template), Some(template), place, problem);
        }
        self.needed.extend(found.companions.into_iter().chain([Ending::Same]).map(|ending| ending.of(&name)));
    }

    fn vector(&mut self, template: &str, place: Place, need: &Need<'_>) {
        let name = place.name(template);
        for problem in compare_one(self.tensors.get(&name), need) {
            self.grouped.add(template, Some(template), place, problem);
        }
        self.needed.insert(name);
    }
}

/// True for the name itself, and for one that begins as a name that ends in `*` does.
fn is_named(wanted: &str, name: &str) -> bool {
    wanted.strip_suffix('*').map_or(wanted == name, |beginning| name.starts_with(beginning))
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

#[cfg(test)]
mod tests {
    use super::*;

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
