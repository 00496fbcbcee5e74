//! Feed-forwards: how experts are chosen, and what belongs together.

use super::{divisors, size};
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::{Clamp, Ffn, Moe, Router, SharedExpert};
use crate::source::Spanned;
use crate::spec::{Activation, FfnSpec, GroupScore, MoeSpec};

/// Checks a feed-forward; `name` is that of its table.
pub fn ffn(name: &Spanned<String>, spec: &FfnSpec, diags: &mut Diagnostics) -> Option<Ffn> {
    match spec {
        FfnSpec::GatedMlp { intermediate_size, hidden_act, mlp_bias } => {
            Some(Ffn::GatedMlp { intermediate_size: size(intermediate_size), act: **hidden_act, bias: **mlp_bias })
        }
        FfnSpec::Mlp { intermediate_size, hidden_act, mlp_bias } => {
            Some(Ffn::Mlp { intermediate_size: size(intermediate_size), act: **hidden_act, bias: **mlp_bias })
        }
        FfnSpec::Moe(moe) => self::moe(name, moe, diags).map(Ffn::Moe),
    }
}

fn moe(name: &Spanned<String>, moe: &MoeSpec, diags: &mut Diagnostics) -> Option<Moe> {
    let before = diags.len();
    let router = router(name, moe, diags);
    let shared = shared(name, moe, diags);
    let clamp = clamp(name, moe, diags);
    if diags.len() != before {
        return None;
    }
    Some(Moe {
        experts: size(&moe.n_routed_experts),
        top_k: size(&moe.num_experts_per_tok),
        intermediate_size: size(&moe.moe_intermediate_size),
        act: *moe.hidden_act,
        gated: *moe.gated,
        expert_bias: *moe.expert_bias,
        router: router?,
        latent: moe.moe_latent_size.value.as_ref().map(size),
        shared: shared?,
        clamp: clamp?,
    })
}

/// Groups are equal, and a token's experts fit into the groups that are chosen first.
fn router(name: &Spanned<String>, moe: &MoeSpec, diags: &mut Diagnostics) -> Option<Router> {
    let (experts, top_k) = (&moe.n_routed_experts, &moe.num_experts_per_tok);
    let (groups, top_groups) = (&moe.n_group, &moe.topk_group);
    let before = diags.len();
    if top_k.value > experts.value {
        diags.push(
            wrong("a token takes more experts than there are")
                .label(&top_k.span, format!("{} experts of each token", top_k.value))
                .context(&experts.span, format!("{} experts", experts.value))
                .help(format!("a token can take 1 to {} of them; the two may be swapped", experts.value)),
        );
    }
    if !experts.value.is_multiple_of(groups.value) {
        let legal = divisors(experts.value);
        let below = legal.iter().rev().find(|d| **d < groups.value);
        let above = legal.iter().find(|d| **d > groups.value);
        let legal: Vec<String> = below.into_iter().chain(above).map(u64::to_string).collect();
        diags.push(
            wrong(&format!("{} experts cannot form {} groups evenly", experts.value, groups.value))
                .label(&groups.span, format!("{} / {} is not whole", experts.value, groups.value))
                .context(&experts.span, format!("{} experts", experts.value))
                .help(format!("{} experts can form {} groups", experts.value, legal.join(" or "))),
        );
    }
    if top_groups.value > groups.value {
        diags.push(
            wrong("more groups are chosen than there are")
                .label(&top_groups.span, format!("{} groups are chosen", top_groups.value))
                .context(&groups.span, format!("{} groups", groups.value))
                .help(format!("1 to {} can be chosen; the two may be swapped", groups.value)),
        );
    }
    let group_score = group_score(name, moe, diags);
    if diags.len() != before {
        return None;
    }
    let chosen = experts.value / groups.value * top_groups.value;
    if top_k.value > chosen {
        let each = experts.value / groups.value;
        diags.push(
            wrong("a token takes more experts than the chosen groups have")
                .label(&top_k.span, format!("{} experts of each token", top_k.value))
                .context(&top_groups.span, format!("{} groups of {each} experts: {chosen}", top_groups.value))
                .help("choose more groups, or fewer experts"),
        );
        return None;
    }
    Some(Router {
        scoring: moe.scoring_func.value,
        bias: moe.router_bias.value,
        correction_bias: moe.e_score_correction_bias.value,
        groups: size(groups),
        top_groups: size(top_groups),
        group_score: group_score?,
        normalise: moe.norm_topk_prob.value,
        scaling: moe.routed_scaling_factor.value,
    })
}

/// How a group is scored, which is said exactly where there are several.
fn group_score(name: &Spanned<String>, moe: &MoeSpec, diags: &mut Diagnostics) -> Option<GroupScore> {
    let groups = &moe.n_group;
    match (&moe.group_score, groups.value > 1) {
        (None, true) => {
            let help = "\"top2\" sums a group's two best experts (DeepSeek-V3), \"max\" takes its best (DeepSeek-V2)";
            diags.push(missing(name, "group_score", groups, &format!("{} groups are scored", groups.value)).help(help));
            None
        }
        (Some(score), false) => {
            diags.push(needless("group_score", score, groups, "one group is not chosen among others"));
            None
        }
        (Some(score), true) => {
            let each = moe.n_routed_experts.value / groups.value;
            if score.value == GroupScore::Top2 && each < 2 {
                diags.push(
                    wrong("a group of one expert has no two best")
                        .label(&score.span, "sums the two best of each group")
                        .context(&groups.span, format!("{} experts, one for each group", moe.n_routed_experts.value))
                        .help("write fewer groups, or \"max\""),
                );
                return None;
            }
            Some(score.value)
        }
        // With one group nothing asks.
        (None, false) => Some(GroupScore::Max),
    }
}

/// The shared expert: its gate is said exactly where there is one.
fn shared(name: &Spanned<String>, moe: &MoeSpec, diags: &mut Diagnostics) -> Option<Option<SharedExpert>> {
    let width = &moe.shared_expert_intermediate_size;
    match (&width.value, &moe.shared_expert_gate) {
        (Some(_), None) => {
            let help = "true where the checkpoint has tensors shared_expert_gate (Qwen), else false";
            diags.push(missing(name, "shared_expert_gate", width, "there is a shared expert").help(help));
            None
        }
        (None, Some(gate)) => {
            diags.push(needless("shared_expert_gate", gate, width, "no expert is shared"));
            None
        }
        (Some(width), Some(gate)) => Some(Some(SharedExpert { intermediate_size: size(width), gate: gate.value })),
        (None, None) => Some(None),
    }
}

/// A clamped swiglu is a gate with silu whose factor is stated with the limit.
fn clamp(name: &Spanned<String>, moe: &MoeSpec, diags: &mut Diagnostics) -> Option<Option<Clamp>> {
    let limit = &moe.swiglu_limit;
    let (bound, alpha) = match (limit.value, &moe.swiglu_alpha) {
        (Some(_), None) => {
            let help = "gpt-oss has 1.702, in its code";
            diags.push(missing(name, "swiglu_alpha", limit, "the swiglu is clamped").help(help));
            return None;
        }
        (None, Some(alpha)) => {
            diags.push(needless("swiglu_alpha", alpha, limit, "the swiglu is not clamped"));
            return None;
        }
        (None, None) => return Some(None),
        (Some(bound), Some(alpha)) => (bound, alpha.value),
    };
    let refuse = |why: &str, place: &crate::source::Span| {
        wrong("these experts cannot be clamped").label(&limit.span, "bounds a gate with silu").context(place, why)
    };
    let help = "write swiglu_limit = \"none\" where the model's code does not clamp";
    if !moe.gated.value {
        diags.push(refuse("they have no gate", &moe.gated.span).help(help));
        return None;
    }
    if moe.hidden_act.value != Activation::Silu {
        diags.push(refuse("their gate is another one", &moe.hidden_act.span).help(help));
        return None;
    }
    if moe.shared_expert_intermediate_size.value.is_some() {
        let why = "no kernel clamps the shared expert beside them";
        diags.push(refuse(why, &moe.shared_expert_intermediate_size.span).help(help));
        return None;
    }
    Some(Some(Clamp { limit: bound, alpha }))
}

fn wrong(message: &str) -> Diagnostic {
    Diagnostic::new(Id::ValueOutOfRange, message.to_owned())
}

/// A key that another one asks for.
fn missing<T>(name: &Spanned<String>, key: &str, because: &Spanned<T>, why: &str) -> Diagnostic {
    Diagnostic::new(Id::MissingKey, format!("`{key}` is missing"))
        .label(&name.span, format!("`[ffn.{}]` needs it", name.value))
        .context(&because.span, why)
}

/// A key that another one leaves without meaning.
fn needless<T, U>(key: &str, stated: &Spanned<T>, because: &Spanned<U>, why: &str) -> Diagnostic {
    Diagnostic::new(Id::UnknownKey, format!("`{key}` means nothing here"))
        .label(&stated.key, "nothing reads this")
        .context(&because.span, why)
        .help("delete the line")
}
