//! x + sigmoid(gate) y, with a gate per row.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, U, Value};

/// Rows, and elements of a row: fewer than a thread takes, odd ones, and more than a block has.
const SIZES: [(usize, usize); 4] = [(1, 5), (3, 333), (7, 1024), (2, 4097)];

/// Every size, with two rows after those of the launch, which stay as they are.
pub fn cases(_: &Params) -> Vec<Case> {
    let case = |&(rows, dim): &(usize, usize)| {
        let mut random = Random::new((rows * dim) as u64);
        let x = random.numbers((rows + 2) * dim, 3.0);
        let gate = random.numbers(rows + 2, 8.0);
        let y = random.numbers((rows + 2) * dim, 2.0);
        let exact = |i: usize| {
            let x = f64::from(x[i]);
            if i >= rows * dim {
                return (x, 0.0);
            }
            let weight = 1.0 / (1.0 + (-f64::from(gate[i / dim])).exp());
            let product = weight * f64::from(y[i]);
            // The exponential is within 2 ulp (4 u); sum, quotient and product round once each, and so does the last sum.
            (x + product, 7.0 * U * product.abs() + U * (x + product).abs())
        };
        let (values, bounds) = (0..x.len()).map(exact).unzip();
        let args = vec![
            ("x", Value::F32(x)),
            ("gate", Value::F32(gate)),
            ("y", Value::F32(y)),
            ("dim", Value::Int(dim as i64)),
            ("rows", Value::Int(rows as i64)),
        ];
        let dims = vec![("tokens", rows as u64), ("dim", dim as u64)];
        let expected = vec![Expected { arg: "x", values, bounds, depth: 1 }];
        Case { name: format!("{rows} x {dim}"), dims, args, expected, error: 0 }
    };
    SIZES.iter().map(case).collect()
}

/// One row, and many.
pub fn bench(_: &Params) -> Vec<Bench> {
    let bench = |rows: usize, dim: usize| {
        let args = vec![
            ("x", Value::Random(4 * rows * dim)),
            ("gate", Value::Random(4 * rows)),
            ("y", Value::Random(4 * rows * dim)),
            ("dim", Value::Int(dim as i64)),
            ("rows", Value::Int(rows as i64)),
        ];
        Bench { name: format!("{rows} x {dim}"), dims: vec![("tokens", rows as u64), ("dim", dim as u64)], args }
    };
    vec![bench(1, 4096), bench(8192, 4096)]
}
