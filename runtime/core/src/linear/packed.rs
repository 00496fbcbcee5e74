//! A packed matrix of any storage format, its shape a value: a kernel is compiled once per format, not once per shape.

use std::ops::Range;

use tenon_formats::StorageFormat;

use super::block::{self, Block};
use super::int8::{self, Int8Block};
use super::product::{Inputs, LANES, Matrix, Then, multiply, multiply_rows};
use super::source::{FP8_BLOCK, Source};
use super::{PackError, RowOrder};
use crate::cpu::Cpu;
use crate::cpu::grid::{Cell, Grid};
use crate::cpu::simd::Lanes;

/// A matrix in tiles of the blocks of its format.
pub(crate) struct Packed {
    blocks: Blocks,
    /// What products are multiplied by: the scale of all weights.
    factor: f32,
}

/// Writes [`Blocks`]: its variants are types of [`block`], and each belongs to a [`StorageFormat`].
macro_rules! packed {
    ($($blocks:ident: $format:ident by $multiply:path,)+) => {
        /// The blocks of a matrix.
        enum Blocks {
            $($blocks(Box<[block::$blocks]>),)+
        }

        /// A type of blocks.
        #[derive(Clone, Copy)]
        enum Kind {
            $($blocks,)+
        }

        impl Blocks {
            fn pack(cpu: &Cpu, kind: Kind, source: &Source<'_>, outputs: usize, row: impl Fn(usize) -> usize + Sync) -> Self {
                match kind {
                    $(Kind::$blocks => Self::$blocks(pack(cpu, source, outputs, row)),)+
                }
            }
        }

        impl Packed {
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
                let factor = self.factor;
                match &self.blocks {
                    $(Blocks::$blocks(blocks) => {
                        multiply(cpu, Matrix { blocks, outputs, inputs, factor }, tile, x, out, then);
                    })+
                }
            }

            /// The same for rows of int8; `x` has their blocks as [`Int8Rows`](super::Int8Rows) has them.
            #[allow(clippy::too_many_arguments)] // As above.
            pub(super) fn multiply_int8(
                &self,
                cpu: &Cpu,
                outputs: usize,
                inputs: usize,
                x: &[Int8Block],
                rows: usize,
                out: &mut [f32],
                then: Then,
            ) {
                let factor = self.factor;
                match &self.blocks {
                    $(Blocks::$blocks(blocks) => {
                        $multiply(cpu, Matrix { blocks, outputs, inputs, factor }, x, rows, out, then);
                    })+
                }
            }

            /// `out = W x` for the columns of a cell, whose first is a multiple of 8, and some of its rows: a thread's part of a
            /// larger work. `tile` as in `Linear::forward`.
            #[allow(clippy::too_many_arguments)] // As above.
            pub(crate) fn multiply_rows(
                &self,
                lanes: Lanes,
                outputs: usize,
                inputs: usize,
                tile: usize,
                x: Inputs<'_>,
                out: &mut Cell<'_, f32>,
                rows: Range<usize>,
            ) {
                let factor = self.factor;
                match &self.blocks {
                    $(Blocks::$blocks(blocks) => {
                        multiply_rows(lanes, Matrix { blocks, outputs, inputs, factor }, tile, x, out, rows);
                    })+
                }
            }

            pub(crate) fn format(&self) -> StorageFormat {
                match &self.blocks {
                    $(Blocks::$blocks(_) => StorageFormat::$format,)+
                }
            }

            pub(crate) fn bytes(&self) -> usize {
                match &self.blocks {
                    $(Blocks::$blocks(blocks) => size_of_val(&**blocks),)+
                }
            }
        }
    };
}

packed! {
    F32: F32 by int8::floats,
    F16: F16 by int8::floats,
    Bf16: Bf16 by int8::floats,
    Q4_0: Q4_0 by int8::multiply,
    Q4_1: Q4_1 by int8::multiply,
    Q5_0: Q5_0 by int8::multiply,
    Q5_1: Q5_1 by int8::multiply,
    Q8_0: Q8_0 by int8::multiply,
    Q4K: Q4K by int8::multiply,
    Q5K: Q5K by int8::multiply,
    Q6K: Q6K by int8::multiply,
    Fp8: Fp8E4m3 by int8::floats,
    Fp8By128: Fp8E4m3 by int8::floats,
    Fp8By16: Fp8E4m3 by int8::floats,
    Fp8By1: Fp8E4m3 by int8::floats,
    Nvfp4: Nvfp4 by int8::floats,
    Mxfp4: Mxfp4 by int8::floats,
}

impl Kind {
    fn of(source: &Source<'_>) -> Self {
        match source.format {
            StorageFormat::F32 => Self::F32,
            StorageFormat::F16 => Self::F16,
            StorageFormat::Bf16 => Self::Bf16,
            StorageFormat::Q4_0 => Self::Q4_0,
            StorageFormat::Q4_1 => Self::Q4_1,
            StorageFormat::Q5_0 => Self::Q5_0,
            StorageFormat::Q5_1 => Self::Q5_1,
            StorageFormat::Q8_0 => Self::Q8_0,
            StorageFormat::Q4K => Self::Q4K,
            StorageFormat::Q5K => Self::Q5K,
            StorageFormat::Q6K => Self::Q6K,
            StorageFormat::Nvfp4 => Self::Nvfp4,
            StorageFormat::Mxfp4 => Self::Mxfp4,
            StorageFormat::Fp8E4m3 if !source.has_fp8_blocks() => Self::Fp8,
            // Scales stand beside every so many inputs, and a row is a whole number of them.
            StorageFormat::Fp8E4m3 if source.inputs.is_multiple_of(FP8_BLOCK) => Self::Fp8By128,
            StorageFormat::Fp8E4m3 if source.inputs.is_multiple_of(16) => Self::Fp8By16,
            StorageFormat::Fp8E4m3 => Self::Fp8By1,
        }
    }
}

impl Packed {
    /// Packs `data`, which is `[outputs, inputs]` in `format`, row by row.
    pub(super) fn new(
        cpu: &Cpu,
        format: StorageFormat,
        data: &[u8],
        order: RowOrder,
        outputs: usize,
        inputs: usize,
    ) -> Result<Self, PackError> {
        Self::ordered(cpu, &Source::of_rows(format, data, order.stored_rows(outputs), inputs)?, order, outputs)
    }

    /// Packs the rows of `source` in an order.
    pub(crate) fn ordered(cpu: &Cpu, source: &Source<'_>, order: RowOrder, outputs: usize) -> Result<Self, PackError> {
        order.check(outputs).map_err(|what| PackError::Order { what })?;
        let stored = order.stored_rows(outputs);
        if stored != source.rows {
            return Err(PackError::Order { what: format!("it is for {stored} stored rows, and there are {}", source.rows) });
        }
        Ok(Self::rows(cpu, source, outputs, |row| order.stored_row(row, outputs)))
    }

    /// Packs `outputs` rows, of which output `o` is row `row(o)` of `source`.
    pub(crate) fn rows(cpu: &Cpu, source: &Source<'_>, outputs: usize, row: impl Fn(usize) -> usize + Sync) -> Self {
        Self { blocks: Blocks::pack(cpu, Kind::of(source), source, outputs, row), factor: source.factor }
    }
}

fn pack<B: Block>(cpu: &Cpu, source: &Source<'_>, outputs: usize, row: impl Fn(usize) -> usize + Sync) -> Box<[B]> {
    let blocks = source.inputs / B::LEN;
    let tiles = outputs.div_ceil(LANES);
    let mut packed = vec![B::ZERO; tiles * blocks].into_boxed_slice();
    let unit = cpu.row_unit(tiles, outputs * source.inputs);
    cpu.over(&mut Grid::of_rows(&mut packed, blocks, unit), |mut cell| {
        let mut buffer = Vec::new();
        for tile in cell.rows.clone() {
            let packed = cell.row_mut(tile);
            for output in tile * LANES..outputs.min((tile + 1) * LANES) {
                let stored = source.row(row(output), B::LEN, &mut buffer);
                for (block, stored) in packed.iter_mut().zip(stored.chunks_exact(B::STORED)) {
                    block.set(output % LANES, stored);
                }
            }
        }
    });
    packed
}
