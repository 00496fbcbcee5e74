//! What `tenon new` knows of each `model_type` beside its config.

use super::description::Format;

/// The kinds of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// Grouped queries; `softmax_scale` is that of the head's width.
    Gqa,
    /// Grouped queries, scaled by `query_pre_attn_scalar`.
    GqaScalar,
    /// Latent attention.
    Mla,
}

/// Where a key that repeats or switches something must stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implied {
    /// Any value: other keys decide.
    Any,
    /// False: what it would turn on cannot be compiled.
    False,
}

/// What a class fixes.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of MODEL.toml")]
pub struct Class {
    pub model_types: &'static [&'static str],
    pub attention: Attention,
    pub qk_norm: bool,
    pub rms_norm_unit_offset: bool,
    pub norm: &'static str,
    pub embedding_scale: &'static str,
    /// The rotation of layers that see a window has this key for its base, and is never stretched.
    pub local_theta: Option<&'static str>,
    /// The layout of its experts.
    pub experts: &'static str,
    /// Where its layers stand.
    pub layers: &'static str,
    /// Where they stand in a checkpoint that holds other parts too, where no tensor says it.
    pub wrapped_layers: &'static str,
    /// The layout of experts in such a checkpoint.
    pub wrapped_experts: &'static str,
    /// Tensors of speculation heads; `{next}` stands for the number of layers.
    pub speculation: &'static str,
    /// Keys that have no place in MODEL.toml.
    pub implied: &'static [(&'static str, Implied)],
    /// GGUF files of this class are read.
    pub gguf: bool,
}

const PLAIN: Class = Class {
    model_types: &["llama"],
    attention: Attention::Gqa,
    qk_norm: false,
    rms_norm_unit_offset: false,
    norm: "pre",
    embedding_scale: "1",
    local_theta: None,
    experts: "each",
    layers: "model.layers",
    wrapped_layers: "language_model.model.layers",
    wrapped_experts: "each",
    speculation: "model.layers.{next}.*",
    implied: &[],
    gguf: false,
};

const GEMMA: Class = Class {
    attention: Attention::GqaScalar,
    rms_norm_unit_offset: true,
    norm: "sandwich",
    embedding_scale: "sqrt(hidden_size)",
    implied: &[
        ("sliding_window_pattern", Implied::Any),
        ("_sliding_window_pattern", Implied::Any),
        ("use_bidirectional_attention", Implied::False),
    ],
    ..PLAIN
};

const QWEN: Class = Class { implied: &[("use_sliding_window", Implied::False), ("max_window_layers", Implied::Any)], ..PLAIN };

const QWEN_HYBRID: Class = Class {
    qk_norm: true,
    rms_norm_unit_offset: true,
    wrapped_layers: "model.language_model.layers",
    wrapped_experts: "stacked",
    speculation: "mtp.*",
    ..PLAIN
};

const MLA: Class = Class { attention: Attention::Mla, ..PLAIN };

/// Every class, by the `model_type`s that name it.
pub const CLASSES: [Class; 14] = [
    Class { gguf: true, ..PLAIN },
    Class { model_types: &["mistral"], ..PLAIN },
    Class { model_types: &["qwen2"], ..QWEN },
    Class { model_types: &["qwen3"], qk_norm: true, gguf: true, ..QWEN },
    Class { model_types: &["qwen3_moe"], qk_norm: true, ..QWEN },
    Class { model_types: &["gemma2"], ..GEMMA },
    Class {
        model_types: &["gemma3", "gemma3_text"],
        qk_norm: true,
        local_theta: Some("rope_local_base_freq"),
        gguf: true,
        ..GEMMA
    },
    Class { model_types: &["mistral4"], experts: "stacked", wrapped_experts: "stacked", ..MLA },
    Class { model_types: &["deepseek_v2", "deepseek_v3", "glm4_moe_lite"], ..MLA },
    Class { model_types: &["minicpm3"], embedding_scale: "scale_emb", ..MLA },
    Class { model_types: &["nemotron_h"], layers: "backbone.layers", speculation: "mtp.*", ..PLAIN },
    Class { model_types: &["qwen3_next"], ..QWEN_HYBRID },
    Class { model_types: &["qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"], ..QWEN_HYBRID },
    Class { model_types: &["gpt_oss"], experts: "transposed", ..PLAIN },
];

/// The class of a `model_type`, for checkpoints of this format.
pub fn find(model_type: &str, format: Format) -> Option<&'static Class> {
    let class = CLASSES.iter().find(|class| class.model_types.contains(&model_type))?;
    (format != Format::Gguf || class.gguf).then_some(class)
}

/// The `model_type`s that a checkpoint of this format may have.
pub fn known(format: Format) -> Vec<&'static str> {
    let reads = |class: &&Class| match format {
        Format::Hf => true,
        Format::Gguf => class.gguf,
        Format::Mistral => class.model_types.iter().any(|name| name.starts_with("mistral")),
    };
    CLASSES.iter().filter(reads).flat_map(|class| class.model_types).copied().collect()
}
