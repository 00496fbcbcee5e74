//! x + weight y / sqrt(mean(y^2) + eps), and the norm of that, rounded to bf16.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, U, U_BF16, Value, products};

const EPS: f32 = 1e-3;

/// One row and several, of large numbers and of ones that the epsilon outweighs; a row of memory after those stays as it is.
pub fn cases(params: &Params) -> Vec<Case> {
    [(1, 3.0), (5, 0.01)].into_iter().map(|(rows, size)| case(params.int("dim"), rows, size)).collect()
}

fn case(dim: usize, rows: usize, size: f32) -> Case {
    let mut random = Random::new(dim as u64);
    let (y, x) = (random.numbers(rows * dim, size), random.numbers((rows + 1) * dim, size));
    let weight = random.numbers(dim, 2.0);
    let next_weight = random.numbers(dim, 2.0);
    // As of any RMS norm: half the relative error of the sum of squares, and six operations that round once each.
    let relative = 0.5 * products(dim, 1.0) + 6.0 * U;
    let (mut added, mut added_bounds) = (Vec::new(), Vec::new());
    let (mut out, mut out_bounds) = (Vec::new(), Vec::new());
    for (x, y) in x.chunks(dim).zip(y.chunks(dim)) {
        let mean = y.iter().map(|&y| f64::from(y) * f64::from(y)).sum::<f64>() / dim as f64;
        let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
        // (sum, how far it may be off): the norm's relative error, and one rounding of the sum.
        let sums: Vec<(f64, f64)> = (0..dim)
            .map(|i| {
                let normed = f64::from(weight[i]) * f64::from(y[i]) * scale;
                let sum = f64::from(x[i]) + normed;
                (sum, relative * normed.abs() + U * sum.abs())
            })
            .collect();
        added.extend(sums.iter().map(|sum| sum.0));
        added_bounds.extend(sums.iter().map(|sum| sum.1));
        // The errors of the sums reach the next norm by its own factor, and by the mean of squares.
        let squares: f64 = sums.iter().map(|(sum, _)| sum * sum).sum();
        let scale = 1.0 / (squares / dim as f64 + f64::from(EPS)).sqrt();
        let shift = sums.iter().map(|(sum, error)| sum.abs() * error).sum::<f64>() / (squares + dim as f64 * f64::from(EPS));
        for ((sum, error), w) in sums.iter().zip(&next_weight) {
            let value = f64::from(*w) * sum * scale;
            let bound = f64::from(w.abs()) * scale * (error + sum.abs() * (shift + relative));
            out.push(value);
            out_bounds.push(bound + U_BF16 * (value.abs() + bound));
        }
    }
    added.extend(x[rows * dim..].iter().map(|&x| f64::from(x)));
    added_bounds.resize((rows + 1) * dim, 0.0);
    out.resize((rows + 1) * dim, 0.0);
    out_bounds.resize((rows + 1) * dim, 0.0);
    let args = args(
        Value::F32(y),
        Value::F32(weight),
        Value::F32(x),
        Value::F32(next_weight),
        Value::Bf16(vec![0; (rows + 1) * dim]),
        rows,
    );
    let expected = vec![
        Expected { arg: "x", values: added, bounds: added_bounds, depth: dim },
        Expected { arg: "out", values: out, bounds: out_bounds, depth: dim },
    ];
    Case { name: format!("{rows} rows of {size}"), dims: vec![("tokens", rows as u64)], args, expected, error: 0 }
}

fn args(y: Value, weight: Value, x: Value, next_weight: Value, out: Value, rows: usize) -> Vec<(&'static str, Value)> {
    vec![
        ("y", y),
        ("weight", weight),
        ("eps", Value::Float(EPS)),
        ("x", x),
        ("next_weight", next_weight),
        ("out", out),
        ("rows", Value::Int(rows as i64)),
    ]
}

/// One row, and many.
pub fn bench(params: &Params) -> Vec<Bench> {
    let dim = params.int("dim");
    let bench = |rows: usize| {
        let args = args(
            Value::Random(4 * rows * dim),
            Value::Random(4 * dim),
            Value::Random(4 * rows * dim),
            Value::Random(4 * dim),
            Value::Zeros(2 * rows * dim),
            rows,
        );
        Bench { name: format!("{rows} rows"), dims: vec![("tokens", rows as u64)], args }
    };
    vec![bench(1), bench(8192)]
}
