//! What a model is, in a few lines.

use tenon_formats::tools::{Settings, Teaching, ToolSettings};

use super::line;
use crate::diagnostic::thousands;
use crate::lower;
use crate::model::{CheckpointFormat, Factor, Ffn, GatedDeltaNet, Mixer, Model, Moe, Rope, RopeScaling, Scale, ScoringFunc};

pub(super) fn dims(model: &Model, text: &mut String) {
    let format = format(model);
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
    let embedding = (model.embedding_scale.value != 1.0).then_some(&model.embedding_scale);
    let factor = |what: &str, factor: Option<&Factor>| factor.map(|f| format!("{what} x {} = {:?}", f.formula, f.value));
    let cap = model.final_logit_softcapping.map(|cap| format!("logits capped at {cap}"));
    let around = [
        factor("embedding", embedding),
        factor("residuals", model.residual_scale.as_ref()),
        factor("head", model.logit_scale.as_ref()),
        cap,
    ];
    for part in around.into_iter().flatten() {
        line(text, format!("{:<11} {part}", ""));
    }
    for (name, mixer) in lower::mixers(model) {
        for (i, part) in mixer_lines(mixer).into_iter().enumerate() {
            line(text, format!("{:<11} {part}", if i == 0 { name } else { "" }));
        }
    }
    for (name, ffn) in lower::ffns(model) {
        if let Ffn::Moe(moe) = ffn {
            line(text, format!("{name:<11} {}", router(moe)));
        }
    }
    for (i, deviation) in model.deviations.iter().enumerate() {
        line(text, format!("{:<11} {deviation}", if i == 0 { "deviates" } else { "" }));
    }
    formats(model.formats, text);
}

/// How the model calls tools and marks reasoning, where it does.
fn formats(Settings { tools, reasoning }: Settings, text: &mut String) {
    if let Some(ToolSettings { parser, skip_template_tools, steering, thinking }) = tools {
        let source = match parser.teaching() {
            Teaching::Template if !skip_template_tools => "the chat template",
            _ => "the parser's prompt",
        };
        let begun = parser
            .opening()
            .filter(|_| steering)
            .map_or(String::new(), |opening| format!(", a forced call begun with {opening}"));
        let thinking = match (thinking, reasoning) {
            (false, Some(_)) => ", no reasoning beside them",
            _ => "",
        };
        line(text, format!("tools       {parser}, taught by {source}{begun}{thinking}"));
    }
    if let Some(reasoning) = reasoning {
        line(text, format!("reasoning   {reasoning}"));
    }
}

/// How the checkpoint is stored, as the spec spells it.
pub(super) const fn format(model: &Model) -> &'static str {
    match model.checkpoint.format {
        CheckpointFormat::Hf => "hf",
        CheckpointFormat::Gguf => "gguf",
        CheckpointFormat::Mistral => "mistral",
    }
}

fn mixer_lines(mixer: &Mixer) -> Vec<String> {
    let mut lines = Vec::new();
    match mixer {
        Mixer::Gqa(gqa) => {
            lines.push(scale(&gqa.scale));
            lines.extend(gqa.sliding_window.map(|window| format!("window of {window} tokens")));
            lines.extend(gqa.soft_cap.map(|cap| format!("scores capped at {cap}")));
            lines.extend(gqa.sinks.then(|| "a sink per head in the softmax".to_owned()));
            lines.extend(gqa.output_gate.then(|| "output gated".to_owned()));
            lines.push(gqa.rope.as_ref().map_or_else(|| "no rotation".to_owned(), |rope| self::rope(rope, gqa.head_dim)));
        }
        Mixer::Mla(mla) => {
            lines.push(scale(&mla.scale));
            lines.push(self::rope(&mla.rope, mla.qk_head_dim()));
            lines.extend(
                mla.query_scale.map(|q| {
                    format!("queries x 1 + {} ln(1 + floor(position / {}))", q.beta, q.original_max_position_embeddings)
                }),
            );
            lines.push(format!("caches {} + {} elements per token", mla.kv_lora_rank, mla.rope_dim));
        }
        Mixer::Mamba2(m) => {
            lines.push(format!(
                "state {} x {} x {}, {} groups, time step at least {}",
                m.heads, m.head_dim, m.state, m.groups, m.time_step_min
            ));
        }
        Mixer::GatedDeltaNet(d) => {
            let GatedDeltaNet { key_heads, key_dim, value_heads, value_dim, .. } = d;
            lines.push(format!("state {value_heads} x {key_dim} x {value_dim}, {key_heads} key heads"));
        }
    }
    lines
}

fn scale(scale: &Scale) -> String {
    format!("softmax scale {} = {:?}", scale.formula, scale.value)
}

pub(super) fn rope(rope: &Rope, head_dim: usize) -> String {
    let pairs = if rope.interleaved { "neighbours" } else { "halves" };
    let scaling = match &rope.scaling {
        RopeScaling::Default => "default".to_owned(),
        RopeScaling::Linear { factor } => format!("linear, factor {factor}"),
        RopeScaling::Llama3 { factor, .. } => format!("llama3, factor {factor}"),
        RopeScaling::Yarn { factor, original_max_position_embeddings, attention_factor, .. } => {
            format!("yarn, factor {factor} over {original_max_position_embeddings}, cosines x {attention_factor}")
        }
    };
    format!("rope {} of {head_dim} elements in {pairs}, theta {}, {scaling}", rope.rotary_dim, rope.theta)
}

pub(super) fn router(moe: &Moe) -> String {
    let router = moe.router;
    let mut text = match router.scoring {
        ScoringFunc::Softmax => "softmax router".to_owned(),
        ScoringFunc::Sigmoid => "sigmoid router".to_owned(),
    };
    if router.correction_bias {
        text.push_str(" with correction bias");
    }
    if router.groups > 1 {
        text.push_str(&format!(", {} of {} groups", router.top_groups, router.groups));
    }
    text.push_str(if router.normalise { ", normalised" } else { ", not normalised" });
    if router.scaling != 1.0 {
        text.push_str(&format!(", x {}", router.scaling));
    }
    text
}
