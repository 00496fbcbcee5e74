//! `/tokenize` and `/detokenize`, in the form that vLLM gave them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use serde_json::{Value, json};
use tenon_engine::SpecialTokens;

use super::error::ApiError;
use super::fields::{Fields, wrong_type};
use super::request::Prompt;
use super::{Service, openai};

/// `POST /tokenize`: the ids of a text, or of a conversation as `/v1/chat/completions` would render it.
pub(super) async fn tokenize(State(service): State<Arc<Service>>, request: Request) -> Result<Json<Value>, ApiError> {
    let body = service.body(request).await?;
    let Tokenize { prompt, add_special_tokens, return_token_strs } = read(body, &service)?;
    let ids = match prompt {
        Prompt::Text(text) if !add_special_tokens => service.without_special_tokens(text).await?,
        prompt => service.prepare(prompt).await?.ids,
    };
    let strings = return_token_strs.then(|| service.served.tokenizer.texts(&ids)).transpose();
    let strings = strings.map_err(|error| ApiError::field("invalid_value", "prompt", error.to_string()))?;
    Ok(Json(json!({
        "count": ids.len(),
        "max_model_len": service.served.context,
        "tokens": ids,
        "token_strs": strings,
    })))
}

/// `POST /detokenize`: the text of ids, special tokens included.
pub(super) async fn detokenize(State(service): State<Arc<Service>>, request: Request) -> Result<Json<Value>, ApiError> {
    let body = service.body(request).await?;
    let mut fields = Fields::new(body, "")?;
    model(&mut fields, &service)?;
    let ids = match fields.required("tokens")? {
        Value::Array(ids) => ids,
        other => return Err(wrong_type("tokens", "an array of token ids", &other)),
    };
    fields.finish()?;
    let vocab_size = service.served.tokenizer.vocab_size();
    let one = |(i, value): (usize, &Value)| {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
        let known = id.filter(|&id| service.served.tokenizer.bytes(id).is_some());
        known.ok_or_else(|| {
            let name = format!("tokens[{i}]");
            let message = format!("`{name}` is {value}, which is no token of the vocabulary of {vocab_size}");
            ApiError::field("invalid_value", name, message)
        })
    };
    let ids: Vec<u32> = ids.iter().enumerate().map(one).collect::<Result<_, _>>()?;
    let text = service.served.tokenizer.decode(&ids, SpecialTokens::Show);
    let text = text.map_err(|error| ApiError::field("invalid_value", "tokens", error.to_string()))?;
    Ok(Json(json!({ "prompt": text })))
}

struct Tokenize {
    prompt: Prompt,
    /// Of a text: those around it that the model expects. A conversation has those of its template.
    add_special_tokens: bool,
    return_token_strs: bool,
}

fn read(body: Value, service: &Service) -> Result<Tokenize, ApiError> {
    let mut fields = Fields::new(body, "")?;
    model(&mut fields, service)?;
    let return_token_strs = fields.boolean("return_token_strs")?.unwrap_or(false);
    let (prompt, add_special_tokens) = match fields.string("prompt")? {
        Some(text) => (Prompt::Text(text), fields.boolean("add_special_tokens")?.unwrap_or(true)),
        None => {
            if !fields.has("messages") {
                let message = "`prompt` or `messages` is missing";
                return Err(ApiError::field("missing_required_parameter", "prompt", message));
            }
            // The template writes its own; more of them would be another prompt than the chat route's.
            fields.unsupported("add_special_tokens", &[json!(false)])?;
            (Prompt::Chat(openai::conversation(&mut fields, &service.served)?), false)
        }
    };
    fields.finish()?;
    Ok(Tokenize { prompt, add_special_tokens, return_token_strs })
}

/// The model's name, which these routes may leave out.
fn model(fields: &mut Fields, service: &Service) -> Result<(), ApiError> {
    if fields.has("model") { openai::read_model(fields, &service.served.name) } else { Ok(()) }
}

impl Service {
    async fn without_special_tokens(self: &Arc<Self>, text: String) -> Result<Vec<u32>, ApiError> {
        let (service, reader) = (Arc::clone(self), self.reader()?);
        let ids = tokio::task::spawn_blocking(move || {
            let _reader = reader;
            service.served.tokenizer.encode_bare(&text)
        });
        let ids = ids.await.map_err(|_| ApiError::internal("reading the text failed, which is a bug"))?;
        ids.map_err(|error| ApiError::internal(error.to_string()))
    }
}
