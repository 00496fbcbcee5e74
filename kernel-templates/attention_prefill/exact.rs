//! Exact attention over a paged cache, one query and one head at a time, and how far a kernel may be from it.

use tenon_device_cases::{
    Params, Random, StepCase, U, U_BF16, Value, from_bf16, from_e4m3, products, recurrence, rounding, to_bf16, to_e4m3,
};

/// What stands in rows of the output that nobody writes.
pub const UNWRITTEN: f32 = 7.5;

/// What a case varies.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Positions that a query sees, itself included; 0: all.
    pub window: usize,
    /// 0: none.
    pub soft_cap: f32,
    /// Whether each head has one.
    pub sinks: bool,
    /// Scores so far apart that the largest one of a row is raised by many powers of two, again and again.
    pub far_apart: bool,
}

/// Inputs of one launch.
pub struct Problem {
    /// The tokens.
    pub step: StepCase,
    /// Key-value heads.
    pub heads: usize,
    group: usize,
    head_dim: usize,
    scale: f32,
    options: Options,
    fp8: bool,
    q: Vec<u16>,
    /// As stored: bits of bf16, or bytes.
    kv: Vec<u16>,
    sinks: Vec<f32>,
}

impl Problem {
    /// Random queries, sinks and cached tokens. What no token of the step has cached is NaN: nothing may depend on it.
    pub fn new(params: &Params, heads: usize, step: StepCase, options: Options) -> Self {
        let (head_dim, group, fp8) = (params.int("head_dim"), params.int("group"), params.name("kv_dtype") == "fp8_e4m3");
        let mut random = Random::new((step.tokens() * head_dim + group) as u64);
        let q = random.bf16(step.rows * heads * group * head_dim, 4.0);
        let sinks = random.numbers(heads * group, 5.0);
        let mut problem = Self {
            heads,
            group,
            head_dim,
            scale: if options.far_apart { 12.0 } else { 1.0 } / (head_dim as f32).sqrt(),
            options,
            fp8,
            q,
            kv: vec![if fp8 { 0x7f } else { 0x7fc0 }; step.pages * 2 * heads * step.page_size * head_dim],
            sinks,
            step,
        };
        for sequence in 0..problem.step.spans.len() {
            let (start, tokens) = problem.step.spans[sequence];
            for position in 0..start + tokens {
                for head in 0..heads {
                    for what in 0..2 {
                        let at = problem.place(sequence, position, head, what);
                        for stored in &mut problem.kv[at..at + head_dim] {
                            let value = random.unit();
                            *stored = if fp8 { u16::from(to_e4m3(value)) } else { to_bf16(value) };
                        }
                    }
                }
            }
        }
        problem
    }

    /// A page that the cache does not have becomes page 0, which then holds numbers for whoever reads it.
    pub fn break_page(mut self, sequence: usize, entry: usize) -> Self {
        let page = self.step.pages;
        self.step.table[sequence * self.step.table_stride + entry] = page as i32 + 3;
        let mut random = Random::new(5);
        let fp8 = self.fp8;
        let page_len = 2 * self.heads * self.step.page_size * self.head_dim;
        for stored in &mut self.kv[..page_len] {
            let value = random.unit();
            *stored = if fp8 { u16::from(to_e4m3(value)) } else { to_bf16(value) };
        }
        self
    }

    /// Where the keys (`what` 0) or values (1) of a position start.
    fn place(&self, sequence: usize, position: usize, head: usize, what: usize) -> usize {
        let (page, place) = self.step.place(sequence, position);
        let page = if page < self.step.pages { page } else { 0 };
        (((page * 2 + what) * self.heads + head) * self.step.page_size + place) * self.head_dim
    }

    fn cached(&self, at: usize) -> f64 {
        if self.fp8 { from_e4m3(self.kv[at] as u8) } else { from_bf16(self.kv[at]) }
    }

    /// Elements of the queries and of the output.
    fn len(&self) -> usize {
        self.step.rows * self.heads * self.group * self.head_dim
    }

    /// The arguments that both phases have.
    pub fn args(&self) -> Vec<(&'static str, Value)> {
        let kv = if self.fp8 { Value::Bytes(self.kv.iter().map(|&x| x as u8).collect()) } else { Value::Bf16(self.kv.clone()) };
        vec![
            ("step", Value::Step(self.step.clone())),
            ("q", Value::Bf16(self.q.clone())),
            ("kv", kv),
            ("sinks", if self.options.sinks { Value::F32(self.sinks.clone()) } else { Value::Null }),
            ("out", Value::Bf16(vec![to_bf16(UNWRITTEN); self.len()])),
            ("scale", Value::Float(self.scale)),
            ("window", Value::Int(self.options.window as i64)),
            ("soft_cap", Value::Float(self.options.soft_cap)),
            ("num_key_value_heads", Value::Int(self.heads as i64)),
        ]
    }

    /// The output and its bounds, where the rows of `served` sequences are computed and others stay.
    pub fn out(&self, served: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let (mut values, mut bounds) = (vec![f64::from(UNWRITTEN); self.len()], vec![0.0; self.len()]);
        for row in 0..self.step.rows {
            let Some((sequence, position)) = self.step.row(row) else { continue };
            if !served.contains(&sequence) {
                continue;
            }
            for head in 0..self.heads * self.group {
                let at = (row * self.heads * self.group + head) * self.head_dim;
                self.attend(sequence, position, head, at, &mut values, &mut bounds);
            }
        }
        (values, bounds)
    }

    fn attend(&self, sequence: usize, position: usize, head: usize, at: usize, values: &mut [f64], bounds: &mut [f64]) {
        let q: Vec<f64> = self.q[at..at + self.head_dim].iter().map(|&x| from_bf16(x)).collect();
        let first = if self.options.window == 0 { 0 } else { (position + 1).saturating_sub(self.options.window) };
        let (scale, cap) = (f64::from(self.scale), f64::from(self.options.soft_cap));
        let mut scores = Vec::new();
        let (mut score_error, mut largest_score) = (0f64, 0f64);
        for p in first..=position {
            let key = self.place(sequence, p, head / self.group, 0);
            let (mut dot, mut magnitude) = (0.0, 0.0);
            for (i, q) in q.iter().enumerate() {
                let product = q * self.cached(key + i);
                dot += product;
                magnitude += product.abs();
            }
            // A dot product in f32, and the scale.
            let mut score = scale * dot;
            let mut error = products(self.head_dim, scale * magnitude) + 2.0 * U * score.abs();
            if cap > 0.0 {
                // tanh(x) = 1 - 2 / (e^2x + 1): e^2x is off by 2 u and 3 roundings of 2x, and the rest by 4 roundings of at most the cap.
                error += 8.0 * U * cap * (1.0 + (score / cap).abs());
                score = cap * (score / cap).tanh();
            }
            scores.push(score);
            score_error = score_error.max(error);
            largest_score = largest_score.max(score.abs());
        }
        let sink = f64::from(self.sinks[head]);
        let mut top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if self.options.sinks {
            top = top.max(sink);
            largest_score = largest_score.max(sink.abs());
        }
        let mut sum = if self.options.sinks { (sink - top).exp() } else { 0.0 };
        let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
        sum += weights.iter().sum::<f64>();
        // Exponents are differences of scores in base 2, each a product and a difference: three roundings of the largest magnitude.
        let weight_error = score_error + 6.0 * U * (1.0 + largest_score);
        for i in 0..self.head_dim {
            let (mut value, mut magnitude, mut squares, mut most) = (0.0, 0.0, 0.0, 0f64);
            for (p, weight) in (first..=position).zip(&weights) {
                let v = self.cached(self.place(sequence, p, head / self.group, 1) + i);
                let term = weight / sum * v;
                value += term;
                magnitude += term.abs();
                squares += term * term;
                most = most.max(v.abs());
            }
            // Weights are off in the numerator and in the denominator.
            let of_weights = 2.0 * weight_error * magnitude;
            // Weights are rounded to bf16 for the product with values: independently, and never by more than half a distance each.
            let of_rounding = (U_BF16 * magnitude).min(6.0 * U_BF16 * f64::sqrt(squares));
            let bound = of_weights + of_rounding + recurrence(weights.len(), value, most);
            values[at + i] = value;
            bounds[at + i] = bound + rounding(U_BF16, value.abs() + bound);
        }
    }
}
