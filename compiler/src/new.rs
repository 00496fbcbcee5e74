//! `tenon new`: a MODEL.toml from what a checkpoint says.
//!
//! ```text
//! config.json, params.json, GGUF  ->  CanonicalConfig, tensors  ->  Description  ->  text
//! ```
//! Each key of the config is bound, ignored with a reason or refused. What nothing says is the text `TODO`, which `check` refuses;
//! what the checkpoint leaves to the class of its `model_type` has a comment that says so.

mod ask;
mod class;
pub mod description;
mod ffns;
mod layers;
mod mixers;
#[cfg(test)]
mod tests;
mod text;
mod weights;

use serde_json::Value;
use tenon_formats::CanonicalConfig;
use tenon_formats::chat::{Detected, TemplateSource, detect};
use tenon_formats::tools::Settings;

use ask::Ask;
pub use ask::Refusal;
use description::{ChatPart, CheckpointPart, Description, Ffn, Format, ModelPart, Noted, Sampling, ScalesPart};

/// A checkpoint, as far as its small files and headers say what it is.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// How it is stored.
    pub format: Format,
    /// Its config.
    pub config: CanonicalConfig,
    /// Its tensors; `None` where neither an index nor a file that holds any is there.
    pub tensors: Option<Vec<Tensor>>,
    /// Its chat template.
    pub template: Option<TemplateSource>,
    /// generation_config.json.
    pub generation: Option<Value>,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// How it is stored, in lower case, where its file is there.
    pub format: Option<String>,
    /// Its shape, where its file is there.
    pub shape: Option<Vec<usize>>,
}

/// A MODEL.toml.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The file.
    pub text: String,
    /// Keys whose value is `TODO`.
    pub todo: Vec<String>,
}

/// Whether a model may be called so: the name of a folder on every system.
pub fn is_name(name: &str) -> bool {
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    !name.is_empty() && name.chars().all(legal) && name.chars().any(|c| c != '.')
}

/// Writes a MODEL.toml for a checkpoint.
///
/// # Errors
/// Everything that the checkpoint asks for and that there is not.
pub fn draft(name: &str, checkpoint: &Checkpoint) -> Result<Draft, Vec<Refusal>> {
    let description = describe(name, checkpoint)?;
    let (text, todo) = text::write(&description);
    Ok(Draft { text, todo })
}

/// The description of a checkpoint.
///
/// # Errors
/// As [`draft`].
pub fn describe(name: &str, checkpoint: &Checkpoint) -> Result<Description, Vec<Refusal>> {
    let Checkpoint { format, config, .. } = checkpoint;
    let ask = Ask::new(config);
    ask.get("model_type");
    let model_type = config.model_type();
    let Some(class) = class::find(model_type, *format) else {
        let known = class::known(*format).join(", ");
        let what = if *format == Format::Gguf { "GGUF files of this architecture" } else { "models of this type" };
        ask.refuse("model_type", format!("it is `{}`, and {what} are not supported; known are {known}", ask::short(model_type)));
        return Err(ask.into_refusals());
    };
    let Some(layers) = layers::layers(&ask, class, *format) else { return Err(ask.into_refusals()) };
    let model = model(&ask, class, name);
    let mixers = layers.mixers.iter().map(|&(name, kind)| (name, mixers::mixer(&ask, class, *format, kind))).collect();
    let ffns: Vec<(&str, Ffn)> = layers.ffns.iter().map(|&(name, kind)| (name, ffns::ffn(&ask, kind))).collect();
    let count = layers.part.num_hidden_layers.value.unwrap_or_default();
    let experts = ffns.iter().any(|(_, ffn)| matches!(ffn, Ffn::Moe(_)));
    let weights = weights::weights(&ask, class, checkpoint, count, experts);
    let config_ignore = ask.rest(class);
    let description = Description {
        model,
        checkpoint: source(name, &ask, *format, model_type),
        layers: layers.part,
        mixers,
        ffns,
        weights,
        config_ignore,
        chat: chat(checkpoint.template.as_ref()),
        sampling: sampling(checkpoint.generation.as_ref()),
    };
    let refusals = ask.into_refusals();
    if refusals.is_empty() { Ok(description) } else { Err(refusals) }
}

fn model(ask: &Ask<'_>, class: &class::Class, name: &str) -> ModelPart {
    let cap = ask.float_or_none("final_logit_softcapping");
    ModelPart {
        name: name.to_owned(),
        hidden_size: ask.int("hidden_size"),
        vocab_size: ask.int("vocab_size"),
        max_position_embeddings: ask.int("max_position_embeddings"),
        rms_norm_eps: ask.float("rms_norm_eps"),
        tie_word_embeddings: ask.bool("tie_word_embeddings"),
        rms_norm_unit_offset: class.rms_norm_unit_offset,
        embedding_scale: class.embedding_scale,
        final_logit_softcapping: cap.value.flatten().map(|value| Noted { value: Some(value), note: cap.note }),
        scales: (class.embedding_scale == "scale_emb").then(|| ScalesPart {
            scale_emb: ask.float("scale_emb"),
            scale_depth: ask.float("scale_depth"),
            dim_model_base: ask.int("dim_model_base"),
        }),
    }
}

/// A config rarely says where it is published: a folder of a cache is no source, and then the model's own name stands there, which
/// is all that messages need.
fn source(name: &str, ask: &Ask<'_>, format: Format, model_type: &str) -> CheckpointPart {
    let is_repository = |text: &&str| text.split('/').count() == 2 && text.split('/').all(is_name);
    let published = ask.config.text("_name_or_path").filter(is_repository).map(str::to_owned);
    let pull = published.clone().filter(|_| format != Format::Gguf);
    let unknown =
        || Noted { value: Some(name.to_owned()), note: Some("not stated; where it is published, as owner/name".to_owned()) };
    let source = published.map_or_else(unknown, Noted::sure);
    CheckpointPart { source, format, model_type: model_type.to_owned(), pull }
}

/// The chat template, and the parsers of what it teaches.
fn chat(template: Option<&TemplateSource>) -> ChatPart {
    let Some(template) = template else {
        return ChatPart { template: Noted::sure("none"), settings: Settings::default(), why_no_tools: None };
    };
    let Detected { settings, declares_tools, faults } = detect(template);
    let note = faults.first().map(|fault| format!("it cannot be used as it is: {fault}"));
    let why_no_tools = match (settings.tools, declares_tools) {
        (None, true) => Some("the chat template teaches a format that no parser of this version reads"),
        (None, false) if faults.is_empty() => Some("the chat template declares no tools"),
        _ => None,
    };
    ChatPart { template: Noted { value: Some("checkpoint"), note }, settings, why_no_tools }
}

/// generation_config.json leaves out what is 1, and 50 for `top_k`.
fn sampling(generation: Option<&Value>) -> Sampling {
    let Some(generation) = generation else {
        // What the model itself predicts, unchanged.
        let note = "there is no generation_config.json: the model's own distribution";
        return Sampling {
            temperature: Noted { value: Some(1.0), note: Some(note.to_owned()) },
            top_p: Noted::sure(1.0),
            top_k: Noted::sure(0),
        };
    };
    let number = |key: &str| generation.get(key).and_then(Value::as_f64).filter(|v| (0.0..=1e9).contains(v));
    let or = |key: &str, default: f64| match number(key) {
        Some(value) => Noted::sure(value),
        None => Noted { value: Some(default), note: Some("default of generation_config.json".to_owned()) },
    };
    let greedy = generation.get("do_sample").and_then(Value::as_bool) == Some(false) && number("temperature").is_none();
    Sampling {
        temperature: if greedy { Noted::sure(0.0) } else { or("temperature", 1.0) },
        top_p: or("top_p", 1.0),
        top_k: or("top_k", 50.0).map(|k| k as u64),
    }
}
