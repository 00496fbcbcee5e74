//! Causal grouped-query attention over a paged cache, with an online softmax.
//!
//! A query row goes through its context in tiles of 16 positions that start at absolute multiples of 16, and keeps a running
//! maximum, a running sum and a running weighted sum of values. What it computes, and in which order, depends on its position
//! alone: not on the page size, on the chunk that it came in, or on the rows that share its tile.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use std::ops::Range;

use super::Cpu;
use super::exp::exp_nonpositive;
use super::grid::{Cell, Grid};
use super::simd::{Kernel, Simd};
use crate::batch::{Batch, PageId, SequenceSpan};
use crate::cache::{KvView, PagedKv, TILE_KV};
use crate::dtype::KvDtype;
use crate::linear::gemm::{MAX_TILE, PanelRow, RowsBy16};
use crate::rows::Rows;
use crate::scale::SoftmaxScale;

/// Most query rows of a tile.
const MAX_TILE_Q: usize = 32;
/// Largest head dimension: a tile of widened keys or values is 16 KiB.
const MAX_HEAD_DIM: usize = 256;
/// Elements of values that are accumulated in registers together.
const LANES: usize = 8;

/// `softmax(scale q k^T) v` for each token and head, over the positions up to the token's own: `[tokens, HEADS * HEAD_DIM]` to
/// the same. Sets the rows of `out`. Keys and values of the batch's tokens must be in `kv` already.
///
/// `TILE_Q`, from KERNEL.toml, is the number of query rows (tokens times heads of a group) that share a pass over keys and values.
///
/// # Panics
/// If `q` or `kv` are not for this batch.
pub fn attention<
    const TILE_Q: usize,
    const HEADS: usize,
    const KV_HEADS: usize,
    const HEAD_DIM: usize,
    const Q_DIM: usize,
    D: KvDtype,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &PagedKv<D, KV_HEADS, HEAD_DIM>,
    scale: SoftmaxScale,
    batch: &Batch,
    out: &mut Rows<f32, Q_DIM>,
) {
    const {
        assert!(Q_DIM == HEADS * HEAD_DIM, "a row of queries is HEADS * HEAD_DIM wide");
        assert!(HEADS.is_multiple_of(KV_HEADS), "each KV head serves a whole group of heads");
        assert!(HEAD_DIM.is_multiple_of(LANES) && HEAD_DIM <= MAX_HEAD_DIM, "head_dim is a multiple of 8, at most 256");
        assert!(TILE_Q > 0 && TILE_Q <= MAX_TILE_Q, "a query tile has 1 to 32 rows");
    };
    assert_eq!(q.rows(), batch.tokens(), "the queries are of this batch");
    assert_eq!(batch.limits().page_size, kv.page_size(), "the batch was built for another page size");
    out.set_rows(q.rows());
    let shape = Shape { scale: scale.value(), window: usize::MAX, tile_q: TILE_Q, heads: HEADS };
    attend(cpu, q.as_slice(), kv.view(), shape, batch, out.as_mut_slice());
}

/// The same where a token sees `window` positions only, its own included: `position - window < p <= position`.
///
/// # Panics
/// If `q` or `kv` are not for this batch, or the window is empty.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn sliding_attention<
    const TILE_Q: usize,
    const HEADS: usize,
    const KV_HEADS: usize,
    const HEAD_DIM: usize,
    const Q_DIM: usize,
    D: KvDtype,
>(
    cpu: &Cpu,
    q: &Rows<f32, Q_DIM>,
    kv: &PagedKv<D, KV_HEADS, HEAD_DIM>,
    scale: SoftmaxScale,
    window: usize,
    batch: &Batch,
    out: &mut Rows<f32, Q_DIM>,
) {
    const {
        assert!(Q_DIM == HEADS * HEAD_DIM, "a row of queries is HEADS * HEAD_DIM wide");
        assert!(HEADS.is_multiple_of(KV_HEADS), "each KV head serves a whole group of heads");
        assert!(HEAD_DIM.is_multiple_of(LANES) && HEAD_DIM <= MAX_HEAD_DIM, "head_dim is a multiple of 8, at most 256");
        assert!(TILE_Q > 0 && TILE_Q <= MAX_TILE_Q, "a query tile has 1 to 32 rows");
    };
    assert!(window > 0, "a token sees at least itself");
    assert_eq!(q.rows(), batch.tokens(), "the queries are of this batch");
    assert_eq!(batch.limits().page_size, kv.page_size(), "the batch was built for another page size");
    out.set_rows(q.rows());
    let shape = Shape { scale: scale.value(), window, tile_q: TILE_Q, heads: HEADS };
    attend(cpu, q.as_slice(), kv.view(), shape, batch, out.as_mut_slice());
}

/// What the types of the wrappers say, as values.
#[derive(Clone, Copy)]
struct Shape {
    scale: f32,
    /// Positions that a token sees, its own included.
    window: usize,
    tile_q: usize,
    heads: usize,
}

/// Shapes are values from here on: head dimensions share the code, dtypes do not.
fn attend<D: KvDtype>(cpu: &Cpu, q: &[f32], kv: KvView<'_, D>, shape: Shape, batch: &Batch, out: &mut [f32]) {
    let Shape { tile_q, heads, .. } = shape;
    let group = heads / kv.kv_heads;
    // A tile is some tokens times some heads of one group. Decodes of several sequences share nothing, so they are not tiled.
    let heads_of_tile = largest_divisor(group, tile_q);
    let decodes = batch.sequences().len() == batch.tokens();
    let tokens_of_tile = if decodes { 1 } else { (tile_q / heads_of_tile).max(1) };
    let mut grid = Grid::new(out, heads * kv.head_dim, tokens_of_tile, heads_of_tile * kv.head_dim);
    cpu.over(&mut grid, |out| cpu.lanes().enter(QueryTile { q, kv, shape, batch, out }));
}

/// The largest divisor of `n` that is at most `limit`.
fn largest_divisor(n: usize, limit: usize) -> usize {
    (1..=n.min(limit)).rev().find(|&d| n.is_multiple_of(d)).expect("1 divides every number")
}

/// Some tokens and some heads of one group.
struct QueryTile<'a, D: KvDtype> {
    q: &'a [f32],
    kv: KvView<'a, D>,
    shape: Shape,
    batch: &'a Batch,
    out: Cell<'a, f32>,
}

/// Where a query row stands in its softmax.
#[derive(Clone, Copy)]
struct Running {
    maximum: f32,
    /// The sum of exponentials, in lanes.
    sum: [f32; 8],
}

/// Room for a tile of keys or values in f32.
type Room = [[f32; TILE_KV]; MAX_HEAD_DIM];

impl<D: KvDtype> Kernel for QueryTile<'_, D> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let mut room: [Room; 2] = [[[0.0; TILE_KV]; MAX_HEAD_DIM]; 2];
        let tokens = self.out.rows.clone();
        for sequence in self.batch.sequences() {
            let here = tokens.start.max(sequence.tokens.start)..tokens.end.min(sequence.tokens.end);
            if !here.is_empty() {
                self.sequence(s, sequence, here, &mut room);
            }
        }
    }
}

impl<D: KvDtype> QueryTile<'_, D> {
    /// The rows of this tile that are `tokens` of `sequence`.
    #[inline(always)]
    fn sequence<S: Simd>(&mut self, s: S, sequence: &SequenceSpan, tokens: Range<usize>, room: &mut [Room; 2]) {
        let head_dim = self.kv.head_dim;
        let heads = self.out.columns.start / head_dim..self.out.columns.end / head_dim;
        let Shape { scale, window, heads: all_heads, .. } = self.shape;
        let kv_head = heads.start / (all_heads / self.kv.kv_heads);
        let pages: &[PageId] = self.batch.pages(sequence);
        let position_of = |token: usize| sequence.start + (token - sequence.tokens.start);
        let rows = tokens.len() * heads.len();

        let mut queries: [&[f32]; MAX_TILE_Q] = [&[]; MAX_TILE_Q];
        let mut running = [Running { maximum: f32::NEG_INFINITY, sum: [0.0; 8] }; MAX_TILE_Q];
        for (i, token) in tokens.clone().enumerate() {
            for (j, head) in heads.clone().enumerate() {
                queries[i * heads.len() + j] = &self.q[(token * all_heads + head) * head_dim..][..head_dim];
            }
            self.out.row_mut(token).fill(0.0);
        }

        let context = position_of(tokens.end - 1) + 1;
        let first_seen = |position: usize| (position + 1).saturating_sub(window);
        let first_tile = first_seen(position_of(tokens.start)) / TILE_KV * TILE_KV;
        let [key_room, value_room] = room;
        for start in (first_tile..context).step_by(TILE_KV) {
            let page = pages[start / self.kv.page_size].0 as usize;
            let (keys, values) = self.kv.tile(page, kv_head, start % self.kv.page_size / TILE_KV);
            if rows <= MAX_TILE && start + TILE_KV < context {
                let next = start + TILE_KV;
                let page = pages[next / self.kv.page_size].0 as usize;
                let (keys, values) = self.kv.tile(page, kv_head, next % self.kv.page_size / TILE_KV);
                prefetch(s, keys);
                prefetch(s, values);
            }
            let keys = D::widen(keys, key_room.as_flattened_mut()).as_chunks::<8>().0.as_chunks::<2>().0;
            let values = D::widen(values, value_room.as_flattened_mut()).as_chunks::<8>().0;
            let mut scores: [PanelRow; MAX_TILE_Q] = [[[0.0; 8]; 2]; MAX_TILE_Q];
            for (q, scores) in queries[..rows].chunks(MAX_TILE).zip(scores.chunks_mut(MAX_TILE)) {
                s.call(RowsBy16 { x: q, panel: keys, sums: &mut scores[..q.len()] });
            }
            for row in 0..rows {
                let token = tokens.start + row / heads.len();
                // Tiles after a row's own position or before its window are not part of its context.
                let position = position_of(token);
                let visible = first_seen(position).max(start)..(position + 1).min(start + TILE_KV);
                if visible.is_empty() {
                    continue;
                }
                let visible = visible.start - start..visible.end - start;
                let column = row % heads.len() * head_dim;
                let out = self.out.row_mut(token)[column..][..head_dim].as_chunks_mut::<8>().0;
                let rescale = softmax(s, &mut scores[row], visible.clone(), scale, &mut running[row]);
                let weights = &scores[row].as_flattened()[visible.clone()];
                accumulate(s, weights, rescale, &values[visible.start * head_dim / LANES..], out);
            }
        }

        for row in 0..rows {
            let total = s.splat(s.reduce_add(s.load(&running[row].sum)));
            let column = row % heads.len() * head_dim;
            let out = &mut self.out.row_mut(tokens.start + row / heads.len())[column..][..head_dim];
            for v in out.as_chunks_mut::<8>().0 {
                s.store(s.div(s.load(v), total), v);
            }
        }
    }
}

/// Asks for a tile. With few rows, reading the cache takes longer than the arithmetic.
#[inline(always)]
fn prefetch<S: Simd, T>(s: S, tile: &[T]) {
    for line in tile.chunks(64 / size_of::<T>()) {
        s.prefetch(line.as_ptr().cast());
    }
}

/// Turns the scores of a tile into weights relative to the running maximum, adds them to the running sum, and returns the factor
/// for what was accumulated before. Only the `visible` positions count.
#[inline(always)]
fn softmax<S: Simd>(s: S, scores: &mut PanelRow, visible: Range<usize>, scale: f32, running: &mut Running) -> f32 {
    if visible.len() < TILE_KV {
        let scores = scores.as_flattened_mut();
        scores[..visible.start].fill(f32::NEG_INFINITY);
        scores[visible.end..].fill(f32::NEG_INFINITY);
    }
    let scale = s.splat(scale);
    let (low, high) = (s.mul(s.load(&scores[0]), scale), s.mul(s.load(&scores[1]), scale));
    let highest = s.reduce_max(s.max(low, high));
    let mut rescale = 1.0;
    let mut sum = s.load(&running.sum);
    if highest > running.maximum {
        let mut factor = [0.0; 8];
        s.store(exp_nonpositive(s, s.splat(running.maximum - highest)), &mut factor);
        rescale = factor[0];
        running.maximum = highest;
        sum = s.mul(sum, s.splat(rescale));
    }
    let maximum = s.splat(running.maximum);
    let (low, high) = (exp_nonpositive(s, s.sub(low, maximum)), exp_nonpositive(s, s.sub(high, maximum)));
    s.store(s.add(sum, s.add(low, high)), &mut running.sum);
    s.store(low, &mut scores[0]);
    s.store(high, &mut scores[1]);
    rescale
}

/// `out = out * rescale + sum over positions of weights * values`, with values `[16][head_dim]` in vectors of 8.
#[inline(always)]
fn accumulate<S: Simd>(s: S, weights: &[f32], rescale: f32, values: &[[f32; 8]], out: &mut [[f32; 8]]) {
    let stride = out.len();
    let (eights, rest) = out.as_chunks_mut::<8>();
    for (i, out) in eights.iter_mut().enumerate() {
        columns(s, weights, rescale, &values[8 * i..], stride, out);
    }
    let done = 8 * eights.len();
    for (i, out) in rest.iter_mut().enumerate() {
        columns(s, weights, rescale, &values[done + i..], stride, std::array::from_mut(out));
    }
}

/// `N` vectors of the output in registers.
#[inline(always)]
fn columns<S: Simd, const N: usize>(
    s: S,
    weights: &[f32],
    rescale: f32,
    values: &[[f32; 8]],
    stride: usize,
    out: &mut [[f32; 8]; N],
) {
    let mut sums = [s.splat(0.0); N];
    for n in 0..N {
        sums[n] = s.mul(s.load(&out[n]), s.splat(rescale));
    }
    for (position, &weight) in weights.iter().enumerate() {
        let (weight, values) = (s.splat(weight), &values[position * stride..][..N]);
        for n in 0..N {
            sums[n] = s.fma(weight, s.load(&values[n]), sums[n]);
        }
    }
    for n in 0..N {
        s.store(sums[n], &mut out[n]);
    }
}

#[cfg(test)]
mod tests;
