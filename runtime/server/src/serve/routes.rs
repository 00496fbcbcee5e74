//! What each route does.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::anthropic;
use super::error::ApiError;
use super::{Service, openai, tokenize};

/// Bytes that are read of a body that is refused for its size.
const DISCARD: usize = 64 << 20;

/// All routes.
pub(super) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/debug/plan", get(plan))
        .route("/v1/models", get(models))
        .route("/v1/models/{name}", get(model))
        .route("/v1/chat/completions", post(openai::chat_completions))
        .route("/v1/completions", post(openai::completions))
        .route("/tokenize", post(tokenize::tokenize))
        .route("/detokenize", post(tokenize::detokenize))
        .route("/v1/messages", post(anthropic::messages))
        .route("/v1/messages/count_tokens", post(anthropic::count_tokens))
        .route("/v1/complete", any(anthropic::complete))
        .fallback(async |method: Method, uri: Uri| {
            openai::not_implemented(uri.path()).unwrap_or_else(|| ApiError::route(method.as_str(), uri.path()))
        })
        .method_not_allowed_fallback(async |method: Method, uri: Uri| ApiError::method(method.as_str(), uri.path()))
        .layer(DefaultBodyLimit::max(service.max_body_bytes))
        .layer(from_fn(anthropic::told_in_its_form))
        .with_state(service)
}

async fn health(State(service): State<Arc<Service>>) -> Response {
    if service.worker.is_draining() {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "draining" }))).into_response();
    }
    Json(json!({ "status": "ok" })).into_response()
}

async fn plan(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(service.plan.clone())
}

async fn models(State(service): State<Arc<Service>>, headers: HeaderMap) -> Json<Value> {
    if anthropic::is_spoken(&headers) {
        return Json(anthropic::models(&service));
    }
    Json(json!({ "object": "list", "data": [model_object(&service)] }))
}

async fn model(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    if name != service.served.name {
        return Err(ApiError::model(&name, &service.served.name));
    }
    Ok(Json(if anthropic::is_spoken(&headers) { anthropic::model(&service) } else { model_object(&service) }))
}

fn model_object(service: &Service) -> Value {
    json!({ "id": service.served.name, "object": "model", "created": service.started, "owned_by": "tenon", "max_model_len": service.served.context })
}

/// The JSON of a body. A key that stands twice in an object is an error, since readers that take the first or the last one
/// disagree about what was asked.
pub(super) async fn body(request: Request, limit: usize) -> Result<Value, ApiError> {
    if let Some(size) = announced_size(request.headers()).filter(|size| *size > limit as u64) {
        // Most clients write all of it before they read, and would see a broken connection instead of the answer.
        discard(request.into_body(), DISCARD).await;
        return Err(ApiError::too_large(Some(size), limit));
    }
    check_media_type(request.headers())?;
    let bytes = Bytes::from_request(request, &()).await.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::too_large(None, limit),
        _ => ApiError::request("invalid_body", format!("the body cannot be read: {error}")),
    })?;
    let invalid = |error| ApiError::request("invalid_json", format!("the body is not JSON that can be read: {error}"));
    tenon_formats::json::parse(&bytes).map_err(invalid)
}

fn announced_size(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads and forgets a body, up to a number of bytes.
async fn discard(body: Body, most: usize) {
    let (mut stream, mut left) = (body.into_data_stream(), most);
    while let Some(Ok(bytes)) = stream.next().await {
        let Some(rest) = left.checked_sub(bytes.len()) else { return };
        left = rest;
    }
}

/// What a page can send to a local server without asking first is a form or plain text, and not JSON.
fn check_media_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let value = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or("not text"));
    match value.map(|value| value.split(';').next().unwrap_or_default().trim()) {
        Some(found) if !is_json(found) => {
            let message = format!("the content type is `{found}`, and must be `application/json`");
            Err(ApiError::request("unsupported_content_type", message))
        }
        _ => Ok(()),
    }
}

fn is_json(media_type: &str) -> bool {
    let lower = media_type.to_ascii_lowercase();
    lower == "application/json" || (lower.starts_with("application/") && lower.ends_with("+json"))
}
