//! The ops of a step on a device that launches kernels: those of the CPU, each as the kernels that compute it, and several as one where
//! a kernel does them together.
//!
//! | ops of the CPU | on the device |
//! |---|---|
//! | head norms, rotations, append of keys and values | `rope_append` |
//! | latent norm, rotations, append of latents | `rope_tail`, `latent_append` |
//! | gate, up, activation | `linear_gated` for few rows |
//! | second norm of a sandwich, first norm of the next part | `rms_norm_add_norm` |
//! | attention | `attention_prefill`, `attention_decode`, by span |
//! | experts | `experts_up_few`, .. for few rows, `experts_up_many`, .. for more |

mod attention;
mod experts;
mod latent;
mod recurrent;
mod rows;

use super::tokens;
use crate::model::Model;
use crate::program::{Buf, DeviceOp, Dtype, Op, OpKind, Ops, device_dtype};

/// The ops of a step of the CPU as those of a device.
pub(super) fn ops(model: &Model, cpu: &Ops) -> Ops {
    let section = |ops: &[Op]| section(model, ops);
    Ops {
        prologue: section(&cpu.prologue),
        kinds: cpu.kinds.iter().map(|ops| section(ops)).collect(),
        epilogue: [section(&rows::scale_after_head(&cpu.epilogue)), rows::sampling(model)].concat(),
    }
}

/// One list of ops, front to back: at each place the fusion that takes most, or the op alone.
fn section(model: &Model, ops: &[Op]) -> Vec<Op> {
    let mut out: Vec<Op> = Vec::new();
    let mut rest = ops;
    while !rest.is_empty() {
        let (taken, mut made) = fused(model, rest).unwrap_or_else(|| (1, alone(model, &rest[0])));
        let heading = rest[..taken].iter().find_map(|op| op.heading.clone());
        if let (Some(first), Some(heading)) = (made.first_mut(), heading) {
            first.heading = Some(heading);
        }
        rest = &rest[taken..];
        out.extend(made);
    }
    out
}

/// What several ops become together, and how many they are.
type Fused = Option<(usize, Vec<Op>)>;

fn fused(model: &Model, rest: &[Op]) -> Fused {
    attention::append(rest)
        .or_else(|| latent::append(rest))
        .or_else(|| latent::attention(model, rest))
        .or_else(|| rows::gated(model, rest))
        .or_else(|| rows::norm_add_norm(rest))
}

/// What one op becomes.
fn alone(model: &Model, op: &Op) -> Vec<Op> {
    match &op.kind {
        OpKind::Attention { .. } => attention::attention(op),
        OpKind::KvAppend { .. } => attention::kv_append(op),
        OpKind::LatentNorm { .. } | OpKind::LatentAppend { .. } | OpKind::Mla { .. } => {
            unreachable!("the ops of latent attention follow each other")
        }
        OpKind::CausalConv { .. } | OpKind::Mamba2 { .. } | OpKind::Delta { .. } => recurrent::op(op),
        OpKind::Route { .. } | OpKind::Experts { .. } | OpKind::SigmoidGateAdd { .. } => experts::op(model, op),
        OpKind::Linear { .. } => rows::linear(model, op),
        _ => vec![rows::op(op)],
    }
}

/// An op with the buffers that it reads, and those that it writes.
fn device(kind: DeviceOp, reads: &[Buf], writes: &[Buf]) -> Op {
    super::op(OpKind::Device(Box::new(kind)), reads, writes)
}

/// The dtype of a buffer, as a template names it.
fn dtype(buf: Buf) -> &'static str {
    device_dtype(buf.name).as_str()
}

/// A buffer is read or written as f32; `check` finds no kernel where it is not.
fn is_f32(buf: Buf) -> bool {
    device_dtype(buf.name) == Dtype::F32
}

#[cfg(test)]
mod tests;
