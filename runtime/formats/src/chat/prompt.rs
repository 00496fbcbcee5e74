//! From messages and tools to the text of a prompt: the one way.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{ChatTemplate, Conversation, TemplateError, TemplateFacts};
use crate::tools::{Teaching, ToolParser};

/// Where the instructions about tools come from, and with them the form of calls in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSource {
    /// The chat template, which is given the tools.
    Template,
    /// The parser's own prompt in the system message; the template is given no tools, and calls of the history as text.
    Parser,
}

/// How tools are declared to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolFormat {
    /// Who reads the calls.
    pub parser: ToolParser,
    /// Who gives the instructions.
    pub source: ToolSource,
    /// A forced call is begun by the prompt, with the parser's opening tag.
    pub steering: bool,
    /// Reasoning is allowed while tools are declared.
    pub thinking: bool,
}

/// Not exactly one source of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceConflict {
    /// The template and the parser's own prompt.
    Both,
    /// The template says nothing about tools, and the parser's own prompt is left to it.
    Neither,
}

/// The one source of instructions about tools, which follows from the parser's design, the spec's `skip_template_tools` and what
/// the template does. Nothing else decides this, neither in `check` nor in the server.
///
/// # Errors
/// Two sources, or none.
pub fn tool_source(
    parser: ToolParser,
    skip_template_tools: bool,
    template: &TemplateFacts,
) -> Result<ToolSource, SourceConflict> {
    let teaching = parser.teaching();
    let from_template = template.declares_tools && !skip_template_tools && teaching != Teaching::OwnAlone;
    let from_parser = skip_template_tools || teaching != Teaching::Template;
    match (from_template, from_parser) {
        (true, false) => Ok(ToolSource::Template),
        (false, true) => Ok(ToolSource::Parser),
        (true, true) => Err(SourceConflict::Both),
        (false, false) => Err(SourceConflict::Neither),
    }
}

/// The text of a prompt: for generating, for counting its tokens, for showing it.
///
/// # Errors
/// What the template refuses or fails at, and tools for a model that calls none.
pub fn prompt(template: &ChatTemplate, conversation: &Conversation) -> Result<String, TemplateError> {
    let declared = conversation.tools.filter(|tools| !tools.is_empty());
    let mut messages = Cow::Borrowed(conversation.messages);
    if !template.knows_developer() && messages.iter().any(|message| message["role"] == "developer") {
        for message in messages.to_mut().iter_mut().filter(|message| message["role"] == "developer") {
            message["role"] = json!("system");
        }
    }
    let is_wordless = |message: &Value| message["role"] == "assistant" && message["content"].is_null();
    if messages.iter().any(is_wordless) {
        for message in messages.to_mut().iter_mut().filter(|message| is_wordless(message)) {
            message["content"] = template.no_content();
        }
    }
    let mut given = declared;
    match (template.tools, declared) {
        (None, Some(_)) => return Err(TemplateError::NoTools),
        (Some(ToolFormat { parser, source: ToolSource::Parser, .. }), _) => {
            calls_as_text(parser, &mut messages);
            if let Some(tools) = declared {
                instruct(&parser.prompt(tools), messages.to_mut());
            }
            given = None;
        }
        (None, None) | (Some(ToolFormat { source: ToolSource::Template, .. }), _) => {}
    }
    let format = template.tools.filter(|_| declared.is_some());
    let opening = format.filter(|format| format.steering && conversation.call_forced).and_then(|format| format.parser.opening());
    // A call that is begun here stands outside of reasoning, whatever the spec allows elsewhere.
    let is_quiet = opening.is_some() || format.is_some_and(|format| !format.thinking);
    let off = template.reasoning.filter(|_| is_quiet).map(|reasoning| {
        let asked = conversation.variables.cloned().unwrap_or_default();
        asked.into_iter().chain(reasoning.variables(false)).collect::<Map<_, _>>()
    });
    let variables = off.as_ref().or(conversation.variables);
    let mut text = template.render(&Conversation { messages: &messages, tools: given, variables, ..*conversation })?;
    text.push_str(opening.unwrap_or_default());
    Ok(text)
}

/// The text of a conversation as transformers' `apply_chat_template` gives it: the template gets everything as it is, whatever a spec
/// would make of it.
///
/// # Errors
/// What the template refuses or fails at.
pub fn verbatim(template: &ChatTemplate, conversation: &Conversation) -> Result<String, TemplateError> {
    template.render(conversation)
}

/// Puts instructions at the end of the system message, or makes one of them.
fn instruct(instructions: &str, messages: &mut Vec<Value>) {
    let is_system = |message: &Value| message["role"] == "system" || message["role"] == "developer";
    match messages.first_mut().filter(|first| is_system(first)) {
        Some(system) => {
            let text = system["content"].as_str().unwrap_or_default();
            system["content"] =
                json!(if text.is_empty() { instructions.to_owned() } else { format!("{text}\n\n{instructions}") });
        }
        None => messages.insert(0, super::message("system", instructions)),
    }
}

/// Writes the calls of the history as the parser's format has them. The template would write its own form, and the model would
/// follow what it sees rather than what it is told.
fn calls_as_text(parser: ToolParser, messages: &mut Cow<'_, [Value]>) {
    let has_calls = |message: &Value| message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    if !messages.iter().any(has_calls) {
        return;
    }
    for message in messages.to_mut().iter_mut().filter(|message| has_calls(message)) {
        let none = Map::new();
        let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        let calls: Vec<_> = calls
            .iter()
            .map(|call| &call["function"])
            .map(|call| (call["name"].as_str().unwrap_or_default(), call["arguments"].as_object().unwrap_or(&none)))
            .collect();
        let calls = parser.calls(&calls);
        let said = message["content"].as_str().unwrap_or_default();
        let text = if said.is_empty() { calls } else { format!("{said}\n{calls}") };
        if let Some(message) = message.as_object_mut() {
            message.insert("content".to_owned(), json!(text));
            message.remove("tool_calls");
        }
    }
}
