//! What the routes do.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::read;
use super::reply::{Blocks, Content, Reply};
use super::stream::stream;
use crate::serve::Service;
use crate::serve::answer::Part;
use crate::serve::error::ApiError;
use crate::serve::routes::body;

/// The header that names the API's version.
const VERSION: &str = "anthropic-version";
/// The versions that are spoken. What a message is made of is the same in both; the later one has no sampling parameters, which are
/// taken here whatever the version, since the models are others. The version before them had other events.
const SPOKEN: [&str; 2] = ["2023-06-01", "2026-10-21"];

/// Whether a request says that it speaks this dialect.
pub(in crate::serve) fn is_spoken(headers: &HeaderMap) -> bool {
    headers.contains_key(VERSION)
}

/// `POST /v1/messages`
pub(in crate::serve) async fn messages(State(service): State<Arc<Service>>, request: Request) -> Result<Response, ApiError> {
    check_version(request.headers())?;
    let (request, delivery) = read::read(body(request, service.max_body_bytes).await?, &service.served)?;
    let reply = Reply::new(&service.served.name);
    let mut answer = service.generate(request).await?;
    let mut blocks = Blocks::new(delivery.omit_thinking, move || service.call_id("toolu_"));
    if delivery.stream {
        return Ok(stream(reply, blocks, answer));
    }
    // When the client leaves, this is dropped, and the answer with it.
    let (mut content, mut ending) = (Content::default(), None);
    while let Some(part) = answer.next().await? {
        match part {
            Part::Delta { deltas, .. } => {
                for delta in deltas {
                    blocks.push(delta, &mut |event| content.add(event));
                }
            }
            Part::End { ending: found, .. } => {
                blocks.finish(&mut |event| content.add(event));
                ending = Some(found);
            }
            Part::Usage(_) => {}
        }
    }
    Ok(Json(reply.message(content.into_blocks(), ending.as_ref(), answer.usage())).into_response())
}

/// `POST /v1/messages/count_tokens`
pub(in crate::serve) async fn count_tokens(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    check_version(request.headers())?;
    let prompt = read::read_to_count(body(request, service.max_body_bytes).await?, &service.served)?;
    let tokens = service.count(&prompt).await?;
    Ok(Json(json!({ "input_tokens": tokens })))
}

/// `/v1/complete`, which the API itself has given up.
pub(in crate::serve) async fn complete() -> ApiError {
    ApiError::not_implemented("/v1/complete", "/v1/messages is")
}

/// The models as this dialect lists them.
pub(in crate::serve) fn models(service: &Service) -> Value {
    let name = &service.served.name;
    json!({ "data": [model(service)], "has_more": false, "first_id": name, "last_id": name })
}

/// The model.
pub(in crate::serve) fn model(service: &Service) -> Value {
    let name = &service.served.name;
    json!({
        "type": "model",
        "id": name,
        "display_name": name,
        // What the API says where it is not known.
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": service.served.context,
        "max_tokens": service.served.context,
    })
}

fn check_version(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get(VERSION).map(|version| version.to_str().unwrap_or("not text")) {
        Some(other) if !SPOKEN.contains(&other) => {
            let message = format!("the header `{VERSION}` is `{other}`, and this server speaks {}", SPOKEN.join(" and "));
            Err(ApiError::request("unsupported_version", message))
        }
        _ => Ok(()),
    }
}
