//! Mixers of a checked model.

use super::KvDtype;

/// What mixes tokens.
#[derive(Clone, Debug)]
pub enum Mixer {
    /// Multi-head, grouped-query or multi-query attention.
    Gqa(Gqa),
    /// Multi-head latent attention.
    Mla(Mla),
    /// Mamba2.
    Mamba2(Mamba2),
    /// Gated delta net.
    GatedDeltaNet(GatedDeltaNet),
}

impl Mixer {
    /// The cache of an attention.
    pub const fn kv(&self) -> Option<&KvCache> {
        match self {
            Self::Gqa(gqa) => Some(&gqa.kv),
            Self::Mla(mla) => Some(&mla.kv),
            Self::Mamba2(_) | Self::GatedDeltaNet(_) => None,
        }
    }

    /// The rotation of an attention.
    pub const fn rope(&self) -> Option<&Rope> {
        match self {
            Self::Gqa(gqa) => gqa.rope.as_ref(),
            Self::Mla(mla) => Some(&mla.rope),
            Self::Mamba2(_) | Self::GatedDeltaNet(_) => None,
        }
    }

    /// Whether it keeps a state per sequence.
    pub const fn is_recurrent(&self) -> bool {
        matches!(self, Self::Mamba2(_) | Self::GatedDeltaNet(_))
    }
}

/// Grouped-query attention.
#[derive(Clone, Debug)]
pub struct Gqa {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Biases on q, k and v.
    pub bias: bool,
    /// A bias on the output projection.
    pub output_bias: bool,
    /// RMS norm over each head of q and k.
    pub qk_norm: bool,
    /// The factor on scores.
    pub scale: Scale,
    /// A number beside the dimensions, which the scale is taken over.
    pub query_pre_attn_scalar: Option<usize>,
    /// Tokens that a query sees, itself included; `None` for all before it.
    pub sliding_window: Option<usize>,
    /// Scores are `cap * tanh(scores / cap)`.
    pub soft_cap: Option<f64>,
    /// One learned score per head joins the softmax.
    pub sinks: bool,
    /// q_proj makes a gate beside each query.
    pub output_gate: bool,
    /// The cache.
    pub kv: KvCache,
    /// The rotation.
    pub rope: Option<Rope>,
}

/// Multi-head latent attention.
#[derive(Clone, Debug)]
pub struct Mla {
    /// Heads.
    pub heads: usize,
    /// Width between the two projections of q.
    pub q_lora_rank: Option<usize>,
    /// Width of the latent from which keys and values are made.
    pub kv_lora_rank: usize,
    /// Elements of a key that are made from the latent.
    pub nope: usize,
    /// Elements of a key that are rotated and shared by all heads.
    pub rope_dim: usize,
    /// Elements of a value.
    pub v_head_dim: usize,
    /// The eps of the two norms over latents.
    pub latent_norm_eps: f64,
    /// Biases on q_a, kv_a and o.
    pub bias: bool,
    /// The factor on scores, over the dimensions before any absorption.
    pub scale: Scale,
    /// Queries grow with their position.
    pub query_scale: Option<QueryScale>,
    /// The cache, of latents.
    pub kv: KvCache,
    /// The rotation.
    pub rope: Rope,
}

impl Mla {
    /// Elements of a head's query and key.
    pub const fn qk_head_dim(&self) -> usize {
        self.nope + self.rope_dim
    }

    /// Elements of a token's queries.
    pub const fn q_dim(&self) -> usize {
        self.heads * self.qk_head_dim()
    }

    /// Elements of a token's entry in the cache.
    pub const fn latent_dim(&self) -> usize {
        self.kv_lora_rank + self.rope_dim
    }

    /// Elements of a token's attention output.
    pub const fn o_dim(&self) -> usize {
        self.heads * self.v_head_dim
    }
}

/// `1 + beta ln(1 + floor(position / original))`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryScale {
    /// The factor of the logarithm.
    pub beta: f64,
    /// Positions over which it stays at 1.
    pub original_max_position_embeddings: usize,
}

/// Mamba2.
#[derive(Clone, Copy, Debug)]
pub struct Mamba2 {
    /// Heads.
    pub heads: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Elements of B and C, and of a row of the state.
    pub state: usize,
    /// Groups of heads that share B and C; divides `heads`.
    pub groups: usize,
    /// Tokens that the convolution sees.
    pub conv_kernel: usize,
    /// Tokens of a chunk of the scan.
    pub chunk: usize,
    /// The convolution has a bias.
    pub conv_bias: bool,
    /// in_proj and out_proj have biases.
    pub bias: bool,
    /// Lower bound of the time step.
    pub time_step_min: f64,
}

impl Mamba2 {
    /// Elements of a token between the projections.
    pub const fn inner(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Channels of the convolution: x, B and C.
    pub const fn conv_dim(&self) -> usize {
        self.inner() + 2 * self.groups * self.state
    }
}

/// Gated delta net.
#[derive(Clone, Copy, Debug)]
pub struct GatedDeltaNet {
    /// Heads of queries and keys.
    pub key_heads: usize,
    /// Elements of a query and of a key.
    pub key_dim: usize,
    /// Heads of values; a multiple of `key_heads`.
    pub value_heads: usize,
    /// Elements of a value.
    pub value_dim: usize,
    /// Tokens that the convolution sees.
    pub conv_kernel: usize,
}

impl GatedDeltaNet {
    /// Elements of a token's values.
    pub const fn values(&self) -> usize {
        self.value_heads * self.value_dim
    }

    /// Channels of the convolution: q, k and v.
    pub const fn conv_dim(&self) -> usize {
        2 * self.key_heads * self.key_dim + self.values()
    }
}

impl Gqa {
    /// Elements of a token's queries.
    pub fn q_dim(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Elements of a token's keys, and of its values.
    pub fn kv_dim(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// Query heads that share a key head.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }
}

/// `rsqrt(dims)` over the dimensions in which scores are defined.
#[derive(Clone, Debug)]
pub struct Scale {
    /// The expression of the spec.
    pub formula: String,
    /// The dimension under the root.
    pub dims: usize,
    /// `yarn_mscale(factor, mscale_all_dim)^2` as a further factor: its two arguments.
    pub mscale: Option<(f64, f64)>,
    /// The value in f32.
    pub value: f32,
}

/// What a KV cache may be.
#[derive(Clone, Debug)]
pub struct KvCache {
    /// Legal dtypes, the default first; never empty.
    pub dtypes: Vec<KvDtype>,
    /// The first and last layers of this mixer keep a dtype of their own.
    pub edges: Option<KvEdges>,
}

/// Layers at both ends whose cache dtype is fixed.
#[derive(Clone, Copy, Debug)]
pub struct KvEdges {
    /// Layers at the start.
    pub first: usize,
    /// Layers at the end.
    pub last: usize,
    /// Their dtype.
    pub dtype: KvDtype,
}

/// Rotary position embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// Base of the frequencies.
    pub theta: f64,
    /// Rotated elements of a head.
    pub rotary_dim: usize,
    /// Pairs are neighbours instead of halves.
    pub interleaved: bool,
    /// How frequencies are stretched.
    pub scaling: RopeScaling,
}

/// How frequencies are stretched.
#[derive(Clone, Debug, PartialEq)]
pub enum RopeScaling {
    /// They are not.
    Default,
    /// Llama 3.1.
    Llama3 {
        /// Stretch of long wavelengths.
        factor: f64,
        /// Wavelengths over `original / low` are stretched fully.
        low_freq_factor: f64,
        /// Wavelengths under `original / high` are left alone.
        high_freq_factor: f64,
        /// Context before stretching.
        original_max_position_embeddings: usize,
    },
    /// All wavelengths are stretched.
    Linear {
        /// By so much.
        factor: f64,
    },
    /// YaRN.
    Yarn {
        /// Stretch of long wavelengths.
        factor: f64,
        /// Context before stretching.
        original_max_position_embeddings: usize,
        /// Rotations over the original context above which a dimension is left alone.
        beta_fast: f64,
        /// Rotations below which it is stretched fully.
        beta_slow: f64,
        /// Whether the bounds of the ramp are whole dimensions.
        truncate: bool,
        /// Factor on cosines and sines.
        attention_factor: f64,
        /// `mscale` of the config.
        mscale: Option<f64>,
        /// `mscale_all_dim` of the config.
        mscale_all_dim: Option<f64>,
        /// `attention_factor` of the config.
        stated_attention_factor: Option<f64>,
    },
}
