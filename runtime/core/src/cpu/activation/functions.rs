//! The activation functions, on 8 lanes.

use crate::cpu::exp::exp_nonpositive;
use crate::cpu::simd::Simd;

/// An activation function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// `x * sigmoid(x)`
    Silu,
    /// `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    GeluTanh,
    /// `0.5 x (1 + erf(x / sqrt(2)))`
    Gelu,
    /// `max(x, 0)^2`
    Relu2,
}

impl Act {
    #[inline(always)]
    pub(crate) fn of<S: Simd>(self, s: S, x: S::F) -> S::F {
        match self {
            Self::Silu => s.mul(x, sigmoid(s, x)),
            Self::GeluTanh => gelu_tanh(s, x),
            Self::Gelu => gelu(s, x),
            Self::Relu2 => {
                // In this order a NaN stays.
                let positive = s.max(s.splat(0.0), x);
                s.mul(positive, positive)
            }
        }
    }

    /// The work of an element, where a plain operation is 1: an exponential weighs about four.
    pub(crate) fn weight(self) -> usize {
        match self {
            Self::Silu => 4,
            Self::GeluTanh => 6,
            Self::Gelu => 8,
            Self::Relu2 => 1,
        }
    }
}

/// `(up + 1) * gate * sigmoid(alpha * gate)` with `gate` at most `limit` and `up` within `-limit..=limit`. NaN stays.
#[inline(always)]
pub(super) fn clamped_swiglu<S: Simd>(s: S, gate: S::F, up: S::F, limit: f32, alpha: f32) -> S::F {
    let (high, low) = (s.splat(limit), s.splat(-limit));
    let gate = s.below(high, gate, high, gate);
    let up = s.below(high, up, high, s.below(up, low, low, up));
    let glu = s.mul(gate, sigmoid(s, s.mul(gate, s.splat(alpha))));
    s.mul(s.add(up, s.splat(1.0)), glu)
}

/// 1 or `e` over `1 + e` with `e = exp(-|x|)`: nothing overflows.
#[inline(always)]
pub(in crate::cpu) fn sigmoid<S: Simd>(s: S, x: S::F) -> S::F {
    let zero = s.splat(0.0);
    let negative = s.sub(zero, x);
    let e = exp_nonpositive(s, s.below(x, zero, x, negative));
    s.div(s.below(x, zero, e, s.splat(1.0)), s.add(s.splat(1.0), e))
}

/// `0.5 (1 + tanh z) = sigmoid(2 z)`, so that gelu is `x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))`.
#[inline(always)]
fn gelu_tanh<S: Simd>(s: S, x: S::F) -> S::F {
    let cubic = s.mul(s.splat(0.044_715), s.mul(x, s.mul(x, x)));
    // 2 sqrt(2 / pi)
    let z = s.mul(s.splat(1.595_769_2), s.add(x, cubic));
    s.mul(x, sigmoid(s, z))
}

/// `0.5 x erfc(-x / sqrt(2))`, from `erfc` of the magnitude, so that the tail of negative x keeps its digits.
#[inline(always)]
fn gelu<S: Simd>(s: S, x: S::F) -> S::F {
    let zero = s.splat(0.0);
    let magnitude = s.below(x, zero, s.sub(zero, x), x);
    let z = s.mul(magnitude, s.splat(std::f32::consts::FRAC_1_SQRT_2));
    let square = s.mul(s.splat(0.5), s.mul(x, x));
    let half = s.mul(s.splat(0.5), erfc(s, z, square));
    s.mul(x, s.below(x, zero, half, s.sub(s.splat(1.0), half)))
}

/// `erfc(z)` for z at least 0: `t exp(-z^2 + P(t))` with `t = 1 / (1 + z / 2)`, the Chebyshev fit of Numerical Recipes (`erfcc`),
/// whose error is under `1.2e-7` of the value everywhere. What is under the range of f32 is 0. `square` is `z^2`: the caller has it
/// with fewer roundings, and each would move the tail by `z^2` times its own size.
#[inline(always)]
fn erfc<S: Simd>(s: S, z: S::F, square: S::F) -> S::F {
    let t = s.div(s.splat(1.0), s.fma(z, s.splat(0.5), s.splat(1.0)));
    let mut p = s.splat(0.170_872_77);
    for c in [-0.822_152_23, 1.488_515_9, -1.135_204, 0.278_868_07, -0.186_288_06, 0.096_784_18, 0.374_091_96, 1.000_023_7] {
        p = s.fma(p, t, s.splat(c));
    }
    p = s.fma(p, t, s.splat(-1.265_512_2));
    let exponent = s.sub(p, square);
    s.mul(t, exp_nonpositive(s, exponent))
}

/// `cap * tanh(x / cap)`.
///
/// Small arguments by the Taylor series of `tanh`, whose next term is under `2e-8` of the value; the others by
/// `(1 - e) / (1 + e)` with `e = exp(-2 |z|)`.
#[inline(always)]
pub(crate) fn soft_cap<S: Simd>(s: S, x: S::F, cap: f32) -> S::F {
    let zero = s.splat(0.0);
    let z = s.mul(x, s.splat(1.0 / cap));
    let magnitude = s.below(z, zero, s.sub(zero, z), z);
    let e = exp_nonpositive(s, s.mul(magnitude, s.splat(-2.0)));
    let large = s.div(s.sub(s.splat(1.0), e), s.add(s.splat(1.0), e));
    let large = s.below(z, zero, s.sub(zero, large), large);
    let square = s.mul(z, z);
    let mut p = s.splat(62.0 / 2835.0);
    for c in [-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0] {
        p = s.fma(p, square, s.splat(c));
    }
    s.mul(s.splat(cap), s.below(magnitude, s.splat(0.25), s.mul(z, p), large))
}
