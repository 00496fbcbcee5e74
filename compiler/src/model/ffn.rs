//! Feed-forwards of a checked model.

use super::{Activation, GroupScore, ScoringFunc};

/// What transforms each token alone.
#[derive(Clone, Debug)]
pub enum Ffn {
    /// down(act(gate(x)) * up(x))
    GatedMlp {
        /// Width between.
        intermediate_size: usize,
        /// The activation.
        act: Activation,
        /// Biases on all three.
        bias: bool,
    },
    /// down(act(up(x)))
    Mlp {
        /// Width between.
        intermediate_size: usize,
        /// The activation.
        act: Activation,
        /// Biases on both.
        bias: bool,
    },
    /// Routed experts, and shared ones beside them.
    Moe(Moe),
}

/// Routed experts, and shared ones beside them.
#[derive(Clone, Copy, Debug)]
pub struct Moe {
    /// Routed experts.
    pub experts: usize,
    /// Experts of a token.
    pub top_k: usize,
    /// Width inside an expert.
    pub intermediate_size: usize,
    /// The activation.
    pub act: Activation,
    /// Experts are down(act(gate(x)) * up(x)) instead of down(act(up(x))).
    pub gated: bool,
    /// Biases on the projections of experts.
    pub expert_bias: bool,
    /// The choice of experts.
    pub router: Router,
    /// Width in which routed experts work, where it is not the model's.
    pub latent: Option<usize>,
    /// The shared expert.
    pub shared: Option<SharedExpert>,
    /// Bounds of a clamped swiglu.
    pub clamp: Option<Clamp>,
}

/// How experts are chosen and weighed.
#[derive(Clone, Copy, Debug)]
pub struct Router {
    /// What logits become.
    pub scoring: ScoringFunc,
    /// A bias on the logits.
    pub bias: bool,
    /// A bias on the scores for the choice alone.
    pub correction_bias: bool,
    /// Groups of experts; divides their number.
    pub groups: usize,
    /// Groups that are chosen first.
    pub top_groups: usize,
    /// How a group is scored; only where there are several.
    pub group_score: GroupScore,
    /// Weights are divided by their sum.
    pub normalise: bool,
    /// And then multiplied by this.
    pub scaling: f64,
}

/// The expert that sees every token.
#[derive(Clone, Copy, Debug)]
pub struct SharedExpert {
    /// Its width inside.
    pub intermediate_size: usize,
    /// It is multiplied by the sigmoid of a projection.
    pub gate: bool,
}

/// `(up + 1) * gate * sigmoid(alpha gate)` with gate at most `limit` and up within it.
#[derive(Clone, Copy, Debug)]
pub struct Clamp {
    /// The bound.
    pub limit: f64,
    /// The factor inside the sigmoid.
    pub alpha: f64,
}
