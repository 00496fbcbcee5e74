//! x + bias, row by row, rounded to the dtype of x.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, U, U_BF16, Value, from_bf16};

/// Rows, and elements of a row: fewer than a thread takes, odd ones, and more than a block has.
const SIZES: [(usize, usize); 5] = [(1, 5), (9, 3), (3, 333), (7, 1024), (2, 4097)];

/// Every size, with two rows after those of the launch, which stay as they are.
pub fn cases(params: &Params) -> Vec<Case> {
    let half = params.name("x_dtype") == "bf16";
    let case = |&(rows, dim): &(usize, usize)| {
        let mut random = Random::new((rows * dim) as u64);
        let (input, bias) = (random.bf16((rows + 2) * dim, 3.0), random.numbers(dim, 2.0));
        let x: Vec<f64> = input.iter().map(|&x| from_bf16(x)).collect();
        let exact = |i: usize| {
            if i >= rows * dim {
                return (x[i], 0.0);
            }
            let sum = x[i] + f64::from(bias[i % dim]);
            // One rounding in f32, and one to bf16 where that is stored.
            (sum, U * sum.abs() + if half { U_BF16 * (1.0 + U) * sum.abs() } else { 0.0 })
        };
        let (values, bounds) = (0..x.len()).map(exact).unzip();
        let stored = if half { Value::Bf16(input) } else { Value::F32(x.iter().map(|&x| x as f32).collect()) };
        let args =
            vec![("x", stored), ("bias", Value::F32(bias)), ("dim", Value::Int(dim as i64)), ("rows", Value::Int(rows as i64))];
        let dims = vec![("tokens", rows as u64), ("dim", dim as u64)];
        let expected = vec![Expected { arg: "x", values, bounds, depth: 1 }];
        Case { name: format!("{rows} x {dim}"), dims, args, expected, error: 0 }
    };
    SIZES.iter().map(case).collect()
}

/// One row, and many.
pub fn bench(params: &Params) -> Vec<Bench> {
    let bytes = if params.name("x_dtype") == "bf16" { 2 } else { 4 };
    let bench = |rows: usize, dim: usize| {
        let args = vec![
            ("x", Value::Random(bytes * rows * dim)),
            ("bias", Value::Random(4 * dim)),
            ("dim", Value::Int(dim as i64)),
            ("rows", Value::Int(rows as i64)),
        ];
        Bench { name: format!("{rows} x {dim}"), dims: vec![("tokens", rows as u64), ("dim", dim as u64)], args }
    };
    vec![bench(1, 4096), bench(8192, 4096)]
}
