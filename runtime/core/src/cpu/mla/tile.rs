//! One tile of 16 positions for some query rows: scores, softmax, and the weighted sum of values.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use crate::cache::TILE_KV;
use crate::cpu::attention::softmax::{Running, softmax};
use crate::cpu::simd::Simd;
use crate::linear::gemm::{MAX_TILE, PanelRow, RowsBy16};

/// Columns of values that lie side by side: 16 positions of 16 columns are a block.
pub(super) const COLUMNS: usize = 16;
/// 16 columns of the values of 16 positions, `[position][column]`.
pub(super) type ValueBlock = [PanelRow; TILE_KV];

/// Query rows of one sequence that see the same keys: those of a token stand together, tokens in order.
pub(super) struct QueryRows<'a> {
    /// Row `i` is the `width` elements from `i * stride` on.
    pub(super) q: &'a [f32],
    pub(super) stride: usize,
    pub(super) width: usize,
    pub(super) rows: usize,
    pub(super) rows_per_token: usize,
    /// Of the first row.
    pub(super) position: usize,
    pub(super) scale: f32,
}

impl<'a> QueryRows<'a> {
    #[inline(always)]
    fn query(&self, row: usize) -> &'a [f32] {
        &self.q[row * self.stride..][..self.width]
    }

    /// Positions of the tile at `start` that a row sees.
    #[inline(always)]
    fn visible(&self, row: usize, start: usize) -> usize {
        (self.position + row / self.rows_per_token + 1).saturating_sub(start).min(TILE_KV)
    }
}

/// Adds the tile that starts at position `start` to the rows that see any of it.
///
/// `keys` are `[width][16]`; `sums`, `[block][row]` with 16 columns each, are the weighted sums of the values so far.
#[inline(always)]
pub(super) fn attend_tile<S: Simd>(
    s: S,
    of: &QueryRows<'_>,
    start: usize,
    keys: &[PanelRow],
    values: &[ValueBlock],
    running: &mut [Running],
    sums: &mut [PanelRow],
) {
    let mut first = start.saturating_sub(of.position) * of.rows_per_token;
    while first < of.rows {
        let rows = MAX_TILE.min(of.rows - first);
        let mut queries = [of.query(first); MAX_TILE];
        for i in 1..rows {
            queries[i] = of.query(first + i);
        }
        let mut scores: [PanelRow; MAX_TILE] = [[[0.0; 8]; 2]; MAX_TILE];
        s.call(RowsBy16 { x: &queries[..rows], panel: keys, sums: &mut scores[..rows] });
        for i in 0..rows {
            let visible = 0..of.visible(first + i, start);
            let rescale = softmax(s, &mut scores[i], visible, of.scale, None, &mut running[first + i]);
            // A factor of 1, which is the common one, changes nothing.
            if rescale != 1.0 {
                for block in 0..values.len() {
                    let [low, high] = &mut sums[block * of.rows + first + i];
                    s.store(s.mul(s.load(low), s.splat(rescale)), low);
                    s.store(s.mul(s.load(high), s.splat(rescale)), high);
                }
            }
        }
        // Positions that a row does not see are left out, not weighted with 0, which would let a NaN through.
        let visible = of.visible(first, start);
        if visible == of.visible(first + rows - 1, start) {
            let mut weights: [&[f32]; MAX_TILE] = [&[]; MAX_TILE];
            for i in 0..rows {
                weights[i] = &scores[i].as_flattened()[..visible];
            }
            for (block, values) in values.iter().enumerate() {
                let sums = &mut sums[block * of.rows + first..][..rows];
                s.call(RowsBy16 { x: &weights[..rows], panel: &values[..visible], sums });
            }
        } else {
            for i in 0..rows {
                let weights = &scores[i].as_flattened()[..of.visible(first + i, start)];
                accumulate(s, weights, values, &mut sums[first + i..], of.rows);
            }
        }
        first += rows;
    }
}

/// The same sums as [`RowsBy16`] for one row, whose blocks stand `stride` apart.
#[inline(always)]
fn accumulate<S: Simd>(s: S, weights: &[f32], values: &[ValueBlock], sums: &mut [PanelRow], stride: usize) {
    let (fours, rest) = values.as_chunks::<4>();
    for (i, four) in fours.iter().enumerate() {
        blocks(s, weights, four, &mut sums[4 * i * stride..], stride);
    }
    for (i, block) in rest.iter().enumerate() {
        let done = 4 * fours.len();
        blocks(s, weights, std::array::from_ref(block), &mut sums[(done + i) * stride..], stride);
    }
}

/// `N` blocks together, so that enough chains are in flight.
#[inline(always)]
fn blocks<S: Simd, const N: usize>(s: S, weights: &[f32], values: &[ValueBlock; N], sums: &mut [PanelRow], stride: usize) {
    let mut chains = [[s.splat(0.0); 2]; N];
    for n in 0..N {
        chains[n] = [s.load(&sums[n * stride][0]), s.load(&sums[n * stride][1])];
    }
    for (position, &weight) in weights.iter().enumerate() {
        let weight = s.splat(weight);
        for n in 0..N {
            let [low, high] = &values[n][position];
            chains[n] = [s.fma(s.load(low), weight, chains[n][0]), s.fma(s.load(high), weight, chains[n][1])];
        }
    }
    for n in 0..N {
        s.store(chains[n][0], &mut sums[n * stride][0]);
        s.store(chains[n][1], &mut sums[n * stride][1]);
    }
}

/// `[column][position]` to blocks of `[position][column]`; columns after the last are 0.
#[inline(always)]
pub(super) fn transpose<S: Simd>(s: S, columns: &[PanelRow], blocks: &mut [ValueBlock]) {
    for (columns, block) in columns.chunks(COLUMNS).zip(blocks) {
        for (half, columns) in [(0, columns), (1, columns.get(8..).unwrap_or_default())] {
            for positions in 0..2 {
                let mut v = [s.splat(0.0); 8];
                for i in 0..columns.len().min(8) {
                    v[i] = s.load(&columns[i][positions]);
                }
                let v = s.transpose(v);
                for i in 0..8 {
                    s.store(v[i], &mut block[8 * positions + i][half]);
                }
            }
        }
    }
}
