//! Checkpoints in the storage formats that publishers use, made from bf16 ones; and their twins with the same numbers in f32.
//!
//! Elements are the nearest ones, and scales those that make the largest element of a tensor or block the largest of its format. What
//! the elements then stand for is computed here from the definitions of E4M3, E2M1 and E8M0, not by the loader's code.

use std::fs;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use tenon_formats::write::Tensor;

/// How a publisher stores the projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// ModelOpt: `weight_scale` and `input_scale`, f32; stacks have one scale for all.
    Fp8Tensor,
    /// Mistral's files for the hub: `weight_scale_inv` without dimensions in bf16, and `activation_scale`; `[E, 1, 1]` for stacks.
    Fp8Hub,
    /// DeepSeek: `weight_scale_inv` of blocks.
    Fp8Blocks,
    /// ModelOpt: `weight`, `weight_scale`, `weight_scale_2`.
    Nvfp4Modelopt,
    /// compressed-tensors: `weight_packed`, `weight_scale`, `weight_global_scale`.
    Nvfp4Compressed,
    /// gpt-oss: `_blocks` and `_scales` of the experts.
    Mxfp4,
}

impl Scheme {
    /// The name in `[weights] accept`.
    pub fn format(self) -> &'static str {
        match self {
            Self::Fp8Tensor | Self::Fp8Hub | Self::Fp8Blocks => "fp8_e4m3",
            Self::Nvfp4Modelopt | Self::Nvfp4Compressed => "nvfp4",
            Self::Mxfp4 => "mxfp4",
        }
    }

    /// Elements of a row that share a scale of their own.
    fn block(self) -> usize {
        match self.format() {
            "nvfp4" => 16,
            "mxfp4" => 32,
            _ => 1,
        }
    }

    /// `quantization_config` as such checkpoints have it.
    pub fn config(self) -> Value {
        let modelopt = |algo: &str, weights: Value| {
            json!({"config_groups": {"group_0": {"input_activations": weights, "weights": weights, "targets": ["Linear"]}},
                "ignore": ["lm_head", "*router*"], "quant_algo": algo, "kv_cache_scheme": {"dynamic": false, "num_bits": 8, "type": "float"},
                "producer": {"name": "modelopt", "version": "0.35.0"}, "quant_method": "modelopt"})
        };
        match self {
            Self::Fp8Tensor => modelopt("FP8", json!({"dynamic": false, "num_bits": 8, "type": "float"})),
            Self::Fp8Hub => json!({"activation_scheme": "static", "dequantize": false, "modules_to_not_convert": ["lm_head"],
                "quant_method": "fp8", "weight_block_size": null}),
            Self::Fp8Blocks => json!({"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
                "weight_block_size": [128, 128]}),
            Self::Nvfp4Modelopt => modelopt("NVFP4", json!({"dynamic": false, "num_bits": 4, "type": "float", "group_size": 16})),
            Self::Nvfp4Compressed => {
                json!({"config_groups": {"group_0": {"format": "nvfp4-pack-quantized", "targets": ["Linear"],
                "weights": {"group_size": 16, "num_bits": 4, "strategy": "tensor_group", "type": "float"}}},
                "format": "nvfp4-pack-quantized", "ignore": ["lm_head"], "kv_cache_scheme": null,
                "quant_method": "compressed-tensors", "quantization_status": "compressed", "version": "0.12.0"})
            }
            Self::Mxfp4 => json!({"modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"], "quant_method": "mxfp4"}),
        }
    }
}

/// The tensors of a checkpoint, and of its twin.
pub struct Pair {
    /// Projections in the scheme.
    pub quantised: Vec<Tensor>,
    /// Projections in f32, with the numbers that the quantised ones stand for.
    pub plain: Vec<Tensor>,
    /// Names of the projections.
    pub projections: Vec<String>,
}

/// Which scales a publisher would choose, or others near them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scales {
    /// The largest element becomes the largest of the format. Products with such a scale are rounded, and where that happens is not
    /// the same for weights in f32.
    Largest,
    /// The next power of two: nothing is rounded, wherever it is multiplied in.
    Powers,
}

/// Quantises every projection of a bf16 checkpoint whose rows are whole blocks; all else stays.
pub fn pair(safetensors: &Path, scheme: Scheme, scales: Scales, transposed_stacks: bool) -> Pair {
    let bytes = fs::read(safetensors).unwrap_or_else(|e| panic!("{}: {e}", safetensors.display()));
    let file = SafeTensors::deserialize(&bytes).unwrap_or_else(|e| panic!("{}: {e}", safetensors.display()));
    let mut pair = Pair { quantised: Vec::new(), plain: Vec::new(), projections: Vec::new() };
    for (name, view) in file.tensors() {
        assert_eq!(view.dtype(), Dtype::BF16, "{name}");
        let shape = view.shape();
        let stays = Tensor { name: name.clone(), shape: shape.to_vec(), format: "bf16".into(), data: view.data().to_vec() };
        let lies_transposed = shape.len() == 3 && transposed_stacks;
        let is_projection = name.contains("_proj") && !name.ends_with("bias") && shape.len() >= 2;
        let fits = match scheme {
            Scheme::Mxfp4 => shape.len() == 3,
            _ => !lies_transposed,
        };
        let inputs = if lies_transposed { shape[1] } else { shape[shape.len() - 1] };
        if !(is_projection && fits && inputs.is_multiple_of(scheme.block())) {
            pair.quantised.push(stays.clone());
            pair.plain.push(stays);
            continue;
        }
        let halves = view.data().as_chunks::<2>().0;
        let values: Vec<f32> = halves.iter().map(|b| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16)).collect();
        let [stack, rows, inputs] = match *shape {
            [rows, inputs] => [1, rows, inputs],
            [stack, rows, inputs] if !lies_transposed => [stack, rows, inputs],
            [stack, inputs, rows] => [stack, rows, inputs],
            _ => panic!("{name} has the shape {shape:?}"),
        };
        let upright = if lies_transposed { transpose(&values, inputs, rows) } else { values };
        let mut matrix =
            Matrix { name: name.clone(), scales, in_stack: shape.len() == 3, stack, rows, inputs, tensors: Vec::new() };
        let wide = matrix.quantise(scheme, &upright);
        let wide = if lies_transposed { transpose(&wide, rows, inputs) } else { wide };
        pair.quantised.append(&mut matrix.tensors);
        pair.plain.push(Tensor::f32(&name, shape, &wide));
        pair.projections.push(name);
    }
    pair
}

/// Each `[a, b]` to `[b, a]`.
fn transpose(values: &[f32], a: usize, b: usize) -> Vec<f32> {
    values.chunks(a * b).flat_map(|m| (0..a * b).map(move |i| m[i % a * b + i / a])).collect()
}

/// A matrix or a stack of them, `[stack, rows, inputs]`, and the tensors that it becomes.
struct Matrix {
    name: String,
    scales: Scales,
    in_stack: bool,
    stack: usize,
    rows: usize,
    inputs: usize,
    tensors: Vec<Tensor>,
}

impl Matrix {
    /// Returns what the quantised elements stand for.
    fn quantise(&mut self, scheme: Scheme, values: &[f32]) -> Vec<f32> {
        match scheme {
            Scheme::Fp8Tensor | Scheme::Fp8Hub => self.fp8(scheme, values),
            Scheme::Fp8Blocks => self.fp8_blocks(values),
            Scheme::Nvfp4Modelopt | Scheme::Nvfp4Compressed => self.nvfp4(scheme, values),
            Scheme::Mxfp4 => self.mxfp4(values),
        }
    }

    fn scale(&self, scale: f32) -> f32 {
        if self.scales == Scales::Powers { scale.log2().ceil().exp2() } else { scale }
    }

    fn push(&mut self, name: String, mut shape: Vec<usize>, format: &str, data: Vec<u8>) {
        if !self.in_stack {
            shape.remove(0);
        }
        self.tensors.push(Tensor { name, shape, format: format.to_owned(), data });
    }

    fn push_scales(&mut self, name: String, shape: &[usize], scales: &[f32]) {
        self.tensors.push(Tensor::f32(&name, shape, scales));
    }

    /// The name with another ending than `.weight`, or with one behind it where a stack has no such part.
    fn beside(&self, ending: &str) -> String {
        match self.name.strip_suffix("weight") {
            Some(start) => format!("{start}{ending}"),
            None => format!("{}_{ending}", self.name),
        }
    }

    fn fp8(&mut self, scheme: Scheme, values: &[f32]) -> Vec<f32> {
        let hub = scheme == Scheme::Fp8Hub;
        // A scale for each expert, or one for all.
        let part = if hub { self.rows * self.inputs } else { values.len() };
        let scale = |part: &[f32]| self.scale(if hub { to_bf16(largest(part) / 448.0) } else { largest(part) / 448.0 });
        let scales: Vec<f32> = values.chunks(part).map(scale).collect();
        let elements: Vec<u8> =
            values.chunks(part).zip(&scales).flat_map(|(v, s)| v.iter().map(move |x| to_e4m3(x / s))).collect();
        let wide = elements.chunks(part).zip(&scales).flat_map(|(v, s)| v.iter().map(move |&e| e4m3(e) * s)).collect();
        self.push(self.name.clone(), vec![self.stack, self.rows, self.inputs], "f8_e4m3", elements);
        match (hub, self.in_stack) {
            (true, true) => {
                self.push_scales(format!("{}_scale_inv", self.name), &[self.stack, 1, 1], &scales);
                self.push_scales(format!("{}_activation_scale", self.name), &[self.stack], &vec![0.01; self.stack]);
            }
            (true, false) => {
                let half = (scales[0].to_bits() >> 16) as u16;
                let (name, data) = (format!("{}_scale_inv", self.name), half.to_le_bytes().to_vec());
                self.tensors.push(Tensor { name, shape: vec![], format: "bf16".into(), data });
                self.push_scales(self.beside("activation_scale"), &[], &[0.01]);
            }
            (false, _) => {
                self.push_scales(format!("{}_scale", self.name), if self.in_stack { &[1] } else { &[] }, &scales);
                self.push_scales(self.beside("input_scale"), &[], &[0.01]);
            }
        }
        wide
    }

    fn fp8_blocks(&mut self, values: &[f32]) -> Vec<f32> {
        let (rows, inputs) = (self.rows, self.inputs);
        let [down, across] = [rows.div_ceil(128), inputs.div_ceil(128)];
        let block = |i: usize| (i / (rows * inputs) * down + i / inputs % rows / 128) * across + i % inputs / 128;
        let mut scales = vec![0.0f32; self.stack * down * across];
        values.iter().enumerate().for_each(|(i, x)| scales[block(i)] = scales[block(i)].max(x.abs() / 448.0));
        scales.iter_mut().for_each(|scale| *scale = self.scale(*scale));
        let elements: Vec<u8> = values.iter().enumerate().map(|(i, x)| to_e4m3(x / scales[block(i)])).collect();
        let wide = elements.iter().enumerate().map(|(i, &e)| e4m3(e) * scales[block(i)]).collect();
        self.push(self.name.clone(), vec![self.stack, rows, inputs], "f8_e4m3", elements);
        let data = scales.iter().flat_map(|s| s.to_le_bytes()).collect();
        self.push(format!("{}_scale_inv", self.name), vec![self.stack, down, across], "f32", data);
        wide
    }

    fn nvfp4(&mut self, scheme: Scheme, values: &[f32]) -> Vec<f32> {
        let compressed = scheme == Scheme::Nvfp4Compressed;
        let (mut wide, mut packed, mut blocks, mut stored) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for matrix in values.chunks(self.rows * self.inputs) {
            let scale = self.scale(largest(matrix) / (448.0 * 6.0));
            stored.push(if compressed { 1.0 / scale } else { scale });
            let scale = if compressed { 1.0 / (1.0 / scale) } else { scale };
            for block in matrix.chunks(16) {
                let of_block = to_e4m3(largest(block) / 6.0 / scale);
                let unit = e4m3(of_block) * scale;
                let elements: Vec<u8> = block.iter().map(|x| if unit == 0.0 { 0 } else { to_e2m1(x / unit) }).collect();
                packed.extend(elements.chunks(2).map(|pair| pair[0] | pair[1] << 4));
                blocks.push(of_block);
                wide.extend(elements.iter().map(|&e| e2m1(e) * e4m3(of_block) * scale));
            }
        }
        let [data, scales, global] = match (compressed, self.in_stack) {
            (true, _) => ["_packed", "_scale", "_global_scale"],
            (false, true) => ["", "_weight_scale", "_weight_scale_2"],
            (false, false) => ["", "_scale", "_scale_2"],
        };
        let [data, scales, global] = [data, scales, global].map(|ending| format!("{}{ending}", self.name));
        self.push(data, vec![self.stack, self.rows, self.inputs / 2], "u8", packed);
        self.push(scales, vec![self.stack, self.rows, self.inputs / 16], "f8_e4m3", blocks);
        let one: &[usize] = if compressed { &[1] } else { &[] };
        let each = [self.stack];
        self.push_scales(global, if self.in_stack { &each } else { one }, &stored);
        let of_activations = if compressed { "input_global_scale" } else { "input_scale" };
        self.push_scales(self.beside(of_activations), one, &[0.01]);
        wide
    }

    fn mxfp4(&mut self, values: &[f32]) -> Vec<f32> {
        let (mut wide, mut packed, mut powers) = (Vec::new(), Vec::new(), Vec::new());
        for block in values.chunks(32) {
            // The power of two under which the largest element is at most 6, or a little more.
            let power = largest(block).log2().floor().max(-100.0) - 2.0;
            let unit = power.exp2();
            let elements: Vec<u8> = block.iter().map(|x| to_e2m1(x / unit)).collect();
            packed.extend(elements.chunks(2).map(|pair| pair[0] | pair[1] << 4));
            powers.push((power + 127.0) as u8);
            wide.extend(elements.iter().map(|&e| e2m1(e) * unit));
        }
        let blocks = self.inputs / 32;
        self.push(format!("{}_blocks", self.name), vec![self.stack, self.rows, blocks, 16], "u8", packed);
        self.push(format!("{}_scales", self.name), vec![self.stack, self.rows, blocks], "u8", powers);
        wide
    }
}

fn largest(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |largest, x| x.abs().max(largest))
}

fn to_bf16(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xffff_0000)
}

/// E4M3: `(-1)^s 2^(e - 7) (1 + m / 8)`, and `(-1)^s 2^-6 m / 8` where `e` is 0.
fn e4m3(bits: u8) -> f32 {
    let (e, m) = (i32::from(bits >> 3 & 15), f32::from(bits & 7) / 8.0);
    let magnitude = if e == 0 { m * 2f32.powi(-6) } else { (1.0 + m) * 2f32.powi(e - 7) };
    if bits < 128 { magnitude } else { -magnitude }
}

fn e2m1(bits: u8) -> f32 {
    let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][usize::from(bits & 7)];
    if bits < 8 { magnitude } else { -magnitude }
}

/// The number of `count` whose magnitude is nearest, of which `value` gives those that are not negative, in order.
fn nearest(x: f32, count: u8, value: fn(u8) -> f32) -> u8 {
    let after = (0..count).collect::<Vec<_>>().partition_point(|&bits| value(bits) < x.abs()) as u8;
    let (low, high) = (after.saturating_sub(1), after.min(count - 1));
    let magnitude = if x.abs() - value(low) <= value(high) - x.abs() { low } else { high };
    if x < 0.0 { magnitude | (count.next_power_of_two()) } else { magnitude }
}

fn to_e4m3(x: f32) -> u8 {
    nearest(x, 127, e4m3)
}

fn to_e2m1(x: f32) -> u8 {
    nearest(x, 8, e2m1)
}
