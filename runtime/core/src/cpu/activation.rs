//! Elementwise operations on rows, and the selection of rows that want logits.

use super::Cpu;
use super::exp::exp_nonpositive;
use super::grid::{Cell, Grid};
use super::simd::{Kernel, Simd};
use crate::batch::Batch;
use crate::linear::Bias;
use crate::rows::Rows;

/// `gate = silu(gate) * up`, with `silu(x) = x / (1 + e^-x)`; both `[rows, D]`.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn silu_mul<const D: usize>(cpu: &Cpu, gate: &mut Rows<f32, D>, up: &Rows<f32, D>) {
    assert_eq!(gate.rows(), up.rows(), "gate and up are of the same batch");
    // An exponential weighs about four plain operations.
    let unit = cpu.row_unit(gate.rows(), 4 * gate.as_slice().len());
    let up = up.as_slice();
    let act = Act::Silu;
    cpu.over(&mut Grid::of_rows(gate.as_mut_slice(), D, unit), |cell| {
        cpu.lanes().enter(ActMul { act, gate: cell, up, width: D })
    });
}

/// `gate = gelu(gate) * up`, with the tanh form of gelu, `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`; both `[rows, D]`.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn gelu_tanh_mul<const D: usize>(cpu: &Cpu, gate: &mut Rows<f32, D>, up: &Rows<f32, D>) {
    assert_eq!(gate.rows(), up.rows(), "gate and up are of the same batch");
    let unit = cpu.row_unit(gate.rows(), 6 * gate.as_slice().len());
    let up = up.as_slice();
    let act = Act::GeluTanh;
    cpu.over(&mut Grid::of_rows(gate.as_mut_slice(), D, unit), |cell| {
        cpu.lanes().enter(ActMul { act, gate: cell, up, width: D })
    });
}

/// `x *= factor`, in place.
pub fn scale<const D: usize>(x: &mut Rows<f32, D>, factor: f32) {
    for x in x.as_mut_slice() {
        *x *= factor;
    }
}

#[derive(Clone, Copy)]
enum Act {
    Silu,
    GeluTanh,
}

impl Act {
    #[inline(always)]
    fn of<S: Simd>(self, s: S, x: S::F) -> S::F {
        match self {
            Self::Silu => silu(s, x),
            Self::GeluTanh => gelu_tanh(s, x),
        }
    }
}

struct ActMul<'a> {
    act: Act,
    gate: Cell<'a, f32>,
    up: &'a [f32],
    width: usize,
}

impl Kernel for ActMul<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        for r in self.gate.rows.clone() {
            let (gate, gate_rest) = self.gate.row_mut(r).as_chunks_mut::<8>();
            let (up, up_rest) = self.up[r * self.width..][..self.width].as_chunks::<8>();
            for (gate, up) in gate.iter_mut().zip(up) {
                s.store(s.mul(self.act.of(s, s.load(gate)), s.load(up)), gate);
            }
            // The rest goes through the same lanes, so that an element's result does not depend on where it stands.
            let (mut g, mut u) = ([0.0; 8], [0.0; 8]);
            g[..gate_rest.len()].copy_from_slice(gate_rest);
            u[..up_rest.len()].copy_from_slice(up_rest);
            let product = s.mul(self.act.of(s, s.load(&g)), s.load(&u));
            s.store(product, &mut g);
            gate_rest.copy_from_slice(&g[..gate_rest.len()]);
        }
    }
}

/// `x * sigmoid(x)`
#[inline(always)]
fn silu<S: Simd>(s: S, x: S::F) -> S::F {
    s.mul(x, sigmoid(s, x))
}

/// `0.5 (1 + tanh z) = sigmoid(2 z)`, so that gelu is `x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))`.
#[inline(always)]
fn gelu_tanh<S: Simd>(s: S, x: S::F) -> S::F {
    let cubic = s.mul(s.splat(0.044_715), s.mul(x, s.mul(x, x)));
    // 2 sqrt(2 / pi)
    let z = s.mul(s.splat(1.595_769_2), s.add(x, cubic));
    s.mul(x, sigmoid(s, z))
}

/// 1 or `e` over `1 + e` with `e = exp(-|x|)`: nothing overflows.
#[inline(always)]
pub(super) fn sigmoid<S: Simd>(s: S, x: S::F) -> S::F {
    let zero = s.splat(0.0);
    let negative = s.sub(zero, x);
    let e = exp_nonpositive(s, s.below(x, zero, x, negative));
    s.div(s.below(x, zero, e, s.splat(1.0)), s.add(s.splat(1.0), e))
}

/// Adds the bias to each row of `[rows, D]`.
pub fn add_bias<const D: usize>(x: &mut Rows<f32, D>, bias: &Bias<D>) {
    for row in x.as_mut_slice().as_chunks_mut::<D>().0 {
        for (x, b) in row.iter_mut().zip(bias.values()) {
            *x += b;
        }
    }
}

/// Copies the rows of `x` that [`Batch::logit_rows`] names, in that order: `[tokens, D]` to `[logit rows, D]`.
pub fn gather_logit_rows<const D: usize>(x: &Rows<f32, D>, batch: &Batch, out: &mut Rows<f32, D>) {
    out.set_rows(batch.logit_rows().len());
    for (to, &from) in batch.logit_rows().iter().enumerate() {
        out.row_mut(to).copy_from_slice(x.row(from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchLimits, PageId, WantLogits};
    use crate::linear::RowOrder;
    use crate::testing::{Random, U, each_isa, within};
    use tenon_formats::StorageFormat;

    fn filled<const D: usize>(rows: usize, mut value: impl FnMut() -> f32) -> Rows<f32, D> {
        let mut x = Rows::with_capacity(rows);
        x.set_rows(rows);
        x.as_mut_slice().fill_with(&mut value);
        x
    }

    #[test]
    fn silu_mul_matches_the_formula() {
        let mut random = Random::new(7);
        let gate = filled::<100>(401, || 20.0 * random.unit());
        let up = filled::<100>(401, || random.unit());
        each_isa(|cpu| {
            let mut out = gate.clone();
            silu_mul(cpu, &mut out, &up);
            let exact = gate.as_slice().iter().zip(up.as_slice()).map(|(&g, &u)| {
                let y = f64::from(g) / (1.0 + (-f64::from(g)).exp()) * f64::from(u);
                // exp within 2 ulp (4 u), and four operations that round once each.
                (y, 8.0 * U * y.abs())
            });
            within(&format!("silu_mul on {}", cpu.isa()), 1, out.as_slice(), exact);
            let mut one = filled::<100>(1, || 0.0);
            let mut one_up = one.clone();
            one.row_mut(0).copy_from_slice(gate.row(400));
            one_up.row_mut(0).copy_from_slice(up.row(400));
            silu_mul(cpu, &mut one, &one_up);
            assert_eq!(one.row(0), out.row(400));
        });
    }

    #[test]
    fn gelu_mul_matches_the_formula() {
        let mut random = Random::new(8);
        let gate = filled::<100>(401, || 6.0 * random.unit());
        let up = filled::<100>(401, || random.unit());
        each_isa(|cpu| {
            let mut out = gate.clone();
            gelu_tanh_mul(cpu, &mut out, &up);
            let exact = gate.as_slice().iter().zip(up.as_slice()).map(|(&g, &u)| {
                let g = f64::from(g);
                let z = (2.0 / std::f64::consts::PI).sqrt() * (g + 0.044715 * g * g * g);
                let y = 0.5 * g * (1.0 + z.tanh()) * f64::from(u);
                // The argument 2 z of the exponential is rounded five times, which moves the exponential by 5 u |2 z|; then
                // exp within 2 ulp, and five operations that round once each.
                (y, (10.0 * z.abs() + 12.0) * U * y.abs() + f64::from(f32::MIN_POSITIVE))
            });
            within(&format!("gelu_tanh_mul on {}", cpu.isa()), 1, out.as_slice(), exact);
        });
    }

    #[test]
    fn rows_are_scaled() {
        let mut x = filled::<3>(2, || 2.0);
        scale(&mut x, 1.5);
        assert_eq!(x.as_slice(), [3.0; 6]);
    }

    #[test]
    fn silu_of_extremes() {
        each_isa(|cpu| {
            let mut values = [0.0, 1e30, -1e30, f32::INFINITY, -90.0, f32::NAN, -0.0].into_iter();
            let mut gate = filled::<7>(1, || values.next().unwrap());
            let ones = filled::<7>(1, || 1.0);
            silu_mul(cpu, &mut gate, &ones);
            let [zero, large, small, infinite, tiny, nan, minus_zero] = *gate.row(0);
            assert_eq!([zero, large, small, infinite, tiny, minus_zero], [0.0, 1e30, 0.0, f32::INFINITY, 0.0, 0.0]);
            assert!(nan.is_nan());
        });
    }

    #[test]
    fn bias_is_added_to_each_row() {
        let stored: Vec<u8> = [1.0f32, 2.0, 3.0].iter().flat_map(|b| b.to_le_bytes()).collect();
        let bias = Bias::<3>::decode(StorageFormat::F32, &stored, RowOrder::Stored).unwrap();
        let mut x = filled::<3>(2, || 10.0);
        add_bias(&mut x, &bias);
        assert_eq!(x.as_slice(), [11.0, 12.0, 13.0, 11.0, 12.0, 13.0]);
    }

    #[test]
    fn logit_rows_are_gathered_in_order() {
        let mut batch = Batch::new(BatchLimits {
            vocab_size: 1,
            max_positions: 16,
            page_size: 16,
            pages: 2,
            state_slots: 0,
            max_tokens: 8,
            max_logit_rows: 8,
        });
        batch.push(&[0; 3], 0, &[PageId(0)], None, WantLogits::Last).unwrap();
        batch.push(&[0; 2], 0, &[PageId(1)], None, WantLogits::All).unwrap();
        let mut next = 0.0;
        let x = filled::<1>(5, || {
            next += 1.0;
            next
        });
        let mut out = Rows::with_capacity(8);
        gather_logit_rows(&x, &batch, &mut out);
        assert_eq!(out.as_slice(), [3.0, 4.0, 5.0]);
    }
}
