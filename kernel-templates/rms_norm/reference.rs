//! weight x / sqrt(mean(x^2) + eps), rounded to bf16.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, U, U_BF16, Value, from_bf16, products};

const EPS: f32 = 1e-3;

/// One row and several, of large numbers and of ones that the epsilon outweighs; a row of memory after those stays as it is.
pub fn cases(params: &Params) -> Vec<Case> {
    [(1, 3.0), (5, 0.01)].into_iter().map(|(rows, size)| case(params, rows, size)).collect()
}

fn case(params: &Params, rows: usize, size: f32) -> Case {
    let dim = params.int("dim");
    let mut random = Random::new(dim as u64);
    let (input, weight) = (random.bf16(rows * dim, size), random.numbers(dim, 2.0));
    let x: Vec<f64> = input.iter().map(|&x| from_bf16(x)).collect();
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for row in x.chunks(dim) {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / dim as f64;
        let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
        // The root halves the relative error of the sum of squares; then the quotient, the sum with eps, the root, its reciprocal and
        // two products round once each, and the result is rounded to bf16.
        let relative = 0.5 * products(dim, 1.0) + 6.0 * U;
        for (x, w) in row.iter().zip(&weight) {
            let y = f64::from(*w) * x * scale;
            values.push(y);
            bounds.push((relative + U_BF16 * (1.0 + relative)) * y.abs());
        }
    }
    values.resize((rows + 1) * dim, 0.0);
    bounds.resize((rows + 1) * dim, 0.0);
    let stored = match params.name("x_dtype") {
        "bf16" => Value::Bf16(input),
        _ => Value::F32(x.iter().map(|&x| x as f32).collect()),
    };
    let args = args(stored, Value::F32(weight), Value::Bf16(vec![0; (rows + 1) * dim]), rows);
    let expected = vec![Expected { arg: "out", values, bounds, depth: dim }];
    Case { name: format!("{rows} rows of {size}"), dims: vec![("tokens", rows as u64)], args, expected, error: 0 }
}

fn args(x: Value, weight: Value, out: Value, rows: usize) -> Vec<(&'static str, Value)> {
    vec![("x", x), ("weight", weight), ("eps", Value::Float(EPS)), ("out", out), ("rows", Value::Int(rows as i64))]
}

/// One row, and many.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (dim, bytes) = (params.int("dim"), if params.name("x_dtype") == "bf16" { 2 } else { 4 });
    let bench = |rows: usize| {
        let (x, out) = (Value::Random(bytes * rows * dim), Value::Zeros(2 * rows * dim));
        Bench {
            name: format!("{rows} rows"),
            dims: vec![("tokens", rows as u64)],
            args: args(x, Value::Random(4 * dim), out, rows),
        }
    };
    vec![bench(1), bench(8192)]
}
