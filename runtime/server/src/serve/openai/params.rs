//! The parameters that both routes have.

use serde_json::{Value, json};

use super::Delivery;
use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::request::Sampling;

/// Most stop sequences of a request.
const MAX_STOPS: usize = 4;

/// The model's name, which must be the one that is served.
pub(super) fn model(fields: &mut Fields, served: &str) -> Result<(), ApiError> {
    let model = fields.required_string("model")?;
    if model == served { Ok(()) } else { Err(ApiError::model(&model, served)) }
}

/// `temperature`, `top_p`, `top_k` (not OpenAI's, but many models' specs state one, and a request must be able to lift it), `seed`.
pub(super) fn sampling(fields: &mut Fields) -> Result<Sampling, ApiError> {
    Ok(Sampling {
        temperature: fields.number("temperature", 0.0..=2.0)?,
        top_p: fields.number("top_p", 0.0..=1.0)?,
        top_k: fields.integer("top_k", 0..=u32::MAX.into())?.map(|k| k as u32),
        // A signed 64-bit number in the API's description; the bits are what counts.
        seed: fields.integer("seed", i64::MIN.into()..=u64::MAX.into())?.map(|seed| seed as u64),
        ..Sampling::default()
    })
}

/// A number of tokens to generate.
pub(super) fn tokens(fields: &mut Fields, key: &str) -> Result<Option<usize>, ApiError> {
    Ok(fields.integer(key, 1..=u32::MAX.into())?.map(|tokens| tokens as usize))
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

/// Documented fields of both routes that are not implemented, with the values that ask for nothing; and labels for the operator's
/// books, which ask for nothing either.
pub(super) fn not_implemented(fields: &mut Fields) -> Result<(), ApiError> {
    for penalty in ["frequency_penalty", "presence_penalty"] {
        if fields.number(penalty, -2.0..=2.0)?.is_some_and(|value| value != 0.0) {
            let message = format!("`{penalty}` is not supported by this server (only `0` is accepted)");
            return Err(ApiError::field("unsupported_parameter", penalty, message));
        }
    }
    fields.unsupported("n", &[json!(1)])?;
    fields.unsupported("logit_bias", &[json!({})])?;
    for label in ["user", "safety_identifier", "prompt_cache_key"] {
        fields.string(label)?;
    }
    Ok(())
}
