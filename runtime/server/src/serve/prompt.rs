//! From a request to its prompt: the one way, for generating, for counting and for showing.

use std::borrow::Cow;

use serde_json::{Map, Value};
use tenon_engine::template::{self, TemplateError};
use tenon_engine::tokenizer::TokenizerError;
use tenon_engine::{ChatTemplate, Conversation, SpecialTokens};
use tenon_formats::tools::ReasoningParser;

use super::Served;
use super::error::ApiError;
use super::request::{Chat, Prompt};

/// The token ids that the model reads.
pub(super) fn token_ids(served: &Served, prompt: &Prompt) -> Result<Vec<u32>, ApiError> {
    match prompt {
        Prompt::Chat(chat) => served.tokenizer.encode_rendered(&rendered(served, chat)?).map_err(tokenizer_error),
        Prompt::Text(text) => served.tokenizer.encode_text(text).map_err(tokenizer_error),
        Prompt::Tokens(ids) => Ok(ids.clone()),
    }
}

/// The text that the model reads.
pub(super) fn text<'p>(served: &Served, prompt: &'p Prompt) -> Result<Cow<'p, str>, ApiError> {
    match prompt {
        Prompt::Chat(chat) => rendered(served, chat).map(Cow::Owned),
        Prompt::Text(text) => Ok(Cow::Borrowed(text)),
        Prompt::Tokens(ids) => served
            .tokenizer
            .decode(ids, SpecialTokens::Show)
            .map(Cow::Owned)
            .map_err(|error| ApiError::field("invalid_value", "prompt", error.to_string())),
    }
}

fn rendered(served: &Served, chat: &Chat) -> Result<String, ApiError> {
    let Some(template) = &served.template else {
        let message = format!("{} has no chat format; /v1/completions continues a text", served.name);
        return Err(ApiError::field("unsupported_value", "messages", message));
    };
    let tools = &chat.tools;
    let (messages, begun) = match chat.messages.split_last() {
        Some((last, before)) if chat.continue_final_message => (before, Some(last["content"].as_str().unwrap_or_default())),
        _ => (chat.messages.as_slice(), None),
    };
    // What has begun as text does not begin with reasoning.
    let quiet = template.reasoning().filter(|_| begun.is_some()).map(|reasoning| reasoning.variables(false));
    let variables: Map<String, Value> = quiet.into_iter().flatten().chain(chat.variables.clone()).collect();
    let conversation = Conversation {
        messages,
        tools: Some(&tools.declared),
        call_forced: tools.choice.is_forced(),
        add_generation_prompt: chat.add_generation_prompt || begun.is_some(),
        variables: Some(&variables),
    };
    let mut text = template::prompt(template, &conversation).map_err(|error| {
        // The template has rendered plain conversations at load, so what it cannot do lies in this one.
        let field = if error == template::PromptError::NoTools { "tools" } else { "messages" };
        ApiError::field("unsupported_value", field, TemplateError::Prompt(error).to_string())
    })?;
    if let Some(begun) = begun {
        check_beginning(template, &text)?;
        text.push_str(begun);
    }
    Ok(text)
}

/// Whether an answer can be begun behind this prompt. It is continued as if the model had written it: what a template writes for a
/// message that is over may differ from what it writes before one that begins.
fn check_beginning(template: &ChatTemplate, prompt: &str) -> Result<(), ApiError> {
    let why = match template.reasoning() {
        Some(ReasoningParser::Harmony) => "in this model's chat format every message of an answer names its channel",
        Some(reasoning) if reasoning.is_open_at_the_end_of(prompt) => {
            "in this model's chat format every answer begins with reasoning"
        }
        _ => return Ok(()),
    };
    let message = format!("the last message begins the answer, and {why}; leave it out");
    Err(ApiError::field("unsupported_value", "messages", message))
}

fn tokenizer_error(error: TokenizerError) -> ApiError {
    ApiError::internal(error.to_string())
}
