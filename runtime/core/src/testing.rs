//! What the tests of kernels share: random inputs, the machines to run on, and comparison with a printed bound.

use crate::cpu::{Cpu, Isa};

/// Calls `test` with each instruction set of this machine, on two threads.
pub(crate) fn each_isa(test: impl Fn(&Cpu)) {
    for isa in Isa::available() {
        test(&Cpu::new(2, isa).unwrap());
    }
}

/// Deterministic random numbers (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Uniform in -1..1.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    pub(crate) fn units(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.unit()).collect()
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() >> 33) as usize % bound
    }
}

/// The distance of `got` from `exact` in units in the last place of an f32 of that size.
pub(crate) fn ulps(got: f64, exact: f64) -> f64 {
    let exponent = exact.abs().log2().floor().max(-126.0);
    (got - exact).abs() / (exponent - 23.0).exp2()
}

/// The rounding unit of f32.
pub(crate) const U: f64 = 1.0 / (1u64 << 24) as f64;

/// Compares each `got` with `(exact, bound)` and prints the largest share of the bound that was used.
///
/// # Panics
/// Where a value is further from the reference than its bound allows, or is not finite.
pub(crate) fn within(what: &str, k: usize, got: &[f32], expected: impl IntoIterator<Item = (f64, f64)>) {
    let mut share = 0.0f64;
    let mut largest = 0.0f64;
    let mut compared = 0;
    for (i, (&got, (exact, bound))) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(got) - exact).abs();
        assert!(error <= bound, "{what}: element {i} is {got}, exactly {exact}, bound {bound:e}, K {k}");
        share = share.max(error / bound.max(f64::MIN_POSITIVE));
        largest = largest.max(bound);
        compared += 1;
    }
    assert_eq!(compared, got.len(), "{what}: the reference has fewer elements");
    println!("{what}: K {k}, bound up to {largest:.2e}, {:.1}% of it used", 100.0 * share);
}

/// The bound of NUMERICS for sums of products: 6 sqrt(K) u times the sum of magnitudes.
pub(crate) fn product_bound(k: usize, magnitude: f64) -> f64 {
    6.0 * (k as f64).sqrt() * U * magnitude
}
