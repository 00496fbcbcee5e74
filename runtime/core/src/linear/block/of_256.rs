//! Formats with blocks of 256 inputs, in groups that have a scale each.
//!
//! A product of `d`, the scale of a group and a quant has at most 24 significant bits, so it is exact in f32: a weight is rounded
//! once where a minimum is subtracted, and else not at all. The order of the operations is that of ggml nonetheless.

use super::quants::{Nibbles, Quants, Wide};
use super::{Block, le16};
use crate::cpu::simd::Simd;
use crate::linear::int8::Quanta;
use crate::linear::stored::{q6_k, scale_and_minimum};

pub(in crate::linear) type Q4K = Groups<Nibbles<4>>;
pub(in crate::linear) type Q5K = Groups<Wide<4>>;

/// `d s q - dmin m`, 8 groups of 32 inputs: f16 `d` and `dmin` of the 8 outputs, then `s` and `m` of all groups in 3 vectors,
/// then the quants.
///
/// Nibble `g` of a lane is for group `g`: the low 4 bits of `s`, the low 4 bits of `m`, and the high 2 bits of `s` below those
/// of `m`.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(in crate::linear) struct Groups<Q> {
    d: [u16; 8],
    dmin: [u16; 8],
    scales: [[u8; 32]; 3],
    q: [Q; 8],
}

impl<Q: Quants> Block for Groups<Q> {
    const LEN: usize = 256;
    const GROUP: usize = 32;
    const STEP: usize = 8;
    const STORED: usize = 16 + 32 * Q::BITS;
    const ZERO: Self = Self { d: [0; 8], dmin: [0; 8], scales: [[0; 32]; 3], q: [Q::ZERO; 8] };
    /// `d s` and `-dmin m`.
    type Scale<S: Simd> = (S::F, S::F);
    type Words<S: Simd> = Q::Words<S>;

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.d[lane] = le16(stored, 0);
        self.dmin[lane] = le16(stored, 2);
        let nibble = |vector: usize, g: usize| match (vector, scale_and_minimum(&stored[4..16], g)) {
            (0, (s, _)) => s & 15,
            (1, (_, m)) => m & 15,
            (_, (s, m)) => s >> 4 | m >> 4 << 2,
        };
        for (vector, words) in self.scales.iter_mut().enumerate() {
            for b in 0..4 {
                words[4 * lane + b] = nibble(vector, 2 * b) | nibble(vector, 2 * b + 1) << 4;
            }
        }
        for (g, q) in self.q.iter_mut().enumerate() {
            q.set(lane, |k| Q::of_256(&stored[16..], 32 * g + k));
        }
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S, group: usize) -> (S::F, S::F) {
        let shifted = |vector: &[u8; 32]| s.shr(s.load_words(vector), 4 * group as u32);
        let [scale, minimum, high] = &self.scales;
        let (scale, minimum, high) = (shifted(scale), shifted(minimum), shifted(high));
        let scale = s.or(s.and(scale, 15), s.and(s.shl(high, 4), 0x30));
        let minimum = s.or(s.and(minimum, 15), s.and(s.shl(high, 2), 0x30));
        let d = s.mul(s.load_f16(&self.d), s.convert(scale));
        let m = s.mul(s.load_f16(&self.dmin), s.convert(minimum));
        (d, s.mul(m, s.splat(-1.0)))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, group: usize, v: usize) -> Q::Words<S> {
        self.q[group].words(s, v)
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, (d, m): (S::F, S::F), words: Q::Words<S>, j: usize) -> S::F {
        s.fma(Q::quant(s, words, j), d, m)
    }
}

/// Q6_K, `d s (q - 32)`, 16 groups of 16 inputs: f16 `d` of the 8 outputs, then `s` of all groups in 4 vectors, then the quants.
/// Byte `b` of a lane of vector `v` is for group `4 v + b`.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(in crate::linear) struct Q6K {
    d: [u16; 8],
    scales: [[u8; 32]; 4],
    q: [Wide<2>; 16],
}

impl Block for Q6K {
    const LEN: usize = 256;
    const GROUP: usize = 16;
    const STEP: usize = 8;
    const STORED: usize = 210;
    const ZERO: Self = Self { d: [0; 8], scales: [[0; 32]; 4], q: [Wide::ZERO; 16] };
    /// `d s` and `-32 d s`, as in `Symmetric`.
    type Scale<S: Simd> = (S::F, S::F);
    type Words<S: Simd> = (S::W, S::W);

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.d[lane] = le16(stored, 208);
        for (v, words) in self.scales.iter_mut().enumerate() {
            words[4 * lane..][..4].copy_from_slice(&stored[192 + 4 * v..][..4]);
        }
        for (g, q) in self.q.iter_mut().enumerate() {
            q.set(lane, |k| q6_k(stored, 16 * g + k));
        }
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S, group: usize) -> (S::F, S::F) {
        // As a weight of Q8_0, from the top byte.
        let words = s.load_words(&self.scales[group / 4]);
        let top = s.and(s.shl(words, 24 - 8 * (group as u32 % 4)), 0xff00_0000);
        let d = s.mul(s.mul(s.load_f16(&self.d), s.splat(1.0 / (1u32 << 24) as f32)), s.convert(top));
        (d, s.mul(d, s.splat(-32.0)))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, group: usize, v: usize) -> (S::W, S::W) {
        self.q[group].words(s, v)
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, (d, m): (S::F, S::F), words: (S::W, S::W), j: usize) -> S::F {
        s.fma(Wide::<2>::quant(s, words, j), d, m)
    }
}

impl<Q: Quants> Quanta<8> for Groups<Q> {
    type Factor<S: Simd> = (S::F, S::F);

    #[inline(always)]
    fn factor<S: Simd>(&self, s: S, group: usize) -> (S::F, S::F) {
        self.scale(s, group)
    }
    #[inline(always)]
    fn bytes<S: Simd>(&self, s: S, group: usize) -> [S::W; 8] {
        self.q[group].bytes(s)
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

impl Quanta<4> for Q6K {
    type Factor<S: Simd> = S::F;

    #[inline(always)]
    fn factor<S: Simd>(&self, s: S, group: usize) -> S::F {
        self.scale(s, group).0
    }
    #[inline(always)]
    fn bytes<S: Simd>(&self, s: S, group: usize) -> [S::W; 4] {
        let ((first, second), (third, fourth)) = (self.q[group].words(s, 0), self.q[group].words(s, 1));
        [first, second, third, fourth]
    }
    #[inline(always)]
    fn dot<S: Simd>(s: S, bytes: [S::W; 4], x: &[[i8; 4]; 4]) -> S::W {
        s.dot_unsigned::<4, 63>(bytes, x)
    }
    /// `dot - 32 sum` is a whole number below 2^24.
    #[inline(always)]
    fn product<S: Simd>(s: S, d: S::F, dot: S::F, sum: S::F) -> S::F {
        s.mul(d, s.fma(sum, s.splat(-32.0), dot))
    }
}
