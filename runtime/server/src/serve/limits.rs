//! What a connection and a body may take, and how long.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::error::ApiError;

/// Bytes that are read of a body that is refused for its size.
const DISCARD: usize = 64 << 20;

/// What a connection may take, and how long.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Connections at a time; further ones get 503.
    pub max_connections: usize,
    /// Headers of a request; more are answered with 431.
    pub max_headers: usize,
    /// Bytes of a request's line and headers together; more are answered with 431.
    pub max_header_bytes: usize,
    /// How deep arrays and objects of a body may be nested in one another.
    pub max_json_depth: usize,
    /// From a connection's beginning, or the first byte of a further request, to the end of the headers.
    pub header_timeout: Duration,
    /// From the end of the headers to the end of the body.
    pub body_timeout: Duration,
    /// Between an answer and the next request of the same connection.
    pub idle_timeout: Duration,
    /// How long a client may take nothing of an answer that is ready for it.
    pub write_timeout: Duration,
    /// After how much silence an event stream gets a comment.
    pub sse_keep_alive: Duration,
    /// The longest time that a request computes and waits; a request may ask for less.
    pub request_timeout: Option<Duration>,
    /// How long requests may still run once the server is to end.
    pub drain_timeout: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_headers: 100,
            max_header_bytes: 32 << 10,
            max_json_depth: 64,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            sse_keep_alive: Duration::from_secs(15),
            request_timeout: None,
            drain_timeout: Duration::from_secs(60),
        }
    }
}

/// What a body may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyLimits {
    /// Its bytes.
    pub(super) bytes: usize,
    /// How deep its JSON may be nested.
    pub(super) depth: usize,
    /// How long it may take.
    pub(super) time: Duration,
    /// Values, all levels together.
    pub(super) values: usize,
}

/// The JSON of a body. A key that stands twice in an object is an error, since readers that take the first or the last one
/// disagree about what was asked.
pub(super) async fn json(request: Request, limits: BodyLimits) -> Result<Value, ApiError> {
    let until = Instant::now() + limits.time;
    if let Some(size) = announced_size(request.headers()).filter(|size| *size > limits.bytes as u64) {
        // Most clients write all of it before they read, and would see a broken connection instead of the answer.
        let _ = timeout_at(until, discard(request.into_body(), DISCARD)).await;
        return Err(ApiError::too_large(Some(size), limits.bytes));
    }
    check_media_type(request.headers())?;
    let bytes = timeout_at(until, read(request.into_body(), limits.bytes)).await;
    let bytes = bytes.map_err(|_| body_timeout(limits.time))??;
    check_depth(&bytes, limits.depth)?;
    let invalid = |error| ApiError::request("invalid_json", format!("the body is not JSON that can be read: {error}"));
    tenon_formats::json::parse_within(&bytes, limits.values).map_err(invalid)
}

async fn read(body: Body, limit: usize) -> Result<Vec<u8>, ApiError> {
    let (mut stream, mut bytes) = (body.into_data_stream(), Vec::new());
    while let Some(more) = stream.next().await {
        let more = more.map_err(|error| ApiError::request("invalid_body", format!("the body cannot be read: {error}")))?;
        if bytes.len() + more.len() > limit {
            return Err(ApiError::too_large(None, limit));
        }
        bytes.extend_from_slice(&more);
    }
    Ok(bytes)
}

/// 408: the body did not arrive in time.
fn body_timeout(time: Duration) -> ApiError {
    let message = format!("the body did not arrive within {} seconds", time.as_secs_f64());
    ApiError { status: StatusCode::REQUEST_TIMEOUT, ..ApiError::request("body_timeout", message) }
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

/// Refuses nesting before anything is built of it. Text that is no JSON passes, since the reader says better what is wrong with it.
fn check_depth(text: &[u8], limit: usize) -> Result<(), ApiError> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for &byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    let message = format!("the body has arrays and objects nested more than {limit} deep");
                    return Err(ApiError::request("nesting_too_deep", message));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_is_counted_outside_of_strings() {
        let deep = |text: &str| check_depth(text.as_bytes(), 2).map_err(|error| error.code);
        assert_eq!(deep(r#"{"a": [1, 2], "b": [], "c": [{}"#), Err("nesting_too_deep"));
        assert_eq!(deep(r#"{"a": [1, 2], "b": [], "c": {"d": 1}}"#), Ok(()));
        assert_eq!(deep(r#"{"a[[[[{{{{": ["\"[[[{{{\\"]}"#), Ok(()));
        assert_eq!(deep("]]]}}}[["), Ok(()));
        assert_eq!(deep(r#"["\\", [["#), Err("nesting_too_deep"));
    }
}
