//! weight x / sqrt(mean(x^2) + eps) of each head, rounded to bf16.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, U, U_BF16, Value, from_bf16, products};

const EPS: f32 = 0.1;

/// One head and many, of rows that fill no block; a row of memory after those stays as it is.
pub fn cases(params: &Params) -> Vec<Case> {
    let head_dim = params.int("head_dim");
    [(1, 1), (3, 7), (9, 16)].into_iter().map(|(rows, heads)| case(rows, heads * head_dim, head_dim)).collect()
}

fn case(rows: usize, dim: usize, part: usize) -> Case {
    let mut random = Random::new((rows * dim) as u64);
    let (x, weight) = (random.bf16((rows + 1) * dim, 2.0), random.numbers(part, 2.0));
    let v = |i: usize| from_bf16(x[i]);
    // Half the relative error of the sum of squares, and six operations that round once each.
    let relative = 0.5 * products(part, 1.0) + 6.0 * U;
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for first in (0..rows * dim).step_by(part) {
        let mean = (first..first + part).map(|i| v(i) * v(i)).sum::<f64>() / part as f64;
        let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
        for i in first..first + part {
            let value = f64::from(weight[i % part]) * v(i) * scale;
            values.push(value);
            bounds.push((relative + U_BF16 * (1.0 + relative)) * value.abs() + f64::from(f32::MIN_POSITIVE));
        }
    }
    values.extend(x[rows * dim..].iter().map(|&x| from_bf16(x)));
    bounds.resize((rows + 1) * dim, 0.0);
    let args = args(Value::Bf16(x), Value::F32(weight), rows, dim);
    let expected = vec![Expected { arg: "x", values, bounds, depth: part }];
    Case {
        name: format!("{rows} rows of {} parts", dim / part),
        dims: vec![("tokens", rows as u64), ("dim", dim as u64)],
        args,
        expected,
        error: 0,
    }
}

fn args(x: Value, weight: Value, rows: usize, dim: usize) -> Vec<(&'static str, Value)> {
    vec![
        ("x", x),
        ("weight", weight),
        ("eps", Value::Float(EPS)),
        ("dim", Value::Int(dim as i64)),
        ("rows", Value::Int(rows as i64)),
    ]
}

/// One row, and many.
pub fn bench(params: &Params) -> Vec<Bench> {
    let head_dim = params.int("head_dim");
    let bench = |rows: usize, dim: usize| {
        let args = args(Value::Random(2 * rows * dim), Value::Random(4 * head_dim), rows, dim);
        Bench { name: format!("{rows} rows of 32 heads"), dims: vec![("tokens", rows as u64), ("dim", dim as u64)], args }
    };
    vec![bench(1, 32 * head_dim), bench(8192, 32 * head_dim)]
}
