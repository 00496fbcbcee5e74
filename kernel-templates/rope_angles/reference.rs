//! Cosine and sine of position times frequency, a product that is rounded to f32 by definition.

use tenon_device_cases::{Bench, Case, Expected, Params, StepCase, U, Value};

const FACTOR: f32 = 1.138_629_4;

/// Angles from 0 to far beyond what one reduction step takes; two rows of memory after those of the launch stay as they are.
pub fn cases(_: &Params) -> Vec<Case> {
    [2, 24, 128].into_iter().map(case).collect()
}

fn frequencies(rotary_dim: usize) -> Vec<f32> {
    (0..rotary_dim / 2).map(|i| 1e4f64.powf(-2.0 * i as f64 / rotary_dim as f64) as f32).collect()
}

fn case(rotary_dim: usize) -> Case {
    let step = StepCase::new(16, &[(0, 5), (131_000, 3), (777, 1)], 1).padded(11);
    let (rows, half, frequencies) = (step.rows, rotary_dim / 2, frequencies(rotary_dim));
    let expected = |arg, f: fn(f64) -> f64| {
        let exact = |i: usize| {
            if i >= rows * half {
                return (7.0, 0.0);
            }
            let position = step.row(i / half).map_or(0, |(_, position)| position);
            let value = f64::from(FACTOR) * f(f64::from(position as f32 * frequencies[i % half]));
            // sincosf is within 2 ulp (4 u), and the product with the factor rounds once.
            (value, 5.0 * U * value.abs() + f64::from(f32::MIN_POSITIVE))
        };
        let (values, bounds) = (0..(rows + 2) * half).map(exact).unzip();
        Expected { arg, values, bounds, depth: 1 }
    };
    let expected = vec![expected("cos", f64::cos), expected("sin", f64::sin)];
    let dims = vec![("tokens", rows as u64), ("rotary_dim", rotary_dim as u64)];
    let room = || Value::F32(vec![7.0; (rows + 2) * half]);
    let args = args(step.clone(), frequencies, room(), room());
    Case { name: format!("{rows} rows, rotary {rotary_dim}"), dims, args, expected, error: 0 }
}

fn args(step: StepCase, frequencies: Vec<f32>, cos: Value, sin: Value) -> Vec<(&'static str, Value)> {
    let (rows, rotary_dim) = (step.rows as i64, 2 * frequencies.len() as i64);
    vec![
        ("step", Value::Step(step)),
        ("frequencies", Value::F32(frequencies)),
        ("factor", Value::Float(FACTOR)),
        ("cos", cos),
        ("sin", sin),
        ("rotary_dim", Value::Int(rotary_dim)),
        ("rows", Value::Int(rows)),
    ]
}

/// One token, and many.
pub fn bench(_: &Params) -> Vec<Bench> {
    let bench = |rows: usize| {
        let room = || Value::Zeros(4 * rows * 64);
        let args = args(StepCase::new(16, &[(9000, rows)], 1), frequencies(128), room(), room());
        Bench { name: format!("{rows} rows, rotary 128"), dims: vec![("tokens", rows as u64), ("rotary_dim", 128)], args }
    };
    vec![bench(1), bench(4096)]
}
