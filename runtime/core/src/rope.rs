//! Rotary position embedding: frequencies, layouts, and the angles of one batch.

use std::marker::PhantomData;

use crate::batch::Batch;

mod sealed {
    pub trait Sealed {}
}

/// Which elements of a head form the pairs that are rotated.
pub trait RopeLayout: sealed::Sealed + Copy + Send + Sync + 'static {
    /// True when a pair is `(2i, 2i + 1)`; false when it is `(i, i + rotary_dim / 2)`.
    const INTERLEAVED: bool;
}

/// Pair `i` is elements `i` and `i + rotary_dim / 2` (GPT-NeoX, Llama as Hugging Face stores it).
#[derive(Clone, Copy, Debug)]
pub struct Halves;
/// Pair `i` is elements `2i` and `2i + 1` (GPT-J, the original Llama).
#[derive(Clone, Copy, Debug)]
pub struct Interleaved;
impl sealed::Sealed for Halves {}
impl sealed::Sealed for Interleaved {}
impl RopeLayout for Halves {
    const INTERLEAVED: bool = false;
}
impl RopeLayout for Interleaved {
    const INTERLEAVED: bool = true;
}

/// How the inverse frequencies depart from `theta^(-2i / rotary_dim)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// They do not (`rope_type = "default"`).
    None,
    /// Llama 3.1: wavelengths over `original / low_freq_factor` are stretched by `factor`, those under
    /// `original / high_freq_factor` stay, and between the two the inverse frequency is interpolated.
    Llama3 {
        /// The stretch of long wavelengths.
        factor: f32,
        /// Bounds the wavelengths that are stretched fully.
        low_freq_factor: f32,
        /// Bounds the wavelengths that are left alone.
        high_freq_factor: f32,
        /// The context length before stretching, in positions.
        original_max_position_embeddings: u32,
    },
    /// YaRN: pairs that turn more than `beta_fast` times within the original context stay, those that turn less than `beta_slow`
    /// times are stretched by `factor`, and between the two the inverse frequency is interpolated over the number of the pair.
    Yarn {
        /// The stretch of slow pairs.
        factor: f32,
        /// The context length before stretching, in positions.
        original_max_position_embeddings: u32,
        /// Turns from which a pair is left alone.
        beta_fast: f32,
        /// Turns up to which a pair is stretched fully.
        beta_slow: f32,
        /// The ends of the interpolation are rounded outwards to whole pairs.
        truncate: bool,
        /// Multiplies cosines and sines.
        attention_factor: f32,
    },
    /// Every position is divided by `factor`.
    Linear {
        /// The stretch of all wavelengths.
        factor: f32,
    },
}

/// The rotation of the first `ROTARY_DIM` elements of every head, in layout `L`.
#[derive(Clone, Copy, Debug)]
pub struct Rope<const ROTARY_DIM: usize, L: RopeLayout> {
    theta: f64,
    scaling: RopeScaling,
    layout: PhantomData<L>,
}

impl<const ROTARY_DIM: usize, L: RopeLayout> Rope<ROTARY_DIM, L> {
    /// A rotation with base `theta`.
    pub const fn new(theta: f64, scaling: RopeScaling) -> Self {
        const { assert!(ROTARY_DIM > 0 && ROTARY_DIM.is_multiple_of(2), "rotary elements come in pairs") };
        Self { theta, scaling, layout: PhantomData }
    }

    /// The `ROTARY_DIM / 2` inverse frequencies, in radians per position.
    ///
    /// In f32 where the reference (Hugging Face `ROPE_INIT_FUNCTIONS`) uses f32, because at position 8,000 the last bit of a
    /// frequency is worth a milliradian.
    pub fn inverse_frequencies(&self) -> Vec<f32> {
        let powers = (0..ROTARY_DIM / 2).map(|i| {
            let exponent = (2 * i) as f32 / ROTARY_DIM as f32;
            self.theta.powf(f64::from(exponent)) as f32
        });
        let RopeScaling::Yarn { factor, original_max_position_embeddings, beta_fast, beta_slow, truncate, .. } = self.scaling
        else {
            return powers.map(|power| self.scaling.apply(1.0 / power)).collect();
        };
        let pair_of = |turns| self.pair_with_turns(f64::from(turns), f64::from(original_max_position_embeddings));
        let (mut low, mut high) = (pair_of(beta_fast), pair_of(beta_slow));
        if truncate {
            (low, high) = (low.floor(), high.ceil());
        }
        let (low, mut high) = (low.max(0.0), high.min((ROTARY_DIM - 1) as f64));
        if low == high {
            high += 0.001;
        }
        let stretched = |i: usize| ((i as f32 - low as f32) / (high - low) as f32).clamp(0.0, 1.0);
        let interpolated = |(i, power): (usize, f32)| {
            // The share that is left alone is rounded first and subtracted from 1 again, as in the reference.
            let alone = 1.0 - stretched(i);
            1.0 / (factor * power) * (1.0 - alone) + 1.0 / power * alone
        };
        powers.enumerate().map(interpolated).collect()
    }

    /// What cosines and sines are multiplied by.
    pub fn attention_factor(&self) -> f32 {
        self.scaling.attention_factor()
    }

    /// The pair, as a real number, that turns `turns` times within `context` positions.
    fn pair_with_turns(&self, turns: f64, context: f64) -> f64 {
        ROTARY_DIM as f64 * (context / (turns * 2.0 * std::f64::consts::PI)).ln() / (2.0 * self.theta.ln())
    }
}

impl RopeScaling {
    /// One inverse frequency from the unscaled one, where it does not depend on the number of the pair.
    fn apply(self, inverse: f32) -> f32 {
        match self {
            Self::None | Self::Yarn { .. } => inverse,
            Self::Linear { factor } => inverse / factor,
            Self::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
                let original = original_max_position_embeddings as f32;
                let wavelength = 2.0 * std::f32::consts::PI / inverse;
                if wavelength > original / low_freq_factor {
                    inverse / factor
                } else if wavelength < original / high_freq_factor {
                    inverse
                } else {
                    let smooth = (original / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
                    (1.0 - smooth) * inverse / factor + smooth * inverse
                }
            }
        }
    }

    /// What cosines and sines are multiplied by.
    fn attention_factor(self) -> f32 {
        if let Self::Yarn { attention_factor, .. } = self { attention_factor } else { 1.0 }
    }
}

/// Cosines and sines of one batch: computed once per step and used by every layer that shares the rotation.
#[derive(Clone, Debug)]
pub struct RopeAngles<const ROTARY_DIM: usize, L: RopeLayout> {
    inverse: Vec<f32>,
    attention_factor: f64,
    /// `[tokens, ROTARY_DIM / 2]`
    cos: Vec<f32>,
    /// `[tokens, ROTARY_DIM / 2]`
    sin: Vec<f32>,
    layout: PhantomData<L>,
}

impl<const ROTARY_DIM: usize, L: RopeLayout> RopeAngles<ROTARY_DIM, L> {
    /// Room for the angles of `max_tokens` tokens.
    pub fn new(rope: &Rope<ROTARY_DIM, L>, max_tokens: usize) -> Self {
        let room = max_tokens * (ROTARY_DIM / 2);
        Self {
            inverse: rope.inverse_frequencies(),
            attention_factor: f64::from(rope.scaling.attention_factor()),
            cos: Vec::with_capacity(room),
            sin: Vec::with_capacity(room),
            layout: PhantomData,
        }
    }

    /// Angles that were computed elsewhere, `ROTARY_DIM / 2` cosines and sines per token. [`fill`](Self::fill) leaves none of them.
    ///
    /// # Panics
    /// If the two are not whole tokens, or not equally many.
    pub fn of_tables(cos: Vec<f32>, sin: Vec<f32>) -> Self {
        assert!(cos.len() == sin.len() && cos.len().is_multiple_of(ROTARY_DIM / 2), "cosines and sines of whole tokens");
        Self { inverse: Vec::new(), attention_factor: 1.0, cos, sin, layout: PhantomData }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of::<f32>() * (self.inverse.capacity() + self.cos.capacity() + self.sin.capacity())
    }

    /// Fills the table for the positions of `batch`. The angle is an f32 product, as in the reference; its cosine and sine are
    /// correctly rounded, after the multiplication by the attention factor where there is one.
    pub fn fill(&mut self, batch: &Batch) {
        self.cos.clear();
        self.sin.clear();
        for &position in batch.positions() {
            for &inverse in &self.inverse {
                let (sin, cos) = f64::from(position as f32 * inverse).sin_cos();
                self.cos.push((cos * self.attention_factor) as f32);
                self.sin.push((sin * self.attention_factor) as f32);
            }
        }
    }

    /// Cosines and sines of token `t`, `ROTARY_DIM / 2` each.
    #[inline]
    pub fn of(&self, t: usize) -> (&[f32], &[f32]) {
        let half = ROTARY_DIM / 2;
        (&self.cos[t * half..][..half], &self.sin[t * half..][..half])
    }

    /// Tokens in the table.
    pub fn tokens(&self) -> usize {
        self.cos.len() / (ROTARY_DIM / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with f64, within the roundings of f32: the power, its reciprocal, two products and a sum, and where a ramp is read
    /// off, its own two.
    fn check<const ROTARY: usize>(theta: f64, scaling: RopeScaling, exact: impl Fn(usize, f64) -> f64) {
        let inverse = Rope::<ROTARY, Halves>::new(theta, scaling).inverse_frequencies();
        assert_eq!(inverse.len(), ROTARY / 2);
        for (i, &inverse) in inverse.iter().enumerate() {
            let exact = exact(i, theta.powf(-2.0 * i as f64 / ROTARY as f64));
            let error = (f64::from(inverse) - exact).abs() / exact;
            assert!(error < 2e-6, "pair {i} of {ROTARY} is {inverse}, exactly {exact}");
        }
    }

    fn yarn(factor: f32, original: u32, beta_fast: f32, beta_slow: f32, truncate: bool) -> RopeScaling {
        let original_max_position_embeddings = original;
        RopeScaling::Yarn { factor, original_max_position_embeddings, beta_fast, beta_slow, truncate, attention_factor: 1.0 }
    }

    #[test]
    fn linear_divides_every_frequency() {
        check::<64>(1e4, RopeScaling::Linear { factor: 8.0 }, |_, inverse| inverse / 8.0);
        check::<64>(1e4, RopeScaling::None, |_, inverse| inverse);
    }

    /// The paper's definition (arXiv 2309.00071, section 3.2), over turns in the original context; the ends are those of the
    /// reference: pairs, whole or not.
    #[test]
    fn yarn_interpolates_over_pairs() {
        /// The share of pair `i` that is stretched, where `low` and `high` are the pairs with the most and the fewest turns.
        fn ramp(i: usize, low: f64, high: f64) -> f64 {
            ((i as f64 - low) / (high - low)).clamp(0.0, 1.0)
        }
        let pair = |dim: f64, theta: f64, original: f64, turns: f64| {
            // theta^(-2 i / dim) * original = 2 pi turns
            (original / (2.0 * std::f64::consts::PI * turns)).log(theta) * dim / 2.0
        };
        // Mistral Small 4, gpt-oss (whose ends stay fractions), and a small one whose ends leave the range of pairs.
        let (low, high) = (pair(64.0, 1e4, 8192.0, 32.0).floor(), pair(64.0, 1e4, 8192.0, 1.0).ceil());
        assert_eq!((low, high), (12.0, 25.0));
        check::<64>(1e4, yarn(128.0, 8192, 32.0, 1.0, true), |i, f| f * (1.0 - ramp(i, low, high) * (1.0 - 1.0 / 128.0)));
        let (low, high) = (pair(64.0, 150e3, 4096.0, 32.0), pair(64.0, 150e3, 4096.0, 1.0));
        assert!(low > 8.0 && low < 9.0 && high > 17.0 && high < 18.0);
        check::<64>(150e3, yarn(32.0, 4096, 32.0, 1.0, false), |i, f| f * (1.0 - ramp(i, low, high) * (1.0 - 1.0 / 32.0)));
        let high = pair(16.0, 1e4, 64.0, 1.0).ceil();
        assert!(pair(16.0, 1e4, 64.0, 32.0) < 0.0);
        check::<16>(1e4, yarn(4.0, 64, 32.0, 1.0, true), |i, f| f * (1.0 - ramp(i, 0.0, high) * 0.75));
    }

    /// Ends that meet would divide by 0: pairs up to there are left alone, and those after it are stretched.
    #[test]
    fn yarn_with_ends_that_meet() {
        check::<16>(1e4, yarn(4.0, 64, 1.0, 1.0, false), |i, f| if i <= 2 { f } else { f / 4.0 });
    }
}
