//! `plan.json` of a model: what `plan.txt` says of dimensions, scales, caches and kernels, for programs. The server carries it and answers
//! with it where it is asked what is running.
//!
//! It is written line by line, so that a review reads it as it reads the rest, and not through a map, whose order is not ours.

use std::fmt::Write as _;

use super::dims;
use crate::lower;
use crate::model::{Ffn, Mixer, Model, Moe};
use crate::program::Program;

/// The text of `plan.json`.
pub fn facts(programs: &[Program<'_>]) -> String {
    let model = programs[0].model;
    let mut text = String::from("{\n");
    let _ = writeln!(text, "  \"model\": {},", block(&top(model), "  "));
    let _ = writeln!(text, "  \"checkpoint\": {},", block(&checkpoint(model), "  "));
    let mixers = lower::mixers(model).into_iter().map(|(name, m)| (name.to_owned(), block(&mixer(m), "    ")));
    section(&mut text, "mixers", mixers, ",");
    let ffns = lower::ffns(model).into_iter().map(|(name, f)| (name.to_owned(), block(&ffn(f), "    ")));
    section(&mut text, "feed_forwards", ffns, ",");
    let targets = programs.iter().map(|program| {
        let kernels: Vec<String> = kernels(program).iter().map(|kernel| format!("      {}", object(kernel))).collect();
        (program.target.name().to_owned(), format!("[\n{}\n    ]", kernels.join(",\n")))
    });
    section(&mut text, "kernels", targets, "");
    text.push_str("}\n");
    text
}

/// A key and its value, which is JSON already.
type Fact = (&'static str, String);

fn section(text: &mut String, name: &str, entries: impl Iterator<Item = (String, String)>, end: &str) {
    let entries: Vec<String> = entries.map(|(key, value)| format!("    {}: {value}", string(&key))).collect();
    let _ = match entries.is_empty() {
        true => writeln!(text, "  \"{name}\": {{}}{end}"),
        false => writeln!(text, "  \"{name}\": {{\n{}\n  }}{end}", entries.join(",\n")),
    };
}

/// An object with a line for each fact.
fn block(facts: &[Fact], indent: &str) -> String {
    let facts: Vec<String> = facts.iter().map(|(key, value)| format!("{indent}  \"{key}\": {value}")).collect();
    format!("{{\n{}\n{indent}}}", facts.join(",\n"))
}

/// An object on one line.
fn object(facts: &[Fact]) -> String {
    let facts: Vec<String> = facts.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{{}}}", facts.join(", "))
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn strings<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| string(text.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}

fn int(key: &'static str, value: usize) -> Fact {
    (key, value.to_string())
}

fn top(model: &Model) -> Vec<Fact> {
    let mut facts = vec![
        ("name", string(&model.name)),
        ("targets", strings(model.targets.iter().map(|t| t.name()))),
        int("hidden_size", model.hidden_size),
        int("num_hidden_layers", model.pattern.len()),
        int("vocab_size", model.vocab_size),
        int("max_position_embeddings", model.max_position_embeddings),
        ("rms_norm_eps", format!("{:?}", model.rms_norm_eps)),
        ("tie_word_embeddings", model.tie_word_embeddings.to_string()),
    ];
    let embedding = (model.embedding_scale.value != 1.0).then_some(&model.embedding_scale);
    let factors = [
        ("embedding_scale", embedding),
        ("residual_scale", model.residual_scale.as_ref()),
        ("logit_scale", model.logit_scale.as_ref()),
    ];
    facts.extend(factors.into_iter().filter_map(|(key, factor)| factor.map(|f| (key, formula(&f.formula, f.value as f64)))));
    facts.extend(model.final_logit_softcapping.map(|cap| ("final_logit_softcapping", format!("{cap:?}"))));
    facts
}

fn formula(formula: &str, value: f64) -> String {
    format!("{{\"formula\": {}, \"value\": {value:?}}}", string(formula))
}

fn checkpoint(model: &Model) -> Vec<Fact> {
    let checkpoint = &model.checkpoint;
    vec![
        ("source", string(&checkpoint.source)),
        ("format", string(dims::format(model))),
        ("model_type", string(&checkpoint.model_type)),
        ("accept", strings(checkpoint.accept.iter().map(|f| f.as_str()))),
    ]
}

fn mixer(mixer: &Mixer) -> Vec<Fact> {
    let mut facts = match mixer {
        Mixer::Gqa(gqa) => {
            let mut facts = vec![
                ("kind", string("gqa")),
                int("num_attention_heads", gqa.heads),
                int("num_key_value_heads", gqa.kv_heads),
                int("head_dim", gqa.head_dim),
            ];
            facts.extend(gqa.sliding_window.map(|window| int("sliding_window", window)));
            facts.extend(gqa.soft_cap.map(|cap| ("attn_logit_softcapping", format!("{cap:?}"))));
            facts.push(("softmax_scale", formula(&gqa.scale.formula, f64::from(gqa.scale.value))));
            facts.extend(gqa.rope.as_ref().map(|rope| ("rope", string(&dims::rope(rope, gqa.head_dim)))));
            facts
        }
        Mixer::Mla(mla) => {
            let mut facts = vec![("kind", string("mla")), int("num_attention_heads", mla.heads)];
            facts.extend(mla.q_lora_rank.map(|rank| int("q_lora_rank", rank)));
            facts.extend([
                int("kv_lora_rank", mla.kv_lora_rank),
                int("qk_nope_head_dim", mla.nope),
                int("qk_rope_head_dim", mla.rope_dim),
                int("v_head_dim", mla.v_head_dim),
                ("softmax_scale", formula(&mla.scale.formula, f64::from(mla.scale.value))),
                ("rope", string(&dims::rope(&mla.rope, mla.qk_head_dim()))),
            ]);
            facts
        }
        Mixer::Mamba2(m) => vec![
            ("kind", string("mamba2")),
            int("mamba_num_heads", m.heads),
            int("mamba_head_dim", m.head_dim),
            int("ssm_state_size", m.state),
            int("n_groups", m.groups),
            int("conv_kernel", m.conv_kernel),
            int("chunk_size", m.chunk),
        ],
        Mixer::GatedDeltaNet(d) => vec![
            ("kind", string("gated_delta_net")),
            int("linear_num_key_heads", d.key_heads),
            int("linear_key_head_dim", d.key_dim),
            int("linear_num_value_heads", d.value_heads),
            int("linear_value_head_dim", d.value_dim),
            int("linear_conv_kernel_dim", d.conv_kernel),
        ],
    };
    if let Some(kv) = mixer.kv() {
        facts.push(("kv_cache_dtype", strings(kv.dtypes.iter().map(|d| d.as_str()))));
        facts.extend(kv.edges.map(|edges| {
            let edges =
                format!("{{\"first\": {}, \"last\": {}, \"dtype\": \"{}\"}}", edges.first, edges.last, edges.dtype.as_str());
            ("kv_cache_layers", edges)
        }));
    }
    facts
}

fn ffn(ffn: &Ffn) -> Vec<Fact> {
    match ffn {
        Ffn::Moe(moe) => experts(moe),
        Ffn::GatedMlp { intermediate_size, .. } => {
            vec![("kind", string("gated_mlp")), int("intermediate_size", *intermediate_size)]
        }
        Ffn::Mlp { intermediate_size, .. } => vec![("kind", string("mlp")), int("intermediate_size", *intermediate_size)],
    }
}

fn experts(moe: &Moe) -> Vec<Fact> {
    let mut facts = vec![
        ("kind", string("moe")),
        int("n_routed_experts", moe.experts),
        int("num_experts_per_tok", moe.top_k),
        int("moe_intermediate_size", moe.intermediate_size),
        ("router", string(&dims::router(moe))),
    ];
    facts.extend(moe.shared.as_ref().map(|shared| int("shared_expert_intermediate_size", shared.intermediate_size)));
    facts
}

/// Each op once, with the template that was selected, the function that it is, and why.
fn kernels(program: &Program<'_>) -> Vec<Vec<Fact>> {
    super::selected(program)
        .into_iter()
        .map(|(op, kernel)| {
            let function = (!kernel.rust.is_empty()).then(|| ("function", string(&kernel.rust)));
            let mut facts = vec![("op", string(op)), ("template", string(&kernel.template))];
            facts.extend(function);
            facts.push(("reason", string(kernel.reason)));
            facts
        })
        .collect()
}
