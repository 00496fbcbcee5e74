//! From a request to its prompt, and to how what follows the prompt is read: the one way, for generating, for counting and for showing.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use tenon_engine::template::{self, TemplateError};
use tenon_engine::tokenizer::TokenizerError;
use tenon_engine::{ChatTemplate, Conversation, SpecialTokens, Tokenizer};
use tenon_formats::tools::{Begun, OutputFormat, ReasoningParser, ToolChoice, marks};

use super::Served;
use super::error::ApiError;
use super::request::{Chat, Prompt};

/// A prompt that the model can be given.
#[derive(Debug)]
pub(super) struct Prepared {
    /// What the model reads.
    pub(super) ids: Vec<u32>,
    /// How what it writes is read.
    pub(super) reading: Reading,
}

/// How the output that continues a prompt is read.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) format: OutputFormat,
    /// Whether there must be a call.
    pub(super) choice: ToolChoice,
    /// Reasoning is not asked for. A model may reason all the same, and what it writes is read as that; a grammar does not let it.
    is_quiet: bool,
    /// The special tokens that are part of the text: the marks that the format needs.
    pub(super) special: SpecialTokens,
}

impl Reading {
    /// Everything is content.
    fn plain() -> Self {
        let format = OutputFormat { tools: None, reasoning: None, declared: Arc::new([]), begun: Begun::Nothing, parallel: true };
        Self { format, choice: ToolChoice::Auto, is_quiet: true, special: SpecialTokens::Hide }
    }

    /// The reasoning that a constrained answer may have.
    pub(super) fn may_reason(&self) -> Option<ReasoningParser> {
        self.format.reasoning.filter(|_| !self.is_quiet || self.begins_with_reasoning())
    }

    /// Whether the output continues reasoning that the prompt has begun.
    pub(super) fn begins_with_reasoning(&self) -> bool {
        self.format.begun == Begun::Reasoning
    }
}

/// The token ids that the model reads, and what follows from the same text for the output.
pub(super) fn prepare(served: &Served, prompt: &Prompt) -> Result<Prepared, ApiError> {
    let (ids, reading) = match prompt {
        Prompt::Chat(chat) => {
            let template = template(served)?;
            let text = rendered(template, chat)?;
            let ids = served.tokenizer.encode_rendered(&text).map_err(tokenizer_error)?;
            (ids, reading(&served.tokenizer, template, chat, &text)?)
        }
        Prompt::Text(text) => (served.tokenizer.encode_text(text).map_err(tokenizer_error)?, Reading::plain()),
        Prompt::Tokens(ids) => (ids.clone(), Reading::plain()),
    };
    Ok(Prepared { ids, reading })
}

/// The text that the model reads.
pub(super) fn text<'p>(served: &Served, prompt: &'p Prompt) -> Result<Cow<'p, str>, ApiError> {
    match prompt {
        Prompt::Chat(chat) => rendered(template(served)?, chat).map(Cow::Owned),
        Prompt::Text(text) => Ok(Cow::Borrowed(text)),
        Prompt::Tokens(ids) => served
            .tokenizer
            .decode(ids, SpecialTokens::Show)
            .map(Cow::Owned)
            .map_err(|error| ApiError::field("invalid_value", "prompt", error.to_string())),
    }
}

fn template(served: &Served) -> Result<&ChatTemplate, ApiError> {
    served.template.as_ref().ok_or_else(|| {
        let message = format!("{} has no chat format; /v1/completions continues a text", served.name);
        ApiError::field("unsupported_value", "messages", message)
    })
}

fn rendered(template: &ChatTemplate, chat: &Chat) -> Result<String, ApiError> {
    rendered_by(template::prompt, template, chat)
}

/// The text of a conversation by a template that no spec stands beside.
pub(super) fn verbatim(template: &ChatTemplate, chat: &Chat) -> Result<String, ApiError> {
    rendered_by(template::verbatim, template, chat)
}

fn rendered_by(
    prompt: fn(&ChatTemplate, &Conversation) -> Result<String, template::PromptError>,
    template: &ChatTemplate,
    chat: &Chat,
) -> Result<String, ApiError> {
    let tools = &chat.tools;
    let messages = if chat.continue_final_message { marked(chat)? } else { Cow::Borrowed(chat.messages.as_slice()) };
    let conversation = Conversation {
        messages: &messages,
        tools: Some(&tools.declared),
        call_forced: tools.choice.is_forced(),
        add_generation_prompt: chat.add_generation_prompt,
        variables: Some(&chat.variables),
    };
    let text = prompt(template, &conversation).map_err(|error| {
        // The template has rendered plain conversations at load, so what it cannot do lies in this one.
        let field = if error == template::PromptError::NoTools { "tools" } else { "messages" };
        ApiError::field("unsupported_value", field, TemplateError::Prompt(error).to_string())
    })?;
    if chat.continue_final_message { up_to_final_content(text, chat) } else { Ok(text) }
}

/// Stands behind the text of a message that is continued, so that its end is found whatever the text is, as transformers does it.
/// The space at its end is gone where a template trims.
const END_OF_TEXT: &str = "\u{F8FF}END_OF_TEXT\u{F8FF} ";

/// The messages, the last one with its end marked.
fn marked(chat: &Chat) -> Result<Cow<'_, [Value]>, ApiError> {
    let mut messages = chat.messages.clone();
    let content = messages.last_mut().map(|last| &mut last["content"]);
    match content.map(|content| (content.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned), content)) {
        Some((Some(text), content)) => *content = Value::String(text + END_OF_TEXT),
        _ => return Err(not_continued(chat, "has no text")),
    }
    Ok(Cow::Owned(messages))
}

/// A conversation without what its template writes behind the text of the last message.
fn up_to_final_content(mut text: String, chat: &Chat) -> Result<String, ApiError> {
    let Some(at) = text.rfind(END_OF_TEXT.trim_end()) else {
        return Err(not_continued(chat, "does not appear in the prompt as it is"));
    };
    // Whitespace at its end stays, unless the template takes it away.
    let kept = text[at..].starts_with(END_OF_TEXT);
    text.truncate(at);
    if !kept {
        text.truncate(text.trim_end().len());
    }
    Ok(text)
}

fn not_continued(chat: &Chat, why: &str) -> ApiError {
    let message = format!("the last message cannot be continued, since it {why}");
    ApiError::field("unsupported_value", format!("messages[{}].content", chat.messages.len().saturating_sub(1)), message)
}

/// What the spec's `steering` and `thinking` have come to in this prompt: they are decided where it is rendered, and read off it here.
fn reading(tokenizer: &Tokenizer, template: &ChatTemplate, chat: &Chat, prompt: &str) -> Result<Reading, ApiError> {
    let declared = !chat.tools.declared.is_empty();
    let tools = template.tools().filter(|_| declared);
    let steered = tools.filter(|tools| tools.steering && chat.tools.choice.is_forced()).and_then(|tools| tools.parser.opening());
    let begun = match template.reasoning() {
        _ if steered.is_some_and(|opening| prompt.ends_with(opening)) => Begun::Call,
        Some(reasoning) if is_in_reasoning(template, chat, prompt, reasoning)? => Begun::Reasoning,
        _ => Begun::Nothing,
    };
    let format = OutputFormat {
        tools: tools.map(|tools| tools.parser),
        reasoning: template.reasoning(),
        declared: Arc::clone(&chat.tools.functions),
        begun,
        parallel: chat.tools.parallel,
    };
    let special = shown(tokenizer, &marks(format.tools, format.reasoning));
    let is_quiet = begun == Begun::Call || tools.is_some_and(|tools| !tools.thinking);
    Ok(Reading { format, choice: chat.tools.choice.clone(), is_quiet, special })
}

/// Whether a prompt ends within reasoning. A conversation may be about marks of reasoning, so that only the message counts which the
/// answer continues: what the template writes where the assistant's next one begins, or the last one as far as it is there.
fn is_in_reasoning(template: &ChatTemplate, chat: &Chat, prompt: &str, reasoning: ReasoningParser) -> Result<bool, ApiError> {
    if !reasoning.is_open_at_the_end_of(prompt) {
        return Ok(false);
    }
    if chat.continue_final_message {
        let last = chat.messages.last().and_then(|message| message["content"].as_str());
        return Ok(last.is_some_and(|content| reasoning.is_open_at_the_end_of(content)));
    }
    if !chat.add_generation_prompt {
        return Ok(false);
    }
    let before = rendered(template, &Chat { add_generation_prompt: false, ..chat.clone() })?;
    Ok(prompt.strip_prefix(&*before).is_none_or(|begun| reasoning.is_open_at_the_end_of(begun)))
}

/// The special tokens of a vocabulary that are marks.
fn shown(tokenizer: &Tokenizer, marks: &[&str]) -> SpecialTokens {
    let ids: Arc<[u32]> = marks.iter().filter_map(|mark| tokenizer.id(mark)).filter(|&id| tokenizer.is_special(id)).collect();
    if ids.is_empty() { SpecialTokens::Hide } else { SpecialTokens::Only(ids) }
}

/// The variables with which a template leaves reasoning out; `None` where it has no way to.
pub(super) fn without_reasoning(template: &ChatTemplate) -> Option<serde_json::Map<String, serde_json::Value>> {
    let reasoning = template.reasoning()?;
    let variables = reasoning.variables(false);
    let probe = [template::message("user", "x")];
    let conversation = Conversation { variables: Some(&variables), ..Conversation::new(&probe) };
    let is_open = template::prompt(template, &conversation).is_ok_and(|text| reasoning.is_open_at_the_end_of(&text));
    (!variables.is_empty() && !is_open).then_some(variables)
}

fn tokenizer_error(error: TokenizerError) -> ApiError {
    ApiError::internal(error.to_string())
}
