//! A model as MODEL.toml describes it, before it is text: one type for every architecture.

use tenon_formats::tools::Settings;

/// A value of the draft and where it comes from. `None` is what nothing says: `TODO` in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted<T> {
    /// The value.
    pub value: Option<T>,
    /// A comment, where the checkpoint does not state it.
    pub note: Option<String>,
}

impl<T> Noted<T> {
    /// A value that needs no comment.
    pub fn sure(value: T) -> Self {
        Self { value: Some(value), note: None }
    }

    /// What a person must find out.
    pub fn todo(note: impl Into<String>) -> Self {
        Self { value: None, note: Some(note.into()) }
    }

    /// The same with another value.
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Noted<U> {
        Noted { value: self.value.map(to), note: self.note }
    }
}

/// `[chat]`, `[tools]` and `[reasoning]`
#[derive(Clone, Debug)]
pub struct ChatPart {
    /// Where the template comes from.
    pub template: Noted<&'static str>,
    /// What fits the template.
    pub settings: Settings,
    /// Why there is no tool parser, where the template has something to do with it.
    pub why_no_tools: Option<&'static str>,
}

/// One MODEL.toml.
#[derive(Clone, Debug)]
pub struct Description {
    /// `[model]`
    pub model: ModelPart,
    /// `[checkpoint]`
    pub checkpoint: CheckpointPart,
    /// `[layers]`
    pub layers: LayersPart,
    /// `[mixer.<name>]`
    pub mixers: Vec<(&'static str, Mixer)>,
    /// `[ffn.<name>]`
    pub ffns: Vec<(&'static str, Ffn)>,
    /// `[weights]`
    pub weights: WeightsPart,
    /// `[config.ignore]`: key and reason; a reason that is not known is `TODO`.
    pub config_ignore: Vec<(String, Noted<&'static str>)>,
    /// `[chat]`, `[tools]` and `[reasoning]`
    pub chat: ChatPart,
    /// `[sampling]`
    pub sampling: Sampling,
}

/// `[model]`
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct ModelPart {
    pub name: String,
    pub hidden_size: Noted<u64>,
    pub vocab_size: Noted<u64>,
    pub max_position_embeddings: Noted<u64>,
    pub rms_norm_eps: Noted<f64>,
    pub tie_word_embeddings: Noted<bool>,
    pub rms_norm_unit_offset: bool,
    pub embedding_scale: &'static str,
    pub final_logit_softcapping: Option<Noted<f64>>,
    pub scales: Option<ScalesPart>,
}

/// The scales of MiniCPM.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct ScalesPart {
    pub scale_emb: Noted<f64>,
    pub scale_depth: Noted<f64>,
    pub dim_model_base: Noted<u64>,
}

/// How a checkpoint names and stores its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// config.json
    Hf,
    /// One GGUF file.
    Gguf,
    /// params.json
    Mistral,
}

impl Format {
    /// The name in MODEL.toml.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hf => "hf",
            Self::Gguf => "gguf",
            Self::Mistral => "mistral",
        }
    }
}

/// `[checkpoint]`
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct CheckpointPart {
    pub source: Noted<String>,
    pub format: Format,
    pub model_type: String,
    /// `[[checkpoint.pull]] hf`
    pub pull: Option<String>,
}

/// `[layers]`
#[derive(Clone, Debug)]
pub struct LayersPart {
    /// How many there are.
    pub num_hidden_layers: Noted<u64>,
    /// Names of blocks, repeated to the number of layers.
    pub pattern: Noted<Vec<&'static str>>,
    /// `[layers.<name>]`
    pub blocks: Vec<(&'static str, Block)>,
}

/// `[layers.<name>]`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct Block {
    pub mixer: Option<&'static str>,
    pub ffn: Option<&'static str>,
    pub norm: &'static str,
}

/// `[mixer.<name>]`
#[derive(Clone, Debug)]
pub enum Mixer {
    /// Grouped queries.
    Gqa(Gqa),
    /// Latent attention.
    Mla(Mla),
    /// State space.
    Mamba2(Mamba2),
    /// Delta rule.
    DeltaNet(DeltaNet),
}

/// `kind = "gqa"`
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct Gqa {
    pub num_attention_heads: Noted<u64>,
    pub num_key_value_heads: Noted<u64>,
    pub head_dim: Noted<u64>,
    pub attention_bias: Noted<bool>,
    pub attention_output_bias: Noted<bool>,
    pub qk_norm: bool,
    pub query_pre_attn_scalar: Option<Noted<u64>>,
    pub softmax_scale: &'static str,
    /// `None` inside is `"none"`.
    pub sliding_window: Noted<Option<u64>>,
    pub attn_logit_softcapping: Option<Noted<f64>>,
    pub attention_sinks: bool,
    pub attn_output_gate: bool,
    pub kv_cache_dtype: &'static [&'static str],
    pub rope: Rope,
}

/// `kind = "mla"`
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct Mla {
    pub num_attention_heads: Noted<u64>,
    pub q_lora_rank: Noted<Option<u64>>,
    pub kv_lora_rank: Noted<u64>,
    pub qk_nope_head_dim: Noted<u64>,
    pub qk_rope_head_dim: Noted<u64>,
    pub v_head_dim: Noted<u64>,
    /// A constant of every class, which no config states.
    pub latent_rms_norm_eps: f64,
    pub attention_bias: Noted<bool>,
    pub softmax_scale: &'static str,
    pub kv_cache_dtype: &'static [&'static str],
    pub rope: Rope,
}

/// `kind = "mamba2"`
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct Mamba2 {
    pub mamba_num_heads: Noted<u64>,
    pub mamba_head_dim: Noted<u64>,
    pub ssm_state_size: Noted<u64>,
    pub n_groups: Noted<u64>,
    pub conv_kernel: Noted<u64>,
    pub chunk_size: Noted<u64>,
    pub use_conv_bias: Noted<bool>,
    pub use_bias: Noted<bool>,
    pub time_step_min: Noted<f64>,
}

/// `kind = "gated_delta_net"`
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct DeltaNet {
    pub linear_num_key_heads: Noted<u64>,
    pub linear_key_head_dim: Noted<u64>,
    pub linear_num_value_heads: Noted<u64>,
    pub linear_value_head_dim: Noted<u64>,
    pub linear_conv_kernel_dim: Noted<u64>,
}

/// `[mixer.<name>.rope]`; `None` rotates nothing.
pub type Rope = Option<Rotation>;

/// `rope_type` and its keys.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct Rotation {
    pub rope_theta: Noted<f64>,
    pub scaling: Scaling,
    pub rotary_dim: Noted<u64>,
    pub interleaved: Noted<bool>,
}

/// How frequencies are stretched.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub enum Scaling {
    Default,
    Linear {
        factor: Noted<f64>,
    },
    Llama3 {
        factor: Noted<f64>,
        low_freq_factor: Noted<f64>,
        high_freq_factor: Noted<f64>,
        original_max_position_embeddings: Noted<u64>,
    },
    Yarn {
        factor: Noted<f64>,
        original_max_position_embeddings: Noted<u64>,
        beta_fast: Noted<f64>,
        beta_slow: Noted<f64>,
        mscale: Noted<Option<f64>>,
        mscale_all_dim: Noted<Option<f64>>,
        attention_factor: Noted<Option<f64>>,
        truncate: Noted<bool>,
        llama_4_scaling_beta: Option<Noted<f64>>,
    },
}

/// `[ffn.<name>]`
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a draft has a handful of these")]
pub enum Ffn {
    /// `kind = "gated_mlp"`, or `kind = "mlp"` without a gate.
    Mlp(Mlp),
    /// `kind = "moe"`
    Moe(Moe),
}

/// An MLP.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct Mlp {
    pub gated: bool,
    pub intermediate_size: Noted<u64>,
    pub hidden_act: Noted<&'static str>,
    pub mlp_bias: Noted<bool>,
}

/// `kind = "moe"`
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct Moe {
    pub n_routed_experts: Noted<u64>,
    pub num_experts_per_tok: Noted<u64>,
    pub moe_intermediate_size: Noted<u64>,
    pub hidden_act: Noted<&'static str>,
    pub gated: Noted<bool>,
    pub expert_bias: Noted<bool>,
    pub scoring_func: Noted<&'static str>,
    pub router_bias: Noted<bool>,
    pub e_score_correction_bias: Noted<bool>,
    pub n_group: Noted<u64>,
    pub topk_group: Noted<u64>,
    /// Where there are groups.
    pub group_score: Option<Noted<&'static str>>,
    pub norm_topk_prob: Noted<bool>,
    pub routed_scaling_factor: Noted<f64>,
    pub moe_latent_size: Noted<Option<u64>>,
    pub shared_expert_intermediate_size: Noted<Option<u64>>,
    /// Where there is a shared expert.
    pub shared_expert_gate: Option<Noted<bool>>,
    pub swiglu_limit: Noted<Option<f64>>,
    /// Where there is a limit.
    pub swiglu_alpha: Option<Noted<f64>>,
}

/// `[weights]`
#[derive(Clone, Debug, Default)]
pub struct WeightsPart {
    /// Storage formats.
    pub accept: Vec<String>,
    /// The prefix of a layer's tensors, where it is not that of the class.
    pub names: Option<Noted<String>>,
    /// The layout of experts, where it is not that of the class.
    pub experts: Option<Noted<&'static str>>,
    /// `[weights.ignore]`
    pub ignore: Vec<(String, Noted<&'static str>)>,
}

/// `[sampling]`
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the keys of the TOML, documented in the reference")]
pub struct Sampling {
    pub temperature: Noted<f64>,
    pub top_p: Noted<f64>,
    pub top_k: Noted<u64>,
}
