//! What generated code says about the tensors that it needs, as constants.

use tenon_formats::StorageFormat;
use tenon_formats::expect::tensors::{Need, TensorCheck};

use super::held::Held;
use crate::linear::RowOrder;

/// One entry of a plan's tensor table: what the checkpoint must hold, and how the model keeps it. The comparison with a checkpoint, which
/// the compiler makes too, knows of the first alone.
#[derive(Clone, Copy, Debug)]
pub struct PlannedTensor {
    /// What the checkpoint must hold.
    pub(super) check: TensorCheck<'static>,
    /// How it is kept once it is loaded.
    pub(super) held: Held,
    /// Another entry compares it, and says how else it is kept.
    pub(super) is_again: bool,
}

impl PlannedTensor {
    /// A tensor that the checkpoint may have and the model does not read. `{layer}` in the name stands for any number, and `*` at
    /// its end for any ending.
    ///
    /// # Panics
    /// At compile time, without a reason; it is for the reader of the generated code.
    pub const fn ignored(name: &'static str, reason: &str) -> Self {
        Self { check: TensorCheck::ignored(name, reason), held: Held::Nothing, is_again: false }
    }

    /// A tensor that stands once, or once in each of some layers.
    pub(super) const fn new(name: &'static str, layers: Option<&'static [usize]>, need: Need<'static>, held: Held) -> Self {
        Self { check: TensorCheck { name, layers, need }, held, is_again: false }
    }

    /// A tensor that has an entry of its own and is kept a second time, in another way.
    pub(super) const fn again(name: &'static str, need: Need<'static>, held: Held) -> Self {
        Self { check: TensorCheck { name, layers: None, need }, held, is_again: true }
    }

    /// What a checkpoint is compared with; nothing for a tensor that another entry compares.
    pub fn compared(&self) -> Option<TensorCheck<'static>> {
        (!self.is_again).then_some(self.check)
    }
}

/// The weight of a linear layer, `[OUT, IN]`. `{layer}` in the name stands for the layer's number.
#[derive(Clone, Copy, Debug)]
pub struct LinearSpec<const OUT: usize, const IN: usize> {
    pub(crate) name: &'static str,
    pub(crate) accept: &'static [StorageFormat],
    pub(crate) order: RowOrder,
}

/// The token embedding, `[VOCAB, HIDDEN]`.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingSpec<const VOCAB: usize, const HIDDEN: usize> {
    pub(crate) name: &'static str,
    pub(crate) accept: &'static [StorageFormat],
}

/// The weight of a norm, `[D]`. Of the accepted formats, those that are not quantised.
#[derive(Clone, Copy, Debug)]
pub struct NormSpec<const D: usize> {
    pub(crate) name: &'static str,
    pub(crate) accept: &'static [StorageFormat],
    /// The file holds `w` where the norm multiplies by `1 + w`.
    pub(super) plus_one: bool,
}

/// The bias of a linear layer, `[D]`. Of the accepted formats, those that are not quantised.
#[derive(Clone, Copy, Debug)]
pub struct BiasSpec<const D: usize> {
    pub(crate) name: &'static str,
    pub(crate) accept: &'static [StorageFormat],
    pub(crate) order: RowOrder,
}

/// The projection from latents to keys and values, `[HEADS * (NOPE + V), R]`.
#[derive(Clone, Copy, Debug)]
pub struct LatentUpSpec<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> {
    pub(crate) name: &'static str,
    pub(crate) accept: &'static [StorageFormat],
}

/// `N` numbers of a layer, `[N]`. Of the accepted formats, those that are not quantised.
#[derive(Clone, Copy, Debug)]
pub struct VectorSpec<const N: usize> {
    pub(crate) name: &'static str,
    pub(crate) accept: &'static [StorageFormat],
}

/// The filters of a depthwise convolution, `[DIM, 1, KERNEL]`. Of the accepted formats, those that are not quantised.
#[derive(Clone, Copy, Debug)]
pub struct ConvSpec<const DIM: usize, const KERNEL: usize> {
    pub(crate) name: &'static str,
    pub(crate) accept: &'static [StorageFormat],
}

/// The decays of `N` heads, stored as `A_log` where the decay is `-exp(A_log)`. Of the accepted formats, those that are not
/// quantised.
#[derive(Clone, Copy, Debug)]
pub struct DecaySpec<const N: usize> {
    pub(crate) name: &'static str,
    pub(crate) accept: &'static [StorageFormat],
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

    pub(crate) const fn need(&self) -> Need<'static> {
        Need::matrix(self.order.stored_rows(OUT), IN, self.accept)
    }

    /// The table entry of a head that is the embedding: that entry compares the tensor, and this one says that it is packed besides.
    pub const fn tied(&self) -> PlannedTensor {
        PlannedTensor::again(self.name, self.need(), Held::Packed { outputs: OUT })
    }
}

impl<const VOCAB: usize, const HIDDEN: usize> EmbeddingSpec<VOCAB, HIDDEN> {
    /// An embedding of one row per token id.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(crate) const fn need(&self) -> Need<'static> {
        Need::table(VOCAB, HIDDEN, self.accept)
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

    pub(crate) const fn need(&self) -> Need<'static> {
        Need::vector(D, self.accept)
    }
}

impl<const N: usize> VectorSpec<N> {
    /// Numbers that are read as they are stored.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(crate) const fn need(&self) -> Need<'static> {
        Need::vector(N, self.accept)
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

    pub(crate) const fn need(&self) -> Need<'static> {
        Need::vector(self.order.stored_rows(D), self.accept)
    }
}

impl<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> LatentUpSpec<HEADS, NOPE, V, R> {
    /// A projection of which each head's rows stand together, those of the key first.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(crate) const fn need(&self) -> Need<'static> {
        Need::latent_up(HEADS, NOPE, V, R, self.accept)
    }
}

impl<const DIM: usize, const KERNEL: usize> ConvSpec<DIM, KERNEL> {
    /// Filters of one channel each.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(crate) const fn need(&self) -> Need<'static> {
        Need::filters(DIM, KERNEL, self.accept)
    }
}

impl<const N: usize> DecaySpec<N> {
    /// Decays, stored as their logarithms.
    pub const fn new(name: &'static str, accept: &'static [StorageFormat]) -> Self {
        Self { name, accept }
    }

    pub(crate) const fn need(&self) -> Need<'static> {
        Need::vector(N, self.accept)
    }
}

/// The table entries of a spec.
macro_rules! checks {
    ($(impl<$(const $dim:ident),+> $spec:ident held as $held:expr;)+) => {$(
        impl<$(const $dim: usize),+> $spec<$($dim),+> {
            /// The table entry of a tensor that stands once.
            pub const fn once(&self) -> PlannedTensor {
                PlannedTensor::new(self.name, None, self.need(), $held)
            }

            /// The table entry of a tensor that stands once in each of these layers.
            pub const fn per_layer(&self, layers: &'static [usize]) -> PlannedTensor {
                PlannedTensor::new(self.name, Some(layers), self.need(), $held)
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
