//! Experts of every layout: the same numbers, the same results; and each that does not fit says why.

mod stacks;

use super::*;
use crate::cpu::route;
use crate::moe::{ExpertRows, GatedExperts, PlainExperts, Relu2, Router, RouterScores, Routes, Silu};
use crate::rows::Rows;
use crate::testing::Random;

const E: usize = 3;
const H: usize = 32;
const I: usize = 64;
const ACCEPT: &[F] = &[F::F32, F::Bf16, F::Mxfp4];
const LAYER: [usize; 2] = [1, 4];
const EACH: GatedExpertsSpec<E, H, I> = GatedExpertsSpec::new(
    GatedExpertNames::Each {
        gate: "l.{layer}.experts.{expert}.gate.weight",
        up: "l.{layer}.experts.{expert}.up.weight",
        down: "l.{layer}.experts.{expert}.down.weight",
    },
    ACCEPT,
);
const STACKED: GatedExpertsSpec<E, H, I> = GatedExpertsSpec::new(
    GatedExpertNames::Stacked { gate_up: "l.{layer}.experts.gate_up", down: "l.{layer}.experts.down" },
    ACCEPT,
);
const TRANSPOSED: GatedExpertsSpec<E, H, I> = GatedExpertsSpec::new(
    GatedExpertNames::Transposed {
        gate_up: "l.{layer}.experts.gate_up",
        gate_up_bias: "l.{layer}.experts.gate_up_bias",
        down: "l.{layer}.experts.down",
        down_bias: "l.{layer}.experts.down_bias",
    },
    ACCEPT,
);
const PLAIN_EACH: PlainExpertsSpec<E, H, I> = PlainExpertsSpec::new(
    PlainExpertNames::Each { up: "l.{layer}.experts.{expert}.up.weight", down: "l.{layer}.experts.{expert}.down.weight" },
    ACCEPT,
);
const PLAIN_STACKED: PlainExpertsSpec<E, H, I> =
    PlainExpertsSpec::new(PlainExpertNames::Stacked { up: "l.{layer}.experts.up", down: "l.{layer}.experts.down" }, ACCEPT);

/// Element `k` of row `r` of a matrix of expert `e`; each matrix has its own. All are values of E2M1.
fn number(matrix: usize, e: usize, r: usize, k: usize) -> f32 {
    let mut random = Random::new((((matrix * E + e) * 100 + r) * 100 + k) as u64);
    random.bits();
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][random.below(8)] * [1.0, -1.0][random.below(2)]
}

const GATE: usize = 0;
const UP: usize = 1;
const DOWN: usize = 2;

fn tensor(name: &str, shape: &[usize], number: impl Fn(usize) -> f32) -> Tensor {
    Tensor::f32(name, shape, &(0..shape.iter().product()).map(number).collect::<Vec<_>>())
}

fn each(layer: usize) -> Vec<Tensor> {
    let matrices = [("gate", GATE, I, H), ("up", UP, I, H), ("down", DOWN, H, I)];
    let of = |e| {
        matrices.map(|(name, m, rows, inputs)| {
            let name = format!("l.{layer}.experts.{e}.{name}.weight");
            tensor(&name, &[rows, inputs], |i| number(m, e, i / inputs, i % inputs))
        })
    };
    (0..E).flat_map(of).collect()
}

/// Row `r` of the gates and ups of an expert: gates first, or by turns.
fn gate_up(e: usize, r: usize, k: usize, by_turns: bool) -> f32 {
    let (matrix, row) = if by_turns { (r % 2, r / 2) } else { (r / I, r % I) };
    number([GATE, UP][matrix], e, row, k)
}

fn stacked(layer: usize) -> Vec<Tensor> {
    vec![
        tensor(&format!("l.{layer}.experts.gate_up"), &[E, 2 * I, H], |i| {
            gate_up(i / (2 * I * H), i / H % (2 * I), i % H, false)
        }),
        tensor(&format!("l.{layer}.experts.down"), &[E, H, I], |i| number(DOWN, i / (H * I), i / I % H, i % I)),
    ]
}

fn biases(layer: usize, size: f32) -> [Tensor; 2] {
    [
        tensor(&format!("l.{layer}.experts.gate_up_bias"), &[E, 2 * I], |i| size * number(7, i / (2 * I), i % (2 * I), 0)),
        tensor(&format!("l.{layer}.experts.down_bias"), &[E, H], |i| size * number(8, i / H, i % H, 0)),
    ]
}

fn transposed(layer: usize, size: f32) -> Vec<Tensor> {
    let mut tensors = vec![
        tensor(&format!("l.{layer}.experts.gate_up"), &[E, H, 2 * I], |i| {
            gate_up(i / (2 * I * H), i % (2 * I), i / (2 * I) % H, true)
        }),
        tensor(&format!("l.{layer}.experts.down"), &[E, I, H], |i| number(DOWN, i / (H * I), i % H, i / H % I)),
    ];
    tensors.extend(biases(layer, size));
    tensors
}

/// The same in mxfp4, whose matrices are not transposed, with all scales 1.
fn mxfp4(layer: usize, size: f32) -> Vec<Tensor> {
    let nibble = |x: f32| {
        let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0].iter().position(|&v| v == x.abs()).unwrap() as u8;
        magnitude | if x < 0.0 { 8 } else { 0 }
    };
    let matrix = |name: &str, rows: usize, inputs: usize, number: &dyn Fn(usize, usize, usize) -> f32| {
        let at = |i: usize| number(i / (rows * inputs), i / inputs % rows, i % inputs);
        let data = (0..E * rows * inputs / 2).map(|i| nibble(at(2 * i)) | nibble(at(2 * i + 1)) << 4).collect();
        let name = format!("l.{layer}.experts.{name}");
        [
            Tensor { name: format!("{name}_blocks"), shape: vec![E, rows, inputs / 32, 16], format: "u8".into(), data },
            Tensor {
                name: format!("{name}_scales"),
                shape: vec![E, rows, inputs / 32],
                format: "u8".into(),
                data: vec![127; E * rows * inputs / 32],
            },
        ]
    };
    let mut tensors = matrix("gate_up", 2 * I, H, &|e, r, k| gate_up(e, r, k, true)).to_vec();
    tensors.extend(matrix("down", H, I, &|e, r, k| number(DOWN, e, r, k)));
    tensors.extend(biases(layer, size));
    tensors
}

/// Tensors of layers 1 and 4.
fn both(layer: impl Fn(usize) -> Vec<Tensor>) -> Vec<Tensor> {
    LAYER.into_iter().flat_map(layer).collect()
}

fn load<T>(
    table: PlannedTensor,
    tensors: &[Tensor],
    load: impl FnOnce(&Loader<'_>) -> Result<T, LoadError>,
) -> Result<T, LoadError> {
    let dir = hf_dir(&config(), tensors);
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let cpu = Cpu::new(2, Isa::Portable).unwrap();
    load(&Loader::new(&checkpoint, &cpu, &[table], &CONTRACT)?)
}

fn gated(spec: &GatedExpertsSpec<E, H, I>, tensors: &[Tensor]) -> GatedExperts<E, H, I> {
    load(spec.per_layer(&LAYER), tensors, |from| from.gated_experts(spec, 4)).unwrap()
}

fn plain(spec: &PlainExpertsSpec<E, H, I>, tensors: &[Tensor]) -> PlainExperts<E, H, I> {
    load(spec.per_layer(&LAYER), tensors, |from| from.plain_experts(spec, 4)).unwrap()
}

/// What five tokens get, by a function of experts.
fn results(forward: impl Fn(&Cpu, &Rows<f32, H>, &Routes<E, 2>, &mut ExpertRows<H, I>, &mut Rows<f32, H>)) -> Vec<f32> {
    let mut random = Random::new(1);
    let (mut x, mut logits) = (Rows::<f32, H>::with_capacity(5), Rows::<f32, E>::with_capacity(5));
    x.set_rows(5);
    x.as_mut_slice().fill_with(|| 0.1 * random.unit());
    logits.set_rows(5);
    logits.as_mut_slice().fill_with(|| random.unit());
    let cpu = Cpu::new(2, Isa::detect()).unwrap();
    let mut routes = Routes::new(5);
    route(&cpu, &logits, Router::new(RouterScores::Softmax, true, 1.0), &mut routes);
    let mut out = Rows::with_capacity(5);
    forward(&cpu, &x, &routes, &mut ExpertRows::new(10), &mut out);
    assert!(out.as_slice().iter().any(|&x| x != 0.0));
    out.as_slice().to_vec()
}

fn of_gated(experts: GatedExperts<E, H, I>) -> Vec<f32> {
    results(|cpu, x, routes, rows, out| experts.forward::<4, Silu, _>(cpu, x, routes, rows, out))
}

#[test]
fn every_layout_gives_the_same_result() {
    let expected = of_gated(gated(&EACH, &both(each)));
    assert_eq!(of_gated(gated(&STACKED, &both(stacked))), expected);
    assert_eq!(of_gated(gated(&TRANSPOSED, &both(|layer| transposed(layer, 0.0)))), expected);
    assert_eq!(of_gated(gated(&TRANSPOSED, &both(|layer| mxfp4(layer, 0.0)))), expected);
    let with_biases = of_gated(gated(&TRANSPOSED, &both(|layer| transposed(layer, 1.0))));
    assert_ne!(with_biases, expected);
    assert_eq!(of_gated(gated(&TRANSPOSED, &both(|layer| mxfp4(layer, 1.0)))), with_biases);
}

#[test]
fn biases_alternate_as_the_rows_do() {
    // Without products of gate and up, an expert is a constant: down(silu(gate bias) * up bias) + down bias.
    let mut tensors = both(|layer| transposed(layer, 0.25));
    tensors.iter_mut().filter(|t| t.name.ends_with("gate_up")).for_each(|t| t.data.fill(0));
    let experts = gated(&TRANSPOSED, &tensors);
    let cpu = Cpu::new(2, Isa::detect()).unwrap();
    let (mut x, mut logits) = (Rows::<f32, H>::with_capacity(1), Rows::<f32, E>::with_capacity(1));
    x.set_rows(1);
    logits.set_rows(1);
    for e in 0..E {
        logits.row_mut(0).fill(0.0);
        logits.row_mut(0)[e] = 1.0;
        let mut routes = Routes::<E, 1>::new(1);
        route(&cpu, &logits, Router::new(RouterScores::Softmax, true, 1.0), &mut routes);
        let mut out = Rows::with_capacity(1);
        experts.forward::<4, Silu, _>(&cpu, &x, &routes, &mut ExpertRows::new(1), &mut out);
        let bias = |r: usize| 0.25 * f64::from(number(7, e, r, 0));
        let inner: Vec<f64> = (0..I).map(|i| bias(2 * i) / (1.0 + (-bias(2 * i)).exp()) * bias(2 * i + 1)).collect();
        for (h, &got) in out.row(0).iter().enumerate() {
            let terms: Vec<f64> = (0..I).map(|i| f64::from(number(DOWN, e, h, i)) * inner[i]).collect();
            let exact = terms.iter().sum::<f64>() + 0.25 * f64::from(number(8, e, h, 0));
            let size = terms.iter().map(|t| t.abs()).sum::<f64>() + 1.0;
            assert!((f64::from(got) - exact).abs() < 1e-5 * size, "expert {e}, output {h}: {got}, exactly {exact}");
        }
    }
}

#[test]
fn mxfp4_stays_small() {
    let experts = gated(&TRANSPOSED, &both(|layer| mxfp4(layer, 0.0)));
    assert_eq!(experts.bytes(), E * 3 * H * I * 17 / 32 + 4 * E * (2 * I + H));
}

#[test]
fn plain_experts_of_both_layouts() {
    let without_gates = |layer| each(layer).into_iter().filter(|t| !t.name.contains("gate")).collect();
    let of = |experts: PlainExperts<E, H, I>| {
        results(|cpu, x, routes, rows, out| experts.forward::<4, Relu2, _>(cpu, x, routes, rows, out))
    };
    let stacked = |layer| {
        vec![
            tensor(&format!("l.{layer}.experts.up"), &[E, I, H], |i| number(UP, i / (I * H), i / H % I, i % H)),
            tensor(&format!("l.{layer}.experts.down"), &[E, H, I], |i| number(DOWN, i / (H * I), i / I % H, i % I)),
        ]
    };
    assert_eq!(of(plain(&PLAIN_EACH, &both(without_gates))), of(plain(&PLAIN_STACKED, &both(stacked))));
}

fn lines(table: PlannedTensor, tensors: &[Tensor]) -> Vec<String> {
    match load(table, tensors, |_| Ok(())) {
        Ok(()) => Vec::new(),
        Err(LoadError::Mismatch(mismatch)) => mismatch.differences,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn what_all_experts_lack_is_said_once() {
    let without = |ending: &str| both(each).into_iter().filter(|t| !t.name.ends_with(ending)).collect::<Vec<_>>();
    assert_eq!(
        lines(EACH.per_layer(&LAYER), &without("up.weight")),
        ["l.{layer}.experts.{expert}.up.weight (layers 1, 4, experts 0..3) is missing"]
    );
    assert_eq!(lines(EACH.per_layer(&LAYER), &without("4.experts.2.up.weight")), ["l.4.experts.2.up.weight is missing"]);
    let mut more = both(each);
    more.push(Tensor::f32("l.4.experts.3.up.weight", &[1], &[0.0]));
    more.push(Tensor::f32("l.4.experts.4.up.weight", &[1], &[0.0]));
    assert_eq!(
        lines(EACH.per_layer(&LAYER), &more),
        ["l.{layer}.experts.{expert}.up.weight (layers 4, experts 3..5) is in the checkpoint and not in the plan"]
    );
}

#[test]
fn stacks_of_another_shape() {
    assert_eq!(
        lines(STACKED.per_layer(&LAYER), &both(|layer| transposed(layer, 0.0)[..2].to_vec())),
        [
            "l.{layer}.experts.down (layers 1, 4): the spec needs [3, 32, 64], the checkpoint has [3, 64, 32]",
            "l.{layer}.experts.gate_up (layers 1, 4): the spec needs [3, 128, 32], the checkpoint has [3, 32, 128]",
        ]
    );
    let mut tensors = both(|layer| mxfp4(layer, 0.0));
    tensors.retain(|t| t.name != "l.1.experts.down_scales");
    assert_eq!(lines(TRANSPOSED.per_layer(&LAYER), &tensors), ["l.1.experts.down_scales is missing"]);
    let without_biases = both(|layer| mxfp4(layer, 0.0)[..4].to_vec());
    assert_eq!(
        lines(TRANSPOSED.per_layer(&LAYER), &without_biases),
        ["l.{layer}.experts.down_bias (layers 1, 4) is missing", "l.{layer}.experts.gate_up_bias (layers 1, 4) is missing"]
    );
}

#[test]
fn a_scale_of_mxfp4_that_is_no_number() {
    let mut tensors = both(|layer| mxfp4(layer, 0.0));
    tensors.iter_mut().find(|t| t.name == "l.4.experts.gate_up_scales").unwrap().data[130] = 0xff;
    let error = load(TRANSPOSED.per_layer(&LAYER), &tensors, |from| from.gated_experts(&TRANSPOSED, 4)).unwrap_err().to_string();
    assert!(error.starts_with("l.4.experts.gate_up_scales: row 130, columns 0..32 have a mxfp4 scale that is NaN"), "{error}");
}

#[test]
fn ignored_tensors_may_share_a_beginning() {
    let dir = hf_dir(&config(), &[Tensor::f32("mtp.0.w", &[1], &[0.0]), Tensor::f32("x.5.mtp.w", &[1], &[0.0])]);
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let differences = |table: &[PlannedTensor]| match Loader::new(&checkpoint, &cpu, table, &CONTRACT) {
        Ok(_) => Vec::new(),
        Err(LoadError::Mismatch(mismatch)) => mismatch.differences,
        Err(other) => panic!("{other}"),
    };
    let (one, two) = (PlannedTensor::ignored("mtp.*", "a reason"), PlannedTensor::ignored("x.{layer}.m*", "a reason"));
    assert_eq!(differences(&[one, two]), [""; 0]);
    assert_eq!(differences(&[two]), ["mtp.0.w is in the checkpoint and not in the plan"]);
}
