//! The causal convolution over spans of several tokens.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, U_BF16, Value, from_bf16, products, recurrence, to_bf16};

/// What stands in `out` before a launch.
const UNTOUCHED: f32 = 7.0;

/// Spans of several blocks and of fewer tokens than the filter has, new and old, single tokens that another kernel serves, padded rows.
pub fn cases(params: &Params) -> Vec<Case> {
    let step = |spans: &[(usize, usize)]| StepCase::new(48, spans, 4);
    let spans = [(0, 100), (37, 65), (5, 1), (64, 2), (0, 2), (9, 3), (3, 32)];
    let tokens: usize = spans.iter().map(|(_, tokens)| tokens).sum();
    let mut without_state = step(&[(0, 20), (9, 70), (3, 17)]);
    (without_state.slots[0], without_state.slots[1]) = (-1, -1);
    let mut no_slot = step(&[(6, 33)]);
    no_slot.slots[0] = 100;
    vec![
        case(params, "7 spans, bias, 3 padded rows", step(&spans).padded(tokens + 3), 520, true, 0),
        case(params, "spans without a state", without_state, 72, false, 0),
        case(params, "a slot that does not exist", no_slot, 8, false, 4),
    ]
}

fn case(params: &Params, name: &str, step: StepCase, dim: usize, with_bias: bool, error: u32) -> Case {
    let kernel = params.int("conv_kernel");
    let (kept, rows) = (kernel - 1, step.rows);
    let mut random = Random::new(8);
    let x = random.bf16(rows * dim, 2.0);
    let taps = random.numbers(kernel * dim, 1.0);
    let bias = random.numbers(dim, 1.0);
    let before = random.numbers(step.slots_of_pool * kept * dim, 2.0);
    let mut window: Vec<f64> = before.iter().map(|&x| f64::from(x)).collect();
    let mut out = vec![f64::from(UNTOUCHED); rows * dim];
    let mut bounds = vec![0.0; rows * dim];
    let first = step.first();
    for sequence in step.prefill() {
        let (start, tokens) = step.spans[sequence];
        let rows = first[sequence] * dim..(first[sequence] + tokens) * dim;
        let Ok(slot) = usize::try_from(step.slots[sequence]) else {
            out[rows].fill(0.0);
            continue;
        };
        // A slot that does not exist becomes the first.
        let slot = if slot < step.slots_of_pool { slot } else { 0 };
        for channel in 0..dim {
            // The inputs before the span, then its own.
            let mut inputs: Vec<f64> =
                (0..kept).map(|i| if start == 0 { 0.0 } else { window[(slot * kept + i) * dim + channel] }).collect();
            inputs.extend(rows.clone().step_by(dim).map(|row| from_bf16(x[row + channel])));
            for token in 0..tokens {
                let bias = if with_bias { f64::from(bias[channel]) } else { 0.0 };
                let terms = || (0..kernel).map(|tap| f64::from(taps[tap * dim + channel]) * inputs[token + tap]);
                let (sum, size) = (bias + terms().sum::<f64>(), bias.abs() + terms().map(f64::abs).sum::<f64>());
                let value = sum / (1.0 + (-sum).exp());
                // silu is at most 1.1 times as steep as its argument; its own four operations are those of a sum of two exponentials.
                let error = 1.1 * products(kernel + 1, size) + recurrence(2, value, 0.0);
                let i = rows.start + token * dim + channel;
                (out[i], bounds[i]) = (value, error + U_BF16 * (value.abs() + error));
            }
            for i in 0..kept {
                window[(slot * kept + i) * dim + channel] = inputs[tokens + i];
            }
        }
    }
    // Inputs are kept as they are.
    let exact = vec![0.0; window.len()];
    let expected = vec![
        Expected { arg: "out", values: out, bounds, depth: kernel },
        Expected { arg: "window", values: window, bounds: exact, depth: 1 },
    ];
    let dims = dims(&step, dim);
    let args = vec![
        ("step", Value::Step(step)),
        ("x", Value::Bf16(x)),
        ("taps", Value::F32(taps)),
        ("bias", if with_bias { Value::F32(bias) } else { Value::Null }),
        ("window", Value::F32(before)),
        ("out", Value::Bf16(vec![to_bf16(UNTOUCHED); rows * dim])),
        ("dim", Value::Int(dim as i64)),
    ];
    Case { name: name.to_owned(), dims, args, expected, error }
}

fn dims(step: &StepCase, dim: usize) -> Vec<(&'static str, u64)> {
    vec![
        ("tokens", step.rows as u64),
        ("sequences", step.spans.len() as u64),
        ("prefill_spans", step.prefill().len() as u64),
        // Padded rows have entries of -1 among the spans.
        ("decode_spans", (step.decode().len() + step.rows - step.tokens()) as u64),
        ("span_tokens", step.spans.iter().map(|(_, tokens)| *tokens as u64).max().unwrap_or(0)),
        ("slots", step.slots_of_pool as u64),
        ("dim", dim as u64),
    ]
}

/// One long prompt, and several of a usual length.
pub fn bench(params: &Params) -> Vec<Bench> {
    let kernel = params.int("conv_kernel");
    let of = |(sequences, tokens, dim): (usize, usize, usize)| {
        let step = StepCase::new(64, &vec![(0, tokens); sequences], 1);
        let (rows, slots, dims) = (step.rows, step.slots_of_pool, dims(&step, dim));
        let args = vec![
            ("step", Value::Step(step)),
            ("x", Value::Random(2 * rows * dim)),
            ("taps", Value::Zeros(4 * kernel * dim)),
            ("bias", Value::Zeros(4 * dim)),
            ("window", Value::Zeros(4 * slots * (kernel - 1) * dim)),
            ("out", Value::Zeros(2 * rows * dim)),
            ("dim", Value::Int(dim as i64)),
        ];
        Bench { name: format!("{sequences} x {tokens}, {dim} channels"), dims, args }
    };
    [(1, 32768, 10240), (8, 2048, 12288)].into_iter().map(of).collect()
}
