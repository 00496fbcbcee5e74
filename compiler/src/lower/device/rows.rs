//! Ops that compute each row alone: norms, rotations, products with weights, activations, sums.

use super::{Fused, device, dtype, is_f32};
use crate::model::{Activation, Model};
use crate::program::{Buf, Call, DeviceOp, Op, OpKind, Operand, Part, Phase, Store, When, part_of_weight};

/// What one op becomes.
pub(super) fn op(op: &Op) -> Op {
    let kind = match &op.kind {
        OpKind::Embedding { weight, vocab, dim } => DeviceOp::new("embedding", Part::Model)
            .names("format", Vec::new())
            .number("dim", *dim)
            .number("vocab", *vocab)
            .weight("table", *weight)
            .with("x", Operand::Buf(op.writes[0]))
            .shape(shape(op.writes[0])),
        OpKind::Scale { dim, factor } => DeviceOp::new("scale", Part::Model)
            .number("dim", *dim)
            .with("x", Operand::Buf(op.writes[0]))
            .value("factor", *factor)
            .in_place()
            .shape(shape(op.writes[0])),
        OpKind::SoftCap { dim, cap } => DeviceOp::new("soft_cap", Part::Model)
            .number("dim", *dim)
            .with("x", Operand::Buf(op.writes[0]))
            .value("cap", *cap)
            .in_place()
            .shape(shape(op.writes[0])),
        OpKind::RopeAngles { rope, rotary_dim } => {
            let of = |what| Operand::Rotation(rope.clone(), what);
            DeviceOp::new("rope_angles", Part::Rotation(*rotary_dim))
                .number("rotary_dim", *rotary_dim)
                .with("frequencies", of("frequencies"))
                .with("factor", of("factor"))
                .with("cos", of("cos"))
                .with("sin", of("sin"))
                .writing(&[rope.as_str()])
                .shape(format!("cosines and sines, [tokens, {}] each", rotary_dim / 2))
        }
        OpKind::RmsNorm { weight, dim, eps } => DeviceOp::new("rms_norm", part_of_weight(*weight))
            .name("x_dtype", dtype(op.reads[0]))
            .number("dim", *dim)
            .with("x", Operand::Buf(op.reads[0]))
            .weight("weight", *weight)
            .value("eps", eps.clone())
            .with("out", Operand::Buf(op.writes[0]))
            .shape(shape(op.writes[0])),
        OpKind::RmsNormAdd { weight, dim } => DeviceOp::new("rms_norm_add", part_of_weight(*weight))
            .number("dim", *dim)
            .with("y", Operand::Buf(op.reads[0]))
            .weight("weight", *weight)
            .value("eps", "RMS_NORM_EPS")
            .with("x", Operand::Buf(op.writes[0]))
            .in_place()
            .shape(format!("x += {}", shape(op.writes[0]))),
        OpKind::HeadNorm { weight, dim, head_dim } => DeviceOp::new("head_norm", Part::Mixer)
            .number("head_dim", *head_dim)
            .number("dim", *dim)
            .with("x", Operand::Buf(op.writes[0]))
            .weight("weight", *weight)
            .value("eps", "RMS_NORM_EPS")
            .in_place()
            .shape(format!("each of {} heads of {head_dim}", dim / head_dim)),
        OpKind::GatedGroupNorm { weight, dim, groups } => DeviceOp::new("gated_group_norm", Part::Mixer)
            .number("dim", *dim)
            .number("groups", *groups)
            .with("y", Operand::Buf(op.writes[0]))
            .with("z", Operand::Buf(op.reads[0]))
            .weight("weight", *weight)
            .value("eps", "RMS_NORM_EPS")
            .in_place()
            .shape(format!("norm(y * silu(z)) in {groups} groups of {}", dim / groups)),
        OpKind::GatedHeadNorm { weight, dim, head_dim } => DeviceOp::new("gated_head_norm", Part::Mixer)
            .number("head_dim", *head_dim)
            .number("dim", *dim)
            .with("y", Operand::Buf(op.writes[0]))
            .with("z", Operand::Buf(op.reads[0]))
            .weight("weight", *weight)
            .value("eps", "RMS_NORM_EPS")
            .in_place()
            .shape(format!("norm(y) * silu(z), each of {} heads of {head_dim}", dim / head_dim)),
        OpKind::AddBias { weight, dim } => DeviceOp::new("add_bias", part_of_weight(*weight))
            .name("x_dtype", dtype(op.writes[0]))
            .number("dim", *dim)
            .with("x", Operand::Buf(op.writes[0]))
            .weight("bias", *weight)
            .in_place()
            .shape(format!("+= [{dim}]")),
        OpKind::Rope { rope, dim, head_dim, rotary_dim, interleaved, tail } => {
            rotate(op.writes[0], rope, *dim, *head_dim, *rotary_dim, *interleaved, *tail)
        }
        OpKind::SigmoidMul { dim } => DeviceOp::new("sigmoid_mul", Part::Mixer)
            .number("dim", *dim)
            .with("x", Operand::Buf(op.writes[0]))
            .with("gate", Operand::Buf(op.reads[0]))
            .in_place()
            .shape(format!("{0} * sigmoid({1}), {2}", op.writes[0].name, op.reads[0].name, shape(op.writes[0]))),
        OpKind::QueryScale { dim, factor } => DeviceOp::new("query_scale", Part::Mixer)
            .number("dim", *dim)
            .with("q", Operand::Buf(op.writes[0]))
            .value("beta", format!("{factor}.beta()"))
            .value("original", format!("{factor}.original()"))
            .in_place()
            .shape("grows with the position"),
        OpKind::Act { act, dim } => DeviceOp::new("act", Part::Ffn)
            .name("act", act.as_str())
            .number("dim", *dim)
            .with("x", Operand::Buf(op.writes[0]))
            .in_place()
            .shape(format!("{}, {}", act.as_str(), shape(op.writes[0]))),
        OpKind::ActMul { act, dim } => act_mul(*act, *dim, op.writes[0], op.reads[0]),
        OpKind::Add { dim } => DeviceOp::new("add", Part::Model)
            .number("dim", *dim)
            .with("x", Operand::Buf(op.writes[0]))
            .with("y", Operand::Buf(op.reads[0]))
            .in_place()
            .shape(format!("x += {}", shape(op.reads[0]))),
        // The sum of a scaled second norm would be read as f32 and is written as bf16: no template has this op.
        OpKind::AddScaled { dim, factor } => {
            DeviceOp::new(if is_f32(op.reads[0]) { "add_scaled" } else { "add_scaled_norm" }, Part::Model)
                .number("dim", *dim)
                .with("x", Operand::Buf(op.writes[0]))
                .with("y", Operand::Buf(op.reads[0]))
                .value("factor", *factor)
                .in_place()
                .shape(format!("x += {}", shape(op.reads[0])))
        }
        OpKind::GatherLogitRows { dim } => DeviceOp::new("gather_logit_rows", Part::Model)
            .number("dim", *dim)
            .with("x", Operand::Buf(op.reads[0]))
            .with("last", Operand::Buf(op.writes[0]))
            .shape(shape(op.writes[0])),
        other => unreachable!("{other:?} computes more than rows"),
    };
    device(kind, &op.reads, &op.writes)
}

/// The rotation of a buffer's heads alone.
pub(super) fn rotate(
    x: Buf,
    rope: &str,
    dim: usize,
    head_dim: usize,
    rotary_dim: usize,
    interleaved: bool,
    tail: bool,
) -> DeviceOp {
    let which = if tail { "the last " } else { "" };
    DeviceOp::new(if tail { "rope_tail" } else { "rope" }, Part::Mixer)
        .number("head_dim", head_dim)
        .number("rotary_dim", rotary_dim)
        .name("layout", layout(interleaved))
        .number("dim", dim)
        .with("x", Operand::Buf(x))
        .with("cos", Operand::Rotation(rope.to_owned(), "cos"))
        .with("sin", Operand::Rotation(rope.to_owned(), "sin"))
        .reading(&[rope])
        .in_place()
        .shape(format!("{which}{rotary_dim} of {head_dim}, {} heads", dim / head_dim))
}

/// The name of a layout of rotated pairs.
pub(super) const fn layout(interleaved: bool) -> &'static str {
    if interleaved { "interleaved" } else { "halves" }
}

fn act_mul(act: Activation, dim: usize, gate: Buf, up: Buf) -> DeviceOp {
    DeviceOp::new("act_mul", Part::Ffn)
        .name("act", act.as_str())
        .number("dim", dim)
        .with("gate", Operand::Buf(gate))
        .with("up", Operand::Buf(up))
        .in_place()
        .shape(format!("{}(gate) * up, {}", act.as_str(), shape(gate)))
}

/// `[tokens, 1024]`
fn shape(buf: Buf) -> String {
    match buf.rows {
        crate::program::RowsOf::Tokens => format!("[tokens, {}]", buf.width),
        crate::program::RowsOf::LogitRows => format!("[logit rows, {}]", buf.width),
    }
}

/// The product of a weight and rows: a kernel for few rows, the matrix library for more, over a weight that is bf16 or made so.
pub(super) fn linear(model: &Model, op: &Op) -> Vec<Op> {
    let OpKind::Linear { weight, out, input, accumulate, .. } = op.kind else { unreachable!("a linear layer") };
    let (from, to) = (op.reads[0], op.writes[0]);
    let (store, mode) = match accumulate {
        true => (Store::Add, "2"),
        false if is_f32(to) => (Store::Write, "1"),
        false => (Store::Write, "0"),
    };
    let mut kind = DeviceOp::new("linear", part_of_weight(weight))
        .names("format", Vec::new())
        .number("out", out)
        .number("in", input)
        .weight("weight", weight)
        .with("x", Operand::Buf(from))
        .with("y", Operand::Buf(to))
        .value("mode", mode)
        .called(Call::Linear(store))
        .shape(if accumulate { format!("{} += {}", to.name, shape(to)) } else { shape(to) });
    kind.in_place = accumulate;
    let mut ops = vec![device(kind, &[from], &[to])];
    ops.extend(dequantised(model, weight, out, input));
    ops
}

/// The weight as bf16, which the matrix library reads, where it may be stored otherwise.
fn dequantised(model: &Model, weight: crate::architecture::Role, out: usize, input: usize) -> Option<Op> {
    let stored_otherwise = model.checkpoint.accept.iter().any(|format| format.as_str() != "bf16");
    let kind = DeviceOp::new("dequantise", part_of_weight(weight))
        .names("format", Vec::new())
        .number("out", out)
        .number("in", input)
        .weight("weight", weight)
        .with("out_matrix", Operand::Work("matrix"))
        .when(When::Many)
        .called(Call::Within);
    stored_otherwise.then(|| device(kind, &[], &[]))
}

/// Gate, up and their activation.
pub(super) fn gated(model: &Model, rest: &[Op]) -> Fused {
    let [gate, up, act, ..] = rest else { return None };
    let (
        OpKind::Linear { weight: gate_weight, out, input, accumulate: false, .. },
        OpKind::Linear { weight: up_weight, accumulate: false, .. },
        OpKind::ActMul { act: which, dim },
    ) = (&gate.kind, &up.kind, &act.kind)
    else {
        return None;
    };
    let (x, to, beside) = (gate.reads[0], gate.writes[0], up.writes[0]);
    if up.reads[0] != x || act.writes[0] != to || act.reads[0] != beside {
        return None;
    }
    let part = part_of_weight(*gate_weight);
    let kind = DeviceOp::new("linear_gated", part)
        .names("format", Vec::new())
        .name("act", which.as_str())
        .number("out", *out)
        .number("in", *input)
        .weight("gate", *gate_weight)
        .weight("up", *up_weight)
        .with("x", Operand::Buf(x))
        .with("y", Operand::Buf(to))
        .called(Call::Gated)
        .shape(format!("{}(gate) * up, {}", which.as_str(), shape(to)));
    let mut ops = vec![device(kind, &[x], &[to, beside])];
    // For more rows, and for few where the two are stored in unlike formats.
    for one in [gate, up] {
        ops.extend(linear(model, one).into_iter().map(|op| within(op, When::Many)));
    }
    ops.push(within(device(act_mul(*which, *dim, to, beside), &[beside], &[to]), When::Many));
    Some((3, ops))
}

/// The same op, called by one before.
fn within(mut op: Op, when: When) -> Op {
    if let OpKind::Device(kind) = &mut op.kind {
        kind.when = when;
        kind.call = Call::Within;
    }
    op
}

/// The second norm of a sandwich and the first norm of what follows.
pub(super) fn norm_add_norm(rest: &[Op]) -> Fused {
    let [add, norm, ..] = rest else { return None };
    let (OpKind::RmsNormAdd { weight, dim }, OpKind::RmsNorm { weight: next, eps, .. }) = (&add.kind, &norm.kind) else {
        return None;
    };
    let (y, x, out) = (add.reads[0], add.writes[0], norm.writes[0]);
    if norm.reads[0] != x || eps != "RMS_NORM_EPS" {
        return None;
    }
    let kind = DeviceOp::new("rms_norm_add_norm", part_of_weight(*weight))
        .number("dim", *dim)
        .with("y", Operand::Buf(y))
        .weight("weight", *weight)
        .value("eps", "RMS_NORM_EPS")
        .with("x", Operand::Buf(x))
        .weight("next_weight", *next)
        .with("out", Operand::Buf(out))
        .in_place()
        .shape(format!("x += {}, and its norm", shape(x)));
    Some((2, vec![device(kind, &[y], &[x, out])]))
}

/// The head's ops with the logit scale on the logits: the hidden state before the head is bf16 on a device, and a factor moves through
/// the product.
pub(super) fn scale_after_head(ops: &[Op]) -> Vec<Op> {
    let mut out: Vec<Op> = ops.to_vec();
    let Some(at) = out.iter().position(|op| matches!(op.kind, OpKind::Scale { factor: "LOGIT_SCALE", .. })) else { return out };
    let mut scale = out.remove(at);
    let head = out.iter().position(|op| matches!(op.kind, OpKind::Linear { .. })).expect("the head is a product");
    let logits = out[head].writes[0];
    scale.kind = OpKind::Scale { dim: logits.width, factor: "LOGIT_SCALE" };
    scale.writes = vec![logits];
    out.insert(head + 1, scale);
    out
}

/// Spans of one phase, in words.
pub(super) const fn spans(phase: Phase) -> &'static str {
    match phase {
        Phase::Prefill => "spans of several tokens",
        Phase::Decode => "spans of one token",
    }
}

/// What chooses a token of each row of logits, in place of the logits themselves: the most likely one, or one that is drawn.
pub(super) fn sampling(model: &Model) -> Vec<Op> {
    let logits = crate::lower::logit_rows("logits", model.vocab_size);
    let of = |op| {
        DeviceOp::new(op, Part::Model)
            .number("vocab", model.vocab_size)
            .with("logits", Operand::Buf(logits))
            .with("ids", Operand::State("ids"))
            .when(When::Many)
            .called(Call::Within)
    };
    let parameters = ["temperature", "top_k", "top_p", "random"];
    let sample = parameters.into_iter().fold(of("sample"), |op, name| op.with(name, Operand::State(name)));
    vec![device(of("argmax"), &[logits], &[]), device(sample, &[logits], &[])]
}
