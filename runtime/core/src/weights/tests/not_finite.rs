//! Weights that are no numbers: the tensor and the place are named before anything is packed.

use super::*;

/// What loading says of a checkpoint that fits but for the bytes of one tensor.
fn load(plan: &Plan, tensor: usize, changed: Tensor) -> String {
    let mut tensors = tensors(plan);
    tensors[tensor] = changed;
    let dir = match plan.kind {
        CheckpointKind::Hf | CheckpointKind::Mistral => hf_dir(&config(), &tensors),
        CheckpointKind::Gguf => gguf_dir(&metadata(), &tensors),
    };
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let cpu = Cpu::new(2, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, plan.tensors, &plan.config).unwrap();
    let loaded = match plan.kind {
        CheckpointKind::Hf | CheckpointKind::Mistral => (from.embedding(&HF_EMBED).map(drop))
            .and_then(|()| from.norm(&HF_NORM, 0).map(drop))
            .and_then(|()| from.layers(&LAYERS, |from, layer| from.linear(&HF_Q, layer)).map(drop)),
        CheckpointKind::Gguf => from.layers(&LAYERS, |from, layer| from.linear(&GGUF_Q, layer)).map(drop),
    };
    loaded.unwrap_err().to_string()
}

const WAY_OUT: &str = "the file is damaged, or was made from damaged weights; compare its checksum with the source's, \
                       and download or quantise it again";

#[test]
fn floats() {
    let with = |name, shape: &[usize], at: usize, value| {
        let mut values = vec![0.5; shape.iter().product()];
        values[at] = value;
        Tensor::f32(name, shape, &values)
    };
    let q = "model.layers.2.self_attn.q_proj.weight";
    assert_eq!(load(&HF, 4, with(q, &[32, 32], 32 * 7 + 5, f32::NAN)), format!("{q}: row 7, column 5 is NaN: {WAY_OUT}"));
    let norm = "model.norm.weight";
    let infinite = format!("{norm}: row 0, column 31 is infinite: {WAY_OUT}");
    assert_eq!(load(&HF, 0, with(norm, &[32], 31, f32::NEG_INFINITY)), infinite);
    let embed = "model.embed_tokens.weight";
    assert_eq!(load(&HF, 1, with(embed, &[8, 32], 32, f32::NAN)), format!("{embed}: row 1, column 0 is NaN: {WAY_OUT}"));
}

#[test]
fn scales_and_minima() {
    let name = "blk.1.attn_q.weight";
    for (at, bits, what) in [(0, 0x7e00u16, "NaN"), (2, 0xfc00, "infinite")] {
        let mut tensor = Tensor::zeros(name, &[32, 32], "q4_1", 20);
        tensor.data[9 * 20 + at..][..2].copy_from_slice(&bits.to_le_bytes());
        let expected = format!("{name}: row 9, columns 0..32 have a q4_1 scale that is {what}: {WAY_OUT}");
        assert_eq!(load(&GGUF, 3, tensor), expected);
    }
}
