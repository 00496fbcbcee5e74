//! The routes of OpenAI's API.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use tenon_formats::tools::ToolChoice;

use super::reply::{Reply, Route};
use super::{Delivery, chat, completions as completion, stream};
use crate::serve::error::ApiError;
use crate::serve::request::{GenerateRequest, Prompt};
use crate::serve::{Service, seconds_since_1970};

/// `POST /v1/chat/completions`
pub(in crate::serve) async fn chat_completions(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response, ApiError> {
    let body = service.body(request).await?;
    let (request, delivery) = chat::read(body, &service.served)?;
    answer(service, Route::Chat, vec![request], delivery).await
}

/// `POST /v1/completions`
pub(in crate::serve) async fn completions(State(service): State<Arc<Service>>, request: Request) -> Result<Response, ApiError> {
    let body = service.body(request).await?;
    let (requests, delivery) = completion::read(body, &service.served, service.worker.room())?;
    answer(service, Route::Completion, requests, delivery).await
}

/// The first part of the routes of the API that this server does not have.
const NOT_IMPLEMENTED: [&str; 18] = [
    "assistants",
    "audio",
    "batches",
    "chatkit",
    "containers",
    "conversations",
    "embeddings",
    "evals",
    "files",
    "fine_tuning",
    "images",
    "moderations",
    "realtime",
    "responses",
    "threads",
    "uploads",
    "vector_stores",
    "videos",
];

/// The error of such a route.
pub(in crate::serve) fn not_implemented(path: &str) -> Option<ApiError> {
    let first = path.strip_prefix("/v1/")?.split('/').next()?;
    let known = NOT_IMPLEMENTED.contains(&first);
    known.then(|| ApiError::not_implemented(path, "/v1/chat/completions, /v1/completions and /v1/models are"))
}

async fn answer(
    service: Arc<Service>,
    route: Route,
    requests: Vec<GenerateRequest>,
    delivery: Delivery,
) -> Result<Response, ApiError> {
    let logprobs = requests.iter().any(|request| request.logprobs.is_some());
    let is_named = requests.iter().any(|request| match &request.prompt {
        Prompt::Chat(chat) => matches!(chat.tools.choice, ToolChoice::Named(_)),
        Prompt::Text(_) | Prompt::Tokens(_) => false,
    });
    let mut reply = Reply::new(route, &service.served.name, &service.fingerprint, seconds_since_1970());
    (reply.logprobs, reply.is_named, reply.usage) = (logprobs, is_named, delivery.include_usage);
    let answer = service.generate_all(requests).await?;
    if delivery.stream {
        return Ok(stream::stream(service, reply, answer));
    }
    // When the client leaves, this is dropped, and the answer with it.
    let whole = answer.whole().await?;
    Ok(Json(reply.whole(&service, &whole)).into_response())
}
