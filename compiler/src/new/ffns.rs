//! The feed-forwards of a description.

use super::ask::Ask;
use super::description::{Ffn, Mlp, Moe, Noted};
use super::layers::FfnKind;

const ACTIVATIONS: [&str; 4] = ["silu", "gelu_pytorch_tanh", "gelu", "relu2"];

/// One feed-forward.
pub fn ffn(ask: &Ask<'_>, kind: FfnKind) -> Ffn {
    match kind {
        FfnKind::Dense => Ffn::Mlp(mlp(ask)),
        FfnKind::Sparse => Ffn::Moe(moe(ask)),
    }
}

fn mlp(ask: &Ask<'_>) -> Mlp {
    // Only Nemotron's has no gate.
    let gated = ask.config.model_type() != "nemotron_h";
    Mlp { gated, intermediate_size: ask.int("intermediate_size"), hidden_act: activation(ask), mlp_bias: mlp_bias(ask) }
}

/// Where no class or key speaks of one there is none; a GGUF says it by its tensors.
fn mlp_bias(ask: &Ask<'_>) -> Noted<bool> {
    if ask.get("mlp_bias").is_none() { Noted::sure(false) } else { ask.bool("mlp_bias") }
}

fn activation(ask: &Ask<'_>) -> Noted<&'static str> {
    ask.name("hidden_act", &ACTIVATIONS)
}

fn moe(ask: &Ask<'_>) -> Moe {
    if mlp_bias(ask).value == Some(true) {
        ask.refuse("mlp_bias", "biases beside experts are only supported inside of them");
    }
    let n_group = ask.int("n_group");
    let grouped = n_group.value.is_some_and(|groups| groups > 1);
    let shared = ask.int_or_none("shared_expert_intermediate_size");
    let has_shared = shared.value != Some(None);
    let limit = ask.float_or_none("swiglu_limit");
    let limited = limit.value != Some(None);
    Moe {
        n_routed_experts: ask.int("n_routed_experts"),
        num_experts_per_tok: ask.int("num_experts_per_tok"),
        moe_intermediate_size: ask.int("moe_intermediate_size"),
        hidden_act: activation(ask),
        gated: ask.bool("gated"),
        expert_bias: ask.bool("expert_bias"),
        scoring_func: ask.name("scoring_func", &["softmax", "sigmoid"]),
        router_bias: ask.bool("router_bias"),
        e_score_correction_bias: ask.bool("e_score_correction_bias"),
        topk_group: ask.int("topk_group"),
        group_score: grouped.then(|| ask.name("group_score", &["top2", "max"])),
        n_group,
        norm_topk_prob: ask.bool("norm_topk_prob"),
        routed_scaling_factor: ask.float("routed_scaling_factor"),
        moe_latent_size: ask.int_or_none("moe_latent_size"),
        shared_expert_gate: has_shared.then(|| ask.bool("shared_expert_gate")),
        shared_expert_intermediate_size: shared,
        swiglu_alpha: limited.then(|| ask.float("swiglu_alpha")),
        swiglu_limit: limit,
    }
}
