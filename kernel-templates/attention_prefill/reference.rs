//! Attention of spans of several tokens: over tiles and pages, after cached tokens, with windows, sinks and soft caps.

#[path = "exact.rs"]
mod exact;

use exact::{Options, Problem};
use tenon_device_cases::{Bench, Case, Expected, Params, StepCase, Value};

const HEADS: usize = 2;

/// Spans with tails in every direction, beside spans of one token and padded rows, whose output stays.
pub fn cases(params: &Params) -> Vec<Case> {
    let (head_dim, group) = (params.int("head_dim"), params.int("group"));
    // More rows than a tile has, and more tiles of positions than there are stages, for any size of tile at this head size.
    let tokens = 150usize.div_ceil(group) + 2;
    let long = (600 * 128 / head_dim.max(128)).max(200) + 13;
    let options = Options::default();
    let windowed = |window| Options { window, ..Options::default() };
    let case = |name: &str, page_size, spans: &[(usize, usize)], options: Options| {
        let rows = spans.iter().map(|(_, tokens)| tokens).sum::<usize>() + 3;
        finish(name, Problem::new(params, HEADS, StepCase::new(page_size, spans, 11).padded(rows), options), 0)
    };
    let broken = Problem::new(params, HEADS, StepCase::new(16, &[(40, 5)], 3), options.clone()).break_page(0, 1);
    vec![
        case("from an empty cache", 16, &[(0, tokens), (0, 1), (0, 2), (0, 47)], options.clone()),
        case("after cached tokens, pages of 48", 48, &[(5, 3), (long, tokens)], options.clone()),
        case("one token seen", 16, &[(70, 9)], windowed(1)),
        case("a window within a tile", 64, &[(130, tokens), (0, 33)], windowed(21)),
        case("a window over tiles, sinks", 48, &[(long, tokens), (3, 1)], Options { sinks: true, ..windowed(150) }),
        case("sinks", 16, &[(0, 40), (129, 20)], Options { sinks: true, ..Options::default() }),
        case("scores far apart", 48, &[(long, tokens), (0, 140)], Options { far_apart: true, ..Options::default() }),
        case("soft cap", 64, &[(100, 30), (9, 2)], Options { soft_cap: 3.0, ..Options::default() }),
        case("soft cap, window, sinks", 16, &[(300, 17)], Options { soft_cap: 50.0, sinks: true, ..windowed(128) }),
        finish("a page that is none", broken, 2),
    ]
}

fn finish(name: &str, problem: Problem, error: u32) -> Case {
    let step = &problem.step;
    let served = step.prefill();
    let (values, bounds) = problem.out(&served);
    let context = step.spans.iter().map(|(start, tokens)| start + tokens).max().unwrap_or(0);
    let dims = vec![
        ("tokens", step.rows as u64),
        ("sequences", step.spans.len() as u64),
        ("prefill_spans", served.len() as u64),
        ("span_tokens", step.spans.iter().map(|(_, tokens)| *tokens).max().unwrap_or(0) as u64),
        ("context", context as u64),
        ("pages", step.pages as u64),
        ("page_size", step.page_size as u64),
        ("num_key_value_heads", problem.heads as u64),
    ];
    let expected = vec![Expected { arg: "out", values, bounds, depth: context }];
    Case { name: name.to_owned(), dims, args: problem.args(), expected, error }
}

/// One sequence from an empty cache, of 4k and 16k tokens.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (head_dim, group) = (params.int("head_dim"), params.int("group"));
    let heads = if head_dim >= 256 { 4 } else { 8 };
    let element = if params.name("kv_dtype") == "bf16" { 2 } else { 1 };
    let bench = |tokens: usize| {
        let step = StepCase::new(64, &[(0, tokens)], 1);
        let len = tokens * heads * group * head_dim;
        let args = vec![
            ("q", Value::Random(2 * len)),
            ("kv", Value::Random(step.pages * 2 * heads * step.page_size * head_dim * element)),
            ("sinks", Value::Null),
            ("out", Value::Zeros(2 * len)),
            ("scale", Value::Float(1.0 / (head_dim as f32).sqrt())),
            ("window", Value::Int(0)),
            ("soft_cap", Value::Float(0.0)),
            ("num_key_value_heads", Value::Int(heads as i64)),
            ("step", Value::Step(step)),
        ];
        let dims = vec![
            ("tokens", tokens as u64),
            ("sequences", 1),
            ("prefill_spans", 1),
            ("span_tokens", tokens as u64),
            ("context", tokens as u64),
            ("num_key_value_heads", heads as u64),
        ];
        Bench { name: format!("{tokens} tokens, {} of {heads} heads", heads * group), dims, args }
    };
    vec![bench(4096), bench(16384)]
}
