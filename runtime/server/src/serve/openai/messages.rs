//! The messages of a conversation: checked, and brought into the form that chat templates read.

use serde_json::{Map, Value, json};

use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};

/// Reads `messages`. Contents become plain texts, and the arguments of tool calls, which the API has as JSON text, become the
/// objects that templates expect.
pub(super) fn read(messages: Value) -> Result<Vec<Value>, ApiError> {
    let Value::Array(messages) = messages else { return Err(wrong_type("messages", "an array", &messages)) };
    if messages.is_empty() {
        return Err(ApiError::field("invalid_value", "messages", "`messages` is empty, and needs at least one message"));
    }
    messages.into_iter().enumerate().map(|(i, message)| one(message, &format!("messages[{i}]"))).collect()
}

fn one(message: Value, at: &str) -> Result<Value, ApiError> {
    let mut fields = Fields::new(message, at)?;
    let role = fields.required_string("role")?;
    let mut out = Map::new();
    out.insert("role".to_owned(), json!(role));
    match role.as_str() {
        "system" | "developer" | "user" => {
            let text = fields.required("content").and_then(|content| text(content, &fields.name("content")))?;
            out.insert("content".to_owned(), text);
            name(&mut fields, &mut out)?;
        }
        "assistant" => {
            let content = fields.take("content").map(|content| text(content, &fields.name("content"))).transpose()?;
            let reasoning = reasoning(&mut fields)?;
            let calls = match fields.take("tool_calls") {
                Some(calls) => tool_calls(calls, &fields.name("tool_calls"))?,
                None => Vec::new(),
            };
            if content.is_none() && calls.is_empty() {
                return Err(fields.missing("content"));
            }
            // Present and none when there is no text, as in the API's own answers: templates ask for either.
            out.insert("content".to_owned(), content.unwrap_or(Value::Null));
            if let Some(reasoning) = reasoning {
                out.insert("reasoning_content".to_owned(), json!(reasoning));
            }
            if !calls.is_empty() {
                out.insert("tool_calls".to_owned(), Value::Array(calls));
            }
            name(&mut fields, &mut out)?;
            // Clients send answers back as they came, with these keys empty.
            fields.unsupported("refusal", &[])?;
            fields.unsupported("audio", &[])?;
            fields.unsupported("function_call", &[])?;
            fields.unsupported("annotations", &[json!([])])?;
        }
        "tool" => {
            let text = fields.required("content").and_then(|content| text(content, &fields.name("content")))?;
            out.insert("content".to_owned(), text);
            out.insert("tool_call_id".to_owned(), json!(fields.required_string("tool_call_id")?));
            name(&mut fields, &mut out)?;
        }
        other => {
            let message = format!("`{at}.role` is `{other}`, and must be system, developer, user, assistant or tool");
            return Err(ApiError::field("invalid_value", fields.name("role"), message));
        }
    }
    fields.finish()?;
    Ok(Value::Object(out))
}

fn name(fields: &mut Fields, out: &mut Map<String, Value>) -> Result<(), ApiError> {
    if let Some(name) = fields.string("name")? {
        out.insert("name".to_owned(), json!(name));
    }
    Ok(())
}

/// What an answer's message had beside its text, under the name that templates know. Clients send back either name; servers that have
/// both tell the same text under both.
fn reasoning(fields: &mut Fields) -> Result<Option<String>, ApiError> {
    let (content, reasoning) = (fields.string("reasoning_content")?, fields.string("reasoning")?);
    match (content, reasoning) {
        (Some(content), Some(reasoning)) if content != reasoning => {
            let name = fields.name("reasoning");
            let message = format!("`{name}` and `{}` are the same by two names, and differ", fields.name("reasoning_content"));
            Err(ApiError::field("invalid_value", name, message))
        }
        (content, reasoning) => Ok(content.or(reasoning)),
    }
}

/// A text, or parts of one, which follow each other without anything between them.
fn text(content: Value, at: &str) -> Result<Value, ApiError> {
    let parts = match content {
        Value::String(_) => return Ok(content),
        Value::Array(parts) if parts.is_empty() => {
            return Err(ApiError::field("invalid_value", at, format!("`{at}` is empty, and needs at least one part")));
        }
        Value::Array(parts) => parts,
        other => return Err(wrong_type(at, "a string or an array of parts", &other)),
    };
    let mut whole = String::new();
    for (i, part) in parts.into_iter().enumerate() {
        let at = format!("{at}[{i}]");
        let mut part = Fields::new(part, &at)?;
        let kind = part.required_string("type")?;
        if kind != "text" {
            let message = format!("`{at}` is of type `{kind}`, and this model reads parts of type `text` only");
            return Err(ApiError::field("unsupported_value", at, message));
        }
        whole.push_str(&part.required_string("text")?);
        part.finish()?;
    }
    Ok(Value::String(whole))
}

fn tool_calls(calls: Value, at: &str) -> Result<Vec<Value>, ApiError> {
    let Value::Array(calls) = calls else { return Err(wrong_type(at, "an array", &calls)) };
    calls.into_iter().enumerate().map(|(i, call)| tool_call(call, &format!("{at}[{i}]"))).collect()
}

fn tool_call(call: Value, at: &str) -> Result<Value, ApiError> {
    let mut fields = Fields::new(call, at)?;
    let id = fields.required_string("id")?;
    let mut function = super::tools::function(fields, at)?;
    let name = function.required_string("name")?;
    let arguments = function.required_string("arguments")?;
    let at = function.name("arguments");
    function.finish()?;
    // Some clients leave the text of no arguments empty.
    let arguments = if arguments.trim().is_empty() { "{}" } else { &arguments };
    let arguments = match tenon_formats::json::parse(arguments.as_bytes()) {
        Ok(Value::Object(arguments)) => arguments,
        Ok(other) => return Err(wrong_type(&at, "the JSON text of an object", &other)),
        Err(error) => {
            let message = format!("`{at}` must be the JSON text of an object: {error}");
            return Err(ApiError::field("invalid_value", at, message));
        }
    };
    Ok(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(message: Value) -> String {
        read(json!([{"role": "user", "content": "x"}, message])).unwrap_err().param.unwrap()
    }

    #[test]
    fn contents_become_texts() {
        let parts = json!([{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]);
        let read = read(json!([
            {"role": "system", "content": "s"},
            {"role": "developer", "content": parts},
            {"role": "user", "content": "", "name": "n"},
            {"role": "assistant", "content": "t", "refusal": null, "annotations": [], "audio": null, "function_call": null,
             "tool_calls": null},
            {"role": "assistant", "content": "t", "reasoning": "r"},
            {"role": "assistant", "content": "t", "reasoning": "r", "reasoning_content": "r"},
        ]))
        .unwrap();
        let expected = json!([
            {"role": "system", "content": "s"},
            {"role": "developer", "content": "a b"},
            {"role": "user", "content": "", "name": "n"},
            {"role": "assistant", "content": "t"},
            {"role": "assistant", "content": "t", "reasoning_content": "r"},
            {"role": "assistant", "content": "t", "reasoning_content": "r"},
        ]);
        assert_eq!(Value::Array(read), expected);
    }

    #[test]
    fn calls_have_their_arguments_as_objects_and_null_content_is_none() {
        let call = |arguments: &str| json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}});
        let read = read(json!([
            {"role": "assistant", "content": null, "tool_calls": [call("{\"b\": [1.0], \"a\": null}")]},
            {"role": "assistant", "tool_calls": [call("{}")]},
            {"role": "tool", "content": "21", "tool_call_id": "c"},
        ]))
        .unwrap();
        assert_eq!(read[0]["tool_calls"][0]["function"]["arguments"].to_string(), r#"{"b":[1.0],"a":null}"#);
        assert_eq!((&read[0]["content"], &read[1]["content"]), (&Value::Null, &Value::Null));
        assert!(read[1].as_object().unwrap().contains_key("content"));
        assert_eq!(read[2], json!({"role": "tool", "content": "21", "tool_call_id": "c"}));
    }

    #[test]
    fn what_is_wrong_is_named_from_the_root() {
        for (message, name) in [
            (json!("x"), "messages[1]"),
            (json!({"content": "x"}), "messages[1].role"),
            (json!({"role": "function", "content": "x"}), "messages[1].role"),
            (json!({"role": "user"}), "messages[1].content"),
            (json!({"role": "user", "content": null}), "messages[1].content"),
            (json!({"role": "user", "content": []}), "messages[1].content"),
            (json!({"role": "user", "content": 3}), "messages[1].content"),
            (json!({"role": "user", "content": "x", "contents": "y"}), "messages[1].contents"),
            (json!({"role": "user", "content": ["x"]}), "messages[1].content[0]"),
            (json!({"role": "user", "content": [{"type": "text"}]}), "messages[1].content[0].text"),
            (
                json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}),
                "messages[1].content[1]",
            ),
            (json!({"role": "user", "content": [{"type": "text", "text": "a", "x": 1}]}), "messages[1].content[0].x"),
            (json!({"role": "assistant", "content": null}), "messages[1].content"),
            (json!({"role": "assistant", "content": "x", "function_call": {}}), "messages[1].function_call"),
            (json!({"role": "assistant", "content": "x", "reasoning": 1}), "messages[1].reasoning"),
            (json!({"role": "assistant", "content": "x", "reasoning": "a", "reasoning_content": "b"}), "messages[1].reasoning"),
            (json!({"role": "user", "content": "x", "reasoning": "a"}), "messages[1].reasoning"),
            (json!({"role": "tool", "content": "x"}), "messages[1].tool_call_id"),
        ] {
            assert_eq!(param(message.clone()), name, "{message}");
        }
    }

    #[test]
    fn calls_that_are_not_understood_are_refused() {
        let with = |call: Value| json!({"role": "assistant", "content": null, "tool_calls": [call]});
        for (call, name) in [
            (json!({"type": "function"}), "messages[1].tool_calls[0].id"),
            (json!({"id": "c", "type": "custom"}), "messages[1].tool_calls[0].type"),
            (json!({"id": "c", "type": "function"}), "messages[1].tool_calls[0].function"),
            (
                json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}),
                "messages[1].tool_calls[0].function.arguments",
            ),
            (
                json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "[1]"}}),
                "messages[1].tool_calls[0].function.arguments",
            ),
        ] {
            assert_eq!(param(with(call.clone())), name, "{call}");
        }
    }
}
