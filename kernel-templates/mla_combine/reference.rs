//! Parts of contexts that become one output: as many as there may be, two, and contexts of one part, which stay.

#[path = "../mla_decode/exact.rs"]
#[allow(dead_code)]
mod exact;

use exact::{U_EXP2, dims, heads_of_bench};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, U, U_BF16, Value, from_bf16, products, rounding};

const TILE: usize = 64;

/// A span of several tokens and padded rows stay. What no part wrote is not a number.
pub fn cases(params: &Params) -> Vec<Case> {
    vec![
        case(
            params,
            "three parts or fewer",
            3,
            StepCase::new(16, &[(0, 1), (64, 1), (10, 3), (191, 1), (300, 1)], 5).padded(9),
            3,
        ),
        case(params, "a part a tile", 2, StepCase::new(48, &[(700, 1), (64, 1)], 6), 61),
        case(params, "as many parts as may be", 1, StepCase::new(64, &[(64 * 255 + 3, 1)], 7), 256),
    ]
}

fn case(params: &Params, name: &str, heads: usize, step: StepCase, kv_splits: usize) -> Case {
    let rank = params.int("kv_lora_rank");
    let mut random = Random::new(kv_splits as u64);
    let spans = step.decode().len() + step.rows - step.tokens();
    let mut workspace = vec![f32::NAN; spans * heads * kv_splits * (rank + 2)];
    let old = random.bf16(step.rows * heads * rank, 1.0);
    let mut values: Vec<f64> = old.iter().map(|&b| from_bf16(b)).collect();
    let mut bounds = vec![0.0; values.len()];
    let first_rows = step.first();
    for (span, sequence) in step.decode().into_iter().enumerate() {
        let tiles = (step.spans[sequence].0 + 1).div_ceil(TILE);
        let parts = tiles.div_ceil(tiles.div_ceil(kv_splits));
        if parts == 1 {
            continue;
        }
        for head in 0..heads {
            let at = (span * heads + head) * kv_splits * (rank + 2);
            let parts = &mut workspace[at..][..parts * (rank + 2)];
            for part in parts.chunks_mut(rank + 2) {
                part.copy_from_slice(&random.numbers(rank + 2, 3.0));
                part[rank + 1] = 1.0 + part[rank + 1].abs();
            }
            let maximum = parts.chunks(rank + 2).map(|part| f64::from(part[rank])).fold(f64::NEG_INFINITY, f64::max);
            let weight = |part: &[f32]| (f64::from(part[rank]) - maximum).exp2();
            let sum: f64 = parts.chunks(rank + 2).map(|part| weight(part) * f64::from(part[rank + 1])).sum();
            let count = parts.len() / (rank + 2);
            for i in 0..rank {
                let (mut exact, mut magnitude) = (0.0, 0.0);
                for part in parts.chunks(rank + 2) {
                    let term = weight(part) * f64::from(part[i]) / sum;
                    exact += term;
                    magnitude += term.abs();
                }
                // Differences of maxima round, then their powers of two; both in the numerator and in the sum; then two sums and a quotient.
                let bound = 2.0 * (magnitude + exact.abs()) * (U_EXP2 + 6.0 * U)
                    + products(count, magnitude + exact.abs())
                    + 4.0 * U * exact.abs();
                let out = ((first_rows[sequence]) * heads + head) * rank + i;
                values[out] = exact;
                bounds[out] = bound + rounding(U_BF16, exact.abs() + bound);
            }
        }
    }
    let mut dims = dims(&step, heads);
    dims.push(("kv_splits", kv_splits as u64));
    let args = vec![
        ("step", Value::Step(step)),
        ("workspace", Value::F32(workspace)),
        ("o_latent", Value::Bf16(old)),
        ("kv_splits", Value::Int(kv_splits as i64)),
        ("num_attention_heads", Value::Int(heads as i64)),
    ];
    Case {
        name: name.to_owned(),
        dims,
        args,
        expected: vec![Expected { arg: "o_latent", values, bounds, depth: kv_splits }],
        error: 0,
    }
}

/// One long context in many parts, and many contexts in few.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (rank, heads) = (params.int("kv_lora_rank"), heads_of_bench(params));
    let size = |(spans, kv_splits): (usize, usize)| {
        let step = StepCase::new(64, &vec![(8191, 1); spans], 1);
        let mut dims = dims(&step, heads);
        dims.push(("kv_splits", kv_splits as u64));
        let args = vec![
            ("step", Value::Step(step)),
            ("workspace", Value::Random(4 * spans * heads * kv_splits * (rank + 2))),
            ("o_latent", Value::Zeros(2 * spans * heads * rank)),
            ("kv_splits", Value::Int(kv_splits as i64)),
            ("num_attention_heads", Value::Int(heads as i64)),
        ];
        Bench { name: format!("{heads} heads, {spans} x {kv_splits} parts"), dims, args }
    };
    [(1, 64), (64, 2)].into_iter().map(size).collect()
}
