//! Qwen 2 to 3.5.

use super::{Architecture, Bias, DECODER, EXPERTS, Experts, FfnKind, Implied, LayerTypes, MixerKind, Names, Shared};
use crate::model::CheckpointFormat;

/// Windows of Qwen are off unless they are turned on, and this version has no checkpoint that does.
const NO_WINDOW: &[(&str, Implied)] = &[
    ("use_sliding_window", Implied::False),
    ("sliding_window", Implied::Absent),
    ("max_window_layers", Implied::Ignored("read only where use_sliding_window is true")),
];

const QWEN: Architecture = Architecture {
    formats: &[CheckpointFormat::Hf, CheckpointFormat::Gguf],
    layer_types: LayerTypes::IfGiven,
    implied: NO_WINDOW,
    ..DECODER
};

pub(super) const QWEN2: Architecture =
    Architecture { model_type: "qwen2", qkv_bias: Bias::Fixed(true), output_bias: Bias::Fixed(false), ..QWEN };

pub(super) const QWEN3: Architecture = Architecture { model_type: "qwen3", qk_norm: true, ..QWEN };

pub(super) const QWEN3_MOE: Architecture = Architecture {
    model_type: "qwen3_moe",
    formats: &[CheckpointFormat::Hf],
    ffns: &[FfnKind::GatedMlp, FfnKind::Moe],
    moe: Some(EXPERTS),
    names: Names::Qwen,
    mlp_layer_types: true,
    ..QWEN3
};

/// Gated delta nets between layers of gated attention; norm weights count from 1, but for that of the delta net's output.
const HYBRID: Architecture = Architecture {
    mixers: &[MixerKind::GatedDeltaNet, MixerKind::Gqa],
    rms_norm_unit_offset: true,
    qk_norm: true,
    attn_output_gate: true,
    names: Names::Qwen,
    layer_types: LayerTypes::Given,
    ..DECODER
};

const HYBRID_EXPERTS: Experts = Experts { shared: Shared::Gated, ..EXPERTS };

pub(super) const QWEN3_NEXT: Architecture = Architecture {
    model_type: "qwen3_next",
    ffns: &[FfnKind::GatedMlp, FfnKind::Moe],
    moe: Some(HYBRID_EXPERTS),
    fused_delta_net: true,
    mlp_layer_types: true,
    ..HYBRID
};

pub(super) const QWEN3_5: Architecture = Architecture { model_type: "qwen3_5", ..HYBRID };

pub(super) const QWEN3_5_MOE: Architecture = Architecture {
    model_type: "qwen3_5_moe",
    ffns: &[FfnKind::Moe],
    moe: Some(Experts { norm_topk_prob: Some(true), ..HYBRID_EXPERTS }),
    mlp_layer_types: true,
    ..HYBRID
};
