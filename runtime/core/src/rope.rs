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
        (0..ROTARY_DIM / 2)
            .map(|i| {
                let exponent = (2 * i) as f32 / ROTARY_DIM as f32;
                let inverse = 1.0 / (self.theta.powf(f64::from(exponent)) as f32);
                self.scaling.apply(inverse)
            })
            .collect()
    }
}

impl RopeScaling {
    fn apply(self, inverse: f32) -> f32 {
        match self {
            Self::None => inverse,
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
}

/// Cosines and sines of one batch: computed once per step and used by every layer that shares the rotation.
#[derive(Clone, Debug)]
pub struct RopeAngles<const ROTARY_DIM: usize, L: RopeLayout> {
    inverse: Vec<f32>,
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
            cos: Vec::with_capacity(room),
            sin: Vec::with_capacity(room),
            layout: PhantomData,
        }
    }

    /// Fills the table for the positions of `batch`. The angle is an f32 product, as in the reference; its cosine and sine are
    /// correctly rounded.
    pub fn fill(&mut self, batch: &Batch) {
        self.cos.clear();
        self.sin.clear();
        for &position in batch.positions() {
            for &inverse in &self.inverse {
                let (sin, cos) = f64::from(position as f32 * inverse).sin_cos();
                self.cos.push(cos as f32);
                self.sin.push(sin as f32);
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
