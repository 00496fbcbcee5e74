//! The weights of recurrent layers: filters in three dimensions, and decays that are stored as their logarithms.

use super::*;

const CONV: ConvSpec<3, 2> = ConvSpec::new("m.{layer}.conv1d.weight", ACCEPT);
const DECAY: DecaySpec<2> = DecaySpec::new("m.{layer}.A_log", ACCEPT);
const BIAS: VectorSpec<2> = VectorSpec::new("m.{layer}.dt_bias", ACCEPT);

/// The plan of [`HF`] with a recurrent layer.
const RECURRENT: Plan = Plan {
    kind: CheckpointKind::Hf,
    tensors: &[
        HF_EMBED.once(),
        HF_Q.per_layer(&LAYERS),
        HF_NORM.once(),
        CONV.per_layer(&[1]),
        DECAY.per_layer(&[1]),
        BIAS.per_layer(&[1]),
    ],
    config: CONTRACT,
};

fn recurrent(conv: &[usize], logs: [f32; 2]) -> Vec<Tensor> {
    let count: usize = conv.iter().product();
    let filters: Vec<f32> = (0..count).map(|i| i as f32).collect();
    let mut all = tensors(&HF);
    all.push(Tensor::f32("m.1.conv1d.weight", conv, &filters));
    all.push(Tensor::f32("m.1.A_log", &[2], &logs));
    all.push(Tensor::f32("m.1.dt_bias", &[2], &[7.0, -7.0]));
    all
}

#[test]
fn what_fits_loads() {
    let dir = hf_dir(&config(), &recurrent(&[3, 1, 2], [0.0, 1.0]));
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, RECURRENT.tensors, &RECURRENT.config).unwrap();
    assert_eq!(from.conv(&CONV, 1).unwrap().taps(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    assert_eq!(from.decay(&DECAY, 1).unwrap().values(), &[-1.0, -std::f32::consts::E]);
    assert_eq!(from.vector(&BIAS, 1).unwrap().values(), &[7.0, -7.0]);
}

#[test]
fn filters_of_another_shape_do_not() {
    let dir = hf_dir(&config(), &recurrent(&[3, 2], [0.0, 1.0]));
    let expected = "m.1.conv1d.weight: the spec needs [3, 1, 2], the checkpoint has [3, 2]";
    assert_eq!(differences(dir.path(), &RECURRENT), [expected]);
}

#[test]
fn no_decay_is_named() {
    let dir = hf_dir(&config(), &recurrent(&[3, 1, 2], [0.0, -200.0]));
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, RECURRENT.tensors, &RECURRENT.config).unwrap();
    let expected = "m.1.A_log: element 1 is -200: the decay is -exp of it, which must be below 0 and finite";
    assert_eq!(from.decay(&DECAY, 1).unwrap_err().to_string(), expected);
}
