//! Llama, and Mistral before its latent attention.

use super::{Architecture, Bias, DECODER, LayerTypes};
use crate::model::CheckpointFormat;

pub(super) const LLAMA: Architecture = Architecture {
    model_type: "llama",
    formats: &[CheckpointFormat::Hf, CheckpointFormat::Gguf],
    mlp_bias: Bias::Config,
    gguf_permutes_rope: true,
    layer_types: LayerTypes::IfGiven,
    ..DECODER
};

/// A GGUF of one calls itself `llama`.
pub(super) const MISTRAL: Architecture = Architecture {
    model_type: "mistral",
    qkv_bias: Bias::Fixed(false),
    output_bias: Bias::Fixed(false),
    // All layers have the window of `sliding_window`, or none has.
    sliding_rope_theta: Some("rope_theta"),
    layer_types: LayerTypes::Given,
    ..DECODER
};
