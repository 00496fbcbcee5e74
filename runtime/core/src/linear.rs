//! Weights with their dimensions in the type: projections, norms, biases and embeddings.

mod block;
mod conv;
mod decay;
pub(crate) mod decode;
mod embedding;
pub(crate) mod gemm;
mod gemv;
mod int8;
mod latent;
mod order;
pub(crate) mod packed;
pub(crate) mod product;
pub(crate) mod source;
mod stored;
#[cfg(test)]
mod tests;
mod vector;

use tenon_formats::StorageFormat;

pub use self::conv::Conv;
pub use self::decay::Decay;
pub use self::decode::decode_row;
pub use self::embedding::Embedding;
pub use self::int8::Int8Rows;
pub use self::latent::LatentUp;
pub(crate) use self::latent::UpView;
pub use self::order::{RowOrder, Segment};
pub use self::vector::Vector;

use self::packed::Packed;
use self::product::Then;
use self::source::Source;
use crate::cpu::Cpu;
use crate::rows::Rows;

/// Why stored bytes are not the weight that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// Rows are not whole blocks.
    #[error("{format} stores blocks of {}, and rows of {inputs} are not a whole number of them", .format.block_len())]
    Blocks {
        /// The format.
        format: StorageFormat,
        /// Elements of a row.
        inputs: usize,
    },
    /// More or fewer bytes than the shape needs.
    #[error("{rows} rows of {inputs} in {format} are {expected} bytes, and there are {found}")]
    Length {
        /// The format.
        format: StorageFormat,
        /// Rows of the tensor.
        rows: usize,
        /// Elements of a row.
        inputs: usize,
        /// Bytes that the shape needs.
        expected: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// The row order does not fit the shape.
    #[error("the row order does not fit: {what}")]
    Order {
        /// In what way.
        what: String,
    },
    /// Scales that stand in a tensor of their own, and are more or fewer than the shape needs.
    #[error("{expected} scales of {format} belong to this shape, and there are {found}")]
    Scales {
        /// The format.
        format: StorageFormat,
        /// Scales that the shape needs.
        expected: usize,
        /// Scales that there are.
        found: usize,
    },
    /// A transposed matrix in a quantised format.
    #[error("a transposed matrix is stored as f32, f16 or bf16, and this one is {format}")]
    Transposed {
        /// The format.
        format: StorageFormat,
    },
    /// An embedding whose scales stand apart.
    #[error("an embedding in {format} has scales in another tensor, which are not read")]
    Embedding {
        /// The format.
        format: StorageFormat,
    },
    /// A vector in a quantised format.
    #[error("a vector is stored as f32, f16 or bf16, and this one is {format}")]
    Vector {
        /// The format.
        format: StorageFormat,
    },
    /// Scales of blocks of rows that an order takes apart.
    #[error(
        "outputs {first}..{end} share a scale on a device, and the row order takes them from stored rows with different scales"
    )]
    SplitScales {
        /// The first of them.
        first: usize,
        /// The one after the last.
        end: usize,
    },
    /// Experts that are stored in several formats.
    #[error("the experts of a layer are stored in {first} and in {other}, and on a device they have one format")]
    MixedFormats {
        /// Of one expert.
        first: StorageFormat,
        /// Of another.
        other: StorageFormat,
    },
    /// The logarithm of a decay that leaves no decay, or an infinite one.
    #[error("element {index} is {log}: the decay is -exp of it, which must be below 0 and finite")]
    Decay {
        /// Which element.
        index: usize,
        /// What is stored.
        log: String,
    },
}

/// Bytes of one row, after comparing the bytes of all with the shape.
fn row_bytes(format: StorageFormat, rows: usize, inputs: usize, found: usize) -> Result<usize, PackError> {
    let row = format.row_bytes(inputs).ok_or(PackError::Blocks { format, inputs })?;
    let expected = row * rows;
    if expected == found { Ok(row) } else { Err(PackError::Length { format, rows, inputs, expected, found }) }
}

/// A matrix `[OUT, IN]`, packed for this machine's kernels in its stored format.
pub struct Linear<const OUT: usize, const IN: usize>(Packed);

impl<const OUT: usize, const IN: usize> Linear<OUT, IN> {
    /// Packs `data`, which is `[OUT, IN]` in `format`, row by row; `order` says which stored row is which output, and with
    /// [`RowOrder::Parts`] how many rows are stored. Scales that the format keeps outside its blocks are 1 here.
    ///
    /// # Errors
    /// When `data` is not of that shape, or `order` does not fit it.
    pub fn pack(cpu: &Cpu, format: StorageFormat, data: &[u8], order: RowOrder) -> Result<Self, PackError> {
        const { assert!(OUT > 0 && IN > 0, "a matrix has at least one element") };
        Packed::new(cpu, format, data, order, OUT, IN).map(Self)
    }

    /// Packs `data`, which is `[OUT, IN]` in fp8, row by row, with `scales`, `[ceil(OUT / 128), ceil(IN / 128)]`.
    ///
    /// # Errors
    /// When `data` or `scales` are not of that shape.
    pub fn pack_fp8(cpu: &Cpu, data: &[u8], scales: Vec<f32>) -> Result<Self, PackError> {
        Self::from_source(cpu, &Source::fp8_blocks(data, scales, OUT, IN)?, RowOrder::Stored)
    }

    /// Packs a matrix whose scales may stand apart from it.
    pub(crate) fn from_source(cpu: &Cpu, source: &Source<'_>, order: RowOrder) -> Result<Self, PackError> {
        const { assert!(OUT > 0 && IN > 0, "a matrix has at least one element") };
        Packed::ordered(cpu, source, order, OUT).map(Self)
    }

    /// `out = W x` for each row: `[rows, IN]` to `[rows, OUT]`. Sets the rows of `out`.
    ///
    /// `TILE`, from KERNEL.toml, is the number of rows that are computed together where there are many.
    pub fn forward<const TILE: usize>(&self, cpu: &Cpu, x: &Rows<f32, IN>, out: &mut Rows<f32, OUT>) {
        const { assert!(TILE > 0 && TILE <= gemm::MAX_TILE, "a register tile has 1 to 6 rows") };
        out.set_rows(x.rows());
        self.0.multiply(cpu, OUT, IN, TILE, x.as_slice(), out.as_mut_slice(), Then::Store);
    }

    /// `out += W x` for each row: `[rows, IN]` to `[rows, OUT]`. The product is complete before it is added.
    ///
    /// # Panics
    /// If `out` does not have the rows of `x`.
    pub fn forward_add<const TILE: usize>(&self, cpu: &Cpu, x: &Rows<f32, IN>, out: &mut Rows<f32, OUT>) {
        const { assert!(TILE > 0 && TILE <= gemm::MAX_TILE, "a register tile has 1 to 6 rows") };
        assert_eq!(x.rows(), out.rows(), "the residual is of the same batch");
        self.0.multiply(cpu, OUT, IN, TILE, x.as_slice(), out.as_mut_slice(), Then::Add);
    }

    /// `out = W x` for each row, where `x` is in int8: `[rows, IN]` to `[rows, OUT]`. Sets the rows of `out`.
    ///
    /// Products of quants are integers; the values of other formats are multiplied with the values that the quants stand for.
    pub fn forward_int8(&self, cpu: &Cpu, x: &Int8Rows<IN>, out: &mut Rows<f32, OUT>) {
        out.set_rows(x.rows());
        self.0.multiply_int8(cpu, OUT, IN, x.blocks(), x.rows(), out.as_mut_slice(), Then::Store);
    }

    /// `out += W x` for each row, where `x` is in int8. The product is complete before it is added.
    ///
    /// # Panics
    /// If `out` does not have the rows of `x`.
    pub fn forward_int8_add(&self, cpu: &Cpu, x: &Int8Rows<IN>, out: &mut Rows<f32, OUT>) {
        assert_eq!(x.rows(), out.rows(), "the residual is of the same batch");
        self.0.multiply_int8(cpu, OUT, IN, x.blocks(), x.rows(), out.as_mut_slice(), Then::Add);
    }

    /// The storage format.
    pub fn format(&self) -> StorageFormat {
        self.0.format()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl<const OUT: usize, const IN: usize> std::fmt::Debug for Linear<OUT, IN> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Linear<{OUT}, {IN}>({})", self.format())
    }
}

/// The weights of a norm over `D` elements.
#[derive(Clone, Debug)]
pub struct Norm<const D: usize>(Box<[f32; D]>);

impl<const D: usize> Norm<D> {
    /// Decodes `D` elements of f32, f16 or bf16.
    ///
    /// # Errors
    /// When `data` has another length or a quantised format.
    pub fn decode(format: StorageFormat, data: &[u8]) -> Result<Self, PackError> {
        decode_vector(format, data, RowOrder::Stored).map(Self)
    }

    /// The norm that multiplies by `1 + w`, in f32, where these weights are `w`.
    pub fn plus_one(mut self) -> Self {
        for w in self.0.iter_mut() {
            *w += 1.0;
        }
        self
    }

    /// The weights.
    pub fn weights(&self) -> &[f32; D] {
        &self.0
    }

    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        size_of::<[f32; D]>()
    }
}

/// The bias of a projection with `D` outputs.
#[derive(Clone, Debug)]
pub struct Bias<const D: usize>(Box<[f32; D]>);

impl<const D: usize> Bias<D> {
    /// Decodes `D` elements of f32, f16 or bf16, in the row order of the projection that the bias belongs to.
    ///
    /// # Errors
    /// When `data` has another length or a quantised format, or `order` does not fit.
    pub fn decode(format: StorageFormat, data: &[u8], order: RowOrder) -> Result<Self, PackError> {
        decode_vector(format, data, order).map(Self)
    }

    /// The elements.
    pub fn values(&self) -> &[f32; D] {
        &self.0
    }

    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        size_of::<[f32; D]>()
    }
}

fn decode_vector<const D: usize>(format: StorageFormat, data: &[u8], order: RowOrder) -> Result<Box<[f32; D]>, PackError> {
    if format.is_quantised() {
        return Err(PackError::Vector { format });
    }
    order.check(D).map_err(|what| PackError::Order { what })?;
    let rows = order.stored_rows(D);
    row_bytes(format, 1, rows, data.len())?;
    let mut stored = vec![0.0; rows];
    decode::decode_row(format, data, &mut stored);
    let ordered: Box<[f32]> = (0..D).map(|row| stored[order.stored_row(row, D)]).collect();
    Ok(ordered.try_into().expect("D elements were collected"))
}
