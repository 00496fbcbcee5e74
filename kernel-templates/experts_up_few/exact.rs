//! What the references of expert kernels have in common: routes, stacks of matrices, and what stands between the products.

use tenon_device_cases::planes::row_bytes;
use tenon_device_cases::{Random, Stored, U, U_BF16, Value, products, rounding};

/// A number, and how far a kernel may be off.
pub type Bounded = (f64, f64);

/// Sizes of a layer and of a launch.
#[derive(Clone, Copy)]
pub struct Shape {
    pub experts: usize,
    pub top_k: usize,
    pub hidden: usize,
    pub intermediate: usize,
    /// Rows of the launch.
    pub rows: usize,
    /// Rows without padding.
    pub tokens: usize,
}

impl Shape {
    /// Pairs of a row and a route.
    pub fn pairs(&self) -> usize {
        self.rows * self.top_k
    }

    /// The dimensions of a launch.
    pub fn dims(&self) -> Vec<(&'static str, u64)> {
        let Self { experts, top_k, hidden, intermediate, rows, .. } = *self;
        [("tokens", rows), ("experts", experts), ("top_k", top_k), ("hidden", hidden), ("intermediate", intermediate)]
            .map(|(name, value)| (name, value as u64))
            .into()
    }

    /// The integers that end the arguments.
    pub fn args(&self) -> Vec<(&'static str, Value)> {
        let Self { experts, top_k, hidden, intermediate, rows, .. } = *self;
        [("hidden", hidden), ("intermediate", intermediate), ("experts", experts), ("top_k", top_k), ("rows", rows)]
            .map(|(name, value)| (name, Value::Int(value as i64)))
            .into()
    }

    /// Distinct experts for each token, none for padded rows. With `crowd`, all tokens go to expert 1, and none to expert 0.
    pub fn ids(&self, crowd: bool, random: &mut Random) -> Vec<i32> {
        let mut ids = Vec::new();
        for row in 0..self.rows {
            if row >= self.tokens {
                ids.extend(vec![-1; self.top_k]);
                continue;
            }
            let mut order = random.shuffled(self.experts);
            if crowd {
                order.retain(|&e| e > 1);
                order.insert(row % self.top_k, 1);
            }
            ids.extend(order[..self.top_k].iter().map(|&e| e as i32));
        }
        ids
    }

    /// Experts in turn, so that as many have tokens as `[cost]` counts: random ones would leave some out, and their bytes would be counted
    /// all the same. The step between neighbours has no factor in common with the numbers of experts of benches, which are powers of two.
    pub fn in_turn(&self) -> Vec<i32> {
        (0..self.pairs()).map(|pair| (pair * 37 % self.experts) as i32).collect()
    }
}

/// The pairs sorted by expert, those of an expert in their order; after them, pairs that nothing reads. And where each expert begins.
pub fn sorted(ids: &[i32], experts: usize) -> (Vec<i32>, Vec<i32>) {
    let (mut order, mut offsets) = (Vec::new(), vec![0]);
    for e in 0..experts {
        order.extend((0..ids.len()).filter(|&p| ids[p] == e as i32).map(|p| p as i32));
        offsets.push(order.len() as i32);
    }
    order.resize(ids.len(), 0);
    (order, offsets)
}

/// Expert and first place of each tile of 128, and the marks of tiles that the launch has too many.
fn tiles(offsets: &[i32], pairs: usize) -> Vec<i32> {
    let experts = offsets.len() - 1;
    let mut tiles = Vec::new();
    for e in 0..experts {
        (offsets[e]..offsets[e + 1]).step_by(128).for_each(|first| tiles.extend([e as i32, first]));
    }
    let most = pairs.min(pairs.div_ceil(128) + experts);
    assert!(tiles.len() <= 2 * most, "the bound of the tiles holds");
    while tiles.len() < 2 * most {
        tiles.extend([-1, 0]);
    }
    tiles
}

/// What `expert_tiles` writes, as arguments.
pub fn order_args(order: Vec<i32>, offsets: Vec<i32>, pairs: usize) -> [(&'static str, Value); 3] {
    let tiles = tiles(&offsets, pairs);
    [("order", Value::I32(order)), ("offsets", Value::I32(offsets)), ("tiles", Value::I32(tiles))]
}

/// Matrices of one shape, back to back.
pub struct Stack {
    format: String,
    inputs: usize,
    matrices: Vec<Stored>,
    factors: Vec<f32>,
}

impl Stack {
    /// Random matrices `[out, inputs]`, each with a factor of its own.
    pub fn new(format: &str, count: usize, out: usize, inputs: usize, random: &mut Random) -> Self {
        let matrices = (0..count).map(|_| Stored::new(format, out, inputs, random)).collect();
        let factors = (0..count).map(|m| 0.75 + 0.125 * (m % 5) as f32).collect();
        Self { format: format.to_owned(), inputs, matrices, factors }
    }

    /// The arguments `stack`, `scales` and `factors`.
    pub fn args(&self) -> [(&'static str, Value); 3] {
        let planes = self.matrices.iter().flat_map(|m| m.planes.iter().copied()).collect();
        let scales: Vec<f32> = self.matrices.iter().flat_map(|m| m.scales.iter().copied()).collect();
        let scales = if scales.is_empty() { Value::Null } else { Value::F32(scales) };
        [("stack", Value::Bytes(planes)), ("scales", scales), ("factors", Value::F32(self.factors.clone()))]
    }

    /// A row of a matrix times `x`, times the factor. Kernels round weights to bf16, which these formats are or become without an error;
    /// elsewhere the errors of roundings are independent, so their squares add up, and 4 deviations are allowed.
    pub fn product(&self, matrix: usize, row: usize, x: &[f64]) -> Bounded {
        let exact = matches!(self.format.as_str(), "bf16" | "nvfp4" | "mxfp4");
        let (dot, factor) = (self.matrices[matrix].dot(row, x), f64::from(self.factors[matrix]));
        let decoded = if exact { 0.0 } else { 4.0 * U_BF16 * dot.squares.sqrt() };
        let value = factor * dot.value;
        (value, factor * (products(self.inputs, dot.magnitude) + decoded) + rounding(U, value))
    }
}

/// The same arguments for a bench.
pub fn bench_stack(format: &str, count: usize, out: usize, inputs: usize) -> [(&'static str, Value); 3] {
    let scales = match format {
        "fp8_e4m3" => Value::F32(vec![0.01; count * out.div_ceil(128) * inputs.div_ceil(128)]),
        _ => Value::Null,
    };
    let planes = Value::Random(count * out * row_bytes(format, inputs));
    [("stack", planes), ("scales", scales), ("factors", Value::F32(vec![1.0; count]))]
}

/// Biases of `len` per expert, where a case has some.
pub fn biases(some: bool, experts: usize, len: usize, random: &mut Random) -> Option<Vec<f32>> {
    some.then(|| random.numbers(experts * len, 0.5))
}

/// Them as an argument.
pub fn bias_arg(bias: &Option<Vec<f32>>) -> Value {
    bias.as_ref().map_or(Value::Null, |bias| Value::F32(bias.clone()))
}

/// A product and element `at` of a bias, if there is one; the sum rounds.
pub fn biased((value, bound): Bounded, bias: &Option<Vec<f32>>, at: usize) -> Bounded {
    let value = value + bias.as_ref().map_or(0.0, |bias| f64::from(bias[at]));
    (value, bound + rounding(U, value))
}

/// What stands between the products, rounded to bf16: the errors of the products through it, and its own.
pub fn between(form: &str, act: &str, limit: f64, alpha: f64, gate: Bounded, up: Bounded) -> Bounded {
    let (value, bound) = match form {
        "plain" => activated(act, up),
        "gated" => product(activated(act, gate), up),
        "clamped" => {
            // Clamping moves two numbers no further apart.
            let (gate, up) = ((gate.0.min(limit), gate.1), (up.0.clamp(-limit, limit), up.1));
            // Of g sigmoid(alpha g) the slope is 1.1 at most; the argument is rounded.
            let glu = gate.0 / (1.0 + (-alpha * gate.0).exp());
            let error = 1.1 * gate.1 + (8.0 + alpha * gate.0.abs()) * U * glu.abs();
            product((glu, error), (up.0 + 1.0, up.1 + rounding(U, up.0 + 1.0)))
        }
        other => panic!("`{other}` is no form"),
    };
    (value, bound + rounding(U_BF16, value.abs() + bound))
}

/// A product of two, and its rounding.
fn product(a: Bounded, b: Bounded) -> Bounded {
    let value = a.0 * b.0;
    (value, a.1 * (b.0.abs() + b.1) + a.0.abs() * b.1 + rounding(U, value))
}

/// An activation: its slope times the error of what goes in, and f32's own error (exponentials are within 4 u, each operation rounds).
fn activated(act: &str, (x, error): Bounded) -> Bounded {
    let (value, slope, own) = match act {
        "silu" => (x / (1.0 + (-x).exp()), 1.1, 8.0),
        // The argument of erfc is rounded twice, which its square doubles; erfcf is within 8 u.
        "gelu" => (0.5 * x * erfc(-x / 2f64.sqrt()), 1.13, 2.0 * x * x + 12.0),
        "gelu_pytorch_tanh" => {
            let z = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            (x / (1.0 + (-2.0 * z).exp()), 1.13, 14.0 * z.abs() + 7.0)
        }
        "relu2" => (x.max(0.0).powi(2), 2.0 * x.max(0.0) + error, 1.0),
        other => panic!("`{other}` is no activation"),
    };
    (value, slope * error + own * U * value.abs())
}

/// The complement of the error function, by its series near 0 and by its continued fraction elsewhere.
fn erfc(z: f64) -> f64 {
    if z < 0.0 {
        return 2.0 - erfc(-z);
    }
    if z < 2.0 {
        let (mut term, mut sum) = (z, z);
        for n in 1..60 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return 1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum;
    }
    let fraction = (1..200).rev().fold(z, |rest, n| z + 0.5 * f64::from(n) / rest);
    (-z * z).exp() / (std::f64::consts::PI.sqrt() * fraction)
}

/// The layers at which speeds are stated, with the tokens of a launch.
pub fn bench_shapes(tokens: &[usize]) -> Vec<(String, Shape)> {
    let layers = [(128, 8, 2048, 768), (256, 8, 3072, 1024)];
    let all = layers.iter().flat_map(|layer| tokens.iter().map(move |&tokens| (*layer, tokens)));
    let shape = |((experts, top_k, hidden, intermediate), tokens)| {
        let name = format!("{tokens} tokens, {top_k} of {experts} experts, {hidden} x {intermediate}");
        (name, Shape { experts, top_k, hidden, intermediate, rows: tokens, tokens })
    };
    all.map(shape).collect()
}
