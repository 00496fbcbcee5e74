//! Packed quants of 4, 5 and 6 bits.

use crate::cpu::simd::Simd;
use crate::linear::stored;

/// 32 packed inputs of 8 outputs, as formats of 4 and of 5 bits have them.
pub(in crate::linear) trait Quants: Copy + Send + Sync + 'static {
    /// Bits of an input.
    const BITS: usize;
    const ZERO: Self;
    /// 8 inputs of each output.
    type Words<S: Simd>: Copy;

    /// Sets the inputs of output `lane` to `q(k)`.
    fn set(&mut self, lane: usize, q: impl Fn(usize) -> u8);
    /// Inputs `8 v..8 v + 8`.
    fn words<S: Simd>(&self, s: S, v: usize) -> Self::Words<S>;
    /// Input `j` of the 8.
    fn quant<S: Simd>(s: S, words: Self::Words<S>, j: usize) -> S::F;

    /// Inputs `4 v..4 v + 4` of each output in the bytes of its lane of vector `v`.
    fn bytes<S: Simd>(&self, s: S) -> [S::W; 8];
    /// The sums of the products of `bytes` with `x`.
    fn dot<S: Simd>(s: S, bytes: [S::W; 8], x: &[[i8; 4]; 8]) -> S::W;

    /// Element `k` of a stored block of 32, of which `quants` is what follows the scales.
    fn of_32(quants: &[u8], k: usize) -> u8;
    /// Element `k` of a stored block of 256.
    fn of_256(quants: &[u8], k: usize) -> u8;
}

/// `8 V` inputs of 4 bits. Byte `b` of a lane of vector `v` has input `8 v + b` in its low and `8 v + 4 + b` in its high nibble.
#[derive(Clone, Copy)]
pub(in crate::linear) struct Nibbles<const V: usize>(pub(super) [[u8; 32]; V]);

impl<const V: usize> Nibbles<V> {
    pub(super) const ZERO: Self = Self([[0; 32]; V]);

    /// Sets the inputs of output `lane` to the low 4 bits of `q(k)`.
    pub(super) fn set(&mut self, lane: usize, q: impl Fn(usize) -> u8) {
        for (v, vector) in self.0.iter_mut().enumerate() {
            for b in 0..4 {
                vector[4 * lane + b] = q(8 * v + b) & 15 | q(8 * v + 4 + b) << 4;
            }
        }
    }
}

impl Quants for Nibbles<4> {
    const BITS: usize = 4;
    const ZERO: Self = Self::ZERO;
    type Words<S: Simd> = S::W;

    fn set(&mut self, lane: usize, q: impl Fn(usize) -> u8) {
        self.set(lane, q);
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, v: usize) -> S::W {
        s.load_words(&self.0[v])
    }
    #[inline(always)]
    fn quant<S: Simd>(s: S, words: S::W, j: usize) -> S::F {
        let shift = if j < 4 { 8 * j } else { 8 * (j - 4) + 4 };
        s.convert(s.and(s.shr(words, shift as u32), 15))
    }
    #[inline(always)]
    fn bytes<S: Simd>(&self, s: S) -> [S::W; 8] {
        let mut bytes = [s.load_words(&self.0[0]); 8];
        for v in 0..4 {
            let words = s.load_words(&self.0[v]);
            bytes[2 * v] = s.and(words, 0x0f0f_0f0f);
            bytes[2 * v + 1] = s.and(s.shr(words, 4), 0x0f0f_0f0f);
        }
        bytes
    }
    #[inline(always)]
    fn dot<S: Simd>(s: S, bytes: [S::W; 8], x: &[[i8; 4]; 8]) -> S::W {
        s.dot_unsigned::<8, 15>(bytes, x)
    }

    fn of_32(quants: &[u8], k: usize) -> u8 {
        stored::q4(quants, k)
    }
    fn of_256(quants: &[u8], k: usize) -> u8 {
        stored::q4_k(quants, k)
    }
}

/// `8 V` inputs of `4 + 4 / V` bits: 32 of 5 bits (`V` is 4) or 16 of 6 bits (`V` is 2).
///
/// The bits over the nibbles fill one more vector, in such a way that a shift brings 4 of them at once to where the nibbles
/// end: byte `b` of a lane has those of input `8 v + b` from bit `v * 4 / V`, and of `8 v + 4 + b` from bit `4 + v * 4 / V`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::linear) struct Wide<const V: usize> {
    high: [u8; 32],
    low: Nibbles<V>,
}

impl<const V: usize> Wide<V> {
    /// Bits over the nibble.
    const HIGH: u32 = 4 / V as u32;
    pub(super) const ZERO: Self = Self { high: [0; 32], low: Nibbles::ZERO };

    /// Sets the inputs of output `lane` to `q(k)`.
    pub(super) fn set(&mut self, lane: usize, q: impl Fn(usize) -> u8) {
        for b in 0..4 {
            let high = |v: usize| (q(8 * v + b) >> 4 | q(8 * v + 4 + b) & 0xf0) << (v as u32 * Self::HIGH);
            self.high[4 * lane + b] = (0..V).fold(0, |bits, v| bits | high(v));
        }
        self.low.set(lane, q);
    }

    /// Inputs `8 v..8 v + 4`, one in each byte of a lane, and inputs `8 v + 4..8 v + 8`.
    #[inline(always)]
    pub(super) fn words<S: Simd>(&self, s: S, v: usize) -> (S::W, S::W) {
        let (low, high) = (s.load_words(&self.low.0[v]), s.load_words(&self.high));
        let (shift, mask) = (v as u32 * Self::HIGH, 0x1010_1010 * ((1 << Self::HIGH) - 1));
        let first = s.or(s.and(low, 0x0f0f_0f0f), s.and(s.shl(high, 4 - shift), mask));
        let second = s.or(s.and(s.shr(low, 4), 0x0f0f_0f0f), s.and(s.shr(high, shift), mask));
        (first, second)
    }

    /// Input `j` of the 8.
    #[inline(always)]
    pub(super) fn quant<S: Simd>(s: S, (first, second): (S::W, S::W), j: usize) -> S::F {
        let words = if j < 4 { first } else { second };
        s.convert(s.and(s.shr(words, 8 * (j as u32 % 4)), 0xff))
    }
}

impl Quants for Wide<4> {
    const BITS: usize = 5;
    const ZERO: Self = Self::ZERO;
    type Words<S: Simd> = (S::W, S::W);

    fn set(&mut self, lane: usize, q: impl Fn(usize) -> u8) {
        self.set(lane, q);
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, v: usize) -> (S::W, S::W) {
        self.words(s, v)
    }
    #[inline(always)]
    fn quant<S: Simd>(s: S, words: (S::W, S::W), j: usize) -> S::F {
        Self::quant(s, words, j)
    }
    #[inline(always)]
    fn bytes<S: Simd>(&self, s: S) -> [S::W; 8] {
        let mut bytes = [s.load_words(&self.high); 8];
        for v in 0..4 {
            (bytes[2 * v], bytes[2 * v + 1]) = self.words(s, v);
        }
        bytes
    }
    #[inline(always)]
    fn dot<S: Simd>(s: S, bytes: [S::W; 8], x: &[[i8; 4]; 8]) -> S::W {
        s.dot_unsigned::<8, 31>(bytes, x)
    }

    fn of_32(quants: &[u8], k: usize) -> u8 {
        stored::q5(quants, k)
    }
    fn of_256(quants: &[u8], k: usize) -> u8 {
        stored::q5_k(quants, k)
    }
}
