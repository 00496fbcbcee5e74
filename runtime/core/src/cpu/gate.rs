//! Gates on the output of attention.

use super::Cpu;
use super::activation::sigmoid;
use super::grid::{Cell, Grid};
use super::simd::{Kernel, Simd};
use crate::rows::Rows;

/// `x *= sigmoid(gate)`, both `[rows, D]`: the output gate of Qwen3-Next's attention.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn sigmoid_mul<const D: usize>(cpu: &Cpu, x: &mut Rows<f32, D>, gate: &Rows<f32, D>) {
    assert_eq!(x.rows(), gate.rows(), "the gate is of the same batch");
    // An exponential weighs about four plain operations.
    let unit = cpu.row_unit(x.rows(), 4 * x.as_slice().len());
    let gate = gate.as_slice();
    cpu.over(&mut Grid::of_rows(x.as_mut_slice(), D, unit), |x| cpu.lanes().enter(SigmoidMul { x, gate, width: D }));
}

struct SigmoidMul<'a> {
    x: Cell<'a, f32>,
    gate: &'a [f32],
    width: usize,
}

impl Kernel for SigmoidMul<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        for r in self.x.rows.clone() {
            let (x, x_rest) = self.x.row_mut(r).as_chunks_mut::<8>();
            let (gate, gate_rest) = self.gate[r * self.width..][..self.width].as_chunks::<8>();
            for (x, gate) in x.iter_mut().zip(gate) {
                s.store(s.mul(s.load(x), sigmoid(s, s.load(gate))), x);
            }
            // The rest goes through the same lanes, so that an element's result does not depend on where it stands.
            let (mut last, mut gates) = ([0.0; 8], [0.0; 8]);
            last[..x_rest.len()].copy_from_slice(x_rest);
            gates[..gate_rest.len()].copy_from_slice(gate_rest);
            let gated = s.mul(s.load(&last), sigmoid(s, s.load(&gates)));
            s.store(gated, &mut last);
            x_rest.copy_from_slice(&last[..x_rest.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, U, each_isa, within};

    #[test]
    fn sigmoid_mul_matches_the_formula() {
        let mut random = Random::new(11);
        let mut filled = |size: f32| {
            let mut x = Rows::<f32, 100>::with_capacity(401);
            x.set_rows(401);
            x.as_mut_slice().fill_with(|| size * random.unit());
            x
        };
        let (x, gate) = (filled(3.0), filled(20.0));
        each_isa(|cpu| {
            let mut out = x.clone();
            sigmoid_mul(cpu, &mut out, &gate);
            let exact = x.as_slice().iter().zip(gate.as_slice()).map(|(&x, &g)| {
                let y = f64::from(x) / (1.0 + (-f64::from(g)).exp());
                // exp within 2 ulp (4 u), and three operations that round once each.
                (y, 7.0 * U * y.abs())
            });
            within(&format!("sigmoid_mul on {}", cpu.isa()), 1, out.as_slice(), exact);
            // A row alone gives the same bits.
            let (mut one, mut one_gate) = (Rows::<f32, 100>::with_capacity(1), Rows::with_capacity(1));
            one.set_rows(1);
            one_gate.set_rows(1);
            *one.row_mut(0) = *x.row(400);
            *one_gate.row_mut(0) = *gate.row(400);
            sigmoid_mul(cpu, &mut one, &one_gate);
            assert_eq!(one.row(0), out.row(400));
        });
    }
}
