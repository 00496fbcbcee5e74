//! Products with many rows: weights are dequantised once into a panel that stays in the first-level cache.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use super::block::Block;
use super::product::{LANES, Product, put};
use crate::cpu::simd::{Kernel, Simd};

/// Most rows that [`RowsBy16`] computes together: 6 rows of 16 outputs are 12 of the 16 vector registers.
pub(crate) const MAX_TILE: usize = 6;
/// One input of 16 outputs.
pub(crate) type PanelRow = [[f32; LANES]; 2];
/// Inputs of a panel: 256 x 16 f32 are half of a first-level cache of 32 KiB.
const PANEL: usize = 256;
/// Inputs of all rows that are computed with one panel, in elements: 512 KiB, half of a second-level cache.
const RESIDENT: usize = 128 * 1024;
/// Most rows that are computed with one panel.
const MAX_ROWS: usize = 240;

/// Computes the cell of `p`, of any number of rows. Each output is one chain of fused multiply-adds, which is put down in `sums`
/// between panels.
#[inline(always)]
pub(super) fn product<S: Simd, B: Block>(s: S, p: &mut Product<'_, '_, B>) {
    let mut panel = [[[0.0; LANES]; 2]; PANEL];
    let mut sums = [[[0.0; LANES]; 2]; MAX_ROWS];
    let rows_together = (RESIDENT / p.inputs()).clamp(32, MAX_ROWS);
    let mut first = 0;
    while first < p.rows() {
        let rows = rows_together.min(p.rows() - first);
        for pair in p.tiles().step_by(2) {
            let sums = &mut sums[..rows];
            sums.fill([[0.0; LANES]; 2]);
            for start in (0..p.inputs()).step_by(PANEL) {
                let panel = &mut panel[..PANEL.min(p.inputs() - start)];
                fill(s, p, pair, start, panel);
                multiply(s, p, first, start, panel, sums);
            }
            for (r, [low, high]) in sums.iter().enumerate() {
                put(s, p, first + r, pair, s.load(low));
                if pair + 1 < p.tiles().end {
                    put(s, p, first + r, pair + 1, s.load(high));
                }
            }
        }
        first += rows;
    }
}

/// Dequantises inputs `start..` of tiles `pair` and `pair + 1`. Where the second does not exist, its half keeps what it had, and is
/// not read.
#[inline(always)]
fn fill<S: Simd, B: Block>(s: S, p: &Product<'_, '_, B>, pair: usize, start: usize, panel: &mut [PanelRow]) {
    const { assert!(PANEL.is_multiple_of(B::LEN), "a panel is a whole number of blocks") };
    for half in 0..(p.tiles().end - pair).min(2) {
        let blocks = &p.tile(pair + half)[start / B::LEN..];
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
}

/// Adds the products of rows `first..` with a panel to `sums`.
#[inline(always)]
fn multiply<S: Simd, B: Block>(
    s: S,
    p: &Product<'_, '_, B>,
    first: usize,
    start: usize,
    panel: &[PanelRow],
    sums: &mut [PanelRow],
) {
    for (i, sums) in sums.chunks_mut(p.tile).enumerate() {
        let mut x: [&[f32]; MAX_TILE] = [&[]; MAX_TILE];
        for (r, x) in x.iter_mut().enumerate().take(sums.len()) {
            *x = &p.x(first + i * p.tile + r)[start..][..panel.len()];
        }
        s.call(RowsBy16 { x: &x[..sums.len()], panel, sums });
    }
}

/// `sums[r] += sum over k of x[r][k] * panel[k]`, one chain per element, for 1 to [`MAX_TILE`] rows.
///
/// The storage format is gone at this point, so this is compiled once for all of them.
pub(crate) struct RowsBy16<'a> {
    pub(crate) x: &'a [&'a [f32]],
    pub(crate) panel: &'a [PanelRow],
    pub(crate) sums: &'a mut [PanelRow],
}

impl Kernel for RowsBy16<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.x.len() {
            1 => exactly::<S, 1>(s, self),
            2 => exactly::<S, 2>(s, self),
            3 => exactly::<S, 3>(s, self),
            4 => exactly::<S, 4>(s, self),
            5 => exactly::<S, 5>(s, self),
            6 => exactly::<S, 6>(s, self),
            rows => unreachable!("{rows} rows in a register tile"),
        }
    }
}

#[inline(always)]
fn exactly<S: Simd, const R: usize>(s: S, RowsBy16 { x, panel, sums }: RowsBy16<'_>) {
    let mut rows = [&x[0][..panel.len()]; R];
    for r in 1..R {
        rows[r] = &x[r][..panel.len()];
    }
    let sums: &mut [PanelRow; R] = sums.try_into().expect("one sum per row");
    let mut chains = [[s.splat(0.0); 2]; R];
    for r in 0..R {
        chains[r] = [s.load(&sums[r][0]), s.load(&sums[r][1])];
    }
    for (k, [low, high]) in panel.iter().enumerate() {
        let (low, high) = (s.load(low), s.load(high));
        for r in 0..R {
            let input = s.splat(rows[r][k]);
            chains[r][0] = s.fma(low, input, chains[r][0]);
            chains[r][1] = s.fma(high, input, chains[r][1]);
        }
    }
    for r in 0..R {
        s.store(chains[r][0], &mut sums[r][0]);
        s.store(chains[r][1], &mut sums[r][1]);
    }
}
