//! What each route does.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::anthropic;
use super::error::ApiError;
use super::{Service, metrics, openai, openapi, page, tokenize};

/// Every route of the API once: its method, its path, and what answers it. The OpenAPI document is compared with this.
pub(super) fn table() -> Vec<(Method, &'static str, MethodRouter<Arc<Service>>)> {
    vec![
        (Method::GET, "/health", get(health)),
        (Method::GET, "/ready", get(ready)),
        (Method::GET, "/metrics", get(metrics)),
        (Method::GET, "/openapi.json", get(async || ([(header::CONTENT_TYPE, "application/json")], openapi::DOCUMENT))),
        (Method::GET, "/debug/plan", get(plan)),
        (Method::GET, "/v1/models", get(models)),
        (Method::GET, "/v1/models/{name}", get(model)),
        (Method::POST, "/v1/chat/completions", post(openai::chat_completions)),
        (Method::POST, "/v1/completions", post(openai::completions)),
        (Method::POST, "/v1/messages", post(anthropic::messages)),
        (Method::POST, "/v1/messages/count_tokens", post(anthropic::count_tokens)),
        (Method::POST, "/tokenize", post(tokenize::tokenize)),
        (Method::POST, "/detokenize", post(tokenize::detokenize)),
    ]
}

/// All routes.
pub(super) fn router(service: Arc<Service>) -> Router {
    table()
        .into_iter()
        .fold(Router::new(), |router, (_, path, method)| router.route(path, method))
        .merge(page::routes())
        // Whatever the method: the API itself has given it up.
        .route("/v1/complete", any(anthropic::complete))
        .fallback(async |method: Method, uri: Uri| {
            openai::not_implemented(uri.path()).unwrap_or_else(|| ApiError::route(method.as_str(), uri.path()))
        })
        .method_not_allowed_fallback(async |method: Method, uri: Uri| ApiError::method(method.as_str(), uri.path()))
        .layer(from_fn(anthropic::told_in_its_form))
        .with_state(service)
}

/// Whether the process lives: also while it ends.
async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Whether it takes requests.
async fn ready(State(service): State<Arc<Service>>) -> Response {
    if service.worker.is_draining() {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "draining" }))).into_response();
    }
    Json(json!({ "status": "ready", "model": service.served.name })).into_response()
}

async fn metrics(State(service): State<Arc<Service>>) -> Result<Response, ApiError> {
    let text = service.metrics.text().map_err(|_| ApiError::internal("the metrics cannot be written"))?;
    Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
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
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let Path(name) = name.map_err(|error| ApiError::field("invalid_value", "model", error.body_text()))?;
    if name != service.served.name {
        return Err(ApiError::model(&name, &service.served.name));
    }
    Ok(Json(if anthropic::is_spoken(&headers) { anthropic::model(&service) } else { model_object(&service) }))
}

fn model_object(service: &Service) -> Value {
    json!({ "id": service.served.name, "object": "model", "created": service.started, "owned_by": "tenon", "max_model_len": service.served.context })
}
