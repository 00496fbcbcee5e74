//! Formats whose elements are small floats: E4M3 of 8 bits, and E2M1 of 4 bits with scales.

use super::Block;
use super::quants::Nibbles;
use crate::cpu::simd::Simd;
use crate::linear::stored::{E2M1_TWICE, neighbours, q4};

/// What [`Simd::load_e4m3`] leaves out of a value.
pub(in crate::linear) const E4M3: f32 = 256.0;
/// Elements of E2M1 are looked up as twice their value, and taken from the top byte of a lane.
const TOP_BYTE_TWICE: f32 = 1.0 / (1u32 << 25) as f32;

/// E4M3: 8 outputs of one input. The scale of the tensor is the factor of the matrix.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(in crate::linear) struct Fp8([u8; 8]);

/// E4M3 with f32 scales of the 8 outputs, then `N` inputs. Scales stand for blocks of 128 by 128; a packed block is as long, or
/// shorter where a row is not a whole number of those.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(in crate::linear) struct Fp8By<const N: usize> {
    scale: [f32; 8],
    q: [[u8; 8]; N],
}

pub(in crate::linear) type Fp8By128 = Fp8By<128>;
pub(in crate::linear) type Fp8By16 = Fp8By<16>;
pub(in crate::linear) type Fp8By1 = Fp8By<1>;

/// E2M1 in blocks of 16: E4M3 scales of the 8 outputs, then the elements. The scale of the tensor is the factor of the matrix.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(in crate::linear) struct Nvfp4 {
    scale: [u8; 8],
    q: Nibbles<2>,
}

/// E2M1 in blocks of 32: the exponents of the scales of the 8 outputs, then the elements.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(in crate::linear) struct Mxfp4 {
    scale: [u8; 8],
    q: Nibbles<4>,
}

impl Block for Fp8 {
    const LEN: usize = 1;
    const STEP: usize = 1;
    const STORED: usize = 1;
    const ZERO: Self = Self([0; 8]);
    type Scale<S: Simd> = ();
    type Words<S: Simd> = S::F;

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.0[lane] = stored[0];
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, _: S, _: usize) {}
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, _: usize, _: usize) -> S::F {
        s.load_e4m3(&self.0)
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, _: (), words: S::F, _: usize) -> S::F {
        s.mul(words, s.splat(E4M3))
    }
}

impl<const N: usize> Block for Fp8By<N> {
    const LEN: usize = N;
    const STEP: usize = 1;
    const STORED: usize = 4 + N;
    const ZERO: Self = Self { scale: [0.0; 8], q: [[0; 8]; N] };
    type Scale<S: Simd> = S::F;
    type Words<S: Simd> = S::F;

    fn set(&mut self, lane: usize, stored: &[u8]) {
        let (scale, elements) = stored.split_at(4);
        self.scale[lane] = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
        for (q, element) in self.q.iter_mut().zip(elements) {
            q[lane] = *element;
        }
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S, _: usize) -> S::F {
        s.mul(s.load(&self.scale), s.splat(E4M3))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, _: usize, v: usize) -> S::F {
        s.load_e4m3(&self.q[v])
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, scale: S::F, words: S::F, _: usize) -> S::F {
        s.mul(words, scale)
    }
}

/// 8 inputs of each output: twice their values as signed bytes, inputs `0..4` and `4..8`.
#[inline(always)]
fn e2m1<S: Simd>(s: S, nibbles: &[u8; 32]) -> (S::W, S::W) {
    let words = s.load_words(nibbles);
    let (low, high) = (s.and(words, 0x0f0f_0f0f), s.and(s.shr(words, 4), 0x0f0f_0f0f));
    (s.look_up(&E2M1_TWICE, low), s.look_up(&E2M1_TWICE, high))
}

/// Input `j` of the 8, times `d`.
#[inline(always)]
fn times<S: Simd>(s: S, (first, second): (S::W, S::W), j: usize, d: S::F) -> S::F {
    let words = if j < 4 { first } else { second };
    let top = s.and(s.shl(words, 24 - 8 * (j as u32 % 4)), 0xff00_0000);
    s.mul(s.convert(top), d)
}

impl Block for Nvfp4 {
    const LEN: usize = 16;
    const STEP: usize = 8;
    const STORED: usize = 9;
    const ZERO: Self = Self { scale: [0; 8], q: Nibbles::ZERO };
    /// The scale in the units of the lookup. Element and scale have 2 and 4 significant bits: their product is exact.
    type Scale<S: Simd> = S::F;
    type Words<S: Simd> = (S::W, S::W);

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.scale[lane] = stored[0];
        self.q.set(lane, |k| neighbours(&stored[1..], k));
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S, _: usize) -> S::F {
        s.mul(s.load_e4m3(&self.scale), s.splat(E4M3 * TOP_BYTE_TWICE))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, _: usize, v: usize) -> (S::W, S::W) {
        e2m1(s, &self.q.0[v])
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, d: S::F, words: (S::W, S::W), j: usize) -> S::F {
        times(s, words, j, d)
    }
}

impl Block for Mxfp4 {
    const LEN: usize = 32;
    const STEP: usize = 8;
    const STORED: usize = 17;
    const ZERO: Self = Self { scale: [0; 8], q: Nibbles::ZERO };
    /// The scale in the units of the lookup. The three smallest, under 2^-124, are 0 here.
    type Scale<S: Simd> = S::F;
    type Words<S: Simd> = (S::W, S::W);

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.scale[lane] = stored[0];
        self.q.set(lane, |k| q4(&stored[1..], k));
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S, _: usize) -> S::F {
        // The byte is the exponent of an f32.
        let power = s.cast_f32(s.shl(s.load_bytes(&self.scale), 23));
        s.mul(power, s.splat(TOP_BYTE_TWICE))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, _: usize, v: usize) -> (S::W, S::W) {
        e2m1(s, &self.q.0[v])
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, d: S::F, words: (S::W, S::W), j: usize) -> S::F {
        times(s, words, j, d)
    }
}
