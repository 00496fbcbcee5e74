//! What the references of the recurrence of Mamba2 have in common: one token after the other, in double precision.

use tenon_device_cases::{
    Bench, Case, Expected, Params, Random, StepCase, U_BF16, Value, from_bf16, products, recurrence, to_bf16,
};

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
    /// What is left of a number that the kernel splits, as a share of the magnitudes that are summed; 0 where it splits none.
    split: f64,
    step: StepCase,
    heads: usize,
    groups: usize,
    head_dim: usize,
    state: usize,
    time_step_min: f32,
    xbc: Vec<u16>,
    pub dt: Vec<f32>,
    pub decay: Vec<f32>,
    d: Vec<f32>,
    pub dt_bias: Vec<f32>,
    states: Vec<f32>,
    y: Vec<u16>,
}

impl Problem {
    /// Random inputs of a step.
    pub fn new(
        params: &Params,
        spans: Spans,
        split: f64,
        step: StepCase,
        heads: usize,
        groups: usize,
        time_step_min: f32,
    ) -> Self {
        let (head_dim, state) = (params.int("head_dim"), params.int("state"));
        let mut random = Random::new(11);
        let rows = step.rows;
        Self {
            spans,
            split,
            heads,
            groups,
            head_dim,
            state,
            time_step_min,
            xbc: random.bf16(rows * (heads * head_dim + 2 * groups * state), 1.0),
            dt: random.numbers(rows * heads, 1.0),
            // From hardly forgetting to forgetting within a few tokens.
            decay: (0..heads).map(|_| -(2.0 * random.unit()).exp()).collect(),
            d: random.numbers(heads, 1.0),
            dt_bias: (0..heads).map(|_| 2.5 * random.unit() - 2.5).collect(),
            states: random.numbers(step.slots_of_pool * heads * head_dim * state, 1.0),
            y: vec![to_bf16(UNTOUCHED); rows * heads * head_dim],
            step,
        }
    }

    /// With what must come of it, and the bit of the error word that must be set.
    pub fn case(self, name: &str, error: u32) -> Case {
        let (states, y) = self.expected();
        let Self { heads, groups, .. } = self;
        let dims = vec![
            ("tokens", self.step.rows as u64),
            ("sequences", self.step.spans.len() as u64),
            ("prefill_spans", self.step.prefill().len() as u64),
            // Padded rows have entries of -1 among the spans.
            ("decode_spans", (self.step.decode().len() + self.step.rows - self.step.tokens()) as u64),
            ("span_tokens", self.step.spans.iter().map(|(_, tokens)| *tokens as u64).max().unwrap_or(0)),
            ("slots", self.step.slots_of_pool as u64),
            ("heads", heads as u64),
            ("groups", groups as u64),
        ];
        let args = vec![
            ("step", Value::Step(self.step)),
            ("xbc", Value::Bf16(self.xbc)),
            ("dt", Value::F32(self.dt)),
            ("decay", Value::F32(self.decay)),
            ("d", Value::F32(self.d)),
            ("dt_bias", Value::F32(self.dt_bias)),
            ("time_step_min", Value::Float(self.time_step_min)),
            ("states", Value::F32(self.states)),
            ("y", Value::Bf16(self.y)),
            ("heads", Value::Int(heads as i64)),
            ("groups", Value::Int(groups as i64)),
        ];
        Case { name: name.to_owned(), dims, args, expected: vec![states, y], error }
    }

    /// The states and outputs after the launch; what no span of this kernel owns stays.
    fn expected(&self) -> (Expected, Expected) {
        let Self { heads, head_dim, state, .. } = *self;
        let mut states: Vec<f64> = self.states.iter().map(|&s| f64::from(s)).collect();
        let mut y: Vec<f64> = self.y.iter().map(|&y| from_bf16(y)).collect();
        let (mut state_bounds, mut y_bounds) = (vec![0.0; states.len()], vec![0.0; y.len()]);
        let first = self.step.first();
        let mut depth = 1;
        for sequence in self.spans.of(&self.step) {
            let (start, tokens) = self.step.spans[sequence];
            depth = depth.max(tokens);
            let Ok(slot) = usize::try_from(self.step.slots[sequence]) else {
                y[first[sequence] * heads * head_dim..][..tokens * heads * head_dim].fill(0.0);
                continue;
            };
            // A slot that does not exist becomes the first.
            let slot = if slot < self.step.slots_of_pool { slot } else { 0 };
            for head in 0..heads {
                let at = (slot * heads + head) * head_dim * state;
                let of_head = &mut states[at..][..head_dim * state];
                if start == 0 {
                    of_head.fill(0.0);
                }
                let sizes = of_head.iter().map(|s| s.abs()).collect();
                let mut run = Head { state: of_head, sizes };
                let mut outputs = Vec::new();
                for row in first[sequence]..first[sequence] + tokens {
                    for (p, (value, size)) in self.step_of(&mut run, row, head).into_iter().enumerate() {
                        outputs.push(((row * heads + head) * head_dim + p, value, size));
                    }
                }
                let largest = run.state.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
                for (i, (&value, size)) in run.state.iter().zip(run.sizes).enumerate() {
                    state_bounds[at + i] = recurrence(tokens, value, largest) + products(tokens, size) + self.split * size;
                }
                let largest = outputs.iter().fold(0.0, |m: f64, (_, value, _)| m.max(value.abs()));
                for (i, value, size) in outputs {
                    let error = recurrence(tokens, value, largest) + products(tokens + state, size) + 2.0 * self.split * size;
                    (y[i], y_bounds[i]) = (value, error + U_BF16 * (value.abs() + error));
                }
            }
        }
        (
            Expected { arg: "states", values: states, bounds: state_bounds, depth },
            Expected { arg: "y", values: y, bounds: y_bounds, depth: depth + state },
        )
    }

    /// One token of one head: its outputs, each with the sum of the magnitudes of what it was added up from.
    fn step_of(&self, run: &mut Head<'_>, row: usize, head: usize) -> Vec<(f64, f64)> {
        let Self { heads, groups, head_dim, state, .. } = *self;
        let xbc = &self.xbc[row * (heads * head_dim + 2 * groups * state)..];
        let (x, group) = (&xbc[head * head_dim..], head / (heads / groups));
        let b = &xbc[heads * head_dim + group * state..];
        let c = &b[groups * state..];
        let dt = f64::from(self.dt[row * heads + head]) + f64::from(self.dt_bias[head]);
        let step = (dt.max(0.0) + (-dt.abs()).exp().ln_1p()).max(f64::from(self.time_step_min));
        let rate = if self.decay[head] < 0.0 { self.decay[head] } else { -f32::MIN_POSITIVE };
        let left = (step * f64::from(rate)).exp();
        let output = |p: usize| {
            let x = from_bf16(x[p]);
            let direct = f64::from(self.d[head]) * x;
            let (mut sum, mut size) = (direct, direct.abs());
            for n in 0..state {
                let at = p * state + n;
                let written = from_bf16(b[n]) * step * x;
                run.state[at] = left * run.state[at] + written;
                run.sizes[at] = left * run.sizes[at] + written.abs();
                let c = from_bf16(c[n]);
                sum += c * run.state[at];
                size += c.abs() * run.sizes[at];
            }
            (sum, size)
        };
        (0..head_dim).map(output).collect()
    }
}

/// The state of a head, and of each element the sum of the magnitudes of what it was added up from.
struct Head<'a> {
    state: &'a mut [f64],
    sizes: Vec<f64>,
}

/// A batch of spans of so many tokens that begin at `start`.
pub fn bench(params: &Params, start: usize, (sequences, tokens): (usize, usize)) -> Bench {
    let (heads, groups) = (128, 8);
    let (head_dim, state) = (params.int("head_dim"), params.int("state"));
    let step = StepCase::new(64, &vec![(start, tokens); sequences], 1);
    let (rows, slots) = (step.rows, step.slots_of_pool);
    let dims = vec![
        ("tokens", rows as u64),
        ("sequences", sequences as u64),
        ("prefill_spans", step.prefill().len() as u64),
        ("decode_spans", step.decode().len() as u64),
        ("span_tokens", tokens as u64),
        ("slots", slots as u64),
        ("heads", heads as u64),
        ("groups", groups as u64),
    ];
    let args = vec![
        ("step", Value::Step(step)),
        ("xbc", Value::Random(2 * rows * (heads * head_dim + 2 * groups * state))),
        ("dt", Value::Zeros(4 * rows * heads)),
        ("decay", Value::F32(vec![-1.0; heads])),
        ("d", Value::F32(vec![1.0; heads])),
        ("dt_bias", Value::F32(vec![-3.0; heads])),
        ("time_step_min", Value::Float(0.0)),
        ("states", Value::Zeros(4 * slots * heads * head_dim * state)),
        ("y", Value::Zeros(2 * rows * heads * head_dim)),
        ("heads", Value::Int(heads as i64)),
        ("groups", Value::Int(groups as i64)),
    ];
    Bench { name: format!("{sequences} x {tokens}"), dims, args }
}
