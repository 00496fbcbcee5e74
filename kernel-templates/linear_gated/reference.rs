//! What `linear_gated` must compute: two products of each row, and the activation of one times the other, in double precision.

use tenon_device_cases::planes::{bench_args, block_len};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, Stored, U, U_BF16, Value, from_bf16, rounding};

/// Cases of an instance.
pub fn cases(params: &Params) -> Vec<Case> {
    let len = block_len(params.name("format"));
    let bucket = params.int("rows");
    let ragged = match len {
        1 => 133,
        16 => 48,
        len => len,
    };
    let some = (bucket - bucket / 4).max(1);
    vec![
        case(params, 19, 8960, bucket, "several turns of every lane, ragged outputs"),
        case(params, 134, 1056usize.next_multiple_of(len), some, "two rows of scales, fewer rows than the bucket"),
        case(params, 3, ragged, bucket, "rows of no whole vectors"),
        case(params, 1, 544usize.next_multiple_of(len), (bucket - 1).max(1), "one output"),
    ]
}

fn case(params: &Params, out: usize, inputs: usize, rows: usize, what: &str) -> Case {
    let (format, act, tensor_cores) =
        (params.name("format"), params.name("act"), rounded(params.name("format"), params.int("rows")));
    let mut random = Random::new((out * inputs + rows) as u64);
    let gate = Stored::new(format, out, inputs, &mut random);
    let up = Stored::new(format, out, inputs, &mut random);
    let x = random.bf16(rows * inputs, 3.0 / (inputs as f32).sqrt());
    let (gate_factor, up_factor) = (1.5f32, 0.75f32);
    // A row after the last shows what is written too far.
    let before = random.bf16((rows + 1) * out, 1.0);
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for r in 0..rows {
        let x: Vec<f64> = x[r * inputs..][..inputs].iter().map(|&bits| from_bf16(bits)).collect();
        for o in 0..out {
            let sum = |stored: &Stored, factor: f32| {
                let (dot, factor) = (stored.dot(o, &x), f64::from(factor));
                let value = factor * dot.value;
                // The sum, and its factor.
                (value, factor * dot.bound(format, inputs, tensor_cores) + rounding(U, value))
            };
            let ((g, off_g), (u, off_u)) = (sum(&gate, gate_factor), sum(&up, up_factor));
            let (value, slope) = activation(act, g, off_g);
            // What the activation makes of the gate's error, and its own: exponentials of a few f32 roundings, which are of the argument.
            let off = slope * off_g + 32.0 * U * (value.abs() + g.abs());
            let product = value * u;
            let bound = off * (u.abs() + off_u) + value.abs() * off_u + rounding(U, product);
            values.push(product);
            bounds.push(bound + rounding(U_BF16, product.abs() + bound));
        }
    }
    values.extend(before[rows * out..].iter().map(|&bits| from_bf16(bits)));
    bounds.resize(values.len(), 0.0);
    Case {
        name: format!("{out} x {inputs}, {rows} rows: {what}"),
        dims: vec![("tokens", rows as u64), ("out", out as u64), ("in", inputs as u64)],
        args: vec![
            ("gate", gate.planes_arg()),
            ("up", up.planes_arg()),
            ("gate_scales", gate.scales_arg()),
            ("up_scales", up.scales_arg()),
            ("gate_factor", Value::Float(gate_factor)),
            ("up_factor", Value::Float(up_factor)),
            ("x", Value::Bf16(x)),
            ("y", Value::Bf16(before)),
            ("out", Value::Int(out as i64)),
            ("in", Value::Int(inputs as i64)),
            ("rows", Value::Int(rows as i64)),
        ],
        expected: vec![Expected { arg: "y", values, bounds, depth: inputs }],
        error: 0,
    }
}

/// An activation, and its largest slope within `off` of `x`.
fn activation(act: &str, x: f64, off: f64) -> (f64, f64) {
    match act {
        "silu" => (x / (1.0 + (-x).exp()), 1.1),
        "gelu" => (0.5 * x * (1.0 + erf(x / 2f64.sqrt())), 1.13),
        "gelu_pytorch_tanh" => {
            (0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh()), 1.13)
        }
        "relu2" => (x.max(0.0).powi(2), 2.0 * (x.abs() + off)),
        other => panic!("`{other}` is no activation"),
    }
}

/// The error function: a series whose terms have one sign.
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, 0.0);
    for n in 1..400 {
        sum += term;
        term *= 2.0 * x * x / f64::from(2 * n + 1);
    }
    2.0 / std::f64::consts::PI.sqrt() * (-x * x).exp() * sum
}

/// True where weights are rounded to bf16, f32 to two of these: f32 from 2 rows on, others from 5 rows on.
fn rounded(format: &str, bucket: usize) -> bool {
    bucket > if format == "f32" { 1 } else { 4 }
}

/// Sizes at which its speed is stated. Both matrices are of this size.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (format, rows) = (params.name("format"), params.int("rows"));
    let one = |out: usize, inputs: usize| {
        let (gate, gate_scales) = bench_args(format, out, inputs);
        let (up, up_scales) = bench_args(format, out, inputs);
        Bench {
            name: format!("2 x {out} x {inputs}"),
            dims: vec![("tokens", rows as u64), ("out", out as u64), ("in", inputs as u64)],
            args: vec![
                ("gate", gate),
                ("up", up),
                ("gate_scales", gate_scales),
                ("up_scales", up_scales),
                ("gate_factor", Value::Float(1.0)),
                ("up_factor", Value::Float(1.0)),
                ("x", Value::Random(2 * rows * inputs)),
                ("y", Value::Zeros(2 * rows * out)),
                ("out", Value::Int(out as i64)),
                ("in", Value::Int(inputs as i64)),
                ("rows", Value::Int(rows as i64)),
            ],
        }
    };
    [(24576, 4096), (4096, 4096), (1024, 4096)].map(|(out, inputs)| one(out, inputs)).into()
}
