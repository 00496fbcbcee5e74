//! gpt-oss: attention sinks, biases everywhere, a clamped swiglu.

use super::{Architecture, DECODER, EXPERTS, Experts, FfnKind, LayerTypes, Names};
use crate::model::ExpertLayout;

pub(super) const GPT_OSS: Architecture = Architecture {
    model_type: "gpt_oss",
    ffns: &[FfnKind::Moe],
    sliding_rope_theta: Some("rope_theta"),
    attention_sinks: true,
    // A softmax over the chosen is one over all whose weights are divided by their sum.
    moe: Some(Experts { bias: true, router_bias: true, norm_topk_prob: Some(true), clamped: true, ..EXPERTS }),
    names: Names::GptOss,
    experts: ExpertLayout::Transposed,
    layer_types: LayerTypes::Given,
    mlp_layer_types: true,
    ..DECODER
};
