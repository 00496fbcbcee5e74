//! Products with stored matrices: projections, experts, and weights by themselves.

use tenon_core::cpu::{self, Cpu};
use tenon_core::linear::{Linear, RowOrder, decode_row};
use tenon_core::rows::Rows;
use tenon_device_cases::planes::{blocks_of, row_bytes};
use tenon_device_cases::{U, products, rounding};
use tenon_formats::StorageFormat;

use super::rows::rows_of;
use super::{Inputs, Output, dispatch};

/// A number of the CPU, and how far it may be off.
pub type Bounded = (f64, f64);

/// A stored matrix `[out, inputs]`.
pub struct Matrix {
    format: StorageFormat,
    blocks: Vec<u8>,
    scales: Vec<f32>,
    factor: f32,
    out: usize,
    inputs: usize,
}

impl Matrix {
    /// From its planes.
    fn of_planes(format: &str, planes: &[u8], scales: Option<&[f32]>, factor: f32, out: usize, inputs: usize) -> Option<Self> {
        let blocks = blocks_of(format, planes, out, inputs);
        Some(Self { format: StorageFormat::parse(format)?, blocks, scales: scales?.to_vec(), factor, out, inputs })
    }

    /// From numbers that bf16 holds.
    pub fn of_bf16(values: impl IntoIterator<Item = f32>, out: usize, inputs: usize) -> Self {
        let blocks = values.into_iter().flat_map(|x| ((x.to_bits() >> 16) as u16).to_le_bytes()).collect();
        Self { format: StorageFormat::Bf16, blocks, scales: Vec::new(), factor: 1.0, out, inputs }
    }

    /// The weights without the factor, as the CPU decodes them.
    fn weights(&self) -> Vec<f32> {
        let mut weights = vec![0.0; self.out * self.inputs];
        let rows = self.blocks.chunks_exact(self.blocks.len() / self.out);
        for (r, (row, weights)) in rows.zip(weights.chunks_exact_mut(self.inputs)).enumerate() {
            decode_row(self.format, row, weights);
            if !self.scales.is_empty() {
                let scales = &self.scales[r / 128 * self.inputs.div_ceil(128)..];
                weights.iter_mut().enumerate().for_each(|(k, w)| *w *= scales[k / 128]);
            }
        }
        weights
    }

    /// The products with rows of `x`, times the factor. Sums of products, and the factor.
    pub fn product(&self, cpu: &Cpu, x: &[f32]) -> Option<Vec<Bounded>> {
        let (weights, factor) = (self.weights(), f64::from(self.factor.abs()));
        let mut bounds = Vec::new();
        for x in x.chunks_exact(self.inputs) {
            for w in weights.chunks_exact(self.inputs) {
                let magnitude: f64 = x.iter().zip(w).map(|(x, w)| f64::from(x * w).abs()).sum();
                bounds.push(factor * products(self.inputs, magnitude));
            }
        }
        let scaled = |(y, bound): (f32, f64)| {
            let y = f64::from(y * self.factor);
            (y, bound + rounding(U, y))
        };
        Some(self.multiplied(cpu, x)?.into_iter().zip(bounds).map(scaled).collect())
    }

    /// The shapes are those of cases: of `linear`, `linear_gated`, of experts, and of latent attention.
    #[rustfmt::skip]
    fn multiplied(&self, cpu: &Cpu, x: &[f32]) -> Option<Vec<f32>> {
        dispatch!((self.out, self.inputs), (OUT, IN) => self.multiplied_by::<OUT, IN>(cpu, x);
            (37, 8960) (140, 1056) (140, 1280) (21, 544) (21, 768) (5, 133) (5, 48) (5, 32) (5, 256) (1, 133) (1, 48) (1, 32) (1, 256)
            (19, 8960) (134, 1056) (134, 1280) (3, 133) (3, 48) (3, 32) (3, 256) (1, 544) (1, 768)
            (21, 4864) (37, 544) (37, 768) (19, 160) (19, 256) (140, 300) (140, 304) (140, 320) (140, 512) (140, 288)
            (11, 133) (11, 144) (11, 32) (11, 256) (34, 1088) (34, 1280) (71, 133) (71, 144) (71, 32) (71, 256)
            (512, 128) (128, 512) (72, 40) (40, 72) (56, 72))
    }

    fn multiplied_by<const OUT: usize, const IN: usize>(&self, cpu: &Cpu, x: &[f32]) -> Option<Vec<f32>> {
        let linear = match self.scales.is_empty() {
            true => Linear::<OUT, IN>::pack(cpu, self.format, &self.blocks, RowOrder::Stored),
            false => Linear::<OUT, IN>::pack_fp8(cpu, &self.blocks, self.scales.clone()),
        };
        let x = rows_of::<IN>(x);
        let mut out = Rows::with_capacity(x.rows());
        linear.ok()?.forward::<4>(cpu, &x, &mut out);
        Some(out.as_slice().to_vec())
    }
}

impl Inputs<'_> {
    /// The matrix in these arguments.
    fn matrix(&self, planes: &str, scales: &str, factor: &str, out: usize, inputs: usize) -> Option<Matrix> {
        let (planes, scales) = (self.bytes(planes)?, self.numbers(scales).unwrap_or_default());
        Matrix::of_planes(self.params.name("format"), planes, Some(&scales), self.float(factor)?, out, inputs)
    }
}

/// A product that is stored, or added to what is there.
pub fn linear(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (out, width, rows) = (inputs.int("out")?, inputs.int("in")?, inputs.int("rows")?);
    let matrix = inputs.matrix("weight", "scales", "factor", out, width)?;
    let mut y = matrix.product(&inputs.cpu, &inputs.numbers("x")?[..rows * width])?;
    if inputs.int("mode")? == 2 {
        for ((y, bound), before) in y.iter_mut().zip(inputs.numbers("y")?) {
            *y = f64::from(before + *y as f32);
            *bound += rounding(U, *y);
        }
    }
    Some(vec![Output::bounded("y", y)])
}

/// act(gate x) (up x).
pub fn linear_gated(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (out, width, rows) = (inputs.int("out")?, inputs.int("in")?, inputs.int("rows")?);
    let mut x = inputs.numbers("x")?;
    x.truncate(rows * width);
    let gate = inputs.matrix("gate", "gate_scales", "gate_factor", out, width)?.product(&inputs.cpu, &x)?;
    let up = inputs.matrix("up", "up_scales", "up_factor", out, width)?.product(&inputs.cpu, &x)?;
    Some(vec![Output::bounded("y", between(inputs, "gated", &gate, &up)?)])
}

/// Weights by themselves, as everything on the CPU but products decodes them.
pub fn dequantise(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let matrix = inputs.matrix("weight", "scales", "factor", inputs.int("out")?, inputs.int("in")?)?;
    let weights: Vec<f32> = matrix.weights().iter().map(|w| w * matrix.factor).collect();
    Some(vec![Output::new("out_matrix", &weights)])
}

/// Rows of weights.
pub fn embedding(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (dim, step) = (inputs.int("dim")?, inputs.step()?);
    let matrix = inputs.matrix("table", "scales", "factor", inputs.int("vocab")?, dim)?;
    let weights = matrix.weights();
    let row = |id: &i32| weights[*id as usize * dim..][..dim].iter().map(|w| w * matrix.factor);
    Some(vec![Output::new("x", &step.token_ids.iter().flat_map(row).collect::<Vec<f32>>())])
}

/// A row of an expert: where its input and its output stand.
struct Row {
    from: usize,
    to: usize,
}

/// What is between the first products and the last.
pub fn experts_up(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (hidden, width, top_k) = (inputs.int("hidden")?, inputs.int("intermediate")?, inputs.int("top_k")?);
    let form = inputs.params.name("form");
    let (x, per_expert) = (inputs.numbers("x")?, if form == "plain" { 1 } else { 2 });
    let mut out = vec![(f64::NAN, 0.0); inputs.int("rows")? * top_k * width];
    for (e, rows) in rows_of_experts(inputs, |pair, place| Row { from: pair / top_k, to: place })?.iter().enumerate() {
        if rows.is_empty() {
            continue;
        }
        let x: Vec<f32> = rows.iter().flat_map(|row| x[row.from * hidden..][..hidden].iter().copied()).collect();
        let product = |matrix: usize, bias: &str| {
            let product = inputs.of_stack(matrix, width, hidden)?.product(&inputs.cpu, &x)?;
            Some(biased(product, inputs.numbers(bias), e * width, width))
        };
        let up = product(per_expert * e + per_expert - 1, "up_bias")?;
        let gate = if per_expert == 2 { product(2 * e, "gate_bias")? } else { Vec::new() };
        for (row, values) in rows.iter().zip(between(inputs, form, &gate, &up)?.chunks_exact(width)) {
            out[row.to * width..][..width].copy_from_slice(values);
        }
    }
    Some(vec![Output::bounded("inner", out)])
}

/// The last product.
pub fn experts_down(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (hidden, width) = (inputs.int("hidden")?, inputs.int("intermediate")?);
    let inner = inputs.numbers("inner")?;
    let mut out = vec![(f64::NAN, 0.0); inputs.int("rows")? * inputs.int("top_k")? * hidden];
    for (e, rows) in rows_of_experts(inputs, |pair, place| Row { from: place, to: pair })?.iter().enumerate() {
        if rows.is_empty() {
            continue;
        }
        let x: Vec<f32> = rows.iter().flat_map(|row| inner[row.from * width..][..width].iter().copied()).collect();
        let product = inputs.of_stack(e, hidden, width)?.product(&inputs.cpu, &x)?;
        let product = biased(product, inputs.numbers("down_bias"), e * hidden, hidden);
        for (row, values) in rows.iter().zip(product.chunks_exact(hidden)) {
            out[row.to * hidden..][..hidden].copy_from_slice(values);
        }
    }
    Some(vec![Output::bounded("parts", out)])
}

/// The rows of each expert, from their pair and the place where it stands: by itself with `ids`, sorted by expert with `order`.
fn rows_of_experts(inputs: &Inputs<'_>, row: impl Fn(usize, usize) -> Row) -> Option<Vec<Vec<Row>>> {
    let mut rows: Vec<Vec<Row>> = (0..inputs.int("experts")?).map(|_| Vec::new()).collect();
    if let Some(ids) = inputs.ints("ids") {
        for (pair, &id) in ids.iter().enumerate().filter(|(_, id)| **id >= 0) {
            rows[id as usize].push(row(pair, pair));
        }
        return Some(rows);
    }
    let (order, offsets) = (inputs.ints("order")?, inputs.ints("offsets")?);
    for (e, range) in offsets.windows(2).enumerate() {
        rows[e].extend((range[0] as usize..range[1] as usize).map(|place| row(order[place] as usize, place)));
    }
    Some(rows)
}

impl Inputs<'_> {
    /// One matrix of a stack.
    fn of_stack(&self, matrix: usize, out: usize, inputs: usize) -> Option<Matrix> {
        let (format, scales) = (self.params.name("format"), self.numbers("scales").unwrap_or_default());
        let (bytes, blocks) = (out * row_bytes(format, inputs), out.div_ceil(128) * inputs.div_ceil(128));
        let planes = &self.bytes("stack")?[matrix * bytes..][..bytes];
        let scales = if scales.is_empty() { &[][..] } else { &scales[matrix * blocks..][..blocks] };
        Matrix::of_planes(format, planes, Some(scales), self.numbers("factors")?[matrix], out, inputs)
    }
}

/// With the bias of an expert, where there is one.
fn biased(mut values: Vec<Bounded>, bias: Option<Vec<f32>>, first: usize, width: usize) -> Vec<Bounded> {
    if let Some(bias) = bias {
        for (i, (value, bound)) in values.iter_mut().enumerate() {
            *value = f64::from(*value as f32 + bias[first + i % width]);
            *bound += rounding(U, *value);
        }
    }
    values
}

/// What stands between the products, by the CPU's functions of elements.
fn between(inputs: &Inputs<'_>, form: &str, gate: &[Bounded], up: &[Bounded]) -> Option<Vec<Bounded>> {
    let narrowed = |values: &[Bounded]| rows_of::<1>(&values.iter().map(|v| v.0 as f32).collect::<Vec<f32>>());
    let (cpu, act) = (&inputs.cpu, inputs.params.name("act"));
    if form == "clamped" {
        let (limit, alpha) = (inputs.float("limit")?, inputs.float("alpha")?);
        let mut glu = narrowed(gate);
        glu.as_mut_slice().iter_mut().for_each(|g| *g = g.min(limit));
        let mut scaled = glu.clone();
        cpu::scale(&mut scaled, alpha);
        cpu::sigmoid_mul(cpu, &mut glu, &scaled);
        let value = |((glu, scaled), (gate, up)): ((&f32, &f32), (&Bounded, &Bounded))| {
            let (own, shifted) = (f64::from(*glu), (up.0 as f32).clamp(-limit, limit) + 1.0);
            // The slope of g sigmoid(alpha g) is 1.1 at most; its argument is rounded, and so is each of a few operations.
            let off = 1.1 * gate.1 + (10.0 + f64::from(scaled.abs())) * U * own.abs();
            multiplied((own, off), (f64::from(shifted), up.1 + U * f64::from(shifted.abs())))
        };
        return Some(glu.as_slice().iter().zip(scaled.as_slice()).zip(gate.iter().zip(up)).map(value).collect());
    }
    let argument = if form == "plain" { up } else { gate };
    let mut x = narrowed(argument);
    match act {
        "silu" => cpu::silu(cpu, &mut x),
        "gelu" => cpu::gelu(cpu, &mut x),
        "gelu_pytorch_tanh" => cpu::gelu_tanh(cpu, &mut x),
        "relu2" => cpu::relu2(cpu, &mut x),
        _ => return None,
    }
    let activated = |(y, (x, error)): (&f32, &Bounded)| {
        let y = f64::from(*y);
        let slope = if act == "relu2" { 2.0 * x.max(0.0) + error } else { 1.13 };
        // Rounded arguments of exponentials move tails by their square, and the cube that the tanh form has.
        let own = 16.0 + 2.0 * x * x + if act == "gelu_pytorch_tanh" { x.abs().powi(3) } else { 0.0 };
        (y, slope * error + own * U * y.abs() + f64::from(f32::MIN_POSITIVE))
    };
    let activated = x.as_slice().iter().zip(argument).map(activated);
    Some(if form == "plain" { activated.collect() } else { activated.zip(up).map(|(a, up)| multiplied(a, *up)).collect() })
}

/// A product of two in f32.
fn multiplied(a: Bounded, b: Bounded) -> Bounded {
    let value = f64::from(a.0 as f32 * b.0 as f32);
    (value, a.1 * (b.0.abs() + b.1) + a.0.abs() * b.1 + rounding(U, value))
}
