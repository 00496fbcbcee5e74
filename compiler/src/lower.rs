//! Lowering: a checked model becomes ops over buffers, tensors to load, and groups of layers.

use crate::architecture::{self, Role};
use crate::model::{CheckpointFormat, Ffn, Gqa, Mixer, Model, NormPlacement, Rope, Target};
use crate::program::{
    Buf, Buffer, CacheDtype, Group, Op, OpKind, Ops, Program, RowsOf, Schedule, Tensor, TensorShape, angles_field, constant_name,
};

/// Lowers a model for one of its targets.
pub fn lower(model: &Model, target: Target) -> Program<'_> {
    let ops = ops(model);
    let (groups, schedule) = group(model);
    let buffers = buffers(&ops);
    let tensors = tensors(model);
    Program { model, target, ops, groups, schedule, buffers, tensors }
}

/// The rotations of a model, each with the mixer that first uses it; equal ones once.
pub fn ropes(model: &Model) -> Vec<(String, Rope)> {
    let mut found: Vec<(String, Rope)> = Vec::new();
    for (name, Mixer::Gqa(gqa)) in model.kinds.iter().filter_map(|k| k.mixer.as_ref()) {
        if !found.iter().any(|(_, r)| *r == gqa.rope) {
            found.push((name.clone(), gqa.rope.clone()));
        }
    }
    found
}

/// The constant of generated code that holds something of a mixer.
pub fn mixer_constant(model: &Model, mixer: &str, key: &str) -> String {
    let mut names: Vec<&str> = model.kinds.iter().filter_map(|k| k.mixer.as_ref()).map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    constant_name(mixer, names.len() > 1, key)
}

/// The constant of generated code that holds something of a feed-forward.
pub fn ffn_constant(model: &Model, ffn: &str, key: &str) -> String {
    let mut names: Vec<&str> = model.kinds.iter().filter_map(|k| k.ffn.as_ref()).map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    constant_name(ffn, names.len() > 1, key)
}

/// The ops of a step. They do not depend on kernels, so that `check` can ask for coverage before lowering.
pub fn ops(model: &Model) -> Ops {
    let (hidden, vocab) = (model.hidden_size, model.vocab_size);
    let (x, last, last_h) = (tokens("x", hidden), logit_rows("last", hidden), logit_rows("last_h", hidden));
    let ropes = ropes(model);

    let mut prologue = vec![op(OpKind::Embedding { weight: Role::EmbedTokens, vocab, dim: hidden }, &[], &[x])];
    if model.embedding_scale.value != 1.0 {
        prologue.push(op(OpKind::Scale { dim: hidden }, &[], &[x]));
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
            if let Some((name, Mixer::Gqa(gqa))) = &kind.mixer {
                let window = gqa.sliding_window.map(|window| (window, mixer_constant(model, name, "sliding_window")));
                let scale = mixer_constant(model, name, "softmax_scale");
                let names = AttentionNames { mixer: name, angles: angles_field(&ropes, &gqa.rope), scale, window };
                attention(names, gqa, hidden, sandwich, &mut ops);
            }
            if let Some((name, ffn)) = &kind.ffn {
                gated_mlp(name, ffn, hidden, sandwich, &mut ops);
            }
            ops
        })
        .collect();

    let tied = if model.tie_word_embeddings { ", tied to the embedding" } else { "" };
    let mut epilogue = vec![
        op(OpKind::GatherLogitRows { dim: hidden }, &[x], &[last]),
        op(OpKind::RmsNorm { weight: Role::Norm, dim: hidden }, &[last], &[last_h]),
        op(
            OpKind::Linear { weight: Role::LmHead, out: vocab, input: hidden, accumulate: false },
            &[last_h],
            &[logit_rows("logits", vocab)],
        ),
    ];
    epilogue[0].heading = Some(format!("head: {vocab} tokens{tied}"));
    Ops { prologue, kinds, epilogue }
}

/// What the ops of an attention refer to by name.
struct AttentionNames<'a> {
    mixer: &'a str,
    angles: String,
    scale: String,
    window: Option<(usize, String)>,
}

fn attention(names: AttentionNames<'_>, gqa: &Gqa, hidden: usize, sandwich: bool, ops: &mut Vec<Op>) {
    let AttentionNames { mixer, angles, scale, window } = names;
    let first = ops.len();
    let (x, h) = (tokens("x", hidden), tokens("h", hidden));
    let (q, k, v) = (tokens("q", gqa.q_dim()), tokens("k", gqa.kv_dim()), tokens("v", gqa.kv_dim()));
    let attn = tokens("attn", gqa.q_dim());
    let head_dim = gqa.head_dim;

    ops.push(op(OpKind::RmsNorm { weight: Role::InputLayernorm, dim: hidden }, &[x], &[h]));
    for (weight, bias, to) in [(Role::QProj, Role::QBias, q), (Role::KProj, Role::KBias, k), (Role::VProj, Role::VBias, v)] {
        ops.push(linear(weight, h, to));
        if gqa.bias {
            ops.push(op(OpKind::AddBias { weight: bias, dim: to.width }, &[], &[to]));
        }
    }
    if gqa.qk_norm {
        for (weight, to) in [(Role::QNorm, q), (Role::KNorm, k)] {
            ops.push(op(OpKind::HeadNorm { weight, dim: to.width, head_dim }, &[], &[to]));
        }
    }
    for to in [q, k] {
        ops.push(op(
            OpKind::Rope {
                rope: angles.clone(),
                dim: to.width,
                head_dim,
                rotary_dim: gqa.rope.rotary_dim,
                interleaved: gqa.rope.interleaved,
            },
            &[],
            &[to],
        ));
    }
    // Layers at the edges may keep a dtype of their own, and the same function runs them: it must cover that dtype too.
    let mut dtypes = gqa.kv.dtypes.clone();
    dtypes.extend(gqa.kv.edges.map(|e| e.dtype).filter(|d| !gqa.kv.dtypes.contains(d)));
    ops.push(op(OpKind::KvAppend { kv_heads: gqa.kv_heads, head_dim, dtypes: dtypes.clone() }, &[k, v], &[]));
    ops.push(op(OpKind::Attention { heads: gqa.heads, kv_heads: gqa.kv_heads, head_dim, dtypes, scale, window }, &[q], &[attn]));
    let norm = sandwich.then_some(Role::PostAttentionNorm);
    output(Role::OProj, gqa.output_bias.then_some(Role::OBias), norm, attn, x, ops);
    ops[first].heading = Some(format!(
        "{mixer}: gqa, {} query heads over {} key-value heads, head_dim {head_dim}{}{}",
        gqa.heads,
        gqa.kv_heads,
        if gqa.qk_norm { ", normalised q and k" } else { "" },
        gqa.sliding_window.map_or(String::new(), |w| format!(", window {w}"))
    ));
}

/// y = W from (+ b), added to the residual x: at once, or through the second norm of a sandwich.
fn output(weight: Role, bias: Option<Role>, norm: Option<Role>, from: Buf, x: Buf, ops: &mut Vec<Op>) {
    let to = if norm.is_some() { tokens("o", x.width) } else { x };
    ops.push(if norm.is_some() { linear(weight, from, to) } else { linear_add(weight, from, to) });
    if let Some(bias) = bias {
        ops.push(op(OpKind::AddBias { weight: bias, dim: to.width }, &[], &[to]));
    }
    if let Some(norm) = norm {
        ops.push(op(OpKind::RmsNormAdd { weight: norm, dim: x.width }, &[to], &[x]));
    }
}

fn gated_mlp(name: &str, ffn: &Ffn, hidden: usize, sandwich: bool, ops: &mut Vec<Op>) {
    let Ffn::GatedMlp { intermediate_size: intermediate, act, bias } = *ffn;
    let first = ops.len();
    let (x, h) = (tokens("x", hidden), tokens("h", hidden));
    let (gate, up) = (tokens("gate", intermediate), tokens("up", intermediate));
    ops.push(op(OpKind::RmsNorm { weight: ffn_norm(sandwich), dim: hidden }, &[x], &[h]));
    for (weight, bias_role, to) in [(Role::GateProj, Role::GateBias, gate), (Role::UpProj, Role::UpBias, up)] {
        ops.push(linear(weight, h, to));
        if bias {
            ops.push(op(OpKind::AddBias { weight: bias_role, dim: to.width }, &[], &[to]));
        }
    }
    ops.push(op(OpKind::ActMul { act, dim: intermediate }, &[up], &[gate]));
    let norm = sandwich.then_some(Role::PostFeedforwardLayernorm);
    output(Role::DownProj, bias.then_some(Role::DownBias), norm, gate, x, ops);
    let act = act.as_str();
    ops[first].heading = Some(format!("{name}: gated_mlp, {act}, {hidden} -> {intermediate} -> {hidden}"));
}

/// The norm before the feed-forward, by the name that its architecture gives it.
const fn ffn_norm(sandwich: bool) -> Role {
    if sandwich { Role::PreFeedforwardLayernorm } else { Role::PostAttentionLayernorm }
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
    op(OpKind::Linear { weight, out: to.width, input: from.width, accumulate: false }, &[from], &[to])
}

fn linear_add(weight: Role, from: Buf, to: Buf) -> Op {
    op(OpKind::Linear { weight, out: to.width, input: from.width, accumulate: true }, &[from], &[to])
}

/// Lists the buffers that ops name, with their lifetimes.
fn buffers(ops: &Ops) -> Vec<Buffer> {
    let mut found: Vec<Buffer> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        for buf in op.reads.iter().chain(&op.writes) {
            if let Some(known) = found.iter_mut().find(|b| b.buf == *buf) {
                known.live.1 = at;
                continue;
            }
            let taken = found.iter().any(|b| b.field == buf.name);
            let field = if taken { format!("{}_{}", buf.name, buf.width) } else { buf.name.to_owned() };
            found.push(Buffer { field, buf: *buf, live: (at, at) });
        }
    }
    found
}

/// Groups layers into arrays. Stretches of equal kind and dtype stay whole where there are few of them; else one array per
/// kind and dtype, and a pattern says which comes when.
fn group(model: &Model) -> (Vec<Group>, Schedule) {
    const MOST_STRETCHES: usize = 3;
    let layers = model.pattern.len();
    let of = |layer: usize| (model.pattern[layer], cache_dtype(model, layer));

    let mut stretches: Vec<Group> = Vec::new();
    for layer in 0..layers {
        match stretches.last_mut().filter(|s| (s.kind, s.cache) == of(layer)) {
            Some(stretch) => stretch.layers.push(layer),
            None => {
                let (kind, cache) = of(layer);
                stretches.push(Group { field: String::new(), kind, cache, layers: vec![layer] });
            }
        }
    }
    if stretches.len() <= MOST_STRETCHES {
        let alone = stretches.len() == model.kinds.len();
        for s in &mut stretches {
            let (from, to) = (s.layers[0], s.layers[s.layers.len() - 1] + 1);
            let name = field_name(&model.kinds[s.kind].name);
            s.field = if alone { name } else { format!("{name}_{from}_to_{to}") };
        }
        return (stretches, Schedule::Sequential);
    }

    let mut groups: Vec<Group> = Vec::new();
    let mut pattern = Vec::new();
    for stretch in stretches {
        let at = groups.iter().position(|g| (g.kind, g.cache) == (stretch.kind, stretch.cache)).unwrap_or_else(|| {
            let name = field_name(&model.kinds[stretch.kind].name);
            let field = match stretch.cache {
                CacheDtype::Fixed(dtype) => format!("{name}_{}", dtype.as_str()),
                CacheDtype::Chosen | CacheDtype::None => name,
            };
            groups.push(Group { field, kind: stretch.kind, cache: stretch.cache, layers: Vec::new() });
            groups.len() - 1
        });
        for layer in stretch.layers {
            pattern.push((at, groups[at].layers.len()));
            groups[at].layers.push(layer);
        }
    }
    (groups, Schedule::Pattern(pattern))
}

/// A block's name as the field, the function and (in camel case) the type of generated code.
pub fn field_name(name: &str) -> String {
    let ident = identifier(name);
    if TAKEN.contains(&ident.as_str()) { format!("block_{ident}") } else { ident }
}

/// A name of a spec as a Rust identifier in snake case. What is no identifier alone, or none in camel case, gets a prefix.
pub fn identifier(name: &str) -> String {
    let ident: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    let starts_with_letter = ident.trim_start_matches('_').starts_with(|c: char| c.is_ascii_alphabetic());
    let legal = starts_with_letter && syn::parse_str::<syn::Ident>(&ident).is_ok();
    if legal { ident } else { format!("block_{ident}") }
}

/// Names that generated code has itself: fields of its weights, functions and (in camel case) types that it defines or imports.
const TAKEN: [&str; 52] = [
    "add_bias",
    "arc",
    "attention",
    "batch",
    "batch_limits",
    "bf16",
    "bias",
    "box",
    "caches",
    "checkpoint",
    "checkpoint_kind",
    "cpu",
    "d",
    "each_layer",
    "embed_tokens",
    "embedding",
    "f32",
    "gather_logit_rows",
    "gelu_tanh_mul",
    "halves",
    "head_norm",
    "interleaved",
    "kind",
    "kv_dtype",
    "kv_dtype_name",
    "layer_range",
    "linear",
    "lm_head",
    "load",
    "load_error",
    "load_options",
    "loader",
    "logits",
    "memory",
    "model",
    "model_info",
    "norm",
    "on_cpu",
    "paged_kv",
    "per_layer",
    "rms_norm",
    "rms_norm_add",
    "rope",
    "rope_angles",
    "rows",
    "scale",
    "scratch",
    "silu_mul",
    "sliding_attention",
    "step_error",
    "storage_format",
    "weights",
];

/// The cache dtype of a layer: `kv_cache_layers` counts the layers that use its mixer.
pub fn cache_dtype(model: &Model, layer: usize) -> CacheDtype {
    let mixer_of = |l: usize| model.kinds[model.pattern[l]].mixer.as_ref();
    let Some((name, Mixer::Gqa(gqa))) = mixer_of(layer) else { return CacheDtype::None };
    let Some(edges) = gqa.kv.edges else { return CacheDtype::Chosen };
    let same: Vec<usize> = (0..model.pattern.len()).filter(|&l| mixer_of(l).is_some_and(|(other, _)| other == name)).collect();
    let at = same.iter().position(|&l| l == layer).expect("the layer uses its own mixer");
    if at < edges.first || at >= same.len() - edges.last { CacheDtype::Fixed(edges.dtype) } else { CacheDtype::Chosen }
}

/// The tensors that a checkpoint of this model holds.
pub fn tensors(model: &Model) -> Vec<Tensor> {
    let (hidden, vocab) = (model.hidden_size, model.vocab_size);
    let format = model.checkpoint.format;
    let architecture = architecture::find(&model.checkpoint.model_type);
    let file_has_it = format == CheckpointFormat::Gguf && architecture.is_some_and(|a| a.gguf_adds_one);
    let offset = model.rms_norm_unit_offset && !file_has_it;
    let plain = |role: Role, kind, shape| Tensor {
        role,
        kind,
        name: role.name(format),
        shape,
        unpermute: None,
        plus_one: offset && matches!(shape, TensorShape::Norm { .. }),
        shared: false,
    };
    let mut list = vec![plain(Role::EmbedTokens, None, TensorShape::Embedding { vocab, dim: hidden })];
    for (at, kind) in model.kinds.iter().enumerate() {
        let at = Some(at);
        if let Some((_, Mixer::Gqa(gqa))) = &kind.mixer {
            let permuted = format == CheckpointFormat::Gguf && architecture.is_some_and(|a| a.gguf_permutes_rope);
            let rotated = |heads| permuted.then_some((gqa.rope.rotary_dim, heads));
            let (q, kv) = (gqa.q_dim(), gqa.kv_dim());
            list.push(plain(Role::InputLayernorm, at, TensorShape::Norm { dim: hidden }));
            for (weight, bias, dim, heads) in [
                (Role::QProj, Role::QBias, q, Some(gqa.heads)),
                (Role::KProj, Role::KBias, kv, Some(gqa.kv_heads)),
                (Role::VProj, Role::VBias, kv, None),
            ] {
                let unpermute = heads.and_then(rotated);
                let shape = TensorShape::Linear { out: dim, input: hidden };
                list.push(Tensor { unpermute, ..plain(weight, at, shape) });
                if gqa.bias {
                    list.push(Tensor { unpermute, ..plain(bias, at, TensorShape::Bias { dim }) });
                }
            }
            if gqa.qk_norm {
                list.push(plain(Role::QNorm, at, TensorShape::Norm { dim: gqa.head_dim }));
                list.push(plain(Role::KNorm, at, TensorShape::Norm { dim: gqa.head_dim }));
            }
            let sandwich = kind.norm == NormPlacement::Sandwich;
            list.push(plain(Role::OProj, at, TensorShape::Linear { out: hidden, input: q }));
            if gqa.output_bias {
                list.push(plain(Role::OBias, at, TensorShape::Bias { dim: hidden }));
            }
            if sandwich {
                list.push(plain(Role::PostAttentionNorm, at, TensorShape::Norm { dim: hidden }));
            }
        }
        if let Some((_, Ffn::GatedMlp { intermediate_size, bias, .. })) = &kind.ffn {
            let inner = *intermediate_size;
            let sandwich = kind.norm == NormPlacement::Sandwich;
            list.push(plain(ffn_norm(sandwich), at, TensorShape::Norm { dim: hidden }));
            for (weight, bias_role, out, input) in [
                (Role::GateProj, Role::GateBias, inner, hidden),
                (Role::UpProj, Role::UpBias, inner, hidden),
                (Role::DownProj, Role::DownBias, hidden, inner),
            ] {
                list.push(plain(weight, at, TensorShape::Linear { out, input }));
                if *bias {
                    list.push(plain(bias_role, at, TensorShape::Bias { dim: out }));
                }
            }
            if sandwich {
                list.push(plain(Role::PostFeedforwardLayernorm, at, TensorShape::Norm { dim: hidden }));
            }
        }
    }
    list.push(plain(Role::Norm, None, TensorShape::Norm { dim: hidden }));
    let head = plain(Role::LmHead, None, TensorShape::Linear { out: vocab, input: hidden });
    list.push(if model.tie_word_embeddings {
        Tensor { name: Role::EmbedTokens.name(format), shared: true, ..head }
    } else {
        head
    });
    list
}
