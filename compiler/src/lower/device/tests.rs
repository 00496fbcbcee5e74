//! What the ops of the CPU become on a device, for the models of the repository.

use std::path::Path;

use crate::model::Model;
use crate::program::{Call, Dtype, OpKind, Operand, When};
use crate::{driver, lower, models};

fn all() -> Vec<Model> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the compiler stands in the workspace");
    let sources = driver::read(root, "model-specs", "kernel-templates").unwrap();
    models(&sources).unwrap_or_else(|_| panic!("the specs pass check"))
}

/// The ops of one model's blocks on a device, those that a call chooses among left out.
fn launched(models: &[Model], name: &str) -> Vec<&'static str> {
    let model = models.iter().find(|model| model.name == name).unwrap();
    let ops = lower::ops(model, crate::model::Target::Sm90a);
    let launched = ops.kinds.iter().flatten().filter_map(|op| match &op.kind {
        OpKind::Device(op) if op.call != Call::Within => Some(op.op),
        OpKind::Device(_) => None,
        other => panic!("{other:?} is no op of a device"),
    });
    launched.collect()
}

#[test]
fn what_one_kernel_does_together_is_one_op() {
    let models = all();
    let dense = [
        "rms_norm",
        "linear",
        "linear",
        "linear",
        "rope_append",
        "attention_prefill",
        "attention_decode",
        "linear",
        "rms_norm",
        "linear_gated",
        "linear",
    ];
    assert_eq!(launched(&models, "qwen3-0.6b"), dense, "head norms, rotations and the append are one");
    assert_eq!(launched(&models, "llama-3.1-8b"), dense, "and so without norms");
    let sandwich = launched(&models, "gemma-3-270m");
    assert!(sandwich.contains(&"rms_norm_add_norm") && sandwich.contains(&"rms_norm_add"), "{sandwich:?}");
    let latent = launched(&models, "bard-mla");
    let at = latent.iter().position(|op| *op == "rope_tail").unwrap();
    let attention =
        ["rope_tail", "query_scale", "latent_append", "mla_expand", "mla_prefill_expanded", "mla_absorb", "mla_decode"];
    assert_eq!(latent[at..at + attention.len()], attention);
    let hybrid = launched(&models, "nemotron-3-super-120b-a12b");
    for op in ["causal_conv_prefill", "causal_conv_decode", "mamba2_scan", "mamba2_update", "kv_append", "experts_up_many"] {
        assert!(hybrid.contains(&op), "{op} in {hybrid:?}");
    }
}

#[test]
fn every_op_of_a_device_knows_its_buffers() {
    for model in &all() {
        let program = lower::lower(model, crate::model::Target::Sm90a);
        for op in program.ops.iter() {
            let OpKind::Device(kind) = &op.kind else { panic!("{:?} is no op of a device", op.kind) };
            let named = kind.operands.iter().filter_map(|(_, operand)| match operand {
                Operand::Buf(buf) => Some(*buf),
                _ => None,
            });
            let named: Vec<_> = named.collect();
            // What a call chooses among has further buffers, which its other kernels write.
            let touched = || op.reads.iter().chain(&op.writes);
            assert!(named.iter().all(|buf| touched().any(|other| other == buf)), "{}: {}", model.name, kind.op);
            let of_linear = matches!(kind.call, Call::Linear(_) | Call::Gated);
            assert!(of_linear || touched().all(|buf| named.contains(buf)), "{}: {}", model.name, kind.op);
            if kind.op == "linear" || kind.op == "linear_gated" {
                let x = program.buffers.iter().find(|b| b.buf == op.reads[0]).unwrap();
                assert_eq!(x.dtype, Dtype::Bf16, "{}: a product reads {}", model.name, x.field);
            }
            assert!(kind.when != When::Few || kind.op.ends_with("_few") || kind.op == "experts_sum", "{}", kind.op);
        }
    }
}
