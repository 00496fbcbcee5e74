//! Eight lanes of f32: the vector type that every kernel is written on, once, for all instruction sets.
//!
//! A kernel implements [`Kernel`] with `#[inline(always)]` on everything it calls, so that [`Lanes::enter`] compiles it a
//! second time inside a function that has AVX2 enabled. Lanes hold independent results (eight outputs of a product, eight
//! positions of a score); sums across lanes are the exception and have one fixed order.

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;

/// Operations on 8 lanes. A value of an implementing type is a proof that the machine has the instructions.
pub(crate) trait Simd: Copy + Send + Sync {
    /// 8 lanes of f32.
    type F: Copy;
    /// 8 lanes of 32-bit words.
    type W: Copy;

    /// Runs `kernel` in a function of its own, which all callers share.
    fn call<K: Kernel>(self, kernel: K);

    /// `x` in every lane.
    fn splat(self, x: f32) -> Self::F;
    fn load(self, from: &[f32; 8]) -> Self::F;
    fn store(self, v: Self::F, to: &mut [f32; 8]);
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`: rounded once with AVX2, twice on the portable path.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `a * b + c`, rounded once everywhere, which costs the portable path a call per lane where the build's target has no such
    /// instruction: for what must have the same bits on every instruction set, and is rare beside other work.
    fn fma_once(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `a > b ? a : b`, so that a NaN in `b` stays.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// `x < limit ? a : b`.
    fn below(self, x: Self::F, limit: Self::F, a: Self::F, b: Self::F) -> Self::F;
    /// `((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7))` of the lanes.
    fn reduce_add(self, v: Self::F) -> f32;
    /// Lane `i` of vector `j` becomes lane `j` of vector `i`.
    fn transpose(self, v: [Self::F; 8]) -> [Self::F; 8];
    /// The largest lane. Where a lane is NaN, the result is a lane of `v`, which one is not defined.
    fn reduce_max(self, v: Self::F) -> f32;

    /// Asks the second-level cache for the line of an address, which may be any.
    fn prefetch(self, from: *const u8);
    /// Little-endian words.
    fn load_words(self, from: &[u8; 32]) -> Self::W;
    fn and(self, v: Self::W, mask: u32) -> Self::W;
    fn or(self, a: Self::W, b: Self::W) -> Self::W;
    fn shl(self, v: Self::W, bits: u32) -> Self::W;
    fn shr(self, v: Self::W, bits: u32) -> Self::W;
    /// Adds modulo 2^32.
    fn add_words(self, v: Self::W, other: u32) -> Self::W;
    /// The value of each word as a signed integer.
    fn convert(self, v: Self::W) -> Self::F;
    /// The f32 with these bits.
    fn cast_f32(self, v: Self::W) -> Self::F;
    fn cast_words(self, v: Self::F) -> Self::W;
    fn load_f16(self, from: &[u16; 8]) -> Self::F;
    fn load_bf16(self, from: &[u16; 8]) -> Self::F;
    /// 2^-8 times each value of E4M3. NaN is not kept: it reads as 480 would.
    fn load_e4m3(self, from: &[u8; 8]) -> Self::F;
    /// One byte in each word.
    fn load_bytes(self, from: &[u8; 8]) -> Self::W;
    /// Replaces each byte, which is under 16, by that entry of the table.
    fn look_up(self, table: &[u8; 16], bytes: Self::W) -> Self::W;
    /// In each lane the sum over `v` of the products of the 4 bytes of `a[v]`, unsigned and at most `MOST`, with those of `b[v]`,
    /// which are over -128. Exact.
    fn dot_unsigned<const N: usize, const MOST: i32>(self, a: [Self::W; N], b: &[[i8; 4]; N]) -> Self::W;
    /// The same for signed bytes of `a`, of any value.
    fn dot_signed<const N: usize>(self, a: [Self::W; N], b: &[[i8; 4]; N]) -> Self::W;
}

/// A computation that is written on [`Simd`].
pub(crate) trait Kernel {
    /// Implementations are `#[inline(always)]`: an instruction set is enabled around the call, not inside it.
    fn run<S: Simd>(self, simd: S);
}

/// The instruction set that a [`Cpu`](super::Cpu) uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lanes {
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    Portable,
}

impl Lanes {
    /// Runs `kernel` with this instruction set.
    #[inline]
    pub(crate) fn enter<K: Kernel>(self, kernel: K) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(proof) => proof.call(kernel),
            Self::Portable => Portable.call(kernel),
        }
    }
}

/// Plain Rust on arrays of 8, which LLVM vectorises with what the build's target has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

#[inline(never)]
fn run<K: Kernel>(kernel: K, portable: Portable) {
    kernel.run(portable);
}

/// One lane after the other; a macro because a closure would not be inlined in an unoptimised build.
macro_rules! lanes {
    ($lane:ident => $value:expr) => {{
        let mut out = [Default::default(); 8];
        let mut $lane = 0;
        while $lane < 8 {
            out[$lane] = $value;
            $lane += 1;
        }
        out
    }};
}

#[rustfmt::skip]
impl Simd for Portable {
    type F = [f32; 8];
    type W = [u32; 8];

    #[inline(always)] fn call<K: Kernel>(self, kernel: K) { run(kernel, self) }
    #[inline(always)] fn splat(self, x: f32) -> [f32; 8] { [x; 8] }
    #[inline(always)] fn load(self, from: &[f32; 8]) -> [f32; 8] { *from }
    #[inline(always)] fn store(self, v: [f32; 8], to: &mut [f32; 8]) { *to = v }
    #[inline(always)] fn add(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] { lanes!(i => a[i] + b[i]) }
    #[inline(always)] fn sub(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] { lanes!(i => a[i] - b[i]) }
    #[inline(always)] fn mul(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] { lanes!(i => a[i] * b[i]) }
    #[inline(always)] fn div(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] { lanes!(i => a[i] / b[i]) }
    #[inline(always)] fn fma(self, a: [f32; 8], b: [f32; 8], c: [f32; 8]) -> [f32; 8] { lanes!(i => a[i] * b[i] + c[i]) }
    #[inline(always)] fn fma_once(self, a: [f32; 8], b: [f32; 8], c: [f32; 8]) -> [f32; 8] { lanes!(i => a[i].mul_add(b[i], c[i])) }
    #[inline(always)] fn max(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] { lanes!(i => if a[i] > b[i] { a[i] } else { b[i] }) }
    #[inline(always)] fn below(self, x: [f32; 8], limit: [f32; 8], a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        lanes!(i => if x[i] < limit[i] { a[i] } else { b[i] })
    }
    #[inline(always)] fn reduce_add(self, v: [f32; 8]) -> f32 {
        ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
    }
    #[inline(always)] fn transpose(self, v: [[f32; 8]; 8]) -> [[f32; 8]; 8] {
        let mut out = [[0.0; 8]; 8];
        let mut i = 0;
        while i < 64 {
            out[i / 8][i % 8] = v[i % 8][i / 8];
            i += 1;
        }
        out
    }
    #[inline(always)] fn reduce_max(self, v: [f32; 8]) -> f32 {
        let mut most = v[0];
        let mut i = 1;
        while i < 8 {
            most = if v[i] > most { v[i] } else { most };
            i += 1;
        }
        most
    }

    #[inline(always)] fn prefetch(self, _: *const u8) {}
    #[inline(always)] fn load_words(self, from: &[u8; 32]) -> [u32; 8] {
        lanes!(i => u32::from_le_bytes([from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]]))
    }
    #[inline(always)] fn and(self, v: [u32; 8], mask: u32) -> [u32; 8] { lanes!(i => v[i] & mask) }
    #[inline(always)] fn or(self, a: [u32; 8], b: [u32; 8]) -> [u32; 8] { lanes!(i => a[i] | b[i]) }
    #[inline(always)] fn shl(self, v: [u32; 8], bits: u32) -> [u32; 8] { lanes!(i => v[i] << bits) }
    #[inline(always)] fn shr(self, v: [u32; 8], bits: u32) -> [u32; 8] { lanes!(i => v[i] >> bits) }
    #[inline(always)] fn add_words(self, v: [u32; 8], other: u32) -> [u32; 8] { lanes!(i => v[i].wrapping_add(other)) }
    #[inline(always)] fn convert(self, v: [u32; 8]) -> [f32; 8] { lanes!(i => v[i] as i32 as f32) }
    #[inline(always)] fn cast_f32(self, v: [u32; 8]) -> [f32; 8] { lanes!(i => f32::from_bits(v[i])) }
    #[inline(always)] fn cast_words(self, v: [f32; 8]) -> [u32; 8] { lanes!(i => v[i].to_bits()) }
    #[inline(always)] fn load_f16(self, from: &[u16; 8]) -> [f32; 8] { lanes!(i => half::f16::from_bits(from[i]).to_f32()) }
    #[inline(always)] fn load_bf16(self, from: &[u16; 8]) -> [f32; 8] { lanes!(i => f32::from_bits(u32::from(from[i]) << 16)) }
    #[inline(always)] fn load_e4m3(self, from: &[u8; 8]) -> [f32; 8] {
        // Sign, exponent and mantissa in the places of an f16, whose exponent has a bias of 15 instead of 7.
        lanes!(i => half::f16::from_bits((from[i] as i8 as u16) << 7 & 0xbfff).to_f32())
    }
    #[inline(always)] fn load_bytes(self, from: &[u8; 8]) -> [u32; 8] { lanes!(i => u32::from(from[i])) }
    #[inline(always)] fn look_up(self, table: &[u8; 16], v: [u32; 8]) -> [u32; 8] {
        lanes!(i => u32::from_le_bytes([
            table[(v[i] & 15) as usize],
            table[(v[i] >> 8 & 15) as usize],
            table[(v[i] >> 16 & 15) as usize],
            table[(v[i] >> 24 & 15) as usize],
        ]))
    }
    #[inline(always)] fn dot_unsigned<const N: usize, const MOST: i32>(self, a: [[u32; 8]; N], b: &[[i8; 4]; N]) -> [u32; 8] {
        let mut sums = [0i32; 8];
        let mut v = 0;
        while v < N {
            let [b0, b1, b2, b3] = [i32::from(b[v][0]), i32::from(b[v][1]), i32::from(b[v][2]), i32::from(b[v][3])];
            let byte = |lane: u32, at: u32| (lane >> (8 * at) & 0xff) as i32;
            sums = lanes!(i => sums[i] + byte(a[v][i], 0) * b0 + byte(a[v][i], 1) * b1 + byte(a[v][i], 2) * b2 + byte(a[v][i], 3) * b3);
            v += 1;
        }
        lanes!(i => sums[i] as u32)
    }
    #[inline(always)] fn dot_signed<const N: usize>(self, a: [[u32; 8]; N], b: &[[i8; 4]; N]) -> [u32; 8] {
        let mut sums = [0i32; 8];
        let mut v = 0;
        while v < N {
            let [b0, b1, b2, b3] = [i32::from(b[v][0]), i32::from(b[v][1]), i32::from(b[v][2]), i32::from(b[v][3])];
            let byte = |lane: u32, at: u32| i32::from((lane >> (8 * at)) as i8);
            sums = lanes!(i => sums[i] + byte(a[v][i], 0) * b0 + byte(a[v][i], 1) * b1 + byte(a[v][i], 2) * b2 + byte(a[v][i], 3) * b3);
            v += 1;
        }
        lanes!(i => sums[i] as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::each_isa;

    struct Transpose<'a>(&'a mut [[f32; 8]; 8]);
    impl Kernel for Transpose<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let mut v = [s.splat(0.0); 8];
            for (v, from) in v.iter_mut().zip(&*self.0) {
                *v = s.load(from);
            }
            for (v, to) in s.transpose(v).into_iter().zip(self.0) {
                s.store(v, to);
            }
        }
    }

    #[test]
    fn lanes_and_vectors_change_places() {
        each_isa(|cpu| {
            let mut v: [[f32; 8]; 8] = std::array::from_fn(|i| std::array::from_fn(|j| (8 * i + j) as f32));
            cpu.lanes().enter(Transpose(&mut v));
            assert_eq!(v, std::array::from_fn(|i| std::array::from_fn(|j| (8 * j + i) as f32)));
        });
    }
}
