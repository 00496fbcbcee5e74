//! One step of the gated delta rule.

use super::{Heads, Layer, MAX_KEY_DIM};
use crate::batch::SequenceSpan;
use crate::cpu::Cpu;
use crate::cpu::chunk::{put, vector};
use crate::cpu::simd::{Kernel, Simd};

/// Vectors of a state's row that are computed together: their writes and sums are 8 of the 16 vector registers.
const TOGETHER: usize = 4;

/// Computes the spans of one token.
pub(super) fn decode(cpu: &Cpu, layer: Layer<'_>, states: &mut [f32], y: &mut [f32]) {
    let steps = layer.batch.sequences().iter().filter(|s| s.tokens.len() == 1).count();
    if steps > 0 {
        let work = 2 * steps * layer.shape.value_heads * layer.shape.state_len();
        layer.over_heads(cpu, work, states, y, |heads| cpu.lanes().enter(Decode { layer, heads }));
    }
}

struct Decode<'a> {
    layer: Layer<'a>,
    heads: Heads<'a>,
}

impl Kernel for Decode<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        for sequence in self.layer.batch.sequences() {
            if sequence.tokens.len() == 1 {
                for head in self.heads.heads.clone() {
                    self.step(s, sequence, head);
                }
            }
        }
    }
}

impl Decode<'_> {
    #[inline(always)]
    fn step<S: Simd>(&mut self, s: S, sequence: &SequenceSpan, head: usize) {
        let layer = self.layer;
        let (token, key_head, key_dim) = (sequence.tokens.start, layer.key_head(head), layer.shape.key_dim);
        let slot = sequence.state_slot.expect("a batch of a recurrent model has slots").0 as usize;
        let (mut q, mut k) = ([0.0; MAX_KEY_DIM], [0.0; MAX_KEY_DIM]);
        let (q, k) = (&mut q[..key_dim], &mut k[..key_dim]);
        layer.query(s, token, key_head, q);
        layer.key(s, token, key_head, k);
        let step = Step {
            q,
            k,
            v: layer.value(token, head),
            beta: layer.beta(token, head),
            decay: layer.log_decay(token, head).exp() as f32,
        };
        if sequence.start == 0 {
            self.heads.state(slot, head).fill([0.0; 8]);
        }
        let columns = layer.shape.columns();
        let mut column = 0;
        while column < columns {
            // The output is another grid's, so it is put down after the state was let go.
            if column + TOGETHER <= columns {
                let y = step.columns::<S, TOGETHER>(s, column, columns, self.heads.state(slot, head));
                for n in 0..TOGETHER {
                    put(&y[n], self.heads.y(token, head), column + n);
                }
                column += TOGETHER;
            } else {
                let [y] = step.columns::<S, 1>(s, column, columns, self.heads.state(slot, head));
                put(&y, self.heads.y(token, head), column);
                column += 1;
            }
        }
    }
}

/// One token's inputs of a head.
struct Step<'a> {
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
    beta: f32,
    decay: f32,
}

impl Step<'_> {
    /// Updates `N` vectors of each row of the state, and returns those of the output.
    #[inline(always)]
    fn columns<S: Simd, const N: usize>(&self, s: S, first: usize, stride: usize, state: &mut [[f32; 8]]) -> [[f32; 8]; N] {
        let decay = s.splat(self.decay);
        let mut known = [s.splat(0.0); N];
        for (row, &k) in state.chunks_exact(stride).zip(self.k) {
            let (row, k) = (&row[first..][..N], s.splat(k));
            for n in 0..N {
                known[n] = s.fma(k, s.load(&row[n]), known[n]);
            }
        }
        let mut written = [s.splat(0.0); N];
        for n in 0..N {
            let missing = s.sub(s.load(&vector(self.v, first + n)), s.mul(decay, known[n]));
            written[n] = s.mul(s.splat(self.beta), missing);
        }
        let mut sums = [s.splat(0.0); N];
        for ((row, &k), &q) in state.chunks_exact_mut(stride).zip(self.k).zip(self.q) {
            let (row, k, q) = (&mut row[first..][..N], s.splat(k), s.splat(q));
            for n in 0..N {
                let new = s.fma(k, written[n], s.mul(decay, s.load(&row[n])));
                s.store(new, &mut row[n]);
                sums[n] = s.fma(q, new, sums[n]);
            }
        }
        let mut y = [[0.0; 8]; N];
        for n in 0..N {
            s.store(sums[n], &mut y[n]);
        }
        y
    }
}
