//! Rows of a stored matrix, decoded and multiplied by its factor.

use tenon_device_cases::planes::{bench_args, block_len};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, Stored, U, Value};

const FACTOR: f32 = 0.37;

/// A row of one block, one of several, and ids that are none, which read token 0 and say so; a row of memory after those of the launch
/// stays as it is.
pub fn cases(params: &Params) -> Vec<Case> {
    let format = params.name("format");
    let len = block_len(format);
    let odd = if len == 1 { 333 } else { 3 * len };
    let long = 2304.max(9 * len);
    vec![
        case(format, "one block", len.max(16), &[0, 4], 0),
        case(format, "an odd row", odd, &[0, 4], 0),
        case(format, "several blocks of threads", long, &[3, 1], 0),
        case(format, "ids that are none", odd, &[-1, 150], 1),
    ]
}

/// Tokens of the step: these, then random ones, then padding.
fn case(format: &str, name: &str, dim: usize, first: &[i32], error: u32) -> Case {
    let vocab = 150;
    let mut random = Random::new(dim as u64);
    let table = Stored::new(format, vocab, dim, &mut random);
    let mut step = StepCase::new(16, &[(0, 5), (20, 1)], 1).padded(8);
    for row in 0..step.tokens() {
        step.token_ids[row] = first.get(row).copied().unwrap_or(random.below(vocab) as i32);
    }
    let rows = step.rows;
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for &id in &step.token_ids {
        let id = if (0..vocab as i32).contains(&id) { id as usize } else { 0 };
        for weight in &table.weights[id * dim..][..dim] {
            let value = f64::from(FACTOR) * weight;
            values.push(value);
            // Up to two products of scales, their product with the weight, and the factor round once each; formats with a minimum round
            // once more when they subtract it, and what it takes away may be up to 64 times as large as what is left.
            bounds.push(4.0 * U * value.abs() + 64.0 * U * f64::from(FACTOR));
        }
    }
    values.resize((rows + 1) * dim, 7.0);
    bounds.resize((rows + 1) * dim, 0.0);
    let x = Value::F32(vec![7.0; (rows + 1) * dim]);
    let args = args(step, table.planes_arg(), table.scales_arg(), x, dim, vocab);
    let expected = vec![Expected { arg: "x", values, bounds, depth: 1 }];
    let dims = vec![("tokens", rows as u64), ("dim", dim as u64), ("vocab", vocab as u64)];
    Case { name: format!("{name}, dim {dim}"), dims, args, expected, error }
}

fn args(step: StepCase, table: Value, scales: Value, x: Value, dim: usize, vocab: usize) -> Vec<(&'static str, Value)> {
    let rows = step.rows as i64;
    vec![
        ("step", Value::Step(step)),
        ("table", table),
        ("scales", scales),
        ("factor", Value::Float(FACTOR)),
        ("x", x),
        ("dim", Value::Int(dim as i64)),
        ("vocab", Value::Int(vocab as i64)),
        ("rows", Value::Int(rows)),
    ]
}

/// One token, and many.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (dim, vocab) = (4096, 32_000);
    let bench = |rows: usize| {
        let mut step = StepCase::new(16, &[(0, rows)], 1);
        step.token_ids = (0..rows).map(|row| (row * 7919 % vocab) as i32).collect();
        let (table, scales) = bench_args(params.name("format"), vocab, dim);
        let dims = vec![("tokens", rows as u64), ("dim", dim as u64), ("vocab", vocab as u64)];
        Bench {
            name: format!("{rows} rows of {dim}"),
            dims,
            args: args(step, table, scales, Value::Zeros(4 * rows * dim), dim, vocab),
        }
    };
    vec![bench(1), bench(4096)]
}
