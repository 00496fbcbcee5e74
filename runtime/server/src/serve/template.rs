//! A request for a template that stands alone, as for transformers' `apply_chat_template`: no spec says how tools are declared, and
//! every message reaches the template as it is.

use serde_json::{Map, Value};

use super::error::ApiError;
use super::fields::wrong_type;
use super::request::{Chat, Tools};

/// Fields of a request that ask for something of the answer, or of the server, and nothing of the prompt.
const OF_THE_ANSWER: [&str; 33] = [
    "audio",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "min_p",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "repetition_penalty",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "timeout",
    "tool_choice",
    "top_k",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// Reads a request in OpenAI's form. Whatever is neither a field of it nor one that vLLM has beside them is a variable of the
/// template, as any argument of `apply_chat_template` is.
pub(super) fn read(body: Value) -> Result<Chat, ApiError> {
    let mut fields = match body {
        Value::Object(fields) => fields,
        other => return Err(wrong_type("the request", "an object", &other)),
    };
    let mut messages = array(fields.remove("messages"), "messages")?
        .ok_or_else(|| ApiError::field("missing_required_parameter", "messages", "`messages` is missing"))?;
    for (i, message) in messages.iter_mut().enumerate() {
        calls_as_objects(message, &format!("messages[{i}]"))?;
    }
    let chooses_none = fields.get("tool_choice").is_some_and(|choice| choice == "none");
    let tools = array(fields.remove("tools"), "tools")?.filter(|_| !chooses_none);
    let add = boolean(&mut fields, "add_generation_prompt")?;
    let continues = boolean(&mut fields, "continue_final_message")?.unwrap_or(false);
    if continues && add == Some(true) {
        let message = "`continue_final_message` and `add_generation_prompt` ask for two different ends";
        return Err(ApiError::field("invalid_value", "continue_final_message", message));
    }
    let named = match fields.remove("chat_template_kwargs") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(named)) => named,
        Some(other) => return Err(wrong_type("chat_template_kwargs", "an object", &other)),
    };
    // Documents have their own field in vLLM's form, and are a variable like any other.
    let mut variables: Map<String, Value> =
        fields.into_iter().filter(|(name, _)| !OF_THE_ANSWER.contains(&name.as_str())).collect();
    variables.extend(named);
    Ok(Chat {
        tools: Tools { declared: tools.unwrap_or_default(), ..Tools::default() },
        variables,
        add_generation_prompt: add.unwrap_or(!continues),
        continue_final_message: continues,
        ..Chat::new(messages)
    })
}

fn array(value: Option<Value>, name: &str) -> Result<Option<Vec<Value>>, ApiError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(wrong_type(name, "an array", &other)),
    }
}

fn boolean(fields: &mut Map<String, Value>, name: &str) -> Result<Option<bool>, ApiError> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(value)),
        Some(other) => Err(wrong_type(name, "a boolean", &other)),
    }
}

/// The arguments of calls, which the API has as JSON text, as the objects that templates expect.
fn calls_as_objects(message: &mut Value, at: &str) -> Result<(), ApiError> {
    if !message.is_object() {
        return Err(wrong_type(at, "an object", message));
    }
    let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) else { return Ok(()) };
    for (i, call) in calls.iter_mut().enumerate() {
        let Some(arguments) = call.get_mut("function").and_then(|function| function.get_mut("arguments")) else { continue };
        let Some(text) = arguments.as_str() else { continue };
        let at = format!("{at}.tool_calls[{i}].function.arguments");
        // Some clients leave the text empty for a call without any.
        let text = if text.trim().is_empty() { "{}" } else { text };
        *arguments = match tenon_formats::json::parse(text.as_bytes()) {
            Ok(object @ Value::Object(_)) => object,
            Ok(other) => return Err(wrong_type(&at, "the JSON text of an object", &other)),
            Err(error) => {
                let message = format!("`{at}` must be the JSON text of an object: {error}");
                return Err(ApiError::field("invalid_value", at, message));
            }
        };
    }
    Ok(())
}
