//! The canonical text of a call, and whether a text is a call.

use serde_json::{Map, Value, json};

use super::{ToolParser, dumps};

impl ToolParser {
    /// The text with which a model calls a function.
    pub fn example_call(self, name: &str, arguments: &Map<String, Value>) -> String {
        self.calls(&[(name, arguments)])
    }

    /// The text of several calls, one after the other.
    pub fn calls(self, calls: &[(&str, &Map<String, Value>)]) -> String {
        let texts: Vec<String> = calls.iter().map(|(name, arguments)| self.one(name, arguments)).collect();
        match self {
            Self::Hermes | Self::Qwen3Coder | Self::BareJson => texts.join("\n"),
            Self::Llama3Json => texts.join("; "),
            Self::Mistral => texts.concat(),
            Self::Deepseek => format!("<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>", texts.concat()),
            Self::GptOss => texts.join("<|start|>assistant"),
        }
    }

    fn one(self, name: &str, arguments: &Map<String, Value>) -> String {
        let json = || dumps(&Value::Object(arguments.clone()));
        let named = |key: &str| format!("{{\"name\": {}, \"{key}\": {}}}", dumps(&json!(name)), json());
        match self {
            Self::Hermes => format!("<tool_call>\n{}\n</tool_call>", named("arguments")),
            Self::Qwen3Coder => {
                let parameter = |(key, value): (&String, &Value)| format!("<parameter={key}>\n{}\n</parameter>\n", plain(value));
                let parameters: String = arguments.iter().map(parameter).collect();
                format!("<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>")
            }
            Self::Mistral => format!("[TOOL_CALLS]{name}[ARGS]{}", json()),
            Self::BareJson => named("arguments"),
            Self::Llama3Json => named("parameters"),
            Self::Deepseek => format!("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{}<｜tool▁call▁end｜>", json()),
            Self::GptOss => format!("<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{}<|call|>", json()),
        }
    }

    /// Whether a text begins with this call in this format. What follows the call is not looked at: a template closes a turn there.
    pub fn is_call(self, text: &str, name: &str, arguments: &Map<String, Value>) -> bool {
        self.read(text.trim_start(), name).is_some_and(|read| read == *arguments)
    }

    /// The arguments of a call of `name` at the beginning of a text.
    fn read(self, text: &str, name: &str) -> Option<Map<String, Value>> {
        let object = |text: &str| match first_json(text)? {
            Value::Object(object) => Some(object),
            _ => None,
        };
        let named = |call: Value, key: &str| {
            let Value::Object(mut call) = call else { return None };
            let Some(Value::Object(arguments)) = call.remove(key) else { return None };
            (call.get("name")? == name).then_some(arguments)
        };
        match self {
            Self::Hermes => named(first_json(text.strip_prefix("<tool_call>")?)?, "arguments"),
            Self::BareJson => named(first_json(text)?, "arguments"),
            Self::Llama3Json => named(first_json(text.strip_prefix("<|python_tag|>").unwrap_or(text))?, "parameters"),
            Self::Qwen3Coder => {
                let function = text.strip_prefix("<tool_call>")?.trim_start().strip_prefix("<function=")?;
                parameters(function.strip_prefix(name)?.strip_prefix('>')?)
            }
            Self::Mistral => {
                let text = text.strip_prefix("[TOOL_CALLS]")?;
                if let Some(Value::Array(calls)) = first_json(text) {
                    return named(calls.into_iter().next()?, "arguments");
                }
                let (head, arguments) = text.split_once("[ARGS]")?;
                // Mistral Small 3.1 and 3.2 put the call's id between.
                let called = head.split_once("[CALL_ID]").map_or(head, |(called, _)| called);
                (called == name).then(|| object(arguments))?
            }
            Self::Deepseek => {
                let text = text.strip_prefix("<｜tool▁calls▁begin｜>")?.trim_start().strip_prefix("<｜tool▁call▁begin｜>")?;
                object(text.strip_prefix(name)?.strip_prefix("<｜tool▁sep｜>")?)
            }
            Self::GptOss => {
                let (header, body) = text.split_once("<|message|>")?;
                let (_, recipient) = header.split_once("to=functions.")?;
                let rest = recipient.strip_prefix(name)?;
                let ends = rest.is_empty() || rest.starts_with([' ', '<']);
                (ends && header.contains("<|channel|>commentary")).then(|| object(body))?
            }
        }
    }
}

/// A value as a parameter holds it: texts as they are, the rest as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| dumps(value), str::to_owned)
}

fn first_json(text: &str) -> Option<Value> {
    serde_json::Deserializer::from_str(text.trim_start()).into_iter().next()?.ok()
}

/// Parameters up to the function's end. A text that is JSON counts as that, since nothing here knows the schema.
fn parameters(mut text: &str) -> Option<Map<String, Value>> {
    let mut read = Map::new();
    loop {
        text = text.trim_start();
        if text.starts_with("</function>") {
            return Some(read);
        }
        let (key, rest) = text.strip_prefix("<parameter=")?.split_once('>')?;
        let (value, rest) = rest.split_once("</parameter>")?;
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        read.insert(key.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| json!(value)));
        text = rest;
    }
}
