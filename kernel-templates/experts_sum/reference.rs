//! What `experts_sum` must compute: for each token the sum of weight times part over its routes; zeros for padded rows.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, U, U_BF16, Value, bf16, from_bf16, products, rounding};

/// Cases of an instance.
pub fn cases(params: &Params) -> Vec<Case> {
    vec![
        case(params, 5, 3, 1030, 4, "no whole vectors, a padded row"),
        case(params, 3, 22, 2052, 3, "many routes, more than one block of a row"),
        case(params, 1, 1, 3, 1, "one route"),
    ]
}

fn case(params: &Params, rows: usize, top_k: usize, hidden: usize, tokens: usize, what: &str) -> Case {
    let (narrow_parts, narrow_out) = (params.name("rows_dtype") == "bf16", params.name("out_dtype") == "bf16");
    let mut random = Random::new((rows * hidden) as u64);
    let weights = random.numbers(rows * top_k, 1.0);
    let ids: Vec<i32> = (0..rows * top_k).map(|p| if p / top_k < tokens { random.below(64) as i32 } else { -1 }).collect();
    // Parts of padded rows were never written: they may be anything.
    let part = |p: usize, x: f32| if ids[p / hidden] < 0 { f32::NAN } else { x };
    let parts: Vec<f32> = random.numbers(rows * top_k * hidden, 2.0).into_iter().enumerate().map(|(p, x)| part(p, x)).collect();
    let narrow = bf16(parts.iter().copied());
    let exact = |p: usize| if narrow_parts { from_bf16(narrow[p]) } else { f64::from(parts[p]) };
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for row in 0..rows {
        for column in 0..hidden {
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for k in 0..if row < tokens { top_k } else { 0 } {
                let term = f64::from(weights[row * top_k + k]) * exact((row * top_k + k) * hidden + column);
                sum += term;
                magnitude += term.abs();
            }
            let bound = products(top_k, magnitude);
            values.push(sum);
            bounds.push(bound + rounding(if narrow_out { U_BF16 } else { U }, sum.abs() + bound));
        }
    }
    // A row after the last shows what is written too far.
    values.extend(vec![77.0; hidden]);
    bounds.extend(vec![0.0; hidden]);
    let before = vec![77.0; (rows + 1) * hidden];
    let args = vec![
        ("weights", Value::F32(weights)),
        ("ids", Value::I32(ids)),
        ("parts", if narrow_parts { Value::Bf16(narrow) } else { Value::F32(parts) }),
        ("out", if narrow_out { Value::Bf16(bf16(before)) } else { Value::F32(before) }),
        ("hidden", Value::Int(hidden as i64)),
        ("top_k", Value::Int(top_k as i64)),
        ("rows", Value::Int(rows as i64)),
    ];
    let expected = vec![Expected { arg: "out", values, bounds, depth: top_k }];
    Case { name: format!("{rows} x {top_k} x {hidden}: {what}"), dims: dims(rows, top_k, hidden), args, expected, error: 0 }
}

fn dims(rows: usize, top_k: usize, hidden: usize) -> Vec<(&'static str, u64)> {
    vec![("tokens", rows as u64), ("top_k", top_k as u64), ("hidden", hidden as u64)]
}

/// A decode step, and prefill.
pub fn bench(params: &Params) -> Vec<Bench> {
    let size = |name: &str| if params.name(name) == "bf16" { 2 } else { 4 };
    let one = |(rows, top_k, hidden): (usize, usize, usize)| {
        let args = vec![
            ("weights", Value::F32(vec![0.125; rows * top_k])),
            ("ids", Value::I32(vec![1; rows * top_k])),
            ("parts", Value::Random(size("rows_dtype") * rows * top_k * hidden)),
            ("out", Value::Zeros(size("out_dtype") * rows * hidden)),
            ("hidden", Value::Int(hidden as i64)),
            ("top_k", Value::Int(top_k as i64)),
            ("rows", Value::Int(rows as i64)),
        ];
        Bench { name: format!("{rows} tokens of {top_k} routes, {hidden}"), dims: dims(rows, top_k, hidden), args }
    };
    [(1, 8, 2048), (16, 8, 3072), (4096, 8, 2048)].map(one).into()
}
