//! Nemotron-H: Mamba2, attention without rotation, and experts, each a layer of its own.

use super::deepseek::SIGMOID_EXPERTS;
use super::{Architecture, Bias, DECODER, Experts, FfnKind, Implied, LayerTypes, MixerKind, Names};
use crate::model::Activation;

const SPECULATION: Implied = Implied::Ignored("layers for speculation are not used, and their tensors must be ignored too");

pub(super) const NEMOTRON_H: Architecture = Architecture {
    model_type: "nemotron_h",
    mixers: &[MixerKind::Mamba2, MixerKind::Gqa],
    ffns: &[FfnKind::Mlp, FfnKind::Moe],
    single: true,
    rotates: false,
    qkv_bias: Bias::Fixed(false),
    output_bias: Bias::Fixed(false),
    hidden_act: Activation::Relu2,
    mlp_bias: Bias::Config,
    moe: Some(Experts { gated: false, latent: true, ..SIGMOID_EXPERTS }),
    names: Names::Nemotron,
    layer_types: LayerTypes::Given,
    implied: &[
        ("num_nextn_predict_layers", SPECULATION),
        ("mtp_layers_block_type", SPECULATION),
        ("mtp_hybrid_override_pattern", SPECULATION),
    ],
    ..DECODER
};
