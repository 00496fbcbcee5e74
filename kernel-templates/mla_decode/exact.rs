//! What the references of latent attention share: attention of one row in double precision with its error model, and random caches.

use tenon_device_cases::{Params, Random, StepCase, U, U_BF16, Value, from_bf16, from_e4m3, products, rounding};

/// Rounding of the exponential function of base 2, relative.
pub const U_EXP2: f64 = 4.0 * U;

/// One query row over positions: weights 2^(score - maximum), their sum, and the weighted sum of values.
pub struct Attended {
    /// Not divided by `sum`.
    pub gathered: Vec<f64>,
    pub gathered_bounds: Vec<f64>,
    /// Of scores times scale times log2(e).
    pub maximum: f64,
    pub maximum_bound: f64,
    pub sum: f64,
    pub sum_bound: f64,
    /// gathered / sum, rounded to bf16.
    pub out: Vec<f64>,
    pub out_bounds: Vec<f64>,
}

/// `keys` and `values` of each position that the query sees. All inputs are what the device reads, so they have no error.
pub fn attend(query: &[f64], keys: &[&[f64]], values: &[&[f64]], scale: f64) -> Attended {
    let to_power = scale * std::f64::consts::LOG2_E;
    let mut scores = Vec::with_capacity(keys.len());
    let mut errors = Vec::with_capacity(keys.len());
    for key in keys {
        let (mut score, mut magnitude) = (0.0, 0.0);
        for (q, k) in query.iter().zip(*key) {
            score += q * k;
            magnitude += (q * k).abs();
        }
        scores.push(score * to_power);
        // The sum, then scale times log2(e) and its product with the score in f32.
        errors.push(products(query.len(), magnitude) * to_power + 4.0 * U * (score * to_power).abs());
    }
    let maximum = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let maximum_bound = errors.iter().copied().fold(0.0, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - maximum).exp2()).collect();
    // How far a weight may be off, relative to itself. The maximum cancels in the quotient, its rounding does not in what is gathered.
    let off: Vec<f64> = scores
        .iter()
        .zip(&errors)
        .map(|(s, e)| std::f64::consts::LN_2 * (e + 3.0 * U * (s.abs() + maximum.abs())) + 2.0 * U_EXP2)
        .collect();
    let shift = std::f64::consts::LN_2 * maximum_bound;
    let tiles = keys.len() as f64 / 16.0 + 2.0;
    let sum: f64 = weights.iter().sum();
    let sum_bound =
        weights.iter().zip(&off).map(|(w, o)| w * (o + shift)).sum::<f64>() + products(keys.len(), sum) + tiles * U_EXP2 * sum;
    let dims = values.first().map_or(0, |v| v.len());
    let (mut gathered, mut gathered_bounds, mut out, mut out_bounds) = (vec![], vec![], vec![], vec![]);
    for i in 0..dims {
        let exact: f64 = weights.iter().zip(values).map(|(w, v)| w * v[i]).sum();
        let mean = exact / sum;
        let (mut magnitude, mut squares, mut moved, mut apart) = (0.0, 0.0, 0.0, 0.0);
        for ((w, v), o) in weights.iter().zip(values).zip(&off) {
            magnitude += w * v[i].abs();
            squares += (w * v[i]).powi(2);
            moved += w * v[i].abs() * (o + shift);
            apart += w * (v[i] - mean).abs() * o;
        }
        // Weights go to the tensor cores as bf16: independent roundings of at most U_BF16 each, while the sum is of weights before that.
        let rounded = U_BF16 * magnitude.min(4.0 * squares.sqrt());
        // The sum of products, and an accumulator that shrinks once per tile.
        let summed = products(keys.len(), magnitude) + tiles * U_EXP2 * magnitude;
        gathered.push(exact);
        gathered_bounds.push(moved + rounded + summed);
        let bound = (apart + rounded + 2.0 * summed) / sum + 4.0 * U * mean.abs();
        out.push(mean);
        out_bounds.push(bound + rounding(U_BF16, mean.abs() + bound));
    }
    Attended { gathered, gathered_bounds, maximum, maximum_bound, sum, sum_bound, out, out_bounds }
}

/// Row `row` of a product of `width` columns: `sum over d of x[d] * matrix(d, column)`, rounded to bf16.
pub fn product(x: &[f64], width: usize, matrix: impl Fn(usize, usize) -> f64) -> (Vec<f64>, Vec<f64>) {
    let mut out = (vec![], vec![]);
    for column in 0..width {
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for (d, x) in x.iter().enumerate() {
            let term = x * matrix(d, column);
            sum += term;
            magnitude += term.abs();
        }
        let bound = products(x.len(), magnitude);
        out.0.push(sum);
        out.1.push(bound + rounding(U_BF16, sum.abs() + bound));
    }
    out
}

/// A latent cache with numbers everywhere, and what it holds.
pub struct Cache {
    pub value: Value,
    held: Vec<f64>,
    dim: usize,
    page_size: usize,
}

impl Cache {
    /// bf16 or fp8_e4m3, of magnitudes below 2.
    pub fn new(kv_dtype: &str, step: &StepCase, dim: usize, random: &mut Random) -> Self {
        let elements = step.pages * step.page_size * dim;
        let (value, held) = match kv_dtype {
            "bf16" => {
                let bits = random.bf16(elements, 1.5);
                let held = bf16_values(&bits);
                (Value::Bf16(bits), held)
            }
            _ => {
                let bytes: Vec<u8> = (0..elements).map(|_| random.bits() as u8 & 0xbf).collect();
                let held = bytes.iter().map(|&b| from_e4m3(b)).collect();
                (Value::Bytes(bytes), held)
            }
        };
        Self { value, held, dim, page_size: step.page_size }
    }

    /// The latent of a position.
    pub fn latent(&self, step: &StepCase, sequence: usize, position: usize) -> &[f64] {
        let (page, place) = step.place(sequence, position);
        &self.held[(page * self.page_size + place) * self.dim..][..self.dim]
    }
}

/// The numbers of bf16 memory.
pub fn bf16_values(bits: &[u16]) -> Vec<f64> {
    bits.iter().map(|&b| from_bf16(b)).collect()
}

/// Whether a kernel of this phase serves a sequence.
pub fn serves(phase: &str, step: &StepCase, sequence: usize) -> bool {
    match phase {
        "prefill" => step.spans[sequence].1 > 1,
        "decode" => step.spans[sequence].1 == 1,
        _ => true,
    }
}

/// The numbers of a step that expressions of a template use. Padded rows are padded decode spans too.
pub fn dims(step: &StepCase, heads: usize) -> Vec<(&'static str, u64)> {
    let prefill = step.prefill();
    vec![
        ("tokens", step.rows as u64),
        ("sequences", step.spans.len() as u64),
        ("prefill_spans", prefill.len() as u64),
        ("decode_spans", (step.decode().len() + step.rows - step.tokens()) as u64),
        ("span_tokens", prefill.iter().map(|&s| step.spans[s].1).max().unwrap_or(0) as u64),
        ("context", step.spans.iter().map(|(start, tokens)| start + tokens).max().unwrap_or(0) as u64),
        ("pages", step.pages as u64),
        ("page_size", step.page_size as u64),
        ("num_attention_heads", heads as u64),
    ]
}

/// Heads of a model whose latents are this wide, for benches: DeepSeek's, or a smaller one's.
pub fn heads_of_bench(params: &Params) -> usize {
    if params.0.iter().any(|(name, _)| name == "kv_lora_rank") && params.int("kv_lora_rank") < 512 { 32 } else { 128 }
}
