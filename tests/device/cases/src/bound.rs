//! Error models: how far a device result may be from the exact one, and why.

/// Half the distance of neighbours at 1 in f32.
pub const U: f64 = 1.0 / (1u64 << 24) as f64;
/// The same in f16.
pub const U_F16: f64 = 1.0 / (1u64 << 11) as f64;
/// The same in bf16.
pub const U_BF16: f64 = 1.0 / (1u64 << 8) as f64;
/// The same in E4M3.
pub const U_FP8: f64 = 1.0 / (1u64 << 4) as f64;

/// A sum of `depth` products in f32 whose magnitudes add up to `magnitude`: rounding errors are independent, so they grow as the square
/// root of their number.
pub fn products(depth: usize, magnitude: f64) -> f64 {
    6.0 * (depth as f64).sqrt() * U * magnitude
}

/// A recurrence or sum of `depth` terms with exponentials in f32: elementary functions 2.5 K u, summation (K - 1) u, contraction K u,
/// rounded up to 5 (K + 2) u of the value and of the tensor's `maximum`.
pub fn recurrence(depth: usize, value: f64, maximum: f64) -> f64 {
    5.0 * (depth as f64 + 2.0) * U * (value.abs() + maximum)
}

/// The rounding of a result to a dtype with half distance `u`.
pub fn rounding(u: f64, value: f64) -> f64 {
    u * value.abs()
}
