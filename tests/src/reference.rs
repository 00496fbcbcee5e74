//! References: what Hugging Face transformers computed in float64, and how far it is itself off in f32 and bf16.

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

/// The folder of a golden case. Those that come without a spec stand elsewhere. `TENON_TESTS` says where `tests/` is for a program that
/// runs on another machine than it was built on.
pub fn folder(case: &str) -> PathBuf {
    let here = std::env::var_os("TENON_TESTS").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    match case.strip_prefix("unseen-") {
        Some(folder) => here.join("unseen").join(folder),
        None => here.join("golden").join(case),
    }
}

/// Tensors of a safetensors file, by name.
pub struct Tensors {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl Tensors {
    /// Reads a file.
    pub fn read(path: PathBuf) -> Self {
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { bytes, path }
    }

    fn elements(&self, name: &str, dtype: Dtype) -> Vec<[u8; 4]> {
        let file = SafeTensors::deserialize(&self.bytes).unwrap_or_else(|e| panic!("{}: {e}", self.path.display()));
        let tensor = file.tensor(name).unwrap_or_else(|e| panic!("{}: {name}: {e}", self.path.display()));
        assert_eq!(tensor.dtype(), dtype, "{name}");
        tensor.data().chunks_exact(4).map(|b| b.try_into().expect("four bytes")).collect()
    }

    /// Whether there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        let file = SafeTensors::deserialize(&self.bytes).unwrap_or_else(|e| panic!("{}: {e}", self.path.display()));
        file.tensor(name).is_ok()
    }

    /// An f32 tensor, flat.
    pub fn f32(&self, name: &str) -> Vec<f32> {
        self.elements(name, Dtype::F32).into_iter().map(f32::from_le_bytes).collect()
    }

    /// An i32 tensor of token ids, flat.
    pub fn ids(&self, name: &str) -> Vec<u32> {
        self.elements(name, Dtype::I32)
            .into_iter()
            .map(|b| u32::try_from(i32::from_le_bytes(b)).expect("token ids are not negative"))
            .collect()
    }
}

/// A golden case with logits of every position.
pub struct Golden {
    /// Token ids of the prompt.
    pub input_ids: Vec<u32>,
    /// `[positions, vocab]`
    pub logits: Vec<f32>,
    /// Greedy continuation of the first `greedy_prefix_len` ids.
    pub greedy: Vec<u32>,
    /// Distance of the two largest logits at each greedy step.
    pub greedy_margin: Vec<f32>,
    /// Ids before the greedy continuation.
    pub greedy_prefix_len: usize,
    /// Largest relative error of the reference in float32.
    pub float32_max: f64,
    /// Median relative error of the reference in bf16.
    pub bf16_median: f64,
}

impl Golden {
    /// Reads a case.
    pub fn read(case: &str) -> Self {
        let folder = folder(case);
        let tensors = Tensors::read(folder.join("golden.safetensors"));
        let facts = json(&folder.join("golden.json"));
        let number = |v: &Value| v.as_f64().expect("a number in golden.json");
        Self {
            input_ids: tensors.ids("input_ids"),
            logits: tensors.f32("logits"),
            greedy: tensors.ids("greedy"),
            greedy_margin: tensors.f32("greedy_margin"),
            greedy_prefix_len: tensors.ids("greedy_prefix_len")[0] as usize,
            float32_max: number(&facts["reference_float32_max_relative_error"]),
            bf16_median: number(&facts["reference_bf16_relative_error"]["median"]),
        }
    }
}

/// Reads a JSON file.
pub fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// ||out - reference|| / ||reference||
pub fn relative_error(out: &[f32], reference: &[f32]) -> f64 {
    assert_eq!(out.len(), reference.len());
    let (mut difference, mut norm) = (0.0, 0.0);
    for (&a, &b) in out.iter().zip(reference) {
        let (a, b) = (f64::from(a), f64::from(b));
        difference += (a - b) * (a - b);
        norm += b * b;
    }
    (difference / norm).sqrt()
}

/// The median; NaN sorts last, so that it shows.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The index of the largest value, the lowest of equals.
pub fn argmax(values: &[f32]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}
