//! Products with a few rows: weights are dequantised in registers and used at once.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use super::block::Block;
use super::product::{Product, put};
use crate::cpu::simd::Simd;

/// Most rows that [`product`] takes: beyond these, dequantising once for all rows is faster.
pub(super) const MAX_ROWS: usize = 4;

/// Computes the cell of `p`, which has 1 to [`MAX_ROWS`] rows. Each output is one chain of fused multiply-adds; several tiles at
/// a time keep enough chains in flight to hide the latency of one.
#[inline(always)]
pub(super) fn product<S: Simd, B: Block>(s: S, p: &mut Product<'_, '_, B>) {
    match p.rows() {
        1 => tiles::<S, B, 1, 4>(s, p),
        // With the scales of groups, 8 sums are too many for the registers: some would go to memory and back at every input.
        2 if B::GROUP < B::LEN => tiles::<S, B, 2, 2>(s, p),
        2 => tiles::<S, B, 2, 4>(s, p),
        3 => tiles::<S, B, 3, 2>(s, p),
        4 => tiles::<S, B, 4, 2>(s, p),
        rows => unreachable!("{rows} rows go through a panel"),
    }
}

/// `T` tiles at a time, the last few one by one.
#[inline(always)]
fn tiles<S: Simd, B: Block, const R: usize, const T: usize>(s: S, p: &mut Product<'_, '_, B>) {
    let tiles = p.tiles();
    let mut tile = tiles.start;
    while tile + T <= tiles.end {
        some_tiles::<S, B, R, T>(s, p, tile);
        tile += T;
    }
    while tile < tiles.end {
        some_tiles::<S, B, R, 1>(s, p, tile);
        tile += 1;
    }
}

#[inline(always)]
fn some_tiles<S: Simd, B: Block, const R: usize, const T: usize>(s: S, p: &mut Product<'_, '_, B>, first: usize) {
    let mut weights = [p.tile(first); T];
    for t in 1..T {
        weights[t] = p.tile(first + t);
    }
    let mut x = [p.x(0); R];
    for r in 1..R {
        x[r] = p.x(r);
    }
    let sums = dot(s, weights, x);
    for r in 0..R {
        for t in 0..T {
            put(s, p, r, first + t, sums[r][t]);
        }
    }
}

/// The products of `R` rows with `T` tiles.
#[inline(always)]
fn dot<S: Simd, B: Block, const R: usize, const T: usize>(s: S, w: [&[B]; T], x: [&[f32]; R]) -> [[S::F; T]; R] {
    let mut sums = [[s.splat(0.0); T]; R];
    for b in 0..w[0].len() {
        let mut block = [&w[0][b]; T];
        for t in 1..T {
            block[t] = &w[t][b];
        }
        for group in 0..B::LEN / B::GROUP {
            let mut scale = [block[0].scale(s, group); T];
            for t in 1..T {
                scale[t] = block[t].scale(s, group);
            }
            for tile in w {
                prefetch(s, tile, b, group, T);
            }
            let first = b * B::LEN + group * B::GROUP;
            let mut inputs = [&x[0][first..][..B::GROUP]; R];
            for r in 1..R {
                inputs[r] = &x[r][first..][..B::GROUP];
            }
            for v in 0..B::GROUP / B::STEP {
                let mut words = [block[0].words(s, group, v); T];
                for t in 1..T {
                    words[t] = block[t].words(s, group, v);
                }
                // Written out, because the shift in `weight` should be a constant, and LLVM leaves a loop of this size a loop.
                macro_rules! inputs {
                    ($($j:literal)*) => {$(
                        if $j < B::STEP {
                            let k = v * B::STEP + $j;
                            for t in 0..T {
                                let weight = block[t].weight(s, scale[t], words[t], $j);
                                for r in 0..R {
                                    sums[r][t] = s.fma(weight, s.splat(inputs[r][k]), sums[r][t]);
                                }
                            }
                        }
                    )*};
                }
                inputs!(0 1 2 3 4 5 6 7);
            }
        }
    }
    sums
}

/// Asks for what stands at a group of block `b` of the tile `ahead` tiles further on. A tile is too short for the processor's own
/// prefetching, which has to find each one anew; without this, weights from memory take twice the time. Into the second-level
/// cache, because the tiles that are computed together and the next ones can be more than the first.
#[inline(always)]
fn prefetch<S: Simd, B: Block>(s: S, tile: &[B], b: usize, group: usize, ahead: usize) {
    const LINE: usize = 64;
    let (size, groups) = (size_of::<B>(), B::LEN / B::GROUP);
    if size < LINE && !(b * size).is_multiple_of(LINE) {
        return;
    }
    let from = tile.as_ptr().wrapping_add(ahead * tile.len() + b).cast::<u8>();
    // A block's lines are shared out to its groups.
    let lines = size.div_ceil(LINE);
    for line in group * lines / groups..(group + 1) * lines / groups {
        s.prefetch(from.wrapping_add(line * LINE));
    }
}
