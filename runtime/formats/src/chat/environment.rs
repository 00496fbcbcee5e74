//! A compiled template: the environment that transformers gives to chat templates.

use std::fmt;
use std::sync::OnceLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, Value as Jinja};
use serde_json::Value;

use super::jinja::{self, SyntaxError};
use super::{Clock, Conversation, TemplateSource, ToolFormat, python};
use crate::tools::ReasoningParser;

/// A compiled chat template, with the way in which tools are declared in it.
pub struct ChatTemplate {
    environment: Environment<'static>,
    has_tool_template: bool,
    knows_developer: bool,
    special_tokens: Vec<(String, String)>,
    /// Found out where it is first asked for: a template that renders what it is given as it is never needs it.
    empty_content: OnceLock<bool>,
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
        let mut environment = Environment::empty();
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        environment.set_syntax(syntax.map_err(|e| TemplateError::Compile(place(&e, false)))?);
        environment.set_fuel(Some(FUEL));
        // Otherwise an error in a debug build holds every variable, written out without any fuel.
        environment.set_debug(false);
        python::install(&mut environment);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", move |format: &str| clock.format(format));
        let mut add = |name: &'static str, source: &str, tool_use| {
            let unfit = |e: SyntaxError| Place { message: format!("syntax error: {}", e.message), line: Some(e.line), tool_use };
            let text = jinja::rewrite(source).map_err(|e| TemplateError::Compile(unfit(e)))?;
            environment.add_template_owned(name, text).map_err(|e| TemplateError::Compile(place(&e, tool_use)))
        };
        add("chat", &source.default, false)?;
        if let Some(tools) = &source.tool_use {
            add("tools", tools, true)?;
        }
        Ok(Self {
            environment,
            has_tool_template: source.tool_use.is_some(),
            knows_developer: source.default.contains("developer"),
            special_tokens: special_tokens.to_vec(),
            empty_content: OnceLock::new(),
            tools: None,
            reasoning: None,
        })
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

    /// With reasoning in the marks of this parser, untried.
    pub fn with_reasoning(self, reasoning: Option<ReasoningParser>) -> Self {
        Self { reasoning, ..self }
    }

    /// Whether the template has a role `developer`. To others, such messages are those of the system, whose name the role was
    /// before: a template that prints any role would print one that the model has never seen.
    pub(super) fn knows_developer(&self) -> bool {
        self.knows_developer
    }

    /// The content of an assistant's message that has calls and no words.
    pub(super) fn no_content(&self) -> Value {
        if *self.empty_content.get_or_init(|| self.wants_empty_content()) { Value::from("") } else { Value::Null }
    }

    /// The text of a conversation as it is. Everything outside goes through [`prompt`](super::prompt()).
    pub(super) fn render(&self, conversation: &Conversation) -> Result<String, TemplateError> {
        let tools = conversation.tools.filter(|t| !t.is_empty());
        let tool_use = tools.is_some() && self.has_tool_template;
        let failed = |e: &Error| TemplateError::Render(place(e, tool_use));
        let template = self.environment.get_template(if tool_use { "tools" } else { "chat" }).map_err(|e| failed(&e))?;
        template.render(self.variables(conversation, tools).map_err(|e| failed(&e))?).map_err(|e| match raised(&e) {
            Some(message) => TemplateError::Refused(message),
            None => failed(&e),
        })
    }

    fn variables(&self, conversation: &Conversation, tools: Option<&[Value]>) -> Result<Jinja, Error> {
        let list = |items: &[Value]| items.iter().map(python::from_json).collect::<Result<Vec<_>, _>>().and_then(python::list);
        let mut variables: Vec<(&str, Jinja)> = vec![
            ("messages", list(conversation.messages)?),
            ("tools", tools.map_or(Ok(Jinja::from(())), list)?),
            ("documents", Jinja::from(())),
            ("add_generation_prompt", Jinja::from(conversation.add_generation_prompt)),
        ];
        variables.extend(self.special_tokens.iter().map(|(name, text)| (name.as_str(), Jinja::from(text.as_str()))));
        for (name, value) in conversation.variables.into_iter().flatten() {
            variables.push((name, python::from_json(value)?));
        }
        Ok(Jinja::from_pairs(variables))
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
