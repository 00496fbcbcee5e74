//! Packed weights: tiles of 8 outputs with their lanes interleaved, one type per storage format.
//!
//! A tile is a row of blocks; a block holds `LEN` consecutive inputs of 8 outputs. Lane `i` of every vector belongs to output `i` of
//! the tile, so that a product needs no sum across lanes. Quantised blocks keep their stored size, and hold 4 (or 4 + 4) inputs
//! of an output in each 32-bit lane, which also suits 8-bit integer dot products.

use crate::cpu::simd::Simd;

/// One storage format as kernels read it.
pub(super) trait Block: Copy + Send + Sync + 'static {
    /// Inputs in a block.
    const LEN: usize;
    /// Inputs in one vector of words; `LEN / STEP` vectors make a block.
    const STEP: usize;
    /// Bytes of one output's stored block.
    const STORED: usize;
    /// A block whose weights are all 0: what pads the outputs to a multiple of 8.
    const ZERO: Self;
    /// What all vectors of a block share.
    type Scale<S: Simd>: Copy;

    /// Sets output `lane` from its block as the checkpoint stores it, `STORED` bytes.
    fn set(&mut self, lane: usize, stored: &[u8]);
    fn scale<S: Simd>(&self, s: S) -> Self::Scale<S>;
    /// Vector `v` of the block.
    fn words<S: Simd>(&self, s: S, v: usize) -> S::W;
    /// The weights of input `v * STEP + j`, exactly as the format defines them, where `words` is vector `v`.
    fn weight<S: Simd>(&self, s: S, scale: Self::Scale<S>, words: S::W, j: usize) -> S::F;
}

/// f32: 8 outputs of one input.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct F32([f32; 8]);

/// f16: 8 outputs of one input.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct F16([u16; 8]);

/// bf16: 8 outputs of one input.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Bf16([u16; 8]);

/// 32 inputs in 4 vectors. Byte `b` of a lane of vector `v` has input `8 v + b` in its low and `8 v + 4 + b` in its high nibble.
type Nibbles = [[u8; 32]; 4];

/// Q4_0: f16 scales of the 8 outputs, then the nibbles.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Q4_0 {
    d: [u16; 8],
    q: Nibbles,
}

/// Q4_1: f16 scales and minima of the 8 outputs, then the nibbles.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Q4_1 {
    d: [u16; 8],
    m: [u16; 8],
    q: Nibbles,
}

/// Q8_0: f16 scales of the 8 outputs, then 8 vectors; byte `b` of a lane of vector `v` is input `4 v + b`.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Q8_0 {
    d: [u16; 8],
    q: [[u8; 32]; 8],
}

fn le16(stored: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([stored[at], stored[at + 1]])
}

fn set_nibbles(q: &mut Nibbles, lane: usize, stored: &[u8]) {
    let value = |k: usize| if k < 16 { stored[k] & 15 } else { stored[k - 16] >> 4 };
    for (v, vector) in q.iter_mut().enumerate() {
        for b in 0..4 {
            vector[4 * lane + b] = value(8 * v + b) | value(8 * v + 4 + b) << 4;
        }
    }
}

/// Nibble `j` in the order of inputs, in each lane.
#[inline(always)]
fn nibble<S: Simd>(s: S, words: S::W, j: usize) -> S::F {
    let shift = if j < 4 { 8 * j } else { 8 * (j - 4) + 4 };
    s.convert(s.and(s.shr(words, shift as u32), 15))
}

/// A format without blocks: one vector of 8 elements per input, and no scale.
macro_rules! plain {
    ($block:ident, $zero:expr, $stored:literal, $from:expr, $load:ident) => {
        impl Block for $block {
            const LEN: usize = 1;
            const STEP: usize = 1;
            const STORED: usize = $stored;
            const ZERO: Self = Self([$zero; 8]);
            type Scale<S: Simd> = ();

            fn set(&mut self, lane: usize, stored: &[u8]) {
                self.0[lane] = $from(stored);
            }
            #[inline(always)]
            fn scale<S: Simd>(&self, _: S) {}
            #[inline(always)]
            fn words<S: Simd>(&self, s: S, _: usize) -> S::W {
                s.cast_words(s.$load(&self.0))
            }
            #[inline(always)]
            fn weight<S: Simd>(&self, s: S, _: (), words: S::W, _: usize) -> S::F {
                s.cast_f32(words)
            }
        }
    };
}

plain!(F32, 0.0, 4, |stored: &[u8]| f32::from_le_bytes([stored[0], stored[1], stored[2], stored[3]]), load);
plain!(F16, 0, 2, |stored| le16(stored, 0), load_f16);
plain!(Bf16, 0, 2, |stored| le16(stored, 0), load_bf16);

impl Block for Q4_0 {
    const LEN: usize = 32;
    const STEP: usize = 8;
    const STORED: usize = 18;
    const ZERO: Self = Self { d: [0; 8], q: [[0; 32]; 4] };
    /// `d` and `-8 d`: both `d q` and `d (q - 8)` have at most 15 significant bits, so `d q + (-8 d)` is `d (q - 8)` exactly.
    type Scale<S: Simd> = (S::F, S::F);

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.d[lane] = le16(stored, 0);
        set_nibbles(&mut self.q, lane, &stored[2..]);
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S) -> (S::F, S::F) {
        let d = s.load_f16(&self.d);
        (d, s.mul(d, s.splat(-8.0)))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, v: usize) -> S::W {
        s.load_words(&self.q[v])
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, (d, m): (S::F, S::F), words: S::W, j: usize) -> S::F {
        s.fma(nibble(s, words, j), d, m)
    }
}

impl Block for Q4_1 {
    const LEN: usize = 32;
    const STEP: usize = 8;
    const STORED: usize = 20;
    const ZERO: Self = Self { d: [0; 8], m: [0; 8], q: [[0; 32]; 4] };
    /// `d` and `m`. `d q` is exact, so `d q + m` rounds once, fused or not.
    type Scale<S: Simd> = (S::F, S::F);

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.d[lane] = le16(stored, 0);
        self.m[lane] = le16(stored, 2);
        set_nibbles(&mut self.q, lane, &stored[4..]);
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S) -> (S::F, S::F) {
        (s.load_f16(&self.d), s.load_f16(&self.m))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, v: usize) -> S::W {
        s.load_words(&self.q[v])
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, (d, m): (S::F, S::F), words: S::W, j: usize) -> S::F {
        s.fma(nibble(s, words, j), d, m)
    }
}

impl Block for Q8_0 {
    const LEN: usize = 32;
    const STEP: usize = 4;
    const STORED: usize = 34;
    const ZERO: Self = Self { d: [0; 8], q: [[0; 32]; 8] };
    /// `d / 2^24`: a weight is taken from the top byte of its lane, which is `2^24` times its value.
    type Scale<S: Simd> = S::F;

    fn set(&mut self, lane: usize, stored: &[u8]) {
        self.d[lane] = le16(stored, 0);
        for (v, vector) in self.q.iter_mut().enumerate() {
            vector[4 * lane..][..4].copy_from_slice(&stored[2 + 4 * v..][..4]);
        }
    }
    #[inline(always)]
    fn scale<S: Simd>(&self, s: S) -> S::F {
        s.mul(s.load_f16(&self.d), s.splat(1.0 / (1u32 << 24) as f32))
    }
    #[inline(always)]
    fn words<S: Simd>(&self, s: S, v: usize) -> S::W {
        s.load_words(&self.q[v])
    }
    #[inline(always)]
    fn weight<S: Simd>(&self, s: S, d: S::F, words: S::W, j: usize) -> S::F {
        let top = s.and(s.shl(words, 24 - 8 * j as u32), 0xff00_0000);
        s.mul(s.convert(top), d)
    }
}
