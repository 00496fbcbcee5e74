//! The norm of the first part of a latent, the rotation of the rest, and the append of both to the paged cache.

use tenon_device_cases::{
    Bench, Case, Expected, Params, Random, StepCase, U, U_BF16, U_FP8, Value, from_bf16, from_e4m3, products, to_bf16,
};

const EPS: f32 = 0.1;
/// Cached tokens and tokens of each sequence: a prefix that ends within a page, single tokens, one that starts a page, and several pages.
const SPANS: [(usize, usize); 5] = [(0, 3), (13, 1), (96, 1), (30, 40), (0, 1)];

/// Pages of 16 and of 48 tokens, with padded rows.
pub fn cases(params: &Params) -> Vec<Case> {
    [16, 48].into_iter().map(|page_size| case(params, page_size)).collect()
}

fn case(params: &Params, page_size: usize) -> Case {
    let (rank, half, kv_dtype) = (params.int("kv_lora_rank"), params.int("qk_rope_head_dim") / 2, params.name("kv_dtype"));
    let width = rank + 2 * half;
    let step = StepCase::new(page_size, &SPANS, 3).padded(51);
    let rows = step.rows;
    let mut random = Random::new(page_size as u64);
    let (latent, weight) = (random.bf16(rows * width, 2.0), random.numbers(rank, 2.0));
    let (cos, sin) = (random.numbers(rows * half, 1.0), random.numbers(rows * half, 1.0));
    let (held, mut values) = cache(kv_dtype, step.pages * page_size * width, &mut random);
    let mut bounds = vec![0.0; values.len()];
    // Half the relative error of the sum of squares, and six operations that round once each.
    let relative = 0.5 * products(rank, 1.0) + 6.0 * U;
    for row in 0..rows {
        let Some((sequence, position)) = step.row(row) else { continue };
        let (page, place) = step.place(sequence, position);
        let to = (page * page_size + place) * width;
        let x: Vec<f64> = latent[row * width..][..width].iter().map(|&x| from_bf16(x)).collect();
        let mean = x[..rank].iter().map(|x| x * x).sum::<f64>() / rank as f64;
        let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
        for i in 0..rank {
            let value = f64::from(weight[i]) * x[i] * scale;
            values[to + i] = value;
            bounds[to + i] = stored(kv_dtype, value, relative * value.abs());
        }
        for pair in 0..half {
            let (a, b) = match params.name("layout") {
                "interleaved" => (rank + 2 * pair, rank + 2 * pair + 1),
                _ => (rank + pair, rank + pair + half),
            };
            let (c, s) = (f64::from(cos[row * half + pair]), f64::from(sin[row * half + pair]));
            for (i, own, other) in [(a, x[a] * c, -x[b] * s), (b, x[b] * c, x[a] * s)] {
                values[to + i] = own + other;
                // Both products and the sum round once each.
                bounds[to + i] = stored(kv_dtype, own + other, 2.0 * U * (own.abs() + other.abs()));
            }
        }
    }
    let args = args(step, [Value::Bf16(latent), Value::F32(weight), Value::F32(cos), Value::F32(sin), held]);
    let expected = vec![Expected { arg: "cache", values, bounds, depth: rank }];
    Case { name: format!("pages of {page_size}"), dims: vec![("tokens", rows as u64)], args, expected, error: 0 }
}

/// The memory in the order of the template.
fn args(step: StepCase, memory: [Value; 5]) -> Vec<(&'static str, Value)> {
    let rows = step.rows as i64;
    let mut args: Vec<(&'static str, Value)> = ["latent", "weight", "cos", "sin", "cache"].into_iter().zip(memory).collect();
    args.push(("step", Value::Step(step)));
    args.push(("eps", Value::Float(EPS)));
    args.push(("rows", Value::Int(rows)));
    args
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
    let (rank, rope) = (params.int("kv_lora_rank"), params.int("qk_rope_head_dim"));
    let bench = |name: &str, spans: &[(usize, usize)]| {
        let step = StepCase::new(16, spans, 1);
        let (rows, cache) = (step.rows, Value::Zeros(step.pages * 16 * (rank + rope) * 4));
        let angles = || Value::Random(2 * rows * rope);
        let memory = [Value::Random(2 * rows * (rank + rope)), Value::Random(4 * rank), angles(), angles(), cache];
        Bench { name: name.to_owned(), dims: vec![("tokens", rows as u64)], args: args(step, memory) }
    };
    vec![bench("64 sequences of one token", &[(1000, 1); 64]), bench("4096 tokens", &[(0, 4096)])]
}
