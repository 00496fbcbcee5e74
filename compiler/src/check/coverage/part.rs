//! Which part of a model an op belongs to.

use crate::program::{OpKind, Part, part_of_weight};

pub(super) fn part(kind: &OpKind) -> Part {
    match kind {
        OpKind::Device(op) => op.part,
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
        | OpKind::Quantise { .. }
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
