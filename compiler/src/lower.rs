//! Lowering: a checked model becomes ops over buffers, tensors to load, and groups of layers.

mod buffers;
mod device;
mod ffn;
mod group;
mod int8;
mod mixer;
mod tensors;

use crate::architecture::Role;
use crate::model::{Activations, Ffn, Mixer, Model, Moe, NormPlacement, Rope, Target};
use crate::program::{Buf, Fault, Op, OpKind, Ops, Program, RowsOf, angles_field, constant_name, verify};

pub use self::group::{cache_dtype, field_name, identifier};
pub use self::tensors::{naming, tensors, unnamed};

/// Lowers a model for one of its targets.
pub fn lower(model: &Model, target: Target) -> Program<'_> {
    let ops = ops(model, target);
    let (groups, schedule) = group::group(model);
    let buffers = buffers::buffers(&ops, target);
    let tensors = tensors(model);
    let program = Program { model, target, ops, groups, schedule, buffers, tensors };
    let faults = verify(&program);
    // No spec can cause this, and a program that reads what is not its own would answer, wrongly.
    assert!(faults.is_empty(), "the lowering of {} is wrong: {}", model.name, listed(&faults));
    program
}

fn listed(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
}

/// Every mixer once, by name, in the order of the kinds that use them.
pub fn mixers(model: &Model) -> Vec<(&str, &Mixer)> {
    let mut found: Vec<(&str, &Mixer)> = Vec::new();
    for (name, mixer) in model.kinds.iter().filter_map(|k| k.mixer.as_ref()) {
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name, mixer));
        }
    }
    found
}

/// Every feed-forward once, by name, in the order of the kinds that use them.
pub fn ffns(model: &Model) -> Vec<(&str, &Ffn)> {
    let mut found: Vec<(&str, &Ffn)> = Vec::new();
    for (name, ffn) in model.kinds.iter().filter_map(|k| k.ffn.as_ref()) {
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name, ffn));
        }
    }
    found
}

/// Every feed-forward of experts once.
pub fn moes(model: &Model) -> Vec<(&str, &Moe)> {
    let mut moes = Vec::new();
    for (name, ffn) in ffns(model) {
        if let Ffn::Moe(moe) = ffn {
            moes.push((name, moe));
        }
    }
    moes
}

/// The rotations of a model, each with the mixer that first uses it; equal ones once.
pub fn ropes(model: &Model) -> Vec<(String, Rope)> {
    let mut found: Vec<(String, Rope)> = Vec::new();
    for (name, mixer) in mixers(model) {
        if let Some(rope) = mixer.rope()
            && !found.iter().any(|(_, known)| known == rope)
        {
            found.push((name.to_owned(), rope.clone()));
        }
    }
    found
}

/// The constant of generated code that holds something of a mixer.
pub fn mixer_constant(model: &Model, mixer: &str, key: &str) -> String {
    constant_name(mixer, mixers(model).len() > 1, key)
}

/// The constant of generated code that holds something of a feed-forward.
pub fn ffn_constant(model: &Model, ffn: &str, key: &str) -> String {
    constant_name(ffn, ffns(model).len() > 1, key)
}

/// The field of generated scratch that holds something of a feed-forward of experts.
pub fn moe_field(model: &Model, ffn: &str, what: &str) -> String {
    if moes(model).len() > 1 { format!("{what}_{}", identifier(ffn)) } else { what.to_owned() }
}

/// Rows of contexts, counted once for each head, that the expanded form of latent attention has room for: a whole context at least.
pub fn expanded_rows(model: &Model) -> usize {
    model.max_position_embeddings.max(1 << 20)
}

/// The ops of a step on a target. They do not depend on kernels, so that `check` can ask for coverage before lowering.
pub fn ops(model: &Model, target: Target) -> Ops {
    let (hidden, vocab) = (model.hidden_size, model.vocab_size);
    let (x, last, last_h) = (tokens("x", hidden), logit_rows("last", hidden), logit_rows("last_h", hidden));
    let logits = logit_rows("logits", vocab);
    let ropes = ropes(model);

    let mut prologue = vec![op(OpKind::Embedding { weight: Role::EmbedTokens, vocab, dim: hidden }, &[], &[x])];
    if model.embedding_scale.value != 1.0 {
        prologue.push(op(OpKind::Scale { dim: hidden, factor: "EMBEDDING_SCALE" }, &[], &[x]));
    }
    for (_, rope) in &ropes {
        let field = angles_field(&ropes, rope);
        prologue.push(op(OpKind::RopeAngles { rope: field, rotary_dim: rope.rotary_dim }, &[], &[]));
    }

    let kinds = model
        .kinds
        .iter()
        .map(|kind| {
            let mut ops = Vec::new();
            let sandwich = kind.norm == NormPlacement::Sandwich;
            let residual = |norm: Role| Residual { x, norm: sandwich.then_some(norm), scaled: model.residual_scale.is_some() };
            if let Some((name, mixer)) = &kind.mixer {
                let residual = residual(Role::PostAttentionNorm);
                mixer::mixer(model, target, name, mixer, &ropes, residual, &mut ops);
            }
            if let Some((name, ffn)) = &kind.ffn {
                let residual = residual(Role::PostFeedforwardLayernorm);
                ffn::ffn(model, name, ffn, tensors::ffn_norm(model, sandwich), residual, &mut ops);
            }
            ops
        })
        .collect();

    let tied = if model.tie_word_embeddings { ", tied to the embedding" } else { "" };
    let mut epilogue =
        vec![op(OpKind::GatherLogitRows { dim: hidden }, &[x], &[last]), rms_norm(Role::Norm, last, last_h, "RMS_NORM_EPS")];
    if model.logit_scale.is_some() {
        epilogue.push(op(OpKind::Scale { dim: hidden, factor: "LOGIT_SCALE" }, &[], &[last_h]));
    }
    epilogue.push(linear(Role::LmHead, last_h, logits));
    if model.final_logit_softcapping.is_some() {
        epilogue.push(op(OpKind::SoftCap { dim: vocab, cap: "FINAL_LOGIT_SOFTCAPPING" }, &[], &[logits]));
    }
    epilogue[0].heading = Some(format!("head: {vocab} tokens{tied}"));
    let ops = Ops { prologue, kinds, epilogue };
    match target {
        Target::Cpu => match model.activations {
            Activations::F32 => ops,
            Activations::Int8 => int8::ops(ops),
        },
        Target::Sm90a => device::ops(model, &ops),
    }
}

/// How what a mixer or a feed-forward computes joins the residual stream `x`.
#[derive(Clone, Copy)]
struct Residual {
    x: Buf,
    /// The second norm of a sandwich.
    norm: Option<Role>,
    /// It is multiplied by the residual scale.
    scaled: bool,
}

impl Residual {
    /// Where an output is written before it joins: into the stream itself where nothing stands between.
    fn direct(self) -> bool {
        self.norm.is_none() && !self.scaled
    }

    /// y = W from (+ b), and joins.
    fn output(self, weight: Role, bias: Option<Role>, from: Buf, ops: &mut Vec<Op>) {
        let to = if self.direct() { self.x } else { tokens("o", self.x.width) };
        let accumulate = self.direct();
        ops.push(op(OpKind::Linear { weight, out: to.width, input: from.width, accumulate, int8: false }, &[from], &[to]));
        if let Some(bias) = bias {
            ops.push(op(OpKind::AddBias { weight: bias, dim: to.width }, &[], &[to]));
        }
        if !accumulate {
            self.join(to, ops);
        }
    }

    /// What stands in `o` joins the stream.
    fn join(self, o: Buf, ops: &mut Vec<Op>) {
        let dim = self.x.width;
        match (self.norm, self.scaled) {
            (Some(weight), false) => ops.push(op(OpKind::RmsNormAdd { weight, dim }, &[o], &[self.x])),
            (norm, true) => {
                let mut from = o;
                if let Some(weight) = norm {
                    from = tokens("o_h", dim);
                    ops.push(rms_norm(weight, o, from, "RMS_NORM_EPS"));
                }
                ops.push(op(OpKind::AddScaled { dim, factor: "RESIDUAL_SCALE" }, &[from], &[self.x]));
            }
            (None, false) => ops.push(op(OpKind::Add { dim }, &[o], &[self.x])),
        }
    }
}

fn tokens(name: &'static str, width: usize) -> Buf {
    Buf { name, width, rows: RowsOf::Tokens }
}

fn logit_rows(name: &'static str, width: usize) -> Buf {
    Buf { name, width, rows: RowsOf::LogitRows }
}

fn op(kind: OpKind, reads: &[Buf], writes: &[Buf]) -> Op {
    Op { heading: None, kind, reads: reads.to_vec(), writes: writes.to_vec() }
}

fn linear(weight: Role, from: Buf, to: Buf) -> Op {
    op(OpKind::Linear { weight, out: to.width, input: from.width, accumulate: false, int8: false }, &[from], &[to])
}

/// A projection and its bias.
fn project(weight: Role, bias: Option<Role>, from: Buf, to: Buf, ops: &mut Vec<Op>) {
    ops.push(linear(weight, from, to));
    if let Some(bias) = bias {
        ops.push(op(OpKind::AddBias { weight: bias, dim: to.width }, &[], &[to]));
    }
}

fn rms_norm(weight: Role, from: Buf, to: Buf, eps: &str) -> Op {
    op(OpKind::RmsNorm { weight, dim: from.width, eps: eps.to_owned() }, &[from], &[to])
}
