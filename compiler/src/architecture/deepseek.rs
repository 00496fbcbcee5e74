//! Latent attention: DeepSeek and those who took it over.

use super::{Architecture, Bias, DECODER, EXPERTS, Experts, FfnKind, Implied, MixerKind, Shared};
use crate::model::{CheckpointFormat, ExpertLayout, GroupScore, ScoringFunc};

const SPECULATION: (&str, Implied) =
    ("num_nextn_predict_layers", Implied::Ignored("layers for speculation are not used, and their tensors must be ignored too"));

/// Neighbours are rotated unless the config says otherwise; experts follow a few dense layers.
const LATENT: Architecture = Architecture {
    mixers: &[MixerKind::Mla],
    ffns: &[FfnKind::GatedMlp, FfnKind::Moe],
    rope_interleaved: None,
    mlp_layer_types: true,
    implied: &[SPECULATION],
    ..DECODER
};

const LATENT_EXPERTS: Experts = Experts { scaled: true, shared: Shared::Plain, ..EXPERTS };

pub(super) const DEEPSEEK_V2: Architecture = Architecture {
    model_type: "deepseek_v2",
    rope_interleaved: Some(true),
    mlp_bias: Bias::Config,
    // The reference never divides the weights by their sum, whatever `norm_topk_prob` says.
    moe: Some(Experts { group_score: Some(GroupScore::Max), norm_topk_prob: Some(false), ..LATENT_EXPERTS }),
    ..LATENT
};

/// The router of DeepSeek-V3: sigmoid, a bias for the choice, groups by their two best.
pub(super) const SIGMOID_EXPERTS: Experts =
    Experts { scoring_func: ScoringFunc::Sigmoid, correction_bias: true, group_score: Some(GroupScore::Top2), ..LATENT_EXPERTS };

pub(super) const DEEPSEEK_V3: Architecture = Architecture { model_type: "deepseek_v3", moe: Some(SIGMOID_EXPERTS), ..LATENT };

pub(super) const GLM4_MOE_LITE: Architecture = Architecture { model_type: "glm4_moe_lite", moe: Some(SIGMOID_EXPERTS), ..LATENT };

pub(super) const MISTRAL4: Architecture = Architecture {
    model_type: "mistral4",
    formats: &[CheckpointFormat::Hf, CheckpointFormat::Mistral],
    moe: Some(Experts { group_score: Some(GroupScore::Top2), ..LATENT_EXPERTS }),
    experts: ExpertLayout::Stacked,
    ..LATENT
};

/// Halves are rotated here, and three factors of the config scale embedding, residual and head.
pub(super) const MINICPM3: Architecture = Architecture {
    model_type: "minicpm3",
    ffns: &[FfnKind::GatedMlp],
    rope_interleaved: Some(false),
    embedding_scale: "scale_emb",
    residual_scale: Some("scale_depth * rsqrt(num_hidden_layers)"),
    logit_scale: Some("dim_model_base / hidden_size"),
    mlp_bias: Bias::Config,
    mlp_layer_types: false,
    implied: &[],
    ..LATENT
};
