//! The body of `/v1/completions`.

use serde_json::{Value, json};

use super::{Delivery, params};
use crate::serve::Served;
use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::request::{GenerateRequest, Prompt};

/// Tokens of an answer whose request states none, as the API documents it.
const DEFAULT_MAX_TOKENS: usize = 16;
/// Most alternatives of a token.
const MAX_LOGPROBS: i128 = 5;

/// Reads a body for the model that is served: a request for each of its prompts, whose answers together find room among the places.
pub(in crate::serve) fn read(body: Value, served: &Served, room: usize) -> Result<(Vec<GenerateRequest>, Delivery), ApiError> {
    let mut fields = Fields::new(body, "")?;
    params::model(&mut fields, &served.name)?;
    let prompts = prompts(fields.required("prompt")?)?;
    let n = params::n(&mut fields)?;
    if prompts.is_empty() {
        return Err(ApiError::field("invalid_value", "prompt", "`prompt` is empty, and needs at least one prompt"));
    }
    // Before anything is copied for each prompt.
    let answers = prompts.len().saturating_mul(n);
    if answers > room {
        return Err(ApiError::too_many(if prompts.len() > 1 { "prompt" } else { "n" }, answers, room));
    }
    let request = GenerateRequest {
        max_tokens: Some(params::tokens(&mut fields, "max_tokens")?.unwrap_or(DEFAULT_MAX_TOKENS)),
        sampling: params::sampling(&mut fields, served)?,
        stop: params::stop(&mut fields)?,
        logprobs: fields.integer("logprobs", 0..=MAX_LOGPROBS)?.map(|top| top as usize),
        n,
        timeout: params::timeout(&mut fields)?,
        ..GenerateRequest::new(Prompt::Tokens(Vec::new()))
    };
    let delivery = params::delivery(&mut fields)?;
    params::labels(&mut fields)?;
    // As many as are asked for leave nothing to choose from.
    fields.unsupported("best_of", &[json!(n)])?;
    fields.unsupported("echo", &[json!(false)])?;
    fields.unsupported("suffix", &[])?;
    fields.finish()?;
    let each = prompts.into_iter().map(|prompt| GenerateRequest { prompt, ..request.clone() });
    Ok((each.collect(), delivery))
}

/// Reads a body whose prompt is to be shown.
pub(in crate::serve) fn read_to_render(body: Value, served: &Served) -> Result<Prompt, ApiError> {
    let (requests, _) = read(body, served, usize::MAX)?;
    let count = requests.len();
    match <[GenerateRequest; 1]>::try_from(requests) {
        Ok([request]) => Ok(request.prompt),
        Err(_) => {
            let message = format!("`prompt` has {count} prompts, and one is shown at a time");
            Err(ApiError::field("unsupported_value", "prompt", message))
        }
    }
}

/// A text or token ids, or a list of such prompts.
fn prompts(value: Value) -> Result<Vec<Prompt>, ApiError> {
    let list = match value {
        Value::String(text) => return Ok(vec![Prompt::Text(text)]),
        Value::Array(list) => list,
        other => return Err(wrong_type("prompt", "a string, an array of token ids, or an array of those", &other)),
    };
    if list.first().is_some_and(Value::is_number) {
        return token_ids(&list, "prompt").map(|prompt| vec![prompt]);
    }
    let one = |(i, value): (usize, Value)| match value {
        Value::String(text) => Ok(Prompt::Text(text)),
        Value::Array(ids) => token_ids(&ids, &format!("prompt[{i}]")),
        other => Err(wrong_type(&format!("prompt[{i}]"), "a string or an array of token ids", &other)),
    };
    list.into_iter().enumerate().map(one).collect()
}

fn token_ids(list: &[Value], at: &str) -> Result<Prompt, ApiError> {
    let id = |(i, value): (usize, &Value)| {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| wrong_type(&format!("{at}[{i}]"), "a token id", value))
    };
    list.iter().enumerate().map(id).collect::<Result<_, _>>().map(Prompt::Tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::testing::served;

    fn with(key: &str, value: Value) -> Result<Vec<GenerateRequest>, ApiError> {
        let mut body = json!({"model": "m", "prompt": "Hi"});
        body[key] = value;
        read(body, &served(), usize::MAX).map(|(requests, _)| requests)
    }

    #[test]
    fn prompts_are_texts_or_ids_one_or_several() {
        let text = |text: &str| Prompt::Text(text.into());
        for (value, prompts) in [
            (json!("Hi"), vec![text("Hi")]),
            (json!(["Hi"]), vec![text("Hi")]),
            (json!(["a", "b"]), vec![text("a"), text("b")]),
            (json!([5, 6]), vec![Prompt::Tokens(vec![5, 6])]),
            (json!([[5, 6]]), vec![Prompt::Tokens(vec![5, 6])]),
            (json!([[5], [6]]), vec![Prompt::Tokens(vec![5]), Prompt::Tokens(vec![6])]),
            (json!([[]]), vec![Prompt::Tokens(vec![])]),
        ] {
            let read: Vec<Prompt> = with("prompt", value).unwrap().into_iter().map(|request| request.prompt).collect();
            assert_eq!(read, prompts);
        }
        for (value, param, said) in [
            (json!([]), "prompt", "at least one"),
            (json!([1, "a"]), "prompt[1]", "token id"),
            (json!([-1]), "prompt[0]", "-1"),
            (json!([[1, 4_294_967_296u64]]), "prompt[0][1]", "4294967296"),
            (json!([null]), "prompt[0]", "null"),
            (json!(["a", 1]), "prompt[1]", "the number 1"),
            (json!({}), "prompt", "an object"),
            (json!(null), "prompt", "missing"),
        ] {
            let error = with("prompt", value.clone()).unwrap_err();
            assert_eq!(error.param.as_deref(), Some(param), "{value}");
            assert!(error.message.contains(said), "{}", error.message);
        }
    }

    #[test]
    fn defaults_are_those_of_the_api() {
        let request = with("logprobs", json!(0)).unwrap().remove(0);
        assert_eq!((request.max_tokens, request.logprobs), (Some(16), Some(0)));
        assert_eq!(with("max_tokens", json!(3)).unwrap()[0].max_tokens, Some(3));
    }

    #[test]
    fn what_is_not_done_is_refused_by_name() {
        for (key, value) in [
            ("echo", json!(true)),
            ("suffix", json!("x")),
            ("best_of", json!(2)),
            ("logprobs", json!(6)),
            ("logprobs", json!(true)),
            ("frequency_penalty", json!(100.0)),
            ("messages", json!([])),
            ("max_completion_tokens", json!(3)),
        ] {
            assert_eq!(with(key, value).unwrap_err().param.as_deref(), Some(key));
        }
        for (key, value) in
            [("echo", json!(false)), ("suffix", json!(null)), ("best_of", json!(1)), ("n", json!(2)), ("user", json!("u"))]
        {
            assert!(with(key, value).is_ok());
        }
    }
}
