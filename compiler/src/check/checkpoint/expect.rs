//! What a checked model expects of a checkpoint, in the terms of the comparison that the loader makes too.

use tenon_formats::expect::tensors::{ExpertNames, ExpertsNeed, GatedExpertNames, Need, PlainExpertNames, TensorCheck};
use tenon_formats::{ConfigContract, ConfigKey, Expected, IgnoredKey, StorageFormat};

use crate::lower;
use crate::model::{self, ConfigValue, ExpertLayout, Model};
use crate::program::{ExpertDims, Rows, Tensor, TensorShape};

/// Gives `run` what a config must say, as generated code holds it.
pub fn with_contract<R>(contract: &model::ConfigContract, run: impl FnOnce(&ConfigContract<'_>) -> R) -> R {
    // From the inside out, because the outer forms borrow the inner ones: a value, "nothing or", "anything but".
    let layers: Vec<Layers<'_>> = contract.keys.iter().map(|(_, value)| Layers::of(value)).collect();
    let lists: Vec<Vec<&str>> = layers.iter().map(|layers| names(layers.value)).collect();
    let values: Vec<Expected<'_>> = layers.iter().zip(&lists).map(|(layers, list)| expected(layers.value, list)).collect();
    let or_nothing: Vec<Expected<'_>> = layers
        .iter()
        .zip(&values)
        .map(|(layers, value)| if layers.or_nothing { Expected::AbsentOr(value) } else { *value })
        .collect();
    let mut keys = Vec::with_capacity(contract.keys.len());
    for ((key, _), (layers, value)) in contract.keys.iter().zip(layers.iter().zip(&or_nothing)) {
        let expected = layers.deviation.map_or(*value, |deviation| Expected::Not(value, deviation));
        keys.push(ConfigKey::new(key, expected));
    }
    let ignored: Vec<IgnoredKey<'_>> = contract.ignored.iter().map(|(key, reason)| IgnoredKey::new(key, reason)).collect();
    run(&ConfigContract { keys: &keys, ignored: &ignored })
}

/// A value with the forms around it taken off.
struct Layers<'m> {
    deviation: Option<&'m str>,
    or_nothing: bool,
    value: &'m ConfigValue,
}

impl<'m> Layers<'m> {
    fn of(value: &'m ConfigValue) -> Self {
        match value {
            ConfigValue::Not(inner, deviation) => Self { deviation: Some(deviation), ..Self::of(inner) },
            ConfigValue::AbsentOr(inner) => Self { deviation: None, or_nothing: true, value: inner },
            value => Self { deviation: None, or_nothing: false, value },
        }
    }
}

fn names(value: &ConfigValue) -> Vec<&str> {
    match value {
        ConfigValue::List(names) => names.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

fn expected<'m>(value: &'m ConfigValue, list: &'m [&'m str]) -> Expected<'m> {
    match value {
        ConfigValue::Int(v) => Expected::Int(*v),
        ConfigValue::Float(v) => Expected::Float(*v),
        ConfigValue::Bool(v) => Expected::Bool(*v),
        ConfigValue::Text(v) => Expected::Text(v),
        ConfigValue::Each(name, count) => Expected::Each(name, *count),
        ConfigValue::List(_) => Expected::List(list),
        ConfigValue::Absent => Expected::Absent,
        ConfigValue::AbsentOr(_) | ConfigValue::Not(..) => unreachable!("the outer forms were taken off, each once"),
    }
}

/// Gives `run` the tensors that a checkpoint must hold, as generated code lists them: each with the layers that have it.
pub fn with_checks<R>(model: &Model, run: impl FnOnce(&[TensorCheck<'_>]) -> R) -> R {
    let tensors: Vec<Tensor> = lower::tensors(model).into_iter().filter(|tensor| !tensor.shared).collect();
    let of_kind = |kind: usize| (0..model.pattern.len()).filter(move |&layer| model.pattern[layer] == kind).collect();
    let layers: Vec<Vec<usize>> = (0..model.kinds.len()).map(of_kind).collect();
    let accept = model.checkpoint.accept.as_slice();
    let mut checks: Vec<TensorCheck<'_>> = Vec::with_capacity(tensors.len());
    for tensor in &tensors {
        let layers = tensor.kind.map(|kind| layers[kind].as_slice());
        checks.push(TensorCheck { name: &tensor.names[0], layers, need: need(tensor, accept) });
    }
    checks.extend(model.checkpoint.ignore.iter().map(|(name, reason)| TensorCheck::ignored(name, reason)));
    run(&checks)
}

/// What the tensor of a weight must be in the file.
fn need<'m>(tensor: &'m Tensor, accept: &'m [StorageFormat]) -> Need<'m> {
    let stored = |rows| match &tensor.rows {
        Rows::Parts(parts) => parts[0].groups * parts[0].group_rows,
        Rows::Stored | Rows::RopePairs { .. } => rows,
    };
    match tensor.shape {
        TensorShape::Embedding { vocab, dim } => Need::table(vocab, dim, accept),
        TensorShape::Linear { out, input } => Need::matrix(stored(out), input, accept),
        TensorShape::Norm { dim } | TensorShape::Vector { dim } | TensorShape::Decay { dim } => Need::vector(dim, accept),
        TensorShape::Bias { dim } => Need::vector(stored(dim), accept),
        TensorShape::Conv { dim, kernel } => Need::filters(dim, kernel, accept),
        TensorShape::LatentUp { heads, nope, v, rank } => Need::latent_up(heads, nope, v, rank, accept),
        TensorShape::GatedExperts(dims) => experts(dims, ExpertNames::Gated(gated_names(dims, &tensor.names)), accept),
        TensorShape::PlainExperts(dims) => experts(dims, ExpertNames::Plain(plain_names(dims, &tensor.names)), accept),
    }
}

fn experts<'m>(dims: ExpertDims, names: ExpertNames<'m>, accept: &'m [StorageFormat]) -> Need<'m> {
    Need::Experts(ExpertsNeed { experts: dims.experts, hidden: dims.hidden, inner: dims.inner, names, accept })
}

/// In the order in which `lower` names them.
fn gated_names(dims: ExpertDims, names: &[String]) -> GatedExpertNames<'_> {
    match (dims.layout, names) {
        (ExpertLayout::Each, [gate, up, down]) => GatedExpertNames::Each { gate, up, down },
        (ExpertLayout::Stacked, [gate_up, down]) => GatedExpertNames::Stacked { gate_up, down },
        (ExpertLayout::Transposed, [gate_up, gate_up_bias, down, down_bias]) => {
            GatedExpertNames::Transposed { gate_up, gate_up_bias, down, down_bias }
        }
        _ => unreachable!("a layout has its number of names"),
    }
}

fn plain_names(dims: ExpertDims, names: &[String]) -> PlainExpertNames<'_> {
    match (dims.layout, names) {
        (ExpertLayout::Each, [up, down]) => PlainExpertNames::Each { up, down },
        (ExpertLayout::Stacked, [up, down]) => PlainExpertNames::Stacked { up, down },
        _ => unreachable!("a layout has its number of names"),
    }
}

/// The names of a tensor with the shape of each, where it is stored whole.
#[cfg(test)]
pub fn shapes(tensor: &Tensor) -> Vec<(&str, Vec<usize>)> {
    let name = |index: usize| tensor.names[index].as_str();
    let (TensorShape::GatedExperts(dims) | TensorShape::PlainExperts(dims)) = tensor.shape else {
        return vec![(name(0), need(tensor, &[]).shape().to_vec())];
    };
    let ExpertDims { experts, hidden, inner, layout, .. } = dims;
    let gated = matches!(tensor.shape, TensorShape::GatedExperts(_));
    let shapes = match (layout, gated) {
        (ExpertLayout::Each, true) => vec![vec![inner, hidden], vec![inner, hidden], vec![hidden, inner]],
        (ExpertLayout::Each, false) => vec![vec![inner, hidden], vec![hidden, inner]],
        (ExpertLayout::Stacked, true) => vec![vec![experts, 2 * inner, hidden], vec![experts, hidden, inner]],
        (ExpertLayout::Stacked, false) => vec![vec![experts, inner, hidden], vec![experts, hidden, inner]],
        (ExpertLayout::Transposed, _) => {
            vec![vec![experts, hidden, 2 * inner], vec![experts, 2 * inner], vec![experts, inner, hidden], vec![experts, hidden]]
        }
    };
    shapes.into_iter().enumerate().map(|(index, shape)| (name(index), shape)).collect()
}
