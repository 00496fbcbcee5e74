//! A compiled template: the environment that transformers gives to chat templates.

use std::fmt;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value as Jinja, context};
use serde_json::Value;

use super::{Clock, Conversation, TemplateSource, ToolFormat, json};
use crate::tools::ReasoningParser;

/// A compiled chat template, with the way in which tools are declared in it.
pub struct ChatTemplate {
    environment: Environment<'static>,
    has_tool_template: bool,
    knows_developer: bool,
    special_tokens: Vec<(String, String)>,
    empty_content: bool,
    /// `None` for a model that calls no tools.
    pub(super) tools: Option<ToolFormat>,
    /// `None` for a model that does not reason.
    pub(super) reasoning: Option<ReasoningParser>,
}

/// What a template failed at, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// One line.
    pub message: String,
    /// Counted from 1.
    pub line: Option<usize>,
    /// In the second template, for conversations with tools.
    pub tool_use: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.line.map_or(Ok(()), |line| write!(f, " (line {line})"))
    }
}

/// Why there is no prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template's syntax, or a feature that this version does not know.
    #[error("the chat template does not compile: {0}")]
    Compile(Place),
    /// The template itself refused the conversation, with `raise_exception`.
    #[error("the chat template refuses this conversation: {0}")]
    Refused(String),
    /// The template failed.
    #[error("the chat template failed: {0}")]
    Render(Place),
    /// Tools for a model whose spec names no tool parser.
    #[error("the model calls no tools: its spec says `[tools] parser = \"none\"`")]
    NoTools,
}

/// Marks an error that the template raised on purpose.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

/// Instructions that one rendering may execute: far more than a long conversation needs, and an end to endless loops.
const FUEL: u64 = 100_000_000;

impl ChatTemplate {
    /// Compiles a template. [`prepare`](super::prepare()) also tries it.
    pub fn compile(source: &TemplateSource, special_tokens: &[(String, String)], clock: Clock) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|e| TemplateError::Compile(place(&e, false)))?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_test("iterable", is_iterable);
        environment.add_filter("tojson", json::tojson);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", move |format: &str| clock.format(format));
        let compile = |tool_use| move |e: Error| TemplateError::Compile(place(&e, tool_use));
        environment.add_template_owned("chat", without_generation_tags(&source.default)).map_err(compile(false))?;
        if let Some(tools) = &source.tool_use {
            environment.add_template_owned("tools", without_generation_tags(tools)).map_err(compile(true))?;
        }
        let mut template = Self {
            environment,
            has_tool_template: source.tool_use.is_some(),
            knows_developer: source.default.contains("developer"),
            special_tokens: special_tokens.to_vec(),
            empty_content: false,
            tools: None,
            reasoning: None,
        };
        template.empty_content = template.wants_empty_content();
        Ok(template)
    }

    /// How tools are declared; `None` for a model that calls none.
    pub fn tools(&self) -> Option<ToolFormat> {
        self.tools
    }

    /// How reasoning is marked; `None` for a model that does not reason.
    pub fn reasoning(&self) -> Option<ReasoningParser> {
        self.reasoning
    }

    /// With tools declared in this way, untried: [`prepare`](super::prepare()) finds the way that fits.
    pub fn with_tools(self, tools: ToolFormat) -> Self {
        Self { tools: Some(tools), ..self }
    }

    /// Whether the template has a role `developer`. To others, such messages are those of the system, whose name the role was
    /// before: a template that prints any role would print one that the model has never seen.
    pub(super) fn knows_developer(&self) -> bool {
        self.knows_developer
    }

    /// The content of an assistant's message that has calls and no words.
    pub(super) fn no_content(&self) -> Value {
        if self.empty_content { Value::from("") } else { Value::Null }
    }

    /// The text of a conversation as it is. Everything outside goes through [`prompt`](super::prompt()).
    pub(super) fn render(&self, conversation: &Conversation) -> Result<String, TemplateError> {
        let tools = conversation.tools.filter(|t| !t.is_empty());
        let tool_use = tools.is_some() && self.has_tool_template;
        let failed = |e: &Error| TemplateError::Render(place(e, tool_use));
        let template = self.environment.get_template(if tool_use { "tools" } else { "chat" }).map_err(|e| failed(&e))?;
        let named = Jinja::from_pairs(self.special_tokens.iter().map(|(n, t)| (n.as_str(), t.as_str())));
        let base = context! {
            messages => Serde(conversation.messages),
            tools => tools.map(Serde),
            documents => (),
            add_generation_prompt => conversation.add_generation_prompt,
        };
        let variables = conversation.variables.map_or_else(|| context! {}, |v| Jinja::from(Serde(v)));
        template.render(context! { ..base, ..variables, ..named }).map_err(|e| match raised(&e) {
            Some(message) => TemplateError::Refused(message),
            None => failed(&e),
        })
    }

    /// With fewer instructions per rendering.
    #[cfg(test)]
    pub(super) fn set_fuel(&mut self, fuel: u64) {
        self.environment.set_fuel(Some(fuel));
    }
}

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ChatTemplate");
        shown.field("has_tool_template", &self.has_tool_template).field("tools", &self.tools);
        shown.field("reasoning", &self.reasoning).finish_non_exhaustive()
    }
}

fn raise_exception(message: &str) -> Result<Jinja, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, "raise_exception").with_source(Raised(message.to_owned())))
}

/// Jinja2's test: unlike here by default, `none` is not iterable.
fn is_iterable(value: &Jinja) -> bool {
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

/// What went wrong and the causes below it, in one line, and where.
fn place(error: &Error, tool_use: bool) -> Place {
    let said = |e: &Error| match e.detail() {
        Some(detail) => format!("{}: {detail}", e.kind()),
        None => e.kind().to_string(),
    };
    let mut message = said(error);
    let mut source = std::error::Error::source(error);
    while let Some(e) = source {
        message.push_str(": ");
        message.push_str(&e.downcast_ref::<Error>().map_or_else(|| e.to_string(), said));
        source = e.source();
    }
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    Place { message, line: error.line(), tool_use }
}

/// Replaces `{% generation %}` .. `{% endgeneration %}`, which mark the assistant's tokens for training, by a block that does
/// nothing. Whitespace control stays, and so do lines.
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
