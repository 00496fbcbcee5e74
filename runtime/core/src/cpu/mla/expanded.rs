//! The expanded form: one head at a time, keys and values of a tile are computed once for all query rows of a sequence.

use super::Call;
use super::room::{cut, with_room};
use super::tile::{COLUMNS, QueryRows, attend_tile, transpose};
use crate::batch::SequenceSpan;
use crate::cache::TILE_KV;
use crate::cpu::Cpu;
use crate::cpu::attention::softmax::Running;
use crate::cpu::grid::{Cell, Grid};
use crate::cpu::simd::{Kernel, Simd};
use crate::dtype::KvDtype;
use crate::linear::gemm::{MAX_TILE, PanelRow, RowsBy16};

pub(super) fn attend<D: KvDtype>(cpu: &Cpu, call: Call<'_, D>, out: &mut [f32]) {
    let (up, kv) = (call.up, call.kv);
    let longest = call.spans().map(|span| span.tokens.len()).max().unwrap_or(0);
    let blocks = up.v.div_ceil(COLUMNS);
    let weights = ((up.nope + up.v) * up.rank).div_ceil(COLUMNS);
    let panels = weights + kv.width() + call.query_width() + up.v + blocks * TILE_KV + blocks * longest;
    let mut grid = Grid::new(out, up.heads * up.v, call.batch.tokens(), up.v);
    cpu.over(&mut grid, |out| {
        with_room(panels, longest, |panels, running| cpu.lanes().enter(Head { call, weights, panels, running, out }));
    });
}

/// All tokens of one head.
struct Head<'a, 'r, D: KvDtype> {
    call: Call<'a, D>,
    /// Panel rows for the head's weights.
    weights: usize,
    panels: &'r mut [PanelRow],
    running: &'r mut [Running],
    out: Cell<'a, f32>,
}

impl<D: KvDtype> Kernel for Head<'_, '_, D> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let Self { call, .. } = self;
        let head = self.out.columns.start / call.up.v;
        let mut panels = std::mem::take(&mut self.panels);
        let weights = cut(&mut panels, self.weights).as_flattened_mut().as_flattened_mut();
        let weights = &mut weights[..(call.up.nope + call.up.v) * call.up.rank];
        call.up.widen(s, head, 0, weights);
        for span in call.spans() {
            self.sequence(s, head, span, weights, panels);
        }
    }
}

impl<D: KvDtype> Head<'_, '_, D> {
    #[inline(always)]
    fn sequence<S: Simd>(&mut self, s: S, head: usize, span: &SequenceSpan, weights: &[f32], mut panels: &mut [PanelRow]) {
        let Self { call, .. } = *self;
        let (up, rank) = (call.up, call.kv.rank);
        let rows = span.tokens.len();
        let blocks = up.v.div_ceil(COLUMNS);
        let latents = cut(&mut panels, call.kv.width());
        let keys = cut(&mut panels, call.query_width());
        let columns = cut(&mut panels, up.v);
        let values = cut(&mut panels, blocks * TILE_KV).as_chunks_mut::<TILE_KV>().0;
        let sums = cut(&mut panels, blocks * rows);
        let running = &mut self.running[..rows];
        sums.fill([[0.0; 8]; 2]);
        running.fill(Running::EMPTY);
        let queries = QueryRows {
            q: call.queries(span.tokens.start, head),
            stride: up.heads * call.query_width(),
            width: call.query_width(),
            rows,
            rows_per_token: 1,
            position: span.start,
            scale: call.scale,
        };
        let (for_keys, for_values) = weights.split_at(up.nope * rank);
        for start in (0..span.context()).step_by(TILE_KV) {
            let latents = D::widen(call.tile(span, start), latents.as_flattened_mut().as_flattened_mut());
            let latents = latents.as_chunks::<8>().0.as_chunks::<2>().0;
            expand(s, for_keys, rank, &latents[..rank], &mut keys[..up.nope]);
            keys[up.nope..].copy_from_slice(&latents[rank..]);
            expand(s, for_values, rank, &latents[..rank], columns);
            transpose(s, columns, values);
            attend_tile(s, &queries, start, keys, values, running, sums);
        }
        for (row, token) in span.tokens.clone().enumerate() {
            let total = running[row].total(s);
            for (block, out) in self.out.row_mut(token).chunks_mut(COLUMNS).enumerate() {
                for (out, sum) in out.iter_mut().zip(sums[block * rows + row].as_flattened()) {
                    *out = sum / total;
                }
            }
        }
    }
}

/// `out = W latents`: rows of `rank` weights times `[rank][16]`.
#[inline(always)]
fn expand<S: Simd>(s: S, weights: &[f32], rank: usize, latents: &[PanelRow], out: &mut [PanelRow]) {
    out.fill([[0.0; 8]; 2]);
    for (weights, sums) in weights.chunks(MAX_TILE * rank).zip(out.chunks_mut(MAX_TILE)) {
        let mut x: [&[f32]; MAX_TILE] = [&[]; MAX_TILE];
        for (x, weights) in x.iter_mut().zip(weights.chunks_exact(rank)) {
            *x = weights;
        }
        s.call(RowsBy16 { x: &x[..sums.len()], panel: latents, sums });
    }
}
