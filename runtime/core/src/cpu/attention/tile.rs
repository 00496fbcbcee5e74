//! One cell of attention: some tokens and some heads of a group, over their whole context.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use std::ops::Range;

use super::softmax::{Running, softmax};
use super::{LANES, MAX_HEAD_DIM, MAX_TILE_Q, Shape};
use crate::batch::{Batch, PageId, SequenceSpan};
use crate::cache::{KvView, TILE_KV};
use crate::cpu::grid::Cell;
use crate::cpu::simd::{Kernel, Simd};
use crate::dtype::KvDtype;
use crate::linear::gemm::{MAX_TILE, PanelRow, RowsBy16};

/// Some tokens and some heads of one group.
pub(super) struct QueryTile<'a, D: KvDtype> {
    pub(super) q: &'a [f32],
    pub(super) kv: KvView<'a, D>,
    pub(super) shape: Shape<'a>,
    pub(super) batch: &'a Batch,
    pub(super) out: Cell<'a, f32>,
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
        let Shape { scale, cap, window, sinks, heads: all_heads, .. } = self.shape;
        let kv_head = heads.start / (all_heads / self.kv.kv_heads);
        let pages: &[PageId] = self.batch.pages(sequence);
        let position_of = |token: usize| sequence.start + (token - sequence.tokens.start);
        let rows = tokens.len() * heads.len();

        let mut queries: [&[f32]; MAX_TILE_Q] = [&[]; MAX_TILE_Q];
        let mut running = [Running::EMPTY; MAX_TILE_Q];
        for (i, token) in tokens.clone().enumerate() {
            for (j, head) in heads.clone().enumerate() {
                queries[i * heads.len() + j] = &self.q[(token * all_heads + head) * head_dim..][..head_dim];
                if let Some(sinks) = sinks {
                    running[i * heads.len() + j] = Running::with_sink(sinks[head]);
                }
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
                let rescale = softmax(s, &mut scores[row], visible.clone(), scale, cap, &mut running[row]);
                let weights = &scores[row].as_flattened()[visible.clone()];
                accumulate(s, weights, rescale, &values[visible.start * head_dim / LANES..], out);
            }
        }

        for row in 0..rows {
            let total = s.splat(running[row].total(s));
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
pub(in crate::cpu) fn prefetch<S: Simd, T>(s: S, tile: &[T]) {
    for line in tile.chunks(64 / size_of::<T>()) {
        s.prefetch(line.as_ptr().cast());
    }
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
