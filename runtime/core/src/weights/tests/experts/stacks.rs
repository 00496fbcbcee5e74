//! Stacks of experts in fp8 and nvfp4: scales for all, for each expert and for blocks; and what does not fit.

use super::*;
use crate::dtype::E4m3;

const QUANTISED: &[F] = &[F::F32, F::Fp8E4m3, F::Nvfp4];
const FLAT: GatedExpertsSpec<E, H, I> = GatedExpertsSpec::new(
    GatedExpertNames::Stacked { gate_up: "l.{layer}.experts.gate_up", down: "l.{layer}.experts.down" },
    QUANTISED,
);
const COLUMNS: GatedExpertsSpec<E, H, I> = GatedExpertsSpec::new(
    GatedExpertNames::Transposed {
        gate_up: "l.{layer}.experts.gate_up",
        gate_up_bias: "l.{layer}.experts.gate_up_bias",
        down: "l.{layer}.experts.down",
        down_bias: "l.{layer}.experts.down_bias",
    },
    QUANTISED,
);
/// Powers of two, so that where they are multiplied in does not change a bit.
const SCALES: [f32; E] = [0.5, 1.0, 4.0];

fn values(tensor: &Tensor) -> impl Iterator<Item = f32> {
    tensor.data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b))
}

/// The stacks of a layer in f32, each expert times its scale.
fn scaled(layer: usize, scales: [f32; E]) -> Vec<Tensor> {
    let scaled = |t: Tensor| {
        let each = t.data.len() / 4 / E;
        Tensor::f32(&t.name, &t.shape, &values(&t).enumerate().map(|(i, x)| x * scales[i / each]).collect::<Vec<_>>())
    };
    stacked(layer).into_iter().map(scaled).collect()
}

fn fp8(layer: usize, ending: &str, shape: &[usize], scales: &[f32]) -> Vec<Tensor> {
    let quantised = |t: Tensor| {
        let data = values(&t).map(|x| E4m3::from_f32(x).to_bits()).collect();
        let scales = Tensor::f32(&format!("{}{ending}", t.name), shape, scales);
        let activations = Tensor::f32(&format!("{}_activation_scale", t.name), &[E], &[3.0; E]);
        [Tensor { format: "f8_e4m3".into(), data, ..t }, scales, activations]
    };
    stacked(layer).into_iter().flat_map(quantised).collect()
}

/// Elements in `data`, all scales of blocks 1.
fn nvfp4(layer: usize, endings: [&str; 3], shape: &[usize], scales: &[f32]) -> Vec<Tensor> {
    let nibble = |x: f32| {
        let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0].iter().position(|&v| v == x.abs()).unwrap() as u8;
        magnitude | if x < 0.0 { 8 } else { 0 }
    };
    let quantised = |t: Tensor| {
        let [data, blocks, scale] = endings.map(|ending| format!("{}{ending}", t.name));
        let elements: Vec<u8> = values(&t).map(nibble).collect();
        let [e, rows, inputs] = t.shape[..] else { panic!("a stack") };
        let packed = elements.chunks(2).map(|pair| pair[0] | pair[1] << 4).collect();
        [
            Tensor { name: data, shape: vec![e, rows, inputs / 2], format: "u8".into(), data: packed },
            Tensor {
                name: blocks,
                shape: vec![e, rows, inputs / 16],
                format: "f8_e4m3".into(),
                data: vec![0x38; e * rows * inputs / 16],
            },
            Tensor::f32(&scale, shape, scales),
        ]
    };
    stacked(layer).into_iter().flat_map(quantised).collect()
}

#[test]
fn each_expert_has_its_scale() {
    let expected = of_gated(gated(&FLAT, &both(|layer| scaled(layer, SCALES))));
    for shape in [&[E][..], &[E, 1], &[E, 1, 1]] {
        for ending in ["_scale_inv", "_scale"] {
            assert_eq!(of_gated(gated(&FLAT, &both(|layer| fp8(layer, ending, shape, &SCALES)))), expected, "{ending} {shape:?}");
        }
        for endings in [["", "_scale", "_scale_2"], ["", "_weight_scale", "_weight_scale_2"]] {
            assert_eq!(of_gated(gated(&FLAT, &both(|layer| nvfp4(layer, endings, shape, &SCALES)))), expected, "{endings:?}");
        }
        let divisors = SCALES.map(|scale| 1.0 / scale);
        let packed = ["_packed", "_scale", "_global_scale"];
        assert_eq!(of_gated(gated(&FLAT, &both(|layer| nvfp4(layer, packed, shape, &divisors)))), expected);
    }
}

#[test]
fn all_experts_have_one_scale() {
    let expected = of_gated(gated(&FLAT, &both(|layer| scaled(layer, [2.0; E]))));
    for shape in [&[][..], &[1], &[1, 1, 1]] {
        assert_eq!(of_gated(gated(&FLAT, &both(|layer| fp8(layer, "_scale_inv", shape, &[2.0])))), expected);
        let endings = ["", "_scale", "_scale_2"];
        assert_eq!(of_gated(gated(&FLAT, &both(|layer| nvfp4(layer, endings, shape, &[2.0])))), expected);
    }
}

#[test]
fn they_stay_small() {
    let elements = E * 3 * H * I;
    let experts = gated(&FLAT, &both(|layer| fp8(layer, "_scale_inv", &[E], &SCALES)));
    assert_eq!(experts.bytes(), elements);
    let experts = gated(&FLAT, &both(|layer| nvfp4(layer, ["", "_scale", "_scale_2"], &[E], &SCALES)));
    assert_eq!(experts.bytes(), elements * 9 / 16);
}

#[test]
fn what_does_not_fit_says_why() {
    let of = |tensors: &[Tensor]| lines(FLAT.per_layer(&LAYER), tensors);
    // One for the gates and one for the ups of an expert: no checkpoint is known to have it.
    let two = [1.0; 2 * E];
    assert_eq!(
        of(&both(|layer| fp8(layer, "_scale_inv", &[E, 2], &two))),
        [
            "l.{layer}.experts.down_scale_inv (layers 1, 4): the spec needs [3, 1, 1] or [3] or [], the checkpoint has [3, 2]",
            "l.{layer}.experts.gate_up_scale_inv (layers 1, 4): the spec needs [3, 1, 1] or [3] or [], the checkpoint has [3, 2]",
        ]
    );
    let mut tensors = both(|layer| nvfp4(layer, ["", "_weight_scale", "_weight_scale_2"], &[E], &SCALES));
    tensors.retain(|t| !t.name.ends_with("4.experts.down_weight_scale") && t.name != "l.1.experts.gate_up_weight_scale_2");
    assert_eq!(of(&tensors), ["l.4.experts.down_weight_scale is missing", "l.1.experts.gate_up_weight_scale_2 is missing"]);
    let without =
        |layer| stacked(layer).into_iter().map(|t| Tensor { data: vec![0; t.data.len() / 4], format: "f8_e4m3".into(), ..t });
    assert_eq!(
        of(&both(|layer| without(layer).collect())),
        [
            "l.{layer}.experts.down_scale_inv (layers 1, 4) is missing, and so is one that ends in _scale: fp8_e4m3 needs either",
            "l.{layer}.experts.gate_up_scale_inv (layers 1, 4) is missing, and so is one that ends in _scale: fp8_e4m3 needs either",
        ]
    );
    // Scales of blocks that lie the other way round.
    let mut tensors = both(|layer| nvfp4(layer, ["", "_scale", "_scale_2"], &[E], &SCALES));
    tensors.iter_mut().filter(|t| t.name.ends_with("down_scale")).for_each(|t| t.shape.swap(1, 2));
    assert_eq!(
        of(&tensors),
        ["l.{layer}.experts.down_scale (layers 1, 4): the spec needs [3, 32, 4], the checkpoint has [3, 4, 32]"]
    );
}

#[test]
fn transposed_stacks_are_not_read_in_them() {
    let mut tensors = both(|layer| transposed(layer, 0.0));
    for tensor in tensors.iter_mut().filter(|t| t.name.ends_with("gate_up") || t.name.ends_with("down")) {
        tensor.data.truncate(tensor.data.len() / 4);
        tensor.format = if tensor.name.ends_with("down") { "u8".into() } else { "f8_e4m3".into() };
    }
    assert_eq!(
        lines(COLUMNS.per_layer(&LAYER), &tensors),
        [
            "l.{layer}.experts.down (layers 1, 4) is u8 and lies transposed, and so only f32, f16 and bf16 are read, and _blocks with \
             _scales in mxfp4",
            "l.{layer}.experts.gate_up (layers 1, 4) is fp8_e4m3 and lies transposed, and so only f32, f16 and bf16 are read, and \
             _blocks with _scales in mxfp4",
        ]
    );
}
