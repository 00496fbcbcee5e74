//! One model, before and after.

use serde::Serialize;

use super::kernels::{self, KernelChange};
use super::quantities::{self, Quantity};
use super::tensors::{self, TensorChange};
use super::{ValueChange, leaves};
use crate::emit::{self, Deployment};
use crate::lower;
use crate::model::{ChatTemplate, Factor, Mixer, Model, RopeScaling};
use crate::program::Program;
use crate::source::SourceMap;

/// What a model is, for one that only one side has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// Where it runs.
    pub targets: Vec<&'static str>,
    /// Layers.
    pub layers: usize,
    /// Parameters, embeddings included; a tied head counts once.
    pub parameters: u64,
    /// Bytes of KV cache per token, by dtype, the default first.
    pub cache_bytes_per_token: Vec<(String, u64)>,
    /// Bytes of recurrent state per sequence.
    pub state_bytes_per_sequence: u64,
}

/// How a model differs. Every list holds what changed and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelChanges {
    /// Numbers of MODEL.toml that are neither a scale nor a dtype.
    pub dims: Vec<ValueChange>,
    /// The factors of scores, embedding, residual stream and logits with their values, and the numbers of rotations.
    pub scales: Vec<ValueChange>,
    /// Dtypes of caches and storage formats.
    pub dtypes: Vec<ValueChange>,
    /// Every other key of MODEL.toml, and the chat template.
    pub settings: Vec<ValueChange>,
    /// Keys of KERNEL.toml.
    pub tuning: Vec<ValueChange>,
    /// Tensors of the checkpoint.
    pub tensors: Vec<TensorChange>,
    /// Parameters, bytes of weights, of cache and of state.
    pub quantities: Vec<Quantity>,
    /// What differs on each target that both sides have.
    pub targets: Vec<TargetChanges>,
}

/// How a model differs on one target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetChanges {
    /// The target.
    pub target: &'static str,
    /// Kernels that come, go, or run another number of times.
    pub kernels: Vec<KernelChange>,
    /// Bytes of scratch; bytes and flops of a decode step.
    pub quantities: Vec<Quantity>,
}

pub(super) fn facts(model: &Model) -> Facts {
    let programs = crate::programs(model);
    let deployment = emit::deployment(&programs[0]);
    Facts {
        targets: model.targets.iter().map(|target| target.name()).collect(),
        layers: deployment.layers,
        parameters: deployment.parameters,
        // A model without attention keeps nothing per token, in whatever dtype.
        cache_bytes_per_token: deployment.kv_bytes_per_token.into_iter().filter(|(_, bytes)| *bytes > 0).collect(),
        state_bytes_per_sequence: deployment.state_bytes_per_slot,
    }
}

/// How a model differs, or `None` where nothing does.
pub(super) fn changes(
    (old_sources, old): (&SourceMap, &Model),
    (new_sources, new): (&SourceMap, &Model),
) -> Option<ModelChanges> {
    let mut changes = ModelChanges { scales: scales(old, new), ..ModelChanges::default() };
    let text = |sources: &'_ SourceMap, model: &Model, name: &str| {
        let path = format!("{}/{name}", model.folder);
        sources.files().find(|(_, file)| file.path == path).map(|(_, file)| file.text.clone()).unwrap_or_default()
    };
    for (change, is_number) in leaves::changes(&text(old_sources, old, "MODEL.toml"), &text(new_sources, new, "MODEL.toml")) {
        let key = change.key.rsplit('.').next().unwrap_or_default();
        let in_table = |table: &str| change.key.starts_with(table);
        if FORMULAS.contains(&key) {
            // The models say more: the value beside the formula.
        } else if SCALES.contains(&key) || (in_table("mixer.") && change.key.contains(".rope.")) {
            changes.scales.push(change);
        } else if DTYPES.contains(&key) || change.key.contains(".kv_cache_layers.") {
            changes.dtypes.push(change);
        } else if is_number && !in_table("sampling.") && !in_table("tools.") {
            changes.dims.push(change);
        } else {
            changes.settings.push(change);
        }
    }
    changes.settings.extend(chat_template(old, new));
    let tuning = leaves::changes(&text(old_sources, old, "KERNEL.toml"), &text(new_sources, new, "KERNEL.toml"));
    changes.tuning = tuning.into_iter().map(|(change, _)| change).collect();

    let (before, after) = (crate::programs(old), crate::programs(new));
    changes.tensors = tensors::tensors(&before[0], &after[0]);
    changes.quantities = quantities::of_model(&emit::deployment(&before[0]), &emit::deployment(&after[0]));
    for old in &before {
        let new = after.iter().find(|new| new.target == old.target);
        changes.targets.extend(new.and_then(|new| target(old, new)));
    }
    (changes != ModelChanges::default()).then_some(changes)
}

fn target(old: &Program<'_>, new: &Program<'_>) -> Option<TargetChanges> {
    let (before, after): (Deployment, Deployment) = (emit::deployment(old), emit::deployment(new));
    let (kernels, quantities) = (kernels::kernels(old, new), quantities::of_target(&before, &after));
    let changed = !kernels.is_empty() || !quantities.is_empty();
    changed.then(|| TargetChanges { target: new.target.name(), kernels, quantities })
}

/// Keys whose value is an expression: a model knows what it comes to.
const FORMULAS: [&str; 4] = ["softmax_scale", "embedding_scale", "residual_scale", "logit_scale"];

/// Keys beside those of a rotation that multiply or bound what passes through a model.
const SCALES: [&str; 8] = [
    "scale_emb",
    "scale_depth",
    "dim_model_base",
    "query_pre_attn_scalar",
    "final_logit_softcapping",
    "attn_logit_softcapping",
    "llama_4_scaling_beta",
    "routed_scaling_factor",
];

const DTYPES: [&str; 3] = ["kv_cache_dtype", "kv_cache_layers", "accept"];

/// Every factor of a model by its key, with what it comes to.
fn factors(model: &Model) -> Vec<(String, String)> {
    let value = |formula: &str, value: f32| format!("{formula} = {value:?}");
    let factor = |key: &str, factor: &Factor| (format!("model.{key}"), value(&factor.formula, factor.value));
    let mut found = vec![factor("embedding_scale", &model.embedding_scale)];
    found.extend(model.residual_scale.as_ref().map(|f| factor("residual_scale", f)));
    found.extend(model.logit_scale.as_ref().map(|f| factor("logit_scale", f)));
    for (name, mixer) in lower::mixers(model) {
        let scale = match mixer {
            Mixer::Gqa(gqa) => &gqa.scale,
            Mixer::Mla(mla) => &mla.scale,
            Mixer::Mamba2(_) | Mixer::GatedDeltaNet(_) => continue,
        };
        found.push((format!("mixer.{name}.softmax_scale"), value(&scale.formula, scale.value)));
        if let Some(RopeScaling::Yarn { attention_factor, .. }) = mixer.rope().map(|rope| &rope.scaling) {
            found.push((format!("mixer.{name}.rope: factor on cosines"), format!("{attention_factor}")));
        }
    }
    found
}

fn scales(old: &Model, new: &Model) -> Vec<ValueChange> {
    let (old, new) = (factors(old), factors(new));
    let find = |list: &[(String, String)], key: &str| list.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone());
    let mut keys: Vec<&String> = old.iter().chain(&new).map(|(key, _)| key).collect();
    let mut seen = std::collections::BTreeSet::new();
    keys.retain(|key| seen.insert(*key));
    let change = |key: &String| ValueChange { key: key.clone(), old: find(&old, key), new: find(&new, key) };
    keys.into_iter().map(change).filter(|change| change.old != change.new).collect()
}

/// The text of a template beside MODEL.toml, where that changed; which template is used is a key of MODEL.toml.
fn chat_template(old: &Model, new: &Model) -> Option<ValueChange> {
    let (ChatTemplate::Text(before), ChatTemplate::Text(after)) = (&old.chat_template, &new.chat_template) else { return None };
    let count = super::LineDiff::new(before, after).count();
    let lines = |text: &str| format!("{} lines", text.lines().count());
    (before != after).then(|| ValueChange {
        key: "text of the chat template".to_owned(),
        old: Some(lines(before)),
        new: Some(format!("{} (+{} -{})", lines(after), count.added, count.removed)),
    })
}
