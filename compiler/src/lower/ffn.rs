//! Feed-forwards as ops.

use super::{Residual, ffn_constant, linear, moe_field, op, project, rms_norm, tokens};
use crate::architecture::Role;
use crate::model::{Activation, Ffn, Model, Moe};
use crate::program::{Buf, Op, OpKind};

pub(super) fn ffn(model: &Model, name: &str, ffn: &Ffn, norm: Role, residual: Residual, ops: &mut Vec<Op>) {
    let first = ops.len();
    let hidden = model.hidden_size;
    let h = tokens("h", hidden);
    ops.push(rms_norm(norm, residual.x, h, "RMS_NORM_EPS"));
    let what = match *ffn {
        Ffn::GatedMlp { intermediate_size: inner, act, bias } => {
            let (gate, up) = (tokens("gate", inner), tokens("up", inner));
            project(Role::GateProj, bias.then_some(Role::GateBias), h, gate, ops);
            project(Role::UpProj, bias.then_some(Role::UpBias), h, up, ops);
            ops.push(op(OpKind::ActMul { act, dim: inner }, &[up], &[gate]));
            residual.output(Role::DownProj, bias.then_some(Role::DownBias), gate, ops);
            format!("gated_mlp, {}, {hidden} -> {inner} -> {hidden}", act.as_str())
        }
        Ffn::Mlp { intermediate_size: inner, act, bias } => {
            let up = tokens("up", inner);
            project(Role::UpProj, bias.then_some(Role::UpBias), h, up, ops);
            ops.push(op(OpKind::Act { act, dim: inner }, &[], &[up]));
            residual.output(Role::DownProj, bias.then_some(Role::DownBias), up, ops);
            format!("mlp, {}, {hidden} -> {inner} -> {hidden}", act.as_str())
        }
        Ffn::Moe(ref moe) => self::moe(model, name, moe, h, residual, ops),
    };
    ops[first].heading = Some(format!("{name}: {what}"));
}

fn moe(model: &Model, name: &str, moe: &Moe, h: Buf, residual: Residual, ops: &mut Vec<Op>) -> String {
    let hidden = h.width;
    let (router, o) = (tokens("router", moe.experts), tokens("o", hidden));
    project(Role::Router, moe.router.bias.then_some(Role::RouterBias), h, router, ops);
    let routes = moe_field(model, name, "routes");
    let route = OpKind::Route {
        routes: routes.clone(),
        router: ffn_constant(model, name, "router"),
        experts: moe.experts,
        top_k: moe.top_k,
        biased: moe.router.correction_bias,
    };
    ops.push(op(route, &[router], &[]));
    let experts = |width| OpKind::Experts {
        routes,
        rows: moe_field(model, name, "expert_rows"),
        experts: moe.experts,
        top_k: moe.top_k,
        hidden: width,
        inner: moe.intermediate_size,
        act: moe.act,
        gated: moe.gated,
        clamp: moe.clamp.map(|_| (ffn_constant(model, name, "swiglu_limit"), ffn_constant(model, name, "swiglu_alpha"))),
    };
    match moe.latent {
        None => ops.push(op(experts(hidden), &[h], &[o])),
        Some(width) => {
            let (inside, outside) = (tokens("expert_h", width), tokens("expert_o", width));
            ops.push(linear(Role::LatentIn, h, inside));
            ops.push(op(experts(width), &[inside], &[outside]));
            ops.push(linear(Role::LatentOut, outside, o));
        }
    }
    if let Some(shared) = moe.shared {
        let inner = shared.intermediate_size;
        let down = shared_inside(moe.gated, moe.act, inner, h, ops);
        if shared.gate {
            let (gate, shared) = (tokens("shared_gate", 1), tokens("shared", hidden));
            ops.push(linear(Role::SharedDownProj, down, shared));
            ops.push(linear(Role::SharedExpertGate, h, gate));
            ops.push(op(OpKind::SigmoidGateAdd { dim: hidden }, &[gate, shared], &[o]));
        } else {
            let accumulate =
                OpKind::Linear { weight: Role::SharedDownProj, out: hidden, input: inner, accumulate: true, int8: false };
            ops.push(op(accumulate, &[down], &[o]));
        }
    }
    residual.join(o, ops);

    let mut what = format!("moe, {} of {} experts x {}", moe.top_k, moe.experts, moe.intermediate_size);
    if let Some(latent) = moe.latent {
        what.push_str(&format!(" in latent {latent}"));
    }
    if let Some(shared) = moe.shared {
        what.push_str(&format!(", shared {}{}", shared.intermediate_size, if shared.gate { " with gate" } else { "" }));
    }
    what.push_str(&format!(", {}", if moe.clamp.is_some() { "clamped swiglu" } else { moe.act.as_str() }));
    what
}

/// What the shared expert's down projection reads.
fn shared_inside(gated: bool, act: Activation, inner: usize, h: Buf, ops: &mut Vec<Op>) -> Buf {
    let up = tokens("up", inner);
    if gated {
        let gate = tokens("gate", inner);
        ops.push(linear(Role::SharedGateProj, h, gate));
        ops.push(linear(Role::SharedUpProj, h, up));
        ops.push(op(OpKind::ActMul { act, dim: inner }, &[up], &[gate]));
        gate
    } else {
        ops.push(linear(Role::SharedUpProj, h, up));
        ops.push(op(OpKind::Act { act, dim: inner }, &[], &[up]));
        up
    }
}
