//! What a deployment holds, each pool with its formula.

use std::borrow::Cow;

use tenon_formats::memory::{Room, Workspace};

use super::{Deployment, bytes, line};
use crate::diagnostic::thousands;
use crate::lower;
use crate::model::{KvDtype, Mixer, MlaForm, Moe};
use crate::program::{Buffer, CacheDtype, ExpertDims, Op, OpKind, Phase, Program, RowsOf, TensorShape};

/// Slots for which the plan states the size of the state pool.
const SLOTS: u64 = 8;

/// Bytes of weights if every matrix had this format and every vector were f32.
pub(super) fn weight_bytes(program: &Program<'_>, format: tenon_formats::StorageFormat) -> u64 {
    use TensorShape as S;
    // Vectors, and rows that a block format cannot hold, are stored as f32.
    let matrix =
        |out: usize, input: usize| format.row_bytes(input).map_or(4 * out as u64 * input as u64, |row| row as u64 * out as u64);
    let experts = |e: ExpertDims, inward: u64, all: u64| {
        let matrices = inward * matrix(e.inner, e.hidden) + matrix(e.hidden, e.inner);
        let vectors = all - e.experts as u64 * (inward + 1) * e.hidden as u64 * e.inner as u64;
        e.experts as u64 * matrices + 4 * vectors
    };
    let of = |shape: TensorShape| match shape {
        S::Linear { out, input } => matrix(out, input),
        S::Embedding { vocab, dim } => matrix(vocab, dim),
        S::LatentUp { heads, nope, v, rank } => matrix(heads * (nope + v), rank),
        S::GatedExperts(e) => experts(e, 2, shape.elements()),
        S::PlainExperts(e) => experts(e, 1, shape.elements()),
        S::Norm { .. } | S::Bias { .. } | S::Vector { .. } | S::Decay { .. } | S::Conv { .. } => 4 * shape.elements(),
    };
    program.tensors.iter().filter(|t| !t.shared).map(|t| of(t.shape) * program.copies(t)).sum()
}

/// Bytes per token of what routed experts need beside rows: a row inside and one outside for each expert of a token (with a gate, two
/// inside), and four numbers per route.
fn routed_bytes(program: &Program<'_>) -> u64 {
    let of = |(_, moe): (&str, &Moe)| {
        let outside = moe.latent.unwrap_or(program.model.hidden_size);
        let inside = moe.intermediate_size * if moe.gated { 2 } else { 1 };
        4 * moe.top_k as u64 * (outside + inside + 4) as u64
    };
    lower::moes(program.model).into_iter().map(of).sum()
}

/// What a step computes in: the buffers of the program, angles, what experts need, and what kernels keep for each thread.
pub fn workspace(program: &Program<'_>) -> Workspace {
    let bytes = |b: &Buffer| b.dtype.row_bytes(b.buf.width);
    let rows = |of| program.buffers.iter().filter(|b| b.buf.rows == of).map(bytes).sum::<u64>();
    let ropes = lower::ropes(program.model);
    let rotated: u64 = ropes.iter().map(|(_, rope)| rope.rotary_dim as u64).sum();
    // Where the rows of each expert begin, and where the last ones end.
    let starts: u64 = lower::moes(program.model).iter().map(|(_, moe)| 4 * (moe.experts as u64 + 1)).sum();
    let mut rooms: Vec<Room> = Vec::new();
    for room in program.ops.iter().filter_map(|op| room(program, op)) {
        if !rooms.contains(&room) {
            rooms.push(room);
        }
    }
    Workspace {
        // Of a rotation, a cosine and a sine per pair of a token, and the frequencies once.
        token_bytes: rows(RowsOf::Tokens) + 4 * rotated + routed_bytes(program),
        logit_row_bytes: rows(RowsOf::LogitRows),
        fixed_bytes: 2 * rotated + starts,
        rooms: Cow::Owned(rooms),
    }
}

/// What the kernel of an op keeps for each thread.
fn room(program: &Program<'_>, op: &Op) -> Option<Room> {
    let n = |value: usize| value as u64;
    match &op.kind {
        OpKind::Mla { form: MlaForm::Expanded, nope, rope_dim, v, rank, .. } => {
            Some(Room::Expanded { kv_lora_rank: n(*rank), nope: n(*nope), rope: n(*rope_dim), v: n(*v) })
        }
        OpKind::Mla { form: MlaForm::Absorbed, heads, rope_dim, rank, .. } => {
            Some(Room::Absorbed { heads: n(*heads), kv_lora_rank: n(*rank), rope: n(*rope_dim) })
        }
        OpKind::Mamba2 { phase: Phase::Prefill, head_dim, state, chunk, .. } => {
            Some(Room::Mamba2 { head_dim: n(*head_dim), state: n(*state), chunk: n(*chunk) })
        }
        OpKind::Delta { phase: Phase::Prefill, key_dim, value_dim, .. } => {
            let kernel = program.model.kernel(program.target, &op.requirement(&program.model.checkpoint.accept));
            let chunk = kernel.tuned.iter().find(|(name, _)| name == "chunk").map_or(1, |(_, chunk)| *chunk);
            Some(Room::Delta { key_dim: n(*key_dim), value_dim: n(*value_dim), chunk })
        }
        _ => None,
    }
}

pub(super) fn memory(program: &Program<'_>, facts: &Deployment, text: &mut String) {
    line(text, "memory".to_owned());
    line(text, format!("  parameters        {}", thousands(facts.parameters)));
    for (format, size) in &facts.weight_bytes {
        line(text, format!("  weights           {:>10}  if every matrix were {format}", bytes(*size as f64)));
    }
    let kv = program.kv_elements();
    for (dtype, size) in facts.kv_bytes_per_token.iter().filter(|_| !kv.is_empty()) {
        let chosen =
            super::super::constants::common_dtypes(program.model, program.target).into_iter().find(|d| d.as_str() == dtype);
        let formula: Vec<String> = kv
            .iter()
            .map(|(of, elements)| match of {
                CacheDtype::Fixed(fixed) => {
                    format!("{} elements x {} ({} layers at the edges)", thousands(*elements), fixed.bytes(), fixed.as_str())
                }
                _ => format!("{} elements x {}", thousands(*elements), chosen.map_or(0, KvDtype::bytes)),
            })
            .collect();
        line(text, format!("  cache             {:>10}  per token, {dtype}: {}", thousands(*size), formula.join(" + ")));
    }
    for (dtype, size) in facts.kv_bytes_per_sequence.iter().filter(|_| !kv.is_empty()) {
        let context = thousands(program.model.max_position_embeddings as u64);
        line(text, format!("  cache             {:>10}  per sequence of {context}, {dtype}", bytes(*size as f64)));
    }
    if kv.is_empty() {
        line(text, "  cache                      0  no attention".to_owned());
    }
    line(text, format!("  scratch           {:>10}  per token of the largest step", thousands(facts.scratch_bytes_per_token)));
    line(text, format!("  scratch           {:>10}  per row of logits", thousands(facts.scratch_bytes_per_logit_row)));
    state(program, facts, text);
    line(text, "  rollback ring              0  no speculation".to_owned());
}

fn state(program: &Program<'_>, facts: &Deployment, text: &mut String) {
    let formulas = program.state_elements();
    if formulas.is_empty() {
        line(text, "  state pool                 0  no recurrent block".to_owned());
        line(text, "  snapshot pool              0  no recurrent block".to_owned());
        return;
    }
    let slot = facts.state_bytes_per_slot;
    line(
        text,
        format!(
            "  state pool        {:>10}  per sequence, f32, the convolution's last inputs and the recurrence:",
            thousands(slot)
        ),
    );
    for (group, conv, state) in formulas {
        let layers = group.layers.len();
        let total = thousands(4 * (conv + state) * layers as u64);
        let formula = match &program.model.kinds[group.kind].mixer {
            Some((_, Mixer::Mamba2(m))) => format!(
                "({} x {} + {} x {} x {})",
                m.conv_kernel - 1,
                thousands(m.conv_dim() as u64),
                m.heads,
                m.head_dim.next_multiple_of(8),
                m.state
            ),
            Some((_, Mixer::GatedDeltaNet(d))) => format!(
                "({} x {} + {} x {} x {})",
                d.conv_kernel - 1,
                thousands(d.conv_dim() as u64),
                d.value_heads,
                d.key_dim,
                d.value_dim.next_multiple_of(8)
            ),
            _ => format!("{}", conv + state),
        };
        line(text, format!("                                {}: {layers} layers x 4 x {formula} = {total}", group.field));
    }
    let pool = |count: u64| format!("{:.1} MiB", (slot * count) as f64 / (1024.0 * 1024.0));
    line(text, format!("  state pool        {:>10}  for {SLOTS} sequences", pool(SLOTS)));
    line(text, format!("  snapshot pool     {:>10}  per snapshot, the same; {} for {SLOTS}", thousands(slot), pool(SLOTS)));
}
