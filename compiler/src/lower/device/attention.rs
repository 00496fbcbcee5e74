//! Grouped-query attention: what is appended to the cache, and attention over it, by span.

use super::rows::{layout, spans};
use super::{Fused, device};
use crate::architecture::Role;
use crate::model::KvDtype;
use crate::program::{DeviceOp, MOST_SPLITS, Op, OpKind, Operand, Part, Phase};

/// Names of cache dtypes.
pub(super) fn dtypes(dtypes: &[KvDtype]) -> Vec<&'static str> {
    dtypes.iter().map(|dtype| dtype.as_str()).collect()
}

/// Head norms (or none), the rotations of queries and keys, and the append.
pub(super) fn append(rest: &[Op]) -> Fused {
    let (normed, at) = match rest {
        [Op { kind: OpKind::HeadNorm { .. }, .. }, Op { kind: OpKind::HeadNorm { .. }, .. }, ..] => (true, 2),
        _ => (false, 0),
    };
    let [rope_q, rope_k, append, ..] = rest.get(at..)? else { return None };
    let OpKind::Rope { rope, dim, head_dim, rotary_dim, interleaved, tail: false } = &rope_q.kind else { return None };
    let (OpKind::Rope { tail: false, .. }, OpKind::KvAppend { kv_heads, dtypes, .. }) = (&rope_k.kind, &append.kind) else {
        return None;
    };
    let (q, k, v) = (rope_q.writes[0], append.reads[0], append.reads[1]);
    let norm = |role| normed.then_some(role);
    let kind = DeviceOp::new("rope_append", Part::Mixer)
        .number("head_dim", *head_dim)
        .number("rotary_dim", *rotary_dim)
        .name("layout", layout(*interleaved))
        .name("norm", if normed { "qk" } else { "none" })
        .names("kv_dtype", self::dtypes(dtypes))
        .number("num_attention_heads", dim / head_dim)
        .number("num_key_value_heads", *kv_heads)
        .with("q", Operand::Buf(q))
        .with("k", Operand::Buf(k))
        .with("v", Operand::Buf(v))
        .maybe("q_weight", norm(Role::QNorm))
        .maybe("k_weight", norm(Role::KNorm))
        .value("eps", "RMS_NORM_EPS")
        .with("cos", Operand::Rotation(rope.clone(), "cos"))
        .with("sin", Operand::Rotation(rope.clone(), "sin"))
        .with("kv", Operand::Cache)
        .reading(&[rope.as_str()])
        .writing(&["cache"])
        .in_place()
        .shape(format!(
            "{}{rotary_dim} of {head_dim} rotated, 2 x [{kv_heads}, {head_dim}] per token",
            if normed { "norms, " } else { "" }
        ));
    Some((at + 3, vec![device(kind, &[k, v], &[q])]))
}

/// The append alone, of a model without rotation.
pub(super) fn kv_append(op: &Op) -> Vec<Op> {
    let OpKind::KvAppend { kv_heads, head_dim, dtypes } = &op.kind else { unreachable!("an append") };
    let kind = DeviceOp::new("kv_append", Part::Mixer)
        .number("head_dim", *head_dim)
        .names("kv_dtype", self::dtypes(dtypes))
        .number("num_key_value_heads", *kv_heads)
        .with("k", Operand::Buf(op.reads[0]))
        .with("v", Operand::Buf(op.reads[1]))
        .with("kv", Operand::Cache)
        .writing(&["cache"])
        .shape(format!("2 x [{kv_heads}, {head_dim}] per token"));
    vec![device(kind, &op.reads, &[])]
}

/// Attention over the cache, spans of several tokens apart from those of one.
pub(super) fn attention(op: &Op) -> Vec<Op> {
    let OpKind::Attention { heads, kv_heads, head_dim, dtypes, scale, window, soft_cap, sinks } = &op.kind else {
        unreachable!("an attention")
    };
    let (q, out) = (op.reads[0], op.writes[0]);
    let of = |name, phase| {
        DeviceOp::new(name, Part::Mixer)
            .names("kv_dtype", self::dtypes(dtypes))
            .number("head_dim", *head_dim)
            .number("group", heads / kv_heads)
            .number("num_key_value_heads", *kv_heads)
            .with("q", Operand::Buf(q))
            .with("kv", Operand::Cache)
            .maybe("sinks", sinks.then_some(Role::Sinks))
            .with("out", Operand::Buf(out))
            .value("scale", format!("{scale}.value()"))
            .value("window", window.as_ref().map_or("0", |(_, name)| name))
            .value("soft_cap", soft_cap.as_deref().unwrap_or("0.0"))
            .reading(&["cache"])
            .of_phase(phase)
            .shape(format!("[tokens, {heads} x {head_dim}], {}", spans(phase)))
    };
    let prefill = of("attention_prefill", Phase::Prefill);
    let decode = of("attention_decode", Phase::Decode)
        .with("workspace", Operand::Work("attention_parts"))
        .with("counters", Operand::Work("attention_counters"))
        .chosen("kv_splits", format!("run.splits({kv_heads})"), MOST_SPLITS);
    vec![device(prefill, &[q], &[out]), device(decode, &[q], &[out])]
}
