//! Weights with their dimensions in the type: projections, norms, biases and embeddings.

mod block;
mod decode;
mod embedding;
pub(crate) mod gemm;
mod gemv;
mod order;
mod product;
#[cfg(test)]
mod tests;

use tenon_formats::StorageFormat;

pub use self::embedding::Embedding;
pub use self::order::RowOrder;

use self::block::Block;
use self::product::{LANES, Matrix, Then, multiply};
use crate::cpu::Cpu;
use crate::cpu::grid::Grid;
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
    /// A vector in a quantised format.
    #[error("a vector is stored as f32, f16 or bf16, and this one is {format}")]
    Vector {
        /// The format.
        format: StorageFormat,
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

enum Packed {
    F32(Box<[block::F32]>),
    F16(Box<[block::F16]>),
    Bf16(Box<[block::Bf16]>),
    Q4_0(Box<[block::Q4_0]>),
    Q4_1(Box<[block::Q4_1]>),
    Q8_0(Box<[block::Q8_0]>),
}

/// Evaluates `$then` with `$blocks` bound to the blocks, whatever their type.
macro_rules! with_blocks {
    ($packed:expr, $blocks:ident => $then:expr) => {
        match $packed {
            Packed::F32($blocks) => $then,
            Packed::F16($blocks) => $then,
            Packed::Bf16($blocks) => $then,
            Packed::Q4_0($blocks) => $then,
            Packed::Q4_1($blocks) => $then,
            Packed::Q8_0($blocks) => $then,
        }
    };
}

impl<const OUT: usize, const IN: usize> Linear<OUT, IN> {
    /// Packs `data`, which is `[OUT, IN]` in `format`, row by row; `order` says which stored row is which output.
    ///
    /// # Errors
    /// When `data` is not of that shape, or `order` does not fit it.
    pub fn pack(cpu: &Cpu, format: StorageFormat, data: &[u8], order: RowOrder) -> Result<Self, PackError> {
        const { assert!(OUT > 0 && IN > 0, "a matrix has at least one element") };
        Packed::new(cpu, format, data, order, OUT, IN).map(Self)
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

    /// The storage format.
    pub fn format(&self) -> StorageFormat {
        match self.0 {
            Packed::F32(_) => StorageFormat::F32,
            Packed::F16(_) => StorageFormat::F16,
            Packed::Bf16(_) => StorageFormat::Bf16,
            Packed::Q4_0(_) => StorageFormat::Q4_0,
            Packed::Q4_1(_) => StorageFormat::Q4_1,
            Packed::Q8_0(_) => StorageFormat::Q8_0,
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        with_blocks!(&self.0, blocks => size_of_val(&**blocks))
    }
}

impl<const OUT: usize, const IN: usize> std::fmt::Debug for Linear<OUT, IN> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Linear<{OUT}, {IN}>({})", self.format())
    }
}

// Shapes are values from here on: a kernel is compiled once per format, not once per shape.
impl Packed {
    fn new(
        cpu: &Cpu,
        format: StorageFormat,
        data: &[u8],
        order: RowOrder,
        outputs: usize,
        inputs: usize,
    ) -> Result<Self, PackError> {
        row_bytes(format, outputs, inputs, data.len())?;
        order.check(outputs).map_err(|what| PackError::Order { what })?;
        Ok(match format {
            StorageFormat::F32 => Self::F32(pack(cpu, data, order, outputs, inputs)),
            StorageFormat::F16 => Self::F16(pack(cpu, data, order, outputs, inputs)),
            StorageFormat::Bf16 => Self::Bf16(pack(cpu, data, order, outputs, inputs)),
            StorageFormat::Q4_0 => Self::Q4_0(pack(cpu, data, order, outputs, inputs)),
            StorageFormat::Q4_1 => Self::Q4_1(pack(cpu, data, order, outputs, inputs)),
            StorageFormat::Q8_0 => Self::Q8_0(pack(cpu, data, order, outputs, inputs)),
        })
    }

    #[allow(clippy::too_many_arguments)] // The shape and the tile are const generics of the only callers.
    fn multiply(&self, cpu: &Cpu, outputs: usize, inputs: usize, tile: usize, x: &[f32], out: &mut [f32], then: Then) {
        with_blocks!(self, blocks => multiply(cpu, Matrix { blocks, outputs, inputs }, tile, x, out, then));
    }
}

fn pack<B: Block>(cpu: &Cpu, data: &[u8], order: RowOrder, outputs: usize, inputs: usize) -> Box<[B]> {
    let blocks = inputs / B::LEN;
    let row_bytes = blocks * B::STORED;
    let tiles = outputs.div_ceil(LANES);
    let mut packed = vec![B::ZERO; tiles * blocks].into_boxed_slice();
    let unit = cpu.row_unit(tiles, outputs * inputs);
    cpu.over(&mut Grid::of_rows(&mut packed, blocks, unit), |mut cell| {
        for tile in cell.rows.clone() {
            let row = cell.row_mut(tile);
            for output in tile * LANES..outputs.min((tile + 1) * LANES) {
                let stored = &data[order.stored_row(output, outputs) * row_bytes..][..row_bytes];
                for (block, stored) in row.iter_mut().zip(stored.chunks_exact(B::STORED)) {
                    block.set(output % LANES, stored);
                }
            }
        }
    });
    packed
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
    if format.block_len() > 1 {
        return Err(PackError::Vector { format });
    }
    row_bytes(format, 1, D, data.len())?;
    order.check(D).map_err(|what| PackError::Order { what })?;
    let mut stored = vec![0.0; D];
    decode::decode_row(format, data, &mut stored);
    let ordered: Box<[f32]> = (0..D).map(|row| stored[order.stored_row(row, D)]).collect();
    Ok(ordered.try_into().expect("D elements were collected"))
}
