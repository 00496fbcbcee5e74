//! The rotation of the last elements of every head, rounded to bf16; all others stay.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, U, U_BF16, Value, from_bf16};

/// One head and many, of rows that fill no block; a row of memory after those stays as it is.
pub fn cases(params: &Params) -> Vec<Case> {
    [(1, 1), (3, 7), (9, 16)].into_iter().map(|(rows, heads)| case(params, rows, heads)).collect()
}

fn case(params: &Params, rows: usize, heads: usize) -> Case {
    let (head_dim, rotary) = (params.int("head_dim"), params.int("rotary_dim"));
    let (dim, half, first) = (heads * head_dim, rotary / 2, head_dim - rotary);
    let mut random = Random::new((rows * dim) as u64);
    let x = random.bf16((rows + 1) * dim, 2.0);
    let (cos, sin) = (random.numbers(rows * half, 1.0), random.numbers(rows * half, 1.0));
    let mut values: Vec<f64> = x.iter().map(|&x| from_bf16(x)).collect();
    let mut bounds = vec![0.0; values.len()];
    for row in 0..rows {
        for head in 0..heads {
            for pair in 0..half {
                let at = row * dim + head * head_dim + first;
                let (a, b) = match params.name("layout") {
                    "interleaved" => (at + 2 * pair, at + 2 * pair + 1),
                    _ => (at + pair, at + pair + half),
                };
                let (c, s) = (f64::from(cos[row * half + pair]), f64::from(sin[row * half + pair]));
                let (x, y) = (values[a], values[b]);
                for (at, own, other) in [(a, x * c, -y * s), (b, y * c, x * s)] {
                    // Both products and the sum round once, and then the result to bf16.
                    let error = 2.0 * U * (own.abs() + other.abs());
                    values[at] = own + other;
                    bounds[at] = error + U_BF16 * ((own + other).abs() + error);
                }
            }
        }
    }
    let args = args(Value::Bf16(x), Value::F32(cos), Value::F32(sin), rows, dim);
    let expected = vec![Expected { arg: "x", values, bounds, depth: 2 }];
    let dims = vec![("tokens", rows as u64), ("dim", dim as u64)];
    Case { name: format!("{rows} rows of {heads} heads"), dims, args, expected, error: 0 }
}

fn args(x: Value, cos: Value, sin: Value, rows: usize, dim: usize) -> Vec<(&'static str, Value)> {
    vec![("x", x), ("cos", cos), ("sin", sin), ("dim", Value::Int(dim as i64)), ("rows", Value::Int(rows as i64))]
}

/// One row, and many.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (dim, rotary) = (32 * params.int("head_dim"), params.int("rotary_dim"));
    let bench = |rows: usize| {
        let angles = || Value::Random(2 * rows * rotary);
        let args = args(Value::Random(2 * rows * dim), angles(), angles(), rows, dim);
        Bench { name: format!("{rows} rows of 32 heads"), dims: vec![("tokens", rows as u64), ("dim", dim as u64)], args }
    };
    vec![bench(1), bench(8192)]
}
