//! Causal depthwise convolution over the tokens of a sequence, in place, with the last inputs kept in the layer's state.

use std::ops::Range;

use super::Cpu;
use super::activation::Act;
use super::chunk::{Lanes8, carve, put, with_room};
use super::grid::{Cell, Grid};
use super::simd::{Kernel, Simd};
use crate::batch::{Batch, SequenceSpan};
use crate::linear::{Bias, Conv};
use crate::rows::Rows;
use crate::state::RecurrentState;

/// Most taps of a filter.
const MAX_KERNEL: usize = 16;
/// Vectors of channels that go through a span together: 2 KiB of each row, so that what is read next can be foreseen, and a ring that
/// stays in the first-level cache.
const TOGETHER: usize = 64;

/// `x = silu(conv(x))` for each channel of `[tokens, DIM]`, in place. Output `t` is the sum over taps of
/// `weight[tap] * x[t + tap + 1 - KERNEL]`. Inputs before the span come from the sequence's slot, or are 0 for a span that starts at
/// position 0; the last `KERNEL - 1` inputs go there.
///
/// # Panics
/// If `x` or `state` are not for this batch.
pub fn causal_conv<const DIM: usize, const KERNEL: usize>(
    cpu: &Cpu,
    x: &mut Rows<f32, DIM>,
    conv: &Conv<DIM, KERNEL>,
    state: &mut impl RecurrentState<DIM, KERNEL>,
    batch: &Batch,
) {
    convolve(cpu, x, conv, None, state, batch);
}

/// The same with a bias per channel, which is added before the silu.
///
/// # Panics
/// As [`causal_conv`].
pub fn causal_conv_bias<const DIM: usize, const KERNEL: usize>(
    cpu: &Cpu,
    x: &mut Rows<f32, DIM>,
    conv: &Conv<DIM, KERNEL>,
    bias: &Bias<DIM>,
    state: &mut impl RecurrentState<DIM, KERNEL>,
    batch: &Batch,
) {
    convolve(cpu, x, conv, Some(bias.values()), state, batch);
}

fn convolve<const DIM: usize, const KERNEL: usize>(
    cpu: &Cpu,
    x: &mut Rows<f32, DIM>,
    conv: &Conv<DIM, KERNEL>,
    bias: Option<&[f32; DIM]>,
    state: &mut impl RecurrentState<DIM, KERNEL>,
    batch: &Batch,
) {
    const { assert!(KERNEL > 1 && KERNEL <= MAX_KERNEL, "a filter has 2 to 16 taps") };
    assert_eq!(x.rows(), batch.tokens(), "the inputs are of this batch");
    let pool = state.pool();
    assert_eq!(pool.slots(), batch.limits().state_slots, "the batch was built for another number of slots");
    if batch.is_empty() {
        return;
    }
    let tokens = x.rows();
    // An exponential weighs about four plain operations.
    let channels = cpu.row_unit(DIM, tokens * DIM * (KERNEL + 4)).next_multiple_of(2 * 8);
    let rows = pool.windows().len() / DIM;
    let mut windows = Grid::new(pool.windows(), DIM, rows, channels);
    let mut x = Grid::new(x.as_mut_slice(), DIM, tokens, channels);
    let bias = bias.map(<[f32; DIM]>::as_slice);
    cpu.over_pairs(&mut x, &mut windows, |x, windows| {
        with_room((2 * KERNEL + 1) * TOGETHER, |room| {
            cpu.lanes().enter(Convolve { x, windows, taps: conv.taps(), bias, kernel: KERNEL, dim: DIM, batch, room });
        });
    });
}

/// Some channels of all tokens.
struct Convolve<'a> {
    x: Cell<'a, f32>,
    /// `[slot * (kernel - 1) + i][channel]`
    windows: Cell<'a, f32>,
    /// `[tap][channel]`
    taps: &'a [f32],
    bias: Option<&'a [f32]>,
    kernel: usize,
    dim: usize,
    batch: &'a Batch,
    room: &'a mut [Lanes8],
}

impl Kernel for Convolve<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let channels = self.x.columns.len();
        let kernel = self.kernel;
        let mut room = std::mem::take(&mut self.room);
        let weights = carve(&mut room, kernel * TOGETHER);
        let bias = carve(&mut room, TOGETHER);
        let ring = carve(&mut room, kernel * TOGETHER);
        for first in (0..channels).step_by(8 * TOGETHER) {
            let width = (channels - first).min(8 * TOGETHER);
            let in_dim = self.x.columns.start + first;
            // Lanes that only pad the last vector are computed too, so they hold numbers.
            weights.fill([0.0; 8]);
            bias.fill([0.0; 8]);
            ring.fill([0.0; 8]);
            for (tap, to) in weights.chunks_exact_mut(TOGETHER).enumerate() {
                to.as_flattened_mut()[..width].copy_from_slice(&self.taps[tap * self.dim + in_dim..][..width]);
            }
            if let Some(values) = self.bias {
                bias.as_flattened_mut()[..width].copy_from_slice(&values[in_dim..][..width]);
            }
            for sequence in self.batch.sequences() {
                self.span(s, sequence, first..first + width, weights, bias, ring);
            }
        }
    }
}

impl Convolve<'_> {
    /// Some of the cell's channels for one span. `weights` and `ring` are `[kernel][TOGETHER]` vectors.
    #[inline(always)]
    fn span<S: Simd>(
        &mut self,
        s: S,
        sequence: &SequenceSpan,
        channels: Range<usize>,
        weights: &[Lanes8],
        bias: &[Lanes8],
        ring: &mut [Lanes8],
    ) {
        let (kernel, kept, width) = (self.kernel, self.kernel - 1, channels.len());
        let slot = sequence.state_slot.expect("a batch of a recurrent model has slots").0 as usize;
        // The last inputs stand in a ring, from `oldest` on. Outputs replace inputs, which are in the ring by then.
        let mut oldest = 0;
        for i in 0..kept {
            let to = &mut ring[i * TOGETHER..].as_flattened_mut()[..width];
            if sequence.start == 0 {
                to.fill(0.0);
            } else {
                to.copy_from_slice(&self.windows.row_mut(slot * kept + i)[channels.clone()]);
            }
        }
        for token in sequence.tokens.clone() {
            let x = &mut self.x.row_mut(token)[channels.clone()];
            let newest = if oldest == 0 { kept } else { oldest - 1 };
            ring[newest * TOGETHER..].as_flattened_mut()[..width].copy_from_slice(x);
            for v in 0..width.div_ceil(8) {
                let mut sum = s.load(&bias[v]);
                let mut input = oldest;
                for tap in 0..kernel {
                    sum = s.fma(s.load(&weights[tap * TOGETHER + v]), s.load(&ring[input * TOGETHER + v]), sum);
                    input = if input == kept { 0 } else { input + 1 };
                }
                let mut y = [0.0; 8];
                s.store(Act::Silu.of(s, sum), &mut y);
                put(&y, x, v);
            }
            oldest = if oldest == kept { 0 } else { oldest + 1 };
        }
        for i in 0..kept {
            let window = &mut self.windows.row_mut(slot * kept + i)[channels.clone()];
            window.copy_from_slice(&ring[oldest * TOGETHER..].as_flattened()[..width]);
            oldest = if oldest == kept { 0 } else { oldest + 1 };
        }
    }
}

#[cfg(test)]
mod tests;
