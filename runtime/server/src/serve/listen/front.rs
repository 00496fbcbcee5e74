//! What every request passes before its route and every answer behind it: its id, who may ask, its books, and its log line.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use tenon_engine::random_seed;
use tokio::time::{Instant, Sleep, sleep};
use tracing::Instrument;

use super::Peer;
use super::unread::Unread;
use crate::serve::auth::{Access, Granted};
use crate::serve::error::ApiError;
use crate::serve::log::{self, Record};
use crate::serve::metrics::Metrics;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The same, as Anthropic's clients read it.
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
/// Longest id that is taken from a client.
const MAX_REQUEST_ID: usize = 128;
/// Seconds for which a browser need not ask again.
const PREFLIGHT_AGE: HeaderValue = HeaderValue::from_static("600");
/// What a comment of an event stream looks like; clients skip it.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// What it needs.
#[derive(Debug)]
pub(in crate::serve) struct Front {
    pub(in crate::serve) access: Access,
    /// The server listens on an address that only this machine reaches.
    pub(in crate::serve) loopback: bool,
    pub(in crate::serve) model: Arc<str>,
    pub(in crate::serve) metrics: Arc<Metrics>,
    /// After how much silence an event stream gets a comment.
    pub(in crate::serve) keep_alive: Duration,
    /// The form that errors have on a path.
    pub(in crate::serve) dialect: fn(&str, ApiError) -> Response,
}

/// The layer.
pub(in crate::serve) async fn front(State(front): State<Arc<Front>>, mut request: Request<Body>, next: Next) -> Response {
    let id = request_id(request.headers());
    if let Ok(id) = HeaderValue::from_str(&id) {
        // Routes that tell it find the one that counts.
        request.headers_mut().insert(X_REQUEST_ID, id);
    }
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let method = request.method().clone();
    let metrics = Arc::clone(&front.metrics);
    let record = Record::new(id, method.clone(), route, peer, Arc::clone(&front.model), metrics);
    let (request, unread) = Unread::of(request);
    // Dropped with this future when the client leaves before there is an answer.
    let departure = Departure(Arc::clone(&record));

    let (mut response, origin) = match front.access.check(&method, &path, request.headers(), front.loopback) {
        Err(error) => ((front.dialect)(&path, error), front.access.allowed_origin(request.headers())),
        Ok(Granted { key, origin }) => {
            record.key(key);
            let response = match origin {
                Some(_) if method == Method::OPTIONS => preflight(request.headers()),
                _ => {
                    let span = tracing::info_span!("request", request_id = %record.id);
                    let answer = log::scope(Arc::clone(&record), unpanicked(next.run(request)).instrument(span));
                    answer.await.unwrap_or_else(|_| {
                        (front.dialect)(&path, ApiError::internal("answering this request failed, which is a bug"))
                    })
                }
            };
            (response, origin)
        }
    };

    let code = response.extensions().get::<ApiError>().map(|error| error.code);
    record.status(response.status(), code);
    unread.tell(&mut response);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&record.id) {
        if path.starts_with("/v1/messages") {
            headers.insert(REQUEST_ID, id.clone());
        }
        headers.insert(X_REQUEST_ID, id);
    }
    if code == Some("queue_full") {
        headers.insert(header::RETRY_AFTER, front.metrics.retry_after().into());
    }
    if code == Some("invalid_api_key") {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tenon-server\""));
    }
    if !front.access.origins.is_empty() {
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
    if let Some(origin) = origin.and_then(|origin| HeaderValue::try_from(origin).ok()) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("x-request-id, request-id, retry-after"));
    }
    let events = headers.get(header::CONTENT_TYPE).is_some_and(|media| media.as_bytes().starts_with(b"text/event-stream"));
    if events {
        // Proxies that collect answers would hold events back.
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    }
    let keep_alive = events.then(|| KeepAlive { after: front.keep_alive, sleep: Box::pin(sleep(front.keep_alive)) });
    let unread = method == Method::HEAD;
    response.map(|body| Body::new(Observed { body, departure, keep_alive, over: unread }))
}

/// A request whose head has arrived, until somebody begins to answer it. Where its client has left already, nobody does, and it is
/// closed in the books as any other that was left: its route was never looked for.
pub(super) struct Arrived {
    front: Arc<Front>,
    /// Id, method and sender; `None` once it is answered.
    request: Option<(String, Method, Peer)>,
}

impl Arrived {
    pub(super) fn new<B>(front: &Arc<Front>, request: &Request<B>, peer: Peer) -> Self {
        let request = Some((request_id(request.headers()), request.method().clone(), peer));
        Self { front: Arc::clone(front), request }
    }

    /// Its books are kept by [`front`] from now on.
    pub(super) fn answered(mut self) {
        self.request = None;
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        if let Some((id, method, peer)) = self.request.take() {
            let metrics = Arc::clone(&self.front.metrics);
            Record::new(id, method, "other".to_owned(), Some(peer.0), Arc::clone(&self.front.model), metrics).over(true);
        }
    }
}

/// The id that a client gave its request, if others can rely on its form, or a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(X_REQUEST_ID).and_then(|id| id.to_str().ok());
    let plain = |id: &&str| {
        (1..=MAX_REQUEST_ID).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':'))
    };
    match given.filter(plain) {
        Some(id) => id.to_owned(),
        None => format!("req_{:016x}{:08x}", random_seed(), random_seed() as u32),
    }
}

/// What a browser asks before it sends a request of another origin that may ask.
fn preflight(asked: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
    // Clients send headers of their own (`x-stainless-..`), and none of them gives a page more than it has already.
    if let Some(wanted) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_AGE);
    response
}

/// A panic of one request is that request's.
async fn unpanicked<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    // What a panic leaves half done is dropped with the future; what requests share holds a lock only for single assignments.
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

/// Closes the books of a request whose client is gone, unless they are closed.
#[derive(Debug)]
struct Departure(Arc<Record>);

impl Drop for Departure {
    fn drop(&mut self) {
        self.0.over(true);
    }
}

struct KeepAlive {
    after: Duration,
    sleep: Pin<Box<Sleep>>,
}

/// An answer's body, with whose end the books are closed.
struct Observed {
    body: Body,
    departure: Departure,
    keep_alive: Option<KeepAlive>,
    over: bool,
}

impl HttpBody for Observed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let polled = log::scope_sync(&this.departure.0, || Pin::new(&mut this.body).poll_frame(cx));
        match &polled {
            Poll::Ready(None) => this.over = true,
            Poll::Ready(Some(_)) => {
                if let Some(keep_alive) = &mut this.keep_alive {
                    keep_alive.sleep.as_mut().reset(Instant::now() + keep_alive.after);
                }
            }
            Poll::Pending => {
                if let Some(keep_alive) = &mut this.keep_alive
                    && keep_alive.sleep.as_mut().poll(cx).is_ready()
                {
                    keep_alive.sleep.as_mut().reset(Instant::now() + keep_alive.after);
                    // A frame of the body is a whole event, so that this stands between two.
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(KEEP_ALIVE)))));
                }
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        // A body of known length is not asked for its end.
        if self.over || self.body.is_end_stream() {
            self.departure.0.over(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_a_client_is_taken_if_it_is_plain() {
        let id = |given: &[u8]| {
            let headers = HeaderMap::from_iter([(X_REQUEST_ID, HeaderValue::from_bytes(given).unwrap())]);
            request_id(&headers)
        };
        for good in ["a", "7f1c2d3e-aaaa-bbbb-cccc-000000000000", "trace:1.2_x", &"x".repeat(128)] {
            assert_eq!(id(good.as_bytes()), good);
        }
        for bad in ["", "a b", "a\tb", "{}", "a,b", "\"x\"", &"x".repeat(129)] {
            let invented = id(bad.as_bytes());
            assert!(invented.len() == 28 && invented.starts_with("req_"), "{invented}");
        }
        assert!(id(b"\xfc\xfc").starts_with("req_"));
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }
}
