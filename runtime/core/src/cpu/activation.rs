//! Elementwise operations on rows, and the selection of rows that want logits.

mod functions;
#[cfg(test)]
mod tests;

pub(crate) use self::functions::Act;
pub(super) use self::functions::sigmoid;

use super::Cpu;
use super::grid::Grid;
use super::simd::{Kernel, Portable, Simd};
use crate::batch::Batch;
use crate::linear::Bias;
use crate::rows::Rows;

/// `gate = silu(gate) * up`, with `silu(x) = x / (1 + e^-x)`; both `[rows, D]`.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn silu_mul<const D: usize>(cpu: &Cpu, gate: &mut Rows<f32, D>, up: &Rows<f32, D>) {
    act_mul(cpu, Act::Silu, gate, up);
}

/// `gate = gelu(gate) * up`, with the tanh form of gelu, `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`; both `[rows, D]`.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn gelu_tanh_mul<const D: usize>(cpu: &Cpu, gate: &mut Rows<f32, D>, up: &Rows<f32, D>) {
    act_mul(cpu, Act::GeluTanh, gate, up);
}

/// `gate = gelu(gate) * up`, with the exact gelu, `0.5 x (1 + erf(x / sqrt(2)))`; both `[rows, D]`.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn gelu_mul<const D: usize>(cpu: &Cpu, gate: &mut Rows<f32, D>, up: &Rows<f32, D>) {
    act_mul(cpu, Act::Gelu, gate, up);
}

/// `x = silu(x)` with `silu(x) = x / (1 + e^-x)`, in place.
pub fn silu<const D: usize>(cpu: &Cpu, x: &mut Rows<f32, D>) {
    act_in_place(cpu, Act::Silu, x);
}

/// `x = gelu(x)`, the exact form `0.5 x (1 + erf(x / sqrt(2)))`, in place.
pub fn gelu<const D: usize>(cpu: &Cpu, x: &mut Rows<f32, D>) {
    act_in_place(cpu, Act::Gelu, x);
}

/// `x = gelu(x)`, the form `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, in place.
pub fn gelu_tanh<const D: usize>(cpu: &Cpu, x: &mut Rows<f32, D>) {
    act_in_place(cpu, Act::GeluTanh, x);
}

/// `x = max(x, 0)^2`, in place.
pub fn relu2<const D: usize>(cpu: &Cpu, x: &mut Rows<f32, D>) {
    act_in_place(cpu, Act::Relu2, x);
}

/// `x *= factor`, in place.
pub fn scale<const D: usize>(x: &mut Rows<f32, D>, factor: f32) {
    for x in x.as_mut_slice() {
        *x *= factor;
    }
}

/// `x += other`, in place.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn add<const D: usize>(x: &mut Rows<f32, D>, other: &Rows<f32, D>) {
    assert_eq!(x.rows(), other.rows(), "both terms are of the same batch");
    for (x, other) in x.as_mut_slice().iter_mut().zip(other.as_slice()) {
        *x += other;
    }
}

/// `x += factor * other`, in place; the product is rounded before it is added.
///
/// # Panics
/// If the two have different numbers of rows.
pub fn add_scaled<const D: usize>(x: &mut Rows<f32, D>, other: &Rows<f32, D>, factor: f32) {
    assert_eq!(x.rows(), other.rows(), "both terms are of the same batch");
    for (x, other) in x.as_mut_slice().iter_mut().zip(other.as_slice()) {
        *x += factor * other;
    }
}

/// `out += sigmoid(gate) * x`, with one gate per row, in place: how a shared expert joins the routed ones.
///
/// # Panics
/// If the three have different numbers of rows.
pub fn sigmoid_gate_add<const D: usize>(out: &mut Rows<f32, D>, gate: &Rows<f32, 1>, x: &Rows<f32, D>) {
    assert!(out.rows() == gate.rows() && out.rows() == x.rows(), "the gate and both terms are of the same batch");
    let rows = out.as_mut_slice().chunks_exact_mut(D).zip(x.as_slice().chunks_exact(D));
    for ((out, x), &gate) in rows.zip(gate.as_slice()) {
        let [weight, ..] = sigmoid(Portable, [gate; 8]);
        for (out, x) in out.iter_mut().zip(x) {
            *out += weight * x;
        }
    }
}

/// `x = cap * tanh(x / cap)`, in place.
pub fn soft_cap<const D: usize>(x: &mut Rows<f32, D>, cap: f32) {
    let (eights, rest) = x.as_mut_slice().as_chunks_mut::<8>();
    for eight in eights {
        *eight = functions::soft_cap(Portable, *eight, cap);
    }
    // The rest goes through the same lanes, so that an element's result does not depend on where it stands.
    let mut last = [0.0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last = functions::soft_cap(Portable, last, cap);
    rest.copy_from_slice(&last[..rest.len()]);
}

/// `gate = act(gate) * up`
fn act_mul<const D: usize>(cpu: &Cpu, act: Act, gate: &mut Rows<f32, D>, up: &Rows<f32, D>) {
    assert_eq!(gate.rows(), up.rows(), "gate and up are of the same batch");
    let unit = cpu.row_unit(gate.rows(), act.weight() * gate.as_slice().len());
    let up = up.as_slice();
    cpu.over(&mut Grid::of_rows(gate.as_mut_slice(), D, unit), |mut cell| {
        for r in cell.rows.clone() {
            cpu.lanes().enter(ActMul { act, gate: cell.row_mut(r), up: &up[r * D..][..D] });
        }
    });
}

fn act_in_place<const D: usize>(cpu: &Cpu, act: Act, x: &mut Rows<f32, D>) {
    let unit = cpu.row_unit(x.rows(), act.weight() * x.as_slice().len());
    cpu.over(&mut Grid::of_rows(x.as_mut_slice(), D, unit), |mut cell| {
        for r in cell.rows.clone() {
            cpu.lanes().enter(InPlace { act, x: cell.row_mut(r) });
        }
    });
}

/// Calls an expression with each 8 elements of two slices of the same length, of which the first is written. The rest goes through
/// the same lanes, so that an element's result does not depend on where it stands. A macro, because a closure is not sure to be
/// inlined into the function that enables the instruction set.
macro_rules! pairs {
    ($gate:expr, $up:expr, |$g:ident, $u:ident| $each:expr) => {{
        let (gate, gate_rest) = $gate.as_chunks_mut::<8>();
        let (up, up_rest) = $up.as_chunks::<8>();
        for ($g, $u) in gate.iter_mut().zip(up) {
            $each;
        }
        let (mut gate, mut up) = ([0.0; 8], [0.0; 8]);
        gate[..gate_rest.len()].copy_from_slice(gate_rest);
        up[..up_rest.len()].copy_from_slice(up_rest);
        let ($g, $u) = (&mut gate, &up);
        $each;
        gate_rest.copy_from_slice(&gate[..gate_rest.len()]);
    }};
}

/// `gate = act(gate) * up`, for slices of the same length.
pub(crate) struct ActMul<'a> {
    pub(crate) act: Act,
    pub(crate) gate: &'a mut [f32],
    pub(crate) up: &'a [f32],
}

impl Kernel for ActMul<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { act, gate, up } = self;
        pairs!(gate, up, |g, u| s.store(s.mul(act.of(s, s.load(g)), s.load(u)), g));
    }
}

/// `gate = (up + 1) * gate * sigmoid(alpha * gate)` with `gate` at most `limit` and `up` within `-limit..=limit`, for slices of the
/// same length.
pub(crate) struct ClampedSwiglu<'a> {
    pub(crate) limit: f32,
    pub(crate) alpha: f32,
    pub(crate) gate: &'a mut [f32],
    pub(crate) up: &'a [f32],
}

impl Kernel for ClampedSwiglu<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { limit, alpha, gate, up } = self;
        pairs!(gate, up, |g, u| s.store(functions::clamped_swiglu(s, s.load(g), s.load(u), limit, alpha), g));
    }
}

/// `x = act(x)`
pub(crate) struct InPlace<'a> {
    pub(crate) act: Act,
    pub(crate) x: &'a mut [f32],
}

impl Kernel for InPlace<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (eights, rest) = self.x.as_chunks_mut::<8>();
        for eight in eights {
            s.store(self.act.of(s, s.load(eight)), eight);
        }
        // The rest goes through the same lanes, so that an element's result does not depend on where it stands.
        let mut last = [0.0; 8];
        last[..rest.len()].copy_from_slice(rest);
        s.store(self.act.of(s, s.load(&last)), &mut last);
        rest.copy_from_slice(&last[..rest.len()]);
    }
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
