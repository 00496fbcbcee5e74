//! Causal attention over expanded keys and values: with and without a prefix, over several tiles, ranges of spans and heads.

#[path = "../mla_decode/exact.rs"]
#[allow(dead_code)]
mod exact;

use exact::{attend, bf16_values, dims};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, Value};

/// What one launch serves.
struct Pass {
    first_span: usize,
    spans: usize,
    first_head: usize,
    heads: usize,
}

/// Heads of other passes, spans of the other phase and padded rows stay. What lies past the contexts in the workspace is not a number.
pub fn cases(params: &Params) -> Vec<Case> {
    let spans = [(0, 2), (97, 1), (60, 140), (3, 1), (28, 3), (200, 1)];
    let edges = [(0, 64), (63, 1), (0, 65), (64, 1), (63, 2), (127, 1), (126, 2), (128, 1), (128, 2), (0, 1)];
    let count = |step: &StepCase| phase_spans(params, step).len();
    let (all, other, edge) =
        (StepCase::new(16, &spans, 5).padded(150), StepCase::new(48, &spans, 6), StepCase::new(64, &edges, 7));
    let (every, every_edge) = (count(&all), count(&edge));
    vec![
        case(params, "all spans and heads", 2, all, Pass { first_span: 0, spans: every, first_head: 0, heads: 2 }),
        case(params, "some spans and heads", 4, other, Pass { first_span: 1, spans: every - 1, first_head: 2, heads: 1 }),
        case(
            params,
            "contexts around the edges of tiles",
            1,
            edge,
            Pass { first_span: 0, spans: every_edge, first_head: 0, heads: 1 },
        ),
    ]
}

fn phase_spans(params: &Params, step: &StepCase) -> Vec<usize> {
    if params.name("phase") == "prefill" { step.prefill() } else { step.decode() }
}

fn case(params: &Params, name: &str, all_heads: usize, step: StepCase, pass: Pass) -> Case {
    let (key, v) = (params.int("qk_nope_head_dim") + params.int("qk_rope_head_dim"), params.int("v_head_dim"));
    let mut random = Random::new((step.rows + all_heads) as u64);
    let served = phase_spans(params, &step)[pass.first_span..][..pass.spans].to_vec();
    let context = |sequence: usize| step.spans[sequence].0 + step.spans[sequence].1;
    let used: usize = served.iter().map(|&s| context(s)).sum();
    let context_rows = used + 5;
    let q = random.bf16(step.rows * all_heads * key, 1.0);
    let (mut keys, mut values) =
        (random.bf16(pass.heads * context_rows * key, 1.0), random.bf16(pass.heads * context_rows * v, 1.0));
    for head in 0..pass.heads {
        keys[(head * context_rows + used) * key..(head + 1) * context_rows * key].fill(0x7fc0);
        values[(head * context_rows + used) * v..(head + 1) * context_rows * v].fill(0x7fc0);
    }
    let old = random.bf16(step.rows * all_heads * v, 1.0);
    let scale = 4.0 / (key as f32).sqrt();
    let (queries, exact_keys, exact_values, mut out) =
        (bf16_values(&q), bf16_values(&keys), bf16_values(&values), bf16_values(&old));
    let mut bounds = vec![0.0; out.len()];
    let first_rows = step.first();
    let (mut offset, mut longest) = (0, 0);
    for &sequence in &served {
        let (start, tokens) = step.spans[sequence];
        longest = longest.max(start + tokens);
        for head in 0..pass.heads {
            let row = |p: usize| head * context_rows + offset + p;
            let of_head: Vec<&[f64]> = (0..start + tokens).map(|p| &exact_keys[row(p) * key..][..key]).collect();
            let to_gather: Vec<&[f64]> = (0..start + tokens).map(|p| &exact_values[row(p) * v..][..v]).collect();
            for token in 0..tokens {
                let at = (first_rows[sequence] + token) * all_heads + pass.first_head + head;
                let seen = start + token + 1;
                let one = attend(&queries[at * key..][..key], &of_head[..seen], &to_gather[..seen], f64::from(scale));
                out[at * v..][..v].copy_from_slice(&one.out);
                bounds[at * v..][..v].copy_from_slice(&one.out_bounds);
            }
        }
        offset += start + tokens;
    }
    let memory = [Value::Bf16(q), Value::Bf16(keys), Value::Bf16(values), Value::Bf16(old)];
    let (dims, args) = launch(step, all_heads, pass, context_rows, scale, memory);
    Case {
        name: name.to_owned(),
        dims,
        args,
        expected: vec![Expected { arg: "attn", values: out, bounds, depth: longest }],
        error: 0,
    }
}

type Named<T> = Vec<(&'static str, T)>;

fn launch(
    step: StepCase,
    all_heads: usize,
    pass: Pass,
    context_rows: usize,
    scale: f32,
    memory: [Value; 4],
) -> (Named<u64>, Named<Value>) {
    let mut dims = dims(&step, all_heads);
    dims.extend([
        ("spans_of_pass", pass.spans as u64),
        ("heads_of_pass", pass.heads as u64),
        ("context_rows", context_rows as u64),
    ]);
    let [q, keys, values, attn] = memory;
    let int = |x: usize| Value::Int(x as i64);
    let args = vec![
        ("step", Value::Step(step)),
        ("q", q),
        ("keys", keys),
        ("values", values),
        ("attn", attn),
        ("scale", Value::Float(scale)),
        ("first_span", int(pass.first_span)),
        ("first_head", int(pass.first_head)),
        ("spans_of_pass", int(pass.spans)),
        ("heads_of_pass", int(pass.heads)),
        ("context_rows", int(context_rows)),
        ("num_attention_heads", int(all_heads)),
    ];
    (dims, args)
}

/// Whole prompts of 4k and 16k, for decode spans the contexts of 64 sequences.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (nope, rope, v) = (params.int("qk_nope_head_dim"), params.int("qk_rope_head_dim"), params.int("v_head_dim"));
    let heads = if nope < 128 { 32 } else { 128 };
    let size = |spans: &[(usize, usize)]| {
        let step = StepCase::new(64, spans, 1);
        let (rows, context_rows) = (step.rows, spans.iter().map(|(start, tokens)| start + tokens).sum::<usize>());
        let memory = [
            Value::Random(2 * rows * heads * (nope + rope)),
            Value::Random(2 * heads * context_rows * (nope + rope)),
            Value::Random(2 * heads * context_rows * v),
            Value::Zeros(2 * rows * heads * v),
        ];
        let pass = Pass { first_span: 0, spans: spans.len(), first_head: 0, heads };
        let name = format!("{heads} heads, {rows} rows over {context_rows}");
        let (dims, args) = launch(step, heads, pass, context_rows, 0.1, memory);
        Bench { name, dims, args }
    };
    match params.name("phase") {
        "prefill" => vec![size(&[(0, 4096)]), size(&[(0, 16384)])],
        _ => vec![size(&[(255, 1); 64])],
    }
}
