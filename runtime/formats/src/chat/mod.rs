//! Chat templates: a conversation rendered to the text that a model was trained on, as Hugging Face transformers renders it.
//!
//! [`prepare`] compiles a template and tries it, with the tool format of a spec; the compiler's `check` and the loader of the server
//! both go through it, so that what one accepts the other does. [`prompt`] is the one way from messages and tools to the text of a
//! prompt, for generating, for counting and for showing.

mod clock;
mod detect;
mod environment;
mod facts;
mod fault;
mod jinja;
mod prepare;
mod prompt;
mod python;
mod source;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

pub use clock::Clock;
pub use detect::{Detected, detect, special_tokens};
pub use environment::{ChatTemplate, Place, TemplateError};
pub use facts::TemplateFacts;
pub use fault::Fault;
pub use prepare::prepare;
pub use prompt::{SourceConflict, ToolFormat, ToolSource, prompt, tool_source, verbatim};
pub use source::{SourceError, TemplateFiles, TemplateSource};

pub use crate::tools::{Settings, ToolSettings};

/// What is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// Messages as the chat completions API has them: objects with `role` and `content`, the oldest first. The arguments of tool
    /// calls are objects, not the texts of objects.
    pub messages: &'a [Value],
    /// Tools that the model may call, as the API declares them.
    pub tools: Option<&'a [Value]>,
    /// The answer must be a call: where the spec steers, the prompt ends with the tag that opens one.
    pub call_forced: bool,
    /// Whether the text ends where the assistant's next message begins.
    pub add_generation_prompt: bool,
    /// Further variables (`enable_thinking`, ...).
    pub variables: Option<&'a Map<String, Value>>,
}

impl<'a> Conversation<'a> {
    /// Messages that the assistant should answer, without tools.
    pub fn new(messages: &'a [Value]) -> Self {
        Self { messages, tools: None, call_forced: false, add_generation_prompt: true, variables: None }
    }
}

/// One message of a conversation.
pub fn message(role: &str, content: &str) -> Value {
    json!({ "role": role, "content": content })
}
