//! From a request to its prompt: the one way, for generating, for counting and for showing.

use std::borrow::Cow;

use tenon_engine::template::{self, TemplateError};
use tenon_engine::tokenizer::TokenizerError;
use tenon_engine::{Conversation, SpecialTokens};

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
    let conversation = Conversation {
        messages: &chat.messages,
        tools: Some(&tools.declared),
        call_forced: tools.choice.is_forced(),
        add_generation_prompt: chat.add_generation_prompt,
        variables: Some(&chat.variables),
    };
    template::prompt(template, &conversation).map_err(|error| {
        // The template has rendered plain conversations at load, so what it cannot do lies in this one.
        let field = if error == template::PromptError::NoTools { "tools" } else { "messages" };
        ApiError::field("unsupported_value", field, TemplateError::Prompt(error).to_string())
    })
}

fn tokenizer_error(error: TokenizerError) -> ApiError {
    ApiError::internal(error.to_string())
}
