//! `[ffn.<name>]` as written.

#![allow(missing_docs, reason = "fields are the keys of the TOMLs, documented in the reference")]

use crate::source::Spanned;

/// `[ffn.<name>]`
#[derive(Clone, Debug)]
pub enum FfnSpec {
    /// `kind = "gated_mlp"`: down(act(gate(x)) * up(x))
    GatedMlp { intermediate_size: Spanned<u64>, hidden_act: Spanned<Activation>, mlp_bias: Spanned<bool> },
    /// `kind = "mlp"`: down(act(up(x)))
    Mlp { intermediate_size: Spanned<u64>, hidden_act: Spanned<Activation>, mlp_bias: Spanned<bool> },
    /// `kind = "moe"`
    Moe(Box<MoeSpec>),
}

/// `[ffn.<name>]` with `kind = "moe"`: routed experts, and shared ones beside them.
#[derive(Clone, Debug)]
pub struct MoeSpec {
    pub n_routed_experts: Spanned<u64>,
    pub num_experts_per_tok: Spanned<u64>,
    pub moe_intermediate_size: Spanned<u64>,
    pub hidden_act: Spanned<Activation>,
    /// Experts are down(act(gate(x)) * up(x)) (true) or down(act(up(x))) (false).
    pub gated: Spanned<bool>,
    /// Biases on the projections of experts.
    pub expert_bias: Spanned<bool>,
    pub scoring_func: Spanned<ScoringFunc>,
    /// A bias on the router's logits.
    pub router_bias: Spanned<bool>,
    /// A bias on the scores for the choice alone.
    pub e_score_correction_bias: Spanned<bool>,
    pub n_group: Spanned<u64>,
    pub topk_group: Spanned<u64>,
    /// How a group is scored; given exactly where there are several.
    pub group_score: Option<Spanned<GroupScore>>,
    pub norm_topk_prob: Spanned<bool>,
    pub routed_scaling_factor: Spanned<f64>,
    /// Width in which routed experts work, where it is not the model's.
    pub moe_latent_size: Spanned<Option<u64>>,
    pub shared_expert_intermediate_size: Spanned<Option<u64>>,
    /// The shared expert is multiplied by the sigmoid of a projection; given exactly where there is one.
    pub shared_expert_gate: Option<Spanned<bool>>,
    /// Bounds of the clamped swiglu (gpt-oss); `None`: it is not clamped.
    pub swiglu_limit: Spanned<Option<f64>>,
    /// The factor inside its sigmoid; given exactly where there is a limit.
    pub swiglu_alpha: Option<Spanned<f64>>,
}

/// `scoring_func`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoringFunc {
    /// Over all experts.
    Softmax,
    /// Of each expert alone.
    Sigmoid,
}

/// `group_score`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupScore {
    /// The sum of its two best experts (DeepSeek-V3).
    Top2,
    /// Its best expert (DeepSeek-V2).
    Max,
}

/// `hidden_act`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x * sigmoid(x)
    Silu,
    /// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    GeluTanh,
    /// x Phi(x)
    Gelu,
    /// max(x, 0)^2
    Relu2,
}
