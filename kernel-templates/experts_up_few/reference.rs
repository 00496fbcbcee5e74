//! What `experts_up_few` must compute: for each pair the two products of its expert, and what stands between them and the third.

#[path = "exact.rs"]
#[allow(dead_code)] // Other kernels of experts share it.
mod exact;

use exact::{Shape, Stack, between, bias_arg, biased, biases};
use tenon_device_cases::planes::block_len;
use tenon_device_cases::{Bench, Case, Expected, Params, Random, Value, from_bf16};

/// What both ends of the clamp are reached with, and the alpha of gpt-oss.
const LIMIT: f32 = 0.75;
const ALPHA: f32 = 1.702;

/// Cases of an instance.
pub fn cases(params: &Params) -> Vec<Case> {
    let len = block_len(params.name("format"));
    let whole = |n: usize| n.next_multiple_of(len);
    // Rows that are no whole number of vectors, where the format allows that.
    let ragged = match len {
        1 => 133,
        16 => 144,
        len => len,
    };
    let shape = |experts, top_k, hidden, intermediate, rows, tokens| Shape { experts, top_k, hidden, intermediate, rows, tokens };
    vec![
        case(params, shape(8, 4, whole(4864), 21, 1, 1), false, false, "several turns of every lane"),
        case(params, shape(5, 3, whole(544), 37, 16, 13), true, true, "all tokens at one expert, padded rows"),
        case(params, shape(32, 2, whole(160), 19, 16, 16), false, true, "experts with tokens of either half"),
        case(params, shape(3, 2, whole(300), 140, 4, 3), false, false, "two rows of scales"),
        case(params, shape(3, 1, ragged, 11, 5, 5), false, true, "rows of no whole vectors"),
    ]
}

fn case(params: &Params, shape: Shape, crowd: bool, with_bias: bool, what: &str) -> Case {
    let (format, form, act) = (params.name("format"), params.name("form"), params.name("act"));
    let Shape { experts, top_k, hidden, intermediate, rows, .. } = shape;
    let gated = form != "plain";
    let mut random = Random::new((hidden * intermediate + rows) as u64);
    let stack = Stack::new(format, if gated { 2 * experts } else { experts }, intermediate, hidden, &mut random);
    let x = random.bf16(rows * hidden, 3.0 / (hidden as f32).sqrt());
    let gate_bias = biases(with_bias && gated, experts, intermediate, &mut random);
    let up_bias = biases(with_bias, experts, intermediate, &mut random);
    let ids = shape.ids(crowd, &mut random);
    // A row after the last shows what is written too far, and padded rows stay as they are.
    let before = random.bf16((shape.pairs() + 1) * intermediate, 1.0);
    let (mut values, mut bounds): (Vec<f64>, Vec<f64>) =
        (before.iter().map(|&b| from_bf16(b)).collect(), vec![0.0; before.len()]);
    for (pair, &id) in ids.iter().enumerate().filter(|(_, id)| **id >= 0) {
        let e = id as usize;
        let x: Vec<f64> = x[pair / top_k * hidden..][..hidden].iter().map(|&b| from_bf16(b)).collect();
        for row in 0..intermediate {
            let at = e * intermediate + row;
            let gate = if gated { biased(stack.product(2 * e, row, &x), &gate_bias, at) } else { (0.0, 0.0) };
            let up = biased(stack.product(if gated { 2 * e + 1 } else { e }, row, &x), &up_bias, at);
            let (value, bound) = between(form, act, f64::from(LIMIT), f64::from(ALPHA), gate, up);
            values[pair * intermediate + row] = value;
            bounds[pair * intermediate + row] = bound;
        }
    }
    let mut args = vec![("x", Value::Bf16(x))];
    args.extend(stack.args());
    args.extend([("gate_bias", bias_arg(&gate_bias)), ("up_bias", bias_arg(&up_bias)), ("ids", Value::I32(ids))]);
    args.extend([("inner", Value::Bf16(before)), ("limit", Value::Float(LIMIT)), ("alpha", Value::Float(ALPHA))]);
    args.extend(shape.args());
    let name = format!("{rows} rows, {top_k} of {experts} experts, {intermediate} x {hidden}: {what}");
    let expected = vec![Expected { arg: "inner", values, bounds, depth: hidden }];
    Case { name, dims: shape.dims(), args, expected, error: 0 }
}

/// Decode steps of a few tokens. The cost counts two matrices, as gated forms have.
pub fn bench(params: &Params) -> Vec<Bench> {
    if params.name("form") == "plain" {
        return Vec::new();
    }
    let one = |(name, shape): (String, Shape)| {
        let Shape { experts, hidden, intermediate, rows, .. } = shape;
        let mut args = vec![("x", Value::Random(2 * rows * hidden))];
        args.extend(exact::bench_stack(params.name("format"), 2 * experts, intermediate, hidden));
        args.extend([("gate_bias", Value::Null), ("up_bias", Value::Null), ("ids", Value::I32(shape.in_turn()))]);
        args.extend([
            ("inner", Value::Zeros(2 * shape.pairs() * intermediate)),
            ("limit", Value::Float(7.0)),
            ("alpha", Value::Float(ALPHA)),
        ]);
        args.extend(shape.args());
        Bench { name, dims: shape.dims(), args }
    };
    exact::bench_shapes(&[1, 8, 16]).into_iter().map(one).collect()
}
