//! The online softmax of a query row, one tile of 16 positions after the other.

use std::ops::Range;

use crate::cache::TILE_KV;
use crate::cpu::exp::exp_nonpositive;
use crate::cpu::simd::Simd;
use crate::linear::gemm::PanelRow;

/// Where a query row stands in its softmax.
#[derive(Clone, Copy, Debug)]
pub(in crate::cpu) struct Running {
    maximum: f32,
    /// The sum of exponentials, in lanes.
    sum: [f32; 8],
}

impl Running {
    /// Before the first tile.
    pub(in crate::cpu) const EMPTY: Self = Self { maximum: f32::NEG_INFINITY, sum: [0.0; 8] };

    /// Before the first tile, where a score without a position and without a value takes part.
    pub(in crate::cpu) const fn with_sink(sink: f32) -> Self {
        Self { maximum: sink, sum: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0] }
    }

    /// The sum of exponentials.
    #[inline(always)]
    pub(in crate::cpu) fn total<S: Simd>(&self, s: S) -> f32 {
        s.reduce_add(s.load(&self.sum))
    }
}

/// Turns the scores of a tile into weights relative to the running maximum, adds them to the running sum, and returns the factor
/// for what was accumulated before. Only the `visible` positions count. With a `cap`, a score `x` counts as `cap tanh(x / cap)`.
#[inline(always)]
pub(in crate::cpu) fn softmax<S: Simd>(
    s: S,
    scores: &mut PanelRow,
    visible: Range<usize>,
    scale: f32,
    cap: Option<f32>,
    running: &mut Running,
) -> f32 {
    let scale = s.splat(scale);
    let (mut low, mut high) = (s.mul(s.load(&scores[0]), scale), s.mul(s.load(&scores[1]), scale));
    if let Some(cap) = cap {
        (low, high) = (soft_cap(s, low, cap), soft_cap(s, high, cap));
    }
    if visible.len() < TILE_KV {
        // After the cap, which would turn minus infinity into a score like any other.
        s.store(low, &mut scores[0]);
        s.store(high, &mut scores[1]);
        let scores = scores.as_flattened_mut();
        scores[..visible.start].fill(f32::NEG_INFINITY);
        scores[visible.end..].fill(f32::NEG_INFINITY);
        let halves = scores.as_chunks::<8>().0;
        (low, high) = (s.load(&halves[0]), s.load(&halves[1]));
    }
    let highest = s.reduce_max(s.max(low, high));
    let mut rescale = 1.0;
    let mut sum = s.load(&running.sum);
    if highest > running.maximum {
        let mut factor = [0.0; 8];
        s.store(exp_nonpositive(s, s.splat(running.maximum - highest)), &mut factor);
        rescale = factor[0];
        running.maximum = highest;
        sum = s.mul(sum, s.splat(rescale));
    }
    let maximum = s.splat(running.maximum);
    let (low, high) = (exp_nonpositive(s, s.sub(low, maximum)), exp_nonpositive(s, s.sub(high, maximum)));
    s.store(s.add(sum, s.add(low, high)), &mut running.sum);
    s.store(low, &mut scores[0]);
    s.store(high, &mut scores[1]);
    rescale
}

/// `cap tanh(x / cap)`, with `tanh |y| = (1 - e) / (1 + e)` and `e = exp(-2 |y|)`: off by a few units of `cap 2^-24`, which is what a
/// score of the size of the cap is rounded to anyway.
#[inline(always)]
fn soft_cap<S: Simd>(s: S, x: S::F, cap: f32) -> S::F {
    let zero = s.splat(0.0);
    let y = s.div(x, s.splat(cap));
    let minus_twice = s.mul(s.splat(-2.0), s.below(y, zero, s.sub(zero, y), y));
    let e = exp_nonpositive(s, minus_twice);
    let size = s.mul(s.splat(cap), s.div(s.sub(s.splat(1.0), e), s.add(s.splat(1.0), e)));
    s.below(y, zero, s.sub(zero, size), size)
}
