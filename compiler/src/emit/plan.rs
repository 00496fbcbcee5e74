//! `plan.txt` of a model: what a step costs, op by op, and what a deployment holds, for people who review a change.

mod dims;
mod facts;
mod fit;
mod kernels;
mod memory;

use std::fmt::Write as _;

use serde::Serialize;

use super::device::instance;
use crate::cost::{self, Cost, Step};
use crate::diagnostic::thousands;
use crate::model::{Kernel, KvDtype, ParamSet, Requirement};
use crate::program::{Call, FEW_ROWS, Op, OpKind, Phase, Program, RowsOf, When};
use crate::spec::TemplateSpec;

pub use facts::facts;
pub use fit::{Ask, Unplanned, fit};
pub use kernels::kernels;
pub use memory::workspace;

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
    /// Bytes of recurrent state per sequence, which is a slot of the state pool.
    pub state_bytes_per_slot: u64,
    /// Bytes of a snapshot of it, for prefixes that several requests share.
    pub state_bytes_per_snapshot: u64,
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
    let dtypes = super::constants::common_dtypes(model, program.target);
    let named = |f: &dyn Fn(KvDtype) -> u64| dtypes.iter().map(|d| (d.as_str().to_owned(), f(*d))).collect();
    let workspace = workspace(program);
    let decode_context = PLAN_CONTEXT.min(model.max_position_embeddings as u64);
    let mut decode = Cost::default();
    // A decode step has spans of one token only.
    for (op, times) in weighted(program, |op| !is_prefill(op)) {
        let cost = cost(program, op, decode_context);
        decode.bytes += cost.bytes * times as f64;
        decode.flops += cost.flops * times as f64;
    }
    Deployment {
        model: model.name.clone(),
        target: program.target.name(),
        parameters: program.parameters(),
        layers: model.pattern.len(),
        weight_bytes: model
            .checkpoint
            .accept
            .iter()
            .map(|f| (f.as_str().to_owned(), memory::weight_bytes(program, *f)))
            .collect(),
        kv_bytes_per_token: named(&|d| program.kv_bytes_per_token(d)),
        kv_bytes_per_sequence: named(&|d| program.kv_bytes_per_token(d) * model.max_position_embeddings as u64),
        scratch_bytes_per_token: workspace.token_bytes,
        scratch_bytes_per_logit_row: workspace.logit_row_bytes,
        state_bytes_per_slot: program.state_bytes_per_slot(),
        state_bytes_per_snapshot: program.state_bytes_per_slot(),
        rollback_bytes: 0,
        decode,
        decode_context,
    }
}

/// Each op of a step and how often it runs, where it runs at all.
fn weighted<'p>(program: &'p Program<'_>, runs_at_all: impl Fn(&Op) -> bool) -> Vec<(&'p Op, usize)> {
    let runs = |op: &Op, times| if runs_at_all(op) { times } else { 0 };
    let mut ops: Vec<(&Op, usize)> = program.ops.prologue.iter().map(|op| (op, 1)).collect();
    for (kind, list) in program.ops.kinds.iter().enumerate() {
        let layers = program.model.pattern.iter().filter(|k| **k == kind).count();
        ops.extend(list.iter().map(|op| (op, runs(op, layers))));
    }
    ops.extend(program.ops.epilogue.iter().map(|op| (op, 1)));
    ops
}

/// Whether an op computes spans of several tokens only, or steps of many rows.
fn is_prefill(op: &Op) -> bool {
    matches!(op.kind.phase(), Some(Phase::Prefill)) || matches!(&op.kind, OpKind::Device(op) if op.when == When::Many)
}

/// The cost of an op in a decode step, with the first accepted format and the default dtype.
fn cost(program: &Program<'_>, op: &Op, context: u64) -> Cost {
    let requirement = op.requirement(&program.model.checkpoint.accept);
    let kernel = program.model.kernel(program.target, &requirement);
    let value = |expr| cost::evaluate(expr, &requirement, kernel, Step::decode(context)).expect("check evaluates every cost");
    Cost { bytes: value(&kernel.bytes), flops: value(&kernel.flops) }
}

/// The text of `plan.txt`.
pub fn plan(programs: &[Program<'_>]) -> String {
    by_target(programs, target)
}

/// The text of every program, one after the other, with an empty line between them.
fn by_target(programs: &[Program<'_>], mut of: impl FnMut(&Program<'_>, &mut String)) -> String {
    let mut text = String::new();
    for (i, program) in programs.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        of(program, &mut text);
    }
    text
}

fn target(program: &Program<'_>, text: &mut String) {
    let (model, facts) = (program.model, deployment(program));
    let first = model.checkpoint.accept[0];
    line(text, format!("{} on {}", model.name, facts.target));
    line(text, format!("Generated from {}; what the compiler decided, for review.", model.folder));
    line(text, String::new());
    dims::dims(model, text);
    line(text, String::new());
    line(
        text,
        format!(
            "decode, 1 sequence, context {}, weights {first}, cache {}",
            thousands(facts.decode_context),
            default_dtype(program)
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
    if program.target.launches() {
        line(
            text,
            format!(
                "x0 runs in spans of several tokens, or with more than {FEW_ROWS} rows; products of those are the matrix library's, over bf16"
            ),
        );
    }
    line(text, String::new());
    selection(program, text);
    line(text, String::new());
    memory::memory(program, &facts, text);
    line(text, String::new());
    buffers(program, text);
}

pub(super) fn line(text: &mut String, line: String) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// The cache dtype that a spec allows first.
pub(crate) fn default_dtype(program: &Program<'_>) -> &'static str {
    super::constants::common_dtypes(program.model, program.target).first().map_or("none", |d| d.as_str())
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
        let (from, to) = beside_buffers(&op.kind);
        reads.extend(from);
        let target = match to {
            Some(to) if matches!(op.kind, OpKind::Device(_)) && !writes.is_empty() => format!("{}, {to}", writes.join(", ")),
            Some(to) => to,
            None => writes.join(", "),
        };
        let accumulate = matches!(
            &op.kind,
            OpKind::Device(device) if device.in_place && !device.writes.iter().any(|name| name == "cache")
        ) || matches!(
            op.kind,
            OpKind::Linear { accumulate: true, .. }
                | OpKind::RmsNormAdd { .. }
                | OpKind::Add { .. }
                | OpKind::AddScaled { .. }
                | OpKind::SigmoidGateAdd { .. }
        );
        let arrow = if accumulate { "+>" } else { "->" };
        let flow = if reads.is_empty() { target } else { format!("{} {arrow} {target}", reads.join(", ")) };
        line(
            text,
            row(
                &label(op, requirement.op),
                &instance(program, op),
                &format!("x{}", if is_prefill(op) { 0 } else { times }),
                &bytes(cost.bytes),
                &count(cost.flops),
                &flow,
            ),
        );
    }
}

/// What an op reads and writes that is no buffer of rows.
fn beside_buffers(kind: &OpKind) -> (Option<String>, Option<String>) {
    let own = |name: &str| Some(name.to_owned());
    match kind {
        OpKind::KvAppend { .. } | OpKind::LatentAppend { .. } => (None, own("cache")),
        OpKind::Attention { .. } | OpKind::Mla { .. } => (own("cache"), None),
        OpKind::CausalConv { .. } | OpKind::Mamba2 { .. } | OpKind::Delta { .. } => (own("state"), None),
        OpKind::Rope { rope, .. } => (Some(rope.clone()), None),
        OpKind::RopeAngles { rope, .. } => (None, Some(rope.clone())),
        OpKind::Route { routes, .. } => (None, Some(routes.clone())),
        OpKind::Experts { routes, .. } => (Some(routes.clone()), None),
        OpKind::Device(op) => {
            let listed = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
            (listed(&op.reads), listed(&op.writes))
        }
        _ => (None, None),
    }
}

/// The tensor of a linear or a norm, else the op's name; indented where another op decides whether it runs.
fn label(op: &Op, name: &str) -> String {
    if matches!(&op.kind, OpKind::Device(device) if device.call == Call::Within) {
        return format!("  {name}");
    }
    match op.kind.weight() {
        Some(weight) if !matches!(op.kind, OpKind::Embedding { .. }) => weight.field().to_owned(),
        _ => name.to_owned(),
    }
}

/// The template with its numbers: `linear_o576_i576`.
pub(crate) fn instance(program: &Program<'_>, op: &Op) -> String {
    let requirement = op.requirement(&program.model.checkpoint.accept);
    let kernel = program.model.kernel(program.target, &requirement);
    if let Some(template) = &kernel.device {
        return launched(requirement, kernel, &template.0);
    }
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

/// The instance that a decode step launches: of the first format and dtype, for one row.
fn launched(requirement: Requirement, kernel: &Kernel, template: &TemplateSpec) -> String {
    let values = instance::values(&instance::Launched { requirement, kernel, template });
    let first: Vec<_> = values.into_iter().filter_map(|(name, values)| Some((name, values.into_iter().next()?))).collect();
    instance::name(template, &first)
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
        "num_attention_heads" | "heads" => "h",
        "kv_lora_rank" => "lora",
        "qk_nope_head_dim" => "nope",
        "qk_rope_head_dim" => "rope",
        "v_head_dim" => "v",
        "conv_kernel" => "k",
        "experts" => "e",
        "top_k" => "top",
        "intermediate_size" => "i",
        "state" => "n",
        "groups" => "g",
        "chunk" => "c",
        "key_heads" => "kh",
        "key_dim" => "kd",
        "value_heads" => "vh",
        "value_dim" => "vd",
        other => other,
    }
}

/// Each op once, with the kernel that was selected for it.
fn selected<'p>(program: &Program<'p>) -> Vec<(&'static str, &'p Kernel)> {
    let mut seen: Vec<(&str, &Kernel)> = Vec::new();
    for op in program.ops.iter() {
        let requirement = op.requirement(&program.model.checkpoint.accept);
        let kernel = program.model.kernel(program.target, &requirement);
        if !seen.iter().any(|(op, known)| *op == requirement.op && known.template == kernel.template) {
            seen.push((requirement.op, kernel));
        }
    }
    seen
}

fn selection(program: &Program<'_>, text: &mut String) {
    line(text, "kernels".to_owned());
    for (op, kernel) in selected(program) {
        let what = kernel.device.as_ref().map_or(&kernel.rust, |template| &template.0.about);
        line(text, format!("  {op:<18} {:<24} {what} ({})", kernel.template, kernel.reason));
    }
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
            format!(
                "  {:<10} [{rows}, {}] {}, ops {}..={}",
                buffer.field,
                buffer.buf.width,
                buffer.dtype.as_str(),
                buffer.live.0,
                buffer.live.1
            ),
        );
    }
}

/// `1.23 MB`, in powers of ten.
pub(super) fn bytes(value: f64) -> String {
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
