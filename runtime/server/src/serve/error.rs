//! Errors as OpenAI's clients read them.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tenon_engine::engine::SubmitError;
use tenon_engine::sampling::SamplingError;

/// Seconds after which a client may try again when there is no place for its request.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// A refused or failed request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    kind: &'static str,
    pub(super) code: &'static str,
    pub(super) param: Option<String>,
    pub(super) message: String,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, code: &'static str, param: Option<String>, message: String) -> Self {
        Self { status, kind, code, param, message }
    }

    /// 400: something about the request as a whole.
    pub(super) fn request(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", code, None, message.into())
    }

    /// 400: this field, named from the root of the body (`messages[2].content[0]`).
    pub(super) fn field(code: &'static str, param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..Self::request(code, message) }
    }

    /// 404: no such model here.
    pub(super) fn model(asked: &str, served: &str) -> Self {
        let message = format!("the model `{asked}` is not served here; `{served}` is");
        let error = Self::field("model_not_found", "model", message);
        Self { status: StatusCode::NOT_FOUND, ..error }
    }

    /// 404: no such route.
    pub(super) fn route(method: &str, path: &str) -> Self {
        let error = Self::request("not_found", format!("there is no route {method} {path}"));
        Self { status: StatusCode::NOT_FOUND, ..error }
    }

    /// 405: the route exists for another method.
    pub(super) fn method(method: &str, path: &str) -> Self {
        let message = format!("{path} does not answer {method}; the header `allow` says which methods it answers");
        Self { status: StatusCode::METHOD_NOT_ALLOWED, ..Self::request("method_not_allowed", message) }
    }

    /// 413: a body over the limit, both in bytes; its size is known where the client has announced it.
    pub(super) fn too_large(size: Option<u64>, limit: usize) -> Self {
        let size = size.map_or("more".to_owned(), |size| size.to_string());
        let message = format!("the body has {size} bytes, and the limit is {limit}");
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, ..Self::request("request_too_large", message) }
    }

    /// 400: prompt and answer do not fit; all in tokens.
    pub(super) fn context(param: &'static str, prompt: usize, max_tokens: Option<usize>, context: usize) -> Self {
        let message = match max_tokens {
            Some(max_tokens) if prompt < context => format!(
                "the context holds {context} tokens, and {} are asked for: {prompt} in the prompt and {max_tokens} to generate",
                prompt.saturating_add(max_tokens)
            ),
            _ => format!("the context holds {context} tokens, prompt and answer together, and the prompt alone has {prompt}"),
        };
        Self::field("context_length_exceeded", param, message)
    }

    /// 429: every place is taken.
    pub(super) fn full(places: usize) -> Self {
        let message = format!(
            "{places} answers can be computed or waited for at a time, and the rest of those places is too few; try again later"
        );
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "queue_full", None, message)
    }

    /// 400: more answers than there are places, also when all are free: no later try can succeed.
    pub(super) fn too_many(field: &'static str, answers: usize, places: usize) -> Self {
        let message = format!("the request asks for {answers} answers, and this server has places for {places}");
        Self::field("invalid_value", field, message)
    }

    /// 503: the time that the request had was over before its first token.
    pub(super) fn too_late() -> Self {
        let message = "the time for this request was over before its answer had begun; try again later".to_owned();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", "timeout", None, message)
    }

    /// 503: no new requests, since the server ends.
    pub(super) fn draining() -> Self {
        let message = "the server is shutting down and takes no new requests".to_owned();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", "shutting_down", None, message)
    }

    /// 500: not the request's fault.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "internal_error", None, message.into())
    }

    /// Why the engine refused a prompt that came from field `prompt` of the body.
    pub(super) fn refused(error: SubmitError, prompt: &'static str) -> Self {
        let param = match error {
            SubmitError::PromptTooLong { prompt: tokens, context } => return Self::context(prompt, tokens, None, context),
            SubmitError::Sampling(error) => return Self::sampling(error),
            SubmitError::TooLong { prompt: tokens, max_tokens, context } => {
                return Self::context(prompt, tokens, Some(max_tokens), context);
            }
            SubmitError::EmptyPrompt | SubmitError::Token { .. } => prompt,
            SubmitError::NoTokens => "max_tokens",
        };
        Self::field("invalid_value", param, error.to_string())
    }

    /// 400: a sampling parameter out of its range.
    pub(super) fn sampling(error: SamplingError) -> Self {
        Self::field("invalid_value", error.param(), error.to_string())
    }

    /// 404: a route of the API that this server does not have. Not 501, since clients try again after a 5xx.
    pub(super) fn not_implemented(path: &str, exists: &str) -> Self {
        let message = format!("{path} is not implemented by this server; {exists}");
        Self { status: StatusCode::NOT_FOUND, ..Self::request("not_implemented", message) }
    }

    /// The error object; every key is always there, as the API documents it.
    pub(super) fn body(&self) -> Value {
        json!({ "error": { "message": self.message, "type": self.kind, "param": self.param, "code": self.code } })
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        // For layers that tell errors in another dialect's form.
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_there_also_when_it_is_null() {
        let body = ApiError::internal("x").body();
        assert_eq!(body.to_string(), r#"{"error":{"message":"x","type":"server_error","param":null,"code":"internal_error"}}"#);
    }

    #[test]
    fn lengths_are_told_with_both_numbers() {
        let long = ApiError::context("messages", 70, None, 64);
        assert_eq!(long.message, "the context holds 64 tokens, prompt and answer together, and the prompt alone has 70");
        let both = ApiError::refused(SubmitError::TooLong { prompt: 60, max_tokens: 5, context: 64 }, "prompt");
        assert_eq!(both.message, "the context holds 64 tokens, and 65 are asked for: 60 in the prompt and 5 to generate");
        assert_eq!((both.code, both.param.as_deref()), ("context_length_exceeded", Some("prompt")));
        assert_eq!(ApiError::too_large(None, 8).message, "the body has more bytes, and the limit is 8");
    }

    #[test]
    fn only_errors_that_pass_ask_to_try_again() {
        for (error, again) in [(ApiError::full(3), true), (ApiError::draining(), true), (ApiError::internal(""), false)] {
            assert_eq!(error.into_response().headers().contains_key(header::RETRY_AFTER), again);
        }
    }
}
