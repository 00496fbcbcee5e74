//! The absorbed form: queries are moved into the space of latents, where a tile of latents serves all heads of a token.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use std::ops::Range;

use super::Call;
use super::room::{cut, with_room};
use super::tile::{COLUMNS, QueryRows, attend_tile, transpose};
use crate::batch::SequenceSpan;
use crate::cache::TILE_KV;
use crate::cpu::Cpu;
use crate::cpu::attention::prefetch;
use crate::cpu::attention::softmax::Running;
use crate::cpu::grid::{Cell, Grid};
use crate::cpu::simd::{Kernel, Simd};
use crate::dtype::KvDtype;
use crate::linear::gemm::PanelRow;

/// Most query rows (tokens times heads) of a cell: at a rank of 512, absorbed queries and sums of 128 rows are half a megabyte.
const MAX_ROWS: usize = 128;
/// Weight rows that are widened together.
const WEIGHT_ROWS: usize = 8;

pub(super) fn attend<D: KvDtype>(cpu: &Cpu, call: Call<'_, D>, out: &mut [f32]) {
    let (up, kv) = (call.up, call.kv);
    // With fewer tokens than threads, the heads are divided too.
    let tokens: usize = call.spans().map(|span| span.tokens.len()).sum();
    let heads = up.heads.div_ceil(cpu.threads().div_ceil(tokens)).min(MAX_ROWS);
    let tokens = tokens.div_ceil(cpu.threads()).min(MAX_ROWS / heads).max(1);
    let rows = tokens * heads;
    let blocks = up.rank.div_ceil(COLUMNS);
    let (queries, weights) = ((rows * kv.width()).div_ceil(COLUMNS), (WEIGHT_ROWS * up.rank).div_ceil(COLUMNS));
    let panels = queries + weights + kv.width() + blocks * TILE_KV + blocks * rows;
    let mut grid = Grid::new(out, up.heads * up.v, tokens, heads * up.v);
    cpu.over(&mut grid, |out| {
        let first = out.rows.start;
        let mut taken = [false; MAX_ROWS];
        for span in call.spans() {
            for token in in_both(&span.tokens, &out.rows) {
                taken[token - first] = true;
            }
        }
        if taken.contains(&true) {
            with_room(panels, rows, |panels, running| {
                cpu.lanes().enter(Part { call, taken, queries, weights, panels, running, out });
            });
        }
    });
}

fn in_both(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// Some tokens and some heads.
struct Part<'a, 'r, D: KvDtype> {
    call: Call<'a, D>,
    /// Of the cell's tokens, those that are computed.
    taken: [bool; MAX_ROWS],
    /// Panel rows for the queries.
    queries: usize,
    /// Panel rows for weights.
    weights: usize,
    panels: &'r mut [PanelRow],
    running: &'r mut [Running],
    out: Cell<'a, f32>,
}

impl<D: KvDtype> Kernel for Part<'_, '_, D> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let Self { call, .. } = self;
        let mut panels = std::mem::take(&mut self.panels);
        // `[token][head][rank + rope]`: absorbed queries, and then the weighted sums of latents in place of their first part.
        let queries = cut(&mut panels, self.queries).as_flattened_mut().as_flattened_mut();
        let weights = cut(&mut panels, self.weights).as_flattened_mut().as_flattened_mut();
        self.absorb(s, queries, weights);
        for span in call.spans() {
            let tokens = in_both(&span.tokens, &self.out.rows);
            if !tokens.is_empty() {
                self.sequence(s, span, tokens, queries, panels);
            }
        }
        self.project(s, queries, weights);
    }
}

impl<D: KvDtype> Part<'_, '_, D> {
    #[inline(always)]
    fn heads(&self) -> Range<usize> {
        self.out.columns.start / self.call.up.v..self.out.columns.end / self.call.up.v
    }

    /// The place of a token's head in `queries`.
    #[inline(always)]
    fn row(&self, token: usize, head: usize) -> usize {
        let heads = self.heads();
        ((token - self.out.rows.start) * heads.len() + head - heads.start) * self.call.kv.width()
    }

    /// Moves the queries of all tokens into the space of latents: `K^T q`, and the rotated part as it is.
    #[inline(always)]
    fn absorb<S: Simd>(&self, s: S, queries: &mut [f32], weights: &mut [f32]) {
        let (up, rank) = (self.call.up, self.call.kv.rank);
        for head in self.heads() {
            for first in (0..up.nope).step_by(WEIGHT_ROWS) {
                let rows = WEIGHT_ROWS.min(up.nope - first);
                let weights = &mut weights[..rows * rank];
                up.widen(s, head, first, weights);
                for token in self.out.rows.clone() {
                    if !self.taken[token - self.out.rows.start] {
                        continue;
                    }
                    let q = self.call.queries(token, head);
                    let query = &mut queries[self.row(token, head)..][..self.call.kv.width()];
                    if first == 0 {
                        query[..rank].fill(0.0);
                        query[rank..].copy_from_slice(&q[up.nope..][..self.call.kv.rope]);
                    }
                    add_rows(s, &q[first..][..rows], weights, &mut query[..rank]);
                }
            }
        }
    }

    /// Attention of the cell's tokens of one sequence over the latents.
    #[inline(always)]
    fn sequence<S: Simd>(
        &mut self,
        s: S,
        span: &SequenceSpan,
        tokens: Range<usize>,
        queries: &mut [f32],
        mut panels: &mut [PanelRow],
    ) {
        let Self { call, .. } = *self;
        let (rank, width) = (call.kv.rank, call.kv.width());
        let heads = self.heads();
        let rows = tokens.len() * heads.len();
        let blocks = rank.div_ceil(COLUMNS);
        let room = cut(&mut panels, width);
        let values = cut(&mut panels, blocks * TILE_KV).as_chunks_mut::<TILE_KV>().0;
        let sums = cut(&mut panels, blocks * rows);
        let running = &mut self.running[..rows];
        sums.fill([[0.0; 8]; 2]);
        running.fill(Running::EMPTY);
        let position = span.start + (tokens.start - span.tokens.start);
        let context = position + tokens.len();
        let first = (tokens.start - self.out.rows.start) * heads.len() * width;
        let queries = &mut queries[first..][..rows * width];
        let of = QueryRows { q: queries, stride: width, width, rows, rows_per_token: heads.len(), position, scale: call.scale };
        for start in (0..context).step_by(TILE_KV) {
            if start + TILE_KV < context {
                prefetch(s, call.tile(span, start + TILE_KV));
            }
            let latents = D::widen(call.tile(span, start), room.as_flattened_mut().as_flattened_mut());
            let latents = latents.as_chunks::<8>().0.as_chunks::<2>().0;
            transpose(s, &latents[..rank], values);
            attend_tile(s, &of, start, latents, values, running, sums);
        }
        for row in 0..rows {
            let total = running[row].total(s);
            for (block, out) in queries[row * width..][..rank].chunks_mut(COLUMNS).enumerate() {
                for (out, sum) in out.iter_mut().zip(sums[block * rows + row].as_flattened()) {
                    *out = sum / total;
                }
            }
        }
    }

    /// `V c` of the weighted sums of latents.
    #[inline(always)]
    fn project<S: Simd>(&mut self, s: S, latents: &[f32], weights: &mut [f32]) {
        let (up, rank) = (self.call.up, self.call.kv.rank);
        let heads = self.heads();
        for head in heads.clone() {
            for first in (0..up.v).step_by(WEIGHT_ROWS) {
                let rows = WEIGHT_ROWS.min(up.v - first);
                let weights = &mut weights[..rows * rank];
                up.widen(s, head, up.nope + first, weights);
                for token in self.out.rows.clone() {
                    if !self.taken[token - self.out.rows.start] {
                        continue;
                    }
                    let latent = &latents[self.row(token, head)..][..rank];
                    let out = &mut self.out.row_mut(token)[(head - heads.start) * up.v + first..][..rows];
                    for (out, weights) in out.iter_mut().zip(weights.chunks_exact(rank)) {
                        *out = dot(s, weights, latent);
                    }
                }
            }
        }
    }
}

/// `out += sum over i of q[i] * rows[i]`, one chain per element; four vectors of chains are in flight together.
#[inline(always)]
fn add_rows<S: Simd>(s: S, q: &[f32], rows: &[f32], out: &mut [f32]) {
    let width = out.len();
    let (lanes, rest) = out.as_chunks_mut::<8>();
    let single = 32 * (lanes.len() / 4);
    let done = 8 * lanes.len();
    let (fours, singles) = lanes.as_chunks_mut::<4>();
    for (l, four) in fours.iter_mut().enumerate() {
        add_columns(s, q, &rows[32 * l..], width, four);
    }
    for (l, lanes) in singles.iter_mut().enumerate() {
        add_columns(s, q, &rows[single + 8 * l..], width, std::array::from_mut(lanes));
    }
    for (r, out) in rest.iter_mut().enumerate() {
        for (i, &q) in q.iter().enumerate() {
            *out += rows[i * width + done + r] * q;
        }
    }
}

/// `N` vectors of the output, and of rows that are `width` apart.
#[inline(always)]
fn add_columns<S: Simd, const N: usize>(s: S, q: &[f32], rows: &[f32], width: usize, out: &mut [[f32; 8]; N]) {
    let mut chains = [s.splat(0.0); N];
    for n in 0..N {
        chains[n] = s.load(&out[n]);
    }
    for (i, &q) in q.iter().enumerate() {
        let (q, row) = (s.splat(q), &rows[i * width..][..8 * N].as_chunks::<8>().0[..N]);
        for n in 0..N {
            chains[n] = s.fma(s.load(&row[n]), q, chains[n]);
        }
    }
    for n in 0..N {
        s.store(chains[n], &mut out[n]);
    }
}

/// Four vectors of partial sums, added in a fixed order; elements after the last 8 are added one by one.
#[inline(always)]
fn dot<S: Simd>(s: S, a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let ((fours, singles), (fours_of_b, singles_of_b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [s.splat(0.0); 4];
    for (a, b) in fours.iter().zip(fours_of_b) {
        for i in 0..4 {
            sums[i] = s.fma(s.load(&a[i]), s.load(&b[i]), sums[i]);
        }
    }
    for (a, b) in singles.iter().zip(singles_of_b) {
        sums[0] = s.fma(s.load(a), s.load(b), sums[0]);
    }
    let mut sum = s.reduce_add(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])));
    for (a, b) in a_rest.iter().zip(b_rest) {
        sum += a * b;
    }
    sum
}
