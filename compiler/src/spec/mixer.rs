//! `[mixer.<name>]` as written.

#![allow(missing_docs, reason = "fields are the keys of the TOMLs, documented in the reference")]

use crate::expr::Expr;
use crate::source::Spanned;

/// `[mixer.<name>]`
#[derive(Clone, Debug)]
pub enum MixerSpec {
    /// `kind = "gqa"`
    Gqa(GqaSpec),
    /// `kind = "mla"`
    Mla(MlaSpec),
    /// `kind = "mamba2"`
    Mamba2(Mamba2Spec),
    /// `kind = "gated_delta_net"`
    GatedDeltaNet(GatedDeltaNetSpec),
}

/// `[mixer.<name>]` with `kind = "gqa"`: multi-head, grouped-query and multi-query attention.
#[derive(Clone, Debug)]
pub struct GqaSpec {
    pub num_attention_heads: Spanned<u64>,
    pub num_key_value_heads: Spanned<u64>,
    pub head_dim: Spanned<u64>,
    /// Biases on q, k, v (`attention_bias` of config.json, which Qwen2 leaves implicit); o_proj has its own key.
    pub attention_bias: Spanned<bool>,
    /// A bias on o_proj.
    pub attention_output_bias: Spanned<bool>,
    /// RMS norm over each head of q and k, before rope.
    pub qk_norm: Spanned<bool>,
    pub softmax_scale: Spanned<Expr>,
    /// A number that `softmax_scale` may use instead of a dimension (Gemma).
    pub query_pre_attn_scalar: Option<Spanned<u64>>,
    /// Tokens that a query sees, itself included; `None` for all before it.
    pub sliding_window: Spanned<Option<u64>>,
    /// Scores are `cap * tanh(scores / cap)`; without it, as they are.
    pub attn_logit_softcapping: Option<Spanned<f64>>,
    /// One learned score per head joins the softmax and has no value (gpt-oss).
    pub attention_sinks: Option<Spanned<bool>>,
    /// q_proj makes a gate beside each query, and the attention's output is multiplied by its sigmoid (Qwen3-Next).
    pub attn_output_gate: Option<Spanned<bool>>,
    /// What this cache may be, the default first.
    pub kv_cache_dtype: Spanned<Vec<Spanned<KvDtype>>>,
    /// The first and last layers of this mixer keep another dtype.
    pub kv_cache_layers: Option<Spanned<KvCacheLayers>>,
    /// `[mixer.<name>.rope]`; `None` for `rope_type = "none"`.
    pub rope: Option<RopeSpec>,
}

/// `[mixer.<name>]` with `kind = "mla"`: multi-head latent attention.
#[derive(Clone, Debug)]
pub struct MlaSpec {
    pub num_attention_heads: Spanned<u64>,
    /// Width between the two projections of q; `None` for one projection.
    pub q_lora_rank: Spanned<Option<u64>>,
    pub kv_lora_rank: Spanned<u64>,
    pub qk_nope_head_dim: Spanned<u64>,
    pub qk_rope_head_dim: Spanned<u64>,
    pub v_head_dim: Spanned<u64>,
    /// The eps of the two norms over latents, which is a constant of the class (1e-6) and not the config's `rms_norm_eps`.
    pub latent_rms_norm_eps: Spanned<f64>,
    /// Biases on q_a_proj, kv_a_proj_with_mqa and o_proj.
    pub attention_bias: Spanned<bool>,
    pub softmax_scale: Spanned<Expr>,
    pub kv_cache_dtype: Spanned<Vec<Spanned<KvDtype>>>,
    pub kv_cache_layers: Option<Spanned<KvCacheLayers>>,
    pub rope: RopeSpec,
}

/// `[mixer.<name>]` with `kind = "mamba2"`.
#[derive(Clone, Debug)]
pub struct Mamba2Spec {
    pub mamba_num_heads: Spanned<u64>,
    pub mamba_head_dim: Spanned<u64>,
    pub ssm_state_size: Spanned<u64>,
    /// Groups of heads that share B and C, and of channels that share a norm.
    pub n_groups: Spanned<u64>,
    pub conv_kernel: Spanned<u64>,
    /// Tokens of a chunk of the scan.
    pub chunk_size: Spanned<u64>,
    pub use_conv_bias: Spanned<bool>,
    /// Biases on in_proj and out_proj.
    pub use_bias: Spanned<bool>,
    /// Lower bound of the time step after softplus.
    pub time_step_min: Spanned<f64>,
}

/// `[mixer.<name>]` with `kind = "gated_delta_net"`.
#[derive(Clone, Debug)]
pub struct GatedDeltaNetSpec {
    pub linear_num_key_heads: Spanned<u64>,
    pub linear_key_head_dim: Spanned<u64>,
    pub linear_num_value_heads: Spanned<u64>,
    pub linear_value_head_dim: Spanned<u64>,
    pub linear_conv_kernel_dim: Spanned<u64>,
}

/// `kv_cache_layers = { first = 2, last = 2, dtype = "f32" }`
#[derive(Clone, Debug)]
pub struct KvCacheLayers {
    pub first: Spanned<u64>,
    pub last: Spanned<u64>,
    pub dtype: Spanned<KvDtype>,
}

/// Element type of a KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KvDtype {
    F32,
    Bf16,
    Fp8E4m3,
}

/// `[mixer.<name>.rope]`
#[derive(Clone, Debug)]
pub struct RopeSpec {
    pub rope_theta: Spanned<f64>,
    /// Elements of a head that are rotated, from the first on.
    pub rotary_dim: Spanned<u64>,
    /// Pairs are neighbours (true) or halves (false).
    pub interleaved: Spanned<bool>,
    /// `rope_type` and the keys that belong to it.
    pub scaling: Spanned<RopeScalingSpec>,
}

/// `rope_type` and its keys. The span is that of `rope_type`.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a spec has a handful of these")]
pub enum RopeScalingSpec {
    /// `rope_type = "default"`
    Default,
    /// `rope_type = "llama3"`
    Llama3 {
        factor: Spanned<f64>,
        low_freq_factor: Spanned<f64>,
        high_freq_factor: Spanned<f64>,
        original_max_position_embeddings: Spanned<u64>,
    },
    /// `rope_type = "linear"`
    Linear { factor: Spanned<f64> },
    /// `rope_type = "yarn"`
    Yarn(YarnSpec),
}

/// The keys of `rope_type = "yarn"`. `None` stands for `"none"`: the config does not state it.
#[derive(Clone, Debug)]
pub struct YarnSpec {
    pub factor: Spanned<f64>,
    pub original_max_position_embeddings: Spanned<u64>,
    pub beta_fast: Spanned<f64>,
    pub beta_slow: Spanned<f64>,
    pub mscale: Spanned<Option<f64>>,
    pub mscale_all_dim: Spanned<Option<f64>>,
    /// Factor on cosines and sines, where it does not follow from the others.
    pub attention_factor: Spanned<Option<f64>>,
    /// Whether the bounds of the ramp are rounded to whole dimensions.
    pub truncate: Spanned<bool>,
    /// Queries grow with their position: `1 + beta ln(1 + floor(position / original_max_position_embeddings))`.
    pub llama_4_scaling_beta: Option<Spanned<f64>>,
}
