//! Errors as Anthropic's clients read them.

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::routes::is_spoken;
use crate::serve::error::ApiError;
use crate::serve::ids;

/// The header with the id of a request, as this dialect's clients read it, and as others do.
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives errors of this dialect's requests its form, and every answer to them an id. Errors of the body or the route come from code
/// that knows no dialect: this layer stands around all routes.
pub(in crate::serve) async fn told_in_its_form(request: Request, next: Next) -> Response {
    if !is_ours(request.uri().path()) && !is_spoken(request.headers()) {
        return next.run(request).await;
    }
    let given = request.headers().get(X_REQUEST_ID).and_then(|id| id.to_str().ok());
    let id = given.map_or_else(|| ids::id("req_"), str::to_owned);
    let response = next.run(request).await;
    let error = response.extensions().get::<ApiError>().cloned();
    let mut response = match error {
        Some(error) => rewritten(response, &error, Some(&id)),
        None => response,
    };
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// An error before any route, in the form that errors have on a path.
#[expect(dead_code, reason = "a layer before the routes tells its errors with it")]
pub(in crate::serve) fn respond(path: &str, error: ApiError) -> Response {
    match is_ours(path) {
        true => rewritten(error.clone().into_response(), &error, None),
        false => error.into_response(),
    }
}

fn is_ours(path: &str) -> bool {
    path == "/v1/messages" || path.starts_with("/v1/messages/") || path == "/v1/complete"
}

/// The answer to a request that failed, with this dialect's object in place of the other's.
fn rewritten(response: Response, error: &ApiError, request_id: Option<&str>) -> Response {
    let (mut parts, _) = response.into_parts();
    let (told, body) = Json(body(error, request_id)).into_response().into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(told.headers);
    Response::from_parts(parts, body)
}

/// The error object. It has no place for the field, which therefore stands in the message.
pub(super) fn body(error: &ApiError, request_id: Option<&str>) -> Value {
    json!({ "type": "error", "error": { "type": kind(error.status), "message": message(error) }, "request_id": request_id })
}

fn message(error: &ApiError) -> String {
    match &error.param {
        Some(param) if !error.message.contains(&format!("`{param}")) => format!("`{param}`: {}", error.message),
        _ => error.message.clone(),
    }
}

fn kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => "timeout_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        StatusCode::SERVICE_UNAVAILABLE => "overloaded_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "api_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_the_status() {
        for (error, kind) in [
            (ApiError::request("x", "m"), "invalid_request_error"),
            (ApiError::model("a", "b"), "not_found_error"),
            (ApiError::method("GET", "/v1/messages"), "invalid_request_error"),
            (ApiError::too_large(None, 1), "request_too_large"),
            (ApiError::full(1), "rate_limit_error"),
            (ApiError::draining(), "overloaded_error"),
            (ApiError::internal("m"), "api_error"),
        ] {
            assert_eq!(super::kind(error.status), kind, "{error:?}");
        }
        for (status, kind) in
            [(401, "authentication_error"), (403, "permission_error"), (408, "timeout_error"), (504, "timeout_error")]
        {
            assert_eq!(super::kind(StatusCode::from_u16(status).unwrap()), kind);
        }
    }

    #[test]
    fn the_message_names_the_field() {
        let whole = body(&ApiError::field("x", "top_k", "`top_k` is -1"), Some("req_1"));
        assert_eq!(
            whole.to_string(),
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"`top_k` is -1"},"request_id":"req_1"}"#
        );
        let long = ApiError::context("messages", 70, None, 64);
        assert!(message(&long).starts_with("`messages`: the context holds 64 tokens"), "{}", message(&long));
    }
}
