//! Causal depthwise convolution over the tokens of a sequence, in place, with the last inputs kept in the layer's state.

// Indices, because iterators over several arrays at once are closures, which are not sure to be inlined into the function that
// enables the instruction set.
#![allow(clippy::needless_range_loop)]

use super::Cpu;
use super::activation::silu;
use super::grid::{Cell, Grid};
use super::simd::{Kernel, Simd};
use crate::batch::{Batch, SequenceSpan};
use crate::linear::{Bias, Conv};
use crate::rows::Rows;
use crate::state::RecurrentState;

/// Most taps of a filter.
const MAX_KERNEL: usize = 16;
/// Vectors of channels that are computed together.
const TOGETHER: usize = 8;

/// `x = silu(conv(x))` for each channel of `[tokens, DIM]`, in place: output `t` is the sum over taps of `weight[tap] * x[t + tap - (KERNEL
/// - 1)]`. Inputs before the span come from the sequence's slot, or are 0 for a span that starts at position 0; the last `KERNEL - 1`
/// inputs go there.
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
        cpu.lanes().enter(Convolve { x, windows, taps: conv.taps(), bias, kernel: KERNEL, dim: DIM, batch });
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
}

impl Kernel for Convolve<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let channels = self.x.columns.len();
        for sequence in self.batch.sequences() {
            let mut first = 0;
            while first < channels {
                let width = (channels - first).min(8 * TOGETHER);
                if width == 8 * TOGETHER {
                    self.span::<S, TOGETHER>(s, sequence, first, width);
                    first += width;
                } else {
                    self.span::<S, 1>(s, sequence, first, width.min(8));
                    first += 8;
                }
            }
        }
    }
}

impl Convolve<'_> {
    /// `width` channels of a span, at most `8 * N`, from the cell's channel `first` on.
    #[inline(always)]
    fn span<S: Simd, const N: usize>(&mut self, s: S, sequence: &SequenceSpan, first: usize, width: usize) {
        let (kernel, kept) = (self.kernel, self.kernel - 1);
        let slot = sequence.state_slot.expect("a batch of a recurrent model has slots").0 as usize;
        let channels = first..first + width;
        let in_dim = self.x.columns.start + first;
        let mut weights = [[[0.0; 8]; N]; MAX_KERNEL];
        for tap in 0..kernel {
            weights[tap].as_flattened_mut()[..width].copy_from_slice(&self.taps[tap * self.dim + in_dim..][..width]);
        }
        let mut bias = [[0.0; 8]; N];
        if let Some(values) = self.bias {
            bias.as_flattened_mut()[..width].copy_from_slice(&values[in_dim..][..width]);
        }
        // The last inputs: a ring, in which the oldest is `oldest`. Outputs replace inputs, which are here by then.
        let mut ring = [[[0.0; 8]; N]; MAX_KERNEL];
        let mut oldest = 0;
        if sequence.start > 0 {
            for i in 0..kept {
                let window = &self.windows.row_mut(slot * kept + i)[channels.clone()];
                ring[i].as_flattened_mut()[..width].copy_from_slice(window);
            }
        }
        for token in sequence.tokens.clone() {
            let x = &mut self.x.row_mut(token)[channels.clone()];
            let newest = if oldest == 0 { kept } else { oldest - 1 };
            ring[newest].as_flattened_mut()[..width].copy_from_slice(x);
            let mut sums = [s.splat(0.0); N];
            for n in 0..N {
                sums[n] = s.load(&bias[n]);
            }
            let mut input = oldest;
            for tap in 0..kernel {
                for n in 0..N {
                    sums[n] = s.fma(s.load(&weights[tap][n]), s.load(&ring[input][n]), sums[n]);
                }
                input = if input == kept { 0 } else { input + 1 };
            }
            let mut y = [[0.0; 8]; N];
            for n in 0..N {
                s.store(silu(s, sums[n]), &mut y[n]);
            }
            x.copy_from_slice(&y.as_flattened()[..width]);
            oldest = if oldest == kept { 0 } else { oldest + 1 };
        }
        for i in 0..kept {
            let window = &mut self.windows.row_mut(slot * kept + i)[channels.clone()];
            window.copy_from_slice(&ring[oldest].as_flattened()[..width]);
            oldest = if oldest == kept { 0 } else { oldest + 1 };
        }
    }
}

#[cfg(test)]
mod tests;
