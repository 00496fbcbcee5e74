//! One op as a statement with its shape.

use proc_macro2::TokenStream;
use quote::quote;

use super::{function, tuned};
use crate::architecture::Role;
use crate::emit::text::{blank, comment, ident, int, trail};
use crate::model::{Activation, MlaForm};
use crate::program::{Buf, Op, OpKind, Phase, Program, RowsOf};

/// One op as a statement with its shape. `weights` is what holds its weights.
pub fn call(program: &Program<'_>, op: &Op, weights: &TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    if let Some(heading) = &op.heading {
        out.extend(blank());
        out.extend(comment(&format!("-- {heading}")));
    }
    let statement = Statement { program, op, weights };
    let (code, shape) = statement.code();
    out.extend(code);
    out.extend(trail(&shape));
    out
}

struct Statement<'a> {
    program: &'a Program<'a>,
    op: &'a Op,
    weights: &'a TokenStream,
}

impl Statement<'_> {
    fn buffer(&self, buf: &Buf) -> proc_macro2::Ident {
        ident(self.program.field(buf))
    }

    fn read(&self, i: usize) -> proc_macro2::Ident {
        self.buffer(&self.op.reads[i])
    }

    fn write(&self, i: usize) -> proc_macro2::Ident {
        self.buffer(&self.op.writes[i])
    }

    fn weight(&self, role: Role) -> TokenStream {
        let (weights, field) = (self.weights, ident(role.field()));
        quote!(#weights.#field)
    }

    /// The statement and the shape of what it writes.
    fn code(&self) -> (TokenStream, String) {
        let function = function(self.program, self.op);
        let tuned = tuned(self.program, self.op);
        match &self.op.kind {
            OpKind::Embedding { weight, dim, .. } => {
                let (w, x) = (self.weight(*weight), self.write(0));
                (quote!(#w.#function(cpu, batch, &mut s.#x);), format!("[tokens, {dim}]"))
            }
            OpKind::Scale { dim, factor } => {
                let (x, factor) = (self.write(0), ident(factor));
                (quote!(#function(&mut s.#x, #factor);), rows_shape(&self.op.writes[0], *dim))
            }
            OpKind::RopeAngles { rope, rotary_dim } => {
                let angles = ident(rope);
                (quote!(s.#angles.#function(batch);), format!("cosines and sines, [tokens, {}] each", rotary_dim / 2))
            }
            OpKind::Quantise { dim } => {
                let (from, to) = (self.read(0), self.write(0));
                (quote!(s.#to.#function(cpu, &s.#from);), rows_shape(&self.op.writes[0], *dim))
            }
            OpKind::Linear { weight, out, accumulate, int8, .. } => {
                let (w, from, to) = (self.weight(*weight), self.read(0), self.write(0));
                let method = if *accumulate { ident(&format!("{function}_add")) } else { function };
                let shape = rows_shape(&self.op.writes[0], *out);
                let tuned = (!int8).then(|| quote!(::<#(#tuned),*>));
                (
                    quote!(#w.#method #tuned(cpu, &s.#from, &mut s.#to);),
                    if *accumulate { format!("{to} += {shape}") } else { shape },
                )
            }
            OpKind::AddBias { weight, dim } => {
                let (w, x) = (self.weight(*weight), self.write(0));
                (quote!(#function(&mut s.#x, &#w);), format!("+= [{dim}]"))
            }
            OpKind::Rope { rope, head_dim, rotary_dim, dim, tail, .. } => {
                let (angles, x, hd) = (ident(rope), self.write(0), int(*head_dim));
                let which = if *tail { "the last " } else { "" };
                (
                    quote!(#function::<#hd, _, _, _>(cpu, &mut s.#x, &s.#angles);),
                    format!("{which}{rotary_dim} of {head_dim}, {} heads", dim / head_dim),
                )
            }
            OpKind::RmsNorm { .. }
            | OpKind::RmsNormAdd { .. }
            | OpKind::HeadNorm { .. }
            | OpKind::LatentNorm { .. }
            | OpKind::GatedGroupNorm { .. }
            | OpKind::GatedHeadNorm { .. } => self.norm(&function),
            OpKind::KvAppend { .. }
            | OpKind::LatentAppend { .. }
            | OpKind::Attention { .. }
            | OpKind::Mla { .. }
            | OpKind::QueryScale { .. }
            | OpKind::SigmoidMul { .. } => self.attention(&function, &tuned),
            OpKind::CausalConv { .. } | OpKind::Mamba2 { .. } | OpKind::Delta { .. } => self.recurrence(&function, &tuned),
            OpKind::Act { act, dim } => {
                let x = self.write(0);
                (quote!(#function(cpu, &mut s.#x);), format!("{}, [tokens, {dim}]", short(*act)))
            }
            OpKind::ActMul { act, dim } => {
                let (gate, up) = (self.write(0), self.read(0));
                (quote!(#function(cpu, &mut s.#gate, &s.#up);), format!("{}(gate) * up, [tokens, {dim}]", short(*act)))
            }
            OpKind::Route { .. } | OpKind::Experts { .. } | OpKind::SigmoidGateAdd { .. } => self.experts(&function, &tuned),
            OpKind::Add { dim } => {
                let (from, to) = (self.read(0), self.write(0));
                (quote!(#function(&mut s.#to, &s.#from);), format!("{to} += [tokens, {dim}]"))
            }
            OpKind::AddScaled { dim, factor } => {
                let (from, to, factor) = (self.read(0), self.write(0), ident(factor));
                (quote!(#function(&mut s.#to, &s.#from, #factor);), format!("{to} += [tokens, {dim}]"))
            }
            OpKind::GatherLogitRows { dim } => {
                let (from, to) = (self.read(0), self.write(0));
                (quote!(#function(&s.#from, batch, &mut s.#to);), format!("[logit rows, {dim}]"))
            }
            OpKind::Device(op) => unreachable!("{} is an op of a device", op.op),
            OpKind::SoftCap { dim, cap } => {
                let (x, cap) = (self.write(0), ident(cap));
                (quote!(#function(&mut s.#x, #cap);), rows_shape(&self.op.writes[0], *dim))
            }
        }
    }

    fn norm(&self, function: &proc_macro2::Ident) -> (TokenStream, String) {
        match &self.op.kind {
            OpKind::RmsNorm { weight, dim, eps } => {
                let (w, from, to, eps) = (self.weight(*weight), self.read(0), self.write(0), ident(eps));
                (quote!(#function(cpu, &s.#from, &#w, #eps, &mut s.#to);), rows_shape(&self.op.writes[0], *dim))
            }
            OpKind::RmsNormAdd { weight, dim } => {
                let (w, from, to) = (self.weight(*weight), self.read(0), self.write(0));
                (quote!(#function(cpu, &s.#from, &#w, RMS_NORM_EPS, &mut s.#to);), format!("{to} += [tokens, {dim}]"))
            }
            OpKind::HeadNorm { weight, head_dim, dim } => {
                let (w, x) = (self.weight(*weight), self.write(0));
                (quote!(#function(cpu, &mut s.#x, &#w, RMS_NORM_EPS);), format!("each of {} heads of {head_dim}", dim / head_dim))
            }
            OpKind::LatentNorm { weight, dim, rank, eps } => {
                let (w, x, eps) = (self.weight(*weight), self.write(0), ident(eps));
                (quote!(#function(cpu, &mut s.#x, &#w, #eps);), format!("the first {rank} of {dim}"))
            }
            OpKind::GatedGroupNorm { weight, dim, groups } => {
                let (w, x, z, count) = (self.weight(*weight), self.write(0), self.read(0), int(*groups));
                (
                    quote!(#function::<#count, _>(cpu, &mut s.#x, &s.#z, &#w, RMS_NORM_EPS);),
                    format!("norm(y * silu(z)) in {groups} groups of {}", dim / groups),
                )
            }
            OpKind::GatedHeadNorm { weight, dim, head_dim } => {
                let (w, x, z) = (self.weight(*weight), self.write(0), self.read(0));
                (
                    quote!(#function(cpu, &mut s.#x, &s.#z, &#w, RMS_NORM_EPS);),
                    format!("norm(y) * silu(z), each of {} heads of {head_dim}", dim / head_dim),
                )
            }
            other => unreachable!("{other:?} is no norm"),
        }
    }

    fn attention(&self, function: &proc_macro2::Ident, tuned: &[proc_macro2::Ident]) -> (TokenStream, String) {
        match &self.op.kind {
            OpKind::KvAppend { kv_heads, head_dim, .. } => {
                let (k, v) = (self.read(0), self.read(1));
                (quote!(kv.#function(cpu, &s.#k, &s.#v, batch);), format!("2 x [{kv_heads}, {head_dim}] per token"))
            }
            OpKind::LatentAppend { rank, rope_dim, .. } => {
                let latent = self.read(0);
                (quote!(kv.#function(cpu, &s.#latent, batch);), format!("[{rank} + {rope_dim}] per token"))
            }
            OpKind::QueryScale { factor, .. } => {
                let (q, factor) = (self.write(0), ident(factor));
                (quote!(#function(&mut s.#q, batch, #factor);), "grows with the position".to_owned())
            }
            OpKind::SigmoidMul { dim } => {
                let (x, gate) = (self.write(0), self.read(0));
                (quote!(#function(cpu, &mut s.#x, &s.#gate);), format!("{x} * sigmoid({gate}), [tokens, {dim}]"))
            }
            OpKind::Attention { heads, head_dim, scale, window, soft_cap, sinks, .. } => {
                let (q, to, scale, count) = (self.read(0), self.write(0), ident(scale), int(*heads));
                let cap = soft_cap.as_ref().map(|cap| ident(cap)).map(|cap| quote!(#cap,));
                let sinks = sinks.then(|| self.weight(Role::Sinks)).map(|sinks| quote!(&#sinks,));
                let window = window.as_ref().map(|(_, name)| ident(name));
                // Beside a cap or sinks, a window is optional; alone it has a function of its own.
                let window = match (window, cap.is_some() || sinks.is_some()) {
                    (Some(window), true) => quote!(Some(#window),),
                    (Some(window), false) => quote!(#window,),
                    (None, true) => quote!(None,),
                    (None, false) => quote!(),
                };
                (
                    quote!(#function::<#(#tuned,)* #count, _, _, _, _>(cpu, &s.#q, kv, #scale, #cap #sinks #window batch, &mut s.#to);),
                    format!("[tokens, {heads} x {head_dim}]"),
                )
            }
            OpKind::Mla { form, heads, v, scale, .. } => {
                let (q, to, scale) = (self.read(0), self.write(0), ident(scale));
                let form = ident(match form {
                    MlaForm::Expanded => "Expanded",
                    MlaForm::Absorbed => "Absorbed",
                });
                let up = self.weight(Role::KvBProj);
                let spans = if function.to_string().ends_with("prefill") { "several tokens" } else { "one token" };
                (
                    quote!(#function::<#form, #(#tuned,)* _, _, _, _, _, _, _, _>(cpu, &s.#q, kv, &#up, #scale, batch, &mut s.#to);),
                    format!("[tokens, {heads} x {v}], spans of {spans}"),
                )
            }
            other => unreachable!("{other:?} is no part of an attention"),
        }
    }

    fn recurrence(&self, function: &proc_macro2::Ident, tuned: &[proc_macro2::Ident]) -> (TokenStream, String) {
        let weight = |role| self.weight(role);
        match &self.op.kind {
            OpKind::CausalConv { dim, kernel, bias } => {
                let (x, conv) = (self.write(0), weight(Role::Conv1d));
                let bias = bias.then(|| weight(Role::Conv1dBias)).map(|bias| quote!(&#bias,));
                (
                    quote!(#function(cpu, &mut s.#x, &#conv, #bias state, batch);),
                    format!("silu(conv over {kernel} tokens), [tokens, {dim}]"),
                )
            }
            OpKind::Mamba2 { phase, heads, head_dim, state, groups, chunk, time_step_min } => {
                let (xbc, dt, y) = (self.read(0), self.read(1), self.write(0));
                let (a, d, bias) = (weight(Role::ALog), weight(Role::D), weight(Role::DtBias));
                let min = ident(time_step_min);
                let chunk = (*phase == Phase::Prefill).then(|| int(*chunk)).map(|chunk| quote!(#chunk,));
                let dims = [*heads, *head_dim, *state, *groups].map(int);
                (
                    quote!(#function::<#chunk #(#dims,)* _, _, _>(cpu, &s.#xbc, &s.#dt, &#a, &#d, &#bias, #min, state, batch, &mut s.#y);),
                    format!("[tokens, {heads} x {head_dim}], spans of {}", spans(function)),
                )
            }
            OpKind::Delta { key_heads, key_dim, value_heads, value_dim, .. } => {
                let (qkv, a, b, y) = (self.read(0), self.read(1), self.read(2), self.write(0));
                let (decay, bias) = (weight(Role::ALog), weight(Role::DtBias));
                let dims = [*key_heads, *value_heads, *key_dim, *value_dim].map(int);
                (
                    quote!(#function::<#(#tuned,)* #(#dims,)* _, _, _>(cpu, &s.#qkv, &s.#a, &s.#b, &#decay, &#bias, state, batch, &mut s.#y);),
                    format!("[tokens, {value_heads} x {value_dim}], spans of {}", spans(function)),
                )
            }
            other => unreachable!("{other:?} is no recurrence"),
        }
    }

    fn experts(&self, function: &proc_macro2::Ident, tuned: &[proc_macro2::Ident]) -> (TokenStream, String) {
        match &self.op.kind {
            OpKind::Route { routes, router, experts, top_k, biased } => {
                let (logits, routes, router) = (self.read(0), ident(routes), ident(router));
                let bias = biased.then(|| self.weight(Role::CorrectionBias)).map(|bias| quote!(&#bias,));
                (
                    quote!(#function(cpu, &s.#logits, #router, #bias &mut s.#routes);),
                    format!("{top_k} of {experts} experts per token"),
                )
            }
            OpKind::Experts { routes, rows, hidden, act, clamp, .. } => {
                let (from, to, w) = (self.read(0), self.write(0), self.weight(Role::Experts));
                let (routes, rows) = (ident(routes), ident(rows));
                let call = match clamp {
                    Some((limit, alpha)) => {
                        let (limit, alpha) = (ident(limit), ident(alpha));
                        quote!(#w.#function::<#(#tuned,)* _>(cpu, &s.#from, &s.#routes, #limit, #alpha, &mut s.#rows, &mut s.#to);)
                    }
                    None => {
                        let act = ident(marker(*act));
                        quote!(#w.#function::<#(#tuned,)* #act, _>(cpu, &s.#from, &s.#routes, &mut s.#rows, &mut s.#to);)
                    }
                };
                (call, format!("[tokens, {hidden}], the weighted sum of each token's experts"))
            }
            OpKind::SigmoidGateAdd { dim } => {
                let (gate, from, to) = (self.read(0), self.read(1), self.write(0));
                (quote!(#function(&mut s.#to, &s.#gate, &s.#from);), format!("{to} += sigmoid({gate}) * [tokens, {dim}]"))
            }
            other => unreachable!("{other:?} is no part of a mixture of experts"),
        }
    }
}

/// Which spans of a batch the function of a phase computes.
fn spans(function: &proc_macro2::Ident) -> &'static str {
    let name = function.to_string();
    if name.ends_with("update") || name.ends_with("decode") { "one token" } else { "several tokens" }
}

fn rows_shape(buf: &Buf, width: usize) -> String {
    match buf.rows {
        RowsOf::Tokens => format!("[tokens, {width}]"),
        RowsOf::LogitRows => format!("[logit rows, {width}]"),
    }
}

/// An activation in a comment.
const fn short(act: Activation) -> &'static str {
    match act {
        Activation::Silu => "silu",
        Activation::GeluTanh | Activation::Gelu => "gelu",
        Activation::Relu2 => "relu2",
    }
}

/// The marker type of an activation inside experts.
pub const fn marker(act: Activation) -> &'static str {
    match act {
        Activation::Silu => "Silu",
        Activation::GeluTanh => "GeluTanh",
        Activation::Gelu => "Gelu",
        Activation::Relu2 => "Relu2",
    }
}
