//! What a template does with tools, found by rendering it.

use serde_json::{Map, Value, json};

use super::{ChatTemplate, Conversation, TemplateError, message};
use crate::tools::{ToolParser, taught};

/// What a template does with tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateFacts {
    /// A tool that it is given appears in the text, by its name.
    pub declares_tools: bool,
    /// The formats that it asks for.
    pub taught: Vec<ToolParser>,
    /// The text that it writes for an assistant's call, where it writes one.
    pub call: Option<String>,
    /// The formats that this text is in: empty for one that this version does not know.
    pub shown: Vec<ToolParser>,
}

/// The function of probes.
pub(super) const TOOL: &str = "probe_weather";
/// The argument of a call in a probe.
pub(super) const CITY: &str = "Yak-12";
/// What a user says in probes. No letter is one with which a call begins.
pub(super) const USER: &str = "Zebra-77";
/// What an assistant says.
pub(super) const ASSISTANT: &str = "Narwhal-58";

/// A tool as the chat completions API declares it.
pub(super) fn tool() -> Value {
    json!({"type": "function", "function": {
        "name": TOOL,
        "description": "Looks at the sky.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Where."}},
            "required": ["city"],
        },
    }})
}

pub(super) fn arguments() -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("city".to_owned(), json!(CITY));
    arguments
}

/// An assistant's message that calls the tool, with this beside the call. Mistral's ids have nine characters.
pub(super) fn call(content: Value) -> Value {
    json!({"role": "assistant", "content": content, "tool_calls": [
        {"id": "abcdef012", "type": "function", "function": {"name": TOOL, "arguments": arguments()}},
    ]})
}

impl ChatTemplate {
    /// Renders probes with a tool and without, and an answer that is a call beside one that is a text.
    ///
    /// # Errors
    /// The template fails when it is given a tool. One that fails at a call of the history writes none.
    pub fn facts(&self) -> Result<TemplateFacts, TemplateError> {
        let tools = [tool()];
        let one = [message("user", USER)];
        let without = self.render(&Conversation::new(&one))?;
        let with = self.render(&Conversation { tools: Some(&tools), ..Conversation::new(&one) })?;
        let declares_tools = with.contains(TOOL);
        let instructions = difference(&with, &without);

        let call = self.written_call();
        let is_call = |parser: &ToolParser| call.as_ref().is_some_and(|text| parser.is_call(text, TOOL, &arguments()));
        let shown = ToolParser::ALL.into_iter().filter(is_call).collect();
        Ok(TemplateFacts { declares_tools, taught: taught(instructions), call, shown })
    }

    /// What is known of a template that fails when it is given tools, and so is given none: how it writes a call.
    pub(super) fn facts_without_tools(&self) -> TemplateFacts {
        TemplateFacts { declares_tools: true, call: self.written_call(), ..TemplateFacts::default() }
    }

    fn written_call(&self) -> Option<String> {
        match (self.answered(call(self.no_content())), self.answered(message("assistant", ASSISTANT))) {
            (Ok(call), Ok(text)) => Some(difference(&call, &text).to_owned()).filter(|call| call.contains(CITY)),
            _ => None,
        }
    }

    /// Whether a call without words beside it must come with an empty text. The API has null there, and templates that test for
    /// null need it; others fail at it, or print `None`.
    pub(super) fn wants_empty_content(&self) -> bool {
        let (null, empty) = (self.answered(call(Value::Null)), self.answered(call(json!(""))));
        let Some(empty) = empty.ok().filter(|text| text.contains(CITY)) else { return false };
        let nones = |text: &str| text.matches("None").count();
        null.is_err() || null.is_ok_and(|null| !null.contains(CITY) || nones(&null) > nones(&empty))
    }

    /// A user's message and this answer, up to the answer's end, with a tool if the template can be given one.
    fn answered(&self, answer: Value) -> Result<String, TemplateError> {
        let (messages, tools) = ([message("user", USER), answer], [tool()]);
        let conversation = Conversation { add_generation_prompt: false, ..Conversation::new(&messages) };
        let with = self.render(&Conversation { tools: Some(&tools), ..conversation });
        with.or_else(|error| self.render(&conversation).map_err(|_| error))
    }
}

impl TemplateFacts {
    /// Whether this parser reads what the template asks for and what it writes.
    pub fn is_read_by(&self, parser: ToolParser) -> bool {
        let writes = self.call.is_none() || self.shown.contains(&parser);
        let asks = self.taught.is_empty() || self.taught.contains(&parser);
        let says_something = self.call.is_some() || !self.taught.is_empty();
        says_something && writes && asks
    }

    /// The parsers that read the template's format: usually one, none for a format that this version does not know.
    pub fn readers(&self) -> Vec<ToolParser> {
        ToolParser::ALL.into_iter().filter(|parser| self.is_read_by(*parser)).collect()
    }
}

/// What `text` has and `other` has not: less what both begin and end with. A tag is not cut through, since many begin alike.
fn difference<'t>(text: &'t str, other: &str) -> &'t str {
    let same = text.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let mut from = (0..=same).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    for (open, close) in [('<', '>'), ('[', ']')] {
        if let Some(at) = text[..from].rfind(open).filter(|at| !text[*at..from].contains(close)) {
            from = at;
        }
    }
    let (rest, other) = (&text[from..], &other.as_bytes()[from..]);
    let same = rest.bytes().rev().zip(other.iter().rev().copied()).take_while(|(a, b)| a == b).count();
    let to = (rest.len() - same..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
    &rest[..to]
}
