//! Conventions of each `model_type`: tensor names, row orders, and what its config implies without saying it.

use crate::model::{Activation, CheckpointFormat, NormPlacement};

/// What a `model_type` fixes for every checkpoint of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Architecture {
    /// `model_type` of config.json, `general.architecture` of a GGUF.
    pub model_type: &'static str,
    /// Norm weights count from 1.
    pub rms_norm_unit_offset: bool,
    /// Where norms stand.
    pub norm: NormPlacement,
    /// The expression of the factor on the embedding's rows.
    pub embedding_scale: &'static str,
    /// The expression of the softmax scale.
    pub softmax_scale: &'static str,
    /// Some layers see a window only, and this key of the config states the base of their rotation.
    pub sliding_rope_theta: Option<&'static str>,
    /// The activation of the feed-forward, where a GGUF does not state it.
    pub hidden_act: Activation,
    /// GGUF stores norm weights with the 1 added (llama.cpp's converter for Gemma).
    pub gguf_adds_one: bool,
    /// Pairs of the rotation are neighbours, in the semantics of Hugging Face transformers.
    pub rope_interleaved: bool,
    /// RMS norm over each head of q and k.
    pub qk_norm: bool,
    /// Biases on q, k and v: what config.json's `attention_bias` says, or a fixed value of the class.
    pub qkv_bias: Bias,
    /// A bias on o_proj.
    pub output_bias: Bias,
    /// Biases in the feed-forward: what config.json's `mlp_bias` says, or a fixed value of the class.
    pub mlp_bias: Bias,
    /// GGUF stores query and key rows so that rotary pairs are neighbours (llama.cpp's `permute`).
    pub gguf_permutes_rope: bool,
    /// Keys of config.json that only repeat what other keys say, with the value they must have.
    pub implied: &'static [(&'static str, Implied)],
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
    /// A list of `full_attention` and `sliding_attention`, one per layer, where it is given.
    LayerTypes,
}

/// Every architecture that this version compiles.
pub const ARCHITECTURES: [Architecture; 4] = [
    Architecture {
        model_type: "llama",
        rms_norm_unit_offset: false,
        norm: NormPlacement::Pre,
        embedding_scale: "1",
        softmax_scale: "rsqrt(head_dim)",
        sliding_rope_theta: None,
        hidden_act: Activation::Silu,
        gguf_adds_one: false,
        rope_interleaved: false,
        qk_norm: false,
        qkv_bias: Bias::Config,
        output_bias: Bias::Config,
        mlp_bias: Bias::Config,
        gguf_permutes_rope: true,
        implied: &[],
    },
    Architecture {
        model_type: "qwen3",
        rms_norm_unit_offset: false,
        norm: NormPlacement::Pre,
        embedding_scale: "1",
        softmax_scale: "rsqrt(head_dim)",
        sliding_rope_theta: None,
        hidden_act: Activation::Silu,
        gguf_adds_one: false,
        rope_interleaved: false,
        qk_norm: true,
        qkv_bias: Bias::Config,
        output_bias: Bias::Config,
        mlp_bias: Bias::Fixed(false),
        gguf_permutes_rope: false,
        implied: &[
            ("use_sliding_window", Implied::False),
            ("sliding_window", Implied::Absent),
            ("layer_types", Implied::LayerTypes),
            ("max_window_layers", Implied::Ignored("read only where use_sliding_window is true")),
        ],
    },
    // What config.json calls the text part of Gemma 3, and what a GGUF calls all of it.
    Architecture { model_type: "gemma3_text", ..GEMMA3 },
    GEMMA3,
];

const GEMMA3: Architecture = Architecture {
    model_type: "gemma3",
    rms_norm_unit_offset: true,
    norm: NormPlacement::Sandwich,
    embedding_scale: "sqrt(hidden_size)",
    softmax_scale: "rsqrt(query_pre_attn_scalar)",
    sliding_rope_theta: Some("rope_local_base_freq"),
    hidden_act: Activation::GeluTanh,
    gguf_adds_one: true,
    rope_interleaved: false,
    qk_norm: true,
    qkv_bias: Bias::Config,
    output_bias: Bias::Config,
    mlp_bias: Bias::Fixed(false),
    gguf_permutes_rope: false,
    implied: &[
        ("layer_types", Implied::LayerTypes),
        ("_sliding_window_pattern", Implied::Ignored("layer_types lists the layers one by one")),
        ("sliding_window_pattern", Implied::Ignored("layer_types lists the layers one by one")),
        ("attn_logit_softcapping", Implied::Absent),
        ("final_logit_softcapping", Implied::Absent),
        ("use_bidirectional_attention", Implied::False),
    ],
};

/// The architecture of a `model_type`.
pub fn find(model_type: &str) -> Option<&'static Architecture> {
    ARCHITECTURES.iter().find(|a| a.model_type == model_type)
}

/// What a tensor is for. Its name in a checkpoint follows from the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of Hugging Face transformers")]
pub enum Role {
    EmbedTokens,
    InputLayernorm,
    QProj,
    KProj,
    VProj,
    OProj,
    QBias,
    KBias,
    VBias,
    OBias,
    QNorm,
    KNorm,
    PostAttentionLayernorm,
    PostAttentionNorm,
    PreFeedforwardLayernorm,
    PostFeedforwardLayernorm,
    GateProj,
    UpProj,
    DownProj,
    GateBias,
    UpBias,
    DownBias,
    Norm,
    LmHead,
}

impl Role {
    /// The field that holds the tensor in generated code.
    pub const fn field(self) -> &'static str {
        match self {
            Self::EmbedTokens => "embed_tokens",
            Self::InputLayernorm => "input_layernorm",
            Self::QProj => "q_proj",
            Self::KProj => "k_proj",
            Self::VProj => "v_proj",
            Self::OProj => "o_proj",
            Self::QBias => "q_bias",
            Self::KBias => "k_bias",
            Self::VBias => "v_bias",
            Self::OBias => "o_bias",
            Self::QNorm => "q_norm",
            Self::KNorm => "k_norm",
            Self::PostAttentionLayernorm | Self::PostAttentionNorm => "post_attention_layernorm",
            Self::PreFeedforwardLayernorm => "pre_feedforward_layernorm",
            Self::PostFeedforwardLayernorm => "post_feedforward_layernorm",
            Self::GateProj => "gate_proj",
            Self::UpProj => "up_proj",
            Self::DownProj => "down_proj",
            Self::GateBias => "gate_bias",
            Self::UpBias => "up_bias",
            Self::DownBias => "down_bias",
            Self::Norm => "norm",
            Self::LmHead => "lm_head",
        }
    }

    /// The tensor's name in a checkpoint; `{layer}` stands for the layer's index.
    pub const fn name(self, format: CheckpointFormat) -> &'static str {
        match format {
            CheckpointFormat::Hf => self.hf(),
            CheckpointFormat::Gguf => self.gguf(),
        }
    }

    const fn hf(self) -> &'static str {
        match self {
            Self::EmbedTokens => "model.embed_tokens.weight",
            Self::InputLayernorm => "model.layers.{layer}.input_layernorm.weight",
            Self::QProj => "model.layers.{layer}.self_attn.q_proj.weight",
            Self::KProj => "model.layers.{layer}.self_attn.k_proj.weight",
            Self::VProj => "model.layers.{layer}.self_attn.v_proj.weight",
            Self::OProj => "model.layers.{layer}.self_attn.o_proj.weight",
            Self::QBias => "model.layers.{layer}.self_attn.q_proj.bias",
            Self::KBias => "model.layers.{layer}.self_attn.k_proj.bias",
            Self::VBias => "model.layers.{layer}.self_attn.v_proj.bias",
            Self::OBias => "model.layers.{layer}.self_attn.o_proj.bias",
            Self::QNorm => "model.layers.{layer}.self_attn.q_norm.weight",
            Self::KNorm => "model.layers.{layer}.self_attn.k_norm.weight",
            Self::PostAttentionLayernorm | Self::PostAttentionNorm => "model.layers.{layer}.post_attention_layernorm.weight",
            Self::PreFeedforwardLayernorm => "model.layers.{layer}.pre_feedforward_layernorm.weight",
            Self::PostFeedforwardLayernorm => "model.layers.{layer}.post_feedforward_layernorm.weight",
            Self::GateProj => "model.layers.{layer}.mlp.gate_proj.weight",
            Self::UpProj => "model.layers.{layer}.mlp.up_proj.weight",
            Self::DownProj => "model.layers.{layer}.mlp.down_proj.weight",
            Self::GateBias => "model.layers.{layer}.mlp.gate_proj.bias",
            Self::UpBias => "model.layers.{layer}.mlp.up_proj.bias",
            Self::DownBias => "model.layers.{layer}.mlp.down_proj.bias",
            Self::Norm => "model.norm.weight",
            Self::LmHead => "lm_head.weight",
        }
    }

    const fn gguf(self) -> &'static str {
        match self {
            Self::EmbedTokens => "token_embd.weight",
            Self::InputLayernorm => "blk.{layer}.attn_norm.weight",
            Self::QProj => "blk.{layer}.attn_q.weight",
            Self::KProj => "blk.{layer}.attn_k.weight",
            Self::VProj => "blk.{layer}.attn_v.weight",
            Self::OProj => "blk.{layer}.attn_output.weight",
            Self::QBias => "blk.{layer}.attn_q.bias",
            Self::KBias => "blk.{layer}.attn_k.bias",
            Self::VBias => "blk.{layer}.attn_v.bias",
            Self::OBias => "blk.{layer}.attn_output.bias",
            Self::QNorm => "blk.{layer}.attn_q_norm.weight",
            Self::KNorm => "blk.{layer}.attn_k_norm.weight",
            Self::PostAttentionLayernorm | Self::PreFeedforwardLayernorm => "blk.{layer}.ffn_norm.weight",
            Self::PostAttentionNorm => "blk.{layer}.post_attention_norm.weight",
            Self::PostFeedforwardLayernorm => "blk.{layer}.post_ffw_norm.weight",
            Self::GateProj => "blk.{layer}.ffn_gate.weight",
            Self::UpProj => "blk.{layer}.ffn_up.weight",
            Self::DownProj => "blk.{layer}.ffn_down.weight",
            Self::GateBias => "blk.{layer}.ffn_gate.bias",
            Self::UpBias => "blk.{layer}.ffn_up.bias",
            Self::DownBias => "blk.{layer}.ffn_down.bias",
            Self::Norm => "output_norm.weight",
            Self::LmHead => "output.weight",
        }
    }
}
