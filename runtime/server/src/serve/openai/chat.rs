//! The body of `/v1/chat/completions`.

use serde_json::{Value, json};

use super::{Delivery, format, messages, params, reasoning, tools};
use crate::serve::Served;
use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::request::{Chat, GenerateRequest, Prompt};

/// Most alternatives of a token.
const MAX_TOP_LOGPROBS: i128 = 20;

/// Reads a body for the model that is served.
pub(in crate::serve) fn read(body: Value, served: &Served) -> Result<(GenerateRequest, Delivery), ApiError> {
    let mut fields = Fields::new(body, "")?;
    params::model(&mut fields, &served.name)?;
    let chat = conversation(&mut fields, served)?;
    let request = GenerateRequest {
        max_tokens: max_tokens(&mut fields)?,
        sampling: params::sampling(&mut fields, served)?,
        stop: params::stop(&mut fields)?,
        logprobs: logprobs(&mut fields)?,
        n: params::n(&mut fields)?,
        output: format::read(&mut fields)?,
        timeout: params::timeout(&mut fields)?,
        ..GenerateRequest::new(Prompt::Chat(chat))
    };
    let delivery = params::delivery(&mut fields)?;
    params::labels(&mut fields)?;
    metadata(&mut fields)?;
    not_implemented(&mut fields)?;
    fields.finish()?;
    Ok((request, delivery))
}

/// What the prompt is made of, which `/tokenize` reads too.
pub(in crate::serve) fn conversation(fields: &mut Fields, served: &Served) -> Result<Chat, ApiError> {
    let messages = messages::read(fields.required("messages")?)?;
    let mut chat = Chat { tools: tools::read(fields)?, ..Chat::new(messages) };
    reasoning::read(fields, served, &mut chat)?;
    Ok(chat)
}

/// `max_completion_tokens`, or `max_tokens` as it was called before.
fn max_tokens(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    let old = params::tokens(fields, "max_tokens")?;
    let new = params::tokens(fields, "max_completion_tokens")?;
    match (old, new) {
        (Some(old), Some(new)) if old != new => {
            let message = format!("`max_tokens` is {old} and `max_completion_tokens` is {new}: they mean the same, so give one");
            Err(ApiError::field("invalid_value", "max_tokens", message))
        }
        _ => Ok(new.or(old)),
    }
}

fn logprobs(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    let wanted = fields.boolean("logprobs")?.unwrap_or(false);
    let top = fields.integer("top_logprobs", 0..=MAX_TOP_LOGPROBS)?.unwrap_or(0);
    if top > 0 && !wanted {
        let message = format!("`top_logprobs` is {top}, which needs `logprobs` to be true");
        return Err(ApiError::field("invalid_value", "top_logprobs", message));
    }
    Ok(wanted.then_some(top as usize))
}

/// `metadata`: labels in pairs.
fn metadata(fields: &mut Fields) -> Result<(), ApiError> {
    match fields.take("metadata") {
        None => Ok(()),
        Some(Value::Object(labels)) => match labels.iter().find(|(_, label)| !label.is_string()) {
            None => Ok(()),
            Some((key, label)) => Err(wrong_type(&format!("metadata.{key}"), "a string", label)),
        },
        Some(other) => Err(wrong_type("metadata", "an object", &other)),
    }
}

/// Documented fields that are not implemented, with the values that ask for nothing.
fn not_implemented(fields: &mut Fields) -> Result<(), ApiError> {
    fields.unsupported("functions", &[json!([])])?;
    fields.unsupported("function_call", &[json!("none")])?;
    fields.unsupported("modalities", &[json!(["text"])])?;
    fields.unsupported("service_tier", &[json!("auto"), json!("default")])?;
    fields.unsupported("store", &[json!(false)])?;
    for key in ["audio", "prediction", "verbosity", "web_search_options", "prompt_cache_retention"] {
        fields.unsupported(key, &[])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::request::{OutputShape, Sampling};
    use crate::serve::testing::served;

    fn body(more: Value) -> Value {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    }

    fn accepted(more: Value) -> (GenerateRequest, Delivery) {
        read(body(more.clone()), &served()).unwrap_or_else(|error| panic!("{more}: {error:?}"))
    }

    fn refused(more: Value) -> (String, &'static str, String) {
        let error = read(body(more.clone()), &served()).expect_err(&more.to_string());
        (error.param.unwrap_or_default(), error.code, error.message)
    }

    #[test]
    fn a_plain_request_leaves_everything_open() {
        let (request, delivery) = accepted(json!({}));
        let chat = Chat::new(vec![json!({"role": "user", "content": "Hi"})]);
        let expected = GenerateRequest::new(Prompt::Chat(chat));
        assert_eq!((request, delivery), (expected, Delivery::default()));
    }

    #[test]
    fn every_parameter_arrives() {
        let (request, delivery) = accepted(json!({
            "temperature": 0.5, "top_p": 1, "top_k": 3, "min_p": 0.25, "seed": -1, "max_completion_tokens": 9, "stop": ["a", "b"],
            "frequency_penalty": -2, "presence_penalty": 2.0, "repetition_penalty": 1.5, "logit_bias": {"0": -100, "1": 0.5},
            "logprobs": true, "top_logprobs": 2, "stream": true, "stream_options": {"include_usage": true}, "n": 3,
            "response_format": {"type": "json_object"},
        }));
        let sampling = Sampling {
            temperature: Some(0.5),
            top_p: Some(1.0),
            top_k: Some(3),
            min_p: Some(0.25),
            frequency_penalty: Some(-2.0),
            presence_penalty: Some(2.0),
            repetition_penalty: Some(1.5),
            logit_bias: vec![(0, -100.0), (1, 0.5)],
            seed: Some(u64::MAX),
        };
        assert_eq!(request.sampling, sampling);
        assert_eq!((request.n, request.output), (3, OutputShape::JsonObject));
        assert_eq!((request.max_tokens, request.stop, request.logprobs), (Some(9), vec!["a".into(), "b".into()], Some(2)));
        assert_eq!(delivery, Delivery { stream: true, include_usage: true });
        assert_eq!(accepted(json!({"logprobs": true})).0.logprobs, Some(0));
        assert_eq!(accepted(json!({"stop": "x"})).0.stop, ["x"]);
    }

    #[test]
    fn values_that_ask_for_nothing_pass() {
        accepted(json!({
            "n": 1, "frequency_penalty": 0, "presence_penalty": 0.0, "logit_bias": {}, "user": "u", "tools": [], "tool_choice": "none",
            "response_format": {"type": "text"}, "store": false, "service_tier": "auto", "parallel_tool_calls": true,
            "reasoning_effort": "none", "chat_template_kwargs": {}, "add_generation_prompt": true, "metadata": {"a": "b"},
            "top_logprobs": 0, "logprobs": false, "stop": null, "max_tokens": 4, "max_completion_tokens": 4, "audio": null,
        }));
    }

    #[test]
    fn values_out_of_range_are_named_with_the_value() {
        for (more, param, said) in [
            (json!({"max_tokens": -7}), "max_tokens", "-7"),
            (json!({"max_completion_tokens": 0}), "max_completion_tokens", "0"),
            (json!({"max_tokens": 3, "max_completion_tokens": 4}), "max_tokens", "max_completion_tokens"),
            (json!({"max_tokens": 1.5}), "max_tokens", "1.5"),
            (json!({"temperature": 2.5}), "temperature", "2.5"),
            (json!({"temperature": "nan"}), "temperature", "string"),
            (json!({"top_p": -0.1}), "top_p", "-0.1"),
            (json!({"top_k": -1}), "top_k", "-1"),
            (json!({"seed": "abc"}), "seed", "string"),
            (json!({"stop": [""]}), "stop[0]", "empty"),
            (json!({"stop": ""}), "stop", "empty"),
            (json!({"stop": ["a", "b", "c", "d", "e"]}), "stop", "5"),
            (json!({"stop": ["a", 1]}), "stop[1]", "1"),
            (json!({"stop": 7}), "stop", "7"),
            (json!({"top_logprobs": 3}), "top_logprobs", "logprobs"),
            (json!({"logprobs": true, "top_logprobs": 100_000}), "top_logprobs", "100000"),
            (json!({"logprobs": 3}), "logprobs", "3"),
            (json!({"stream": "yes"}), "stream", "string"),
            (json!({"stream_options": {"include_usage": true}}), "stream_options", "stream"),
            (
                json!({"stream": true, "stream_options": {"include_usages": true}}),
                "stream_options.include_usages",
                "include_usages",
            ),
            (json!({"frequency_penalty": 100.0}), "frequency_penalty", "100"),
            (json!({"min_p": 1.5}), "min_p", "1.5"),
            (json!({"repetition_penalty": 0}), "repetition_penalty", "0"),
            (json!({"logit_bias": [1]}), "logit_bias", "array"),
            (json!({"logit_bias": {"1000000000": 5}}), "logit_bias.1000000000", "1000000000"),
            (json!({"logit_bias": {"2": 5}}), "logit_bias.2", "0 to 1"),
            (json!({"logit_bias": {"01": 5}}), "logit_bias.01", "01"),
            (json!({"logit_bias": {"a": 5}}), "logit_bias.a", "token ids"),
            (json!({"logit_bias": {"1": 101}}), "logit_bias.1", "101"),
            (json!({"n": 0}), "n", "0"),
            (json!({"n": 129}), "n", "128"),
            (json!({"metadata": {"a": 1}}), "metadata.a", "string"),
            (json!({"chat_template_kwargs": []}), "chat_template_kwargs", "array"),
            (json!({"chat_template_kwargs": {"tools": []}}), "chat_template_kwargs.tools", "tools"),
            (json!({"continue_final_message": true}), "continue_final_message", "assistant"),
            (
                json!({"continue_final_message": true, "add_generation_prompt": true}),
                "continue_final_message",
                "add_generation_prompt",
            ),
            (json!({"reasoning_effort": "low"}), "reasoning_effort", "does not reason"),
            (json!({"user": 1}), "user", "1"),
        ] {
            let (found, _, message) = refused(more.clone());
            assert_eq!(found, param, "{more}");
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn what_is_not_implemented_and_what_does_not_exist_is_refused_by_name() {
        for (more, param) in [
            (json!({"store": true}), "store"),
            (json!({"functions": [{"name": "f"}]}), "functions"),
            (json!({"function_call": "auto"}), "function_call"),
            (json!({"verbosity": "low"}), "verbosity"),
            (json!({"modalities": ["text", "audio"]}), "modalities"),
        ] {
            let (found, code, _) = refused(more.clone());
            assert_eq!((found.as_str(), code), (param, "unsupported_parameter"), "{more}");
        }
        let (param, code, _) = refused(json!({"top_pp": 0.1}));
        assert_eq!((param.as_str(), code), ("top_pp", "unknown_parameter"));
    }

    #[test]
    fn a_template_is_told_what_it_is_to_be_told() {
        let chat = |more: Value| match accepted(more).0.prompt {
            Prompt::Chat(chat) => chat,
            other => panic!("{other:?}"),
        };
        let kwargs = chat(json!({"chat_template_kwargs": {"enable_thinking": false}}));
        assert_eq!(Value::Object(kwargs.variables), json!({"enable_thinking": false}));
        assert!(kwargs.add_generation_prompt && !kwargs.continue_final_message);
        let messages = json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]);
        let continued = chat(json!({"messages": messages, "continue_final_message": true}));
        assert!(continued.continue_final_message && !continued.add_generation_prompt);
        assert!(!chat(json!({"add_generation_prompt": false})).add_generation_prompt);
    }

    #[test]
    fn the_model_and_the_messages_must_be_there() {
        let param = |body: Value| read(body, &served()).unwrap_err().param.unwrap();
        assert_eq!(param(json!({"messages": []})), "model");
        assert_eq!(param(json!({"model": 3})), "model");
        assert_eq!(param(json!({"model": "m"})), "messages");
        assert_eq!(param(json!({"model": "m", "messages": "Hi"})), "messages");
        let unknown = read(json!({"model": "gpt"}), &served()).unwrap_err();
        assert_eq!((unknown.status.as_u16(), unknown.code), (404, "model_not_found"));
    }
}
