//! V o per head: one row, tiles of rows with a tail, and rows of the other phase, which stay.

#[path = "../mla_decode/exact.rs"]
#[allow(dead_code)]
mod exact;

use exact::{bf16_values, dims, heads_of_bench, product, serves};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, Value};

/// Spans of both kinds, so that each phase has rows to keep; padded rows stay too.
pub fn cases(params: &Params) -> Vec<Case> {
    vec![
        case(params, "few rows", 3, StepCase::new(16, &[(4, 1), (0, 3), (9, 1)], 1).padded(8)),
        case(params, "rows of a bucket", 2, StepCase::new(16, &[(4, 1), (0, 8), (9, 1), (0, 1)], 2).padded(16)),
        case(params, "several tiles of rows", 2, StepCase::new(48, &[(40, 67), (3, 1), (0, 1), (0, 70)], 3).padded(150)),
    ]
}

fn case(params: &Params, name: &str, heads: usize, step: StepCase) -> Case {
    let (rank, v) = (params.int("kv_lora_rank"), params.int("v_head_dim"));
    let mut random = Random::new(step.rows as u64);
    let o_latent = random.bf16(step.rows * heads * rank, 2.0);
    let w_v = random.bf16(heads * v * rank, 0.1);
    let old = random.bf16(step.rows * heads * v, 1.0);
    let (gathered, matrices, mut values) = (bf16_values(&o_latent), bf16_values(&w_v), bf16_values(&old));
    let mut bounds = vec![0.0; values.len()];
    for row in 0..step.rows {
        let Some((sequence, _)) = step.row(row) else { continue };
        if !serves(params.name("phase"), &step, sequence) {
            continue;
        }
        for head in 0..heads {
            let at = row * heads + head;
            let (sums, off) = product(&gathered[at * rank..][..rank], v, |r, column| matrices[(head * v + column) * rank + r]);
            values[at * v..][..v].copy_from_slice(&sums);
            bounds[at * v..][..v].copy_from_slice(&off);
        }
    }
    let dims = dims(&step, heads);
    let rows = step.rows as i64;
    let args = vec![
        ("step", Value::Step(step)),
        ("o_latent", Value::Bf16(o_latent)),
        ("w_v", Value::Bf16(w_v)),
        ("attn", Value::Bf16(old)),
        ("num_attention_heads", Value::Int(heads as i64)),
        ("rows", Value::Int(rows)),
    ];
    Case { name: name.to_owned(), dims, args, expected: vec![Expected { arg: "attn", values, bounds, depth: rank }], error: 0 }
}

/// Rows of decode steps, and of a prompt.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (rank, v, heads) = (params.int("kv_lora_rank"), params.int("v_head_dim"), heads_of_bench(params));
    let size = |spans: &[(usize, usize)]| {
        let step = StepCase::new(64, spans, 1);
        let (rows, dims) = (step.rows, dims(&step, heads));
        let args = vec![
            ("step", Value::Step(step)),
            ("o_latent", Value::Random(2 * rows * heads * rank)),
            ("w_v", Value::Random(2 * heads * v * rank)),
            ("attn", Value::Zeros(2 * rows * heads * v)),
            ("num_attention_heads", Value::Int(heads as i64)),
            ("rows", Value::Int(rows as i64)),
        ];
        Bench { name: format!("{heads} heads, {rows} rows"), dims, args }
    };
    match params.name("phase") {
        "prefill" => vec![size(&[(0, 4096)])],
        _ => vec![size(&[(0, 1)]), size(&[(0, 1); 16]), size(&[(0, 1); 64])],
    }
}
