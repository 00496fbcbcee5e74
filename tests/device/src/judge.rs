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

/// Kernels that every step of a golden launches at least, however few layers it has: those of embedding, norms, caches and attention.
pub const KERNELS_OF_A_STEP: u64 = 8;

/// What the steps of a test launched on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepLaunches {
    /// Launches of all steps.
    pub launches: u64,
    fewest: Option<u64>,
}

impl StepLaunches {
    /// A step launched so many kernels.
    pub fn see(&mut self, launches: u64) {
        self.launches += launches;
        self.fewest = Some(self.fewest.map_or(launches, |fewest| fewest.min(launches)));
    }

    /// What is wrong where a step did not run on the device.
    pub fn fault(&self) -> Option<String> {
        match self.fewest {
            None => Some("no step ran".to_owned()),
            Some(fewest) if fewest < KERNELS_OF_A_STEP => {
                Some(format!("a step launched {fewest} kernels on the device, and each needs {KERNELS_OF_A_STEP} or more"))
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_launches_nothing_is_no_test_of_a_device() {
        let mut seen = StepLaunches::default();
        assert_eq!(seen.fault().as_deref(), Some("no step ran"));
        seen.see(40);
        seen.see(KERNELS_OF_A_STEP);
        assert_eq!((seen.fault(), seen.launches), (None, 48));
        seen.see(0);
        seen.see(40);
        assert_eq!(seen.fault().as_deref(), Some("a step launched 0 kernels on the device, and each needs 8 or more"));
    }
}
