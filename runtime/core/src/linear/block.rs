//! Packed weights: tiles of 8 outputs with their lanes interleaved, one type per storage format.
//!
//! A tile is a row of blocks; a block holds `LEN` consecutive inputs of 8 outputs. Lane `i` of every vector belongs to output `i` of
//! the tile, so that a product needs no sum across lanes. Quantised blocks keep their stored size, and hold 4 (or 4 + 4) inputs
//! of an output in each 32-bit lane, which also suits 8-bit integer dot products.

mod fp;
mod of_256;
mod of_32;
mod quants;

pub(super) use self::fp::{E4M3, Fp8, Fp8By1, Fp8By16, Fp8By128, Mxfp4, Nvfp4};
pub(super) use self::of_32::{Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
pub(super) use self::of_256::{Q4K, Q5K, Q6K};

use crate::cpu::simd::Simd;

/// One storage format as kernels read it.
pub(super) trait Block: Copy + Send + Sync + 'static {
    /// Inputs in a block.
    const LEN: usize;
    /// Inputs that share a scale; `LEN / GROUP` groups make a block.
    const GROUP: usize = Self::LEN;
    /// Inputs in one vector of words; `GROUP / STEP` vectors make a group.
    const STEP: usize;
    /// Bytes of one output's stored block.
    const STORED: usize;
    /// A block whose weights are all 0: what pads the outputs to a multiple of 8.
    const ZERO: Self;
    /// What all vectors of a group share.
    type Scale<S: Simd>: Copy;
    /// `STEP` inputs of each output.
    type Words<S: Simd>: Copy;

    /// Sets output `lane` from its block as the checkpoint stores it, `STORED` bytes.
    fn set(&mut self, lane: usize, stored: &[u8]);
    fn scale<S: Simd>(&self, s: S, group: usize) -> Self::Scale<S>;
    /// Vector `v` of a group.
    fn words<S: Simd>(&self, s: S, group: usize, v: usize) -> Self::Words<S>;
    /// The weights of input `v * STEP + j` of a group, exactly as the format defines them, where `words` is vector `v`.
    fn weight<S: Simd>(&self, s: S, scale: Self::Scale<S>, words: Self::Words<S>, j: usize) -> S::F;
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

fn le16(stored: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([stored[at], stored[at + 1]])
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
            type Words<S: Simd> = S::F;

            fn set(&mut self, lane: usize, stored: &[u8]) {
                self.0[lane] = $from(stored);
            }
            #[inline(always)]
            fn scale<S: Simd>(&self, _: S, _: usize) {}
            #[inline(always)]
            fn words<S: Simd>(&self, s: S, _: usize, _: usize) -> S::F {
                s.$load(&self.0)
            }
            #[inline(always)]
            fn weight<S: Simd>(&self, _: S, _: (), weight: S::F, _: usize) -> S::F {
                weight
            }
        }
    };
}

plain!(F32, 0.0, 4, |stored: &[u8]| f32::from_le_bytes([stored[0], stored[1], stored[2], stored[3]]), load);
plain!(F16, 0, 2, |stored| le16(stored, 0), load_f16);
plain!(Bf16, 0, 2, |stored| le16(stored, 0), load_bf16);
