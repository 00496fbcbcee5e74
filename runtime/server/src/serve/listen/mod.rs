//! The listener: connections, each with its limits, until the server is to end.

mod front;
mod io;
mod opening;
mod unread;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Request, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower_service::Service;

use super::error::ApiError;
use super::limits::HttpLimits;
use front::Arrived;
pub(super) use front::{Front, front};
pub(super) use io::Closed;
use io::{Guarded, Progress, Times};
use opening::Gate;
pub use opening::{Opening, Ready};

/// Time that a client without a place has to read that there is none.
const LINGER: Duration = Duration::from_secs(1);
/// How many of those are told at a time; what comes beside them is closed without a word.
const LINGERING: usize = 64;
/// Pause after an error of the listener that is not one connection's, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Who sent a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Accepts connections until `stop` changes, then lets those that are answered end, and returns when all have ended. Dropping it
/// closes them.
async fn listen(listener: TcpListener, gate: Arc<Gate>, limits: HttpLimits, front: Arc<Front>, stop: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(limits.max_connections));
    let lingering = Arc::new(Semaphore::new(LINGERING));
    let mut connections = JoinSet::new();
    let mut stopped = stop.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = told(&mut stopped) => break,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, peer)) => match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => {
                    let connection =
                        Connection { gate: Arc::clone(&gate), limits, front: Arc::clone(&front), peer, _place: place };
                    connections.spawn(connection.run(stream, stop.clone()));
                }
                Err(_) => {
                    front.metrics.connection_refused();
                    if let Ok(place) = Arc::clone(&lingering).try_acquire_owned() {
                        connections.spawn(refuse(stream, limits.max_connections, place));
                    }
                }
            },
            Err(error) if is_of_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Returns when the server is to end.
async fn told(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await.map(drop);
}

/// True for what happens to one connection before it is accepted.
fn is_of_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

struct Connection {
    gate: Arc<Gate>,
    limits: HttpLimits,
    front: Arc<Front>,
    peer: SocketAddr,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, stream: TcpStream, mut stop: watch::Receiver<bool>) {
        // Answers are many small packets, each of which somebody waits for.
        let _ = stream.set_nodelay(true);
        let limits = &self.limits;
        let progress =
            Progress::new(Times { header: limits.header_timeout, idle: limits.idle_timeout, write: limits.write_timeout });
        let service = service_fn(|mut request: Request<Incoming>| {
            progress.begin();
            let answering = Answering(Arc::clone(&progress));
            let peer = Peer(self.peer);
            request.extensions_mut().insert(peer);
            let arrived = Arrived::new(&self.front, &request, peer);
            let answer = self.gate.router().call(request);
            async move {
                // A connection that has ended behind the request drops this before it is polled.
                arrived.answered();
                let Ok(response): Result<Response<Body>, Infallible> = answer.await;
                Ok::<_, Infallible>(response.map(|body| Answer { body, _answering: answering }))
            }
        });
        let open = self.front.metrics.connection();
        let mut connection = pin!(
            http1::Builder::new()
                // `Guarded` has the times.
                .header_read_timeout(None)
                .max_headers(limits.max_headers)
                .max_header_size(limits.max_header_bytes)
                .serve_connection(TokioIo::new(Guarded::new(stream, Arc::clone(&progress))), service)
        );
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = told(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Some(why) = progress.closed() {
            self.front.metrics.connection_closed(why);
        }
        if let Err(error) = ended {
            tracing::debug!(peer = %self.peer, %error, "a connection has ended");
        }
        drop(open);
    }
}

/// While this lives, a request is answered.
#[derive(Debug)]
struct Answering(Arc<Progress>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// An answer's body, with whose end the connection is idle again.
struct Answer {
    body: Body,
    _answering: Answering,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Says that there are too many connections, to a client whose request is not read.
async fn refuse(stream: TcpStream, limit: usize, _place: OwnedSemaphorePermit) {
    let body = ApiError::connections(limit).body().to_string();
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    // It fits into the empty buffer of a new connection.
    if stream.writable().await.is_err() || stream.try_write((head + &body).as_bytes()).is_err() {
        return;
    }
    // What arrives unread when a socket is closed makes the system reset the connection, and the client may never see the answer.
    let mut bytes = [0; 4096];
    let _ = tokio::time::timeout(LINGER, async {
        while stream.readable().await.is_ok() {
            match stream.try_read(&mut bytes) {
                Ok(0) => break,
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => break,
                _ => {}
            }
        }
    })
    .await;
}
