//! What `expert_tiles` must write: the pairs of each expert in their order, where each expert begins, and its tiles of 128.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, Value};

/// What stands in memory that nothing may write.
const BEFORE: i32 = -7;

/// Cases of an instance.
pub fn cases(params: &Params) -> Vec<Case> {
    let experts = params.int("experts");
    vec![
        case(experts, 1, 1, 1, 0, "one pair"),
        case(experts, 17, experts.min(3), 17, 0, "fewer pairs than threads"),
        case(experts, 700, experts.min(4), 690, 0, "stretches of several warps, padded rows"),
        case(experts, 515, experts.min(2), 515, 3, "most pairs at one expert: several of its tiles"),
        case(experts, 1111, 1, 1100, 1, "all pairs at one expert"),
    ]
}

/// Distinct experts for each token, none for padded rows. All but one of `spread` tokens go to expert 1 first (0: none do so).
fn ids(experts: usize, rows: usize, top_k: usize, tokens: usize, spread: usize, random: &mut Random) -> Vec<i32> {
    let mut ids = Vec::new();
    for row in 0..rows {
        let mut order = random.shuffled(experts);
        if spread == 1 || spread > 1 && row % spread != 0 {
            order.retain(|&e| e != 1 % experts);
            order.insert(0, 1 % experts);
        }
        ids.extend(order[..top_k].iter().map(|&e| if row < tokens { e as i32 } else { -1 }));
    }
    ids
}

fn case(experts: usize, rows: usize, top_k: usize, tokens: usize, spread: usize, what: &str) -> Case {
    let ids = ids(experts, rows, top_k, tokens, spread, &mut Random::new((experts + rows) as u64));
    let pairs = rows * top_k;
    let (mut order, mut offsets, mut tiles) = (Vec::new(), vec![0], Vec::new());
    for e in 0..experts {
        let first = order.len();
        order.extend((0..pairs).filter(|&p| ids[p] == e as i32).map(|p| p as f64));
        offsets.push(order.len());
        (first..order.len()).step_by(128).for_each(|place| tiles.extend([e as f64, place as f64]));
    }
    let most = pairs.min(pairs.div_ceil(128) + experts);
    assert!(tiles.len() <= 2 * most, "the bound of the tiles holds");
    while tiles.len() < 2 * most {
        tiles.extend([-1.0, 0.0]);
    }
    // Places that no pair has stay as they are, and so does what follows each array.
    order.resize(pairs + 1, f64::from(BEFORE));
    tiles.push(f64::from(BEFORE));
    let mut offsets: Vec<f64> = offsets.into_iter().map(|at| at as f64).collect();
    offsets.push(f64::from(BEFORE));
    let memory = |values: &[f64]| Value::I32(vec![BEFORE; values.len()]);
    let args = vec![
        ("ids", Value::I32(ids)),
        ("order", memory(&order)),
        ("offsets", memory(&offsets)),
        ("tiles", memory(&tiles)),
        ("top_k", Value::Int(top_k as i64)),
        ("rows", Value::Int(rows as i64)),
    ];
    let exactly = |arg, values: Vec<f64>| {
        let bounds = vec![0.0; values.len()];
        Expected { arg, values, bounds, depth: 1 }
    };
    let expected = vec![exactly("order", order), exactly("offsets", offsets), exactly("tiles", tiles)];
    let name = format!("{rows} rows, {top_k} of {experts}: {what}");
    Case { name, dims: dims(experts, top_k, rows), args, expected, error: 0 }
}

fn dims(experts: usize, top_k: usize, rows: usize) -> Vec<(&'static str, u64)> {
    vec![("tokens", rows as u64), ("experts", experts as u64), ("top_k", top_k as u64)]
}

/// Prefill steps.
pub fn bench(params: &Params) -> Vec<Bench> {
    let experts = params.int("experts");
    let one = |rows: usize| {
        let top_k = experts.min(8);
        let pairs = rows * top_k;
        let args = vec![
            ("ids", Value::I32(ids(experts, rows, top_k, rows, 0, &mut Random::new(1)))),
            ("order", Value::Zeros(4 * pairs)),
            ("offsets", Value::Zeros(4 * (experts + 1))),
            ("tiles", Value::Zeros(8 * pairs.min(pairs.div_ceil(128) + experts))),
            ("top_k", Value::Int(top_k as i64)),
            ("rows", Value::Int(rows as i64)),
        ];
        Bench { name: format!("{rows} tokens"), dims: dims(experts, top_k, rows), args }
    };
    [64, 512, 4096].map(one).into()
}
