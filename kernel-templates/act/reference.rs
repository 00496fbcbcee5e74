//! act(x), rounded to bf16.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, U, U_BF16, Value, from_bf16};

/// Rows, and elements of a row: fewer than a thread takes, odd ones, and more than a block has.
const SIZES: [(usize, usize); 4] = [(1, 5), (3, 333), (7, 1024), (2, 4097)];

/// Every size, with two rows after those of the launch, which stay as they are.
pub fn cases(params: &Params) -> Vec<Case> {
    let act = params.name("act");
    let case = |&(rows, dim): &(usize, usize)| {
        let mut random = Random::new((rows * dim) as u64);
        let x = random.bf16((rows + 2) * dim, 8.0);
        let exact = |i: usize| {
            let x = from_bf16(x[i]);
            if i >= rows * dim {
                return (x, 0.0);
            }
            let (y, error) = exact_act(act, x);
            (y, error + U_BF16 * (y.abs() + error))
        };
        let (values, bounds) = (0..x.len()).map(exact).unzip();
        let args = vec![("x", Value::Bf16(x)), ("dim", Value::Int(dim as i64)), ("rows", Value::Int(rows as i64))];
        let dims = vec![("tokens", rows as u64), ("dim", dim as u64)];
        let expected = vec![Expected { arg: "x", values, bounds, depth: 1 }];
        Case { name: format!("{rows} x {dim}"), dims, args, expected, error: 0 }
    };
    SIZES.iter().map(case).collect()
}

/// One row, and many.
pub fn bench(_: &Params) -> Vec<Bench> {
    let bench = |rows: usize, dim: usize| {
        let args = vec![("x", Value::Random(2 * rows * dim)), ("dim", Value::Int(dim as i64)), ("rows", Value::Int(rows as i64))];
        Bench { name: format!("{rows} x {dim}"), dims: vec![("tokens", rows as u64), ("dim", dim as u64)], args }
    };
    vec![bench(1, 4096), bench(8192, 4096)]
}

/// The exact value, and the error that f32 may add: exponentials are within 2 ulp (4 u), and each operation rounds once.
fn exact_act(act: &str, x: f64) -> (f64, f64) {
    let (y, relative) = match act {
        "silu" => (x / (1.0 + (-x).exp()), 7.0),
        // The argument is a rounded product with a rounded constant, which moves the tail by twice the square of it; erfcf is within
        // 4 ulp (8 u), and two products round.
        "gelu" => (0.5 * x * erfc(-x / 2f64.sqrt()), 2.0 * x * x + 12.0),
        // The argument of the exponential, 2 z, is rounded five times and has two rounded constants.
        "gelu_pytorch_tanh" => {
            let z = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            (x / (1.0 + (-2.0 * z).exp()), 14.0 * z.abs() + 7.0)
        }
        "relu2" => (x.max(0.0) * x.max(0.0), 1.0),
        other => panic!("`{other}` is no activation"),
    };
    (y, relative * U * y.abs() + 16.0 * f64::from(f32::MIN_POSITIVE))
}

/// The complement of the error function, by its series near 0 and by its continued fraction elsewhere.
fn erfc(z: f64) -> f64 {
    if z < 0.0 {
        return 2.0 - erfc(-z);
    }
    if z < 2.0 {
        let (mut term, mut sum) = (z, z);
        for n in 1..60 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return 1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum;
    }
    let fraction = (1..200).rev().fold(z, |rest, n| z + 0.5 * f64::from(n) / rest);
    (-z * z).exp() / (std::f64::consts::PI.sqrt() * fraction)
}
