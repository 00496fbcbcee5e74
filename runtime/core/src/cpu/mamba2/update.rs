//! One step of the Mamba2 recurrence.

use super::{Heads, Layer};
use crate::batch::SequenceSpan;
use crate::cpu::Cpu;
use crate::cpu::chunk::{put, vector};
use crate::cpu::simd::{Kernel, Simd};

/// Vectors of a state's row that are computed together: their steps and sums are 8 of the 16 vector registers.
const TOGETHER: usize = 4;

/// Computes the spans of one token.
pub(super) fn update(cpu: &Cpu, layer: Layer<'_>, states: &mut [f32], y: &mut [f32]) {
    let steps = layer.batch.sequences().iter().filter(|s| s.tokens.len() == 1).count();
    if steps > 0 {
        let work = steps * layer.shape.heads * layer.shape.state_len();
        layer.over_heads(cpu, work, states, y, |heads| cpu.lanes().enter(Update { layer, heads }));
    }
}

struct Update<'a> {
    layer: Layer<'a>,
    heads: Heads<'a>,
}

impl Kernel for Update<'_> {
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

impl Update<'_> {
    #[inline(always)]
    fn step<S: Simd>(&mut self, s: S, sequence: &SequenceSpan, head: usize) {
        let layer = self.layer;
        let (token, group) = (sequence.tokens.start, layer.group(head));
        let slot = sequence.state_slot.expect("a batch of a recurrent model has slots").0 as usize;
        let (x, b, c) = (layer.x(token, head), layer.b(token, group), layer.c(token, group));
        let time_step = layer.time_step(token, head);
        let decay = (f64::from(time_step) * f64::from(layer.a[head])).exp() as f32;
        let step = Step { x, b, c, time_step, decay, d: layer.d[head] };
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
    x: &'a [f32],
    b: &'a [f32],
    c: &'a [f32],
    time_step: f32,
    decay: f32,
    d: f32,
}

impl Step<'_> {
    /// Updates `N` vectors of each row of the state, and returns those of the output.
    #[inline(always)]
    fn columns<S: Simd, const N: usize>(&self, s: S, first: usize, stride: usize, state: &mut [[f32; 8]]) -> [[f32; 8]; N] {
        let (decay, time_step) = (s.splat(self.decay), s.splat(self.time_step));
        let mut inputs = [s.splat(0.0); N];
        let mut sums = [s.splat(0.0); N];
        for n in 0..N {
            inputs[n] = s.mul(time_step, s.load(&vector(self.x, first + n)));
        }
        for ((row, &b), &c) in state.chunks_exact_mut(stride).zip(self.b).zip(self.c) {
            let (row, b, c) = (&mut row[first..][..N], s.splat(b), s.splat(c));
            for n in 0..N {
                let new = s.fma(b, inputs[n], s.mul(decay, s.load(&row[n])));
                s.store(new, &mut row[n]);
                sums[n] = s.fma(c, new, sums[n]);
            }
        }
        let mut y = [[0.0; 8]; N];
        for n in 0..N {
            s.store(s.fma(s.splat(self.d), s.load(&vector(self.x, first + n)), sums[n]), &mut y[n]);
        }
        y
    }
}
