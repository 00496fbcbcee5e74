//! Which part of a model an op belongs to.

use crate::architecture::Role;
use crate::program::OpKind;

/// Which part of a model an op belongs to.
pub(super) enum Part {
    Mixer,
    Ffn,
    Rotation(usize),
    Model,
}

pub(super) fn part(kind: &OpKind) -> Part {
    match kind {
        OpKind::RopeAngles { rotary_dim, .. } => Part::Rotation(*rotary_dim),
        OpKind::HeadNorm { .. }
        | OpKind::Rope { .. }
        | OpKind::KvAppend { .. }
        | OpKind::Attention { .. }
        | OpKind::SigmoidMul { .. }
        | OpKind::LatentNorm { .. }
        | OpKind::QueryScale { .. }
        | OpKind::LatentAppend { .. }
        | OpKind::Mla { .. }
        | OpKind::CausalConv { .. }
        | OpKind::Mamba2 { .. }
        | OpKind::GatedGroupNorm { .. }
        | OpKind::Delta { .. }
        | OpKind::GatedHeadNorm { .. } => Part::Mixer,
        OpKind::Act { .. }
        | OpKind::ActMul { .. }
        | OpKind::Route { .. }
        | OpKind::Experts { .. }
        | OpKind::SigmoidGateAdd { .. } => Part::Ffn,
        OpKind::Embedding { .. }
        | OpKind::Scale { .. }
        | OpKind::Add { .. }
        | OpKind::AddScaled { .. }
        | OpKind::GatherLogitRows { .. }
        | OpKind::SoftCap { .. } => Part::Model,
        OpKind::RmsNorm { weight, .. }
        | OpKind::RmsNormAdd { weight, .. }
        | OpKind::Linear { weight, .. }
        | OpKind::AddBias { weight, .. } => part_of_weight(*weight),
    }
}

fn part_of_weight(weight: Role) -> Part {
    match weight {
        Role::PostAttentionLayernorm
        | Role::PreFeedforwardLayernorm
        | Role::PostFeedforwardLayernorm
        | Role::GateProj
        | Role::UpProj
        | Role::DownProj
        | Role::GateBias
        | Role::UpBias
        | Role::DownBias
        | Role::Router
        | Role::RouterBias
        | Role::CorrectionBias
        | Role::Experts
        | Role::SharedGateProj
        | Role::SharedUpProj
        | Role::SharedDownProj
        | Role::SharedExpertGate
        | Role::LatentIn
        | Role::LatentOut => Part::Ffn,
        Role::EmbedTokens | Role::Norm | Role::LmHead => Part::Model,
        _ => Part::Mixer,
    }
}
