//! Content blocks of messages: read one by one, each with its name from the root of the body.

use serde_json::{Map, Value, json};

use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Instructions, at the beginning or between the turns.
    System,
    /// The user, with the results of tools.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The spelling in bodies and in chat templates.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A content block, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) at: String,
    pub(super) content: Content,
}

/// What a block says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    /// A part of the message's text.
    Text(String),
    /// Reasoning of an earlier answer; `None` where it is encrypted, for a model that is not here.
    Thinking(Option<String>),
    /// A call.
    ToolUse { id: String, name: String, input: Map<String, Value> },
    /// What a call has returned.
    ToolResult { id: String, text: String },
}

/// Reads the content of a message: a text, which is short for one block, or blocks. An empty text is no block.
pub(super) fn read(content: Value, at: &str, role: Role) -> Result<Vec<Block>, ApiError> {
    let blocks = match content {
        Value::String(text) if text.is_empty() => return Ok(Vec::new()),
        Value::String(text) => return Ok(vec![Block { at: at.to_owned(), content: Content::Text(text) }]),
        Value::Array(blocks) => blocks,
        other => return Err(wrong_type(at, "a string or an array of content blocks", &other)),
    };
    let one = |(i, block)| {
        let at = format!("{at}[{i}]");
        Ok(Block { content: one(block, &at, role)?, at })
    };
    blocks.into_iter().enumerate().map(one).collect()
}

/// Reads texts, which are all that `system` and the results of tools may hold here. Several are lines of one text.
pub(super) fn texts(content: Value, at: &str) -> Result<String, ApiError> {
    let blocks = match content {
        Value::String(text) => return Ok(text),
        Value::Array(blocks) => blocks,
        other => return Err(wrong_type(at, "a string or an array of text blocks", &other)),
    };
    let one = |(i, block)| {
        let at = format!("{at}[{i}]");
        let mut fields = Fields::new(block, &at)?;
        match fields.required_string("type")?.as_str() {
            "text" => text(fields),
            other => Err(not_read(&at, other)),
        }
    };
    let texts: Vec<String> = blocks.into_iter().enumerate().map(one).collect::<Result<_, _>>()?;
    Ok(texts.join("\n"))
}

/// Reads `cache_control`. It asks for nothing here: every prompt's prefix is cached, wherever it ends.
pub(super) fn cache_control(fields: &mut Fields) -> Result<(), ApiError> {
    let Some(value) = fields.take("cache_control") else { return Ok(()) };
    let mut control = Fields::new(value, fields.name("cache_control"))?;
    one_of(&mut control, "type", &["ephemeral"], true)?;
    one_of(&mut control, "ttl", &["5m", "1h"], false)?;
    control.finish()
}

/// Takes a text that is one of a few, where it is given.
pub(super) fn one_of(fields: &mut Fields, key: &str, known: &[&str], required: bool) -> Result<Option<String>, ApiError> {
    let Some(found) = fields.string(key)? else { return if required { Err(fields.missing(key)) } else { Ok(None) } };
    if known.contains(&found.as_str()) {
        return Ok(Some(found));
    }
    let name = fields.name(key);
    let message = format!("`{name}` is `{found}`, and must be {}", known.join(" or "));
    Err(ApiError::field("invalid_value", name, message))
}

fn one(block: Value, at: &str, role: Role) -> Result<Content, ApiError> {
    let mut fields = Fields::new(block, at)?;
    let kind = fields.required_string("type")?;
    let whose = match kind.as_str() {
        "text" => return text(fields).map(Content::Text),
        "tool_result" => Role::User,
        "thinking" | "redacted_thinking" | "tool_use" => Role::Assistant,
        other => return Err(not_read(at, other)),
    };
    if whose != role {
        let message = format!(
            "`{at}.type` is `{kind}`, which stands in messages of the {} only, and this one is of the {}",
            whose.as_str(),
            role.as_str()
        );
        return Err(ApiError::field("invalid_value", fields.name("type"), message));
    }
    match kind.as_str() {
        "thinking" => thinking(fields),
        "redacted_thinking" => {
            fields.required_string("data")?;
            fields.finish()?;
            Ok(Content::Thinking(None))
        }
        "tool_use" => tool_use(fields),
        _ => tool_result(fields),
    }
}

fn not_read(at: &str, kind: &str) -> ApiError {
    let message = format!("`{at}.type` is `{kind}`, and this server does not read blocks of that type here");
    ApiError::field("unsupported_value", format!("{at}.type"), message)
}

fn text(mut fields: Fields) -> Result<String, ApiError> {
    let text = fields.required_string("text")?;
    if text.is_empty() {
        let name = fields.name("text");
        return Err(ApiError::field("invalid_value", &name, format!("`{name}` is empty; leave the block out")));
    }
    cache_control(&mut fields)?;
    // Answers come back as they went out, with this key empty.
    fields.unsupported("citations", &[json!([])])?;
    fields.finish()?;
    Ok(text)
}

fn thinking(mut fields: Fields) -> Result<Content, ApiError> {
    let text = fields.required_string("thinking")?;
    // Nothing is signed here, so there is nothing to check.
    fields.string("signature")?;
    fields.finish()?;
    // Empty where a request has asked to leave it out.
    Ok(Content::Thinking(Some(text).filter(|text| !text.is_empty())))
}

fn tool_use(mut fields: Fields) -> Result<Content, ApiError> {
    let id = fields.required_string("id")?;
    let name = fields.required_string("name")?;
    let input = match fields.required("input")? {
        Value::Object(input) => input,
        other => return Err(wrong_type(&fields.name("input"), "an object", &other)),
    };
    cache_control(&mut fields)?;
    fields.unsupported("caller", &[json!({"type": "direct"})])?;
    fields.unsupported("toolset_name", &[])?;
    fields.finish()?;
    Ok(Content::ToolUse { id, name, input })
}

fn tool_result(mut fields: Fields) -> Result<Content, ApiError> {
    let id = fields.required_string("tool_use_id")?;
    let text = match fields.take("content") {
        Some(content) => texts(content, &fields.name("content"))?,
        None => String::new(),
    };
    let is_error = fields.boolean("is_error")?.unwrap_or(false);
    cache_control(&mut fields)?;
    fields.unsupported("toolset_name", &[])?;
    fields.finish()?;
    // Chat templates have no place for this, and the model must learn of it.
    let text = match is_error {
        false => text,
        true if text.is_empty() => "Error".to_owned(),
        true => format!("Error: {text}"),
    };
    Ok(Content::ToolResult { id, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(role: Role, block: Value) -> String {
        read(json!([block]), "c", role).unwrap_err().param.unwrap()
    }

    fn content(role: Role, block: Value) -> Content {
        let mut blocks = read(json!([{"type": "text", "text": "x"}, block]), "c", role).unwrap();
        let last = blocks.pop().unwrap();
        assert_eq!(last.at, "c[1]");
        last.content
    }

    #[test]
    fn a_text_is_short_for_one_block_and_an_empty_one_for_none() {
        let whole = read(json!("a"), "c", Role::User).unwrap();
        assert_eq!(whole, [Block { at: "c".into(), content: Content::Text("a".into()) }]);
        assert_eq!(read(json!(""), "c", Role::User).unwrap(), []);
        let cached = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}, "citations": null});
        assert_eq!(content(Role::Assistant, cached), Content::Text("a".into()));
    }

    #[test]
    fn every_type_is_read() {
        let thinking = json!({"type": "thinking", "thinking": "t", "signature": ""});
        assert_eq!(content(Role::Assistant, thinking), Content::Thinking(Some("t".into())));
        let omitted = json!({"type": "thinking", "thinking": ""});
        assert_eq!(content(Role::Assistant, omitted), Content::Thinking(None));
        let redacted = json!({"type": "redacted_thinking", "data": "=="});
        assert_eq!(content(Role::Assistant, redacted), Content::Thinking(None));
        let call =
            json!({"type": "tool_use", "id": "i", "name": "f", "input": {"b": 1.0, "a": null}, "caller": {"type": "direct"}});
        let Content::ToolUse { id, name, input } = content(Role::Assistant, call) else { panic!("no call") };
        assert_eq!((id.as_str(), name.as_str(), Value::Object(input).to_string().as_str()), ("i", "f", r#"{"b":1.0,"a":null}"#));
    }

    #[test]
    fn results_are_texts_and_failures_say_so() {
        let lines = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        for (more, text) in [
            (json!({"content": "a"}), "a"),
            (json!({"content": lines}), "a\nb"),
            (json!({}), ""),
            (json!({"content": "a", "is_error": false}), "a"),
            (json!({"content": "no such city", "is_error": true}), "Error: no such city"),
            (json!({"is_error": true}), "Error"),
        ] {
            let mut block = json!({"type": "tool_result", "tool_use_id": "i"});
            block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(content(Role::User, block), Content::ToolResult { id: "i".into(), text: text.into() }, "{more}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_from_the_root() {
        for (role, block, name) in [
            (Role::User, json!("x"), "c[0]"),
            (Role::User, json!({"text": "x"}), "c[0].type"),
            (Role::User, json!({"type": "text"}), "c[0].text"),
            (Role::User, json!({"type": "text", "text": ""}), "c[0].text"),
            (Role::User, json!({"type": "text", "text": "x", "txt": 1}), "c[0].txt"),
            (Role::User, json!({"type": "text", "text": "x", "cache_control": {"type": "forever"}}), "c[0].cache_control.type"),
            (Role::User, json!({"type": "text", "text": "x", "cache_control": {}}), "c[0].cache_control.type"),
            (
                Role::User,
                json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "9m"}}),
                "c[0].cache_control.ttl",
            ),
            (Role::User, json!({"type": "image", "source": {}}), "c[0].type"),
            (Role::User, json!({"type": "document"}), "c[0].type"),
            (Role::User, json!({"type": "tool_use"}), "c[0].type"),
            (Role::System, json!({"type": "tool_result"}), "c[0].type"),
            (Role::Assistant, json!({"type": "tool_result"}), "c[0].type"),
            (Role::Assistant, json!({"type": "server_tool_use"}), "c[0].type"),
            (Role::Assistant, json!({"type": "thinking"}), "c[0].thinking"),
            (Role::Assistant, json!({"type": "redacted_thinking"}), "c[0].data"),
            (Role::Assistant, json!({"type": "tool_use", "name": "f", "input": {}}), "c[0].id"),
            (Role::Assistant, json!({"type": "tool_use", "id": "i", "input": {}}), "c[0].name"),
            (Role::Assistant, json!({"type": "tool_use", "id": "i", "name": "f", "input": "{}"}), "c[0].input"),
            (Role::User, json!({"type": "tool_result", "content": "x"}), "c[0].tool_use_id"),
            (Role::User, json!({"type": "tool_result", "tool_use_id": "i", "is_error": 1}), "c[0].is_error"),
            (
                Role::User,
                json!({"type": "tool_result", "tool_use_id": "i", "content": [{"type": "text", "text": "x"}, {"type": "image"}]}),
                "c[0].content[1].type",
            ),
        ] {
            assert_eq!(param(role, block.clone()), name, "{block}");
        }
    }
}
