//! A copy of the rows that want logits.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, Value};

/// Rows in another order than the tokens; a launch with more rows than the step has; and a row that is none, which reads row 0.
pub fn cases(_: &Params) -> Vec<Case> {
    let case = |name: &str, dim: usize, wanted: &[i32], rows: usize, error: u32| {
        let mut step = StepCase::new(16, &[(0, 5), (20, 1), (7, 4)], 1).padded(12);
        step.logit_rows = wanted.to_vec();
        let x = Random::new(dim as u64).numbers(step.rows * dim, 3.0);
        let mut values = vec![7.0; (rows + 1) * dim];
        for (to, &from) in wanted.iter().enumerate() {
            let from = if (0..step.tokens() as i32).contains(&from) { from as usize } else { 0 };
            for i in 0..dim {
                values[to * dim + i] = f64::from(x[from * dim + i]);
            }
        }
        let last = Value::F32(vec![7.0; (rows + 1) * dim]);
        let bounds = vec![0.0; values.len()];
        let dims = vec![("logit_rows", rows as u64), ("dim", dim as u64)];
        let args = args(step, Value::F32(x), last, dim, rows);
        Case {
            name: format!("{name}, dim {dim}"),
            dims,
            args,
            expected: vec![Expected { arg: "last", values, bounds, depth: 1 }],
            error,
        }
    };
    vec![
        case("three rows", 5, &[4, 5, 9], 3, 0),
        case("another order and padding", 1028, &[9, 0, 4], 4, 0),
        case("a padded row and one below 0", 36, &[10, 3, -1], 3, 8),
    ]
}

fn args(step: StepCase, x: Value, last: Value, dim: usize, rows: usize) -> Vec<(&'static str, Value)> {
    vec![
        ("step", Value::Step(step)),
        ("x", x),
        ("last", last),
        ("dim", Value::Int(dim as i64)),
        ("rows", Value::Int(rows as i64)),
    ]
}

/// One sequence, and many.
pub fn bench(_: &Params) -> Vec<Bench> {
    let bench = |rows: usize, dim: usize| {
        let step = StepCase::new(16, &vec![(100, 1); rows], 1);
        let args = args(step, Value::Random(4 * rows * dim), Value::Zeros(4 * rows * dim), dim, rows);
        Bench { name: format!("{rows} x {dim}"), dims: vec![("logit_rows", rows as u64), ("dim", dim as u64)], args }
    };
    vec![bench(1, 4096), bench(256, 4096)]
}
