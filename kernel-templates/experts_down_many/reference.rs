//! What `experts_down_many` must compute: the products of `experts_down_few`, rounded to bf16, from rows in the order of the experts.

#[path = "../experts_up_few/exact.rs"]
#[allow(dead_code)] // Other kernels of experts share it.
mod exact;

use exact::{Shape, Stack, bias_arg, biased, biases, order_args, sorted};
use tenon_device_cases::planes::block_len;
use tenon_device_cases::{Bench, Case, Expected, Params, Random, U_BF16, Value, from_bf16, rounding};

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
        case(
            params,
            shape(4, 2, 140, whole(288), 150, 147),
            true,
            true,
            "two tiles of an expert, an expert without tokens, padded rows",
        ),
        case(params, shape(7, 3, 34, whole(1088), 20, 20), false, false, "few pairs of each expert, several turns of the stages"),
        case(params, shape(3, 1, 71, ragged, 33, 33), false, true, "rows of no whole vectors"),
    ]
}

fn case(params: &Params, shape: Shape, crowd: bool, with_bias: bool, what: &str) -> Case {
    let Shape { experts, top_k, hidden, intermediate, rows, .. } = shape;
    let mut random = Random::new((hidden * intermediate + rows) as u64);
    let stack = Stack::new(params.name("format"), experts, hidden, intermediate, &mut random);
    let inner = random.bf16(shape.pairs() * intermediate, 3.0 / (intermediate as f32).sqrt());
    let bias = biases(with_bias, experts, hidden, &mut random);
    let ids = shape.ids(crowd, &mut random);
    let (order, offsets) = sorted(&ids, experts);
    // A row after the last shows what is written too far, and pairs of padded rows stay as they are.
    let before = random.bf16((shape.pairs() + 1) * hidden, 1.0);
    let (mut values, mut bounds): (Vec<f64>, Vec<f64>) =
        (before.iter().map(|&b| from_bf16(b)).collect(), vec![0.0; before.len()]);
    for place in 0..offsets[experts] as usize {
        let pair = order[place] as usize;
        let e = ids[pair] as usize;
        let x: Vec<f64> = inner[place * intermediate..][..intermediate].iter().map(|&b| from_bf16(b)).collect();
        for row in 0..hidden {
            let (value, bound) = biased(stack.product(e, row, &x), &bias, e * hidden + row);
            values[pair * hidden + row] = value;
            // The result is stored in bf16.
            bounds[pair * hidden + row] = bound + rounding(U_BF16, value.abs() + bound);
        }
    }
    let mut args = vec![("inner", Value::Bf16(inner))];
    args.extend(stack.args());
    args.push(("down_bias", bias_arg(&bias)));
    args.extend(order_args(order, offsets, shape.pairs()));
    args.push(("parts", Value::Bf16(before)));
    args.extend(shape.args());
    let name = format!("{rows} rows, {top_k} of {experts} experts, {hidden} x {intermediate}: {what}");
    let expected = vec![Expected { arg: "parts", values, bounds, depth: intermediate }];
    Case { name, dims: shape.dims(), args, expected, error: 0 }
}

/// Prefill steps.
pub fn bench(params: &Params) -> Vec<Bench> {
    let one = |(name, shape): (String, Shape)| {
        let Shape { experts, hidden, intermediate, .. } = shape;
        let (order, offsets) = sorted(&shape.in_turn(), experts);
        let mut args = vec![("inner", Value::Random(2 * shape.pairs() * intermediate))];
        args.extend(exact::bench_stack(params.name("format"), experts, hidden, intermediate));
        args.push(("down_bias", Value::Null));
        args.extend(order_args(order, offsets, shape.pairs()));
        args.push(("parts", Value::Zeros(2 * shape.pairs() * hidden)));
        args.extend(shape.args());
        Bench { name, dims: shape.dims(), args }
    };
    exact::bench_shapes(&[64, 512, 4096]).into_iter().map(one).collect()
}
