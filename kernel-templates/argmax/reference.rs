//! The largest logit of each row, the lowest id of equals, and -1 where the logits are broken.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, Value};

/// Vocabularies with and without a tail, ties, signed zeros, and rows that no token can be chosen from.
pub fn cases(_: &Params) -> Vec<Case> {
    [3, 1000, 5001, 32_768].into_iter().map(case).collect()
}

fn case(vocab: usize) -> Case {
    let mut random = Random::new(vocab as u64);
    let mut rows: Vec<Vec<f32>> = (0..10).map(|_| random.numbers(vocab, 20.0)).collect();
    // The largest at either end; equals; only negative ones; zeros of both signs.
    rows[0][0] = 30.0;
    rows[1][vocab - 1] = 30.0;
    rows[2][vocab / 2] = 30.0;
    rows[2][vocab - 1] = 30.0;
    rows[3] = rows[3].iter().map(|x| -x.abs() - 1.0).collect();
    rows[4] = (0..vocab).map(|i| if i % 3 == 2 { 0.0 } else { -0.0 }).collect();
    rows[5] = vec![f32::NEG_INFINITY; vocab];
    rows[5][vocab / 3] = -3e38;
    // Broken in three ways.
    rows[6] = vec![f32::NEG_INFINITY; vocab];
    rows[7][vocab / 2] = f32::NAN;
    rows[8][vocab - 2] = f32::INFINITY;
    let launched = rows.len() - 1;
    let mut values: Vec<f64> = rows[..launched].iter().map(|row| chosen(row)).collect();
    // Memory of a row that the launch does not have.
    values.push(77.0);
    let bounds = vec![0.0; values.len()];
    let ids = Value::I32(vec![77; rows.len()]);
    let expected = vec![Expected { arg: "ids", values, bounds, depth: 1 }];
    let dims = vec![("logit_rows", launched as u64), ("vocab", vocab as u64)];
    Case {
        name: format!("vocabulary of {vocab}"),
        dims,
        args: args(Value::F32(rows.concat()), ids, vocab, launched),
        expected,
        error: 0,
    }
}

fn chosen(logits: &[f32]) -> f64 {
    let mut best = None;
    for (id, &logit) in logits.iter().enumerate() {
        if logit.is_nan() || logit == f32::INFINITY {
            return -1.0;
        }
        if logit > best.map_or(f32::NEG_INFINITY, |(_, largest)| largest) {
            best = Some((id, logit));
        }
    }
    best.map_or(-1.0, |(id, _)| id as f64)
}

fn args(logits: Value, ids: Value, vocab: usize, rows: usize) -> Vec<(&'static str, Value)> {
    vec![("logits", logits), ("ids", ids), ("vocab", Value::Int(vocab as i64)), ("rows", Value::Int(rows as i64))]
}

/// One row, and many.
pub fn bench(_: &Params) -> Vec<Bench> {
    let bench = |rows: usize, vocab: usize| {
        let args = args(Value::Random(4 * rows * vocab), Value::Zeros(4 * rows), vocab, rows);
        Bench { name: format!("{rows} x {vocab}"), dims: vec![("logit_rows", rows as u64), ("vocab", vocab as u64)], args }
    };
    vec![bench(1, 151_936), bench(256, 151_936)]
}
