//! The Mamba2 recurrence, in its two forms: chunk by chunk for several tokens, and one step for one token.
//!
//! For each head, with its state a matrix `[STATE][HEAD_DIM]` and B and C those of its group:
//!
//! ```text
//! d = max(softplus(dt + dt_bias), time_step_min)
//! state = exp(d A) state + B (d x)^T
//! y = C^T state + D x
//! ```
//!
//! Both forms compute a head by itself and a sequence by itself, so that neither the batch nor the number of threads shows in a
//! result; where a sequence is cut into steps does, by roundings.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#[allow(clippy::needless_range_loop)]
mod scan;
#[cfg(test)]
mod tests;
#[allow(clippy::needless_range_loop)]
mod update;

use std::ops::Range;

use super::Cpu;
use super::chunk::softplus;
use super::grid::{Cell, Grid};
use crate::batch::Batch;
use crate::linear::{Decay, Vector};
use crate::rows::Rows;
use crate::state::Mamba2State;

/// Most tokens of a chunk: the matrix of its pairs is 256 KiB.
const MAX_CHUNK: usize = 256;
/// Most rows of a head's state.
const MAX_STATE: usize = 1024;

/// The recurrence for the spans of the batch with more than one token, continuing each sequence's state, or zero for a span that
/// starts at position 0. Sets the rows of `y`, and leaves those of other spans to [`mamba2_update`].
///
/// `xbc` is `[tokens, HEADS * HEAD_DIM + 2 * GROUPS * STATE]` after convolution and silu: x of all heads, then B of all groups, then C.
/// `dt` is `[tokens, HEADS]`, without its bias; `y` is `[tokens, HEADS * HEAD_DIM]`, before gate and norm.
///
/// `CHUNK` is the number of positions that are computed together as products of matrices; chunks start at its absolute multiples. With L
/// tokens of a chunk, `a` the running sum of `d A` and `S` the state before it (Mamba2's state space duality, arXiv 2405.21060, section 6):
///
/// ```text
/// y_i = exp(a_i) C_i S + sum over j <= i of (C_i B_j) exp(a_i - a_j) d_j x_j + D x_i
/// S = exp(a_L) S + sum over j of B_j exp(a_L - a_j) d_j x_j
/// ```
///
/// # Panics
/// If the arguments are not for this batch.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn mamba2_scan<
    const CHUNK: usize,
    const HEADS: usize,
    const HEAD_DIM: usize,
    const STATE: usize,
    const GROUPS: usize,
    const CONV_DIM: usize,
    const KERNEL: usize,
    const Y_DIM: usize,
>(
    cpu: &Cpu,
    xbc: &Rows<f32, CONV_DIM>,
    dt: &Rows<f32, HEADS>,
    a: &Decay<HEADS>,
    d: &Vector<HEADS>,
    dt_bias: &Vector<HEADS>,
    time_step_min: f32,
    state: &mut Mamba2State<HEADS, HEAD_DIM, STATE, CONV_DIM, KERNEL>,
    batch: &Batch,
    y: &mut Rows<f32, Y_DIM>,
) {
    const {
        assert!(CHUNK > 0 && CHUNK <= MAX_CHUNK, "a chunk has 1 to 256 positions");
        check_dims(HEADS, HEAD_DIM, STATE, GROUPS, CONV_DIM, Y_DIM);
    };
    y.set_rows(batch.tokens());
    let shape = Shape { heads: HEADS, head_dim: HEAD_DIM, state: STATE, groups: GROUPS, time_step_min };
    let layer =
        Layer { xbc: xbc.as_slice(), dt: dt.as_slice(), a: a.values(), d: d.values(), dt_bias: dt_bias.values(), shape, batch };
    layer.check(state.live().slots());
    scan::scan(cpu, layer, CHUNK, state.live().states(), y.as_mut_slice());
}

/// The recurrence for the spans of the batch with one token: one step each. The arguments are those of [`mamba2_scan`], which has set
/// the rows of `y`.
///
/// # Panics
/// If the arguments are not for this batch.
#[allow(clippy::too_many_arguments)] // Called by generated code, which names each.
pub fn mamba2_update<
    const HEADS: usize,
    const HEAD_DIM: usize,
    const STATE: usize,
    const GROUPS: usize,
    const CONV_DIM: usize,
    const KERNEL: usize,
    const Y_DIM: usize,
>(
    cpu: &Cpu,
    xbc: &Rows<f32, CONV_DIM>,
    dt: &Rows<f32, HEADS>,
    a: &Decay<HEADS>,
    d: &Vector<HEADS>,
    dt_bias: &Vector<HEADS>,
    time_step_min: f32,
    state: &mut Mamba2State<HEADS, HEAD_DIM, STATE, CONV_DIM, KERNEL>,
    batch: &Batch,
    y: &mut Rows<f32, Y_DIM>,
) {
    const { check_dims(HEADS, HEAD_DIM, STATE, GROUPS, CONV_DIM, Y_DIM) };
    assert_eq!(y.rows(), batch.tokens(), "mamba2_scan has set the rows");
    let shape = Shape { heads: HEADS, head_dim: HEAD_DIM, state: STATE, groups: GROUPS, time_step_min };
    let layer =
        Layer { xbc: xbc.as_slice(), dt: dt.as_slice(), a: a.values(), d: d.values(), dt_bias: dt_bias.values(), shape, batch };
    layer.check(state.live().slots());
    update::update(cpu, layer, state.live().states(), y.as_mut_slice());
}

const fn check_dims(heads: usize, head_dim: usize, state: usize, groups: usize, conv_dim: usize, y_dim: usize) {
    assert!(heads > 0 && head_dim > 0 && state > 0 && groups > 0, "a layer has at least one element");
    assert!(heads.is_multiple_of(groups), "each group serves the same number of heads");
    assert!(state <= MAX_STATE, "ssm_state_size is at most 1024");
    assert!(conv_dim == heads * head_dim + 2 * groups * state, "a row of xbc is HEADS * HEAD_DIM + 2 * GROUPS * STATE wide");
    assert!(y_dim == heads * head_dim, "a row of y is HEADS * HEAD_DIM wide");
}

/// What the types of the wrappers say, as values.
#[derive(Clone, Copy)]
struct Shape {
    heads: usize,
    head_dim: usize,
    state: usize,
    groups: usize,
    time_step_min: f32,
}

impl Shape {
    fn conv_dim(&self) -> usize {
        self.heads * self.head_dim + 2 * self.groups * self.state
    }

    /// Vectors in a row of a head's state.
    fn columns(&self) -> usize {
        self.head_dim.div_ceil(8)
    }

    /// Elements of a head's state.
    fn state_len(&self) -> usize {
        self.state * self.columns() * 8
    }
}

/// A layer's inputs and weights.
#[derive(Clone, Copy)]
struct Layer<'a> {
    xbc: &'a [f32],
    dt: &'a [f32],
    a: &'a [f32],
    d: &'a [f32],
    dt_bias: &'a [f32],
    shape: Shape,
    batch: &'a Batch,
}

impl<'a> Layer<'a> {
    fn check(&self, slots: usize) {
        let tokens = self.batch.tokens();
        assert_eq!(self.xbc.len(), tokens * self.shape.conv_dim(), "the inputs are of this batch");
        assert_eq!(self.dt.len(), tokens * self.shape.heads, "the time steps are of this batch");
        assert_eq!(slots, self.batch.limits().state_slots, "the batch was built for another number of slots");
    }

    fn group(&self, head: usize) -> usize {
        head / (self.shape.heads / self.shape.groups)
    }

    /// x of a token and head.
    fn x(&self, token: usize, head: usize) -> &'a [f32] {
        let Shape { head_dim, .. } = self.shape;
        &self.xbc[token * self.shape.conv_dim() + head * head_dim..][..head_dim]
    }

    /// Where B of a token and group starts.
    fn b_start(&self, token: usize, group: usize) -> usize {
        let Shape { heads, head_dim, state, .. } = self.shape;
        token * self.shape.conv_dim() + heads * head_dim + group * state
    }

    /// B of a token and group.
    fn b(&self, token: usize, group: usize) -> &'a [f32] {
        &self.xbc[self.b_start(token, group)..][..self.shape.state]
    }

    /// Where C of a token and group starts.
    fn c_start(&self, token: usize, group: usize) -> usize {
        self.b_start(token, group) + self.shape.groups * self.shape.state
    }

    /// C of a token and group.
    fn c(&self, token: usize, group: usize) -> &'a [f32] {
        &self.xbc[self.c_start(token, group)..][..self.shape.state]
    }

    /// `d`, the time step of a token and head.
    fn time_step(&self, token: usize, head: usize) -> f32 {
        let dt = f64::from(self.dt[token * self.shape.heads + head]) + f64::from(self.dt_bias[head]);
        let step = softplus(dt) as f32;
        // Not `max`, which would turn NaN into a number.
        if step < self.shape.time_step_min { self.shape.time_step_min } else { step }
    }

    /// Calls `task` with the outputs and states of some heads, `y` being `[tokens]` and `states` `[slots]` rows. `work` is in elements.
    fn over_heads(&self, cpu: &Cpu, work: usize, states: &mut [f32], y: &mut [f32], task: impl Fn(Heads<'_>) + Sync) {
        let Shape { heads, head_dim, .. } = self.shape;
        let state_len = self.shape.state_len();
        let together = cpu.row_unit(heads, work);
        let slots = states.len() / (heads * state_len);
        let mut y = Grid::new(y, heads * head_dim, self.batch.tokens(), together * head_dim);
        let mut states = Grid::new(states, heads * state_len, slots, together * state_len);
        cpu.over_pairs(&mut y, &mut states, |y, states| {
            let heads = y.columns.start / head_dim..y.columns.end / head_dim;
            task(Heads { heads, head_dim, state_len, y, states });
        });
    }
}

/// Some heads of all tokens and slots.
struct Heads<'a> {
    heads: Range<usize>,
    head_dim: usize,
    state_len: usize,
    y: Cell<'a, f32>,
    states: Cell<'a, f32>,
}

impl Heads<'_> {
    /// y of a token and head.
    #[inline(always)]
    fn y(&mut self, token: usize, head: usize) -> &mut [f32] {
        &mut self.y.row_mut(token)[(head - self.heads.start) * self.head_dim..][..self.head_dim]
    }

    /// The state of a slot and head.
    #[inline(always)]
    fn state(&mut self, slot: usize, head: usize) -> &mut [[f32; 8]] {
        let state = &mut self.states.row_mut(slot)[(head - self.heads.start) * self.state_len..][..self.state_len];
        state.as_chunks_mut::<8>().0
    }
}
