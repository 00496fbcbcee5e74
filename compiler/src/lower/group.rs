//! How layers are grouped into arrays, and names of the specs as names of generated code.

use crate::model::Model;
use crate::program::{CacheDtype, Group, Schedule};

/// Groups layers into arrays. Stretches of equal kind and dtype stay whole where there are few of them; else one array per
/// kind and dtype, and a pattern says which comes when.
pub(super) fn group(model: &Model) -> (Vec<Group>, Schedule) {
    const MOST_STRETCHES: usize = 3;
    let layers = model.pattern.len();
    let of = |layer: usize| (model.pattern[layer], cache_dtype(model, layer));

    let mut stretches: Vec<Group> = Vec::new();
    for layer in 0..layers {
        match stretches.last_mut().filter(|s| (s.kind, s.cache) == of(layer)) {
            Some(stretch) => stretch.layers.push(layer),
            None => {
                let (kind, cache) = of(layer);
                stretches.push(Group { field: String::new(), kind, cache, layers: vec![layer] });
            }
        }
    }
    if stretches.len() <= MOST_STRETCHES {
        let alone = stretches.len() == model.kinds.len();
        for s in &mut stretches {
            let (from, to) = (s.layers[0], s.layers[s.layers.len() - 1] + 1);
            let name = field_name(&model.kinds[s.kind].name);
            s.field = if alone { name } else { format!("{name}_{from}_to_{to}") };
        }
        return (stretches, Schedule::Sequential);
    }

    let mut groups: Vec<Group> = Vec::new();
    let mut pattern = Vec::new();
    for stretch in stretches {
        let at = groups.iter().position(|g| (g.kind, g.cache) == (stretch.kind, stretch.cache)).unwrap_or_else(|| {
            let name = field_name(&model.kinds[stretch.kind].name);
            let field = match stretch.cache {
                CacheDtype::Fixed(dtype) => format!("{name}_{}", dtype.as_str()),
                CacheDtype::Chosen | CacheDtype::None => name,
            };
            groups.push(Group { field, kind: stretch.kind, cache: stretch.cache, layers: Vec::new() });
            groups.len() - 1
        });
        for layer in stretch.layers {
            pattern.push((at, groups[at].layers.len()));
            groups[at].layers.push(layer);
        }
    }
    (groups, Schedule::Pattern(pattern))
}

/// A block's name as the field, the function and (in camel case) the type of generated code.
pub fn field_name(name: &str) -> String {
    let ident = identifier(name);
    if TAKEN.contains(&ident.as_str()) { format!("block_{ident}") } else { ident }
}

/// A name of a spec as a Rust identifier in snake case. What is no identifier alone, or none in camel case, gets a prefix.
pub fn identifier(name: &str) -> String {
    let ident: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    let starts_with_letter = ident.trim_start_matches('_').starts_with(|c: char| c.is_ascii_alphabetic());
    let legal = starts_with_letter && syn::parse_str::<syn::Ident>(&ident).is_ok();
    if legal { ident } else { format!("block_{ident}") }
}

/// Names that generated code has itself: fields of its weights, functions and (in camel case) types that it defines or imports.
const TAKEN: [&str; 147] = [
    "absorbed",
    "add",
    "add_bias",
    "add_scaled",
    "arc",
    "arg",
    "attention",
    "batch",
    "batch_limits",
    "bf16",
    "bias",
    "box",
    "buckets",
    "bundled_file",
    "caches",
    "causal_conv",
    "causal_conv_bias",
    "checkpoint",
    "checkpoint_kind",
    "choice",
    "conv",
    "cpu",
    "cuda_error",
    "d",
    "decay",
    "delta_decode",
    "delta_prefill",
    "delta_state",
    "device",
    "device_conv",
    "device_delta_state",
    "device_element",
    "device_embedding",
    "device_experts",
    "device_latent_cache",
    "device_latent_up",
    "device_linear",
    "device_loader",
    "device_mamba2_state",
    "device_paged_kv",
    "device_vector",
    "dims",
    "each_layer",
    "embed_tokens",
    "embedding",
    "expanded",
    "expert_rows",
    "f32",
    "fp8_e4m3",
    "gated_expert_names",
    "gated_experts",
    "gated_experts_spec",
    "gated_group_norm",
    "gated_head_norm",
    "gather_logit_rows",
    "gelu",
    "gelu_mul",
    "gelu_tanh",
    "gelu_tanh_mul",
    "graphs",
    "halves",
    "head",
    "head_norm",
    "interleaved",
    "k",
    "kernels",
    "kind",
    "kv",
    "kv_dtype",
    "kv_dtype_name",
    "latent_cache",
    "latent_norm",
    "latent_up",
    "launch",
    "layer_range",
    "linear",
    "lm_head",
    "load",
    "load_error",
    "load_options",
    "loader",
    "logits",
    "mamba2_scan",
    "mamba2_state",
    "mamba2_update",
    "memory",
    "mla_decode",
    "mla_prefill",
    "model",
    "model_info",
    "norm",
    "on_cpu",
    "on_sm90a",
    "paged_kv",
    "per_layer",
    "phantom_data",
    "phase",
    "plain_expert_names",
    "plain_experts",
    "plain_experts_spec",
    "query_scale",
    "relu2",
    "resident",
    "rms_norm",
    "rms_norm_add",
    "rope",
    "rope_angles",
    "rope_tail",
    "route",
    "route_biased",
    "routes",
    "row_order",
    "row_sampling",
    "rows",
    "run",
    "s",
    "sampled",
    "sampled_model",
    "sampled_rows",
    "scale",
    "scratch",
    "segment",
    "sequence_span",
    "sigmoid_gate_add",
    "sigmoid_mul",
    "silu",
    "silu_mul",
    "sink_attention",
    "sliding_attention",
    "snapshot_id",
    "soft_cap",
    "softcap_attention",
    "spans",
    "state",
    "state_error",
    "state_slot",
    "step",
    "step_buffer",
    "step_dims",
    "step_error",
    "storage_format",
    "tensor_check",
    "try_each_layer",
    "turn",
    "vector",
    "w",
    "weights",
];

/// The cache dtype of a layer: `kv_cache_layers` counts the layers that use its mixer.
pub fn cache_dtype(model: &Model, layer: usize) -> CacheDtype {
    let mixer_of = |l: usize| model.kinds[model.pattern[l]].mixer.as_ref();
    let Some((name, mixer)) = mixer_of(layer) else { return CacheDtype::None };
    let Some(kv) = mixer.kv() else { return CacheDtype::None };
    let Some(edges) = kv.edges else { return CacheDtype::Chosen };
    let same: Vec<usize> = (0..model.pattern.len()).filter(|&l| mixer_of(l).is_some_and(|(other, _)| other == name)).collect();
    let at = same.iter().position(|&l| l == layer).expect("the layer uses its own mixer");
    if at < edges.first || at >= same.len() - edges.last { CacheDtype::Fixed(edges.dtype) } else { CacheDtype::Chosen }
}
