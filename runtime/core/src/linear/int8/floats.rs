//! Products of weights that are no quants with rows of int8: the values that the quants stand for, multiplied in f32.

use super::{BLOCK, Int8Block, over_threads};
use crate::cpu::Cpu;
use crate::cpu::grid::Cell;
use crate::cpu::simd::{Kernel, Simd};
use crate::linear::block::Block;
use crate::linear::gemm::{MAX_TILE, PanelRow, RowsBy16};
use crate::linear::product::{LANES, Matrix, Then, tiles, write};

/// Inputs that are dequantised together, rows and weights alike.
const PANEL: usize = 256;
/// Most rows that are computed with one panel.
const MAX_ROWS: usize = 240;

/// As [`super::multiply`], for weights of any format.
pub(in crate::linear) fn multiply<B: Block>(
    cpu: &Cpu,
    matrix: Matrix<'_, B>,
    x: &[Int8Block],
    rows: usize,
    out: &mut [f32],
    then: Then,
) {
    assert_eq!(x.len(), rows * matrix.inputs.div_ceil(BLOCK), "blocks of the rows");
    over_threads(cpu, matrix, rows, out, |out| cpu.lanes().enter(Floats { matrix, x, rows, out, then }));
}

/// One thread's part of a product: all rows, some outputs.
struct Floats<'a, 'b, 'c, B> {
    matrix: Matrix<'a, B>,
    x: &'a [Int8Block],
    rows: usize,
    out: &'b mut Cell<'c, f32>,
    then: Then,
}

impl<B: Block> Kernel for Floats<'_, '_, '_, B> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        const { assert!(PANEL.is_multiple_of(B::LEN), "a panel is a whole number of blocks") };
        let Self { matrix, x, rows: count, out, then } = self;
        let mut panel = [[[0.0; LANES]; 2]; PANEL];
        let mut values = [[0.0; PANEL]; MAX_TILE];
        let mut sums = [[[0.0; LANES]; 2]; MAX_ROWS];
        let tiles = tiles(out);
        for first in (0..count).step_by(MAX_ROWS) {
            let sums = &mut sums[..MAX_ROWS.min(count - first)];
            for pair in tiles.clone().step_by(2) {
                let halves = (tiles.end - pair).min(2);
                sums.fill([[0.0; LANES]; 2]);
                for start in (0..matrix.inputs).step_by(PANEL) {
                    let inputs = PANEL.min(matrix.inputs - start);
                    for half in 0..halves {
                        fill(s, &matrix.tile(pair + half)[start / B::LEN..], &mut panel[..inputs], half);
                    }
                    for (i, sums) in sums.chunks_mut(MAX_TILE).enumerate() {
                        let mut rows: [&[f32]; MAX_TILE] = [&[]; MAX_TILE];
                        for (r, (values, row)) in values.iter_mut().zip(&mut rows).enumerate().take(sums.len()) {
                            let values = &mut values[..inputs];
                            for (b, values) in values.chunks_mut(BLOCK).enumerate() {
                                x[(start / BLOCK + b) * count + first + i * MAX_TILE + r].decode(values);
                            }
                            *row = values;
                        }
                        s.call(RowsBy16 { x: &rows[..sums.len()], panel: &panel[..inputs], sums });
                    }
                }
                for (r, sums) in sums.iter().enumerate() {
                    for (half, sum) in sums.iter().enumerate().take(halves) {
                        write(s, out, then, matrix.factor, first + r, pair + half, s.load(sum));
                    }
                }
            }
        }
    }
}

/// Dequantises inputs of a tile into one half of a panel's rows.
#[inline(always)]
fn fill<S: Simd, B: Block>(s: S, blocks: &[B], panel: &mut [PanelRow], half: usize) {
    for (block, rows) in blocks.iter().zip(panel.chunks_exact_mut(B::LEN)) {
        for (group, rows) in rows.chunks_exact_mut(B::GROUP).enumerate() {
            let scale = block.scale(s, group);
            for v in 0..B::GROUP / B::STEP {
                let words = block.words(s, group, v);
                for j in 0..B::STEP {
                    s.store(block.weight(s, scale, words, j), &mut rows[v * B::STEP + j][half]);
                }
            }
        }
    }
}
