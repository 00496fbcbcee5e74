//! Whether a request's body was read to its end. Of a connection on which some of it is still to come, nothing more can be read, so
//! that it is closed behind the answer; a client that is not told would send its next request there.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// What is known about a body that somebody else reads.
#[derive(Debug)]
pub(super) struct Unread(Arc<AtomicBool>);

impl Unread {
    /// Watches the body of a request.
    pub(super) fn of(request: Request) -> (Request, Self) {
        let ended = Arc::new(AtomicBool::new(request.body().is_end_stream()));
        let watched = Arc::clone(&ended);
        (request.map(|body| Body::new(Watched { body, ended: watched })), Self(ended))
    }

    /// Says that the connection will be closed, where it will.
    pub(super) fn tell(&self, response: &mut Response) {
        if !self.0.load(Ordering::Relaxed) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

struct Watched {
    body: Body,
    ended: Arc<AtomicBool>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.ended.store(true, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    #[tokio::test]
    async fn only_what_is_left_unread_closes_the_connection() {
        for (body, read, closes) in [("{}", true, false), ("{}", false, true), ("", false, false)] {
            let (request, unread) = Unread::of(Request::new(Body::from(body)));
            if read {
                assert_eq!(to_bytes(request.into_body(), 8).await.unwrap(), body);
            }
            let mut response = Response::new(Body::empty());
            unread.tell(&mut response);
            assert_eq!(response.headers().contains_key(header::CONNECTION), closes, "{body:?}, read: {read}");
        }
    }
}
