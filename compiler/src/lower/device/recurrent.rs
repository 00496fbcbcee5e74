//! Recurrent mixers: the convolution, which is not in place on a device, and the recurrences that read what it wrote.

use super::rows::spans;
use super::{device, tokens};
use crate::architecture::Role;
use crate::program::{Buf, DeviceOp, Op, OpKind, Operand, Part, Phase};

/// What one op becomes.
pub(super) fn op(op: &Op) -> Vec<Op> {
    match &op.kind {
        OpKind::CausalConv { dim, kernel, bias } => {
            let (x, out) = (op.writes[0], convolved(op.writes[0]));
            let of = |name, phase| {
                let kind = DeviceOp::new(name, Part::Mixer)
                    .number("conv_kernel", *kernel)
                    .number("dim", *dim)
                    .with("x", Operand::Buf(x))
                    .with("taps", Operand::Weight(Role::Conv1d, "taps"))
                    .maybe("bias", bias.then_some(Role::Conv1dBias))
                    .with("window", Operand::State("window"))
                    .with("out", Operand::Buf(out))
                    .of_phase(phase)
                    .shape(format!("silu(conv over {kernel} tokens), [tokens, {dim}], {}", spans(phase)));
                device(kind, &[x], &[out])
            };
            vec![of("causal_conv_prefill", Phase::Prefill), of("causal_conv_decode", Phase::Decode)]
        }
        OpKind::Mamba2 { phase, heads, head_dim, state, groups, time_step_min, .. } => {
            let name = match phase {
                Phase::Prefill => "mamba2_scan",
                Phase::Decode => "mamba2_update",
            };
            let (xbc, dt, y) = (convolved(op.reads[0]), op.reads[1], op.writes[0]);
            let kind = DeviceOp::new(name, Part::Mixer)
                .number("head_dim", *head_dim)
                .number("state", *state)
                .number("heads", *heads)
                .number("groups", *groups)
                .with("xbc", Operand::Buf(xbc))
                .with("dt", Operand::Buf(dt))
                .with("decay", Operand::Weight(Role::ALog, ""))
                .with("d", Operand::Weight(Role::D, ""))
                .with("dt_bias", Operand::Weight(Role::DtBias, ""))
                .value("time_step_min", time_step_min.clone())
                .with("states", Operand::State("states"))
                .with("y", Operand::Buf(y))
                .of_phase(*phase)
                .shape(format!("[tokens, {heads} x {head_dim}], {}", spans(*phase)));
            vec![device(kind, &[xbc, dt], &[y])]
        }
        OpKind::Delta { phase, key_heads, key_dim, value_heads, value_dim } => {
            let name = match phase {
                Phase::Prefill => "delta_prefill",
                Phase::Decode => "delta_decode",
            };
            let (qkv, a, b, y) = (convolved(op.reads[0]), op.reads[1], op.reads[2], op.writes[0]);
            let kind = DeviceOp::new(name, Part::Mixer)
                .number("key_dim", *key_dim)
                .number("value_dim", *value_dim)
                .number("key_heads", *key_heads)
                .number("value_heads", *value_heads)
                .with("qkv", Operand::Buf(qkv))
                .with("a", Operand::Buf(a))
                .with("b", Operand::Buf(b))
                .with("decay", Operand::Weight(Role::ALog, ""))
                .with("dt_bias", Operand::Weight(Role::DtBias, ""))
                .with("states", Operand::State("states"))
                .with("y", Operand::Buf(y))
                .of_phase(*phase)
                .shape(format!("[tokens, {value_heads} x {value_dim}], {}", spans(*phase)));
            vec![device(kind, &[qkv, a, b], &[y])]
        }
        other => unreachable!("{other:?} is no recurrence"),
    }
}

/// The buffer that holds another after its convolution.
fn convolved(x: Buf) -> Buf {
    tokens(
        match x.name {
            "xbc" => "xbc_conv",
            "qkv" => "qkv_conv",
            other => unreachable!("`{other}` is not convolved"),
        },
        x.width,
    )
}
