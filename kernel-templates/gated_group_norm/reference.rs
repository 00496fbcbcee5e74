//! weight v / sqrt(mean(v^2) + eps) of each group with v = y silu(z), rounded to bf16.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, U, U_BF16, Value, from_bf16, products};

const EPS: f32 = 0.1;

/// One row and several; a row of memory after those stays as it is.
pub fn cases(params: &Params) -> Vec<Case> {
    let (dim, groups) = (params.int("dim"), params.int("groups"));
    [1, 5].into_iter().map(|rows| case(rows, dim, dim / groups)).collect()
}

fn case(rows: usize, dim: usize, part: usize) -> Case {
    let mut random = Random::new((rows * dim) as u64);
    let (y, weight) = (random.bf16((rows + 1) * dim, 2.0), random.numbers(dim, 2.0));
    let z = random.bf16(rows * dim, 8.0);
    let silu = |i: usize| from_bf16(z[i]) / (1.0 + (-from_bf16(z[i])).exp());
    let v = |i: usize| from_bf16(y[i]) * silu(i);
    // The silu is within 7 u, and once more rounded by its product with y: 8 u of v, and of the mean's root; half the relative error of
    // the sum of squares; six operations that round once each.
    let relative = 0.5 * products(part, 1.0) + 22.0 * U;
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for first in (0..rows * dim).step_by(part) {
        let mean = (first..first + part).map(|i| v(i) * v(i)).sum::<f64>() / part as f64;
        let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
        for i in first..first + part {
            let value = f64::from(weight[i % dim]) * v(i) * scale;
            values.push(value);
            bounds.push((relative + U_BF16 * (1.0 + relative)) * value.abs() + f64::from(f32::MIN_POSITIVE));
        }
    }
    values.extend(y[rows * dim..].iter().map(|&y| from_bf16(y)));
    bounds.resize((rows + 1) * dim, 0.0);
    let args = args(Value::Bf16(y), Value::Bf16(z), Value::F32(weight), rows);
    let expected = vec![Expected { arg: "y", values, bounds, depth: part }];
    Case { name: format!("{rows} rows of {} parts", dim / part), dims: vec![("tokens", rows as u64)], args, expected, error: 0 }
}

fn args(y: Value, z: Value, weight: Value, rows: usize) -> Vec<(&'static str, Value)> {
    vec![("y", y), ("z", z), ("weight", weight), ("eps", Value::Float(EPS)), ("rows", Value::Int(rows as i64))]
}

/// One row, and many.
pub fn bench(params: &Params) -> Vec<Bench> {
    let dim = params.int("dim");
    let bench = |rows: usize| {
        let args = args(Value::Random(2 * rows * dim), Value::Random(2 * rows * dim), Value::Random(4 * dim), rows);
        Bench { name: format!("{rows} rows"), dims: vec![("tokens", rows as u64)], args }
    };
    vec![bench(1), bench(8192)]
}
