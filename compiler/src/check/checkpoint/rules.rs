//! The rules that connect the tensors of a checkpoint with the keys of a spec: which keys a shape follows from, and which key asks for
//! a tensor.

use crate::architecture::Role;
use crate::lower;
use crate::model::{ExpertLayout, Ffn, Mixer, Model};
use crate::program::{ExpertDims, Tensor, TensorShape};

const Q: &str = "num_attention_heads * head_dim";
const Q_AND_GATE: &str = "2 * num_attention_heads * head_dim";
const KV: &str = "num_key_value_heads * head_dim";
const LATENT_Q: &str = "num_attention_heads * (qk_nope_head_dim + qk_rope_head_dim)";
const LATENT_O: &str = "num_attention_heads * v_head_dim";
const LATENT_UP: &str = "num_attention_heads * (qk_nope_head_dim + v_head_dim)";
const MAMBA_INNER: &str = "mamba_num_heads * mamba_head_dim";
const MAMBA_CONV: &str = "mamba_num_heads * mamba_head_dim + 2 * n_groups * ssm_state_size";
const MAMBA_IN: &str = "2 * mamba_num_heads * mamba_head_dim + 2 * n_groups * ssm_state_size + mamba_num_heads";
const DELTA_VALUES: &str = "linear_num_value_heads * linear_value_head_dim";
const DELTA_QKV: &str = "2 * linear_num_key_heads * linear_key_head_dim + linear_num_value_heads * linear_value_head_dim";
const DELTA_QKVZ: &str = "2 * linear_num_key_heads * linear_key_head_dim + 2 * linear_num_value_heads * linear_value_head_dim";

const EXPERTS: &str = "n_routed_experts";
const INNER: &str = "moe_intermediate_size";
const TWICE_INNER: &str = "2 * moe_intermediate_size";

/// The axes of a tensor, each an expression over keys of the spec. Experts have several names, of which this is one.
pub fn axes(model: &Model, tensor: &Tensor, name: &str) -> &'static [&'static str] {
    let kind = tensor.kind.map(|kind| &model.kinds[kind]);
    let mixer = kind.and_then(|kind| kind.mixer.as_ref()).map(|(_, mixer)| mixer);
    let latent_experts = matches!(kind.and_then(|kind| kind.ffn.as_ref()), Some((_, Ffn::Moe(moe))) if moe.latent.is_some());
    let index = tensor.names.iter().position(|other| other == name).unwrap_or_default();
    let fused = lower::naming(model).fused_delta_net;
    match tensor.shape {
        TensorShape::GatedExperts(dims) => of_experts(dims, true, latent_experts, index),
        TensorShape::PlainExperts(dims) => of_experts(dims, false, latent_experts, index),
        _ => of_role(tensor.role, mixer, fused),
    }
}

fn of_role(role: Role, mixer: Option<&Mixer>, fused: bool) -> &'static [&'static str] {
    let latent = matches!(mixer, Some(Mixer::Mla(_)));
    let delta = matches!(mixer, Some(Mixer::GatedDeltaNet(_)));
    let gated = matches!(mixer, Some(Mixer::Gqa(gqa)) if gqa.output_gate);
    match role {
        Role::EmbedTokens | Role::LmHead => &["vocab_size", "hidden_size"],
        Role::QProj if latent => &[LATENT_Q, "hidden_size"],
        Role::QProj | Role::QGate if gated => &[Q_AND_GATE, "hidden_size"],
        Role::QProj | Role::QGate => &[Q, "hidden_size"],
        Role::KProj | Role::VProj => &[KV, "hidden_size"],
        Role::OProj if latent => &["hidden_size", LATENT_O],
        Role::OProj => &["hidden_size", Q],
        Role::QBias | Role::QGateBias if gated => &[Q_AND_GATE],
        Role::QBias | Role::QGateBias => &[Q],
        Role::KBias | Role::VBias => &[KV],
        Role::QNorm | Role::KNorm => &["head_dim"],
        Role::Sinks => &["num_attention_heads"],
        Role::QAProj => &["q_lora_rank", "hidden_size"],
        Role::QABias | Role::QALayernorm => &["q_lora_rank"],
        Role::QBProj => &[LATENT_Q, "q_lora_rank"],
        Role::KvAProj => &["kv_lora_rank + qk_rope_head_dim", "hidden_size"],
        Role::KvABias => &["kv_lora_rank + qk_rope_head_dim"],
        Role::KvALayernorm => &["kv_lora_rank"],
        Role::KvBProj => &[LATENT_UP, "kv_lora_rank"],
        Role::InProjZ | Role::InProjXbc | Role::InProjDt => &[MAMBA_IN, "hidden_size"],
        Role::InBiasZ | Role::InBiasXbc | Role::InBiasDt => &[MAMBA_IN],
        Role::DeltaQkv | Role::DeltaZ if fused => &[DELTA_QKVZ, "hidden_size"],
        Role::DeltaB | Role::DeltaA if fused => &["2 * linear_num_value_heads", "hidden_size"],
        Role::DeltaQkv => &[DELTA_QKV, "hidden_size"],
        Role::DeltaZ => &[DELTA_VALUES, "hidden_size"],
        Role::DeltaB | Role::DeltaA => &["linear_num_value_heads", "hidden_size"],
        Role::Conv1d if delta => &[DELTA_QKV, "1", "linear_conv_kernel_dim"],
        Role::Conv1d => &[MAMBA_CONV, "1", "conv_kernel"],
        Role::Conv1dBias => &[MAMBA_CONV],
        Role::ALog | Role::DtBias if delta => &["linear_num_value_heads"],
        Role::ALog | Role::D | Role::DtBias => &["mamba_num_heads"],
        Role::GatedNorm if delta => &["linear_value_head_dim"],
        Role::GatedNorm => &[MAMBA_INNER],
        Role::OutProj if delta => &["hidden_size", DELTA_VALUES],
        Role::OutProj => &["hidden_size", MAMBA_INNER],
        Role::GateProj | Role::UpProj => &["intermediate_size", "hidden_size"],
        Role::DownProj => &["hidden_size", "intermediate_size"],
        Role::GateBias | Role::UpBias => &["intermediate_size"],
        Role::Router => &["n_routed_experts", "hidden_size"],
        Role::RouterBias | Role::CorrectionBias => &["n_routed_experts"],
        Role::SharedGateProj | Role::SharedUpProj => &["shared_expert_intermediate_size", "hidden_size"],
        Role::SharedDownProj => &["hidden_size", "shared_expert_intermediate_size"],
        Role::SharedExpertGate => &["1", "hidden_size"],
        Role::LatentIn => &["moe_latent_size", "hidden_size"],
        Role::LatentOut => &["hidden_size", "moe_latent_size"],
        Role::Experts => &[],
        Role::OBias
        | Role::OutBias
        | Role::DownBias
        | Role::InputLayernorm
        | Role::LayerNorm
        | Role::PostAttentionLayernorm
        | Role::PostAttentionNorm
        | Role::PreFeedforwardLayernorm
        | Role::PostFeedforwardLayernorm
        | Role::Norm => &["hidden_size"],
    }
}

/// The axes of the tensor of experts that stands at `index` among their names.
fn of_experts(dims: ExpertDims, gated: bool, latent: bool, index: usize) -> &'static [&'static str] {
    let is_down = index == if gated { 2 } else { 1 };
    match (dims.layout, latent) {
        (ExpertLayout::Each, false) if is_down => &["hidden_size", INNER],
        (ExpertLayout::Each, false) => &[INNER, "hidden_size"],
        (ExpertLayout::Each, true) if is_down => &["moe_latent_size", INNER],
        (ExpertLayout::Each, true) => &[INNER, "moe_latent_size"],
        (ExpertLayout::Stacked, false) => match (index, gated) {
            (0, true) => &[EXPERTS, TWICE_INNER, "hidden_size"],
            (0, false) => &[EXPERTS, INNER, "hidden_size"],
            _ => &[EXPERTS, "hidden_size", INNER],
        },
        (ExpertLayout::Stacked, true) => match (index, gated) {
            (0, true) => &[EXPERTS, TWICE_INNER, "moe_latent_size"],
            (0, false) => &[EXPERTS, INNER, "moe_latent_size"],
            _ => &[EXPERTS, "moe_latent_size", INNER],
        },
        // In the order of their names: gate_up, its bias, down, its bias.
        (ExpertLayout::Transposed, _) => match index {
            0 => &[EXPERTS, "hidden_size", TWICE_INNER],
            1 => &[EXPERTS, TWICE_INNER],
            2 => &[EXPERTS, INNER, "hidden_size"],
            _ => &[EXPERTS, "hidden_size"],
        },
    }
}

/// Tensors that a checkpoint has where a key of its spec asks for them.
pub const ASKED: [(Role, &str); 31] = [
    (Role::QBias, "attention_bias"),
    (Role::KBias, "attention_bias"),
    (Role::VBias, "attention_bias"),
    (Role::QGateBias, "attention_bias"),
    (Role::QABias, "attention_bias"),
    (Role::KvABias, "attention_bias"),
    (Role::OBias, "attention_output_bias"),
    // Of latent attention, one key says both.
    (Role::OBias, "attention_bias"),
    (Role::QNorm, "qk_norm"),
    (Role::KNorm, "qk_norm"),
    (Role::Sinks, "attention_sinks"),
    (Role::QAProj, "q_lora_rank"),
    (Role::QALayernorm, "q_lora_rank"),
    (Role::QBProj, "q_lora_rank"),
    (Role::InBiasZ, "use_bias"),
    (Role::InBiasXbc, "use_bias"),
    (Role::InBiasDt, "use_bias"),
    (Role::OutBias, "use_bias"),
    (Role::Conv1dBias, "use_conv_bias"),
    (Role::GateBias, "mlp_bias"),
    (Role::UpBias, "mlp_bias"),
    (Role::DownBias, "mlp_bias"),
    (Role::RouterBias, "router_bias"),
    (Role::CorrectionBias, "e_score_correction_bias"),
    (Role::SharedExpertGate, "shared_expert_gate"),
    (Role::SharedGateProj, "shared_expert_intermediate_size"),
    (Role::SharedUpProj, "shared_expert_intermediate_size"),
    (Role::SharedDownProj, "shared_expert_intermediate_size"),
    (Role::LatentIn, "moe_latent_size"),
    (Role::LatentOut, "moe_latent_size"),
    (Role::LmHead, "tie_word_embeddings"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Expr;
    use crate::source::SourceMap;

    /// The value that a key has in the text of a spec. Tables of one spec agree about it, as far as a tensor is concerned.
    fn value(text: &str, key: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
        line.trim().parse().ok()
    }

    /// Every rule gives the shape that the loader asks for: a rule of another shape would send its reader to the wrong key.
    #[test]
    fn rules_give_the_shapes_that_are_asked_for() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for specs in ["tests/golden", "tests/ui/base/model-specs"] {
            let templates = if specs.ends_with("golden") { "kernel-templates" } else { "tests/ui/base/kernel-templates" };
            let sources: SourceMap = crate::driver::read(root, specs, templates).unwrap();
            let models = crate::models(&sources).unwrap_or_else(|d| panic!("{}", d.render(&sources, Default::default(), false)));
            for model in models {
                let path = format!("{}/MODEL.toml", model.folder);
                let text = &sources.files().find(|(_, file)| file.path == path).unwrap().1.text;
                for tensor in lower::tensors(&model).iter().filter(|tensor| !tensor.shared) {
                    for (name, shape) in super::super::expect::shapes(tensor) {
                        let rules = axes(&model, tensor, name);
                        let eval = |rule: &&str| Expr::parse(rule).unwrap().eval_u64(&|key: &str| value(text, key)).unwrap();
                        let given: Vec<usize> = rules.iter().map(|rule| eval(rule) as usize).collect();
                        assert_eq!(given, shape, "{}: {name}: {rules:?}", model.name);
                        seen.insert(tensor.role.field());
                    }
                }
            }
        }
        assert!(seen.len() > 45, "{} roles", seen.len());
    }
}
