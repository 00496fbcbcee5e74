//! Draws of tokens: temperature first, then top_k, then top_p, in double precision and by sorting.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, Value};

/// How the tokens of a row are drawn: temperature, top_k, top_p.
const SETTINGS: [(f32, i32, f32); 12] = [
    (0.0, 0, 1.0),
    (1.0, 1, 1.0),
    (1.0, 0, 1.0),
    (0.7, 0, 1.0),
    (1.0, 5, 1.0),
    (1.5, 40, 1.0),
    (1.0, 0, 0.9),
    (0.8, 0, 0.3),
    (2.0, 0, 0.999),
    (1.0, 20, 0.8),
    (0.6, 100_000, 0.95),
    (1.0, 2, 0.01),
];

/// For vocabularies that are wide: every way through the kernel, in fewer rows.
const WIDE: [(f32, i32, f32); 8] = [
    (1.0, 50, 0.9),
    (0.7, 0, 0.5),
    (1.0, 0, 1.0),
    (0.0, 0, 1.0),
    (1.0, 400, 1.0),
    (1.3, 5000, 0.5),
    (0.01, 0, 0.9),
    (1.0, 0, 1e-6),
];

/// The logits of a row.
type Logits = fn(&mut Random, usize) -> Vec<f32>;

/// Vocabularies with and without a tail; spread and flat logits, with ties, and rows that no token can be drawn from.
pub fn cases(_: &Params) -> Vec<Case> {
    let spread: Logits = |random, vocab| random.numbers(vocab, 8.0);
    let ties: Logits = |random, vocab| (0..vocab).map(|_| random.below(6) as f32).collect();
    let equal: Logits = |_, vocab| vec![-2.5; vocab];
    let mut cases = Vec::new();
    for vocab in [7, 1000, 5003] {
        cases.push(case("spread logits", vocab, 48, &SETTINGS, spread));
        cases.push(case("logits with ties", vocab, 48, &SETTINGS, ties));
        cases.push(case("equal logits", vocab, 48, &SETTINGS, equal));
        cases.push(case("most of it masked", vocab, 48, &SETTINGS, |random, vocab| {
            (0..vocab).map(|i| if i % 5 == 3 { 4.0 * random.unit() } else { f32::NEG_INFINITY }).collect()
        }));
    }
    cases.push(case("a batch of all kinds", 2052, 64, &[&SETTINGS[..], &WIDE[..]].concat(), spread));
    cases.push(case("a wide vocabulary", 262_144, 8, &WIDE, spread));
    cases.push(case("a wide vocabulary of ties", 40_001, 8, &WIDE, ties));
    cases.push(case("a nucleus of equals", 40_001, 4, &[(1.0, 0, 0.5)], equal));
    // More of them than are compared with each other, and down to the last bits of their keys.
    cases.push(case("logits that hardly differ", 30_002, 8, &WIDE, |random, vocab| {
        (0..vocab).map(|_| 9.0 + random.below(3000) as f32 / 1048576.0).collect()
    }));
    // The 50th most likely is one of many equals, of both signs of zero.
    cases.push(case("ties at the cut", 20_000, 8, &[(1.0, 50, 1.0), (1.0, 50, 0.9)], |random, vocab| {
        (0..vocab).map(|i| if i % 431 == 7 { 1.0 + random.unit().abs() } else { [0.0, -0.0, -1.0][random.below(3)] }).collect()
    }));
    cases
}

fn case(name: &str, vocab: usize, launched: usize, settings: &[(f32, i32, f32)], logits: Logits) -> Case {
    let mut random = Random::new(vocab as u64);
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    let (mut temperature, mut top_k, mut top_p, mut numbers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for setting in 0..launched {
        let (t, k, p) = settings[setting % settings.len()];
        let mut row = logits(&mut random, vocab);
        // The ends of the range too.
        let number = match setting / SETTINGS.len() {
            0 => 0.0,
            1 => 1.0 - 1.0 / (1u32 << 24) as f32,
            _ => random.unit().abs().min(0.999),
        };
        if launched == 48 && setting == 2 {
            row[vocab / 2] = f32::NAN;
        }
        values.push(drawn(&row, t, k as usize, p, number));
        rows.push(row);
        temperature.push(t);
        top_k.push(k);
        top_p.push(p);
        numbers.push(number);
    }
    values.push(77.0);
    let bounds = vec![0.0; values.len()];
    let memory = [
        Value::F32(rows.concat()),
        Value::F32(temperature),
        Value::I32(top_k),
        Value::F32(top_p),
        Value::F32(numbers),
        Value::I32(vec![77; launched + 1]),
    ];
    let expected = vec![Expected { arg: "ids", values, bounds, depth: vocab }];
    let dims = vec![("logit_rows", launched as u64), ("vocab", vocab as u64)];
    Case { name: format!("{name}, {vocab}"), dims, args: args(memory, vocab, launched), expected, error: 0 }
}

/// The token; -0 and 0 are equal. NaN, which allows any, where a boundary is closer than f32 probabilities are right: exponentials of
/// arguments up to 40 that are rounded once are within 50 u, and so are their sums.
fn drawn(logits: &[f32], temperature: f32, top_k: usize, top_p: f32, number: f32) -> f64 {
    const CLOSE: f64 = 1e-5;
    if logits.iter().any(|l| l.is_nan() || *l == f32::INFINITY) {
        return -1.0;
    }
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let Some(best) = logits.iter().position(|&l| l == largest && l > f32::NEG_INFINITY) else { return -1.0 };
    if temperature == 0.0 || top_k == 1 {
        return best as f64;
    }
    let weight = |id: usize| ((f64::from(logits[id]) - f64::from(largest)) / f64::from(temperature)).exp();
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].partial_cmp(&logits[a]).expect("a number").then(a.cmp(&b)));
    if top_k > 0 && top_k < order.len() {
        order.truncate(top_k);
    }
    let total: f64 = order.iter().map(|&id| weight(id)).sum();
    let mut mass = total;
    if top_p < 1.0 {
        let wanted = f64::from(top_p) * total;
        let (mut running, mut kept) = (0.0, 0);
        while kept < order.len() && running < wanted {
            if (running + weight(order[kept]) - wanted).abs() < CLOSE * total {
                return f64::NAN;
            }
            running += weight(order[kept]);
            kept += 1;
        }
        order.truncate(kept);
        mass = running;
    } else {
        order.sort_unstable();
    }
    let target = f64::from(number) * mass;
    let mut running = 0.0;
    for &id in &order {
        let before = running;
        running += weight(id);
        // The first and the last boundary are exact.
        let close = |boundary: f64| boundary > 0.0 && boundary < mass * (1.0 - 1e-9) && (boundary - target).abs() < CLOSE * mass;
        if weight(id) > 0.0 && (close(before) || close(running)) {
            return f64::NAN;
        }
        if running > target {
            // Tokens whose mass is below what is resolved may stand at either end.
            return if weight(id) < CLOSE * mass { f64::NAN } else { id as f64 };
        }
    }
    f64::NAN
}

fn args(memory: [Value; 6], vocab: usize, rows: usize) -> Vec<(&'static str, Value)> {
    let names = ["logits", "temperature", "top_k", "top_p", "random", "ids"];
    let mut args: Vec<(&'static str, Value)> = names.into_iter().zip(memory).collect();
    args.push(("vocab", Value::Int(vocab as i64)));
    args.push(("rows", Value::Int(rows as i64)));
    args
}

/// One row, and many, with a nucleus of the most likely, of all, and without one.
pub fn bench(_: &Params) -> Vec<Bench> {
    let bench = |rows: usize, vocab: usize, top_k: i32, top_p: f32| {
        let logits = Random::new(1).numbers(vocab, 12.0);
        let memory = [
            Value::F32(logits.repeat(rows)),
            Value::F32(vec![0.8; rows]),
            Value::I32(vec![top_k; rows]),
            Value::F32(vec![top_p; rows]),
            Value::F32(vec![0.5; rows]),
            Value::Zeros(4 * rows),
        ];
        let dims = vec![("logit_rows", rows as u64), ("vocab", vocab as u64)];
        Bench { name: format!("{rows} x {vocab}, top_k {top_k}, top_p {top_p}"), dims, args: args(memory, vocab, rows) }
    };
    let mut benches: Vec<Bench> = [1, 16, 64].into_iter().map(|rows| bench(rows, 151_936, 50, 0.9)).collect();
    benches.extend([bench(16, 151_936, 0, 0.9), bench(16, 151_936, 0, 1.0), bench(16, 262_144, 5000, 0.5)]);
    benches
}
