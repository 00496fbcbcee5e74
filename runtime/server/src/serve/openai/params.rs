//! The parameters that both routes have.

use std::time::Duration;

use serde_json::{Value, json};

use super::Delivery;
use crate::serve::Served;
use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::request::Sampling;

/// Most stop sequences of a request.
const MAX_STOPS: usize = 4;
/// Most answers to a prompt, as the API documents it.
const MAX_CHOICES: i128 = 128;
/// Logits are divided by it, so that 0 is none.
const MIN_REPETITION: f64 = 0.01;
const MAX_REPETITION: f64 = 100.0;

/// The model's name, which must be the one that is served.
pub(in crate::serve) fn model(fields: &mut Fields, served: &str) -> Result<(), ApiError> {
    let model = fields.required_string("model")?;
    if model == served { Ok(()) } else { Err(ApiError::model(&model, served)) }
}

/// How tokens are chosen. `top_k`, `min_p` and `repetition_penalty` are not OpenAI's, but other servers' of this API; many models' specs
/// state some, and a request must be able to lift them.
pub(super) fn sampling(fields: &mut Fields, served: &Served) -> Result<Sampling, ApiError> {
    Ok(Sampling {
        temperature: fields.number("temperature", 0.0..=2.0)?,
        top_p: fields.number("top_p", 0.0..=1.0)?,
        top_k: fields.integer("top_k", 0..=u32::MAX.into())?.map(|k| k as u32),
        min_p: fields.number("min_p", 0.0..=1.0)?,
        frequency_penalty: fields.number("frequency_penalty", -2.0..=2.0)?,
        presence_penalty: fields.number("presence_penalty", -2.0..=2.0)?,
        repetition_penalty: fields.number("repetition_penalty", MIN_REPETITION..=MAX_REPETITION)?,
        logit_bias: logit_bias(fields, served)?,
        // A signed 64-bit number in the API's description; the bits are what counts.
        seed: fields.integer("seed", i64::MIN.into()..=u64::MAX.into())?.map(|seed| seed as u64),
    })
}

/// `logit_bias`: an object from token ids, which JSON can only have as texts, to numbers.
fn logit_bias(fields: &mut Fields, served: &Served) -> Result<Vec<(u32, f32)>, ApiError> {
    let name = fields.name("logit_bias");
    let biases = match fields.take("logit_bias") {
        None => return Ok(Vec::new()),
        Some(Value::Object(biases)) => biases,
        Some(other) => return Err(wrong_type(&name, "an object from token ids to numbers", &other)),
    };
    let ids: Vec<String> = biases.keys().cloned().collect();
    let mut biases = Fields::new(Value::Object(biases), &*name)?;
    let vocab_size = served.tokenizer.vocab_size();
    let mut read = Vec::with_capacity(ids.len());
    for key in ids {
        // Only the plain spelling, so that no id stands twice.
        let id = key.parse::<u32>().ok().filter(|id| id.to_string() == key);
        let Some(id) = id.filter(|&id| served.tokenizer.bytes(id).is_some()) else {
            let message = format!("`{name}` names `{key}`, and token ids are the numbers from 0 to {}", vocab_size - 1);
            return Err(ApiError::field("invalid_value", biases.name(&key), message));
        };
        let bias = biases.number(&key, -100.0..=100.0)?;
        read.extend(bias.map(|bias| (id, bias as f32)));
    }
    Ok(read)
}

/// `n`: answers to each prompt.
pub(super) fn n(fields: &mut Fields) -> Result<usize, ApiError> {
    Ok(fields.integer("n", 1..=MAX_CHOICES)?.map_or(1, |n| n as usize))
}

/// A number of tokens to generate.
pub(super) fn tokens(fields: &mut Fields, key: &str) -> Result<Option<usize>, ApiError> {
    Ok(fields.integer(key, 1..=u32::MAX.into())?.map(|tokens| tokens as usize))
}

/// `timeout`: seconds for which a request may wait and compute. No field of the APIs; other servers have it.
pub(in crate::serve) fn timeout(fields: &mut Fields) -> Result<Option<Duration>, ApiError> {
    Ok(fields.number("timeout", 0.001..=31_536_000.0)?.map(Duration::from_secs_f64))
}

/// `stop`: one sequence or up to four.
pub(super) fn stop(fields: &mut Fields) -> Result<Vec<String>, ApiError> {
    let stops = match fields.take("stop") {
        None => return Ok(Vec::new()),
        Some(Value::String(stop)) => return non_empty("stop", stop).map(|stop| vec![stop]),
        Some(Value::Array(stops)) => stops,
        Some(other) => return Err(wrong_type("stop", "a string or an array of strings", &other)),
    };
    if stops.len() > MAX_STOPS {
        let message = format!("`stop` has {} sequences, and may have at most {MAX_STOPS}", stops.len());
        return Err(ApiError::field("invalid_value", "stop", message));
    }
    let one = |(i, stop)| match stop {
        Value::String(stop) => non_empty(&format!("stop[{i}]"), stop),
        other => Err(wrong_type(&format!("stop[{i}]"), "a string", &other)),
    };
    stops.into_iter().enumerate().map(one).collect()
}

fn non_empty(name: &str, stop: String) -> Result<String, ApiError> {
    if stop.is_empty() {
        return Err(ApiError::field("invalid_value", name, format!("`{name}` is empty, and every answer would end at once")));
    }
    Ok(stop)
}

/// `stream` and `stream_options`.
pub(super) fn delivery(fields: &mut Fields) -> Result<Delivery, ApiError> {
    let stream = fields.boolean("stream")?.unwrap_or(false);
    let Some(options) = fields.take("stream_options") else { return Ok(Delivery { stream, include_usage: false }) };
    if !stream {
        let message = "`stream_options` is only allowed when `stream` is true";
        return Err(ApiError::field("invalid_value", "stream_options", message));
    }
    let mut options = Fields::new(options, "stream_options")?;
    let include_usage = options.boolean("include_usage")?.unwrap_or(false);
    options.unsupported("include_obfuscation", &[json!(false)])?;
    options.finish()?;
    Ok(Delivery { stream, include_usage })
}

/// Labels for the operator's books, which ask for nothing.
pub(super) fn labels(fields: &mut Fields) -> Result<(), ApiError> {
    for label in ["user", "safety_identifier", "prompt_cache_key"] {
        fields.string(label)?;
    }
    Ok(())
}
