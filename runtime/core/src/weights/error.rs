//! `LoadError`: why a checkpoint was not loaded.

use std::fmt;
use std::path::{Path, PathBuf};

use tenon_formats::config::ConfigError;
use tenon_formats::gguf::GgufError;
use tenon_formats::gguf::split::{Split, SplitError};
use tenon_formats::index::IndexError;
use tenon_formats::safetensors::SafetensorsError;
use tenon_formats::shown::shown;

use super::{CheckpointKind, NotFinite};
use crate::cpu::CpuError;
#[cfg(feature = "cuda")]
use crate::cuda::CudaError;
use crate::dtype::KvDtypeName;
use crate::linear::PackError;
use crate::model::ModelInfo;

/// Why a checkpoint was not loaded. Every message names the file, what is wrong in it, and the way out.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No such path.
    #[error("{} does not exist; give a checkpoint's directory or a .gguf file", path.display())]
    NotFound {
        /// The path.
        path: PathBuf,
    },
    /// The system does not let us read.
    #[error("cannot read {}: {problem}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        problem: std::io::Error,
    },
    /// A pipe, a device, or a directory where a file belongs.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A directory without weights.
    #[error("{} holds no weights: neither model.safetensors nor its index nor a .gguf file is there", dir.display())]
    NoWeights {
        /// The directory.
        dir: PathBuf,
    },
    /// Safetensors without their config.
    #[error(
        "{} holds safetensors and no config.json, which says what they are: download it from where the weights come from",
        dir.display()
    )]
    MissingConfig {
        /// The directory.
        dir: PathBuf,
    },
    /// More than one GGUF to choose from.
    #[error("{} holds {} .gguf files ({}); give the path of the one to load", dir.display(), names.len(), names.join(", "))]
    SeveralGgufs {
        /// The directory.
        dir: PathBuf,
        /// Their names, sorted.
        names: Vec<String>,
    },
    /// Safetensors under names that say nothing about which of them belong to the model.
    #[error(
        "{} holds {}, and neither model.safetensors nor model.safetensors.index.json, which would say which files are the model",
        dir.display(), names.join(", ")
    )]
    NoIndex {
        /// The directory.
        dir: PathBuf,
        /// The safetensors that are there, sorted.
        names: Vec<String>,
    },
    /// A file where a directory or a GGUF belongs.
    #[error("{} is one file of a checkpoint; give the directory, which has config.json too", path.display())]
    SafetensorsFile {
        /// The path.
        path: PathBuf,
    },
    /// A shard of the index that is not there.
    #[error("{} puts {tensors} tensors into {}, and that file is not beside it: download it", index.display(), shown(shard))]
    MissingShard {
        /// The index.
        index: PathBuf,
        /// The file that it names.
        shard: String,
        /// Tensors that it should hold.
        tensors: usize,
    },
    /// An index and its shards disagree.
    #[error("{}: `{}` {problem}: index and shards are of different checkpoints", index.display(), shown(tensor))]
    IndexDisagrees {
        /// The index.
        index: PathBuf,
        /// The tensor.
        tensor: String,
        /// Where the two say that it is.
        problem: String,
    },
    /// A part of a split GGUF that is not the first.
    #[error("{} is part {} of {}; give the first one, {first}, and the others are found beside it", path.display(), split.no + 1, split.count)]
    NotFirstPart {
        /// The path.
        path: PathBuf,
        /// Which part it is.
        split: Split,
        /// The name of the first.
        first: String,
    },
    /// A part of a split GGUF under a name that does not lead to the others.
    #[error(
        "{} says that it is part {} of {}, and its name must end in -{:05}-of-{:05}.gguf, by which the others are found: rename it back",
        path.display(), split.no.saturating_add(1), split.count, split.no.saturating_add(1), split.count
    )]
    PartName {
        /// The path.
        path: PathBuf,
        /// Which part it says that it is.
        split: Split,
    },
    /// A part of a split GGUF that is not there.
    #[error("{} is part {part} of {count}, and it is not there: download it into the folder of the others", path.display())]
    MissingPart {
        /// Where it should be.
        path: PathBuf,
        /// Which part it is, from 1.
        part: u64,
        /// How many there are.
        count: u64,
    },
    /// Files that do not make one GGUF.
    #[error("{}: {problem}", path.display())]
    Split {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: Box<SplitError>,
    },
    /// A safetensors file that is none.
    #[error("{}: {problem}", path.display())]
    Safetensors {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: Box<SafetensorsError>,
    },
    /// A GGUF file that is none.
    #[error("{}: {problem}", path.display())]
    Gguf {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: Box<GgufError>,
    },
    /// An index that is none.
    #[error("{}: {problem}", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: Box<IndexError>,
    },
    /// A config that cannot be understood.
    #[error("{}: {problem}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: Box<ConfigError>,
    },
    /// The checkpoint is of the other format than the one that the spec is for.
    #[error(
        "the spec is for {} checkpoint and {} is {found}: load the {spec} one, or write a spec of this one: \
         tenon new NAME --from {}",
        match spec { CheckpointKind::Hf => "an hf", CheckpointKind::Gguf => "a gguf", CheckpointKind::Mistral => "a mistral" }, path.display(), path.display()
    )]
    Kind {
        /// The checkpoint.
        path: PathBuf,
        /// What the spec is for.
        spec: CheckpointKind,
        /// What it is.
        found: CheckpointKind,
    },
    /// The checkpoint is not the one that the plan was compiled for.
    #[error("{0}")]
    Mismatch(Mismatch),
    /// A tensor with weights that are no numbers.
    #[error(
        "{tensor}: {problem}: the file is damaged, or was made from damaged weights; compare its checksum with the source's, \
         and download or quantise it again"
    )]
    NotFinite {
        /// The tensor.
        tensor: String,
        /// Where, and what it is.
        problem: NotFinite,
    },
    /// A tensor that passed the comparison and cannot be packed.
    #[error("{tensor}: {problem}")]
    Pack {
        /// The tensor.
        tensor: String,
        /// What is wrong.
        problem: PackError,
    },
    /// The threads or the instruction set that the options ask for.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// A cache dtype that the spec does not list.
    #[error(
        "{model} keeps its KV cache in {}, and {asked} was asked for: use one of those, or add it to kv_cache_dtype in the spec",
        list(allowed)
    )]
    KvCacheDtype {
        /// The model.
        model: &'static str,
        /// What was asked for.
        asked: KvDtypeName,
        /// What the spec lists.
        allowed: &'static [KvDtypeName],
    },
    /// What a device refused.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Device(#[from] CudaError),
    /// A number of the options that no model can have.
    #[error("{message}")]
    Option {
        /// Which, its value, and what it may be.
        message: String,
    },
}

impl LoadError {
    /// The cache dtype of the options is none of the model's.
    pub fn kv_cache_dtype(model: &ModelInfo, asked: KvDtypeName) -> Self {
        Self::KvCacheDtype { model: model.name, asked, allowed: model.kv_cache_dtypes }
    }

    /// A part that does not exist is a missing part; other errors stay.
    pub(super) fn or_missing_part(self, path: &Path, no: u64, count: u64) -> Self {
        match self {
            Self::NotFound { path: missing } if missing == path => Self::MissingPart { path: missing, part: no + 1, count },
            other => other,
        }
    }
}

/// Differences that a message lists: who sees more has another model in hand.
const MOST_LINES: usize = 60;

/// All differences between a checkpoint and a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The checkpoint.
    pub path: PathBuf,
    /// One line each: config keys, then tensors, both sorted. The same difference in several layers is one line.
    pub differences: Vec<String>,
    /// The pages that explain them, sorted: `tenon explain ID`.
    pub ids: Vec<&'static str>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, differences, ids } = self;
        let places = if differences.len() == 1 { "1 place" } else { &format!("{} places", differences.len()) };
        writeln!(f, "{} does not fit the plan in {places}:", path.display())?;
        for line in differences.iter().take(MOST_LINES) {
            writeln!(f, "  {line}")?;
        }
        if let Some(more) = differences.len().checked_sub(MOST_LINES).filter(|&more| more > 0) {
            writeln!(f, "  and {more} more")?;
        }
        let path = path.display();
        writeln!(f, "what the spec says, and where: tenon check NAME --checkpoint {path}")?;
        let explain: Vec<String> = ids.iter().map(|id| format!("tenon explain {id}")).collect();
        writeln!(f, "why it is an error: {}", explain.join(", "))?;
        write!(
            f,
            "load the checkpoint that the spec names, or write the spec of this one: tenon new NAME --from {path}; \
             what cannot change the output goes into the spec's [config] ignore or [weights] ignore, and a departure on purpose into \
             [deviation], with the reason"
        )
    }
}

fn list(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}
