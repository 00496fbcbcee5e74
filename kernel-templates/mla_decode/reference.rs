//! Absorbed latent attention of spans of one token: contexts around the edges of tiles and pages, in one part and in several.

#[allow(dead_code)]
mod exact;

use exact::{Attended, Cache, attend, bf16_values, dims, heads_of_bench};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, Value};

const TILE: usize = 64;

/// Spans of several tokens and padded rows stay; heads are fewer than a block takes, and more.
pub fn cases(params: &Params) -> Vec<Case> {
    let edges = [(0, 1), (15, 1), (10, 3), (63, 1), (64, 1), (191, 1), (300, 1)];
    vec![
        case(params, "one part", 3, StepCase::new(16, &edges, 5).padded(11), 1),
        case(
            params,
            "four parts, some with fewer tiles",
            5,
            StepCase::new(48, &[(700, 1), (40, 1), (3, 2), (129, 1)], 6).padded(6),
            4,
        ),
        case(params, "more parts than tiles", 2, StepCase::new(64, &[(200, 1), (64, 1), (0, 1)], 7), 61),
        case(params, "more heads than a block takes", 70, StepCase::new(64, &[(130, 1), (5, 1)], 8), 2),
        far_apart(params, "scores far apart, one part", StepCase::new(48, &[(700, 1), (100, 1)], 9), 1),
        far_apart(params, "scores far apart, three parts", StepCase::new(16, &[(900, 1)], 10), 3),
        broken(params),
    ]
}

/// What the device reads and may write.
struct Problem {
    step: StepCase,
    heads: usize,
    kv_splits: usize,
    scale: f32,
    q: Vec<u16>,
    cache: Cache,
    old_out: Vec<u16>,
    old_workspace: Vec<f32>,
}

impl Problem {
    fn new(params: &Params, heads: usize, step: StepCase, kv_splits: usize) -> Self {
        let (rank, rope) = (params.int("kv_lora_rank"), params.int("qk_rope_head_dim"));
        let mut random = Random::new((step.rows * heads + kv_splits) as u64);
        let q = random.bf16(step.rows * heads * (rank + rope), 1.0);
        let cache = Cache::new(params.name("kv_dtype"), &step, rank + rope, &mut random);
        let old_out = random.bf16(step.rows * heads * rank, 1.0);
        let spans = step.decode().len() + step.rows - step.tokens();
        let old_workspace = random.numbers(spans * heads * kv_splits * (rank + 2), 1.0);
        // Scores spread over a few units, so that some positions matter more than others.
        let scale = 4.0 / ((rank + rope) as f32).sqrt();
        Self { step, heads, kv_splits, scale, q, cache, old_out, old_workspace }
    }

    /// A query row over positions first .. last of its sequence.
    fn attend(&self, rank: usize, sequence: usize, q: &[f64], first: usize, last: usize) -> Attended {
        let keys: Vec<&[f64]> = (first..last).map(|position| self.cache.latent(&self.step, sequence, position)).collect();
        let values: Vec<&[f64]> = keys.iter().map(|key| &key[..rank]).collect();
        attend(q, &keys, &values, f64::from(self.scale))
    }

    fn finish(self, name: &str, expected: Vec<Expected>, error: u32) -> Case {
        let mut dims = dims(&self.step, self.heads);
        dims.push(("kv_splits", self.kv_splits as u64));
        let args = vec![
            ("step", Value::Step(self.step)),
            ("q_latent", Value::Bf16(self.q)),
            ("cache", self.cache.value),
            ("o_latent", Value::Bf16(self.old_out)),
            ("scale", Value::Float(self.scale)),
            ("workspace", Value::F32(self.old_workspace)),
            ("kv_splits", Value::Int(self.kv_splits as i64)),
            ("num_attention_heads", Value::Int(self.heads as i64)),
        ];
        Case { name: name.to_owned(), dims, args, expected, error }
    }
}

fn case(params: &Params, name: &str, heads: usize, step: StepCase, kv_splits: usize) -> Case {
    compared(params, name, Problem::new(params, heads, step, kv_splits))
}

/// The largest score of a row is raised by many powers of two, again and again.
fn far_apart(params: &Params, name: &str, step: StepCase, kv_splits: usize) -> Case {
    let mut problem = Problem::new(params, 9, step, kv_splits);
    problem.scale *= 12.0;
    compared(params, name, problem)
}

fn compared(params: &Params, name: &str, problem: Problem) -> Case {
    let (rank, dim) = (params.int("kv_lora_rank"), params.int("kv_lora_rank") + params.int("qk_rope_head_dim"));
    let (heads, kv_splits) = (problem.heads, problem.kv_splits);
    let queries = bf16_values(&problem.q);
    let (mut out, mut workspace) =
        (bf16_values(&problem.old_out), problem.old_workspace.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
    let (mut out_bounds, mut workspace_bounds) = (vec![0.0; out.len()], vec![0.0; workspace.len()]);
    let first_rows = problem.step.first();
    let mut longest = 0;
    for (span, sequence) in problem.step.decode().into_iter().enumerate() {
        let (row, context) = (first_rows[sequence], problem.step.spans[sequence].0 + 1);
        longest = longest.max(context);
        // Parts are whole tiles, equally many but for the last.
        let tiles = context.div_ceil(TILE);
        let per_part = tiles.div_ceil(kv_splits);
        let parts = tiles.div_ceil(per_part);
        for head in 0..heads {
            let at = row * heads + head;
            let q = &queries[at * dim..][..dim];
            if parts == 1 {
                let whole = problem.attend(rank, sequence, q, 0, context);
                out[at * rank..][..rank].copy_from_slice(&whole.out);
                out_bounds[at * rank..][..rank].copy_from_slice(&whole.out_bounds);
                continue;
            }
            for part in 0..parts {
                let first = part * per_part * TILE;
                let one = problem.attend(rank, sequence, q, first, context.min(first + per_part * TILE));
                let at = ((span * heads + head) * kv_splits + part) * (rank + 2);
                workspace[at..][..rank].copy_from_slice(&one.gathered);
                workspace_bounds[at..][..rank].copy_from_slice(&one.gathered_bounds);
                (workspace[at + rank], workspace_bounds[at + rank]) = (one.maximum, one.maximum_bound);
                (workspace[at + rank + 1], workspace_bounds[at + rank + 1]) = (one.sum, one.sum_bound);
            }
        }
    }
    let expected = vec![
        Expected { arg: "o_latent", values: out, bounds: out_bounds, depth: longest },
        Expected { arg: "workspace", values: workspace, bounds: workspace_bounds, depth: longest },
    ];
    problem.finish(name, expected, 0)
}

/// A page that is none sets its bit; the sequence without it is as it should be.
fn broken(params: &Params) -> Case {
    let (rank, dim) = (params.int("kv_lora_rank"), params.int("kv_lora_rank") + params.int("qk_rope_head_dim"));
    let mut problem = Problem::new(params, 2, StepCase::new(16, &[(40, 1), (20, 1)], 9), 1);
    let queries = bf16_values(&problem.q);
    let (mut values, mut bounds) = (vec![f64::NAN; 2 * 2 * rank], vec![0.0; 2 * 2 * rank]);
    for head in 0..2 {
        let row = problem.attend(rank, 1, &queries[(2 + head) * dim..][..dim], 0, 21);
        values[(2 + head) * rank..][..rank].copy_from_slice(&row.out);
        bounds[(2 + head) * rank..][..rank].copy_from_slice(&row.out_bounds);
    }
    problem.step.table[1] = problem.step.pages as i32;
    problem.finish("a page that is none", vec![Expected { arg: "o_latent", values, bounds, depth: 21 }], 2)
}

/// A decode step of many sequences at numbers of heads on both sides of where the tensor cores bind; and few sequences, with DeepSeek's heads
/// where the latents are as wide as its own.
pub fn bench(params: &Params) -> Vec<Bench> {
    let heads = heads_of_bench(params);
    [(16, 64, 8191, 2), (32, 64, 8191, 2), (128, 64, 8191, 2), (heads, 1, 8191, 64), (heads, 8, 32767, 16)]
        .into_iter()
        .map(|(heads, spans, start, kv_splits)| bench_of(params, heads, spans, start, kv_splits))
        .collect()
}

fn bench_of(params: &Params, heads: usize, spans: usize, start: usize, kv_splits: usize) -> Bench {
    let (rank, dim) = (params.int("kv_lora_rank"), params.int("kv_lora_rank") + params.int("qk_rope_head_dim"));
    let step = StepCase::new(64, &vec![(start, 1); spans], 1);
    let mut dims = dims(&step, heads);
    dims.push(("kv_splits", kv_splits as u64));
    let element = if params.name("kv_dtype") == "bf16" { 2 } else { 1 };
    let args = vec![
        ("q_latent", Value::Random(2 * spans * heads * dim)),
        ("cache", Value::Random(step.pages * step.page_size * dim * element)),
        ("o_latent", Value::Zeros(2 * spans * heads * rank)),
        ("scale", Value::Float(0.1)),
        ("workspace", Value::Zeros(4 * spans * heads * kv_splits * (rank + 2))),
        ("kv_splits", Value::Int(kv_splits as i64)),
        ("num_attention_heads", Value::Int(heads as i64)),
        ("step", Value::Step(step)),
    ];
    Bench { name: format!("{heads} heads, {spans} x {}", start + 1), dims, args }
}
