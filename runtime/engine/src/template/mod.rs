//! Chat templates: a conversation rendered to the text that a model was trained on, as Hugging Face transformers renders it.

mod clock;
mod json;
mod source;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value, context};
use serde_json::Map;

use crate::tokenizer::{Tokenizer, TokenizerError};

pub use clock::Clock;
pub use source::TemplateSource;

/// A compiled chat template.
pub struct ChatTemplate {
    environment: Environment<'static>,
    has_tool_template: bool,
    knows_developer: bool,
    special_tokens: Vec<(String, String)>,
}

/// What is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// Messages as the chat completions API has them: objects with `role` and `content`, the oldest first.
    pub messages: &'a [serde_json::Value],
    /// Tools that the model may call.
    pub tools: Option<&'a [serde_json::Value]>,
    /// Whether the text ends where the assistant's next message begins.
    pub add_generation_prompt: bool,
    /// Further variables (`enable_thinking`, ...).
    pub variables: Option<&'a Map<String, serde_json::Value>>,
}

impl<'a> Conversation<'a> {
    /// Messages that the assistant should answer, without tools.
    pub fn new(messages: &'a [serde_json::Value]) -> Self {
        Self { messages, tools: None, add_generation_prompt: true, variables: None }
    }
}

/// One message of a conversation.
pub fn message(role: &str, content: &str) -> serde_json::Value {
    serde_json::json!({ "role": role, "content": content })
}

/// Why a template cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// A file of the checkpoint cannot be read.
    #[error(transparent)]
    File(#[from] TokenizerError),
    /// The checkpoint has no template, and the spec says it has.
    #[error("the checkpoint has no chat template: {looked}; a spec can bring its own with `[chat] template`")]
    Missing {
        /// Where it was looked for.
        looked: String,
    },
    /// The template's syntax, or a feature that this version does not know.
    #[error("the chat template does not compile: {0}")]
    Compile(String),
    /// The template failed on a conversation of one user message.
    #[error("the chat template fails on a plain user message: {0}")]
    Probe(String),
    /// The template itself refused the conversation, with `raise_exception`.
    #[error("the chat template refuses this conversation: {0}")]
    Refused(String),
    /// The template failed.
    #[error("the chat template failed: {0}")]
    Render(String),
}

/// Marks an error that the template raised on purpose.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

/// Instructions that one rendering may execute: far more than a long conversation needs, and an end to endless loops.
const FUEL: u64 = 100_000_000;

impl ChatTemplate {
    /// Compiles a template and renders a probe conversation with it, so that one that cannot work is refused at load.
    pub fn new(source: &TemplateSource, special_tokens: &[(String, String)], clock: Clock) -> Result<Self, TemplateError> {
        let template = Self::compile(source, special_tokens, clock)?;
        let probe = template.render(&Conversation::new(&[message("user", "Hello")]));
        match probe {
            Ok(text) if text.contains("Hello") => Ok(template),
            Ok(_) => Err(TemplateError::Probe("the message does not appear in the result".to_owned())),
            Err(e) => Err(TemplateError::Probe(e.to_string())),
        }
    }

    fn compile(source: &TemplateSource, special_tokens: &[(String, String)], clock: Clock) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|e| TemplateError::Compile(explain(&e)))?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_test("iterable", is_iterable);
        environment.add_filter("tojson", json::tojson);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", move |format: &str| clock.format(format));
        let compile = |e: Error| TemplateError::Compile(explain(&e));
        environment.add_template_owned("chat", without_generation_tags(&source.default)).map_err(compile)?;
        if let Some(tools) = &source.tool_use {
            environment.add_template_owned("tools", without_generation_tags(tools)).map_err(compile)?;
        }
        Ok(Self {
            environment,
            has_tool_template: source.tool_use.is_some(),
            knows_developer: source.default.contains("developer"),
            special_tokens: special_tokens.to_vec(),
        })
    }

    /// Whether the template has a role `developer`. To others, such messages are those of the system, whose name the role was
    /// before: a template that prints any role would print one that the model has never seen.
    pub fn knows_developer(&self) -> bool {
        self.knows_developer
    }

    /// The text of a conversation.
    pub fn render(&self, conversation: &Conversation) -> Result<String, TemplateError> {
        let tools = conversation.tools.filter(|t| !t.is_empty());
        let name = if tools.is_some() && self.has_tool_template { "tools" } else { "chat" };
        let template = self.environment.get_template(name).map_err(|e| TemplateError::Render(explain(&e)))?;
        let named = Value::from_pairs(self.special_tokens.iter().map(|(n, t)| (n.as_str(), t.as_str())));
        let base = context! {
            messages => Serde(conversation.messages),
            tools => tools.map(Serde),
            documents => (),
            add_generation_prompt => conversation.add_generation_prompt,
        };
        let variables = conversation.variables.map_or_else(|| context! {}, |v| Value::from(Serde(v)));
        template.render(context! { ..base, ..variables, ..named }).map_err(|e| match raised(&e) {
            Some(message) => TemplateError::Refused(message),
            None => TemplateError::Render(explain(&e)),
        })
    }

    /// The token ids of a conversation: the one way from messages to a prompt, for generating and for counting.
    pub fn encode(&self, tokenizer: &Tokenizer, conversation: &Conversation) -> Result<Vec<u32>, TemplateError> {
        let text = self.render(conversation)?;
        Ok(tokenizer.encode_rendered(&text)?)
    }
}

impl std::fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTemplate").field("has_tool_template", &self.has_tool_template).finish_non_exhaustive()
    }
}

fn raise_exception(message: &str) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, "raise_exception").with_source(Raised(message.to_owned())))
}

/// Jinja2's test: unlike here by default, `none` is not iterable.
fn is_iterable(value: &Value) -> bool {
    !value.is_none() && (value.kind() == ValueKind::String || value.try_iter().is_ok())
}

fn raised(error: &Error) -> Option<String> {
    let mut source = std::error::Error::source(error);
    while let Some(e) = source {
        if let Some(Raised(message)) = e.downcast_ref() {
            return Some(message.clone());
        }
        source = e.source();
    }
    None
}

/// What went wrong, where, and the causes below it, in one line.
fn explain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(e) = source {
        text.push_str(": ");
        text.push_str(&e.to_string());
        source = e.source();
    }
    text
}

/// Replaces `{% generation %}` .. `{% endgeneration %}`, which mark the assistant's tokens for training, by a block that does
/// nothing. Whitespace control stays.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at + 2);
        out.push_str(before);
        let Some(end) = tag.find("%}") else {
            rest = tag;
            break;
        };
        let inside = &tag[..end];
        let name = inside.trim_matches(|c: char| c.is_whitespace() || c == '-' || c == '+');
        match name {
            "generation" => out.push_str(&inside.replace("generation", "with")),
            "endgeneration" => out.push_str(&inside.replace("endgeneration", "endwith")),
            _ => out.push_str(inside),
        }
        rest = &tag[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
