//! Compares what a kernel wrote with what its reference computes.

use tenon_device_cases::{Expected, Value, from_bf16, from_e4m3};

/// How close an output is.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Verdict {
    /// The argument.
    pub arg: String,
    /// The largest share of its bound that an element uses; over 1 is wrong.
    pub share: f64,
    /// Length of the longest sum.
    pub depth: usize,
    /// Elements compared.
    pub elements: usize,
    /// The worst element where it is wrong.
    pub fault: Option<String>,
}

/// The elements of an output as numbers, as its input value says how it is stored.
pub fn numbers(like: &Value, expected: usize, bytes: &[u8]) -> Vec<f64> {
    match like {
        Value::F32(_) => bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect(),
        Value::Bf16(_) => bytes.chunks_exact(2).map(|b| from_bf16(u16::from_le_bytes([b[0], b[1]]))).collect(),
        Value::I32(_) => bytes.chunks_exact(4).map(|b| f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect(),
        Value::U32(_) => bytes.chunks_exact(4).map(|b| f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect(),
        Value::Bytes(_) => bytes.iter().map(|b| from_e4m3(*b)).collect(),
        // Zeroed memory of a type that only the number of expected elements tells.
        Value::Zeros(len) if *len == 4 * expected => numbers(&Value::F32(Vec::new()), expected, bytes),
        Value::Zeros(len) if *len == 2 * expected => numbers(&Value::Bf16(Vec::new()), expected, bytes),
        _ => Vec::new(),
    }
}

/// Judges one output.
pub fn judge(expected: &Expected, got: &[f64]) -> Verdict {
    let mut verdict = Verdict { arg: expected.arg.to_owned(), share: 0.0, depth: expected.depth, elements: 0, fault: None };
    if got.len() != expected.values.len() || expected.bounds.len() != expected.values.len() {
        verdict.share = f64::INFINITY;
        verdict.fault =
            Some(format!("{} elements, {} expected with {} bounds", got.len(), expected.values.len(), expected.bounds.len()));
        return verdict;
    }
    for (i, ((&wanted, &bound), &got)) in expected.values.iter().zip(&expected.bounds).zip(got).enumerate() {
        if wanted.is_nan() {
            continue;
        }
        verdict.elements += 1;
        let off = (got - wanted).abs();
        let share = if got == wanted {
            0.0
        } else if !off.is_finite() || bound <= 0.0 {
            f64::INFINITY
        } else {
            off / bound
        };
        if share > verdict.share {
            verdict.share = share;
            if share > 1.0 {
                verdict.fault = Some(format!("element {i}: {got} for {wanted}, bound {bound:.3e}"));
            }
        }
    }
    verdict
}
