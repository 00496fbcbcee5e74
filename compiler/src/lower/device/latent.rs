//! Latent attention: what is appended to the cache, and attention over it in either form, by span.

use super::attention::dtypes;
use super::rows::{layout, spans};
use super::{Fused, device, rows, tokens};
use crate::architecture::Role;
use crate::lower::expanded_rows;
use crate::model::{MlaForm, Model, Target};
use crate::program::{Buf, Call, DeviceOp, MOST_SPLITS, Op, OpKind, Operand, Part, Phase};

/// The norm of the latent, both rotations, the scale of queries, and the append.
pub(super) fn append(rest: &[Op]) -> Fused {
    let [norm, rope_q, rope_latent, ..] = rest else { return None };
    let (OpKind::LatentNorm { weight, eps, .. }, OpKind::Rope { rope, interleaved, tail: true, .. }) = (&norm.kind, &rope_q.kind)
    else {
        return None;
    };
    let OpKind::Rope { tail: true, .. } = &rope_latent.kind else { return None };
    let scale = rest.get(3).filter(|op| matches!(op.kind, OpKind::QueryScale { .. }));
    let at = 3 + usize::from(scale.is_some());
    let append = rest.get(at)?;
    let OpKind::LatentAppend { rank, rope_dim, dtypes } = &append.kind else { return None };
    let latent = append.reads[0];
    let kind = DeviceOp::new("latent_append", Part::Mixer)
        .number("kv_lora_rank", *rank)
        .number("qk_rope_head_dim", *rope_dim)
        .name("layout", layout(*interleaved))
        .names("kv_dtype", self::dtypes(dtypes))
        .with("latent", Operand::Buf(latent))
        .weight("weight", *weight)
        .value("eps", eps.clone())
        .with("cos", Operand::Rotation(rope.clone(), "cos"))
        .with("sin", Operand::Rotation(rope.clone(), "sin"))
        .with("cache", Operand::Cache)
        .reading(&[rope.as_str()])
        .writing(&["cache"])
        .shape(format!("norm of {rank}, rotation of {rope_dim}, [{rank} + {rope_dim}] per token"));
    let mut ops = vec![rows::op(rope_q)];
    ops.extend(scale.map(rows::op));
    ops.push(device(kind, &[latent], &[]));
    Some((at + 1, ops))
}

/// The dimensions of a latent attention.
struct Dims<'o> {
    heads: usize,
    nope: usize,
    rope: usize,
    v: usize,
    rank: usize,
    dtypes: Vec<&'static str>,
    scale: &'o str,
    q: Buf,
    attn: Buf,
    /// Rows of contexts that are expanded in one pass, at most.
    context: usize,
    /// Sequences of a step, at most.
    spans: usize,
}

/// Which rows a kernel of either form serves.
const fn phase_name(phase: Option<Phase>) -> &'static str {
    match phase {
        None => "all",
        Some(Phase::Prefill) => "prefill",
        Some(Phase::Decode) => "decode",
    }
}

/// Attention of both phases, each in its form.
pub(super) fn attention(model: &Model, rest: &[Op]) -> Fused {
    let [prefill, decode, ..] = rest else { return None };
    let OpKind::Mla { phase: Phase::Prefill, form, heads, nope, rope_dim, v, rank, dtypes, scale } = &prefill.kind else {
        return None;
    };
    let OpKind::Mla { phase: Phase::Decode, form: decode_form, .. } = &decode.kind else { return None };
    let dims = Dims {
        heads: *heads,
        nope: *nope,
        rope: *rope_dim,
        v: *v,
        rank: *rank,
        dtypes: self::dtypes(dtypes),
        scale,
        q: prefill.reads[0],
        attn: prefill.writes[0],
        context: expanded_rows(model),
        spans: model.maxima(Target::Sm90a).sequences as usize,
    };
    let mut ops = Vec::new();
    match (form, decode_form) {
        (MlaForm::Absorbed, MlaForm::Absorbed) => {
            ops.push(dims.absorb(None));
            ops.extend(dims.decode());
            ops.push(dims.prefill_absorbed());
            ops.push(dims.up(None));
        }
        _ => {
            for (phase, form) in [(Phase::Prefill, form), (Phase::Decode, decode_form)] {
                match form {
                    MlaForm::Expanded => ops.extend(dims.expanded(phase)),
                    MlaForm::Absorbed => {
                        ops.push(dims.absorb(Some(phase)));
                        match phase {
                            Phase::Prefill => ops.push(dims.prefill_absorbed()),
                            Phase::Decode => ops.extend(dims.decode()),
                        }
                        ops.push(dims.up(Some(phase)));
                    }
                }
            }
        }
    }
    Some((2, ops))
}

impl Dims<'_> {
    /// Queries in the space of latents.
    fn q_latent(&self) -> Buf {
        tokens("q_latent", self.heads * (self.rank + self.rope))
    }

    /// Outputs in the space of latents.
    fn o_latent(&self) -> Buf {
        tokens("o_latent", self.heads * self.rank)
    }

    fn absorb(&self, phase: Option<Phase>) -> Op {
        let kind = DeviceOp::new("mla_absorb", Part::Mixer)
            .number("qk_nope_head_dim", self.nope)
            .number("qk_rope_head_dim", self.rope)
            .number("kv_lora_rank", self.rank)
            .name("phase", phase_name(phase))
            .number("num_attention_heads", self.heads)
            .with("q", Operand::Buf(self.q))
            .with("w_k", Operand::Weight(Role::KvBProj, "w_k"))
            .with("q_latent", Operand::Buf(self.q_latent()))
            .shape(format!("[tokens, {} x ({} + {})]", self.heads, self.rank, self.rope));
        device(DeviceOp { phase, ..kind }, &[self.q], &[self.q_latent()])
    }

    fn decode(&self) -> [Op; 2] {
        let (heads, rank) = (self.heads, self.rank);
        let splits = format!("run.splits({})", heads.div_ceil(64));
        let attend = DeviceOp::new("mla_decode", Part::Mixer)
            .names("kv_dtype", self.dtypes.clone())
            .number("kv_lora_rank", rank)
            .number("qk_rope_head_dim", self.rope)
            .number("num_attention_heads", heads)
            .with("q_latent", Operand::Buf(self.q_latent()))
            .with("cache", Operand::Cache)
            .with("o_latent", Operand::Buf(self.o_latent()))
            .value("scale", format!("{}.value()", self.scale))
            .with("workspace", Operand::Work("latent_parts"))
            .chosen("kv_splits", splits.clone(), MOST_SPLITS)
            .reading(&["cache"])
            .writing(&["latent_parts"])
            .of_phase(Phase::Decode)
            .shape(format!("[tokens, {heads} x {rank}] in parts, {}", spans(Phase::Decode)));
        let combine = DeviceOp::new("mla_combine", Part::Mixer)
            .number("kv_lora_rank", rank)
            .number("num_attention_heads", heads)
            .with("workspace", Operand::Work("latent_parts"))
            .with("o_latent", Operand::Buf(self.o_latent()))
            .chosen("kv_splits", splits, MOST_SPLITS)
            .reading(&["latent_parts"])
            .of_phase(Phase::Decode)
            .in_place()
            .shape(format!("[tokens, {heads} x {rank}]"));
        [device(attend, &[self.q_latent()], &[self.o_latent()]), device(combine, &[], &[self.o_latent()])]
    }

    fn prefill_absorbed(&self) -> Op {
        let kind = DeviceOp::new("mla_prefill_absorbed", Part::Mixer)
            .names("kv_dtype", self.dtypes.clone())
            .number("kv_lora_rank", self.rank)
            .number("qk_rope_head_dim", self.rope)
            .number("num_attention_heads", self.heads)
            .with("q_latent", Operand::Buf(self.q_latent()))
            .with("cache", Operand::Cache)
            .with("o_latent", Operand::Buf(self.o_latent()))
            .value("scale", format!("{}.value()", self.scale))
            .reading(&["cache"])
            .of_phase(Phase::Prefill)
            .shape(format!("[tokens, {} x {}], {}", self.heads, self.rank, spans(Phase::Prefill)));
        device(kind, &[self.q_latent()], &[self.o_latent()])
    }

    fn up(&self, phase: Option<Phase>) -> Op {
        let kind = DeviceOp::new("mla_up", Part::Mixer)
            .number("kv_lora_rank", self.rank)
            .number("v_head_dim", self.v)
            .name("phase", phase_name(phase))
            .number("num_attention_heads", self.heads)
            .with("o_latent", Operand::Buf(self.o_latent()))
            .with("w_v", Operand::Weight(Role::KvBProj, "w_v"))
            .with("attn", Operand::Buf(self.attn))
            .shape(format!("[tokens, {} x {}]", self.heads, self.v));
        device(DeviceOp { phase, ..kind }, &[self.o_latent()], &[self.attn])
    }

    fn expanded(&self, phase: Phase) -> [Op; 2] {
        let of_pass = |op: DeviceOp| {
            let op = op.value("first_span", "pass.first_span").value("first_head", "pass.first_head");
            let op = op.chosen("spans_of_pass", "pass.spans", self.spans).chosen("heads_of_pass", "pass.heads", self.heads);
            op.chosen("context_rows", "pass.context_rows", self.context).of_phase(phase)
        };
        let expand = DeviceOp::new("mla_expand", Part::Mixer)
            .names("kv_dtype", self.dtypes.clone())
            .number("qk_nope_head_dim", self.nope)
            .number("qk_rope_head_dim", self.rope)
            .number("v_head_dim", self.v)
            .number("kv_lora_rank", self.rank)
            .name("phase", phase_name(Some(phase)))
            .number("num_attention_heads", self.heads)
            .with("cache", Operand::Cache)
            .with("w_k", Operand::Weight(Role::KvBProj, "w_k"))
            .with("w_v", Operand::Weight(Role::KvBProj, "w_v"))
            .with("keys", Operand::Work("expanded_keys"))
            .with("values", Operand::Work("expanded_values"))
            .reading(&["cache"])
            .writing(&["expanded_keys", "expanded_values"])
            .called(Call::Expand(phase))
            .shape("keys and values of the pass");
        let attend = DeviceOp::new("mla_prefill_expanded", Part::Mixer)
            .number("qk_nope_head_dim", self.nope)
            .number("qk_rope_head_dim", self.rope)
            .number("v_head_dim", self.v)
            .name("phase", phase_name(Some(phase)))
            .number("num_attention_heads", self.heads)
            .with("q", Operand::Buf(self.q))
            .with("keys", Operand::Work("expanded_keys"))
            .with("values", Operand::Work("expanded_values"))
            .with("attn", Operand::Buf(self.attn))
            .value("scale", format!("{}.value()", self.scale))
            .reading(&["expanded_keys", "expanded_values"])
            .called(Call::InPass)
            .shape(format!("[tokens, {} x {}], {}", self.heads, self.v, spans(phase)));
        [device(of_pass(expand), &[], &[]), device(of_pass(attend), &[self.q], &[self.attn])]
    }
}
