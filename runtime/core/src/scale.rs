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

    /// The factor itself.
    pub const fn value(self) -> f32 {
        self.0
    }
}

/// ```compile_fail
/// let scale: tenon_core::scale::SoftmaxScale = 0.125.into();
/// ```
#[cfg(doctest)]
pub struct NoBareFloat;

#[cfg(test)]
mod tests {
    use super::SoftmaxScale;

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
}
