//! A packed matrix of any storage format, its shape a value: a kernel is compiled once per format, not once per shape.

use tenon_formats::StorageFormat;

use super::block::{self, Block};
use super::product::{LANES, Matrix, Then, multiply};
use super::{PackError, RowOrder, row_bytes};
use crate::cpu::Cpu;
use crate::cpu::grid::Grid;

/// Writes [`Packed`] for formats that are called the same in [`StorageFormat`] and [`block`].
macro_rules! packed {
    ($($format:ident)+) => {
        /// The blocks of a matrix.
        pub(super) enum Packed {
            $($format(Box<[block::$format]>),)+
        }

        impl Packed {
            /// Packs `data`, which is `[outputs, inputs]` in `format`.
            pub(super) fn new(
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
                    $(StorageFormat::$format => Self::$format(pack(cpu, data, order, outputs, inputs)),)+
                })
            }

            #[allow(clippy::too_many_arguments)] // The shape and the tile are const generics of the only callers.
            pub(super) fn multiply(
                &self,
                cpu: &Cpu,
                outputs: usize,
                inputs: usize,
                tile: usize,
                x: &[f32],
                out: &mut [f32],
                then: Then,
            ) {
                match self {
                    $(Self::$format(blocks) => multiply(cpu, Matrix { blocks, outputs, inputs }, tile, x, out, then),)+
                }
            }

            pub(super) fn format(&self) -> StorageFormat {
                match self {
                    $(Self::$format(_) => StorageFormat::$format,)+
                }
            }

            pub(super) fn bytes(&self) -> usize {
                match self {
                    $(Self::$format(blocks) => size_of_val(&**blocks),)+
                }
            }
        }
    };
}

packed!(F32 F16 Bf16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4K Q5K Q6K);

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
