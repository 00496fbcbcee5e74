//! Products with a few rows: a weight is read once, in the order of memory, and used at once.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use super::{BLOCK, Integers, Quanta, add_group};
use crate::cpu::simd::Simd;
use crate::linear::product::{tiles, write};

/// Bytes ahead of what is computed that are asked for: some hundred nanoseconds of memory bandwidth. One stream of a thread is
/// mostly seen by the processor itself; it stops at every 4 KiB.
const AHEAD: usize = 2048;

/// Computes the part of `p`, of `R` rows. Sums stay in registers; tiles follow each other, so that all weights are one stream.
#[inline(always)]
pub(super) fn product<S: Simd, B: Quanta<N>, const N: usize, const R: usize>(s: S, p: &mut Integers<'_, '_, '_, B, N>) {
    for tile in tiles(p.out) {
        let blocks = p.matrix.tile(tile);
        let mut sums = [s.splat(0.0); R];
        for (b, block) in blocks.iter().enumerate() {
            ahead(s, block);
            for group in 0..B::LEN / B::GROUP {
                let first = b * B::LEN + group * B::GROUP;
                let (factor, bytes) = (block.factor(s, group), block.bytes(s, group));
                let x = &p.x[first / BLOCK * R..][..R];
                for r in 0..R {
                    sums[r] = add_group::<S, B, N>(s, factor, bytes, &x[r], first % BLOCK, sums[r]);
                }
            }
        }
        for r in 0..R {
            write(s, p.out, p.then, p.matrix.factor, r, tile, sums[r]);
        }
    }
}

/// Asks for the lines [`AHEAD`] of a block.
#[inline(always)]
fn ahead<S: Simd, B>(s: S, block: &B) {
    const LINE: usize = 64;
    let from = std::ptr::from_ref(block).cast::<u8>().wrapping_add(AHEAD);
    for line in 0..size_of::<B>().div_ceil(LINE) {
        s.prefetch(from.wrapping_add(line * LINE));
    }
}
