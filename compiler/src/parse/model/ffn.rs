//! `[ffn.<name>]`: one feed-forward for all tokens, or experts.

use super::{POSITIVE, is_positive};
use crate::diagnostic::Id;
use crate::parse::{SIZE, SIZE_OR_NONE};
use crate::reader::{Table, Vocabulary};
use crate::spec::{Activation, FfnSpec, GroupScore, MoeSpec, ScoringFunc};

#[derive(Clone, Copy)]
enum Kind {
    GatedMlp,
    Mlp,
    Moe,
}

const FFN_KINDS: Vocabulary<Kind> = Vocabulary {
    names: &[("gated_mlp", Kind::GatedMlp), ("mlp", Kind::Mlp), ("moe", Kind::Moe)],
    not_yet: &[],
    not_yet_id: Id::UnknownValue,
};

const ACTIVATIONS: Vocabulary<Activation> = Vocabulary {
    names: &[
        ("silu", Activation::Silu),
        ("gelu_pytorch_tanh", Activation::GeluTanh),
        ("gelu", Activation::Gelu),
        ("relu2", Activation::Relu2),
    ],
    not_yet: &["gelu_new", "relu", "swish"],
    not_yet_id: Id::UnknownValue,
};

/// Activations that a gate may have: no model of the field gates with relu2, and no kernel does.
const GATES: Vocabulary<Activation> = Vocabulary {
    names: &[("silu", Activation::Silu), ("gelu_pytorch_tanh", Activation::GeluTanh), ("gelu", Activation::Gelu)],
    not_yet: &["gelu_new", "relu", "relu2", "swish"],
    not_yet_id: Id::UnknownValue,
};

const SCORING_FUNCS: Vocabulary<ScoringFunc> = Vocabulary {
    names: &[("softmax", ScoringFunc::Softmax), ("sigmoid", ScoringFunc::Sigmoid)],
    not_yet: &["sqrtsoftplus"],
    not_yet_id: Id::UnknownValue,
};

const GROUP_SCORES: Vocabulary<GroupScore> =
    Vocabulary { names: &[("top2", GroupScore::Top2), ("max", GroupScore::Max)], not_yet: &[], not_yet_id: Id::UnknownValue };

/// Reads one `[ffn.<name>]`.
pub(super) fn read(mut table: Table<'_>) -> Option<FfnSpec> {
    let Some(kind) = table.required("kind").and_then(|v| v.choice(&FFN_KINDS)) else {
        table.abandon();
        return None;
    };
    if matches!(kind.value, Kind::Moe) {
        return moe(table).map(|moe| FfnSpec::Moe(Box::new(moe)));
    }
    let gated = matches!(kind.value, Kind::GatedMlp);
    let intermediate_size = table.required("intermediate_size").and_then(|v| v.integer(SIZE));
    let hidden_act = table.required("hidden_act").and_then(|v| v.choice(activations(gated)));
    let mlp_bias = table.required("mlp_bias").and_then(|v| v.boolean());
    table.finish();
    let (intermediate_size, hidden_act, mlp_bias) = (intermediate_size?, hidden_act?, mlp_bias?);
    Some(match gated {
        true => FfnSpec::GatedMlp { intermediate_size, hidden_act, mlp_bias },
        false => FfnSpec::Mlp { intermediate_size, hidden_act, mlp_bias },
    })
}

fn activations(gated: bool) -> &'static Vocabulary<Activation> {
    if gated { &GATES } else { &ACTIVATIONS }
}

fn moe(mut table: Table<'_>) -> Option<MoeSpec> {
    let n_routed_experts = table.required("n_routed_experts").and_then(|v| v.integer(1..=65_536));
    let num_experts_per_tok = table.required("num_experts_per_tok").and_then(|v| v.integer(SIZE));
    let moe_intermediate_size = table.required("moe_intermediate_size").and_then(|v| v.integer(SIZE));
    let gated = table.required("gated").and_then(|v| v.boolean());
    let is_gated = gated.as_ref().is_none_or(|gated| gated.value);
    let hidden_act = table.required("hidden_act").and_then(|v| v.choice(activations(is_gated)));
    let expert_bias = table.required("expert_bias").and_then(|v| v.boolean());
    let scoring_func = table.required("scoring_func").and_then(|v| v.choice(&SCORING_FUNCS));
    let router_bias = table.required("router_bias").and_then(|v| v.boolean());
    let e_score_correction_bias = table.required("e_score_correction_bias").and_then(|v| v.boolean());
    let n_group = table.required("n_group").and_then(|v| v.integer(SIZE));
    let topk_group = table.required("topk_group").and_then(|v| v.integer(SIZE));
    let group_score = table.optional("group_score").and_then(|v| v.choice(&GROUP_SCORES));
    let norm_topk_prob = table.required("norm_topk_prob").and_then(|v| v.boolean());
    let routed_scaling_factor = table.required("routed_scaling_factor").and_then(|v| v.float(POSITIVE, is_positive));
    let moe_latent_size = table.required("moe_latent_size").and_then(|v| v.or_none(SIZE_OR_NONE, |v| v.integer(SIZE)));
    let shared_expert_intermediate_size =
        table.required("shared_expert_intermediate_size").and_then(|v| v.or_none(SIZE_OR_NONE, |v| v.integer(SIZE)));
    let shared_expert_gate = table.optional("shared_expert_gate").and_then(|v| v.boolean());
    let swiglu_limit = table
        .required("swiglu_limit")
        .and_then(|v| v.or_none("a number, or \"none\" where it is not clamped", |v| v.float(POSITIVE, is_positive)));
    let swiglu_alpha = table.optional("swiglu_alpha").and_then(|v| v.float(POSITIVE, is_positive));
    table.finish();
    Some(MoeSpec {
        n_routed_experts: n_routed_experts?,
        num_experts_per_tok: num_experts_per_tok?,
        moe_intermediate_size: moe_intermediate_size?,
        hidden_act: hidden_act?,
        gated: gated?,
        expert_bias: expert_bias?,
        scoring_func: scoring_func?,
        router_bias: router_bias?,
        e_score_correction_bias: e_score_correction_bias?,
        n_group: n_group?,
        topk_group: topk_group?,
        group_score,
        norm_topk_prob: norm_topk_prob?,
        routed_scaling_factor: routed_scaling_factor?,
        moe_latent_size: moe_latent_size?,
        shared_expert_intermediate_size: shared_expert_intermediate_size?,
        shared_expert_gate,
        swiglu_limit: swiglu_limit?,
        swiglu_alpha,
    })
}
