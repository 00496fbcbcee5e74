//! Norms and rotation of the heads of queries and keys, and the append of keys and values to the paged cache.

use tenon_device_cases::{
    Bench, Case, Expected, Params, Random, StepCase, U, U_BF16, U_FP8, Value, from_bf16, from_e4m3, products, to_bf16,
};

const EPS: f32 = 0.1;
/// Cached tokens and tokens of each sequence: a prefix that ends within a page, single tokens, one that starts a page, and several pages.
const SPANS: [(usize, usize); 5] = [(0, 3), (13, 1), (96, 1), (30, 40), (0, 1)];

/// Pages of 16 and of 48 tokens, several queries per key, with padded rows.
pub fn cases(params: &Params) -> Vec<Case> {
    [(16, 1, 1), (48, 6, 2)].into_iter().map(|(page_size, heads, kv_heads)| case(params, page_size, heads, kv_heads)).collect()
}

fn case(params: &Params, page_size: usize, heads: usize, kv_heads: usize) -> Case {
    let (head_dim, half, kv_dtype) = (params.int("head_dim"), params.int("rotary_dim") / 2, params.name("kv_dtype"));
    let step = StepCase::new(page_size, &SPANS, 3).padded(51);
    let rows = step.rows;
    let mut random = Random::new(page_size as u64);
    let mut heads_of = |heads: usize| random.bf16(rows * heads * head_dim, 2.0);
    let (q, k, v) = (heads_of(heads), heads_of(kv_heads), heads_of(kv_heads));
    let (cos, sin) = (random.numbers(rows * half, 1.0), random.numbers(rows * half, 1.0));
    let (q_weight, k_weight) = (random.numbers(head_dim, 2.0), random.numbers(head_dim, 2.0));
    let (kv, mut held) = cache(kv_dtype, step.pages * 2 * kv_heads * page_size * head_dim, &mut random);
    let mut held_bounds = vec![0.0; held.len()];
    let (mut rotated, mut rotated_bounds) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let angles = (&cos[row * half..][..half], &sin[row * half..][..half]);
        for head in 0..heads {
            for (value, error) in turned(params, &q[(row * heads + head) * head_dim..][..head_dim], &q_weight, angles) {
                // Nobody reads the queries of padded rows.
                rotated.push(if step.row(row).is_some() { value } else { f64::NAN });
                rotated_bounds.push(error + U_BF16 * (value.abs() + error));
            }
        }
        let Some((sequence, position)) = step.row(row) else { continue };
        let (page, place) = step.place(sequence, position);
        for head in 0..kv_heads {
            let from = (row * kv_heads + head) * head_dim;
            let keys = turned(params, &k[from..][..head_dim], &k_weight, angles);
            let values: Vec<(f64, f64)> = v[from..][..head_dim].iter().map(|&v| (from_bf16(v), 0.0)).collect();
            for (kind, elements) in [keys, values].into_iter().enumerate() {
                let to = (((page * 2 + kind) * kv_heads + head) * page_size + place) * head_dim;
                for (i, (value, error)) in elements.into_iter().enumerate() {
                    held[to + i] = value;
                    held_bounds[to + i] = stored(kv_dtype, value, error);
                }
            }
        }
    }
    let (q_weight, k_weight) = match params.name("norm") {
        "none" => (Value::Null, Value::Null),
        _ => (Value::F32(q_weight), Value::F32(k_weight)),
    };
    let args = args(
        step,
        [Value::Bf16(q), Value::Bf16(k), Value::Bf16(v), q_weight, k_weight, Value::F32(cos), Value::F32(sin), kv],
        heads,
        kv_heads,
    );
    let expected = vec![
        Expected { arg: "q", values: rotated, bounds: rotated_bounds, depth: head_dim },
        Expected { arg: "kv", values: held, bounds: held_bounds, depth: head_dim },
    ];
    Case {
        name: format!("{heads} and {kv_heads} heads, pages of {page_size}"),
        dims: dims(rows, heads, kv_heads),
        args,
        expected,
        error: 0,
    }
}

/// A head after its norm, where there is one, and its rotation, with what f32 may add.
fn turned(params: &Params, head: &[u16], weight: &[f32], (cos, sin): (&[f32], &[f32])) -> Vec<(f64, f64)> {
    let mut x: Vec<(f64, f64)> = head.iter().map(|&x| (from_bf16(x), 0.0)).collect();
    if params.name("norm") == "qk" {
        let mean = x.iter().map(|(x, _)| x * x).sum::<f64>() / x.len() as f64;
        let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
        // Half the relative error of the sum of squares, and six operations that round once each.
        let relative = 0.5 * products(x.len(), 1.0) + 6.0 * U;
        for ((x, error), w) in x.iter_mut().zip(weight) {
            *x *= f64::from(*w) * scale;
            *error = relative * x.abs();
        }
    }
    for pair in 0..cos.len() {
        let (a, b) = if params.name("layout") == "interleaved" { (2 * pair, 2 * pair + 1) } else { (pair, pair + cos.len()) };
        let (c, s) = (f64::from(cos[pair]), f64::from(sin[pair]));
        let ((a_value, a_error), (b_value, b_error)) = (x[a], x[b]);
        // Errors go through the rotation; both products and the sum round once each.
        let turn = |own: f64, other: f64, error: f64| (own + other, error + 2.0 * U * (own.abs() + other.abs()));
        x[a] = turn(a_value * c, -b_value * s, a_error * c.abs() + b_error * s.abs());
        x[b] = turn(b_value * c, a_value * s, b_error * c.abs() + a_error * s.abs());
    }
    x
}

fn dims(rows: usize, heads: usize, kv_heads: usize) -> Vec<(&'static str, u64)> {
    vec![("tokens", rows as u64), ("num_attention_heads", heads as u64), ("num_key_value_heads", kv_heads as u64)]
}

/// The memory in the order of the template: q, k, v, both weights, cosines, sines, cache.
fn args(step: StepCase, memory: [Value; 8], heads: usize, kv_heads: usize) -> Vec<(&'static str, Value)> {
    let rows = step.rows as i64;
    let names = ["q", "k", "v", "q_weight", "k_weight", "cos", "sin", "kv"];
    let mut args: Vec<(&'static str, Value)> = names.into_iter().zip(memory).collect();
    args.push(("step", Value::Step(step)));
    args.push(("eps", Value::Float(EPS)));
    args.push(("num_attention_heads", Value::Int(heads as i64)));
    args.push(("num_key_value_heads", Value::Int(kv_heads as i64)));
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
    let (heads, kv_heads, head_dim, rotary) = (32, 8, params.int("head_dim"), params.int("rotary_dim"));
    let bench = |name: &str, spans: &[(usize, usize)]| {
        let step = StepCase::new(16, spans, 1);
        let (rows, kv) = (step.rows, Value::Zeros(step.pages * 2 * kv_heads * 16 * head_dim * 4));
        let x = |heads: usize| Value::Random(2 * rows * heads * head_dim);
        let weight = || if params.name("norm") == "none" { Value::Null } else { Value::Random(4 * head_dim) };
        let angles = || Value::Random(2 * rows * rotary);
        let memory = [x(heads), x(kv_heads), x(kv_heads), weight(), weight(), angles(), angles(), kv];
        Bench { name: name.to_owned(), dims: dims(rows, heads, kv_heads), args: args(step, memory, heads, kv_heads) }
    };
    vec![bench("64 sequences of one token", &[(1000, 1); 64]), bench("4096 tokens", &[(0, 4096)])]
}
