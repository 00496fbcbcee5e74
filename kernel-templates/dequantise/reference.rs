//! What `dequantise` must compute: every weight with its factor, rounded to bf16 once.

use tenon_device_cases::planes::{bench_args, block_len};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, Stored, U, U_BF16, Value, from_bf16, rounding};

/// Cases of an instance.
pub fn cases(params: &Params) -> Vec<Case> {
    let format = params.name("format");
    let len = block_len(format);
    let ragged = match len {
        1 => 4103,
        16 => 4112,
        len => len,
    };
    vec![
        case(format, 3, 8960, "several blocks of a row"),
        case(format, 131, 544usize.next_multiple_of(len), "two rows of scales, a ragged end"),
        case(format, 2, ragged, "rows of no whole vectors"),
        case(format, 1, len, "one stored block"),
    ]
}

fn case(format: &str, out: usize, inputs: usize, what: &str) -> Case {
    let mut random = Random::new((out * inputs) as u64);
    let stored = Stored::new(format, out, inputs, &mut random);
    let factor = 0.7f32;
    // A row after the last shows what is written too far.
    let before = random.bf16((out + 1) * inputs, 1.0);
    let largest = stored.weights.iter().fold(0.0f64, |m, w| m.max(w.abs()));
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for w in &stored.weights {
        let value = f64::from(factor) * w;
        // Scales and minima in f32, of which the difference may be small; then bf16, whose subnormals are no concern here.
        let bound = 8.0 * U * largest;
        values.push(value);
        bounds.push(bound + rounding(U_BF16, value.abs() + bound));
    }
    values.extend(before[out * inputs..].iter().map(|&bits| from_bf16(bits)));
    bounds.resize(values.len(), 0.0);
    Case {
        name: format!("{out} x {inputs}: {what}"),
        dims: vec![("out", out as u64), ("in", inputs as u64)],
        args: vec![
            ("weight", stored.planes_arg()),
            ("scales", stored.scales_arg()),
            ("factor", Value::Float(factor)),
            ("out_matrix", Value::Bf16(before)),
            ("out", Value::Int(out as i64)),
            ("in", Value::Int(inputs as i64)),
        ],
        expected: vec![Expected { arg: "out_matrix", values, bounds, depth: 1 }],
        error: 0,
    }
}

/// Sizes at which its speed is stated.
pub fn bench(params: &Params) -> Vec<Bench> {
    let format = params.name("format");
    let one = |out: usize, inputs: usize| {
        let (planes, scales) = bench_args(format, out, inputs);
        Bench {
            name: format!("{out} x {inputs}"),
            dims: vec![("out", out as u64), ("in", inputs as u64)],
            args: vec![
                ("weight", planes),
                ("scales", scales),
                ("factor", Value::Float(1.0)),
                ("out_matrix", Value::Zeros(2 * out * inputs)),
                ("out", Value::Int(out as i64)),
                ("in", Value::Int(inputs as i64)),
            ],
        }
    };
    [(24576, 4096), (4096, 4096), (1024, 4096)].map(|(out, inputs)| one(out, inputs)).into()
}
