//! What the references of the gated delta rule have in common: one token after the other, in double precision.

use tenon_device_cases::{Bench, Case, Expected, Params, Random, StepCase, U_BF16, Value, from_bf16, recurrence, to_bf16};

/// What stands in `y` before a launch.
const UNTOUCHED: f32 = 7.0;

/// The spans that a kernel serves.
#[derive(Clone, Copy)]
pub enum Spans {
    /// Those of one token.
    Decode,
    /// Those of several.
    Prefill,
}

impl Spans {
    fn of(self, step: &StepCase) -> Vec<usize> {
        match self {
            Self::Decode => step.decode(),
            Self::Prefill => step.prefill(),
        }
    }
}

/// A launch and its inputs.
pub struct Problem {
    spans: Spans,
    /// How far one more than the recurrence is off after some tokens, whose largest number this is.
    more: fn(&Problem, usize, f64) -> f64,
    step: StepCase,
    key_heads: usize,
    value_heads: usize,
    pub key_dim: usize,
    value_dim: usize,
    pub qkv: Vec<u16>,
    pub a: Vec<f32>,
    pub b: Vec<f32>,
    pub decay: Vec<f32>,
    pub dt_bias: Vec<f32>,
    states: Vec<f32>,
    y: Vec<u16>,
}

impl Problem {
    /// Random inputs of a step.
    pub fn new(
        params: &Params,
        spans: Spans,
        more: fn(&Problem, usize, f64) -> f64,
        step: StepCase,
        key_heads: usize,
        value_heads: usize,
    ) -> Self {
        let (key_dim, value_dim) = (params.int("key_dim"), params.int("value_dim"));
        let mut random = Random::new(12);
        let rows = step.rows;
        Self {
            spans,
            more,
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

    /// With what must come of it, and the bit of the error word that must be set.
    pub fn case(self, name: &str, error: u32) -> Case {
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
        for sequence in self.spans.of(&self.step) {
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
                    state_bounds[at + i] = recurrence(tokens, value, largest) + (self.more)(self, tokens, largest);
                }
                let largest = outputs.iter().map(|(_, y)| maximum(y)).fold(0.0, f64::max);
                for (row, values) in outputs {
                    for (v, value) in values.into_iter().enumerate() {
                        let i = (row * value_heads + head) * value_dim + v;
                        let error = recurrence(tokens, value, largest) + (self.more)(self, tokens, largest);
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

/// A batch of spans of so many tokens that begin at `start`, with these heads.
pub fn bench(params: &Params, start: usize, (sequences, tokens, key_heads, value_heads): (usize, usize, usize, usize)) -> Bench {
    let (key_dim, value_dim) = (params.int("key_dim"), params.int("value_dim"));
    let step = StepCase::new(64, &vec![(start, tokens); sequences], 1);
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
}
