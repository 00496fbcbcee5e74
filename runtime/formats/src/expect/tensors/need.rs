//! What a plan needs of the tensors of a checkpoint, as a table that generated code holds and the compiler makes.

use super::experts::ExpertsNeed;
use crate::storage::StorageFormat;

/// One entry of a plan's tensor table: which names there must be, and what they must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorCheck<'a> {
    /// `{layer}` stands for a layer's number.
    pub name: &'a str,
    /// The layers that `{layer}` in the name stands for; without them the tensor stands once.
    pub layers: Option<&'a [usize]>,
    /// What each of them must be.
    pub need: Need<'a>,
}

/// What a tensor must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// `[out, in]` in one of these formats.
    Matrix {
        /// Outputs, with those rows of the stored tensor that another weight takes, and inputs.
        shape: [usize; 2],
        /// Formats.
        accept: &'a [StorageFormat],
    },
    /// `[vocab, hidden]` in one of these formats that has all scales in its blocks.
    Table {
        /// Tokens and width.
        shape: [usize; 2],
        /// Formats.
        accept: &'a [StorageFormat],
    },
    /// `[len]` in one of these formats, where its elements are not quantised.
    Vector {
        /// Elements.
        len: [usize; 1],
        /// Formats.
        accept: &'a [StorageFormat],
    },
    /// `[channels, 1, kernel]` in one of these formats, where its elements are not quantised.
    Filters {
        /// Channels, 1 and elements of a filter.
        shape: [usize; 3],
        /// Formats.
        accept: &'a [StorageFormat],
    },
    /// `[experts, len]` in one of these formats, where its elements are not quantised.
    Biases {
        /// Experts and elements of each.
        shape: [usize; 2],
        /// Formats.
        accept: &'a [StorageFormat],
    },
    /// All tensors of experts.
    Experts(ExpertsNeed<'a>),
    /// Not read; it may be there or not.
    Nothing,
}

impl<'a> Need<'a> {
    /// A linear layer whose tensor has so many rows.
    pub const fn matrix(rows: usize, inputs: usize, accept: &'a [StorageFormat]) -> Self {
        Self::Matrix { shape: [rows, inputs], accept }
    }

    /// A token embedding.
    pub const fn table(vocab: usize, hidden: usize, accept: &'a [StorageFormat]) -> Self {
        Self::Table { shape: [vocab, hidden], accept }
    }

    /// A norm, a bias, decays, or other numbers of a layer.
    pub const fn vector(len: usize, accept: &'a [StorageFormat]) -> Self {
        Self::Vector { len: [len], accept }
    }

    /// The filters of a depthwise convolution.
    pub const fn filters(channels: usize, kernel: usize, accept: &'a [StorageFormat]) -> Self {
        Self::Filters { shape: [channels, 1, kernel], accept }
    }

    /// The projection from latents to the keys and the values of each head.
    pub const fn latent_up(heads: usize, nope: usize, v: usize, rank: usize, accept: &'a [StorageFormat]) -> Self {
        Self::Matrix { shape: [heads * (nope + v), rank], accept }
    }

    /// The shape of a tensor that stands for itself; of experts and of what is not read, nothing.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Matrix { shape, .. } | Self::Table { shape, .. } => shape,
            Self::Vector { len, .. } => len,
            Self::Biases { shape, .. } => shape,
            Self::Filters { shape, .. } => shape,
            Self::Experts(_) | Self::Nothing => &[],
        }
    }

    /// The accepted formats of a tensor that is read alone. Norms and biases are not quantised, whatever the matrices may be, and
    /// two formats have scales in other tensors.
    pub fn accepted(&self) -> Vec<StorageFormat> {
        match self {
            Self::Matrix { accept, .. } | Self::Table { accept, .. } => {
                let apart = [StorageFormat::Fp8E4m3, StorageFormat::Nvfp4];
                accept.iter().copied().filter(|f| !apart.contains(f)).collect()
            }
            Self::Vector { accept, .. } | Self::Biases { accept, .. } | Self::Filters { accept, .. } => {
                accept.iter().copied().filter(|f| !f.is_quantised()).collect()
            }
            Self::Experts(_) | Self::Nothing => Vec::new(),
        }
    }
}

impl<'a> TensorCheck<'a> {
    /// A tensor that the checkpoint may have and the model does not read. `{layer}` in the name stands for any number, and `*` at
    /// its end for any ending.
    ///
    /// # Panics
    /// Without a reason, at compile time where generated code says so; it is for the reader of that.
    pub const fn ignored(name: &'a str, reason: &str) -> Self {
        assert!(!reason.is_empty(), "an ignored tensor needs a reason");
        Self { name, layers: None, need: Need::Nothing }
    }
}
