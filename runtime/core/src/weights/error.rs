//! `LoadError`: why a checkpoint was not loaded.

use std::fmt;
use std::path::PathBuf;

use tenon_formats::config::ConfigError;
use tenon_formats::gguf::GgufError;
use tenon_formats::index::IndexError;
use tenon_formats::safetensors::SafetensorsError;

use crate::cpu::CpuError;
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
    #[error("{} puts {tensors} tensors into {shard}, and that file is not beside it: download it", index.display())]
    MissingShard {
        /// The index.
        index: PathBuf,
        /// The file that it names.
        shard: String,
        /// Tensors that it should hold.
        tensors: usize,
    },
    /// An index and its shards disagree.
    #[error("{}: `{tensor}` {problem}: index and shards are of different checkpoints", index.display())]
    IndexDisagrees {
        /// The index.
        index: PathBuf,
        /// The tensor.
        tensor: String,
        /// Where the two say that it is.
        problem: String,
    },
    /// A GGUF that is one of several.
    #[error("{} is one of {count} parts; join them with llama.cpp's `llama-gguf-split --merge`", path.display())]
    SplitGguf {
        /// The path.
        path: PathBuf,
        /// How many parts there are.
        count: u64,
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
    /// The checkpoint is not the one that the plan was compiled for.
    #[error("{0}")]
    Mismatch(Mismatch),
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
}

/// All differences between a checkpoint and a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The checkpoint.
    pub path: PathBuf,
    /// One line each: config keys, then tensors, both sorted. The same difference in several layers is one line.
    pub differences: Vec<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, differences } = self;
        let places = if differences.len() == 1 { "1 place" } else { &format!("{} places", differences.len()) };
        writeln!(f, "{} does not fit the plan in {places}:", path.display())?;
        for line in differences {
            writeln!(f, "  {line}")?;
        }
        write!(
            f,
            "load the checkpoint that the spec names, or write the spec of this one: tenon new NAME --from {}; \
             what cannot change the output goes into the spec's [config] ignore or [weights] ignore, with the reason",
            path.display()
        )
    }
}

fn list(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}
