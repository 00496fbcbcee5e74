//! Attention of spans of one token: contexts of few and many tiles, more parts than tiles and fewer, windows, sinks and soft caps.

#[path = "../attention_prefill/exact.rs"]
mod exact;

use exact::{Options, Problem};
use tenon_device_cases::{Bench, Case, Expected, Params, StepCase, Value};

const HEADS: usize = 2;

/// Contexts around the edges of tiles and pages, beside a span of several tokens and padded rows, whose output stays.
pub fn cases(params: &Params) -> Vec<Case> {
    let options = Options::default();
    let windowed = |window| Options { window, ..Options::default() };
    let case = |name: &str, page_size, spans: &[(usize, usize)], kv_splits, options: Options| {
        let rows = spans.iter().map(|(_, tokens)| tokens).sum::<usize>() + 2;
        finish(params, name, Problem::new(params, HEADS, StepCase::new(page_size, spans, 17).padded(rows), options), kv_splits, 0)
    };
    let broken = Problem::new(params, HEADS, StepCase::new(16, &[(40, 1)], 3), options.clone()).break_page(0, 1);
    let edges = [(0, 1), (15, 1), (16, 1), (33, 3), (62, 1), (63, 1), (64, 1), (700, 1), (191, 1)];
    vec![
        case("one part", 16, &edges, 1, options.clone()),
        case("three parts", 48, &edges, 3, options.clone()),
        case("more parts than tiles", 64, &edges, 61, options.clone()),
        case("one token seen", 16, &edges, 2, windowed(1)),
        case("a window within a tile, sinks", 48, &edges, 2, Options { sinks: true, ..windowed(13) }),
        case("a window over tiles, sinks", 16, &[(500, 1), (2, 1)], 3, Options { sinks: true, ..windowed(300) }),
        case("sinks, one part", 64, &edges, 1, Options { sinks: true, ..Options::default() }),
        case("soft cap", 16, &[(333, 1), (9, 1)], 4, Options { soft_cap: 3.0, ..Options::default() }),
        finish(params, "a page that is none", broken, 2, 2),
    ]
}

fn finish(params: &Params, name: &str, problem: Problem, kv_splits: usize, error: u32) -> Case {
    let step = &problem.step;
    let served = step.decode();
    let (values, bounds) = problem.out(&served);
    let context = step.spans.iter().map(|(start, tokens)| start + tokens).max().unwrap_or(0);
    // Padded rows have entries of -1 among the spans.
    let spans = served.len() + step.rows - step.tokens();
    let dims = vec![
        ("tokens", step.rows as u64),
        ("sequences", step.spans.len() as u64),
        ("decode_spans", spans as u64),
        ("context", context as u64),
        ("pages", step.pages as u64),
        ("page_size", step.page_size as u64),
        ("kv_splits", kv_splits as u64),
        ("num_key_value_heads", problem.heads as u64),
    ];
    let mut args = problem.args();
    let workspace = spans * problem.heads * params.int("group") * kv_splits * (params.int("head_dim") + 2);
    // A part that was not written must not be read.
    args.push(("workspace", Value::F32(vec![f32::NAN; workspace])));
    args.push(("counters", Value::U32(vec![0; spans * problem.heads])));
    args.push(("kv_splits", Value::Int(kv_splits as i64)));
    let zeros = vec![0.0; spans * problem.heads];
    let expected = vec![
        Expected { arg: "out", values, bounds, depth: context },
        Expected { arg: "counters", values: zeros.clone(), bounds: zeros, depth: 1 },
    ];
    Case { name: name.to_owned(), dims, args, expected, error }
}

/// 64 sequences and one, of 8k tokens.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (head_dim, group) = (params.int("head_dim"), params.int("group"));
    let heads = if head_dim >= 256 { 4 } else { 8 };
    let element = if params.name("kv_dtype") == "bf16" { 2 } else { 1 };
    let bench = |sequences: usize, context: usize, kv_splits: usize| {
        let step = StepCase::new(64, &vec![(context - 1, 1); sequences], 1);
        let len = sequences * heads * group * head_dim;
        let args = vec![
            ("q", Value::Random(2 * len)),
            ("kv", Value::Random(step.pages * 2 * heads * step.page_size * head_dim * element)),
            ("sinks", Value::Null),
            ("out", Value::Zeros(2 * len)),
            ("scale", Value::Float(1.0 / (head_dim as f32).sqrt())),
            ("window", Value::Int(0)),
            ("soft_cap", Value::Float(0.0)),
            ("workspace", Value::Zeros(4 * sequences * heads * group * kv_splits * (head_dim + 2))),
            ("counters", Value::Zeros(4 * sequences * heads)),
            ("kv_splits", Value::Int(kv_splits as i64)),
            ("num_key_value_heads", Value::Int(heads as i64)),
            ("step", Value::Step(step)),
        ];
        let dims = vec![
            ("tokens", sequences as u64),
            ("sequences", sequences as u64),
            ("decode_spans", sequences as u64),
            ("context", context as u64),
            ("kv_splits", kv_splits as u64),
            ("num_key_value_heads", heads as u64),
        ];
        Bench { name: format!("{sequences} x {context}, {kv_splits} parts"), dims, args }
    };
    vec![bench(64, 8192, 2), bench(64, 8192, 4), bench(64, 8192, 8), bench(1, 8192, 32), bench(1, 8192, 64)]
}
