//! Products with many rows: the quants of a group are spread out into registers once, and all rows pass by them.

use super::{BLOCK, Integers, Quanta, add_group};
use crate::cpu::simd::Simd;
use crate::linear::product::{LANES, tiles, write};

/// Bytes of rows that are computed with one pass over the weights: half of a second-level cache.
const RESIDENT: usize = 512 * 1024;
/// Most rows of a pass: their sums and their blocks of one group are 20 KiB, most of a first-level cache.
const MAX_ROWS: usize = 240;

/// Computes the part of `p`, of any number of rows. Between groups sums are in the first-level cache: putting one down costs a
/// load and a store beside the loads of a row's 8 words, and spares spreading out the quants once per few rows.
#[inline(always)]
pub(super) fn product<S: Simd, B: Quanta<N>, const N: usize>(s: S, p: &mut Integers<'_, '_, '_, B, N>) {
    let mut sums = [[0.0; LANES]; MAX_ROWS];
    let row_bytes = p.matrix.inputs / BLOCK * size_of::<super::Int8Block>();
    let rows_together = (RESIDENT / row_bytes).clamp(32, MAX_ROWS);
    let mut first_row = 0;
    while first_row < p.rows {
        let rows = rows_together.min(p.rows - first_row);
        for tile in tiles(p.out) {
            let sums = &mut sums[..rows];
            sums.fill([0.0; LANES]);
            for (b, block) in p.matrix.tile(tile).iter().enumerate() {
                for group in 0..B::LEN / B::GROUP {
                    let first = b * B::LEN + group * B::GROUP;
                    let (factor, bytes) = (block.factor(s, group), block.bytes(s, group));
                    let x = &p.x[first / BLOCK * p.rows + first_row..][..rows];
                    for (x, sum) in x.iter().zip(sums.iter_mut()) {
                        s.store(add_group::<S, B, N>(s, factor, bytes, x, first % BLOCK, s.load(sum)), sum);
                    }
                }
            }
            for (r, sum) in sums.iter().enumerate() {
                write(s, p.out, p.then, p.matrix.factor, first_row + r, tile, s.load(sum));
            }
        }
        first_row += rows;
    }
}
