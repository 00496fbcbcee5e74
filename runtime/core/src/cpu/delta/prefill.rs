//! The gated delta rule over chunks, as products of matrices and a triangular solve.

use std::ops::Range;

use super::{Heads, Layer, Shape};
use crate::batch::SequenceSpan;
use crate::cpu::Cpu;
use crate::cpu::chunk::{AddProduct, Decays, Lanes8, TILE, carve, chunks, put, scale, vector, with_room};
use crate::cpu::simd::{Kernel, Simd};

/// Computes the spans of more than one token.
pub(super) fn prefill(cpu: &Cpu, layer: Layer<'_>, chunk: usize, states: &mut [f32], y: &mut [f32]) {
    let tokens: usize = layer.batch.sequences().iter().map(|s| s.tokens.len()).filter(|&n| n > 1).sum();
    if tokens == 0 {
        return;
    }
    let work = 2 * tokens * layer.shape.value_heads * layer.shape.state_len();
    layer.over_heads(cpu, work, states, y, |heads| {
        with_room(Room::vectors(&layer.shape, chunk), |room| cpu.lanes().enter(Prefill { layer, chunk, heads, room }));
    });
}

struct Prefill<'a> {
    layer: Layer<'a>,
    chunk: usize,
    heads: Heads<'a>,
    room: &'a mut [Lanes8],
}

/// The matrices of a chunk of `len` tokens; `pairs` is `len` rounded up to vectors, `keys` is KEY_DIM rounded up to vectors.
struct Room<'a> {
    /// Normalised queries of the key head: `[len][keys]`.
    q: &'a mut [Lanes8],
    /// Normalised keys of the key head: `[len][keys]`.
    k: &'a mut [Lanes8],
    /// The keys, transposed: `[key_dim][pairs]`.
    k_columns: &'a mut [Lanes8],
    /// Products of queries with keys: `[len][pairs]`, of which row `i` is computed up to `i`.
    qk: &'a mut [Lanes8],
    /// Products of keys with keys, in the same way.
    kk: &'a mut [Lanes8],
    /// What each token writes to the state of the value head: `[len][columns]`.
    written: &'a mut [Lanes8],
    /// Rows of products, weighted by the decays: `[TILE][pairs]`.
    weighted: &'a mut [Lanes8],
    /// Rows of the output: `[TILE][columns]`.
    out: &'a mut [Lanes8],
    decays: Decays<'a>,
}

impl<'a> Room<'a> {
    /// Vectors that a chunk of `len` tokens takes.
    fn vectors(shape: &Shape, len: usize) -> usize {
        let (pairs, keys, columns) = (len.div_ceil(8), shape.key_dim.div_ceil(8), shape.columns());
        2 * len * keys + (shape.key_dim + 2 * len + TILE) * pairs + (len + TILE) * columns + Decays::room(pairs)
    }

    fn new(mut room: &'a mut [Lanes8], shape: &Shape, len: usize) -> Self {
        let (pairs, keys, columns) = (len.div_ceil(8), shape.key_dim.div_ceil(8), shape.columns());
        let room = &mut room;
        Self {
            q: carve(room, len * keys),
            k: carve(room, len * keys),
            k_columns: carve(room, shape.key_dim * pairs),
            qk: carve(room, len * pairs),
            kk: carve(room, len * pairs),
            written: carve(room, len * columns),
            weighted: carve(room, TILE * pairs),
            out: carve(room, TILE * columns),
            decays: Decays::new(room, len),
        }
    }
}

impl Kernel for Prefill<'_> {
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

impl Prefill<'_> {
    #[inline(always)]
    fn chunk<S: Simd>(&mut self, s: S, sequence: &SequenceSpan, tokens: Range<usize>) {
        let Self { layer, heads, .. } = self;
        let layer = *layer;
        let mut room = Room::new(self.room, &layer.shape, tokens.len());
        let slot = sequence.state_slot.expect("a batch of a recurrent model has slots").0 as usize;
        let from_zero = sequence.start == 0 && tokens.start == sequence.tokens.start;
        let mut prepared = None;
        for head in heads.heads.clone() {
            let key_head = layer.key_head(head);
            if prepared != Some(key_head) {
                room.key_head(s, layer, tokens.clone(), key_head);
                prepared = Some(key_head);
            }
            if from_zero {
                heads.state(slot, head).fill([0.0; 8]);
            }
            room.value_head(s, layer, tokens.clone(), head, slot, heads);
        }
    }
}

impl Room<'_> {
    /// What the value heads of a key head share: queries, keys, and their products.
    #[inline(always)]
    fn key_head<S: Simd>(&mut self, s: S, layer: Layer<'_>, tokens: Range<usize>, key_head: usize) {
        let Shape { key_dim, .. } = layer.shape;
        let (len, pairs, width) = (tokens.len(), tokens.len().div_ceil(8), key_dim.next_multiple_of(8));
        let columns = self.k_columns.as_flattened_mut();
        columns.fill(0.0);
        for (j, token) in tokens.enumerate() {
            let k = &mut self.k.as_flattened_mut()[j * width..][..key_dim];
            layer.key(s, token, key_head, k);
            for (n, &k) in k.iter().enumerate() {
                columns[n * 8 * pairs + j] = k;
            }
            layer.query(s, token, key_head, &mut self.q.as_flattened_mut()[j * width..][..key_dim]);
        }
        for first in (0..len).step_by(TILE) {
            let rows = TILE.min(len - first);
            for (x, out) in [(&*self.q, &mut *self.qk), (&*self.k, &mut *self.kk)] {
                s.call(AddProduct {
                    x: &x.as_flattened()[first * width..],
                    x_stride: width,
                    rows,
                    depth: key_dim,
                    m: self.k_columns,
                    m_stride: pairs,
                    first: true,
                    out: &mut out[first * pairs..],
                    out_stride: pairs,
                    columns: (first + rows).div_ceil(8),
                });
            }
        }
    }

    /// The outputs of a value head, and its state after the chunk.
    #[inline(always)]
    fn value_head<S: Simd>(
        &mut self,
        s: S,
        layer: Layer<'_>,
        tokens: Range<usize>,
        head: usize,
        slot: usize,
        heads: &mut Heads<'_>,
    ) {
        let Shape { key_dim, .. } = layer.shape;
        let (len, pairs, columns) = (tokens.len(), tokens.len().div_ceil(8), layer.shape.columns());
        let width = key_dim.next_multiple_of(8);
        let whole = self.decays.set(|i| layer.log_decay(tokens.start + i, head));

        for first in (0..len).step_by(TILE) {
            let rows = TILE.min(len - first);
            self.write(s, layer, tokens.start, head, first..first + rows, heads.state(slot, head));
            s.call(AddProduct {
                x: &self.q.as_flattened()[first * width..],
                x_stride: width,
                rows,
                depth: key_dim,
                m: heads.state(slot, head),
                m_stride: columns,
                first: true,
                out: self.out,
                out_stride: columns,
                columns,
            });
            let seen = (first + rows).div_ceil(8);
            for r in 0..rows {
                let i = first + r;
                scale(s, &mut self.out[r * columns..][..columns], self.decays.since_start[i]);
                let (products, weighted) = (&self.qk[i * pairs..][..seen], &mut self.weighted[r * pairs..][..seen]);
                self.decays.weigh(s, i, i + 1, 1.0, products, weighted);
            }
            s.call(AddProduct {
                x: self.weighted.as_flattened(),
                x_stride: 8 * pairs,
                rows,
                depth: first + rows,
                m: self.written,
                m_stride: columns,
                first: false,
                out: self.out,
                out_stride: columns,
                columns,
            });
            for r in 0..rows {
                let y = heads.y(tokens.start + first + r, head);
                for v in 0..columns {
                    put(&self.out[r * columns + v], y, v);
                }
            }
        }

        for (written, &decay) in self.written.chunks_exact_mut(columns).zip(self.decays.to_end.iter()) {
            scale(s, written, decay);
        }
        let of_head = heads.state(slot, head);
        scale(s, of_head, whole);
        for first in (0..key_dim).step_by(TILE) {
            s.call(AddProduct {
                x: &self.k_columns.as_flattened()[first * 8 * pairs..],
                x_stride: 8 * pairs,
                rows: TILE.min(key_dim - first),
                depth: len,
                m: self.written,
                m_stride: columns,
                first: false,
                out: &mut of_head[first * columns..],
                out_stride: columns,
                columns,
            });
        }
    }

    /// Solves for what the tokens `tile` of the chunk write to the state, after all tokens before them.
    #[inline(always)]
    fn write<S: Simd>(&mut self, s: S, layer: Layer<'_>, start: usize, head: usize, tile: Range<usize>, state: &[Lanes8]) {
        let Shape { key_dim, .. } = layer.shape;
        let (pairs, columns) = (self.decays.since_start.len().div_ceil(8), layer.shape.columns());
        let width = key_dim.next_multiple_of(8);
        let (before, written) = self.written.split_at_mut(tile.start * columns);
        s.call(AddProduct {
            x: &self.k.as_flattened()[tile.start * width..],
            x_stride: width,
            rows: tile.len(),
            depth: key_dim,
            m: state,
            m_stride: columns,
            first: true,
            out: written,
            out_stride: columns,
            columns,
        });
        let seen = tile.end.div_ceil(8);
        for (r, i) in tile.clone().enumerate() {
            let (value, beta) = (layer.value(start + i, head), layer.beta(start + i, head));
            let (decay, splat) = (s.splat(self.decays.since_start[i]), s.splat(beta));
            for v in 0..columns {
                let row = &mut written[r * columns + v];
                let missing = s.sub(s.load(&vector(value, v)), s.mul(decay, s.load(row)));
                s.store(s.mul(splat, missing), row);
            }
            let (products, weighted) = (&self.kk[i * pairs..][..seen], &mut self.weighted[r * pairs..][..seen]);
            self.decays.weigh(s, i, i, -beta, products, weighted);
        }
        s.call(AddProduct {
            x: self.weighted.as_flattened(),
            x_stride: 8 * pairs,
            rows: tile.len(),
            depth: tile.start,
            m: before,
            m_stride: columns,
            first: false,
            out: written,
            out_stride: columns,
            columns,
        });
        for r in 1..tile.len() {
            let (solved, row) = written.split_at_mut(r * columns);
            let factors = &self.weighted.as_flattened()[r * 8 * pairs + tile.start..][..r];
            s.call(AddProduct {
                x: factors,
                x_stride: 0,
                rows: 1,
                depth: r,
                m: solved,
                m_stride: columns,
                first: false,
                out: row,
                out_stride: columns,
                columns,
            });
        }
    }
}
