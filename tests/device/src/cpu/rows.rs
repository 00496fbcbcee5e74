//! Ops of rows: functions of elements, norms, rotations.

use tenon_core::cpu;
use tenon_core::linear::{Bias, Norm, RowOrder};
use tenon_core::rope::{Halves, Interleaved, RopeAngles, RopeLayout};
use tenon_core::rows::Rows;
use tenon_core::scale::QueryScale;
use tenon_device_cases::{StepCase, U, products};
use tenon_formats::StorageFormat;

use super::{Inputs, Output, dispatch, step, stored};

/// Rows of these elements.
pub fn rows_of<const D: usize>(values: &[f32]) -> Rows<f32, D> {
    let mut rows = Rows::with_capacity(values.len() / D);
    rows.set_rows(values.len() / D);
    rows.as_mut_slice().copy_from_slice(values);
    rows
}

/// Weights of a norm.
pub fn norm_of<const D: usize>(weights: &[f32]) -> Option<Norm<D>> {
    Norm::decode(StorageFormat::F32, &stored(weights)).ok()
}

/// What an op of this module computes.
pub fn compute(template: &str, inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    match template {
        "act" | "act_mul" | "add" | "add_scaled" | "add_bias" | "scale" | "soft_cap" | "sigmoid_mul" | "sigmoid_gate_add" => {
            dispatch!(inputs.int("dim")?, (D) => flat::<D>(template, inputs).map(|output| vec![output]);
                (3) (5) (333) (1024) (4097))
        }
        "query_scale" => dispatch!(inputs.int("dim")?, (D) => query_scale::<D>(inputs); (5) (333) (2048)),
        "rms_norm" | "rms_norm_add" | "rms_norm_add_norm" => {
            dispatch!(inputs.params.int("dim"), (D) => norms::<D>(template, inputs);
                (72) (576) (640) (960) (1024) (1536) (2048) (2560) (2880) (3072) (4096) (5120) (7168) (8192))
        }
        "gated_group_norm" => dispatch!((inputs.params.int("dim"), inputs.params.int("groups")), (D, GROUPS) => {
            let mut y = rows_of::<D>(&inputs.of_launch("y", D)?);
            let (z, weight) = (rows_of(&inputs.of_launch("z", D)?), norm_of(&inputs.numbers("weight")?)?);
            cpu::gated_group_norm::<GROUPS, D>(&inputs.cpu, &mut y, &z, &weight, inputs.float("eps")?);
            Some(vec![Output::new("y", y.as_slice())])
        }; (8192, 8) (144, 2) (144, 3)),
        "gated_head_norm" => dispatch!(inputs.params.int("head_dim"), (D) => {
            let dim = inputs.int("dim")?;
            let mut y = rows_of::<D>(&inputs.of_launch("y", dim)?);
            let (z, weight) = (rows_of(&inputs.of_launch("z", dim)?), norm_of(&inputs.numbers("weight")?)?);
            cpu::gated_head_norm::<D, D>(&inputs.cpu, &mut y, &z, &weight, inputs.float("eps")?);
            Some(vec![Output::new("y", y.as_slice())])
        }; (40) (64) (128)),
        "head_norm" => {
            let x = inputs.of_launch("x", inputs.int("dim")?)?;
            let normed = head_norm(inputs, inputs.params.int("head_dim"), &x, &inputs.numbers("weight")?)?;
            Some(vec![Output::new("x", &normed)])
        }
        "rope" | "rope_tail" => {
            let dim = inputs.int("dim")?;
            let x = inputs.of_launch("x", dim)?;
            let shape = (inputs.params.int("head_dim"), inputs.params.int("rotary_dim"));
            Some(vec![Output::new("x", &turned(inputs, shape, dim, &x, template == "rope_tail")?)])
        }
        "rope_append" => rope_append(inputs),
        "latent_append" => latent_append(inputs),
        _ => None,
    }
}

impl Inputs<'_> {
    /// The rows of the launch, of so many elements each.
    fn of_launch(&self, name: &str, width: usize) -> Option<Vec<f32>> {
        let mut values = self.numbers(name)?;
        values.truncate(self.int("rows")? * width);
        Some(values)
    }
}

fn flat<const D: usize>(template: &str, inputs: &Inputs<'_>) -> Option<Output> {
    let take = |name: &str| Some(rows_of::<D>(&inputs.of_launch(name, D)?));
    let cpu = &inputs.cpu;
    let mut x = take(if template == "act_mul" { "gate" } else { "x" })?;
    match template {
        "act" => match inputs.params.name("act") {
            "silu" => cpu::silu(cpu, &mut x),
            "gelu" => cpu::gelu(cpu, &mut x),
            "gelu_pytorch_tanh" => cpu::gelu_tanh(cpu, &mut x),
            "relu2" => cpu::relu2(cpu, &mut x),
            _ => return None,
        },
        "act_mul" => match inputs.params.name("act") {
            "silu" => cpu::silu_mul(cpu, &mut x, &take("up")?),
            "gelu" => cpu::gelu_mul(cpu, &mut x, &take("up")?),
            "gelu_pytorch_tanh" => cpu::gelu_tanh_mul(cpu, &mut x, &take("up")?),
            _ => return None,
        },
        "add" => cpu::add(&mut x, &take("y")?),
        "add_scaled" => cpu::add_scaled(&mut x, &take("y")?, inputs.float("factor")?),
        "add_bias" => {
            let bias = Bias::<D>::decode(StorageFormat::F32, &stored(&inputs.numbers("bias")?), RowOrder::Stored).ok()?;
            cpu::add_bias(&mut x, &bias);
        }
        "scale" => cpu::scale(&mut x, inputs.float("factor")?),
        "soft_cap" => cpu::soft_cap(&mut x, inputs.float("cap")?),
        "sigmoid_mul" => cpu::sigmoid_mul(cpu, &mut x, &take("gate")?),
        "sigmoid_gate_add" => cpu::sigmoid_gate_add(&mut x, &rows_of(&inputs.of_launch("gate", 1)?), &take("y")?),
        _ => return None,
    }
    Some(Output::new(if template == "act_mul" { "gate" } else { "x" }, x.as_slice()))
}

fn query_scale<const D: usize>(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let step = inputs.step()?;
    let mut q = rows_of::<D>(&inputs.numbers("q")?[..step.tokens() * D]);
    let original = inputs.float("original")? as u32;
    cpu::query_scale(&mut q, &step::batch(step)?, QueryScale::new(inputs.float("beta")?, original));
    Some(vec![Output::new("q", q.as_slice())])
}

/// The norms of rows, and what is added before and after them.
fn norms<const D: usize>(template: &str, inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (cpu, eps) = (&inputs.cpu, inputs.float("eps")?);
    let take = |name: &str| Some(rows_of::<D>(&inputs.of_launch(name, D)?));
    let weight = norm_of::<D>(&inputs.numbers("weight")?)?;
    let mut x = take("x")?;
    let mut out = Rows::with_capacity(x.rows());
    match template {
        "rms_norm" => {
            cpu::rms_norm(cpu, &x, &weight, eps, &mut out);
            return Some(vec![Output::new("out", out.as_slice())]);
        }
        "rms_norm_add" => {
            cpu::rms_norm_add(cpu, &take("y")?, &weight, eps, &mut x);
            return Some(vec![Output::new("x", x.as_slice())]);
        }
        _ => {
            cpu::rms_norm_add(cpu, &take("y")?, &weight, eps, &mut x);
            cpu::rms_norm(cpu, &x, &norm_of(&inputs.numbers("next_weight")?)?, eps, &mut out);
        }
    }
    Some(vec![Output::new("x", x.as_slice()), Output::new("out", out.as_slice())])
}

/// Each head by itself is a row.
fn head_norm(inputs: &Inputs<'_>, head_dim: usize, heads: &[f32], weight: &[f32]) -> Option<Vec<f32>> {
    dispatch!(head_dim, (D) => {
        let mut x = rows_of::<D>(heads);
        cpu::head_norm::<D, D>(&inputs.cpu, &mut x, &norm_of(weight)?, inputs.float("eps")?);
        Some(x.as_slice().to_vec())
    }; (24) (64) (72) (80) (96) (128) (256))
}

/// Rows of heads, rotated by the angles of the case.
fn turned(inputs: &Inputs<'_>, shape: (usize, usize), dim: usize, x: &[f32], tail: bool) -> Option<Vec<f32>> {
    dispatch!(shape, (HEAD_DIM, ROTARY) => match inputs.params.name("layout") {
        "interleaved" => turned_by::<HEAD_DIM, ROTARY, Interleaved>(inputs, dim, x, tail),
        _ => turned_by::<HEAD_DIM, ROTARY, Halves>(inputs, dim, x, tail),
    }; (128, 128) (128, 64) (128, 32) (40, 24) (56, 32) (72, 24) (64, 64) (24, 24) (256, 64) (192, 64))
}

fn turned_by<const HEAD_DIM: usize, const ROTARY: usize, L: RopeLayout>(
    inputs: &Inputs<'_>,
    dim: usize,
    x: &[f32],
    tail: bool,
) -> Option<Vec<f32>> {
    // A head is a row with the angles of its token.
    let (rows, heads) = (x.len() / dim, dim / HEAD_DIM);
    let of_heads = |table: Vec<f32>| {
        let half = ROTARY / 2;
        (0..rows).flat_map(|row| table[row * half..][..half].repeat(heads)).collect::<Vec<f32>>()
    };
    let angles = RopeAngles::<ROTARY, L>::of_tables(of_heads(inputs.numbers("cos")?), of_heads(inputs.numbers("sin")?));
    let mut x = rows_of::<HEAD_DIM>(x);
    if tail {
        cpu::rope_tail::<HEAD_DIM, HEAD_DIM, ROTARY, L>(&inputs.cpu, &mut x, &angles);
    } else {
        cpu::rope::<HEAD_DIM, HEAD_DIM, ROTARY, L>(&inputs.cpu, &mut x, &angles);
    }
    Some(x.as_slice().to_vec())
}

/// What a norm of `dim` elements adds, relative: half of what the sum of squares may be off, and six operations that round once each.
fn of_norm(dim: usize) -> f64 {
    0.5 * products(dim, 1.0) + 6.0 * U
}

/// Heads after norm and rotation with the CPU's own bounds: what the norm adds goes through the rotation, whose products and sum round.
fn bounded(inputs: &Inputs<'_>, x: &[f32], heads: usize, weight: Option<Vec<f32>>) -> Option<Vec<(f64, f64)>> {
    let (head_dim, rotary) = (inputs.params.int("head_dim"), inputs.params.int("rotary_dim"));
    let (normed, relative) = match weight {
        Some(weight) => (head_norm(inputs, head_dim, x, &weight)?, of_norm(head_dim)),
        None => (x.to_vec(), 0.0),
    };
    let turned = turned(inputs, (head_dim, rotary), heads * head_dim, &normed, false)?;
    let (cos, sin, half) = (inputs.numbers("cos")?, inputs.numbers("sin")?, rotary / 2);
    let own = |(i, &value): (usize, &f32)| {
        let (row, at) = (i / (heads * head_dim), i % head_dim);
        let value = f64::from(value);
        if at >= rotary {
            return (value, relative * value.abs());
        }
        let (pair, other) = match inputs.params.name("layout") {
            "interleaved" => (at / 2, at ^ 1),
            _ => (at % half, (at + half) % rotary),
        };
        let element = |k: usize| f64::from(normed[i - at + k].abs());
        let (c, s) = (f64::from(cos[row * half + pair].abs()), f64::from(sin[row * half + pair].abs()));
        (value, (relative + 2.0 * U) * (element(at) * c + element(other) * s))
    };
    Some(turned.iter().enumerate().map(own).collect())
}

fn rope_append(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (step, head_dim) = (inputs.step()?, inputs.params.int("head_dim"));
    let (heads, kv_heads) = (inputs.int("num_attention_heads")?, inputs.int("num_key_value_heads")?);
    let q = bounded(inputs, &inputs.numbers("q")?, heads, inputs.numbers("q_weight"))?;
    let k = bounded(inputs, &inputs.numbers("k")?, kv_heads, inputs.numbers("k_weight"))?;
    let v: Vec<(f64, f64)> = inputs.numbers("v")?.iter().map(|&v| (f64::from(v), 0.0)).collect();
    let mut kv = vec![(f64::NAN, 0.0); step.pages * 2 * kv_heads * step.page_size * head_dim];
    for (row, page, place) in places(step) {
        for (kind, x) in [&k, &v].into_iter().enumerate() {
            for head in 0..kv_heads {
                let to = (((page * 2 + kind) * kv_heads + head) * step.page_size + place) * head_dim;
                kv[to..to + head_dim].copy_from_slice(&x[(row * kv_heads + head) * head_dim..][..head_dim]);
            }
        }
    }
    Some(vec![Output::bounded("q", q), Output::bounded("kv", kv)])
}

fn latent_append(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (step, rank, rope) = (inputs.step()?, inputs.params.int("kv_lora_rank"), inputs.params.int("qk_rope_head_dim"));
    let (latents, weight, eps) = (inputs.numbers("latent")?, inputs.numbers("weight")?, inputs.float("eps")?);
    let normed = dispatch!((rank, rank + rope), (R, LATENT) => {
        let mut x = rows_of::<LATENT>(&latents);
        cpu::latent_norm::<LATENT, R>(&inputs.cpu, &mut x, &norm_of(&weight)?, eps);
        Some(x.as_slice().to_vec())
    }; (512, 576) (256, 320) (72, 96))?;
    let width = rank + rope;
    let tails: Vec<f32> = normed.chunks_exact(width).flat_map(|row| row[rank..].iter().copied()).collect();
    let turned = turned(inputs, (rope, rope), rope, &tails, false)?;
    let relative = of_norm(rank);
    let mut cache = vec![(f64::NAN, 0.0); step.pages * step.page_size * width];
    for (row, page, place) in places(step) {
        let to = &mut cache[(page * step.page_size + place) * width..][..width];
        for (to, &x) in to.iter_mut().zip(&normed[row * width..][..rank]) {
            *to = (f64::from(x), relative * f64::from(x.abs()));
        }
        // Two products of at most the largest of a pair, and their sum.
        let largest = super::maximum(&tails[row * rope..][..rope]);
        for (to, &x) in to[rank..].iter_mut().zip(&turned[row * rope..][..rope]) {
            *to = (f64::from(x), 4.0 * U * largest);
        }
    }
    Some(vec![Output::bounded("cache", cache)])
}

/// Row, page and place of each token.
fn places(step: &StepCase) -> Vec<(usize, usize, usize)> {
    let place = |row| {
        let (sequence, position) = step.row(row)?;
        let (page, place) = step.place(sequence, position);
        Some((row, page, place))
    };
    (0..step.tokens()).filter_map(place).collect()
}
