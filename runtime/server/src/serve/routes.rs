//! What each route does.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::error::ApiError;
use super::openai::{self, Delivery, Reply, Route};
use super::request::GenerateRequest;
use super::{Service, metrics, openapi, page, seconds_since_1970};

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
        (Method::POST, "/v1/chat/completions", post(chat)),
        (Method::POST, "/v1/completions", post(completion)),
    ]
}

/// All routes.
pub(super) fn router(service: Arc<Service>) -> Router {
    table()
        .into_iter()
        .fold(Router::new(), |router, (_, path, method)| router.route(path, method))
        .merge(page::routes())
        .fallback(async |method: Method, uri: Uri| ApiError::route(method.as_str(), uri.path()))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| ApiError::method(method.as_str(), uri.path()))
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

async fn models(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(json!({ "object": "list", "data": [model_object(&service)] }))
}

async fn model(State(service): State<Arc<Service>>, Path(name): Path<String>) -> Result<Json<Value>, ApiError> {
    if name == service.served.name { Ok(Json(model_object(&service))) } else { Err(ApiError::model(&name, &service.served.name)) }
}

fn model_object(service: &Service) -> Value {
    json!({ "id": service.served.name, "object": "model", "created": service.started, "owned_by": "tenon" })
}

async fn chat(State(service): State<Arc<Service>>, request: Request) -> Result<Response, ApiError> {
    let (request, delivery) = openai::read_chat(service.body(request).await?, &service.served.name)?;
    answer(service, Route::Chat, request, delivery).await
}

async fn completion(State(service): State<Arc<Service>>, request: Request) -> Result<Response, ApiError> {
    let (request, delivery) = openai::read_completion(service.body(request).await?, &service.served.name)?;
    answer(service, Route::Completion, request, delivery).await
}

async fn answer(service: Arc<Service>, route: Route, request: GenerateRequest, delivery: Delivery) -> Result<Response, ApiError> {
    let logprobs = request.logprobs.is_some();
    let reply = Reply::new(route, &service.served.name, seconds_since_1970(), logprobs, delivery.include_usage);
    let answer = service.generate(request).await?;
    if delivery.stream {
        return Ok(openai::stream(service, reply, answer, delivery.include_usage));
    }
    // When the client leaves, this is dropped, and the answer with it.
    let whole = answer.whole().await?;
    Ok(Json(reply.whole(&service.served.tokenizer, &whole)).into_response())
}
