//! Mixers as ops.

use super::tensors::mixer_norm;
use super::{Residual, linear, mixer_constant, op, project, rms_norm, tokens};
use crate::architecture::Role;
use crate::model::{GatedDeltaNet, Gqa, KvCache, KvDtype, Mamba2, Mixer, Mla, Model, Rope, Target};
use crate::program::{Buf, Op, OpKind, Phase, angles_field};

pub(super) fn mixer(
    model: &Model,
    target: Target,
    name: &str,
    mixer: &Mixer,
    ropes: &[(String, Rope)],
    residual: Residual,
    ops: &mut Vec<Op>,
) {
    let first = ops.len();
    let h = tokens("h", model.hidden_size);
    ops.push(rms_norm(mixer_norm(model), residual.x, h, "RMS_NORM_EPS"));
    let what = match mixer {
        Mixer::Gqa(gqa) => self::gqa(model, target, name, gqa, ropes, h, residual, ops),
        Mixer::Mla(mla) => self::mla(model, target, name, mla, ropes, h, residual, ops),
        Mixer::Mamba2(mamba) => mamba2(model, name, mamba, h, residual, ops),
        Mixer::GatedDeltaNet(delta) => gated_delta_net(delta, h, residual, ops),
    };
    ops[first].heading = Some(format!("{name}: {what}"));
}

#[allow(clippy::too_many_arguments, reason = "what the ops refer to, each by its own name")]
fn gqa(
    model: &Model,
    target: Target,
    name: &str,
    gqa: &Gqa,
    ropes: &[(String, Rope)],
    h: Buf,
    residual: Residual,
    ops: &mut Vec<Op>,
) -> String {
    let (q, k, v) = (tokens("q", gqa.q_dim()), tokens("k", gqa.kv_dim()), tokens("v", gqa.kv_dim()));
    let (attn, gate) = (tokens("attn", gqa.q_dim()), tokens("attn_gate", gqa.q_dim()));
    let head_dim = gqa.head_dim;
    let constant = |key: &str| mixer_constant(model, name, key);

    let mut projections = vec![(Role::QProj, Role::QBias, q)];
    if gqa.output_gate {
        projections.push((Role::QGate, Role::QGateBias, gate));
    }
    projections.extend([(Role::KProj, Role::KBias, k), (Role::VProj, Role::VBias, v)]);
    for (weight, bias, to) in projections {
        project(weight, gqa.bias.then_some(bias), h, to, ops);
    }
    if gqa.qk_norm {
        for (weight, to) in [(Role::QNorm, q), (Role::KNorm, k)] {
            ops.push(op(OpKind::HeadNorm { weight, dim: to.width, head_dim }, &[], &[to]));
        }
    }
    if let Some(rope) = &gqa.rope {
        for to in [q, k] {
            ops.push(rotate(ropes, rope, to, head_dim, false));
        }
    }
    let dtypes = dtypes(model, target, &gqa.kv);
    ops.push(op(OpKind::KvAppend { kv_heads: gqa.kv_heads, head_dim, dtypes: dtypes.clone() }, &[k, v], &[]));
    let attention = OpKind::Attention {
        heads: gqa.heads,
        kv_heads: gqa.kv_heads,
        head_dim,
        dtypes,
        scale: constant("softmax_scale"),
        window: gqa.sliding_window.map(|window| (window, constant("sliding_window"))),
        soft_cap: gqa.soft_cap.map(|_| constant("attn_logit_softcapping")),
        sinks: gqa.sinks,
    };
    ops.push(op(attention, &[q], &[attn]));
    if gqa.output_gate {
        ops.push(op(OpKind::SigmoidMul { dim: attn.width }, &[gate], &[attn]));
    }
    residual.output(Role::OProj, gqa.output_bias.then_some(Role::OBias), attn, ops);
    let mut what = format!("gqa, {} query heads over {} key-value heads, head_dim {head_dim}", gqa.heads, gqa.kv_heads);
    if gqa.qk_norm {
        what.push_str(", normalised q and k");
    }
    if let Some(window) = gqa.sliding_window {
        what.push_str(&format!(", window {window}"));
    }
    if gqa.rope.is_none() {
        what.push_str(", no rotation");
    }
    for (has, name) in [(gqa.soft_cap.is_some(), "soft cap"), (gqa.sinks, "sinks"), (gqa.output_gate, "gated output")] {
        if has {
            what.push_str(&format!(", {name}"));
        }
    }
    what
}

#[allow(clippy::too_many_arguments, reason = "what the ops refer to, each by its own name")]
fn mla(
    model: &Model,
    target: Target,
    name: &str,
    mla: &Mla,
    ropes: &[(String, Rope)],
    h: Buf,
    residual: Residual,
    ops: &mut Vec<Op>,
) -> String {
    let (q, latent, attn) = (tokens("q", mla.q_dim()), tokens("latent", mla.latent_dim()), tokens("attn", mla.o_dim()));
    let constant = |key: &str| mixer_constant(model, name, key);
    let eps = constant("latent_rms_norm_eps");
    match mla.q_lora_rank {
        None => ops.push(linear(Role::QProj, h, q)),
        Some(rank) => {
            let (q_a, q_a_h) = (tokens("q_a", rank), tokens("q_a_h", rank));
            project(Role::QAProj, mla.bias.then_some(Role::QABias), h, q_a, ops);
            ops.push(rms_norm(Role::QALayernorm, q_a, q_a_h, &eps));
            ops.push(linear(Role::QBProj, q_a_h, q));
        }
    }
    project(Role::KvAProj, mla.bias.then_some(Role::KvABias), h, latent, ops);
    let norm = OpKind::LatentNorm { weight: Role::KvALayernorm, dim: latent.width, rank: mla.kv_lora_rank, eps };
    ops.push(op(norm, &[], &[latent]));
    ops.push(rotate(ropes, &mla.rope, q, mla.qk_head_dim(), true));
    ops.push(rotate(ropes, &mla.rope, latent, mla.latent_dim(), true));
    if mla.query_scale.is_some() {
        ops.push(op(OpKind::QueryScale { dim: q.width, factor: constant("query_scale") }, &[], &[q]));
    }
    let dtypes = dtypes(model, target, &mla.kv);
    let append = OpKind::LatentAppend { rank: mla.kv_lora_rank, rope_dim: mla.rope_dim, dtypes: dtypes.clone() };
    ops.push(op(append, &[latent], &[]));
    let forms = model.mla_forms(target);
    for (phase, form) in [(Phase::Prefill, forms.prefill), (Phase::Decode, forms.decode)] {
        let attention = OpKind::Mla {
            phase,
            form,
            heads: mla.heads,
            nope: mla.nope,
            rope_dim: mla.rope_dim,
            v: mla.v_head_dim,
            rank: mla.kv_lora_rank,
            dtypes: dtypes.clone(),
            scale: constant("softmax_scale"),
        };
        ops.push(op(attention, &[q], &[attn]));
    }
    residual.output(Role::OProj, mla.bias.then_some(Role::OBias), attn, ops);
    format!(
        "mla, {} heads, latent {} + {} rotated, keys {} + {}, values {}; prefill {}, decode {}",
        mla.heads,
        mla.kv_lora_rank,
        mla.rope_dim,
        mla.nope,
        mla.rope_dim,
        mla.v_head_dim,
        forms.prefill.as_str(),
        forms.decode.as_str()
    )
}

fn mamba2(model: &Model, name: &str, mamba: &Mamba2, h: Buf, residual: Residual, ops: &mut Vec<Op>) -> String {
    let (z, xbc, dt) = (tokens("z", mamba.inner()), tokens("xbc", mamba.conv_dim()), tokens("dt", mamba.heads));
    let y = tokens("y", mamba.inner());
    for (weight, bias, to) in
        [(Role::InProjZ, Role::InBiasZ, z), (Role::InProjXbc, Role::InBiasXbc, xbc), (Role::InProjDt, Role::InBiasDt, dt)]
    {
        project(weight, mamba.bias.then_some(bias), h, to, ops);
    }
    ops.push(op(OpKind::CausalConv { dim: xbc.width, kernel: mamba.conv_kernel, bias: mamba.conv_bias }, &[], &[xbc]));
    for phase in [Phase::Prefill, Phase::Decode] {
        let scan = OpKind::Mamba2 {
            phase,
            heads: mamba.heads,
            head_dim: mamba.head_dim,
            state: mamba.state,
            groups: mamba.groups,
            chunk: mamba.chunk,
            time_step_min: mixer_constant(model, name, "time_step_min"),
        };
        ops.push(op(scan, &[xbc, dt], &[y]));
    }
    ops.push(op(OpKind::GatedGroupNorm { weight: Role::GatedNorm, dim: y.width, groups: mamba.groups }, &[z], &[y]));
    residual.output(Role::OutProj, mamba.bias.then_some(Role::OutBias), y, ops);
    format!(
        "mamba2, {} heads x {}, state {}, {} groups, conv {}, chunks of {}",
        mamba.heads, mamba.head_dim, mamba.state, mamba.groups, mamba.conv_kernel, mamba.chunk
    )
}

fn gated_delta_net(delta: &GatedDeltaNet, h: Buf, residual: Residual, ops: &mut Vec<Op>) -> String {
    let GatedDeltaNet { key_heads, key_dim, value_heads, value_dim, conv_kernel } = *delta;
    let (qkv, z) = (tokens("qkv", delta.conv_dim()), tokens("z", delta.values()));
    let (b, a, y) = (tokens("b", value_heads), tokens("a", value_heads), tokens("y", delta.values()));
    for (weight, to) in [(Role::DeltaQkv, qkv), (Role::DeltaZ, z), (Role::DeltaB, b), (Role::DeltaA, a)] {
        ops.push(linear(weight, h, to));
    }
    ops.push(op(OpKind::CausalConv { dim: qkv.width, kernel: conv_kernel, bias: false }, &[], &[qkv]));
    for phase in [Phase::Prefill, Phase::Decode] {
        ops.push(op(OpKind::Delta { phase, key_heads, key_dim, value_heads, value_dim }, &[qkv, a, b], &[y]));
    }
    ops.push(op(OpKind::GatedHeadNorm { weight: Role::GatedNorm, dim: y.width, head_dim: value_dim }, &[z], &[y]));
    residual.output(Role::OutProj, None, y, ops);
    format!("gated_delta_net, {key_heads} key heads x {key_dim}, {value_heads} value heads x {value_dim}, conv {conv_kernel}")
}

fn rotate(ropes: &[(String, Rope)], rope: &Rope, to: Buf, head_dim: usize, tail: bool) -> Op {
    let kind = OpKind::Rope {
        rope: angles_field(ropes, rope),
        dim: to.width,
        head_dim,
        rotary_dim: rope.rotary_dim,
        interleaved: rope.interleaved,
        tail,
    };
    op(kind, &[], &[to])
}

/// Layers at the edges may keep a dtype of their own, and the same function runs them: it must cover that dtype too.
fn dtypes(model: &Model, target: Target, kv: &KvCache) -> Vec<KvDtype> {
    let mut dtypes = model.kv_dtypes(target, &kv.dtypes);
    dtypes.extend(kv.edges.map(|e| e.dtype).filter(|d| !kv.dtypes.contains(d)));
    dtypes
}
