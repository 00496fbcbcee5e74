//! Cases of device kernels: inputs by the names of a template's arguments, and what a sequential reference in double precision computes.
//!
//! Every `kernel-templates/<op>/reference.rs` of a GPU kernel has `pub fn cases(params: &Params) -> Vec<Case>` for the parameters of one
//! instance and `pub fn bench(params: &Params) -> Vec<Bench>` with the sizes at which its speed is stated. This crate has no
//! dependencies, so that a reference shares no code with what it judges.

mod bound;
pub mod planes;
mod random;
mod step;

pub use bound::{U, U_BF16, U_F16, U_FP8, products, recurrence, rounding};
pub use planes::Stored;
pub use random::Random;
pub use step::StepCase;

/// The compile-time parameters of an instance.
#[derive(Clone, Debug, Default)]
pub struct Params(pub Vec<(String, Param)>);

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Param {
    /// A number.
    Int(u64),
    /// A name, such as a dtype.
    Name(String),
}

impl Params {
    /// The number of a parameter.
    ///
    /// # Panics
    /// If the template has no such number.
    pub fn int(&self, name: &str) -> usize {
        match self.0.iter().find(|(n, _)| n == name) {
            Some((_, Param::Int(value))) => *value as usize,
            other => panic!("`{name}` is no number of this instance: {other:?}"),
        }
    }

    /// The name that a parameter is.
    ///
    /// # Panics
    /// If the template has no such name.
    pub fn name(&self, name: &str) -> &str {
        match self.0.iter().find(|(n, _)| n == name) {
            Some((_, Param::Name(value))) => value,
            other => panic!("`{name}` is no name of this instance: {other:?}"),
        }
    }
}

/// The value of an argument.
#[derive(Clone, Debug)]
pub enum Value {
    /// Device memory of f32.
    F32(Vec<f32>),
    /// Device memory of bf16, as bits.
    Bf16(Vec<u16>),
    /// Device memory of 32-bit integers.
    I32(Vec<i32>),
    /// Device memory of unsigned 32-bit integers.
    U32(Vec<u32>),
    /// Device memory of bytes: stored weights, caches in fp8.
    Bytes(Vec<u8>),
    /// Device memory of this many bytes of small random bf16 numbers, filled on the device: for benches.
    Random(usize),
    /// Device memory of this many zero bytes.
    Zeros(usize),
    /// A null pointer.
    Null,
    /// A scalar `int`.
    Int(i64),
    /// A scalar `float`.
    Float(f32),
    /// The `Step`.
    Step(StepCase),
}

impl Value {
    /// Bytes of device memory that it takes; none where it is no memory.
    pub fn bytes(&self) -> Option<usize> {
        match self {
            Self::F32(v) => Some(4 * v.len()),
            Self::Bf16(v) => Some(2 * v.len()),
            Self::I32(v) => Some(4 * v.len()),
            Self::U32(v) => Some(4 * v.len()),
            Self::Bytes(v) => Some(v.len()),
            Self::Random(n) | Self::Zeros(n) => Some(*n),
            Self::Null | Self::Int(_) | Self::Float(_) | Self::Step(_) => None,
        }
    }
}

/// bf16 of these numbers, to the nearest, ties to even, as bits.
pub fn bf16(values: impl IntoIterator<Item = f32>) -> Vec<u16> {
    values.into_iter().map(to_bf16).collect()
}

/// The bits of the nearest bf16.
pub fn to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// The value of a bf16.
pub fn from_bf16(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// The value of an OCP E4M3 byte.
pub fn from_e4m3(byte: u8) -> f64 {
    let (exponent, mantissa) = (i32::from(byte >> 3 & 15), f64::from(byte & 7));
    let magnitude = match exponent {
        _ if byte & 0x7f == 0x7f => f64::NAN,
        0 => mantissa * 2f64.powi(-9),
        _ => (8.0 + mantissa) * 2f64.powi(exponent - 10),
    };
    if byte & 0x80 == 0 { magnitude } else { -magnitude }
}

/// The nearest E4M3, ties to even, saturating at 448.
pub fn to_e4m3(x: f32) -> u8 {
    if x.is_nan() {
        return 0x7f;
    }
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let wanted = f64::from(x.abs()).min(448.0);
    // Magnitudes grow with the byte, so the nearest is found among 127 of them.
    let mut best = 0u8;
    for byte in 0..0x7fu8 {
        let (d, b) = ((from_e4m3(byte) - wanted).abs(), (from_e4m3(best) - wanted).abs());
        if d < b || (d == b && byte & 1 == 0) {
            best = byte;
        }
    }
    sign | best
}

/// What an argument must hold after the launch.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The argument.
    pub arg: &'static str,
    /// Elements, in the order of memory. NaN where anything may stand.
    pub values: Vec<f64>,
    /// How far each may be off.
    pub bounds: Vec<f64>,
    /// The length of the longest sum, for the report.
    pub depth: usize,
}

/// One launch with its inputs and what it must give.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is particular about it, such as `5 rows, ragged tail`.
    pub name: String,
    /// Values of the launch-time names that `[launch]` and shapes use: params with `at = "launch"` and dimensions of a step.
    pub dims: Vec<(&'static str, u64)>,
    /// Every argument of the TEMPLATE.toml, by name.
    pub args: Vec<(&'static str, Value)>,
    /// Outputs.
    pub expected: Vec<Expected>,
    /// Bits of the error word that the launch must set.
    pub error: u32,
}

/// One size at which the speed of an instance is stated. Bytes and flops come from `[cost]`.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Such as `24576 x 4096`.
    pub name: String,
    /// As of [`Case`], and the names that `[cost]` uses.
    pub dims: Vec<(&'static str, u64)>,
    /// Every argument of the TEMPLATE.toml, by name.
    pub args: Vec<(&'static str, Value)>,
}
