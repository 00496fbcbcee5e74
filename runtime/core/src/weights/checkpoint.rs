//! `Checkpoint`: the files of one model, mapped into memory, with their headers and config read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use tenon_formats::expect::tensors::Tensors;
use tenon_formats::gguf::split::{self, PartName, Split};
use tenon_formats::index::{self, Index};
use tenon_formats::shown::shown;
use tenon_formats::{CanonicalConfig, Gguf, StorageFormat, TensorEntry, safetensors};

use super::LoadError;
use super::files::{has_extension, is_dir, map, names};

/// The names of the files of a folder with safetensors.
#[derive(Clone, Copy)]
struct Names {
    kind: CheckpointKind,
    config: &'static str,
    single: &'static str,
    index: &'static str,
}

const HF: Names =
    Names { kind: CheckpointKind::Hf, config: "config.json", single: "model.safetensors", index: "model.safetensors.index.json" };
const MISTRAL: Names = Names {
    kind: CheckpointKind::Mistral,
    config: "params.json",
    single: "consolidated.safetensors",
    index: "consolidated.safetensors.index.json",
};

/// How a checkpoint names and stores its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointKind {
    /// A directory with config.json and safetensors.
    Hf,
    /// One GGUF file, or the parts of a split one.
    Gguf,
    /// A directory with params.json and consolidated safetensors.
    Mistral,
}

impl fmt::Display for CheckpointKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hf => "hf",
            Self::Gguf => "gguf",
            Self::Mistral => "mistral",
        })
    }
}

/// The files of one model, mapped and not copied; they must not change while it is open.
#[derive(Debug)]
pub struct Checkpoint {
    /// The GGUF file (the first of a split one), or the directory.
    path: PathBuf,
    files: Vec<Mmap>,
    /// Sorted by name.
    tensors: Vec<TensorEntry>,
    config: CanonicalConfig,
    kind: CheckpointKind,
    gguf: Option<Gguf>,
}

impl Checkpoint {
    /// Opens a directory (config.json with model.safetensors or an index and its shards; params.json with consolidated.safetensors or
    /// an index and its shards, where the former are not there; or exactly one GGUF, whole or in parts)
    /// or a .gguf file (of a split one, the first part), and reads headers and config. Weights are not touched yet.
    ///
    /// # Errors
    /// When the path is neither, or a file contradicts its format, itself or the others.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref();
        if is_dir(path)? {
            return Self::open_dir(path);
        }
        if has_extension(path.as_os_str(), "safetensors") {
            return Err(LoadError::SafetensorsFile { path: path.to_owned() });
        }
        Self::open_gguf(path)
    }

    fn open_dir(dir: &Path) -> Result<Self, LoadError> {
        let names = names(dir)?;
        let with = |extension| {
            let matching = names.iter().filter(|name| has_extension(name, extension));
            matching.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let has = |name: &str| names.iter().any(|n| n == name);
        let shards = with("safetensors");
        let weights_of = |names: Names| has(names.index) || has(names.single);
        if has(MISTRAL.config) && weights_of(MISTRAL) && !weights_of(HF) {
            return if has(MISTRAL.index) { Self::open_sharded(dir, MISTRAL) } else { Self::open_single(dir, MISTRAL) };
        }
        if has(HF.index) || !shards.is_empty() {
            return match (has(HF.config), has(HF.index), has(HF.single)) {
                (false, ..) => Err(LoadError::MissingConfig { dir: dir.to_owned() }),
                (true, true, _) => Self::open_sharded(dir, HF),
                (true, false, true) => Self::open_single(dir, HF),
                (true, false, false) => Err(LoadError::NoIndex { dir: dir.to_owned(), names: shards }),
            };
        }
        let ggufs = with("gguf");
        let parts: Vec<_> = ggufs.iter().filter_map(|name| PartName::parse(name)).collect();
        match (ggufs.as_slice(), parts.as_slice()) {
            ([], _) => Err(LoadError::NoWeights { dir: dir.to_owned() }),
            (_, [one, rest @ ..]) if parts.len() == ggufs.len() && rest.iter().all(|part| part.is_beside(one)) => {
                let first = dir.join(one.of(0));
                Self::open_gguf(&first).map_err(|e| e.or_missing_part(&first, 0, one.count))
            }
            ([name], _) => Self::open_gguf(&dir.join(name)),
            _ => Err(LoadError::SeveralGgufs { dir: dir.to_owned(), names: ggufs }),
        }
    }

    fn open_gguf(path: &Path) -> Result<Self, LoadError> {
        let (file, gguf) = map_gguf(path)?;
        let about = |problem| LoadError::Split { path: path.to_owned(), problem: Box::new(problem) };
        let (files, gguf) = match gguf.split().map_err(about)? {
            None => (vec![file], gguf),
            Some(split) => open_parts(path, file, gguf, split)?,
        };
        let config = CanonicalConfig::from_gguf(&gguf)
            .map_err(|problem| LoadError::Config { path: path.to_owned(), problem: Box::new(problem) })?;
        Ok(Self {
            path: path.to_owned(),
            files,
            tensors: gguf.tensors.clone(),
            config,
            kind: CheckpointKind::Gguf,
            gguf: Some(gguf),
        })
    }

    fn open_single(dir: &Path, names: Names) -> Result<Self, LoadError> {
        let config = read_config(dir, names)?;
        let (file, tensors) = map_safetensors(&dir.join(names.single), 0)?;
        Ok(Self { path: dir.to_owned(), files: vec![file], tensors, config, kind: names.kind, gguf: None })
    }

    fn open_sharded(dir: &Path, names: Names) -> Result<Self, LoadError> {
        let config = read_config(dir, names)?;
        let path = dir.join(names.index);
        let index =
            index::read(&map(&path)?).map_err(|problem| LoadError::Index { path: path.clone(), problem: Box::new(problem) })?;
        let mut files = Vec::new();
        let mut tensors = Vec::new();
        for (i, shard) in index.shards.iter().enumerate() {
            let (file, entries) = match map_safetensors(&dir.join(shard), i) {
                Err(LoadError::NotFound { .. }) => {
                    let tensors = index.tensors.values().filter(|&&s| s == i).count();
                    return Err(LoadError::MissingShard { index: path, shard: shard.clone(), tensors });
                }
                other => other?,
            };
            files.push(file);
            tensors.extend(entries);
        }
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        check_index(&path, &index, &tensors)?;
        Ok(Self { path: dir.to_owned(), files, tensors, config, kind: names.kind, gguf: None })
    }

    /// What was opened: the directory, or the GGUF file, of a split one the first (also when only its directory was given).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory, where a tokenizer may stand beside the weights.
    pub fn dir(&self) -> &Path {
        match self.kind() {
            CheckpointKind::Hf | CheckpointKind::Mistral => &self.path,
            CheckpointKind::Gguf => self.path.parent().unwrap_or(Path::new("")),
        }
    }

    /// Which kind this is.
    pub fn kind(&self) -> CheckpointKind {
        self.kind
    }

    /// Refuses a checkpoint of another kind. Generated code asks first: names and configs of the two have little in common, and
    /// the comparison would list all of them.
    ///
    /// # Errors
    /// When this one is not of `kind`.
    pub fn require(&self, kind: CheckpointKind) -> Result<(), LoadError> {
        if self.kind() == kind {
            Ok(())
        } else {
            Err(LoadError::Kind { path: self.path.clone(), spec: kind, found: self.kind() })
        }
    }

    /// Hyperparameters under canonical names.
    pub fn config(&self) -> &CanonicalConfig {
        &self.config
    }

    /// The GGUF header, of a split one that of all parts together, whose metadata holds the tokenizer and the chat template.
    pub fn gguf(&self) -> Option<&Gguf> {
        self.gguf.as_ref()
    }

    /// Every tensor, sorted by name.
    pub fn tensors(&self) -> &[TensorEntry] {
        &self.tensors
    }

    /// The tensor with this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorEntry> {
        self.position(name).map(|at| &self.tensors[at])
    }

    /// The bytes of one of [`tensors`](Self::tensors).
    ///
    /// # Panics
    /// For an entry of another checkpoint, where its range is outside this one's files.
    pub fn data(&self, tensor: &TensorEntry) -> &[u8] {
        &self.files[tensor.file][tensor.range.start as usize..tensor.range.end as usize]
    }

    /// The same, to be found by name.
    pub(super) fn by_name(&self) -> Tensors<'_> {
        Tensors::sorted(&self.tensors)
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.by_name().position(name)
    }
}

/// A tensor that stays in its mapped file and keeps the checkpoint open.
#[derive(Clone, Debug)]
pub struct MappedTensor {
    checkpoint: Arc<Checkpoint>,
    /// Position in the checkpoint's tensors.
    at: usize,
    format: StorageFormat,
}

impl MappedTensor {
    /// The tensor with this name, or `None` where there is none or its format is not one that this version reads.
    pub fn new(checkpoint: &Arc<Checkpoint>, name: &str) -> Option<Self> {
        let at = checkpoint.position(name)?;
        let format = checkpoint.tensors[at].format.known()?;
        Some(Self { checkpoint: Arc::clone(checkpoint), at, format })
    }

    /// Its name in the checkpoint.
    pub fn name(&self) -> &str {
        &self.entry().name
    }

    /// Row-major, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.entry().shape
    }

    /// How its elements are stored.
    pub fn format(&self) -> StorageFormat {
        self.format
    }

    /// Its bytes, as they stand in the file.
    pub fn bytes(&self) -> &[u8] {
        self.checkpoint.data(self.entry())
    }

    fn entry(&self) -> &TensorEntry {
        &self.checkpoint.tensors[self.at]
    }
}

/// The parts of a split GGUF of which `path` is the first, and what they say together.
fn open_parts(path: &Path, file: Mmap, gguf: Gguf, split: Split) -> Result<(Vec<Mmap>, Gguf), LoadError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(name) = name.and_then(PartName::parse).filter(|name| (name.no, name.count) == (split.no, split.count)) else {
        return Err(LoadError::PartName { path: path.to_owned(), split });
    };
    if split.no != 0 {
        return Err(LoadError::NotFirstPart { path: path.to_owned(), split, first: name.of(0) });
    }
    let path_of = |no| path.with_file_name(name.of(no));
    let (mut files, mut parts) = (vec![file], vec![gguf]);
    for no in 1..split.count {
        let path = path_of(no);
        let (file, part) = map_gguf(&path).map_err(|e| e.or_missing_part(&path, no, split.count))?;
        split::check_part(&parts[0], split, &part, no)
            .map_err(|problem| LoadError::Split { path: path.clone(), problem: Box::new(problem) })?;
        files.push(file);
        parts.push(part);
    }
    let whole = split::join(parts, split)
        .map_err(|(no, problem)| LoadError::Split { path: path_of(no as u64), problem: Box::new(problem) })?;
    Ok((files, whole))
}

/// Checks that each tensor is in the shard that the index names, and nowhere else.
fn check_index(path: &Path, index: &Index, tensors: &[TensorEntry]) -> Result<(), LoadError> {
    let disagree =
        |tensor: &str, problem| Err(LoadError::IndexDisagrees { index: path.to_owned(), tensor: tensor.to_owned(), problem });
    for tensor in tensors {
        let found = &index.shards[tensor.file];
        match index.tensors.get(&tensor.name) {
            None => return disagree(&tensor.name, format!("is in {} and not in the index", shown(found))),
            Some(&shard) if shard != tensor.file => {
                return disagree(
                    &tensor.name,
                    format!("belongs into {} and is in {}", shown(&index.shards[shard]), shown(found)),
                );
            }
            Some(_) => {}
        }
    }
    for (name, &shard) in &index.tensors {
        if tensors.binary_search_by(|t| t.name.cmp(name)).is_err() {
            return disagree(name, format!("belongs into {} and is not there", shown(&index.shards[shard])));
        }
    }
    Ok(())
}

fn read_config(dir: &Path, names: Names) -> Result<CanonicalConfig, LoadError> {
    let path = dir.join(names.config);
    let text = map(&path)?;
    let config = match names.kind {
        CheckpointKind::Mistral => CanonicalConfig::from_mistral(&text),
        CheckpointKind::Hf | CheckpointKind::Gguf => CanonicalConfig::from_hf_text(&text),
    };
    config.map_err(|problem| LoadError::Config { path, problem: Box::new(problem) })
}

fn map_gguf(path: &Path) -> Result<(Mmap, Gguf), LoadError> {
    let bytes = map(path)?;
    let gguf = Gguf::read(&bytes).map_err(|problem| LoadError::Gguf { path: path.to_owned(), problem: Box::new(problem) })?;
    Ok((bytes, gguf))
}

fn map_safetensors(path: &Path, file: usize) -> Result<(Mmap, Vec<TensorEntry>), LoadError> {
    let bytes = map(path)?;
    let tensors = safetensors::read(&bytes, file)
        .map_err(|problem| LoadError::Safetensors { path: path.to_owned(), problem: Box::new(problem) })?;
    Ok((bytes, tensors))
}
