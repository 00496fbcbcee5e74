//! What the checkpoint's config must say, and what the spec may not say because the architecture fixes it.

use super::size;
use crate::architecture::{Architecture, Bias, Implied};
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::expr::Expr;
use crate::model::{BlockKind, CheckpointFormat, ConfigContract, ConfigValue, Ffn, Mixer, NormPlacement, RopeScaling};
use crate::source::{Span, Spanned};
use crate::spec::{FfnSpec, MixerSpec, ModelSpec};

/// Compares what the spec states with what every checkpoint of this `model_type` has.
pub fn conventions(spec: &ModelSpec, architecture: &Architecture, diags: &mut Diagnostics) {
    let fixed = |what: &str, stated: &Spanned<bool>, value: bool, diags: &mut Diagnostics| {
        if stated.value != value {
            diags.push(
                Diagnostic::new(
                    Id::ArchitectureMismatch,
                    format!("`{what}` is {value} in every `{}` checkpoint", architecture.model_type),
                )
                .label(&stated.span, format!("the spec says {}", stated.value))
                .context(&spec.checkpoint.model_type.span, "the architecture fixes it, and no config states it")
                .help("follow the architecture")
                .patch(&stated.span, value.to_string()),
            );
        }
    };
    fixed("rms_norm_unit_offset", &spec.model.rms_norm_unit_offset, architecture.rms_norm_unit_offset, diags);
    formula("embedding_scale", &spec.model.embedding_scale, architecture.embedding_scale, spec, diags);
    for (_, block) in &spec.layers.blocks {
        if block.norm.value != architecture.norm {
            let name = |norm| match norm {
                NormPlacement::Pre => "pre",
                NormPlacement::Sandwich => "sandwich",
            };
            diags.push(
                Diagnostic::new(
                    Id::ArchitectureMismatch,
                    format!("`norm` is \"{}\" in every `{}` checkpoint", name(architecture.norm), architecture.model_type),
                )
                .label(&block.norm.span, format!("the spec says \"{}\"", name(block.norm.value)))
                .context(&spec.checkpoint.model_type.span, "the architecture fixes it, and no config states it")
                .help("follow the architecture")
                .patch(&block.norm.span, format!("\"{}\"", name(architecture.norm))),
            );
        }
    }
    for (_, MixerSpec::Gqa(gqa)) in &spec.mixers {
        formula("softmax_scale", &gqa.softmax_scale, architecture.softmax_scale, spec, diags);
        if gqa.sliding_window.value.is_some() && architecture.sliding_rope_theta.is_none() {
            diags.push(
                Diagnostic::new(
                    Id::ArchitectureMismatch,
                    format!("no layer of a `{}` checkpoint has a window", architecture.model_type),
                )
                .label(&gqa.sliding_window.span, "here one has")
                .context(&spec.checkpoint.model_type.span, "the architecture fixes it")
                .help("follow the architecture")
                .patch(&gqa.sliding_window.span, "\"none\""),
            );
        }
        fixed("interleaved", &gqa.rope.interleaved, architecture.rope_interleaved, diags);
        fixed("qk_norm", &gqa.qk_norm, architecture.qk_norm, diags);
        if let Bias::Fixed(value) = architecture.qkv_bias {
            fixed("attention_bias", &gqa.attention_bias, value, diags);
        }
        match architecture.output_bias {
            Bias::Fixed(value) => fixed("attention_output_bias", &gqa.attention_output_bias, value, diags),
            // One key of config.json states both.
            Bias::Config => {
                if gqa.attention_output_bias.value != gqa.attention_bias.value {
                    diags.push(
                        Diagnostic::new(Id::ArchitectureMismatch, "`attention_output_bias` differs from `attention_bias`")
                            .label(&gqa.attention_output_bias.span, "of o_proj")
                            .context(&gqa.attention_bias.span, "of q_proj, k_proj and v_proj")
                            .note(format!(
                                "one key of config.json, attention_bias, is about all four in `{}`",
                                architecture.model_type
                            ))
                            .help("follow `attention_bias`")
                            .patch(&gqa.attention_output_bias.span, gqa.attention_bias.value.to_string()),
                    );
                }
            }
        }
    }
    for (_, FfnSpec::GatedMlp { mlp_bias, hidden_act, .. }) in &spec.ffns {
        // config.json states the activation; a GGUF does not.
        if *spec.checkpoint.format == CheckpointFormat::Gguf && hidden_act.value != architecture.hidden_act {
            let act = architecture.hidden_act.as_str();
            diags.push(
                Diagnostic::new(
                    Id::ArchitectureMismatch,
                    format!("`hidden_act` is \"{act}\" in every `{}` GGUF", architecture.model_type),
                )
                .label(&hidden_act.span, format!("the spec says \"{}\"", hidden_act.value.as_str()))
                .context(&spec.checkpoint.model_type.span, "the architecture fixes it, and the file does not state it")
                .help("follow the architecture")
                .patch(&hidden_act.span, format!("\"{act}\"")),
            );
        }
        if let Bias::Fixed(value) = architecture.mlp_bias {
            fixed("mlp_bias", mlp_bias, value, diags);
        }
    }
}

/// An expression that the architecture fixes. What counts is the formula: a number that happens to be equal may differ in the
/// next checkpoint.
fn formula(what: &str, stated: &Spanned<Expr>, fixed: &str, spec: &ModelSpec, diags: &mut Diagnostics) {
    if stated.value.to_string() != fixed {
        diags.push(
            Diagnostic::new(
                Id::ArchitectureMismatch,
                format!("`{what}` is `{fixed}` in every `{}` checkpoint", spec.checkpoint.model_type.value),
            )
            .label(&stated.span, "the spec says otherwise")
            .context(&spec.checkpoint.model_type.span, "the architecture fixes it, and no config states it")
            .help("follow the architecture")
            .patch(&stated.span, format!("\"{fixed}\"")),
        );
    }
}

/// Collects the keys that a checkpoint's config must have. Two mixers that disagree about a key leave it unbound: then the
/// checkpoint is refused at load, because config.json has one value for all layers.
pub fn contract(
    spec: &ModelSpec,
    architecture: &Architecture,
    kinds: &[BlockKind],
    pattern: &[usize],
    diags: &mut Diagnostics,
) -> ConfigContract {
    let hf = *spec.checkpoint.format == CheckpointFormat::Hf;
    let mut keys = Keys::default();
    let table = &spec.model;
    keys.add("model_type", ConfigValue::Text(spec.checkpoint.model_type.value.clone()));
    keys.int("hidden_size", size(&table.hidden_size));
    keys.int("vocab_size", size(&table.vocab_size));
    keys.int("max_position_embeddings", size(&table.max_position_embeddings));
    keys.add("rms_norm_eps", ConfigValue::Float(*table.rms_norm_eps));
    keys.add("tie_word_embeddings", ConfigValue::Bool(*table.tie_word_embeddings));
    keys.int("num_hidden_layers", pattern.len());
    for kind in kinds {
        if let Some((_, Mixer::Gqa(gqa))) = &kind.mixer {
            keys.int("num_attention_heads", gqa.heads);
            keys.int("num_key_value_heads", gqa.kv_heads);
            keys.int("head_dim", gqa.head_dim);
            if hf && architecture.qkv_bias == Bias::Config {
                keys.add("attention_bias", ConfigValue::Bool(gqa.bias));
            }
            let theta = match (gqa.sliding_window, architecture.sliding_rope_theta) {
                (Some(_), Some(key)) => key,
                _ => "rope_theta",
            };
            keys.add(theta, ConfigValue::Float(gqa.rope.theta));
            if let Some(window) = gqa.sliding_window {
                keys.int("sliding_window", window);
            }
            if hf && let Some(scalar) = gqa.query_pre_attn_scalar {
                keys.int("query_pre_attn_scalar", scalar);
            }
            if hf {
                partial_rotary(&mut keys, gqa.rope.rotary_dim, gqa.head_dim);
            } else {
                keys.int("rotary_dim", gqa.rope.rotary_dim);
            }
            scaling(&mut keys, &gqa.rope.scaling);
        }
        if let Some((_, Ffn::GatedMlp { intermediate_size, bias, act })) = &kind.ffn {
            keys.int("intermediate_size", *intermediate_size);
            if hf {
                keys.add("hidden_act", ConfigValue::Text(act.as_str().to_owned()));
                if architecture.mlp_bias == Bias::Config {
                    keys.add("mlp_bias", ConfigValue::Bool(*bias));
                }
            }
        }
    }
    let mut ignored = Vec::new();
    if hf {
        for (key, implied) in architecture.implied {
            match implied {
                Implied::Absent => keys.add(key, ConfigValue::Absent),
                Implied::False => keys.add(key, ConfigValue::AbsentOr(Box::new(ConfigValue::Bool(false)))),
                Implied::LayerTypes => keys.add(key, ConfigValue::AbsentOr(Box::new(layer_types(kinds, pattern)))),
                Implied::Ignored(reason) => ignored.push(((*key).to_owned(), (*reason).to_owned())),
            }
        }
    }
    for (key, reason) in &spec.config_ignore {
        if keys.0.iter().any(|(k, _)| *k == key.value) {
            let message = format!("`{}` changes the output and cannot be ignored", key.value);
            let diagnostic = Diagnostic::new(Id::ConfigIgnoreBound, message);
            let diagnostic = match stated(spec, &key.value) {
                Some(place) => diagnostic.label(&key.span, "ignored").context(place, "the spec states it here"),
                None => diagnostic.label(&key.span, "the architecture fixes its value"),
            };
            diags.push(diagnostic.help("delete the entry: the checkpoint is compared with the spec"));
            continue;
        }
        ignored.push((key.value.clone(), reason.value.clone()));
    }
    ConfigContract { keys: keys.0.into_iter().filter(|(_, v)| *v != ConfigValue::Conflict).collect(), ignored }
}

/// What `layer_types` says of these layers; a list of equal names is one name, once per layer.
fn layer_types(kinds: &[BlockKind], pattern: &[usize]) -> ConfigValue {
    let name = |kind: usize| match &kinds[kind].mixer {
        Some((_, Mixer::Gqa(gqa))) if gqa.sliding_window.is_some() => "sliding_attention",
        _ => "full_attention",
    };
    let names: Vec<String> = pattern.iter().map(|kind| name(*kind).to_owned()).collect();
    match names.first() {
        Some(first) if names.iter().all(|n| n == first) => ConfigValue::Each(first.clone(), names.len()),
        _ => ConfigValue::List(names),
    }
}

/// The key of MODEL.toml that states a key of config.json.
fn stated<'s>(spec: &'s ModelSpec, key: &str) -> Option<&'s Span> {
    let model = &spec.model;
    let gqa = spec.mixers.first().map(|(_, MixerSpec::Gqa(gqa))| gqa);
    let ffn = spec.ffns.first().map(|(_, FfnSpec::GatedMlp { intermediate_size, hidden_act, mlp_bias })| {
        (&intermediate_size.key, &hidden_act.key, &mlp_bias.key)
    });
    Some(match key {
        "model_type" => &spec.checkpoint.model_type.key,
        "hidden_size" => &model.hidden_size.key,
        "vocab_size" => &model.vocab_size.key,
        "max_position_embeddings" => &model.max_position_embeddings.key,
        "rms_norm_eps" => &model.rms_norm_eps.key,
        "tie_word_embeddings" => &model.tie_word_embeddings.key,
        "num_hidden_layers" => &spec.layers.num_hidden_layers.key,
        "num_attention_heads" => &gqa?.num_attention_heads.key,
        "num_key_value_heads" => &gqa?.num_key_value_heads.key,
        "head_dim" => &gqa?.head_dim.key,
        "attention_bias" => &gqa?.attention_bias.key,
        "rope_theta" => &gqa?.rope.rope_theta.key,
        "rotary_dim" | "partial_rotary_factor" => &gqa?.rope.rotary_dim.key,
        "rope_type" | "factor" | "low_freq_factor" | "high_freq_factor" | "original_max_position_embeddings" => {
            &gqa?.rope.scaling.key
        }
        "intermediate_size" => ffn?.0,
        "hidden_act" => ffn?.1,
        "mlp_bias" => ffn?.2,
        _ => return None,
    })
}

#[derive(Default)]
struct Keys(Vec<(String, ConfigValue)>);

impl Keys {
    fn add(&mut self, key: &str, value: ConfigValue) {
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, known)) if *known != value => *known = ConfigValue::Conflict,
            Some(_) => {}
            None => self.0.push((key.to_owned(), value)),
        }
    }

    fn int(&mut self, key: &str, value: usize) {
        self.add(key, ConfigValue::Int(value as u64));
    }
}

/// `partial_rotary_factor` is 1 where it is not given.
fn partial_rotary(keys: &mut Keys, rotary_dim: usize, head_dim: usize) {
    if rotary_dim == head_dim {
        keys.add("partial_rotary_factor", ConfigValue::AbsentOr(Box::new(ConfigValue::Float(1.0))));
    } else {
        keys.add("partial_rotary_factor", ConfigValue::Float(rotary_dim as f64 / head_dim as f64));
    }
}

fn scaling(keys: &mut Keys, scaling: &RopeScaling) {
    match scaling {
        RopeScaling::Default => {
            keys.add("rope_type", ConfigValue::Text("default".to_owned()));
            for key in ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"] {
                keys.add(key, ConfigValue::Absent);
            }
        }
        RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
            keys.add("rope_type", ConfigValue::Text("llama3".to_owned()));
            keys.add("factor", ConfigValue::Float(*factor));
            keys.add("low_freq_factor", ConfigValue::Float(*low_freq_factor));
            keys.add("high_freq_factor", ConfigValue::Float(*high_freq_factor));
            keys.int("original_max_position_embeddings", *original_max_position_embeddings);
        }
    }
}
