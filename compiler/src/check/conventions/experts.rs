//! Conventions of experts: what they are, how they are chosen, how they are stored.

use super::{Conventions, UNSTATED};
use crate::architecture::{Experts, Shared};
use crate::diagnostic::{Diagnostic, Id};
use crate::model::ExpertLayout;
use crate::spec::{GroupScore, MoeSpec, ScoringFunc};

impl Conventions<'_> {
    pub(super) fn moe(&self, moe: &MoeSpec, experts: &Experts) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        found.extend(self.fixed("gated", &moe.gated, experts.gated));
        found.extend(self.fixed("expert_bias", &moe.expert_bias, experts.bias));
        let (stated, fixed) = (moe.scoring_func.value.as_str(), experts.scoring_func.as_str());
        found.extend(self.fixed_name("scoring_func", &moe.scoring_func.span, stated, fixed, "the architecture fixes it"));
        found.extend(self.fixed("router_bias", &moe.router_bias, experts.router_bias));
        found.extend(self.fixed("e_score_correction_bias", &moe.e_score_correction_bias, experts.correction_bias));
        match (&moe.group_score, experts.group_score) {
            (Some(stated), Some(fixed)) => {
                found.extend(self.fixed_name("group_score", &stated.span, stated.value.as_str(), fixed.as_str(), UNSTATED));
            }
            (_, None) => found.extend(self.fixed("n_group", &moe.n_group, 1)),
            (None, Some(_)) => {}
        }
        if let Some(fixed) = experts.norm_topk_prob {
            found.extend(self.fixed("norm_topk_prob", &moe.norm_topk_prob, fixed));
        }
        if !experts.scaled {
            found.extend(self.fixed_number("routed_scaling_factor", &moe.routed_scaling_factor, 1.0));
        }
        if !experts.latent && moe.moe_latent_size.value.is_some() {
            let message = format!("experts of a `{}` checkpoint work in the model's width", self.model_type());
            found.push(
                self.mismatch(message, &moe.moe_latent_size.span, "here they have one of their own")
                    .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
                    .help("follow the architecture")
                    .patch(&moe.moe_latent_size.span, "\"none\""),
            );
        }
        found.extend(self.shared(moe, experts));
        found.extend(self.clamp(moe, experts));
        found.extend(self.stored(moe));
        found
    }

    fn shared(&self, moe: &MoeSpec, experts: &Experts) -> Option<Diagnostic> {
        let width = &moe.shared_expert_intermediate_size;
        match (experts.shared, width.value, &moe.shared_expert_gate) {
            (Shared::Never, Some(_), _) => Some(
                self.mismatch(format!("no `{}` checkpoint has a shared expert", self.model_type()), &width.span, "here one is")
                    .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
                    .help("write \"none\", and delete `shared_expert_gate`"),
            ),
            (Shared::Gated, None, _) => Some(
                self.mismatch(
                    format!("every `{}` checkpoint has a shared expert", self.model_type()),
                    &width.span,
                    "here is none",
                )
                .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
                .help("write the width that config.json states"),
            ),
            (Shared::Plain | Shared::Gated, Some(_), Some(gate)) => {
                self.fixed("shared_expert_gate", gate, experts.shared == Shared::Gated)
            }
            // A gate that is missing beside a shared expert has been reported.
            (Shared::Plain | Shared::Gated, Some(_), None) | (Shared::Never | Shared::Plain, None, _) => None,
        }
    }

    fn clamp(&self, moe: &MoeSpec, experts: &Experts) -> Option<Diagnostic> {
        let limit = &moe.swiglu_limit;
        match (limit.value, experts.clamped) {
            (Some(_), false) => Some(
                self.mismatch(format!("no `{}` checkpoint clamps its swiglu", self.model_type()), &limit.span, "here it is")
                    .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
                    .help("write \"none\", and delete `swiglu_alpha`"),
            ),
            (None, true) => Some(
                self.mismatch(
                    format!("every `{}` checkpoint clamps its swiglu", self.model_type()),
                    &limit.span,
                    "here it is not",
                )
                .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
                .help("gpt-oss has swiglu_limit = 7.0 and swiglu_alpha = 1.702"),
            ),
            _ => None,
        }
    }

    /// The layout can hold what the experts are: biases, and no gate.
    fn stored(&self, moe: &MoeSpec) -> Option<Diagnostic> {
        let layout = self.layout();
        let place = match &self.spec.weights.experts {
            Some(stated) => &stated.span,
            None => &self.spec.checkpoint.model_type.span,
        };
        let refuse = |message: &str, label: &str| {
            Diagnostic::new(Id::ArchitectureMismatch, message.to_owned()).label(place, label.to_owned())
        };
        match (layout, moe.gated.value, moe.expert_bias.value) {
            (ExpertLayout::Transposed, false, _) => Some(
                refuse("transposed experts have a gate", "stores gate and up alternating")
                    .context(&moe.gated.span, "these have none"),
            ),
            (ExpertLayout::Transposed, true, false) => Some(
                refuse("transposed experts have biases", "stores biases too").context(&moe.expert_bias.span, "these have none"),
            ),
            (ExpertLayout::Each | ExpertLayout::Stacked, _, true) => Some(
                refuse("experts with biases are known in one layout alone, \"transposed\"", "this one is another")
                    .context(&moe.expert_bias.span, "these have biases")
                    .help("write experts = \"transposed\", or expert_bias = false"),
            ),
            _ => None,
        }
    }
}

impl ScoringFunc {
    /// The spelling in specs and in config.json.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::Sigmoid => "sigmoid",
        }
    }
}

impl GroupScore {
    /// The spelling in specs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Top2 => "top2",
            Self::Max => "max",
        }
    }
}
