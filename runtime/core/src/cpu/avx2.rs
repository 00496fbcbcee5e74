//! Eight lanes in AVX2 registers, for machines that were seen to have AVX2, FMA and F16C.

use std::arch::x86_64::*;

use super::simd::{Kernel, Simd};

/// A proof that this machine has AVX2, FMA and F16C: [`Avx2::detect`] is the only way to get one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The proof, where the machine has the instructions.
    pub(super) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        has.then_some(Self(()))
    }
}

/// The one place where the instruction sets are enabled: everything that `kernel` does is inlined here.
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c")]
fn run<K: Kernel>(kernel: K, proof: Avx2) {
    kernel.run(proof);
}

/// Wraps intrinsics whose only requirement is the instruction set.
macro_rules! proven {
    ($e:expr) => {{
        // SAFETY: `self` proves that the machine has the instructions. References to arrays are read and written with the
        // instructions that need no alignment, and have the 8, 16 or 32 bytes that these take.
        #[allow(unused_unsafe)]
        unsafe {
            $e
        }
    }};
}

#[rustfmt::skip]
impl Simd for Avx2 {
    type F = __m256;
    type W = __m256i;

    #[inline(always)] fn call<K: Kernel>(self, kernel: K) { proven!(run(kernel, self)) }
    #[inline(always)] fn splat(self, x: f32) -> __m256 { proven!(_mm256_set1_ps(x)) }
    #[inline(always)] fn load(self, from: &[f32; 8]) -> __m256 { proven!(_mm256_loadu_ps(from.as_ptr())) }
    #[inline(always)] fn store(self, v: __m256, to: &mut [f32; 8]) { proven!(_mm256_storeu_ps(to.as_mut_ptr(), v)) }
    #[inline(always)] fn add(self, a: __m256, b: __m256) -> __m256 { proven!(_mm256_add_ps(a, b)) }
    #[inline(always)] fn sub(self, a: __m256, b: __m256) -> __m256 { proven!(_mm256_sub_ps(a, b)) }
    #[inline(always)] fn mul(self, a: __m256, b: __m256) -> __m256 { proven!(_mm256_mul_ps(a, b)) }
    #[inline(always)] fn div(self, a: __m256, b: __m256) -> __m256 { proven!(_mm256_div_ps(a, b)) }
    #[inline(always)] fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 { proven!(_mm256_fmadd_ps(a, b, c)) }
    #[inline(always)] fn fma_once(self, a: __m256, b: __m256, c: __m256) -> __m256 { self.fma(a, b, c) }
    #[inline(always)] fn max(self, a: __m256, b: __m256) -> __m256 { proven!(_mm256_max_ps(a, b)) }
    #[inline(always)] fn below(self, x: __m256, limit: __m256, a: __m256, b: __m256) -> __m256 {
        proven!(_mm256_blendv_ps(b, a, _mm256_cmp_ps::<_CMP_LT_OQ>(x, limit)))
    }
    #[inline(always)] fn reduce_add(self, v: __m256) -> f32 {
        proven!({
            let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        })
    }
    #[inline(always)] fn transpose(self, v: [__m256; 8]) -> [__m256; 8] {
        proven!({
            let [a, b, c, d, e, f, g, h] = v;
            let (ab, cd, ef, gh) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d), _mm256_unpacklo_ps(e, f), _mm256_unpacklo_ps(g, h));
            let (low0, low1) = (_mm256_shuffle_ps::<0x44>(ab, cd), _mm256_shuffle_ps::<0xee>(ab, cd));
            let (high0, high1) = (_mm256_shuffle_ps::<0x44>(ef, gh), _mm256_shuffle_ps::<0xee>(ef, gh));
            let (ab, cd, ef, gh) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d), _mm256_unpackhi_ps(e, f), _mm256_unpackhi_ps(g, h));
            let (low2, low3) = (_mm256_shuffle_ps::<0x44>(ab, cd), _mm256_shuffle_ps::<0xee>(ab, cd));
            let (high2, high3) = (_mm256_shuffle_ps::<0x44>(ef, gh), _mm256_shuffle_ps::<0xee>(ef, gh));
            [
                _mm256_permute2f128_ps::<0x20>(low0, high0),
                _mm256_permute2f128_ps::<0x20>(low1, high1),
                _mm256_permute2f128_ps::<0x20>(low2, high2),
                _mm256_permute2f128_ps::<0x20>(low3, high3),
                _mm256_permute2f128_ps::<0x31>(low0, high0),
                _mm256_permute2f128_ps::<0x31>(low1, high1),
                _mm256_permute2f128_ps::<0x31>(low2, high2),
                _mm256_permute2f128_ps::<0x31>(low3, high3),
            ]
        })
    }
    #[inline(always)] fn reduce_max(self, v: __m256) -> f32 {
        proven!({
            let four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        })
    }

    #[inline(always)] fn prefetch(self, from: *const u8) { proven!(_mm_prefetch::<_MM_HINT_T1>(from.cast())) }
    #[inline(always)] fn load_words(self, from: &[u8; 32]) -> __m256i { proven!(_mm256_loadu_si256(from.as_ptr().cast())) }
    #[inline(always)] fn and(self, v: __m256i, mask: u32) -> __m256i { proven!(_mm256_and_si256(v, _mm256_set1_epi32(mask as i32))) }
    #[inline(always)] fn or(self, a: __m256i, b: __m256i) -> __m256i { proven!(_mm256_or_si256(a, b)) }
    #[inline(always)] fn shl(self, v: __m256i, bits: u32) -> __m256i { proven!(_mm256_sll_epi32(v, _mm_cvtsi32_si128(bits as i32))) }
    #[inline(always)] fn shr(self, v: __m256i, bits: u32) -> __m256i { proven!(_mm256_srl_epi32(v, _mm_cvtsi32_si128(bits as i32))) }
    #[inline(always)] fn add_words(self, v: __m256i, other: u32) -> __m256i { proven!(_mm256_add_epi32(v, _mm256_set1_epi32(other as i32))) }
    #[inline(always)] fn convert(self, v: __m256i) -> __m256 { proven!(_mm256_cvtepi32_ps(v)) }
    #[inline(always)] fn cast_f32(self, v: __m256i) -> __m256 { proven!(_mm256_castsi256_ps(v)) }
    #[inline(always)] fn cast_words(self, v: __m256) -> __m256i { proven!(_mm256_castps_si256(v)) }
    #[inline(always)] fn load_f16(self, from: &[u16; 8]) -> __m256 { proven!(_mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast()))) }
    #[inline(always)] fn load_bf16(self, from: &[u16; 8]) -> __m256 {
        proven!(_mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128(from.as_ptr().cast())))))
    }
    #[inline(always)] fn load_e4m3(self, from: &[u8; 8]) -> __m256 {
        // As on the portable path. Widening with the sign leaves it where the shift takes it to the top.
        proven!({
            let wide = _mm_cvtepi8_epi16(_mm_loadl_epi64(from.as_ptr().cast()));
            _mm256_cvtph_ps(_mm_and_si128(_mm_slli_epi16::<7>(wide), _mm_set1_epi16(0xbfffu16 as i16)))
        })
    }
    #[inline(always)] fn load_bytes(self, from: &[u8; 8]) -> __m256i { proven!(_mm256_cvtepu8_epi32(_mm_loadl_epi64(from.as_ptr().cast()))) }
    #[inline(always)] fn look_up(self, table: &[u8; 16], bytes: __m256i) -> __m256i {
        proven!(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast())), bytes))
    }
    #[inline(always)] fn dot_unsigned<const N: usize, const MOST: i32>(self, a: [__m256i; N], b: &[[i8; 4]; N]) -> __m256i {
        // Pairs of products are 16 bits wide, and so many of them can be added before they have to be widened.
        const { assert!(MOST <= 127, "a pair of products would saturate") };
        let together = (i16::MAX as i32 / (2 * 127 * MOST)) as usize;
        // One loop of constant length, which LLVM unrolls whole; it leaves two nested ones as they are.
        proven!({
            let (mut sums, mut pairs) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            let mut v = 0;
            while v < N {
                let four = _mm256_set1_epi32(i32::from_le_bytes(bytes(b[v])));
                pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(a[v], four));
                v += 1;
                if v % together == 0 || v == N {
                    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
                    pairs = _mm256_setzero_si256();
                }
            }
            sums
        })
    }
    #[inline(always)] fn dot_signed<const N: usize>(self, a: [__m256i; N], b: &[[i8; 4]; N]) -> __m256i {
        // The sign of `a` moves to `b`. A magnitude of 128 is one as an unsigned byte, and a pair of products at most 2 x 128 x 127.
        proven!({
            let mut sums = _mm256_setzero_si256();
            let mut v = 0;
            while v < N {
                let four = _mm256_set1_epi32(i32::from_le_bytes(bytes(b[v])));
                let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a[v]), _mm256_sign_epi8(four, a[v]));
                sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
                v += 1;
            }
            sums
        })
    }
}

#[inline(always)]
const fn bytes(quants: [i8; 4]) -> [u8; 4] {
    [quants[0] as u8, quants[1] as u8, quants[2] as u8, quants[3] as u8]
}
