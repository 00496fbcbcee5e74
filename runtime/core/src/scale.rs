//! `SoftmaxScale`: the factor on attention scores, which only a named formula can make.

/// The factor that multiplies query-key products before the softmax.
///
/// There is no conversion from a float. Each constructor names the formula of the spec and takes the literal that the compiler
/// computed; a literal that is not the formula's value does not compile. The dimensions are those in which the model *defines* its
/// scores: lowering may move scores into another space (an absorbed latent one), the scale stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxScale(f32);

impl SoftmaxScale {
    /// `1 / sqrt(dims)`, written as `value`. `dims` is usually the head dimension.
    ///
    /// # Panics
    /// At compile time, when `value` is further than two parts in a million from `1 / sqrt(dims)`.
    pub const fn rsqrt(dims: usize, value: f32) -> Self {
        let square = value as f64 * value as f64 * dims as f64;
        assert!(value > 0.0 && square > 1.0 - 4e-6 && square < 1.0 + 4e-6, "the softmax scale is not 1/sqrt(dims)");
        Self(value)
    }

    /// `yarn_mscale(factor, mscale_all_dim)^2 / sqrt(dims)`, written as `value`, where `yarn_mscale(f, m)` is `0.1 m ln f + 1` for
    /// `f > 1` and 1 otherwise (DeepSeek-V3's attention). `dims` are those of the unabsorbed query and key.
    ///
    /// # Panics
    /// At compile time, when `value` is further than two parts in a million from the formula.
    pub const fn rsqrt_yarn(dims: usize, factor: f64, mscale_all_dim: f64, value: f32) -> Self {
        let mscale = yarn_mscale(factor, mscale_all_dim);
        let square = value as f64 * value as f64 * dims as f64;
        let ratio = square / (mscale * mscale * mscale * mscale);
        assert!(
            value > 0.0 && ratio > 1.0 - 4e-6 && ratio < 1.0 + 4e-6,
            "the softmax scale is not yarn_mscale(factor, mscale_all_dim)^2/sqrt(dims)"
        );
        Self(value)
    }

    /// The factor itself.
    pub const fn value(self) -> f32 {
        self.0
    }
}

const fn yarn_mscale(factor: f64, mscale: f64) -> f64 {
    if factor > 1.0 { 0.1 * mscale * ln(factor) + 1.0 } else { 1.0 }
}

/// The natural logarithm of a normal number, within a few units in the last place; `f64::ln` is not there at compile time.
///
/// `x = 2^n y` with `y` in `1..2`, and `ln y = 2 artanh((y - 1) / (y + 1))`, whose series in a third or less has its 17th term
/// under `1e-17`.
const fn ln(x: f64) -> f64 {
    let exponent = (x.to_bits() >> 52) as i64 - 1023;
    let y = f64::from_bits(x.to_bits() & ((1 << 52) - 1) | 1023 << 52);
    let z = (y - 1.0) / (y + 1.0);
    let (mut power, mut sum, mut k) = (z, 0.0, 0);
    while k < 17 {
        sum += power / (2 * k + 1) as f64;
        power *= z * z;
        k += 1;
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * sum
}

/// A factor on queries that grows with their position: `1 + beta ln(1 + floor(position / original))`, with which Llama 4 and Mistral
/// Small 4 sharpen attention beyond the context that they were first trained for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryScale {
    beta: f32,
    original: u32,
}

impl QueryScale {
    /// `beta` is `llama_4_scaling_beta`, `original_max_position_embeddings` in positions.
    ///
    /// # Panics
    /// At compile time, when `original_max_position_embeddings` is 0.
    pub const fn new(beta: f32, original_max_position_embeddings: u32) -> Self {
        assert!(original_max_position_embeddings > 0, "a context has at least one position");
        Self { beta, original: original_max_position_embeddings }
    }

    /// The factor of the logarithm.
    pub const fn beta(self) -> f32 {
        self.beta
    }

    /// Positions of a context, as the number that a kernel divides by.
    pub const fn original(self) -> f32 {
        self.original as f32
    }

    /// The factor at a position. It is exactly 1 below the original context.
    pub fn at(self, position: u32) -> f32 {
        let contexts = f64::from(position / self.original);
        (1.0 + f64::from(self.beta) * contexts.ln_1p()) as f32
    }
}

/// ```compile_fail
/// let scale: tenon_core::scale::SoftmaxScale = 0.125.into();
/// ```
#[cfg(doctest)]
pub struct NoBareFloat;

#[cfg(test)]
mod tests {
    use super::{QueryScale, SoftmaxScale, ln, yarn_mscale};

    #[test]
    fn takes_the_value_of_the_formula() {
        assert_eq!(SoftmaxScale::rsqrt(64, 0.125).value(), 0.125);
        assert_eq!(SoftmaxScale::rsqrt(72, 0.117_851_13).value(), 0.117_851_13);
    }

    #[test]
    #[should_panic(expected = "not 1/sqrt(dims)")]
    fn refuses_another_value() {
        SoftmaxScale::rsqrt(320, 0.088_388_35);
    }

    #[test]
    fn yarn_takes_the_value_of_the_formula() {
        // Mistral Small 4: 128 dimensions, factor 128, mscale_all_dim 1.
        const SCALE: SoftmaxScale = SoftmaxScale::rsqrt_yarn(128, 128.0, 1.0, 0.194_969_5);
        assert_eq!(SCALE.value(), 0.194_969_5);
        // Without a stretch, or without mscale_all_dim, only the root is left.
        assert_eq!(SoftmaxScale::rsqrt_yarn(64, 1.0, 1.0, 0.125).value(), 0.125);
        assert_eq!(SoftmaxScale::rsqrt_yarn(64, 40.0, 0.0, 0.125).value(), 0.125);
        for (factor, mscale) in [(4.0f64, 1.0), (40.0, 0.707), (1.5, 0.3), (128.0, 1.0), (3.99, 2.0)] {
            let mscale_all = 0.1 * mscale * factor.ln() + 1.0;
            assert!((yarn_mscale(factor, mscale) / mscale_all - 1.0).abs() < 1e-15);
            SoftmaxScale::rsqrt_yarn(72, factor, mscale, (mscale_all * mscale_all / 72f64.sqrt()) as f32);
        }
        for x in [1.0f64, 1.000_001, 1.999_999, 2.0, 3.0, 40.0, 128.0, 1e6, 0.5, 0.75] {
            assert!((ln(x) - x.ln()).abs() <= 4.0 * f64::EPSILON * x.ln().abs().max(0.1), "{x}");
        }
    }

    #[test]
    #[should_panic(expected = "not yarn_mscale(factor, mscale_all_dim)^2/sqrt(dims)")]
    fn yarn_refuses_the_plain_root() {
        SoftmaxScale::rsqrt_yarn(128, 128.0, 1.0, 0.088_388_35);
    }

    #[test]
    #[should_panic(expected = "not yarn_mscale(factor, mscale_all_dim)^2/sqrt(dims)")]
    fn yarn_refuses_mscale_once() {
        SoftmaxScale::rsqrt_yarn(128, 128.0, 1.0, 0.131_274_64);
    }

    #[test]
    fn queries_are_scaled_by_whole_contexts() {
        let scale = QueryScale::new(0.1, 64);
        assert_eq!([scale.at(0), scale.at(63)], [1.0, 1.0]);
        assert_eq!(scale.at(64), (1.0 + f64::from(0.1f32) * 2f64.ln()) as f32);
        assert_eq!(scale.at(127), scale.at(64));
        assert_eq!(scale.at(500), (1.0 + f64::from(0.1f32) * 8f64.ln()) as f32);
    }
}
