//! The gated delta rule over spans of several tokens, token by token.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, U_BF16, Value, from_bf16, recurrence, to_bf16};

/// What is left of a number that is split into two bf16: half a unit of the low one, which is at most half a unit of the high one.
const SPLIT: f64 = U_BF16 * U_BF16;

/// What the splits of the state, of what is written and of the matrices of pairs add after some tokens. Each token's error is at most
/// SPLIT of the largest number, and a sixth of that on average; they are independent, so they grow as the square root of the tokens, and
/// the rule only shrinks them.
fn splits(tokens: usize, largest: f64) -> f64 {
    (tokens as f64).sqrt() * SPLIT * largest
}

/// What stands in `y` before a launch.
const UNTOUCHED: f32 = 7.0;

/// Spans of several chunks that start within one, short ones, single tokens that another kernel serves, keys that are alike, and padding.
pub fn cases(params: &Params) -> Vec<Case> {
    let spans = [(0, 140), (37, 90), (5, 1), (64, 64), (70, 2), (0, 3)];
    let step = |spans: &[(usize, usize)]| StepCase::new(48, spans, 5);
    let tokens: usize = spans.iter().map(|(_, tokens)| tokens).sum();
    let mut without_state = step(&[(0, 20), (9, 70), (3, 17)]);
    (without_state.slots[0], without_state.slots[1]) = (-1, -1);
    // One token forgets everything: the sum of logarithms becomes large, and what comes after it still differs by little.
    let mut forgets = Problem::new(params, step(&[(10, 140)]), 1, 2);
    forgets.decay = vec![-4.0, -0.05];
    forgets.dt_bias = vec![-4.0, -3.0];
    forgets.a[23 * 2] = 300_000.0;
    // Keys that hardly differ, all of them written in full: the triangular system is far from the identity.
    let mut alike = Problem::new(params, step(&[(3, 130)]), 1, 1);
    let width = alike.qkv.len() / 130;
    for row in 0..130 {
        for n in alike.key_dim..2 * alike.key_dim {
            let noise = from_bf16(alike.qkv[row * width + n]) as f32;
            alike.qkv[row * width + n] = to_bf16(1.0 + 0.2 * noise);
        }
    }
    alike.b.fill(3.0);
    alike.dt_bias.fill(-5.0);
    let mut no_slot = step(&[(0, 33)]);
    no_slot.slots[0] = 100;
    vec![
        Problem::new(params, step(&spans).padded(tokens + 3), 2, 4).case("6 spans, 3 padded rows", 0),
        Problem::new(params, without_state, 2, 2).case("spans without a state", 0),
        forgets.case("a token that forgets everything", 0),
        alike.case("keys that are alike", 0),
        Problem::new(params, no_slot, 1, 1).case("a slot that does not exist", 4),
    ]
}

/// A launch and its inputs.
struct Problem {
    step: StepCase,
    key_heads: usize,
    value_heads: usize,
    key_dim: usize,
    value_dim: usize,
    qkv: Vec<u16>,
    a: Vec<f32>,
    b: Vec<f32>,
    decay: Vec<f32>,
    dt_bias: Vec<f32>,
    states: Vec<f32>,
    y: Vec<u16>,
}

impl Problem {
    fn new(params: &Params, step: StepCase, key_heads: usize, value_heads: usize) -> Self {
        let (key_dim, value_dim) = (params.int("key_dim"), params.int("value_dim"));
        let mut random = Random::new(12);
        let rows = step.rows;
        Self {
            key_heads,
            value_heads,
            key_dim,
            value_dim,
            qkv: random.bf16(rows * (2 * key_heads * key_dim + value_heads * value_dim), 1.0),
            a: random.numbers(rows * value_heads, 1.0),
            b: random.numbers(rows * value_heads, 4.0),
            // From hardly forgetting to forgetting within a few tokens.
            decay: (0..value_heads).map(|_| -(2.0 * random.unit()).exp()).collect(),
            dt_bias: (0..value_heads).map(|_| 2.5 * random.unit() - 2.5).collect(),
            states: random.numbers(step.slots_of_pool * value_heads * value_dim * key_dim, 1.0),
            y: vec![to_bf16(UNTOUCHED); rows * value_heads * value_dim],
            step,
        }
    }

    fn case(self, name: &str, error: u32) -> Case {
        let (states, y) = self.expected();
        let Self { key_heads, value_heads, .. } = self;
        let dims = vec![
            ("tokens", self.step.rows as u64),
            ("sequences", self.step.spans.len() as u64),
            ("prefill_spans", self.step.prefill().len() as u64),
            // Padded rows have entries of -1 among the spans.
            ("decode_spans", (self.step.decode().len() + self.step.rows - self.step.tokens()) as u64),
            ("span_tokens", self.step.spans.iter().map(|(_, tokens)| *tokens as u64).max().unwrap_or(0)),
            ("slots", self.step.slots_of_pool as u64),
            ("key_heads", key_heads as u64),
            ("value_heads", value_heads as u64),
        ];
        let args = vec![
            ("step", Value::Step(self.step)),
            ("qkv", Value::Bf16(self.qkv)),
            ("a", Value::F32(self.a)),
            ("b", Value::F32(self.b)),
            ("decay", Value::F32(self.decay)),
            ("dt_bias", Value::F32(self.dt_bias)),
            ("states", Value::F32(self.states)),
            ("y", Value::Bf16(self.y)),
            ("key_heads", Value::Int(key_heads as i64)),
            ("value_heads", Value::Int(value_heads as i64)),
        ];
        Case { name: name.to_owned(), dims, args, expected: vec![states, y], error }
    }

    /// The states and outputs after the launch; what no span of this kernel owns stays.
    fn expected(&self) -> (Expected, Expected) {
        let Self { value_heads, key_dim, value_dim, .. } = *self;
        let mut states: Vec<f64> = self.states.iter().map(|&s| f64::from(s)).collect();
        let mut y: Vec<f64> = self.y.iter().map(|&y| from_bf16(y)).collect();
        let (mut state_bounds, mut y_bounds) = (vec![0.0; states.len()], vec![0.0; y.len()]);
        let first = self.step.first();
        let mut depth = 1;
        for sequence in self.step.prefill() {
            let (start, tokens) = self.step.spans[sequence];
            depth = depth.max(tokens);
            let Ok(slot) = usize::try_from(self.step.slots[sequence]) else {
                y[first[sequence] * value_heads * value_dim..][..tokens * value_heads * value_dim].fill(0.0);
                continue;
            };
            // A slot that does not exist becomes the first.
            let slot = if slot < self.step.slots_of_pool { slot } else { 0 };
            for head in 0..value_heads {
                let at = (slot * value_heads + head) * value_dim * key_dim;
                let of_head = &mut states[at..][..value_dim * key_dim];
                if start == 0 {
                    of_head.fill(0.0);
                }
                // What the state holds at most while the span runs: errors of one token are of that size, and later ones shrink them.
                let mut largest = maximum(of_head);
                let mut outputs = Vec::new();
                for row in first[sequence]..first[sequence] + tokens {
                    outputs.push((row, self.step_of(of_head, row, head)));
                    largest = largest.max(maximum(of_head));
                }
                for (i, &value) in of_head.iter().enumerate() {
                    state_bounds[at + i] = recurrence(tokens, value, largest) + splits(tokens, largest);
                }
                let largest = outputs.iter().map(|(_, y)| maximum(y)).fold(0.0, f64::max);
                for (row, values) in outputs {
                    for (v, value) in values.into_iter().enumerate() {
                        let i = (row * value_heads + head) * value_dim + v;
                        let error = recurrence(tokens, value, largest) + splits(tokens, largest);
                        (y[i], y_bounds[i]) = (value, error + U_BF16 * (value.abs() + error));
                    }
                }
            }
        }
        (
            Expected { arg: "states", values: states, bounds: state_bounds, depth },
            Expected { arg: "y", values: y, bounds: y_bounds, depth: depth + key_dim },
        )
    }

    /// One token of one value head, whose state is `[value_dim][key_dim]`: its outputs.
    fn step_of(&self, state: &mut [f64], row: usize, head: usize) -> Vec<f64> {
        let Self { key_heads, value_heads, key_dim, value_dim, .. } = *self;
        let qkv = &self.qkv[row * (2 * key_heads * key_dim + value_heads * value_dim)..];
        let key_head = head / (value_heads / key_heads);
        let unit = |from: usize| {
            let x: Vec<f64> = qkv[from..][..key_dim].iter().map(|&x| from_bf16(x)).collect();
            let length = (x.iter().map(|x| x * x).sum::<f64>() + 1e-6).sqrt();
            x.into_iter().map(|x| x / length).collect::<Vec<f64>>()
        };
        let (q, k) = (unit(key_head * key_dim), unit((key_heads + key_head) * key_dim));
        let v = &qkv[2 * key_heads * key_dim + head * value_dim..];
        let a = f64::from(self.a[row * value_heads + head]) + f64::from(self.dt_bias[head]);
        let left = (f64::from(self.decay[head]) * (a.max(0.0) + (-a.abs()).exp().ln_1p())).exp();
        let beta = 1.0 / (1.0 + (-f64::from(self.b[row * value_heads + head])).exp());
        let output = |(state, v): (&mut [f64], &u16)| {
            let known: f64 = state.iter().zip(&k).map(|(s, k)| left * s * k).sum();
            let written = beta * (from_bf16(*v) - known);
            let mut sum = 0.0;
            for ((s, k), q) in state.iter_mut().zip(&k).zip(&q) {
                *s = left * *s + written * k;
                sum += *s * q;
            }
            sum / (key_dim as f64).sqrt()
        };
        state.chunks_exact_mut(key_dim).zip(&v[..value_dim]).map(output).collect()
    }
}

fn maximum(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

/// One long prompt with the heads of a smaller and of a larger model, and several of a usual length.
pub fn bench(params: &Params) -> Vec<Bench> {
    let (key_dim, value_dim) = (params.int("key_dim"), params.int("value_dim"));
    let of = |(sequences, tokens, key_heads, value_heads): (usize, usize, usize, usize)| {
        let step = StepCase::new(64, &vec![(0, tokens); sequences], 1);
        let (rows, slots) = (step.rows, step.slots_of_pool);
        let dims = vec![
            ("tokens", rows as u64),
            ("sequences", sequences as u64),
            ("prefill_spans", step.prefill().len() as u64),
            ("decode_spans", step.decode().len() as u64),
            ("span_tokens", tokens as u64),
            ("slots", slots as u64),
            ("key_heads", key_heads as u64),
            ("value_heads", value_heads as u64),
        ];
        let args = vec![
            ("step", Value::Step(step)),
            ("qkv", Value::Random(2 * rows * (2 * key_heads * key_dim + value_heads * value_dim))),
            ("a", Value::Zeros(4 * rows * value_heads)),
            ("b", Value::Zeros(4 * rows * value_heads)),
            ("decay", Value::F32(vec![-1.0; value_heads])),
            ("dt_bias", Value::F32(vec![-3.0; value_heads])),
            ("states", Value::Zeros(4 * slots * value_heads * value_dim * key_dim)),
            ("y", Value::Zeros(2 * rows * value_heads * value_dim)),
            ("key_heads", Value::Int(key_heads as i64)),
            ("value_heads", Value::Int(value_heads as i64)),
        ];
        Bench { name: format!("{sequences} x {tokens}, {key_heads} / {value_heads} heads"), dims, args }
    };
    [(1, 32768, 16, 32), (1, 32768, 16, 64), (8, 2048, 16, 64)].into_iter().map(of).collect()
}
