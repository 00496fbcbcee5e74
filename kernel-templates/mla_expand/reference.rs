//! Keys and values of whole contexts: spans packed one after another, ranges of spans and heads, rows past the last span, which stay.

#[path = "../mla_decode/exact.rs"]
#[allow(dead_code)]
mod exact;

use exact::{Cache, bf16_values, dims, product};
use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, Value};

/// What one launch serves.
struct Pass {
    first_span: usize,
    spans: usize,
    first_head: usize,
    heads: usize,
}

/// Contexts of each phase fill more than one tile of rows, which holds several of them.
pub fn cases(params: &Params) -> Vec<Case> {
    let spans = [(0, 2), (97, 1), (60, 40), (3, 1), (28, 3), (40, 1)];
    let mut broken = StepCase::new(16, &spans, 9);
    let sequence = phase_spans(params, &broken)[0];
    broken.table[sequence * broken.table_stride] = -1;
    vec![
        case(
            params,
            "all spans and heads",
            2,
            StepCase::new(16, &spans, 5).padded(51),
            Pass { first_span: 0, spans: 3, first_head: 0, heads: 2 },
            0,
        ),
        case(
            params,
            "some spans and heads",
            4,
            StepCase::new(48, &spans, 6),
            Pass { first_span: 1, spans: 2, first_head: 1, heads: 2 },
            0,
        ),
        case(
            params,
            "one span",
            1,
            StepCase::new(64, &[(5, 130), (70, 1)], 7),
            Pass { first_span: 0, spans: 1, first_head: 0, heads: 1 },
            0,
        ),
        case(params, "a page that is none", 1, broken, Pass { first_span: 0, spans: 2, first_head: 0, heads: 1 }, 2),
    ]
}

fn phase_spans(params: &Params, step: &StepCase) -> Vec<usize> {
    if params.name("phase") == "prefill" { step.prefill() } else { step.decode() }
}

fn case(params: &Params, name: &str, all_heads: usize, step: StepCase, pass: Pass, error: u32) -> Case {
    let (nope, rope, v, rank) =
        (params.int("qk_nope_head_dim"), params.int("qk_rope_head_dim"), params.int("v_head_dim"), params.int("kv_lora_rank"));
    let mut random = Random::new((step.rows + all_heads) as u64);
    let cache = Cache::new(params.name("kv_dtype"), &step, rank + rope, &mut random);
    let (w_k, w_v) = (random.bf16(all_heads * nope * rank, 0.1), random.bf16(all_heads * v * rank, 0.1));
    let served = &phase_spans(params, &step)[pass.first_span..][..pass.spans];
    let context = |sequence: usize| step.spans[sequence].0 + step.spans[sequence].1;
    let context_rows = served.iter().map(|&s| context(s)).sum::<usize>() + 5;
    let key = nope + rope;
    let (old_keys, old_values) =
        (random.bf16(pass.heads * context_rows * key, 1.0), random.bf16(pass.heads * context_rows * v, 1.0));
    let (of_keys, of_values) = (bf16_values(&w_k), bf16_values(&w_v));
    let (mut keys, mut values) = (bf16_values(&old_keys), bf16_values(&old_values));
    let (mut key_bounds, mut value_bounds) = (vec![0.0; keys.len()], vec![0.0; values.len()]);
    let mut row = 0;
    for (i, &sequence) in served.iter().enumerate() {
        for position in 0..context(sequence) {
            // The first page of the first span of the broken case is none.
            let lost = error != 0 && i == 0;
            for head in 0..pass.heads {
                let (key_at, value_at) = ((head * context_rows + row) * key, (head * context_rows + row) * v);
                if lost {
                    keys[key_at..][..key].fill(f64::NAN);
                    values[value_at..][..v].fill(f64::NAN);
                    continue;
                }
                let latent = cache.latent(&step, sequence, position);
                let from = pass.first_head + head;
                let (sums, bounds) = product(&latent[..rank], nope, |r, n| of_keys[(from * nope + n) * rank + r]);
                keys[key_at..][..nope].copy_from_slice(&sums);
                key_bounds[key_at..][..nope].copy_from_slice(&bounds);
                // Copied; bf16 holds what was fp8.
                keys[key_at + nope..][..rope].copy_from_slice(&latent[rank..]);
                let (sums, bounds) = product(&latent[..rank], v, |r, column| of_values[(from * v + column) * rank + r]);
                values[value_at..][..v].copy_from_slice(&sums);
                value_bounds[value_at..][..v].copy_from_slice(&bounds);
            }
            row += 1;
        }
    }
    let expected = vec![
        Expected { arg: "keys", values: keys, bounds: key_bounds, depth: rank },
        Expected { arg: "values", values, bounds: value_bounds, depth: rank },
    ];
    let memory = [Value::Bf16(w_k), Value::Bf16(w_v), Value::Bf16(old_keys), Value::Bf16(old_values)];
    let (dims, args) = launch(step, all_heads, pass, context_rows, cache.value, memory);
    Case { name: name.to_owned(), dims, args, expected, error }
}

type Named<T> = Vec<(&'static str, T)>;

fn launch(
    step: StepCase,
    all_heads: usize,
    pass: Pass,
    context_rows: usize,
    cache: Value,
    memory: [Value; 4],
) -> (Named<u64>, Named<Value>) {
    let mut dims = dims(&step, all_heads);
    dims.extend([
        ("spans_of_pass", pass.spans as u64),
        ("heads_of_pass", pass.heads as u64),
        ("context_rows", context_rows as u64),
    ]);
    let [w_k, w_v, keys, values] = memory;
    let int = |x: usize| Value::Int(x as i64);
    let args = vec![
        ("step", Value::Step(step)),
        ("cache", cache),
        ("w_k", w_k),
        ("w_v", w_v),
        ("keys", keys),
        ("values", values),
        ("first_span", int(pass.first_span)),
        ("first_head", int(pass.first_head)),
        ("spans_of_pass", int(pass.spans)),
        ("heads_of_pass", int(pass.heads)),
        ("context_rows", int(context_rows)),
    ];
    (dims, args)
}

/// Whole prompts of 4k and 16k, for decode spans the contexts of 64 sequences.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (nope, rope, v, rank) =
        (params.int("qk_nope_head_dim"), params.int("qk_rope_head_dim"), params.int("v_head_dim"), params.int("kv_lora_rank"));
    let heads = exact::heads_of_bench(params);
    let element = if params.name("kv_dtype") == "bf16" { 2 } else { 1 };
    let size = |spans: &[(usize, usize)]| {
        let step = StepCase::new(64, spans, 1);
        let context_rows = spans.iter().map(|(start, tokens)| start + tokens).sum::<usize>();
        let cache = Value::Random(step.pages * step.page_size * (rank + rope) * element);
        let memory = [
            Value::Random(2 * heads * nope * rank),
            Value::Random(2 * heads * v * rank),
            Value::Zeros(2 * heads * context_rows * (nope + rope)),
            Value::Zeros(2 * heads * context_rows * v),
        ];
        let pass = Pass { first_span: 0, spans: spans.len(), first_head: 0, heads };
        let (dims, args) = launch(step, heads, pass, context_rows, cache, memory);
        Bench { name: format!("{heads} heads, {context_rows} rows"), dims, args }
    };
    match params.name("phase") {
        "prefill" => vec![size(&[(0, 4096)]), size(&[(0, 16384)])],
        _ => vec![size(&[(255, 1); 64])],
    }
}
