//! q (1 + beta ln(1 + floor(position / original))), rounded to bf16.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, U, U_BF16, Value, from_bf16};

const BETA: f32 = 0.1;
/// Cached tokens and tokens of each sequence, around multiples of the original context of 64.
const SPANS: [(usize, usize); 4] = [(0, 3), (62, 5), (191, 1), (1023, 2)];

/// Rows of several lengths, with padding and without, with positions on both sides of a multiple of the original context. Without padding
/// the last row stands far enough in its context that its last elements change.
pub fn cases(_: &Params) -> Vec<Case> {
    [(5, 2), (333, 2), (2048, 2), (5, 0), (333, 0)].into_iter().map(|(dim, padding)| case(dim, padding)).collect()
}

fn case(dim: usize, padding: usize) -> Case {
    let step = StepCase::new(16, &SPANS, 1);
    let rows = step.rows + padding;
    let step = step.padded(rows);
    let q = Random::new(dim as u64).bf16((rows + 1) * dim, 3.0);
    let exact = |i: usize| {
        let x = from_bf16(q[i]);
        if i >= rows * dim {
            return (x, 0.0);
        }
        let position = step.row(i / dim).map_or(0, |(_, position)| position);
        let log = ((position / 64 + 1) as f64).ln();
        let factor = 1.0 + f64::from(BETA) * log;
        // logf is within 1 ulp (2 u); its product with beta, the sum and the product with x round once each; then to bf16.
        let error = x.abs() * U * (3.0 * f64::from(BETA) * log + 2.0 * factor);
        (x * factor, error + U_BF16 * ((x * factor).abs() + error))
    };
    let (values, bounds) = (0..q.len()).map(exact).unzip();
    let dims = vec![("tokens", rows as u64), ("dim", dim as u64)];
    let args = args(step, Value::Bf16(q), 64.0, dim);
    let expected = vec![Expected { arg: "q", values, bounds, depth: 1 }];
    Case { name: format!("{rows} x {dim}, {padding} of padding"), dims, args, expected, error: 0 }
}

fn args(step: StepCase, q: Value, original: f32, dim: usize) -> Vec<(&'static str, Value)> {
    let rows = step.rows as i64;
    vec![
        ("step", Value::Step(step)),
        ("q", q),
        ("beta", Value::Float(BETA)),
        ("original", Value::Float(original)),
        ("dim", Value::Int(dim as i64)),
        ("rows", Value::Int(rows)),
    ]
}

/// One token, and many.
pub fn bench(_: &Params) -> Vec<Bench> {
    let bench = |rows: usize, dim: usize| {
        let step = StepCase::new(16, &[(9000, rows)], 1);
        let dims = vec![("tokens", rows as u64), ("dim", dim as u64)];
        Bench { name: format!("{rows} x {dim}"), dims, args: args(step, Value::Random(2 * rows * dim), 8192.0, dim) }
    };
    vec![bench(1, 4096), bench(4096, 4096)]
}
