//! `plan.txt` of a model: what a step costs, op by op, and what a deployment holds, for people who review a change.

use std::fmt::Write as _;

use serde::Serialize;

use super::text::thousands;
use crate::cost::{self, Cost, Step};
use crate::model::{CheckpointFormat, KvDtype, Model, ParamSet, RopeScaling};
use crate::program::{CacheDtype, Op, OpKind, Program, RowsOf};

/// Context at which a plan states the cost of a decode step, or the model's own where that is shorter.
const PLAN_CONTEXT: u64 = 8192;

/// What a deployment holds, for `tenon plan` and its `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deployment {
    /// The spec's name.
    pub model: String,
    /// The target.
    pub target: &'static str,
    /// Parameters, embeddings included; a tied head counts once.
    pub parameters: u64,
    /// Layers.
    pub layers: usize,
    /// Bytes of weights if every matrix had this format and every vector were f32, by format, in the order of the spec.
    pub weight_bytes: Vec<(String, u64)>,
    /// Bytes of KV cache per token, by dtype, the default first.
    pub kv_bytes_per_token: Vec<(String, u64)>,
    /// Bytes of KV cache of one sequence at the full context, by dtype.
    pub kv_bytes_per_sequence: Vec<(String, u64)>,
    /// Bytes of activations per token of the largest step.
    pub scratch_bytes_per_token: u64,
    /// Bytes of activations per row of logits.
    pub scratch_bytes_per_logit_row: u64,
    /// Bytes of recurrent state per sequence: no block of this version has any.
    pub state_bytes_per_slot: u64,
    /// Bytes for rolling back speculation: there is none yet.
    pub rollback_bytes: u64,
    /// Cost of a decode step of one sequence at `decode_context`.
    pub decode: Cost,
    /// Tokens in the cache for `decode`.
    pub decode_context: u64,
}

/// Computes what a deployment holds.
pub fn deployment(program: &Program<'_>) -> Deployment {
    let model = program.model;
    let dtypes = super::constants::common_dtypes(model);
    let named = |f: &dyn Fn(KvDtype) -> u64| dtypes.iter().map(|d| (d.as_str().to_owned(), f(*d))).collect();
    let scratch = |rows| program.buffers.iter().filter(|b| b.buf.rows == rows).map(|b| 4 * b.buf.width as u64).sum();
    let decode_context = PLAN_CONTEXT.min(model.max_position_embeddings as u64);
    let mut decode = Cost::default();
    for (op, times) in weighted(program) {
        let cost = cost(program, op, decode_context);
        decode.bytes += cost.bytes * times as f64;
        decode.flops += cost.flops * times as f64;
    }
    Deployment {
        model: model.name.clone(),
        target: program.target.name(),
        parameters: program.parameters(),
        layers: model.pattern.len(),
        weight_bytes: model.checkpoint.accept.iter().map(|f| (f.as_str().to_owned(), weight_bytes(program, *f))).collect(),
        kv_bytes_per_token: named(&|d| program.kv_bytes_per_token(d)),
        kv_bytes_per_sequence: named(&|d| program.kv_bytes_per_token(d) * model.max_position_embeddings as u64),
        scratch_bytes_per_token: scratch(RowsOf::Tokens),
        scratch_bytes_per_logit_row: scratch(RowsOf::LogitRows),
        state_bytes_per_slot: 0,
        rollback_bytes: 0,
        decode,
        decode_context,
    }
}

fn weight_bytes(program: &Program<'_>, format: tenon_formats::StorageFormat) -> u64 {
    use crate::program::TensorShape as S;
    program
        .tensors
        .iter()
        .filter(|t| !t.shared)
        .map(|t| {
            let bytes = match t.shape {
                S::Linear { out, input } => format.row_bytes(input).map(|row| (row * out) as u64),
                S::Embedding { vocab, dim } => format.row_bytes(dim).map(|row| (row * vocab) as u64),
                S::Norm { .. } | S::Bias { .. } => None,
            };
            // Vectors, and rows that a block format cannot hold, are stored as f32.
            bytes.unwrap_or(4 * t.shape.elements()) * program.copies(t)
        })
        .sum()
}

/// Each op of a step and how often it runs.
fn weighted<'p>(program: &'p Program<'_>) -> Vec<(&'p Op, usize)> {
    let mut ops: Vec<(&Op, usize)> = program.ops.prologue.iter().map(|op| (op, 1)).collect();
    for (kind, list) in program.ops.kinds.iter().enumerate() {
        let layers = program.model.pattern.iter().filter(|k| **k == kind).count();
        ops.extend(list.iter().map(|op| (op, layers)));
    }
    ops.extend(program.ops.epilogue.iter().map(|op| (op, 1)));
    ops
}

/// The cost of an op in a decode step, with the first accepted format and the default dtype.
fn cost(program: &Program<'_>, op: &Op, context: u64) -> Cost {
    let requirement = op.requirement(&program.model.checkpoint.accept);
    let kernel = program.model.kernel(program.target, &requirement);
    let value =
        |expr| cost::evaluate(expr, &requirement, &kernel.tuned, Step::decode(context)).expect("check evaluates every cost");
    Cost { bytes: value(&kernel.bytes), flops: value(&kernel.flops) }
}

/// The text of `plan.txt`.
pub fn plan(programs: &[Program<'_>]) -> String {
    let mut text = String::new();
    for (i, program) in programs.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        target(program, &mut text);
    }
    text
}

fn target(program: &Program<'_>, text: &mut String) {
    let (model, facts) = (program.model, deployment(program));
    let first = model.checkpoint.accept[0];
    line(text, format!("{} on {}", model.name, facts.target));
    line(text, format!("Generated from {}; what the compiler decided, for review.", model.folder));
    line(text, String::new());
    dims(model, text);
    line(text, String::new());
    line(
        text,
        format!(
            "decode, 1 sequence, context {}, weights {first}, cache {}",
            thousands(facts.decode_context),
            default_dtype(model)
        ),
    );
    line(text, row("op", "kernel", "times", "bytes", "flops", "buffers"));
    section(program, &program.ops.prologue, 1, facts.decode_context, text);
    for (kind, ops) in program.ops.kinds.iter().enumerate() {
        let layers = model.pattern.iter().filter(|k| **k == kind).count();
        section(program, ops, layers, facts.decode_context, text);
    }
    section(program, &program.ops.epilogue, 1, facts.decode_context, text);
    line(text, row("total", "", "", &bytes(facts.decode.bytes), &count(facts.decode.flops), ""));
    line(text, String::new());
    selection(program, text);
    line(text, String::new());
    memory(program, &facts, text);
    line(text, String::new());
    buffers(program, text);
}

fn line(text: &mut String, line: String) {
    text.push_str(line.trim_end());
    text.push('\n');
}

fn dims(model: &Model, text: &mut String) {
    let format = match model.checkpoint.format {
        CheckpointFormat::Hf => "hf",
        CheckpointFormat::Gguf => "gguf",
    };
    line(text, format!("checkpoint  {} ({format}, model_type {})", model.checkpoint.source, model.checkpoint.model_type));
    line(
        text,
        format!(
            "model       hidden {}, {} layers, vocabulary {}, context {}, {} head",
            model.hidden_size,
            model.pattern.len(),
            thousands(model.vocab_size as u64),
            thousands(model.max_position_embeddings as u64),
            if model.tie_word_embeddings { "tied" } else { "own" }
        ),
    );
    for kind in &model.kinds {
        let Some((name, crate::model::Mixer::Gqa(gqa))) = &kind.mixer else { continue };
        line(text, format!("{name:<11} softmax scale {} = {:?}", gqa.scale.formula, gqa.scale.value));
        if let Some(window) = gqa.sliding_window {
            line(text, format!("{:<11} window of {window} tokens", ""));
        }
        let pairs = if gqa.rope.interleaved { "neighbours" } else { "halves" };
        let scaling = match gqa.rope.scaling {
            RopeScaling::Default => "default".to_owned(),
            RopeScaling::Llama3 { factor, .. } => format!("llama3, factor {factor}"),
        };
        line(
            text,
            format!(
                "{:<11} rope {} of {} elements in {pairs}, theta {}, {scaling}",
                "", gqa.rope.rotary_dim, gqa.head_dim, gqa.rope.theta
            ),
        );
    }
}

fn default_dtype(model: &Model) -> &'static str {
    super::constants::common_dtypes(model).first().map_or("none", |d| d.as_str())
}

fn row(op: &str, kernel: &str, times: &str, bytes: &str, flops: &str, buffers: &str) -> String {
    format!("{op:<26} {kernel:<42} {times:>5} {bytes:>10} {flops:>9}   {buffers}")
}

fn section(program: &Program<'_>, ops: &[Op], times: usize, context: u64, text: &mut String) {
    for op in ops {
        if let Some(heading) = &op.heading {
            line(text, format!("-- {heading}"));
        }
        let requirement = op.requirement(&program.model.checkpoint.accept);
        let cost = cost(program, op, context);
        let names = |bufs: &[crate::program::Buf]| bufs.iter().map(|b| program.field(b).to_owned()).collect::<Vec<_>>();
        let (mut reads, writes) = (names(&op.reads), names(&op.writes));
        match &op.kind {
            OpKind::KvAppend { .. } => {}
            OpKind::Attention { .. } => reads.push("cache".to_owned()),
            OpKind::Rope { rope, .. } => reads.push(rope.clone()),
            _ => {}
        }
        let target = match &op.kind {
            OpKind::KvAppend { .. } => "cache".to_owned(),
            OpKind::RopeAngles { rope, .. } => rope.clone(),
            _ => writes.join(", "),
        };
        let accumulate = matches!(op.kind, OpKind::Linear { accumulate: true, .. } | OpKind::RmsNormAdd { .. });
        let arrow = if accumulate { "+>" } else { "->" };
        let flow = if reads.is_empty() { target } else { format!("{} {arrow} {target}", reads.join(", ")) };
        line(
            text,
            row(
                &label(op, requirement.op),
                &instance(program, op),
                &format!("x{times}"),
                &bytes(cost.bytes),
                &count(cost.flops),
                &flow,
            ),
        );
    }
}

/// The tensor of a linear, else the op's name.
fn label(op: &Op, name: &str) -> String {
    match &op.kind {
        OpKind::Linear { weight, .. } => weight.field().to_owned(),
        OpKind::RmsNorm { weight, .. }
        | OpKind::RmsNormAdd { weight, .. }
        | OpKind::HeadNorm { weight, .. }
        | OpKind::AddBias { weight, .. } => weight.field().to_owned(),
        _ => name.to_owned(),
    }
}

/// The template with its numbers: `linear_o576_i576`.
fn instance(program: &Program<'_>, op: &Op) -> String {
    let requirement = op.requirement(&program.model.checkpoint.accept);
    let kernel = program.model.kernel(program.target, &requirement);
    let mut name = kernel.template.clone();
    for (param, value) in &requirement.params {
        if let ParamSet::Int(value) = value {
            let _ = write!(name, "_{}{value}", short(param));
        }
    }
    for (param, value) in &kernel.tuned {
        let _ = write!(name, "_{param}{value}");
    }
    name
}

fn short(param: &str) -> &str {
    match param {
        "head_dim" => "hd",
        "num_key_value_heads" => "kv",
        "group" => "g",
        "rotary_dim" => "r",
        "window" => "w",
        "out" => "o",
        "in" => "i",
        "vocab" => "v",
        "dim" => "d",
        other => other,
    }
}

fn selection(program: &Program<'_>, text: &mut String) {
    line(text, "kernels".to_owned());
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for op in program.ops.iter() {
        let requirement = op.requirement(&program.model.checkpoint.accept);
        let kernel = program.model.kernel(program.target, &requirement);
        if seen.contains(&(requirement.op, &kernel.template)) {
            continue;
        }
        seen.push((requirement.op, &kernel.template));
        line(text, format!("  {:<18} {:<24} {} ({})", requirement.op, kernel.template, kernel.rust, kernel.reason));
    }
}

fn memory(program: &Program<'_>, facts: &Deployment, text: &mut String) {
    line(text, "memory".to_owned());
    line(text, format!("  parameters        {}", thousands(facts.parameters)));
    for (format, size) in &facts.weight_bytes {
        line(text, format!("  weights           {:>10}  if every matrix were {format}", bytes(*size as f64)));
    }
    for (dtype, size) in &facts.kv_bytes_per_token {
        let formula: Vec<String> = program
            .kv_elements()
            .iter()
            .map(|(of, elements)| match of {
                CacheDtype::Fixed(fixed) => {
                    format!("{} elements x {} ({} layers at the edges)", thousands(*elements), fixed.bytes(), fixed.as_str())
                }
                _ => {
                    let size = if dtype == "f32" { 4 } else { 2 };
                    format!("{} elements x {size}", thousands(*elements))
                }
            })
            .collect();
        line(text, format!("  cache             {:>10}  per token, {dtype}: {}", thousands(*size), formula.join(" + ")));
    }
    for (dtype, size) in &facts.kv_bytes_per_sequence {
        let context = thousands(program.model.max_position_embeddings as u64);
        line(text, format!("  cache             {:>10}  per sequence of {context}, {dtype}", bytes(*size as f64)));
    }
    line(text, format!("  scratch           {:>10}  per token of the largest step", thousands(facts.scratch_bytes_per_token)));
    line(text, format!("  scratch           {:>10}  per row of logits", thousands(facts.scratch_bytes_per_logit_row)));
    line(text, "  state pool                 0  no recurrent block".to_owned());
    line(text, "  snapshot pool              0  no recurrent block".to_owned());
    line(text, "  rollback ring              0  no speculation".to_owned());
}

fn buffers(program: &Program<'_>, text: &mut String) {
    line(text, "buffers, with the first and last op that touch them".to_owned());
    for buffer in &program.buffers {
        let rows = match buffer.buf.rows {
            RowsOf::Tokens => "tokens",
            RowsOf::LogitRows => "logit rows",
        };
        line(
            text,
            format!("  {:<10} [{rows}, {}] f32, ops {}..={}", buffer.field, buffer.buf.width, buffer.live.0, buffer.live.1),
        );
    }
}

/// `1.23 MB`, in powers of ten.
fn bytes(value: f64) -> String {
    scaled(value, &["B", "kB", "MB", "GB", "TB"])
}

fn count(value: f64) -> String {
    scaled(value, &["", "k", "M", "G", "T"])
}

fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 { format!("{value:.0}") } else { format!("{value:.1}") };
    format!("{digits} {}", units[unit]).trim_end().to_owned()
}
