//! Absorbed latent attention of spans of several tokens: with and without a prefix, over several pages, tiles and blocks of rows.

#[path = "../mla_decode/exact.rs"]
#[allow(dead_code)]
mod exact;

use exact::{Cache, attend, bf16_values, dims, heads_of_bench};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, Value};

/// The case where the largest score of a row is raised by many powers of two, again and again.
const FAR_APART: &str = "scores far apart";

/// Spans of one token and padded rows stay; a block of rows ends within a token's heads, and within the last token.
pub fn cases(params: &Params) -> Vec<Case> {
    let mut broken = StepCase::new(16, &[(40, 2), (20, 2)], 9);
    broken.table[1] = broken.pages as i32;
    vec![
        case(params, "spans of all kinds", 3, StepCase::new(16, &[(0, 2), (7, 1), (50, 24), (0, 30), (126, 5)], 5).padded(64), 0),
        case(params, "more heads than a block has rows", 70, StepCase::new(48, &[(62, 3), (0, 2)], 6), 0),
        case(params, "a prefix of several pages", 1, StepCase::new(64, &[(200, 70)], 7), 0),
        case(params, FAR_APART, 2, StepCase::new(64, &[(300, 40)], 8), 0),
        case(params, "a page that is none", 2, broken, 2),
    ]
}

fn case(params: &Params, name: &str, heads: usize, step: StepCase, error: u32) -> Case {
    let (rank, dim) = (params.int("kv_lora_rank"), params.int("kv_lora_rank") + params.int("qk_rope_head_dim"));
    let mut random = Random::new((step.rows * heads) as u64);
    let q = random.bf16(step.rows * heads * dim, 1.0);
    let cache = Cache::new(params.name("kv_dtype"), &step, dim, &mut random);
    let old = random.bf16(step.rows * heads * rank, 1.0);
    let scale = if name == FAR_APART { 48.0 } else { 4.0 } / (dim as f32).sqrt();
    let (queries, mut values) = (bf16_values(&q), bf16_values(&old));
    let mut bounds = vec![0.0; values.len()];
    let mut longest = 0;
    for row in 0..step.rows {
        let Some((sequence, position)) = step.row(row) else { continue };
        if step.spans[sequence].1 == 1 {
            continue;
        }
        longest = longest.max(position + 1);
        // The first sequence of the broken case has the page that is none.
        if error != 0 && sequence == 0 {
            values[row * heads * rank..][..heads * rank].fill(f64::NAN);
            continue;
        }
        let keys: Vec<&[f64]> = (0..=position).map(|p| cache.latent(&step, sequence, p)).collect();
        let latents: Vec<&[f64]> = keys.iter().map(|key| &key[..rank]).collect();
        for at in row * heads..(row + 1) * heads {
            let one = attend(&queries[at * dim..][..dim], &keys, &latents, f64::from(scale));
            values[at * rank..][..rank].copy_from_slice(&one.out);
            bounds[at * rank..][..rank].copy_from_slice(&one.out_bounds);
        }
    }
    let dims = dims(&step, heads);
    let args = vec![
        ("step", Value::Step(step)),
        ("q_latent", Value::Bf16(q)),
        ("cache", cache.value),
        ("o_latent", Value::Bf16(old)),
        ("scale", Value::Float(scale)),
        ("num_attention_heads", Value::Int(heads as i64)),
    ];
    Case {
        name: name.to_owned(),
        dims,
        args,
        expected: vec![Expected { arg: "o_latent", values, bounds, depth: longest }],
        error,
    }
}

/// A whole prompt, and the end of a long one.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (rank, dim, heads) =
        (params.int("kv_lora_rank"), params.int("kv_lora_rank") + params.int("qk_rope_head_dim"), heads_of_bench(params));
    let element = if params.name("kv_dtype") == "bf16" { 2 } else { 1 };
    let size = |(start, tokens): (usize, usize)| {
        let step = StepCase::new(64, &[(start, tokens)], 1);
        let dims = dims(&step, heads);
        let args = vec![
            ("q_latent", Value::Random(2 * tokens * heads * dim)),
            ("cache", Value::Random(step.pages * step.page_size * dim * element)),
            ("o_latent", Value::Zeros(2 * tokens * heads * rank)),
            ("scale", Value::Float(0.1)),
            ("num_attention_heads", Value::Int(heads as i64)),
            ("step", Value::Step(step)),
        ];
        Bench { name: format!("{heads} heads, {tokens} after {start}"), dims, args }
    };
    [(0, 4096), (15872, 512)].into_iter().map(size).collect()
}
