//! Formats with blocks of 32 inputs, which share one scale.

use super::quants::{Nibbles, Quants, Wide};
use super::{Block, le16};
use crate::cpu::simd::Simd;
use crate::linear::int8::Quanta;

pub(in crate::linear) type Q4_0 = Symmetric<Nibbles<4>>;
pub(in crate::linear) type Q4_1 = Affine<Nibbles<4>>;
pub(in crate::linear) type Q5_0 = Symmetric<Wide<4>>;
pub(in crate::linear) type Q5_1 = Affine<Wide<4>>;

/// `d (q - zero)`, where `zero` is half the range of `q`: f16 scales of the 8 outputs, then the quants.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(in crate::linear) struct Symmetric<Q> {
    d: [u16; 8],
    q: Q,
}

/// `d q + m`: f16 scales and minima of the 8 outputs, then the quants.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(in crate::linear) struct Affine<Q> {
    d: [u16; 8],
    m: [u16; 8],
    q: Q,
}

/// Q8_0: f16 scales of the 8 outputs, then 8 vectors; byte `b` of a lane of vector `v` is input `4 v + b`.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(in crate::linear) struct Q8_0 {
    d: [u16; 8],
    q: [[u8; 32]; 8],
}

impl<Q: Quants> Block for Symmetric<Q> {
    const LEN: usize = 32;
    const STEP: usize = 8;
    const STORED: usize = 2 + 4 * Q::BITS;
    const ZERO: Self = Self { d: [0; 8], q: Q::ZERO };
    /// `d` and `-zero d`: both `d q` and `d (q - zero)` have at most 16 significant bits, so `d q + (-zero d)` is `d (q - zero)`
    /// exactly.
    type Scale<S: Simd> = (S::F, S::F);
    type Words<S: Simd> = Q::Words<S>;

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.d[lane] = le16(stored, 0);
        self.q.set(lane, |k| Q::of_32(&stored[2..], k));
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S, _: usize) -> (S::F, S::F) {
        let d = s.load_f16(&self.d);
        (d, s.mul(d, s.splat(-((1 << (Q::BITS - 1)) as f32))))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, _: usize, v: usize) -> Q::Words<S> {
        self.q.words(s, v)
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, (d, m): (S::F, S::F), words: Q::Words<S>, j: usize) -> S::F {
        s.fma(Q::quant(s, words, j), d, m)
    }
}

impl<Q: Quants> Block for Affine<Q> {
    const LEN: usize = 32;
    const STEP: usize = 8;
    const STORED: usize = 4 + 4 * Q::BITS;
    const ZERO: Self = Self { d: [0; 8], m: [0; 8], q: Q::ZERO };
    /// `d` and `m`. `d q` is exact, so `d q + m` rounds once, fused or not.
    type Scale<S: Simd> = (S::F, S::F);
    type Words<S: Simd> = Q::Words<S>;

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.d[lane] = le16(stored, 0);
        self.m[lane] = le16(stored, 2);
        self.q.set(lane, |k| Q::of_32(&stored[4..], k));
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S, _: usize) -> (S::F, S::F) {
        (s.load_f16(&self.d), s.load_f16(&self.m))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, _: usize, v: usize) -> Q::Words<S> {
        self.q.words(s, v)
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, (d, m): (S::F, S::F), words: Q::Words<S>, j: usize) -> S::F {
        s.fma(Q::quant(s, words, j), d, m)
    }
}

impl Block for Q8_0 {
    const LEN: usize = 32;
    const STEP: usize = 4;
    const STORED: usize = 34;
    const ZERO: Self = Self { d: [0; 8], q: [[0; 32]; 8] };
    /// `d / 2^24`: a weight is taken from the top byte of its lane, which is `2^24` times its value.
    type Scale<S: Simd> = S::F;
    type Words<S: Simd> = S::W;

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.d[lane] = le16(stored, 0);
        for (v, vector) in self.q.iter_mut().enumerate() {
            vector[4 * lane..][..4].copy_from_slice(&stored[2 + 4 * v..][..4]);
        }
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S, _: usize) -> S::F {
        s.mul(s.load_f16(&self.d), s.splat(1.0 / (1u32 << 24) as f32))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, _: usize, v: usize) -> S::W {
        s.load_words(&self.q[v])
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, d: S::F, words: S::W, j: usize) -> S::F {
        let top = s.and(s.shl(words, 24 - 8 * j as u32), 0xff00_0000);
        s.mul(s.convert(top), d)
    }
}

impl<Q: Quants> Quanta<8> for Symmetric<Q> {
    type Factor<S: Simd> = S::F;

    #[inline(always)]
    fn factor<S: Simd>(&self, s: S, _: usize) -> S::F {
        s.load_f16(&self.d)
    }
    #[inline(always)]
    fn bytes<S: Simd>(&self, s: S, _: usize) -> [S::W; 8] {
        self.q.bytes(s)
    }
    #[inline(always)]
    fn dot<S: Simd>(s: S, bytes: [S::W; 8], x: &[[i8; 4]; 8]) -> S::W {
        Q::dot(s, bytes, x)
    }
    /// `dot - zero sum` is a whole number below 2^24.
    #[inline(always)]
    fn product<S: Simd>(s: S, d: S::F, dot: S::F, sum: S::F) -> S::F {
        s.mul(d, s.fma(sum, s.splat(-((1 << (Q::BITS - 1)) as f32)), dot))
    }
}

impl<Q: Quants> Quanta<8> for Affine<Q> {
    type Factor<S: Simd> = (S::F, S::F);

    #[inline(always)]
    fn factor<S: Simd>(&self, s: S, _: usize) -> (S::F, S::F) {
        (s.load_f16(&self.d), s.load_f16(&self.m))
    }
    #[inline(always)]
    fn bytes<S: Simd>(&self, s: S, _: usize) -> [S::W; 8] {
        self.q.bytes(s)
    }
    #[inline(always)]
    fn dot<S: Simd>(s: S, bytes: [S::W; 8], x: &[[i8; 4]; 8]) -> S::W {
        Q::dot(s, bytes, x)
    }
    #[inline(always)]
    fn product<S: Simd>(s: S, (d, m): (S::F, S::F), dot: S::F, sum: S::F) -> S::F {
        s.fma_once(d, dot, s.mul(m, sum))
    }
}

impl Quanta<8> for Q8_0 {
    type Factor<S: Simd> = S::F;

    #[inline(always)]
    fn factor<S: Simd>(&self, s: S, _: usize) -> S::F {
        s.load_f16(&self.d)
    }
    #[inline(always)]
    fn bytes<S: Simd>(&self, s: S, _: usize) -> [S::W; 8] {
        let mut bytes = [s.load_words(&self.q[0]); 8];
        for (bytes, q) in bytes.iter_mut().zip(&self.q) {
            *bytes = s.load_words(q);
        }
        bytes
    }
    #[inline(always)]
    fn dot<S: Simd>(s: S, bytes: [S::W; 8], x: &[[i8; 4]; 8]) -> S::W {
        s.dot_signed(bytes, x)
    }
    #[inline(always)]
    fn product<S: Simd>(s: S, d: S::F, dot: S::F, _: S::F) -> S::F {
        s.mul(d, dot)
    }
}
