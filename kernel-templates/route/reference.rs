//! What `route` must choose: experts by score and bias, among the best groups, ties to the lower index; and what they weigh.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, U, Value};

const SOFTMAX: i64 = 0;
const SIGMOID: i64 = 1;
const MAX: i64 = 0;
const TOP2: i64 = 1;

/// A router.
#[derive(Clone, Copy)]
struct Rule {
    top_k: usize,
    scores: i64,
    groups: usize,
    top_groups: usize,
    group_score: i64,
    normalise: bool,
    scaling: f32,
}

/// Cases of an instance.
pub fn cases(params: &Params) -> Vec<Case> {
    let experts = params.int("experts");
    let plain = Rule {
        top_k: experts.min(8),
        scores: SOFTMAX,
        groups: 1,
        top_groups: 1,
        group_score: MAX,
        normalise: true,
        scaling: 1.0,
    };
    let most = Rule { top_k: experts.min(32), normalise: false, scaling: 0.5, ..plain };
    let sigmoid = Rule { top_k: experts.min(22), scores: SIGMOID, scaling: 5.0, ..plain };
    let few = Rule { top_k: experts.div_ceil(2).min(6), scores: SIGMOID, normalise: false, ..plain };
    let mut cases = vec![
        case(experts, plain, false, Logits::Apart, "softmax, normalised"),
        case(experts, most, false, Logits::Tied, "equal logits, as many routes as there may be"),
        case(experts, sigmoid, true, Logits::Apart, "sigmoid and bias"),
        case(experts, few, true, Logits::SomeNan, "logits that are no numbers"),
    ];
    if let Some(groups) = [8, 4, 2].into_iter().find(|g| experts.is_multiple_of(*g) && experts / g >= 2) {
        let top_groups = groups / 2;
        let top_k = (experts / groups * top_groups).min(8);
        let grouped = Rule { top_k, groups, top_groups, ..sigmoid };
        cases.push(case(experts, Rule { group_score: TOP2, ..grouped }, true, Logits::Apart, "groups by their two best"));
        cases.push(case(experts, Rule { scores: SOFTMAX, ..grouped }, false, Logits::Apart, "groups by their best"));
        // Every token has the same few values: groups are equal too.
        cases.push(case(experts, Rule { group_score: TOP2, ..grouped }, false, Logits::Tied, "equal groups"));
    }
    cases
}

/// How logits are drawn.
#[derive(Clone, Copy, PartialEq)]
enum Logits {
    Apart,
    Tied,
    SomeNan,
}

fn case(experts: usize, rule: Rule, with_bias: bool, kind: Logits, what: &str) -> Case {
    // Rows of several blocks, a part of the last one, and padding.
    let (tokens, rows) = (9, 11);
    let mut random = Random::new((experts + rule.top_k) as u64);
    let step = StepCase::new(16, &[(3, 5), (0, 4)], 1).padded(rows);
    let bias = with_bias.then(|| random.numbers(experts, 0.5));
    let top_k = rule.top_k;
    // Rows after the last show what is written too far.
    let (mut ids, mut weights) = (vec![-1.0; (rows + 1) * top_k], vec![0.0; (rows + 1) * top_k]);
    let mut bounds = vec![0.0; (rows + 1) * top_k];
    let mut router = Vec::new();
    for row in 0..rows {
        // Drawn again until rounding cannot change what is chosen.
        let (logits, routes) = loop {
            let logits: Vec<f32> = match kind {
                Logits::Apart => random.numbers(experts, 4.0),
                Logits::Tied => (0..experts).map(|_| 0.5 * random.below(4) as f32).collect(),
                Logits::SomeNan => {
                    let mut logits = random.numbers(experts, 4.0);
                    logits[random.below(experts.div_ceil(2))] = f32::NAN;
                    logits
                }
            };
            if let Some(routes) = routes(&logits, bias.as_deref(), rule) {
                break (logits, routes);
            }
        };
        router.extend(logits);
        if row < tokens {
            for (k, (expert, weight, bound)) in routes.into_iter().enumerate() {
                ids[row * top_k + k] = expert as f64;
                weights[row * top_k + k] = weight;
                bounds[row * top_k + k] = bound;
            }
        }
    }
    for k in rows * top_k..(rows + 1) * top_k {
        (ids[k], weights[k]) = (-7.0, 77.0);
    }
    let args = vec![
        ("step", Value::Step(step)),
        ("router", Value::F32(router)),
        ("bias", bias.map_or(Value::Null, Value::F32)),
        ("ids", Value::I32(vec![-7; (rows + 1) * top_k])),
        ("weights", Value::F32(vec![77.0; (rows + 1) * top_k])),
        ("top_k", Value::Int(top_k as i64)),
        ("scores", Value::Int(rule.scores)),
        ("groups", Value::Int(rule.groups as i64)),
        ("top_groups", Value::Int(rule.top_groups as i64)),
        ("group_score", Value::Int(rule.group_score)),
        ("normalise", Value::Int(i64::from(rule.normalise))),
        ("scaling", Value::Float(rule.scaling)),
        ("rows", Value::Int(rows as i64)),
    ];
    let exact = vec![0.0; ids.len()];
    let expected = vec![
        Expected { arg: "ids", values: ids, bounds: exact, depth: experts },
        Expected { arg: "weights", values: weights, bounds, depth: experts },
    ];
    Case { name: format!("{top_k} of {experts}: {what}"), dims: dims(experts, top_k, rows), args, expected, error: 0 }
}

fn dims(experts: usize, top_k: usize, rows: usize) -> Vec<(&'static str, u64)> {
    vec![("tokens", rows as u64), ("experts", experts as u64), ("top_k", top_k as u64)]
}

/// Expert, weight and bound of each route, the best first. None where choices are so close that rounding may change them.
fn routes(logits: &[f32], bias: Option<&[f32]>, rule: Rule) -> Option<Vec<(usize, f64, f64)>> {
    let experts = logits.len();
    let logits: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = logits.iter().map(|x| (x - most).exp()).sum();
    // Relative errors: exponentials are within 4 u and their rounded arguments add as much as these are; a sum of positive terms in
    // any order of the kernel's adds less than 64 u; divisions round.
    let least = logits.iter().copied().fold(f64::INFINITY, f64::min);
    let (score, relative): (Vec<f64>, f64) = match rule.scores {
        SOFTMAX => (logits.iter().map(|x| (x - most).exp() / all).collect(), (2.0 * (most - least) + 80.0) * U),
        _ => (logits.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect(), 8.0 * U),
    };
    let choice: Vec<f64> = (0..experts)
        .map(|e| {
            let choice = score[e] + bias.map_or(0.0, |bias| f64::from(bias[e]));
            if choice.is_nan() { f64::NEG_INFINITY } else { choice }
        })
        .collect();
    // Choices that are not equal must be this far apart; sums of two are twice as far off.
    let apart = |a: f64, b: f64| {
        let infinite = a.is_infinite() || b.is_infinite();
        infinite || a == b || (a - b).abs() > 4.0 * (relative + 4.0 * U) * (a.abs() + b.abs() + 1.0 / experts as f64)
    };
    let mut allowed = vec![true; experts];
    if rule.top_groups < rule.groups {
        let size = experts / rule.groups;
        let of_group: Vec<f64> = choice
            .chunks(size)
            .map(|group| {
                let mut sorted = group.to_vec();
                sorted.sort_by(|a, b| b.total_cmp(a));
                if rule.group_score == TOP2 { sorted[0] + sorted[1] } else { sorted[0] }
            })
            .collect();
        let mut ranked: Vec<usize> = (0..rule.groups).collect();
        ranked.sort_by(|&a, &b| of_group[b].total_cmp(&of_group[a]).then(a.cmp(&b)));
        if !apart(of_group[ranked[rule.top_groups - 1]], of_group[ranked[rule.top_groups]]) {
            return None;
        }
        for &group in &ranked[rule.top_groups..] {
            allowed[group * size..][..size].fill(false);
        }
    }
    let value = |e: usize| if allowed[e] { choice[e] } else { f64::NEG_INFINITY };
    let mut ranked: Vec<usize> = (0..experts).collect();
    ranked.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
    if ranked.windows(2).take(rule.top_k).any(|w| !apart(value(w[0]), value(w[1]))) {
        return None;
    }
    let chosen = &ranked[..rule.top_k];
    let sum: f64 = chosen.iter().map(|&e| score[e]).sum();
    let route = |&e: &usize| {
        let weight = f64::from(rule.scaling) * if rule.normalise { score[e] / (sum + 1e-20) } else { score[e] };
        // The sum has the errors of its terms and one rounding for each; the quotient and the scaling round.
        let bound = weight * (2.0 * relative + (rule.top_k as f64 + 3.0) * U);
        (e, weight, bound)
    };
    Some(chosen.iter().map(route).collect())
}

/// The models' routers, at decode and prefill.
pub fn bench(params: &Params) -> Vec<Bench> {
    let experts = params.int("experts");
    let one = |rows: usize| {
        let top_k = experts.min(8);
        let router = Random::new(1).numbers(rows * experts, 4.0);
        let args = vec![
            ("step", Value::Step(StepCase::new(64, &[(0, rows)], 1))),
            ("router", Value::F32(router)),
            ("bias", Value::Null),
            ("ids", Value::Zeros(4 * rows * top_k)),
            ("weights", Value::Zeros(4 * rows * top_k)),
            ("top_k", Value::Int(top_k as i64)),
            ("scores", Value::Int(SOFTMAX)),
            ("groups", Value::Int(1)),
            ("top_groups", Value::Int(1)),
            ("group_score", Value::Int(MAX)),
            ("normalise", Value::Int(1)),
            ("scaling", Value::Float(1.0)),
            ("rows", Value::Int(rows as i64)),
        ];
        Bench { name: format!("{rows} tokens"), dims: dims(experts, top_k, rows), args }
    };
    [1, 16, 4096].map(one).into()
}
