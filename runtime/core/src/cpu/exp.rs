//! `e^x` for x at most 0, on 8 lanes.

use super::simd::Simd;

/// Below this `e^x` is subnormal; it is flushed to 0.
const SMALLEST: f32 = -87.33654;
/// `1.5 * 2^23`: adding it rounds to an integer, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts; the first has 9 significant bits, so that its product with an exponent is exact.
const LN2_HIGH: f32 = 355.0 / 512.0;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// `e^x` within 2 ulp for `-87.33 <= x <= 0`, and 0 below that. `e^0` is exactly 1, and NaN stays NaN.
///
/// `x = n ln 2 + r` with `|r| <= ln 2 / 2`, and `e^x = 2^n e^r` with the Taylor polynomial of degree 7, whose truncation error is
/// under `5e-9` relative to `e^r`.
#[inline(always)]
pub(super) fn exp_nonpositive<S: Simd>(s: S, x: S::F) -> S::F {
    let shifted = s.fma(x, s.splat(std::f32::consts::LOG2_E), s.splat(ROUND));
    let n = s.sub(shifted, s.splat(ROUND));
    let r = s.fma(n, s.splat(-LN2_HIGH), x);
    let r = s.fma(n, s.splat(-LN2_LOW), r);
    let mut p = s.splat(1.0 / 5040.0);
    p = s.fma(p, r, s.splat(1.0 / 720.0));
    p = s.fma(p, r, s.splat(1.0 / 120.0));
    p = s.fma(p, r, s.splat(1.0 / 24.0));
    p = s.fma(p, r, s.splat(1.0 / 6.0));
    p = s.fma(p, r, s.splat(0.5));
    // The two large terms last: 1 + (r + r^2 p) loses half an ulp where ((p r + 1) r + 1) would lose more.
    let tail = s.fma(s.mul(r, r), p, r);
    let e_r = s.add(s.splat(1.0), tail);
    // The exponent of 2^n: the low bits of `shifted` hold n, and the shift drops everything above them.
    let power = s.cast_f32(s.shl(s.add_words(s.cast_words(shifted), 127), 23));
    s.below(x, s.splat(SMALLEST), s.splat(0.0), s.mul(e_r, power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::Kernel;
    use crate::testing::{each_isa, ulps};

    struct Exp<'a>(&'a [[f32; 8]], &'a mut [[f32; 8]]);
    impl Kernel for Exp<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            for (x, y) in self.0.iter().zip(self.1) {
                s.store(exp_nonpositive(s, s.load(x)), y);
            }
        }
    }

    fn exp(cpu: &crate::cpu::Cpu, x: &[[f32; 8]]) -> Vec<[f32; 8]> {
        let mut y = vec![[f32::NAN; 8]; x.len()];
        cpu.lanes().enter(Exp(x, &mut y));
        y
    }

    #[test]
    fn is_within_two_ulp_over_the_whole_range() {
        // Every 131st float from -87.336 to -1e-9, some 2.4 million of them.
        let first = 1e-9f32.to_bits();
        let all: Vec<f32> = (first..=(-SMALLEST).to_bits()).step_by(131).map(|bits| -f32::from_bits(bits)).collect();
        let x: Vec<[f32; 8]> = all.as_chunks::<8>().0.to_vec();
        each_isa(|cpu| {
            let y = exp(cpu, &x);
            let worst = x.as_flattened().iter().zip(y.as_flattened()).map(|(&x, &y)| ulps(f64::from(y), f64::from(x).exp()));
            let worst = worst.fold(0.0, f64::max);
            println!("exp on {}: {} values, worst error {worst:.2} ulp of 2", cpu.isa(), 8 * x.len());
            assert!(worst <= 2.0, "{worst} ulp");
        });
    }

    #[test]
    fn edges() {
        each_isa(|cpu| {
            let [y] = exp(cpu, &[[0.0, -0.0, f32::NEG_INFINITY, -87.34, -1e30, f32::NAN, -1e-30, -87.3]])[..] else { panic!() };
            assert_eq!(y[..5], [1.0, 1.0, 0.0, 0.0, 0.0]);
            assert!(y[5].is_nan());
            assert_eq!(y[6], 1.0);
            assert!(y[7] > 0.0);
        });
    }
}
