//! `TensorEntry`: where one tensor of a checkpoint stands and what it is.

use std::ops::Range;

use crate::shown::shown;
use crate::storage::StorageFormat;

/// How the elements of a tensor are stored: a format that this version reads, or another one by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TensorFormat {
    /// One that this version reads.
    Known(StorageFormat),
    /// Another one, in lower case as its file format spells it (`q2_k`, `f8_e5m2`).
    Other(String),
}

impl TensorFormat {
    /// The format with this spelling, in any case; `F8_E4M3` is how safetensors spell [`StorageFormat::Fp8E4m3`].
    pub fn from_name(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if name == "f8_e4m3" {
            return Self::Known(StorageFormat::Fp8E4m3);
        }
        StorageFormat::parse(&name).map_or(Self::Other(name), Self::Known)
    }

    /// The format, where this version reads it.
    pub fn known(&self) -> Option<StorageFormat> {
        match self {
            Self::Known(format) => Some(*format),
            Self::Other(_) => None,
        }
    }

    /// The spelling in specs and messages.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(format) => format.as_str(),
            Self::Other(name) => name,
        }
    }
}

impl std::fmt::Display for TensorFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        shown(self.as_str()).fmt(f)
    }
}

/// One tensor of a checkpoint. Readers return it only when its bytes lie inside the file and are as many as the shape and the
/// format say (for a format whose size nobody knows, only the former).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorEntry {
    /// The name in the file.
    pub name: String,
    /// Row-major, outermost first: `[out, in]` for a linear layer, also where the file lists them the other way round (GGUF).
    pub shape: Vec<usize>,
    /// How the elements are stored.
    pub format: TensorFormat,
    /// Which file of the checkpoint, in the order of its shards.
    pub file: usize,
    /// Its bytes, from the start of that file.
    pub range: Range<u64>,
}

/// Elements of a tensor of this shape (1 for a scalar), or `None` when they are more than 64 bits count.
pub(crate) fn elements(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_formats_keep_their_name() {
        assert_eq!(TensorFormat::from_name("BF16"), TensorFormat::Known(StorageFormat::Bf16));
        assert_eq!(TensorFormat::from_name("Q6_K").as_str(), "q6_k");
    }

    #[test]
    fn elements_do_not_wrap() {
        assert_eq!(elements(&[]), Some(1));
        assert_eq!(elements(&[1 << 32, 1 << 32]), None);
        assert_eq!(elements(&[1 << 32, 1 << 31]), Some(1 << 63));
    }
}
