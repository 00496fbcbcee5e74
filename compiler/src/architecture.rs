//! Conventions of each `model_type`: tensor names, row orders, and what its config implies without saying it.

mod deepseek;
mod gemma;
mod gpt_oss;
mod llama;
mod names;
mod nemotron;
mod qwen;

pub use names::{Names, Naming, Role};

use crate::model::{Activation, CheckpointFormat, ExpertLayout, GroupScore, NormPlacement, ScoringFunc};

/// What a `model_type` fixes for every checkpoint of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Architecture {
    /// `model_type` of config.json, `general.architecture` of a GGUF.
    pub model_type: &'static str,
    /// Formats in which this version knows its checkpoints.
    pub formats: &'static [CheckpointFormat],
    /// Kinds of mixers and of feed-forwards that its layers have.
    pub mixers: &'static [MixerKind],
    /// Kinds of feed-forwards that its layers have.
    pub ffns: &'static [FfnKind],
    /// A layer is a mixer or a feed-forward, and not both (Nemotron-H).
    pub single: bool,
    /// Norm weights count from 1.
    pub rms_norm_unit_offset: bool,
    /// Where norms stand.
    pub norm: NormPlacement,
    /// The expression of the factor on the embedding's rows.
    pub embedding_scale: &'static str,
    /// The expression of the factor on what blocks add, where there is one.
    pub residual_scale: Option<&'static str>,
    /// The expression of the factor before the head, where there is one.
    pub logit_scale: Option<&'static str>,
    /// Which soft caps its config may state.
    pub soft_caps: SoftCaps,
    /// The expression of the softmax scale of grouped-query attention. That of latent attention is the same everywhere.
    pub softmax_scale: &'static str,
    /// Attention rotates queries and keys.
    pub rotates: bool,
    /// Some layers see a window only, and this key of the config states the base of their rotation.
    pub sliding_rope_theta: Option<&'static str>,
    /// Pairs of the rotation are neighbours, in the semantics of Hugging Face transformers; `None` where the config says it
    /// (`rope_interleave`).
    pub rope_interleaved: Option<bool>,
    /// RMS norm over each head of q and k.
    pub qk_norm: bool,
    /// Biases on q, k and v: what config.json's `attention_bias` says, or a fixed value of the class.
    pub qkv_bias: Bias,
    /// A bias on o_proj.
    pub output_bias: Bias,
    /// One learned score per head joins the softmax.
    pub attention_sinks: bool,
    /// q_proj makes a gate beside each query.
    pub attn_output_gate: bool,
    /// The activation of the feed-forward, where a GGUF does not state it.
    pub hidden_act: Activation,
    /// Biases in the feed-forward: what config.json's `mlp_bias` says, or a fixed value of the class.
    pub mlp_bias: Bias,
    /// What its experts are, where it has any.
    pub moe: Option<Experts>,
    /// GGUF stores norm weights with the 1 added (llama.cpp's converter for Gemma).
    pub gguf_adds_one: bool,
    /// GGUF stores query and key rows so that rotary pairs are neighbours (llama.cpp's `permute`).
    pub gguf_permutes_rope: bool,
    /// How tensors are called in Hugging Face's format.
    pub names: Names,
    /// How the experts of a layer are stored there.
    pub experts: ExpertLayout,
    /// The projections of a gated delta net are two tensors instead of four (Qwen3-Next).
    pub fused_delta_net: bool,
    /// Whether the config lists what each layer is.
    pub layer_types: LayerTypes,
    /// Whether the config says which layers have experts, as `mlp_layer_types`.
    pub mlp_layer_types: bool,
    /// Keys of config.json that only repeat what other keys say, with the value they must have.
    pub implied: &'static [(&'static str, Implied)],
}

/// What the experts of a `model_type` are.
#[derive(Clone, Copy, Debug)]
pub struct Experts {
    /// down(act(gate(x)) * up(x)) instead of down(act(up(x))).
    pub gated: bool,
    /// Biases on their projections.
    pub bias: bool,
    /// What logits become.
    pub scoring_func: ScoringFunc,
    /// A bias on the router's logits.
    pub router_bias: bool,
    /// A bias on the scores for the choice alone.
    pub correction_bias: bool,
    /// How a group is scored; `None` where there are no groups.
    pub group_score: Option<GroupScore>,
    /// Whether weights are normalised, where no config says it.
    pub norm_topk_prob: Option<bool>,
    /// The config may scale the weights.
    pub scaled: bool,
    /// Experts may work in a width of their own.
    pub latent: bool,
    /// The expert that sees every token.
    pub shared: Shared,
    /// The swiglu is clamped.
    pub clamped: bool,
}

/// The expert that sees every token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// There is none.
    Never,
    /// The config says its width.
    Plain,
    /// So it does, and a projection gates it.
    Gated,
}

/// The kind of a mixer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the specs")]
pub enum MixerKind {
    Gqa,
    Mla,
    Mamba2,
    GatedDeltaNet,
}

/// The kind of a feed-forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the specs")]
pub enum FfnKind {
    GatedMlp,
    Mlp,
    Moe,
}

/// Which soft caps a config may state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftCaps {
    /// None.
    None,
    /// That of the logits; one on scores stands in the config and is not read (Gemma 3).
    Logits,
    /// That of the logits and that of scores (Gemma 2).
    LogitsAndScores,
}

/// Whether a config lists what each layer is, as `layer_types`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerTypes {
    /// It does not.
    Unread,
    /// It may, and the list says nothing that other keys do not.
    IfGiven,
    /// It does, or a rule of the class makes the list.
    Given,
}

/// Where the presence of a bias is stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// In config.json.
    Config,
    /// The class has it, or not.
    Fixed(bool),
}

/// The value of an implied config key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implied {
    /// Must be absent or null.
    Absent,
    /// Must be false, or absent.
    False,
    /// May be anything because of what other keys say.
    Ignored(&'static str),
}

/// Every architecture that this version compiles.
pub const ARCHITECTURES: [Architecture; 20] = [
    llama::LLAMA,
    llama::MISTRAL,
    qwen::QWEN2,
    qwen::QWEN3,
    qwen::QWEN3_MOE,
    qwen::QWEN3_NEXT,
    // What config.json calls the text part of a model that also sees, and what it calls all of it.
    qwen::QWEN3_5,
    Architecture { model_type: "qwen3_5_text", ..qwen::QWEN3_5 },
    qwen::QWEN3_5_MOE,
    Architecture { model_type: "qwen3_5_moe_text", ..qwen::QWEN3_5_MOE },
    gemma::GEMMA2,
    // A GGUF calls it so too.
    gemma::GEMMA3,
    Architecture { model_type: "gemma3_text", ..gemma::GEMMA3 },
    deepseek::DEEPSEEK_V2,
    deepseek::DEEPSEEK_V3,
    deepseek::GLM4_MOE_LITE,
    deepseek::MISTRAL4,
    deepseek::MINICPM3,
    nemotron::NEMOTRON_H,
    gpt_oss::GPT_OSS,
];

/// The architecture of a `model_type`.
pub fn find(model_type: &str) -> Option<&'static Architecture> {
    ARCHITECTURES.iter().find(|a| a.model_type == model_type)
}

impl Architecture {
    /// How the experts of a layer are stored, where the spec may state it. Mistral's own format has a matrix for each.
    pub fn expert_layout(&self, format: CheckpointFormat, stated: Option<ExpertLayout>) -> ExpertLayout {
        let usual = if format == CheckpointFormat::Mistral { ExpertLayout::Each } else { self.experts };
        stated.unwrap_or(usual)
    }
}

impl MixerKind {
    /// The spelling in specs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gqa => "gqa",
            Self::Mla => "mla",
            Self::Mamba2 => "mamba2",
            Self::GatedDeltaNet => "gated_delta_net",
        }
    }
}

impl FfnKind {
    /// The spelling in specs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GatedMlp => "gated_mlp",
            Self::Mlp => "mlp",
            Self::Moe => "moe",
        }
    }
}

/// What most classes are: attention over all tokens, a gated feed-forward, norms before both, nothing scaled or capped. The base
/// that the others are written against.
const DECODER: Architecture = Architecture {
    model_type: "",
    formats: &[CheckpointFormat::Hf],
    mixers: &[MixerKind::Gqa],
    ffns: &[FfnKind::GatedMlp],
    single: false,
    rms_norm_unit_offset: false,
    norm: NormPlacement::Pre,
    embedding_scale: "1",
    residual_scale: None,
    logit_scale: None,
    soft_caps: SoftCaps::None,
    softmax_scale: "rsqrt(head_dim)",
    rotates: true,
    sliding_rope_theta: None,
    rope_interleaved: Some(false),
    qk_norm: false,
    qkv_bias: Bias::Config,
    output_bias: Bias::Config,
    attention_sinks: false,
    attn_output_gate: false,
    hidden_act: Activation::Silu,
    mlp_bias: Bias::Fixed(false),
    moe: None,
    gguf_adds_one: false,
    gguf_permutes_rope: false,
    names: Names::Llama,
    experts: ExpertLayout::Each,
    fused_delta_net: false,
    layer_types: LayerTypes::Unread,
    mlp_layer_types: false,
    implied: &[],
};

/// Softmax over all experts, which have a gate and no biases; the base that the others are written against.
const EXPERTS: Experts = Experts {
    gated: true,
    bias: false,
    scoring_func: ScoringFunc::Softmax,
    router_bias: false,
    correction_bias: false,
    group_score: None,
    norm_topk_prob: None,
    scaled: false,
    latent: false,
    shared: Shared::Never,
    clamped: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_kinds_agree() {
        for (i, architecture) in ARCHITECTURES.iter().enumerate() {
            let name = architecture.model_type;
            assert!(ARCHITECTURES[..i].iter().all(|other| other.model_type != name), "{name} twice");
            assert_eq!(architecture.moe.is_some(), architecture.ffns.contains(&FfnKind::Moe), "{name}");
            assert!(!architecture.mlp_layer_types || architecture.moe.is_some(), "{name}");
            assert!(find(name).is_some_and(|found| found.model_type == name));
        }
    }

    #[test]
    fn formulas_are_canonical() {
        for architecture in &ARCHITECTURES {
            let formulas = [Some(architecture.embedding_scale), architecture.residual_scale, architecture.logit_scale];
            for formula in formulas.into_iter().flatten().chain([architecture.softmax_scale]) {
                let expr = crate::expr::Expr::parse(formula).expect("a formula");
                assert_eq!(expr.to_string(), formula, "{}", architecture.model_type);
            }
        }
    }
}
