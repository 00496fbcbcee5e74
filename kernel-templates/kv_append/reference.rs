//! Keys and values at their places of the paged cache, rounded to its dtype; everything else stays.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, U_BF16, U_FP8, Value, from_bf16, from_e4m3, to_bf16};

/// Cached tokens and tokens of each sequence: a prefix that ends within a page, single tokens, one that starts a page, and several pages.
const SPANS: [(usize, usize); 5] = [(0, 3), (13, 1), (96, 1), (30, 40), (0, 1)];

/// Pages of 16 and of 48 tokens, one head and several, with padded rows.
pub fn cases(params: &Params) -> Vec<Case> {
    [(16, 1), (48, 3)].into_iter().map(|(page_size, heads)| case(params, page_size, heads)).collect()
}

fn case(params: &Params, page_size: usize, heads: usize) -> Case {
    let (head_dim, kv_dtype) = (params.int("head_dim"), params.name("kv_dtype"));
    let step = StepCase::new(page_size, &SPANS, 3).padded(51);
    let (rows, width) = (step.rows, heads * head_dim);
    let mut random = Random::new(page_size as u64);
    let (k, v) = (random.bf16(rows * width, 3.0), random.bf16(rows * width, 3.0));
    let (kv, mut values) = cache(kv_dtype, step.pages * 2 * heads * page_size * head_dim, &mut random);
    let mut bounds = vec![0.0; values.len()];
    for row in 0..rows {
        let Some((sequence, position)) = step.row(row) else { continue };
        let (page, place) = step.place(sequence, position);
        for (kind, x) in [&k, &v].into_iter().enumerate() {
            for head in 0..heads {
                for i in 0..head_dim {
                    let at = (((page * 2 + kind) * heads + head) * page_size + place) * head_dim + i;
                    values[at] = from_bf16(x[row * width + head * head_dim + i]);
                    // bf16 holds what was bf16.
                    bounds[at] = if kv_dtype == "bf16" { 0.0 } else { stored(kv_dtype, values[at], 0.0) };
                }
            }
        }
    }
    let args = args(step, Value::Bf16(k), Value::Bf16(v), kv, heads);
    let expected = vec![Expected { arg: "kv", values, bounds, depth: 1 }];
    let dims = vec![("tokens", rows as u64), ("num_key_value_heads", heads as u64)];
    Case { name: format!("{heads} heads, pages of {page_size}"), dims, args, expected, error: 0 }
}

fn args(step: StepCase, k: Value, v: Value, kv: Value, heads: usize) -> Vec<(&'static str, Value)> {
    let rows = Value::Int(step.rows as i64);
    let heads = Value::Int(heads as i64);
    vec![("step", Value::Step(step)), ("k", k), ("v", v), ("kv", kv), ("num_key_value_heads", heads), ("rows", rows)]
}

/// A cache of a dtype with old numbers in it: as an argument, and what it holds.
fn cache(kv_dtype: &str, elements: usize, random: &mut Random) -> (Value, Vec<f64>) {
    let old = random.numbers(elements, 1.0);
    match kv_dtype {
        "f32" => (Value::F32(old.clone()), old.iter().map(|&x| f64::from(x)).collect()),
        "bf16" => {
            let old: Vec<u16> = old.iter().map(|&x| to_bf16(x)).collect();
            let held = old.iter().map(|&x| from_bf16(x)).collect();
            (Value::Bf16(old), held)
        }
        _ => {
            // Magnitudes below 1, of either sign.
            let old: Vec<u8> = old.iter().map(|x| x.to_bits() as u8 & 0xb7).collect();
            let held = old.iter().map(|&x| from_e4m3(x)).collect();
            (Value::Bytes(old), held)
        }
    }
}

/// What rounding to a dtype adds to a value that is off by `error` already.
fn stored(kv_dtype: &str, value: f64, error: f64) -> f64 {
    let largest = value.abs() + error;
    error
        + match kv_dtype {
            "f32" => 0.0,
            "bf16" => U_BF16 * largest,
            // Half the distance of neighbours, which below 2^-6 is 2^-9.
            _ => (U_FP8 * largest).max(2f64.powi(-10)),
        }
}

/// Many sequences of one token, and one of many.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (heads, head_dim) = (8, params.int("head_dim"));
    let bench = |name: &str, spans: &[(usize, usize)]| {
        let step = StepCase::new(16, spans, 1);
        let (rows, kv) = (step.rows, Value::Zeros(step.pages * 2 * heads * 16 * head_dim * 4));
        let x = || Value::Random(2 * rows * heads * head_dim);
        let dims = vec![("tokens", rows as u64), ("num_key_value_heads", heads as u64)];
        Bench { name: name.to_owned(), dims, args: args(step, x(), x(), kv, heads) }
    };
    vec![bench("64 sequences of one token", &[(1000, 1); 64]), bench("4096 tokens", &[(0, 4096)])]
}
