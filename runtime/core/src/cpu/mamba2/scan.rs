//! The Mamba2 recurrence over chunks, as products of matrices.

use std::ops::Range;

use super::{Heads, Layer, Shape};
use crate::batch::SequenceSpan;
use crate::cpu::Cpu;
use crate::cpu::chunk::{AddProduct, Decays, Lanes8, TILE, carve, chunks, put, scale, vector, with_room};
use crate::cpu::simd::{Kernel, Simd};

/// Computes the spans of more than one token.
pub(super) fn scan(cpu: &Cpu, layer: Layer<'_>, chunk: usize, states: &mut [f32], y: &mut [f32]) {
    let tokens: usize = layer.batch.sequences().iter().map(|s| s.tokens.len()).filter(|&n| n > 1).sum();
    if tokens == 0 {
        return;
    }
    let work = tokens * layer.shape.heads * layer.shape.state_len();
    layer.over_heads(cpu, work, states, y, |heads| {
        with_room(Room::vectors(&layer.shape, chunk), |room| cpu.lanes().enter(Scan { layer, chunk, heads, room }));
    });
}

struct Scan<'a> {
    layer: Layer<'a>,
    chunk: usize,
    heads: Heads<'a>,
    room: &'a mut [Lanes8],
}

/// The matrices of a chunk of `len` tokens; `pairs` is `len` rounded up to vectors.
struct Room<'a> {
    /// B of the group, transposed: `[state][pairs]`.
    b: &'a mut [Lanes8],
    /// `C B^T` of the group: `[len][pairs]`, of which row `i` is computed up to `i`.
    products: &'a mut [Lanes8],
    /// `d x` of the head: `[len][columns]`.
    x: &'a mut [Lanes8],
    /// Rows of `C B^T`, weighted by the decays: `[TILE][pairs]`.
    weighted: &'a mut [Lanes8],
    /// Rows of the output: `[TILE][columns]`.
    out: &'a mut [Lanes8],
    decays: Decays<'a>,
}

impl<'a> Room<'a> {
    /// Vectors that a chunk of `len` tokens takes.
    fn vectors(shape: &Shape, len: usize) -> usize {
        let (pairs, columns) = (len.div_ceil(8), shape.columns());
        (shape.state + len + TILE) * pairs + (len + TILE) * columns + Decays::room(pairs)
    }

    fn new(mut room: &'a mut [Lanes8], shape: &Shape, len: usize) -> Self {
        let (pairs, columns) = (len.div_ceil(8), shape.columns());
        let room = &mut room;
        Self {
            b: carve(room, shape.state * pairs),
            products: carve(room, len * pairs),
            x: carve(room, len * columns),
            weighted: carve(room, TILE * pairs),
            out: carve(room, TILE * columns),
            decays: Decays::new(room, len),
        }
    }
}

impl Kernel for Scan<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        for sequence in self.layer.batch.sequences() {
            if sequence.tokens.len() > 1 {
                for tokens in chunks(sequence, self.chunk) {
                    self.chunk(s, sequence, tokens);
                }
            }
        }
    }
}

impl Scan<'_> {
    #[inline(always)]
    fn chunk<S: Simd>(&mut self, s: S, sequence: &SequenceSpan, tokens: Range<usize>) {
        let Self { layer, heads, .. } = self;
        let layer = *layer;
        let mut room = Room::new(self.room, &layer.shape, tokens.len());
        let slot = sequence.state_slot.expect("a batch of a recurrent model has slots").0 as usize;
        let from_zero = sequence.start == 0 && tokens.start == sequence.tokens.start;
        let mut prepared = None;
        for head in heads.heads.clone() {
            let group = layer.group(head);
            if prepared != Some(group) {
                room.group(s, layer, tokens.clone(), group);
                prepared = Some(group);
            }
            if from_zero {
                heads.state(slot, head).fill([0.0; 8]);
            }
            room.head(s, layer, tokens.clone(), head, slot, heads);
        }
    }
}

impl Room<'_> {
    /// What the heads of a group share: B transposed, and `C B^T`.
    #[inline(always)]
    fn group<S: Simd>(&mut self, s: S, layer: Layer<'_>, tokens: Range<usize>, group: usize) {
        let (len, pairs) = (tokens.len(), tokens.len().div_ceil(8));
        let b = self.b.as_flattened_mut();
        b.fill(0.0);
        for (j, token) in tokens.clone().enumerate() {
            for (n, &b_n) in layer.b(token, group).iter().enumerate() {
                b[n * 8 * pairs + j] = b_n;
            }
        }
        for first in (0..len).step_by(TILE) {
            let rows = TILE.min(len - first);
            s.call(AddProduct {
                x: &layer.xbc[layer.c_start(tokens.start + first, group)..],
                x_stride: layer.shape.conv_dim(),
                rows,
                depth: layer.shape.state,
                m: self.b,
                m_stride: pairs,
                first: true,
                out: &mut self.products[first * pairs..],
                out_stride: pairs,
                columns: (first + rows).div_ceil(8),
            });
        }
    }

    /// The outputs of a head, and its state after the chunk.
    #[inline(always)]
    fn head<S: Simd>(&mut self, s: S, layer: Layer<'_>, tokens: Range<usize>, head: usize, slot: usize, heads: &mut Heads<'_>) {
        let Shape { state, .. } = layer.shape;
        let (len, pairs, columns) = (tokens.len(), tokens.len().div_ceil(8), layer.shape.columns());
        let group = layer.group(head);
        let (a, d) = (f64::from(layer.a[head]), s.splat(layer.d[head]));
        for (x, token) in self.x.chunks_exact_mut(columns).zip(tokens.clone()) {
            let time_step = s.splat(layer.time_step(token, head));
            for v in 0..columns {
                s.store(s.mul(time_step, s.load(&vector(layer.x(token, head), v))), &mut x[v]);
            }
        }
        let whole = self.decays.set(|i| a * f64::from(layer.time_step(tokens.start + i, head)));

        for first in (0..len).step_by(TILE) {
            let rows = TILE.min(len - first);
            s.call(AddProduct {
                x: &layer.xbc[layer.c_start(tokens.start + first, group)..],
                x_stride: layer.shape.conv_dim(),
                rows,
                depth: state,
                m: heads.state(slot, head),
                m_stride: columns,
                first: true,
                out: self.out,
                out_stride: columns,
                columns,
            });
            for r in 0..rows {
                scale(s, &mut self.out[r * columns..][..columns], self.decays.since_start[first + r]);
                let i = first + r;
                let seen = (first + rows).div_ceil(8);
                let products = &self.products[i * pairs..][..seen];
                self.decays.weigh(s, i, i + 1, 1.0, products, &mut self.weighted[r * pairs..][..seen]);
            }
            s.call(AddProduct {
                x: self.weighted.as_flattened(),
                x_stride: 8 * pairs,
                rows,
                depth: first + rows,
                m: self.x,
                m_stride: columns,
                first: false,
                out: self.out,
                out_stride: columns,
                columns,
            });
            for r in 0..rows {
                let token = tokens.start + first + r;
                let (x, y) = (layer.x(token, head), heads.y(token, head));
                for v in 0..columns {
                    let mut lanes = [0.0; 8];
                    s.store(s.fma(d, s.load(&vector(x, v)), s.load(&self.out[r * columns + v])), &mut lanes);
                    put(&lanes, y, v);
                }
            }
        }

        for (x, &decay) in self.x.chunks_exact_mut(columns).zip(self.decays.to_end.iter()) {
            scale(s, x, decay);
        }
        let of_head = heads.state(slot, head);
        scale(s, of_head, whole);
        for first in (0..state).step_by(TILE) {
            s.call(AddProduct {
                x: &self.b.as_flattened()[first * 8 * pairs..],
                x_stride: 8 * pairs,
                rows: TILE.min(state - first),
                depth: len,
                m: self.x,
                m_stride: columns,
                first: false,
                out: &mut of_head[first * columns..],
                out_stride: columns,
                columns,
            });
        }
    }
}
