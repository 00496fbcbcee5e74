//! What is known about one request, and the line that tells it at the end.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};

use crate::serve::metrics::{Finish, Metrics};
use crate::serve::observe::{Observer, Occurrence};

tokio::task_local! {
    static CURRENT: Arc<Record>;
}

/// The books of one request. When the last of those who work on it lets go, its line is written: the connection when the answer is
/// over, the engine when it computes nothing more for it.
#[derive(Debug)]
pub(in crate::serve) struct Record {
    pub(in crate::serve) id: String,
    pub(in crate::serve) method: Method,
    /// The pattern of the route, not the path: what a client invents does not become a label.
    pub(in crate::serve) route: String,
    pub(in crate::serve) peer: Option<SocketAddr>,
    metrics: Arc<Metrics>,
    model: Arc<str>,
    began: Instant,
    facts: Mutex<Facts>,
}

#[derive(Clone, Debug, Default)]
struct Facts {
    key: Option<String>,
    status: Option<StatusCode>,
    error: Option<&'static str>,
    /// Prompt and answers, once something was computed or is to be.
    prompt_tokens: Option<usize>,
    cached_tokens: usize,
    completion_tokens: usize,
    queue: Option<Duration>,
    first_token: Option<Duration>,
    finish: Option<Finish>,
    /// Answers that have not ended.
    open: u64,
    took: Option<Duration>,
    client_gone: bool,
}

/// Runs what answers a request, so that it finds its books.
pub(in crate::serve) async fn scope<F: Future>(record: Arc<Record>, future: F) -> F::Output {
    CURRENT.scope(record, future).await
}

/// The same for what does not wait.
pub(in crate::serve) fn scope_sync<R>(record: &Arc<Record>, work: impl FnOnce() -> R) -> R {
    CURRENT.sync_scope(Arc::clone(record), work)
}

/// The books of the request that is answered here, if one is.
pub(in crate::serve) fn current() -> Option<Arc<Record>> {
    CURRENT.try_with(Arc::clone).ok()
}

impl Record {
    /// A request that has just arrived.
    pub(in crate::serve) fn new(
        id: String,
        method: Method,
        route: String,
        peer: Option<SocketAddr>,
        model: Arc<str>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        Arc::new(Self { id, method, route, peer, metrics, model, began: Instant::now(), facts: Mutex::default() })
    }

    /// Its key has this name.
    pub(in crate::serve) fn key(&self, name: Option<String>) {
        self.facts().key = name;
    }

    /// It is answered with this status, and where that is an error, for this reason.
    pub(in crate::serve) fn status(&self, status: StatusCode, error: Option<&'static str>) {
        let mut facts = self.facts();
        (facts.status, facts.error) = (Some(status), error.or(facts.error));
        if let Some(code) = facts.error {
            self.metrics.refused(code);
        }
    }

    /// Nothing more is sent: all was, or the client is gone. The first call counts.
    pub(in crate::serve) fn over(&self, client_gone: bool) {
        let mut facts = self.facts();
        if facts.took.is_some() {
            return;
        }
        let took = self.began.elapsed();
        (facts.took, facts.client_gone) = (Some(took), client_gone);
        // 499 is what proxies log for a client that has left before it was answered.
        let status = facts.status.map_or(499, |status| status.as_u16());
        self.metrics.answered(&self.method, &self.route, status, took);
        if client_gone {
            self.metrics.client_gone(&self.route);
            for _ in 0..std::mem::take(&mut facts.open) {
                facts.finish.get_or_insert(Finish::Cancelled);
                self.metrics.finished(Finish::Cancelled);
            }
        }
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        // Each change is one assignment.
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Record {
    fn observe(&self, occurrence: Occurrence<'_>) {
        self.metrics.observe(occurrence);
        let mut facts = self.facts();
        match occurrence {
            // Counted with the answer's status; not every form of an error says its code.
            Occurrence::Refused(error) => facts.error = Some(error.code),
            // Of several answers the first that is over stands for all in the line; each is counted.
            Occurrence::Ended(ending) => {
                facts.finish.get_or_insert(Finish::of(ending));
                facts.open = facts.open.saturating_sub(1);
            }
            // The answers of a request share its prompt.
            Occurrence::Queued { prompt_tokens } => {
                facts.prompt_tokens = Some(prompt_tokens);
                facts.open += 1;
            }
            Occurrence::Admitted { waited } => {
                facts.queue.get_or_insert(waited);
            }
            Occurrence::Token { first, after } => {
                facts.completion_tokens += 1;
                if first {
                    facts.first_token.get_or_insert(after);
                }
            }
            Occurrence::Finished { usage, .. } => facts.cached_tokens = facts.cached_tokens.max(usage.cached_tokens),
            Occurrence::Failed { message, .. } => {
                facts.finish.get_or_insert(Finish::Error);
                facts.open = facts.open.saturating_sub(1);
                drop(facts);
                tracing::error!(parent: None, request_id = %self.id, error = message, "a request has failed");
            }
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.over(true);
        let facts = self.facts.get_mut().unwrap_or_else(PoisonError::into_inner);
        let ms = |time: Option<Duration>| time.map(|time| (time.as_secs_f64() * 1e4).round() / 10.0);
        let status = facts.status.map_or(499, |status| status.as_u16());
        let computed = facts.prompt_tokens.is_some();
        // A macro, since the level of an event is part of its type.
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    parent: None,
                    request_id = %self.id,
                    method = %self.method,
                    route = %self.route,
                    status,
                    error_code = facts.error,
                    model = computed.then_some(&*self.model),
                    prompt_tokens = facts.prompt_tokens,
                    cached_tokens = computed.then_some(facts.cached_tokens),
                    completion_tokens = computed.then_some(facts.completion_tokens),
                    queue_ms = ms(facts.queue),
                    ttft_ms = ms(facts.first_token),
                    total_ms = ms(facts.took),
                    finish_reason = facts.finish.map(Finish::as_str),
                    client_gone = facts.client_gone,
                    key = facts.key.as_deref(),
                    peer = self.peer.map(tracing::field::display),
                    "request"
                )
            };
        }
        match (status, &*self.route) {
            (500.., _) => line!(warn),
            (_, "/health" | "/ready" | "/metrics") => line!(debug),
            _ => line!(info),
        }
    }
}
