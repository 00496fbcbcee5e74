//! K^T q per head, and the rotated part as it was: one row, tiles of rows with a tail, and rows of the other phase, which stay.

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
    let (nope, rope, rank) = (params.int("qk_nope_head_dim"), params.int("qk_rope_head_dim"), params.int("kv_lora_rank"));
    let mut random = Random::new(step.rows as u64);
    let q = random.bf16(step.rows * heads * (nope + rope), 2.0);
    let w_k = random.bf16(heads * nope * rank, 0.1);
    let old = random.bf16(step.rows * heads * (rank + rope), 1.0);
    let (queries, matrices, mut values) = (bf16_values(&q), bf16_values(&w_k), bf16_values(&old));
    let mut bounds = vec![0.0; values.len()];
    for row in 0..step.rows {
        let Some((sequence, _)) = step.row(row) else { continue };
        if !serves(params.name("phase"), &step, sequence) {
            continue;
        }
        for head in 0..heads {
            let query = &queries[(row * heads + head) * (nope + rope)..][..nope + rope];
            let at = (row * heads + head) * (rank + rope);
            let (sums, off) = product(&query[..nope], rank, |n, r| matrices[(head * nope + n) * rank + r]);
            values[at..][..rank].copy_from_slice(&sums);
            bounds[at..][..rank].copy_from_slice(&off);
            // Copied, so exact.
            values[at + rank..][..rope].copy_from_slice(&query[nope..]);
        }
    }
    let dims = dims(&step, heads);
    let rows = step.rows as i64;
    let args = vec![
        ("step", Value::Step(step)),
        ("q", Value::Bf16(q)),
        ("w_k", Value::Bf16(w_k)),
        ("q_latent", Value::Bf16(old)),
        ("num_attention_heads", Value::Int(heads as i64)),
        ("rows", Value::Int(rows)),
    ];
    Case {
        name: name.to_owned(),
        dims,
        args,
        expected: vec![Expected { arg: "q_latent", values, bounds, depth: nope }],
        error: 0,
    }
}

/// Rows of decode steps, and of a prompt.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (nope, rope, rank, heads) =
        (params.int("qk_nope_head_dim"), params.int("qk_rope_head_dim"), params.int("kv_lora_rank"), heads_of_bench(params));
    let size = |spans: &[(usize, usize)]| {
        let step = StepCase::new(64, spans, 1);
        let (rows, dims) = (step.rows, dims(&step, heads));
        let args = vec![
            ("step", Value::Step(step)),
            ("q", Value::Random(2 * rows * heads * (nope + rope))),
            ("w_k", Value::Random(2 * heads * nope * rank)),
            ("q_latent", Value::Zeros(2 * rows * heads * (rank + rope))),
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
