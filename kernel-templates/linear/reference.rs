//! What `linear` must compute: each row times the decoded matrix, in double precision.

use tenon_device_cases::planes::{bench_args, block_len};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, Stored, U, U_BF16, Value, bf16, from_bf16, rounding};

const MODE_BF16: i64 = 0;
const MODE_F32: i64 = 1;
const MODE_ADD: i64 = 2;

/// Cases of an instance.
pub fn cases(params: &Params) -> Vec<Case> {
    let (format, bucket) = (params.name("format"), params.int("rows"));
    let len = block_len(format);
    // Rows that are no whole number of vectors, where the format allows that.
    let ragged = match len {
        1 => 133,
        16 => 48,
        len => len,
    };
    let some = (bucket - bucket / 4).max(1);
    [
        case(format, bucket, 37, 8960, bucket, MODE_BF16, "several turns of every lane, ragged outputs"),
        case(format, bucket, 140, 1056usize.next_multiple_of(len), bucket, MODE_F32, "two rows of scales, one turn and a bit"),
        case(
            format,
            bucket,
            21,
            544usize.next_multiple_of(len),
            some,
            MODE_ADD,
            "fewer rows than the bucket, fewer chunks than lanes",
        ),
        case(format, bucket, 5, ragged, bucket, MODE_F32, "rows of no whole vectors"),
        case(format, bucket, 1, ragged, (bucket - 1).max(1), MODE_BF16, "one output"),
        case(format, bucket, 20_011, 256, some, MODE_F32, "short rows and more tiles than blocks"),
    ]
    .into_iter()
    .chain(streamed(format, bucket).then(|| {
        // Blocks go through their tiles in batches, and through rows that are longer than what they hold in slices.
        let outputs = 264 * 5 * 8 * bucket.min(2) + 3;
        case(format, bucket, outputs, 4608, bucket, MODE_ADD, "several batches of tiles, and rows of two slices")
    }))
    .collect()
}

/// Whether a launch has as many blocks as the device holds, each with several tiles.
fn streamed(format: &str, bucket: usize) -> bool {
    bucket <= 4 && !matches!(format, "f32" | "f16" | "bf16")
}

fn case(format: &str, bucket: usize, out: usize, inputs: usize, rows: usize, mode: i64, what: &str) -> Case {
    let mut random = Random::new((out * inputs + rows) as u64);
    let stored = Stored::new(format, out, inputs, &mut random);
    let x = random.bf16(rows * inputs, 2.0 / (inputs as f32).sqrt());
    let factor = 0.75f32;
    // A row after the last shows what is written too far.
    let before = random.numbers((rows + 1) * out, 1.0);
    let y = if mode == MODE_BF16 { Value::Bf16(bf16(before.iter().copied())) } else { Value::F32(before.clone()) };
    let held = |i: usize| match &y {
        Value::Bf16(bits) => from_bf16(bits[i]),
        _ => f64::from(before[i]),
    };
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for r in 0..rows {
        let x: Vec<f64> = x[r * inputs..][..inputs].iter().map(|&bits| from_bf16(bits)).collect();
        for o in 0..out {
            let dot = stored.dot(o, &x);
            let product = f64::from(factor) * dot.value;
            let value = if mode == MODE_ADD { held(r * out + o) + product } else { product };
            // The sum, its factor, the addition to what was there, and the rounding of the result to bf16.
            let mut bound = f64::from(factor) * dot.bound(format, inputs, rounded(format, bucket))
                + rounding(U, product)
                + rounding(U, value);
            if mode == MODE_BF16 {
                bound += rounding(U_BF16, product.abs() + bound);
            }
            values.push(value);
            bounds.push(bound);
        }
    }
    for i in rows * out..(rows + 1) * out {
        values.push(held(i));
        bounds.push(0.0);
    }
    Case {
        name: format!("{out} x {inputs}, {rows} rows: {what}"),
        dims: vec![("tokens", rows as u64), ("out", out as u64), ("in", inputs as u64)],
        args: vec![
            ("weight", stored.planes_arg()),
            ("scales", stored.scales_arg()),
            ("factor", Value::Float(factor)),
            ("x", Value::Bf16(x)),
            ("y", y),
            ("mode", Value::Int(mode)),
            ("out", Value::Int(out as i64)),
            ("in", Value::Int(inputs as i64)),
            ("rows", Value::Int(rows as i64)),
        ],
        expected: vec![Expected { arg: "y", values, bounds, depth: inputs }],
        error: 0,
    }
}

/// True where weights are rounded to bf16, f32 to two of these: f32 from 2 rows on, others from 5 rows on.
fn rounded(format: &str, bucket: usize) -> bool {
    bucket > if format == "f32" { 1 } else { 4 }
}

/// Sizes at which its speed is stated: a large matrix, and two that have little for each multiprocessor.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (format, rows) = (params.name("format"), params.int("rows"));
    let one = |out: usize, inputs: usize| {
        let (planes, scales) = bench_args(format, out, inputs);
        Bench {
            name: format!("{out} x {inputs}"),
            dims: vec![("tokens", rows as u64), ("out", out as u64), ("in", inputs as u64)],
            args: vec![
                ("weight", planes),
                ("scales", scales),
                ("factor", Value::Float(1.0)),
                ("x", Value::Random(2 * rows * inputs)),
                ("y", Value::Zeros(2 * rows * out)),
                ("mode", Value::Int(MODE_BF16)),
                ("out", Value::Int(out as i64)),
                ("in", Value::Int(inputs as i64)),
                ("rows", Value::Int(rows as i64)),
            ],
        }
    };
    // Large, and the projections of an 8B model; then as many bytes as the experts of a token have.
    let sizes = [(24576, 4096), (4096, 4096), (1024, 4096), (12288, 2048), (2048, 6144), (16384, 3072)];
    sizes.map(|(out, inputs)| one(out, inputs)).into()
}
