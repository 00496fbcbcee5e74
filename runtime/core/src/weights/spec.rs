//! What generated code says about the tensors that it needs, as constants.

use tenon_formats::StorageFormat;

use super::experts::ExpertsNeed;
use super::held::Held;
use crate::linear::RowOrder;

/// One entry of a plan's tensor table: which names there must be, and what they must be.
#[derive(Clone, Copy, Debug)]
pub struct TensorCheck {
    pub(super) name: &'static str,
    /// The layers that `{layer}` in the name stands for; without them the tensor stands once.
    pub(super) layers: Option<&'static [usize]>,
    pub(super) need: Need,
    /// How it is kept once it is loaded.
    pub(super) held: Held,
    /// False for a second entry of a tensor, which the first one compares.
    pub(super) compared: bool,
}

/// What a tensor must be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    /// `[out, in]` in one of these formats.
    Matrix { shape: [usize; 2], accept: &'static [StorageFormat] },
    /// `[vocab, hidden]` in one of these formats that has all scales in its blocks.
    Table { shape: [usize; 2], accept: &'static [StorageFormat] },
    /// `[len]` in one of these formats, where its elements are not quantised.
    Vector { len: [usize; 1], accept: &'static [StorageFormat] },
    /// `[channels, 1, kernel]` in one of these formats, where its elements are not quantised.
    Filters { shape: [usize; 3], accept: &'static [StorageFormat] },
    /// `[experts, len]` in one of these formats, where its elements are not quantised.
    Biases { shape: [usize; 2], accept: &'static [StorageFormat] },
    /// All tensors of experts.
    Experts(ExpertsNeed),
    /// Not read; it may be there or not.
    Nothing,
}

impl Need {
    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Self::Matrix { shape, .. } | Self::Table { shape, .. } => shape,
            Self::Vector { len, .. } => len,
            Self::Biases { shape, .. } => shape,
            Self::Filters { shape, .. } => shape,
            Self::Experts(_) | Self::Nothing => &[],
        }
    }

    /// The accepted formats of a tensor that is read alone. Norms and biases are not quantised, whatever the matrices may be, and
    /// these two have scales in other tensors.
    pub(super) fn accepted(&self) -> Vec<StorageFormat> {
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

impl TensorCheck {
    /// A tensor that the checkpoint may have and the model does not read. `{layer}` in the name stands for any number, and `*` at
    /// its end for any ending.
    ///
    /// # Panics
    /// At compile time, without a reason; it is for the reader of the generated code.
    pub const fn ignored(name: &'static str, reason: &'static str) -> Self {
        assert!(!reason.is_empty(), "an ignored tensor needs a reason");
        Self { name, layers: None, need: Need::Nothing, held: Held::Nothing, compared: false }
    }
}

/// The weight of a linear layer, `[OUT, IN]`. `{layer}` in the name stands for the layer's number.
#[derive(Clone, Copy, Debug)]
pub struct LinearSpec<const OUT: usize, const IN: usize> {
    pub(super) name: &'static str,
    pub(super) accept: &'static [StorageFormat],
    pub(super) order: RowOrder,
}

/// The token embedding, `[VOCAB, HIDDEN]`.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingSpec<const VOCAB: usize, const HIDDEN: usize> {
    pub(super) name: &'static str,
    pub(super) accept: &'static [StorageFormat],
}

/// The weight of a norm, `[D]`. Of the accepted formats, those that are not quantised.
#[derive(Clone, Copy, Debug)]
pub struct NormSpec<const D: usize> {
    pub(super) name: &'static str,
    pub(super) accept: &'static [StorageFormat],
    /// The file holds `w` where the norm multiplies by `1 + w`.
    pub(super) plus_one: bool,
}

/// The bias of a linear layer, `[D]`. Of the accepted formats, those that are not quantised.
#[derive(Clone, Copy, Debug)]
pub struct BiasSpec<const D: usize> {
    pub(super) name: &'static str,
    pub(super) accept: &'static [StorageFormat],
    pub(super) order: RowOrder,
}

/// The projection from latents to keys and values, `[HEADS * (NOPE + V), R]`.
#[derive(Clone, Copy, Debug)]
pub struct LatentUpSpec<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> {
    pub(super) name: &'static str,
    pub(super) accept: &'static [StorageFormat],
}

/// `N` numbers of a layer, `[N]`. Of the accepted formats, those that are not quantised.
#[derive(Clone, Copy, Debug)]
pub struct VectorSpec<const N: usize> {
    pub(super) name: &'static str,
    pub(super) accept: &'static [StorageFormat],
}

/// The filters of a depthwise convolution, `[DIM, 1, KERNEL]`. Of the accepted formats, those that are not quantised.
#[derive(Clone, Copy, Debug)]
pub struct ConvSpec<const DIM: usize, const KERNEL: usize> {
    pub(super) name: &'static str,
    pub(super) accept: &'static [StorageFormat],
}

/// The decays of `N` heads, stored as `A_log` where the decay is `-exp(A_log)`. Of the accepted formats, those that are not
/// quantised.
#[derive(Clone, Copy, Debug)]
pub struct DecaySpec<const N: usize> {
    pub(super) name: &'static str,
    pub(super) accept: &'static [StorageFormat],
}

impl<const OUT: usize, const IN: usize> LinearSpec<OUT, IN> {
    /// A weight stored row by row.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept, order: RowOrder::Stored }
    }

    /// The same with rows that the file has in another order.
    pub const fn rows(self, order: RowOrder) -> Self {
        Self { order, ..self }
    }

    pub(super) const fn need(&self) -> Need {
        Need::Matrix { shape: [self.order.stored_rows(OUT), IN], accept: self.accept }
    }

    /// The table entry of a head that is the embedding: that entry compares the tensor, and this one says that it is packed besides.
    pub const fn tied(&self) -> TensorCheck {
        TensorCheck { name: self.name, layers: None, need: self.need(), held: Held::Packed { outputs: OUT }, compared: false }
    }
}

impl<const VOCAB: usize, const HIDDEN: usize> EmbeddingSpec<VOCAB, HIDDEN> {
    /// An embedding of one row per token id.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(super) const fn need(&self) -> Need {
        Need::Table { shape: [VOCAB, HIDDEN], accept: self.accept }
    }
}

impl<const D: usize> NormSpec<D> {
    /// A norm's weight.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept, plus_one: false }
    }

    /// The same where the norm multiplies by `1 + w`.
    pub const fn plus_one(self) -> Self {
        Self { plus_one: true, ..self }
    }

    pub(super) const fn need(&self) -> Need {
        Need::Vector { len: [D], accept: self.accept }
    }
}

impl<const N: usize> VectorSpec<N> {
    /// Numbers that are read as they are stored.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(super) const fn need(&self) -> Need {
        Need::Vector { len: [N], accept: self.accept }
    }
}

impl<const D: usize> BiasSpec<D> {
    /// A bias.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept, order: RowOrder::Stored }
    }

    /// The same with elements that the file has in the order of permuted rows.
    pub const fn rows(self, order: RowOrder) -> Self {
        Self { order, ..self }
    }

    pub(super) const fn need(&self) -> Need {
        Need::Vector { len: [self.order.stored_rows(D)], accept: self.accept }
    }
}

impl<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> LatentUpSpec<HEADS, NOPE, V, R> {
    /// A projection of which each head's rows stand together, those of the key first.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(super) const fn need(&self) -> Need {
        Need::Matrix { shape: [HEADS * (NOPE + V), R], accept: self.accept }
    }
}

impl<const DIM: usize, const KERNEL: usize> ConvSpec<DIM, KERNEL> {
    /// Filters of one channel each.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(super) const fn need(&self) -> Need {
        Need::Filters { shape: [DIM, 1, KERNEL], accept: self.accept }
    }
}

impl<const N: usize> DecaySpec<N> {
    /// Decays, stored as their logarithms.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(super) const fn need(&self) -> Need {
        Need::Vector { len: [N], accept: self.accept }
    }
}

/// The table entries of a spec.
macro_rules! checks {
    ($(impl<$(const $dim:ident),+> $spec:ident held as $held:expr;)+) => {$(
        impl<$(const $dim: usize),+> $spec<$($dim),+> {
            /// The table entry of a tensor that stands once.
            pub const fn once(&self) -> TensorCheck {
                TensorCheck { name: self.name, layers: None, need: self.need(), held: $held, compared: true }
            }

            /// The table entry of a tensor that stands once in each of these layers.
            pub const fn per_layer(&self, layers: &'static [usize]) -> TensorCheck {
                TensorCheck { name: self.name, layers: Some(layers), need: self.need(), held: $held, compared: true }
            }
        }
    )+};
}
checks! {
    impl<const OUT, const IN> LinearSpec held as Held::Packed { outputs: OUT };
    impl<const VOCAB, const HIDDEN> EmbeddingSpec held as Held::Mapped;
    impl<const D> NormSpec held as Held::Floats(D);
    impl<const D> BiasSpec held as Held::Floats(D);
    impl<const N> VectorSpec held as Held::Floats(N);
    impl<const DIM, const KERNEL> ConvSpec held as Held::Floats(DIM * KERNEL);
    impl<const N> DecaySpec held as Held::Floats(N);
    impl<const HEADS, const NOPE, const V, const R> LatentUpSpec held as Held::Latent;
}
