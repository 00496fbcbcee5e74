//! The gated delta rule, in its two forms: chunk by chunk for several tokens, and one step for one token.
//!
//! For each value head, with its state a matrix `[KEY_DIM][VALUE_DIM]` and q and k those of its key head, normalised:
//!
//! ```text
//! q = q / sqrt(sum(q^2) + 1e-6) / sqrt(KEY_DIM),  k = k / sqrt(sum(k^2) + 1e-6)
//! g = A softplus(a + dt_bias),  beta = sigmoid(b)
//! state = exp(g) state
//! state = state + k (beta (v - state^T k))^T
//! y = state^T q
//! ```
//!
//! Both forms compute a head by itself and a sequence by itself, so that neither the batch nor the number of threads shows in a
//! result; where a sequence is cut into steps does, by roundings.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#[allow(clippy::needless_range_loop)]
mod decode;
#[allow(clippy::needless_range_loop)]
mod prefill;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::Cpu;
use super::chunk::softplus;
use super::grid::{Cell, Grid};
use super::norm::sum_of_squares;
use super::simd::Simd;
use crate::batch::Batch;
use crate::linear::{Decay, Vector};
use crate::rows::Rows;
use crate::state::DeltaState;

/// Most tokens of a chunk: the two matrices of its pairs are 64 KiB each.
const MAX_CHUNK: usize = 128;
/// Largest key dimension.
const MAX_KEY_DIM: usize = 256;
/// Added to the sum of squares of a query or key.
const NORM_EPS: f32 = 1e-6;

/// The gated delta rule for the spans of the batch with more than one token, continuing each sequence's state, or zero for a span
/// that starts at position 0. Sets the rows of `y`, and leaves those of other spans to [`delta_decode`].
///
/// `qkv` is `[tokens, 2 * KEY_HEADS * KEY_DIM + VALUE_HEADS * VALUE_DIM]` after convolution and silu: q of all heads, then k, then v. Value
/// head `h` uses key head `h / (VALUE_HEADS / KEY_HEADS)`. `a` and `b` are `[tokens, VALUE_HEADS]`; `y` is `[tokens, VALUE_HEADS * VALUE_DIM]`,
/// before norm and gate.
///
/// `CHUNK` is the number of positions that are computed together as products of matrices; chunks start at its absolute multiples. With
/// `c` the running sum of g in a chunk and `S` the state before it, what tokens write to the state is the solution U of a triangular
/// system (the WY form of arXiv 2412.06464, section 3.3):
///
/// ```text
/// u_i = beta_i (v_i - exp(c_i) S^T k_i) - sum over j < i of beta_i (k_i k_j) exp(c_i - c_j) u_j
/// y_i = exp(c_i) S^T q_i + sum over j <= i of (q_i k_j) exp(c_i - c_j) u_j
/// S = exp(c_L) S + sum over j of k_j exp(c_L - c_j) u_j
/// ```
///
/// # Panics
/// If the arguments are not for this batch.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn delta_prefill<
    const CHUNK: usize,
    const KEY_HEADS: usize,
    const VALUE_HEADS: usize,
    const KEY_DIM: usize,
    const VALUE_DIM: usize,
    const CONV_DIM: usize,
    const KERNEL: usize,
    const Y_DIM: usize,
>(
    cpu: &Cpu,
    qkv: &Rows<f32, CONV_DIM>,
    a: &Rows<f32, VALUE_HEADS>,
    b: &Rows<f32, VALUE_HEADS>,
    decay: &Decay<VALUE_HEADS>,
    dt_bias: &Vector<VALUE_HEADS>,
    state: &mut DeltaState<VALUE_HEADS, KEY_DIM, VALUE_DIM, CONV_DIM, KERNEL>,
    batch: &Batch,
    y: &mut Rows<f32, Y_DIM>,
) {
    const {
        assert!(CHUNK > 0 && CHUNK <= MAX_CHUNK, "a chunk has 1 to 128 positions");
        check_dims(KEY_HEADS, VALUE_HEADS, KEY_DIM, VALUE_DIM, CONV_DIM, Y_DIM);
    };
    y.set_rows(batch.tokens());
    let shape = Shape { key_heads: KEY_HEADS, value_heads: VALUE_HEADS, key_dim: KEY_DIM, value_dim: VALUE_DIM };
    let (qkv, a, b) = (qkv.as_slice(), a.as_slice(), b.as_slice());
    let layer = Layer { qkv, a, b, decay: decay.values(), dt_bias: dt_bias.values(), shape, batch };
    layer.check(state.live().slots());
    prefill::prefill(cpu, layer, CHUNK, state.live().states(), y.as_mut_slice());
}

/// The gated delta rule for the spans of the batch with one token: one step each. The arguments are those of [`delta_prefill`], which
/// has set the rows of `y`.
///
/// # Panics
/// If the arguments are not for this batch.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn delta_decode<
    const KEY_HEADS: usize,
    const VALUE_HEADS: usize,
    const KEY_DIM: usize,
    const VALUE_DIM: usize,
    const CONV_DIM: usize,
    const KERNEL: usize,
    const Y_DIM: usize,
>(
    cpu: &Cpu,
    qkv: &Rows<f32, CONV_DIM>,
    a: &Rows<f32, VALUE_HEADS>,
    b: &Rows<f32, VALUE_HEADS>,
    decay: &Decay<VALUE_HEADS>,
    dt_bias: &Vector<VALUE_HEADS>,
    state: &mut DeltaState<VALUE_HEADS, KEY_DIM, VALUE_DIM, CONV_DIM, KERNEL>,
    batch: &Batch,
    y: &mut Rows<f32, Y_DIM>,
) {
    const { check_dims(KEY_HEADS, VALUE_HEADS, KEY_DIM, VALUE_DIM, CONV_DIM, Y_DIM) };
    assert_eq!(y.rows(), batch.tokens(), "delta_prefill has set the rows");
    let shape = Shape { key_heads: KEY_HEADS, value_heads: VALUE_HEADS, key_dim: KEY_DIM, value_dim: VALUE_DIM };
    let (qkv, a, b) = (qkv.as_slice(), a.as_slice(), b.as_slice());
    let layer = Layer { qkv, a, b, decay: decay.values(), dt_bias: dt_bias.values(), shape, batch };
    layer.check(state.live().slots());
    decode::decode(cpu, layer, state.live().states(), y.as_mut_slice());
}

const fn check_dims(key_heads: usize, value_heads: usize, key_dim: usize, value_dim: usize, conv_dim: usize, y_dim: usize) {
    assert!(key_heads > 0 && value_heads > 0 && key_dim > 0 && value_dim > 0, "a layer has at least one element");
    assert!(value_heads.is_multiple_of(key_heads), "each key head serves the same number of value heads");
    assert!(key_dim <= MAX_KEY_DIM, "linear_key_head_dim is at most 256");
    assert!(
        conv_dim == 2 * key_heads * key_dim + value_heads * value_dim,
        "a row of qkv is 2 * KEY_HEADS * KEY_DIM + VALUE_HEADS * VALUE_DIM wide"
    );
    assert!(y_dim == value_heads * value_dim, "a row of y is VALUE_HEADS * VALUE_DIM wide");
}

/// What the types of the wrappers say, as values.
#[derive(Clone, Copy)]
struct Shape {
    key_heads: usize,
    value_heads: usize,
    key_dim: usize,
    value_dim: usize,
}

impl Shape {
    fn conv_dim(&self) -> usize {
        2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim
    }

    /// Vectors in a row of a head's state.
    fn columns(&self) -> usize {
        self.value_dim.div_ceil(8)
    }

    /// Elements of a head's state.
    fn state_len(&self) -> usize {
        self.key_dim * self.columns() * 8
    }
}

/// A layer's inputs and weights.
#[derive(Clone, Copy)]
struct Layer<'a> {
    qkv: &'a [f32],
    a: &'a [f32],
    b: &'a [f32],
    decay: &'a [f32],
    dt_bias: &'a [f32],
    shape: Shape,
    batch: &'a Batch,
}

impl<'a> Layer<'a> {
    fn check(&self, slots: usize) {
        let tokens = self.batch.tokens();
        assert_eq!(self.qkv.len(), tokens * self.shape.conv_dim(), "the inputs are of this batch");
        let of_heads = tokens * self.shape.value_heads;
        assert_eq!((self.a.len(), self.b.len()), (of_heads, of_heads), "a and b are of this batch");
        assert_eq!(slots, self.batch.limits().state_slots, "the batch was built for another number of slots");
    }

    /// The key head of a value head.
    fn key_head(&self, head: usize) -> usize {
        head / (self.shape.value_heads / self.shape.key_heads)
    }

    /// The query of a token and key head, normalised and scaled, into `out`.
    #[inline(always)]
    fn query<S: Simd>(&self, s: S, token: usize, key_head: usize, out: &mut [f32]) {
        let Shape { key_dim, .. } = self.shape;
        let q = &self.qkv[token * self.shape.conv_dim() + key_head * key_dim..][..key_dim];
        normalise(s, q, 1.0 / (key_dim as f32).sqrt(), out);
    }

    /// The key of a token and key head, normalised, into `out`.
    #[inline(always)]
    fn key<S: Simd>(&self, s: S, token: usize, key_head: usize, out: &mut [f32]) {
        let Shape { key_heads, key_dim, .. } = self.shape;
        let k = &self.qkv[token * self.shape.conv_dim() + (key_heads + key_head) * key_dim..][..key_dim];
        normalise(s, k, 1.0, out);
    }

    /// The value of a token and value head.
    fn value(&self, token: usize, head: usize) -> &'a [f32] {
        let Shape { key_heads, key_dim, value_dim, .. } = self.shape;
        &self.qkv[token * self.shape.conv_dim() + 2 * key_heads * key_dim + head * value_dim..][..value_dim]
    }

    /// `g`, the logarithm of the decay at a token.
    fn log_decay(&self, token: usize, head: usize) -> f64 {
        let a = f64::from(self.a[token * self.shape.value_heads + head]) + f64::from(self.dt_bias[head]);
        f64::from(self.decay[head]) * softplus(a)
    }

    /// How much of a token's value is written.
    fn beta(&self, token: usize, head: usize) -> f32 {
        let b = f64::from(self.b[token * self.shape.value_heads + head]);
        (1.0 / (1.0 + (-b).exp())) as f32
    }

    /// Calls `task` with the outputs and states of some value heads, `y` being `[tokens]` and `states` `[slots]` rows. `work` is in elements.
    fn over_heads(&self, cpu: &Cpu, work: usize, states: &mut [f32], y: &mut [f32], task: impl Fn(Heads<'_>) + Sync) {
        let Shape { value_heads, value_dim, .. } = self.shape;
        let state_len = self.shape.state_len();
        let together = cpu.row_unit(value_heads, work);
        let slots = states.len() / (value_heads * state_len);
        let mut y = Grid::new(y, value_heads * value_dim, self.batch.tokens(), together * value_dim);
        let mut states = Grid::new(states, value_heads * state_len, slots, together * state_len);
        cpu.over_pairs(&mut y, &mut states, |y, states| {
            let heads = y.columns.start / value_dim..y.columns.end / value_dim;
            task(Heads { heads, value_dim, state_len, y, states });
        });
    }
}

/// `out = x / sqrt(sum(x^2) + eps) * factor`
#[inline(always)]
fn normalise<S: Simd>(s: S, x: &[f32], factor: f32, out: &mut [f32]) {
    let scale = factor / (sum_of_squares(s, x) + NORM_EPS).sqrt();
    for (out, x) in out.iter_mut().zip(x) {
        *out = *x * scale;
    }
}

/// Some value heads of all tokens and slots.
struct Heads<'a> {
    heads: Range<usize>,
    value_dim: usize,
    state_len: usize,
    y: Cell<'a, f32>,
    states: Cell<'a, f32>,
}

impl Heads<'_> {
    /// y of a token and head.
    #[inline(always)]
    fn y(&mut self, token: usize, head: usize) -> &mut [f32] {
        &mut self.y.row_mut(token)[(head - self.heads.start) * self.value_dim..][..self.value_dim]
    }

    /// The state of a slot and head.
    #[inline(always)]
    fn state(&mut self, slot: usize, head: usize) -> &mut [[f32; 8]] {
        let state = &mut self.states.row_mut(slot)[(head - self.heads.start) * self.state_len..][..self.state_len];
        state.as_chunks_mut::<8>().0
    }
}
