//! What `experts_down_few` must compute: for each pair the last product of its expert.

#[path = "../experts_up_few/exact.rs"]
#[allow(dead_code)] // Other kernels of experts share it.
mod exact;

use exact::{Shape, Stack, bias_arg, biased, biases};
use tenon_device_cases::planes::block_len;
use tenon_device_cases::{Bench, Case, Expected, Params, Random, Value, from_bf16};

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
        case(params, shape(8, 4, 21, whole(4864), 1, 1), false, false, "several turns of every lane"),
        case(params, shape(5, 3, 37, whole(544), 16, 13), true, true, "all tokens at one expert, padded rows"),
        case(params, shape(32, 2, 19, whole(160), 16, 16), false, true, "experts with tokens of either half"),
        case(params, shape(3, 2, 140, whole(300), 4, 3), false, false, "two rows of scales"),
        case(params, shape(3, 1, 11, ragged, 5, 5), false, true, "rows of no whole vectors"),
    ]
}

fn case(params: &Params, shape: Shape, crowd: bool, with_bias: bool, what: &str) -> Case {
    let Shape { experts, top_k, hidden, intermediate, rows, .. } = shape;
    let mut random = Random::new((hidden * intermediate + rows) as u64);
    let stack = Stack::new(params.name("format"), experts, hidden, intermediate, &mut random);
    let inner = random.bf16(shape.pairs() * intermediate, 3.0 / (intermediate as f32).sqrt());
    let bias = biases(with_bias, experts, hidden, &mut random);
    let ids = shape.ids(crowd, &mut random);
    // A row after the last shows what is written too far, and padded rows stay as they are.
    let before = random.numbers((shape.pairs() + 1) * hidden, 1.0);
    let (mut values, mut bounds): (Vec<f64>, Vec<f64>) =
        (before.iter().map(|&b| f64::from(b)).collect(), vec![0.0; before.len()]);
    for (pair, &id) in ids.iter().enumerate().filter(|(_, id)| **id >= 0) {
        let e = id as usize;
        let x: Vec<f64> = inner[pair * intermediate..][..intermediate].iter().map(|&b| from_bf16(b)).collect();
        for row in 0..hidden {
            let (value, bound) = biased(stack.product(e, row, &x), &bias, e * hidden + row);
            values[pair * hidden + row] = value;
            bounds[pair * hidden + row] = bound;
        }
    }
    let mut args = vec![("inner", Value::Bf16(inner))];
    args.extend(stack.args());
    args.extend([("down_bias", bias_arg(&bias)), ("ids", Value::I32(ids)), ("parts", Value::F32(before))]);
    args.extend(shape.args());
    let name = format!("{rows} rows, {top_k} of {experts} experts, {hidden} x {intermediate}: {what}");
    let expected = vec![Expected { arg: "parts", values, bounds, depth: intermediate }];
    Case { name, dims: shape.dims(), args, expected, error: 0 }
}

/// Decode steps of a few tokens.
pub fn bench(params: &Params) -> Vec<Bench> {
    let one = |(name, shape): (String, Shape)| {
        let Shape { experts, hidden, intermediate, .. } = shape;
        let mut args = vec![("inner", Value::Random(2 * shape.pairs() * intermediate))];
        args.extend(exact::bench_stack(params.name("format"), experts, hidden, intermediate));
        args.extend([("down_bias", Value::Null), ("ids", Value::I32(shape.in_turn()))]);
        args.push(("parts", Value::Zeros(4 * shape.pairs() * hidden)));
        args.extend(shape.args());
        Bench { name, dims: shape.dims(), args }
    };
    exact::bench_shapes(&[1, 8, 16]).into_iter().map(one).collect()
}
