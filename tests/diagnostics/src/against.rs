//! A checked model against a checkpoint, by the checkpoint's config and the headers of its tensors, as the loader compares them.

use std::collections::{BTreeMap, BTreeSet};

use tenon_compiler::lower;
use tenon_compiler::model::{CheckpointFormat, ConfigValue, ExpertLayout, Model};
use tenon_compiler::new::description::Format;
use tenon_compiler::new::{Checkpoint, Tensor};
use tenon_compiler::program::{ExpertDims, Rows, TensorShape};
use tenon_formats::StorageFormat;
use tenon_formats::expect::{self, ConfigContract, ConfigKey, Expected, IgnoredKey};

/// What differs, each as a line.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    /// In the config, or in the kind of file.
    pub config: Vec<String>,
    /// In the tensors.
    pub tensors: Vec<String>,
}

/// Everything that the loader would refuse.
pub fn compare(model: &Model, checkpoint: &Checkpoint) -> Differences {
    let mut config = Vec::new();
    let same_kind = matches!(
        (checkpoint.format, model.checkpoint.format),
        (Format::Hf, CheckpointFormat::Hf)
            | (Format::Gguf, CheckpointFormat::Gguf)
            | (Format::Mistral, CheckpointFormat::Mistral)
    );
    if !same_kind {
        config.push(format!("the spec is for {}", model.checkpoint.format.as_str()));
    }
    config.extend(expect::compare(&checkpoint.config, &contract(model)).iter().map(ToString::to_string));
    let tensors = checkpoint.tensors.as_ref().map_or(Vec::new(), |tensors| compare_tensors(model, tensors));
    Differences { config, tensors }
}

/// The contract as generated code has it. Texts are leaked: a run of tests is short, and each text is leaked once.
fn contract(model: &Model) -> ConfigContract<'static> {
    let key = |(key, value): &(String, ConfigValue)| ConfigKey::new(leak(key), expected(value));
    let keys: Vec<ConfigKey<'static>> = model.config.keys.iter().map(key).collect();
    let ignored: Vec<IgnoredKey<'static>> =
        model.config.ignored.iter().map(|(key, reason)| IgnoredKey::new(leak(key), leak(reason))).collect();
    ConfigContract { keys: keys.leak(), ignored: ignored.leak() }
}

fn expected(value: &ConfigValue) -> Expected<'static> {
    match value {
        ConfigValue::Int(v) => Expected::Int(*v),
        ConfigValue::Float(v) => Expected::Float(*v),
        ConfigValue::Bool(v) => Expected::Bool(*v),
        ConfigValue::Text(v) => Expected::Text(leak(v)),
        ConfigValue::Absent => Expected::Absent,
        ConfigValue::List(names) => Expected::List(names.iter().map(|name| leak(name)).collect::<Vec<_>>().leak()),
        ConfigValue::AbsentOr(value) => Expected::AbsentOr(Box::leak(Box::new(expected(value)))),
        ConfigValue::Not(value, deviation) => Expected::Not(Box::leak(Box::new(expected(value))), leak(deviation)),
        ConfigValue::Each(name, count) => Expected::Each(leak(name), *count),
    }
}

fn leak(text: &str) -> &'static str {
    use std::sync::{LazyLock, Mutex};
    static KNOWN: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().expect("no thread panics while it holds this");
    if let Some(text) = known.get(text) {
        return text;
    }
    let text: &'static str = text.to_owned().leak();
    known.insert(text);
    text
}

fn compare_tensors(model: &Model, found: &[Tensor]) -> Vec<String> {
    let needed = needed(model);
    let by_name: BTreeMap<&str, &Tensor> = found.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
    let mut differences = Vec::new();
    for (name, need) in &needed {
        let Some(found) = by_name.get(name.as_str()) else {
            differences.push(format!("{name} is missing"));
            continue;
        };
        if found.shape.as_ref().is_some_and(|shape| *shape != need.shape) {
            differences.push(format!("{name}: the spec needs {:?}, the checkpoint has {:?}", need.shape, found.shape));
        }
        let format = StorageFormat::ALL.into_iter().find(|format| found.format.as_deref() == Some(format.as_str()));
        let accepted = |format: StorageFormat| model.checkpoint.accept.contains(&format) && !(need.plain && format.is_quantised());
        if found.format.is_some() && !format.is_some_and(accepted) {
            differences.push(format!("{name} is {:?}", found.format));
        }
    }
    for name in by_name.keys().filter(|name| !needed.contains_key(**name)) {
        let ignored = |(pattern, _): &(String, String)| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => pattern == name,
        };
        if !model.checkpoint.ignore.iter().any(ignored) {
            differences.push(format!("{name} is in the checkpoint and not in the plan"));
        }
    }
    differences
}

/// What a tensor must be.
struct Need {
    shape: Vec<usize>,
    /// Its elements are not quantised.
    plain: bool,
}

/// Every tensor by its name.
fn needed(model: &Model) -> BTreeMap<String, Need> {
    let mut needed = BTreeMap::new();
    for tensor in lower::tensors(model).iter().filter(|tensor| !tensor.shared) {
        let (matrix, plain) = (|shape: &[usize]| Need { shape: shape.to_vec(), plain: false }, |shape: &[usize]| Need {
            shape: shape.to_vec(),
            plain: true,
        });
        let stored = |rows| match &tensor.rows {
            Rows::Parts(parts) => parts[0].groups * parts[0].group_rows,
            Rows::Stored | Rows::RopePairs { .. } => rows,
        };
        let needs = match tensor.shape {
            TensorShape::Embedding { vocab, dim } => vec![matrix(&[vocab, dim])],
            TensorShape::Linear { out, input } => vec![matrix(&[stored(out), input])],
            TensorShape::LatentUp { heads, nope, v, rank } => vec![matrix(&[heads * (nope + v), rank])],
            TensorShape::Norm { dim } | TensorShape::Vector { dim } | TensorShape::Decay { dim } => vec![plain(&[dim])],
            TensorShape::Bias { dim } => vec![plain(&[stored(dim)])],
            TensorShape::Conv { dim, kernel } => vec![plain(&[dim, 1, kernel])],
            TensorShape::GatedExperts(dims) => experts(dims, true),
            TensorShape::PlainExperts(dims) => experts(dims, false),
        };
        let layers: Vec<Option<usize>> = match tensor.kind {
            None => vec![None],
            Some(kind) => (0..model.pattern.len()).filter(|layer| model.pattern[*layer] == kind).map(Some).collect(),
        };
        for (name, need) in tensor.names.iter().zip(&needs) {
            for layer in &layers {
                let name = layer.map_or(name.clone(), |layer| name.replace("{layer}", &layer.to_string()));
                let numbers = if name.contains("{expert}") { count_of(tensor.shape) } else { 1 };
                for expert in 0..numbers {
                    let name = name.replace("{expert}", &expert.to_string());
                    needed.insert(name, Need { shape: need.shape.clone(), plain: need.plain });
                }
            }
        }
    }
    needed
}

fn count_of(shape: TensorShape) -> usize {
    match shape {
        TensorShape::GatedExperts(dims) | TensorShape::PlainExperts(dims) => dims.experts,
        _ => 1,
    }
}

/// In the order of the tensor's names.
fn experts(dims: ExpertDims, gated: bool) -> Vec<Need> {
    let ExpertDims { experts, hidden, inner, layout, .. } = dims;
    let need = |shape: &[usize], plain| Need { shape: shape.to_vec(), plain };
    match layout {
        ExpertLayout::Each => {
            let (up, down) = (need(&[inner, hidden], false), need(&[hidden, inner], false));
            if gated { vec![need(&[inner, hidden], false), up, down] } else { vec![up, down] }
        }
        ExpertLayout::Stacked => {
            let rows = if gated { 2 * inner } else { inner };
            vec![need(&[experts, rows, hidden], false), need(&[experts, hidden, inner], false)]
        }
        ExpertLayout::Transposed => vec![
            need(&[experts, hidden, 2 * inner], false),
            need(&[experts, 2 * inner], true),
            need(&[experts, inner, hidden], false),
            need(&[experts, hidden], true),
        ],
    }
}

/// The tensors that a model needs, for a checkpoint of which only the config is at hand.
pub fn tensors_of(model: &Model) -> Vec<Tensor> {
    let tensor = |(name, need): (String, Need)| Tensor { name, format: Some("bf16".to_owned()), shape: Some(need.shape) };
    needed(model).into_iter().map(tensor).collect()
}
