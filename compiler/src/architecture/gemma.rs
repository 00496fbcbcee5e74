//! Gemma 2 and 3.

use super::{Architecture, DECODER, Implied, LayerTypes, SoftCaps};
use crate::model::{Activation, CheckpointFormat, NormPlacement};

const GEMMA: Architecture = Architecture {
    rms_norm_unit_offset: true,
    norm: NormPlacement::Sandwich,
    embedding_scale: "sqrt(hidden_size)",
    softmax_scale: "rsqrt(query_pre_attn_scalar)",
    hidden_act: Activation::GeluTanh,
    gguf_adds_one: true,
    layer_types: LayerTypes::Given,
    ..DECODER
};

pub(super) const GEMMA2: Architecture = Architecture {
    model_type: "gemma2",
    soft_caps: SoftCaps::LogitsAndScores,
    sliding_rope_theta: Some("rope_theta"),
    implied: &[("use_bidirectional_attention", Implied::False)],
    ..GEMMA
};

pub(super) const GEMMA3: Architecture = Architecture {
    model_type: "gemma3",
    formats: &[CheckpointFormat::Hf, CheckpointFormat::Gguf],
    soft_caps: SoftCaps::Logits,
    sliding_rope_theta: Some("rope_local_base_freq"),
    qk_norm: true,
    implied: &[
        ("_sliding_window_pattern", Implied::Ignored("layer_types lists the layers one by one")),
        ("sliding_window_pattern", Implied::Ignored("layer_types lists the layers one by one")),
        ("use_bidirectional_attention", Implied::False),
    ],
    ..GEMMA
};
