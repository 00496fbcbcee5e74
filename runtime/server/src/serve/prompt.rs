//! From a prompt to token ids: the one way, for generating and for counting.

use tenon_engine::template::TemplateError;
use tenon_engine::tokenizer::TokenizerError;
use tenon_engine::{ChatTemplate, Conversation};

use serde_json::{Value, json};

use super::Served;
use super::error::ApiError;
use super::request::Prompt;

/// Renders and tokenizes.
pub(super) fn token_ids(served: &Served, prompt: &Prompt) -> Result<Vec<u32>, ApiError> {
    match prompt {
        Prompt::Messages(messages) => {
            let Some(template) = &served.template else {
                let message = format!("{} has no chat format; /v1/completions continues a text", served.name);
                return Err(ApiError::field("unsupported_value", "messages", message));
            };
            let messages = for_template(template, messages);
            template.encode(&served.tokenizer, &Conversation::new(&messages)).map_err(template_error)
        }
        Prompt::Text(text) => served.tokenizer.encode_text(text).map_err(tokenizer_error),
        Prompt::Tokens(ids) => Ok(ids.clone()),
    }
}

/// Messages with roles that the template knows.
fn for_template(template: &ChatTemplate, messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    if !template.knows_developer() {
        for message in messages.iter_mut().filter(|message| message["role"] == "developer") {
            message["role"] = json!("system");
        }
    }
    messages
}

fn template_error(error: TemplateError) -> ApiError {
    match error {
        TemplateError::File(error) => tokenizer_error(error),
        // It has rendered a plain conversation at load, so what it cannot do lies in this one.
        other => ApiError::field("unsupported_value", "messages", other.to_string()),
    }
}

fn tokenizer_error(error: TokenizerError) -> ApiError {
    ApiError::internal(error.to_string())
}
