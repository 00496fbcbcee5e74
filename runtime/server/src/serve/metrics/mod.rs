//! What `/metrics` tells, in Prometheus's text format.

mod gauges;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::Method;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tenon_engine::FinishReason;

use super::answer::Ending;
use super::listen::Closed;
use super::observe::{Observer, Occurrence};
pub(super) use gauges::EngineState;

/// The media type of the text.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// From a millisecond to two minutes: a first token after a long queue and a long prompt.
const SECONDS: [f64; 17] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 120.0];
/// From a tenth of a millisecond to a few seconds: the time between two tokens.
const TOKEN_SECONDS: [f64; 14] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];
/// Longest time that a refused client is asked to wait, in seconds.
const MAX_RETRY_AFTER: u64 = 60;

type Labels<const N: usize> = [(&'static str, String); N];

/// Why one answer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    Stop,
    Length,
    ToolCalls,
    Cancelled,
    Error,
}

impl Finish {
    /// Why an answer is over, as its client is told.
    pub(super) fn of(ending: &Ending) -> Self {
        match ending {
            Ending::Stop | Ending::StopSequence(_) => Self::Stop,
            Ending::Length => Self::Length,
            Ending::ToolCalls => Self::ToolCalls,
        }
    }

    /// As metrics and logs call it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
        }
    }
}

/// Everything that is counted.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Labels<3>, Counter>,
    durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
    refused: Family<Labels<1>, Counter>,
    clients_gone: Family<Labels<1>, Counter>,
    connections: Gauge,
    connections_refused: Counter,
    connections_closed: Family<Labels<1>, Counter>,
    answers: Family<Labels<1>, Counter>,
    deadlines: Counter,
    queue_time: Histogram,
    first_token: Histogram,
    inter_token: Histogram,
    prompt_tokens: Counter,
    cached_tokens: Counter,
    generated_tokens: Counter,
    engine: Arc<EngineState>,
    /// Mean time that an answer takes once it computes, over about the last sixteen, in microseconds.
    answer_micros: AtomicU64,
    /// Requests that compute at the same time.
    places: u64,
}

impl Metrics {
    /// Nothing has happened yet. `places` requests compute at the same time.
    pub(super) fn new(model: &str, places: usize) -> Arc<Self> {
        let mut registry = Registry::default();
        let seconds = || Histogram::new(SECONDS);
        let metrics = Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(seconds),
            refused: Family::default(),
            clients_gone: Family::default(),
            connections: Gauge::default(),
            connections_refused: Counter::default(),
            connections_closed: Family::default(),
            answers: Family::default(),
            deadlines: Counter::default(),
            queue_time: seconds(),
            first_token: seconds(),
            inter_token: Histogram::new(TOKEN_SECONDS),
            prompt_tokens: Counter::default(),
            cached_tokens: Counter::default(),
            generated_tokens: Counter::default(),
            engine: Arc::default(),
            answer_micros: AtomicU64::new(0),
            places: places.max(1) as u64,
            registry: Registry::default(),
        };
        let build = vec![("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()), ("model".to_owned(), model.to_owned())];
        registry.register("tenon_build", "What runs: the server's version and the model that it serves", Info::new(build));
        metrics.register(&mut registry);
        registry.register_collector(Box::new(gauges::Process::new()));
        registry.register_collector(Box::new(Arc::clone(&metrics.engine)));
        Arc::new(Self { registry, ..metrics })
    }

    #[rustfmt::skip]
    fn register(&self, to: &mut Registry) {
        to.register("tenon_http_requests", "Requests that were answered, by method, route and status; 499 is a client that left before", self.requests.clone());
        to.register_with_unit("tenon_http_request_duration", "Time from a request's headers to the end of its answer, by route", Unit::Seconds, self.durations.clone());
        to.register("tenon_requests_refused", "Requests that were answered with an error, by the error's code", self.refused.clone());
        to.register("tenon_http_clients_gone", "Requests whose client left before the end of the answer, by route", self.clients_gone.clone());
        to.register("tenon_http_connections", "Connections that are open", self.connections.clone());
        to.register("tenon_http_connections_refused", "Connections beyond --max-connections", self.connections_refused.clone());
        to.register("tenon_http_connections_closed", "Connections that the server closed, by the timeout that had passed", self.connections_closed.clone());
        to.register("tenon_answers", "Answers that ended, by why; a request has n of them", self.answers.clone());
        to.register("tenon_deadlines", "Sequences whose time was over before their answer was", self.deadlines.clone());
        to.register_with_unit("tenon_queue_time", "Time that a sequence waited before the engine took it up", Unit::Seconds, self.queue_time.clone());
        to.register_with_unit("tenon_time_to_first_token", "Time from when a sequence was queued to its first token", Unit::Seconds, self.first_token.clone());
        to.register_with_unit("tenon_inter_token_latency", "Time between two tokens of a sequence", Unit::Seconds, self.inter_token.clone());
        to.register("tenon_prompt_tokens", "Tokens of prompts that were queued, cached ones included", self.prompt_tokens.clone());
        to.register("tenon_cached_prompt_tokens", "Tokens of prompts that were found in the cache of prefixes", self.cached_tokens.clone());
        to.register("tenon_generated_tokens", "Tokens that were generated", self.generated_tokens.clone());
    }

    /// The text.
    pub(super) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// What the engine's thread writes after each step.
    pub(super) fn engine(&self) -> &Arc<EngineState> {
        &self.engine
    }

    /// A request was answered.
    pub(super) fn answered(&self, method: &Method, route: &str, status: u16, took: Duration) {
        // A client may invent methods, and each would be a series.
        let method = match method.as_str() {
            known @ ("GET" | "POST" | "HEAD" | "OPTIONS" | "PUT" | "DELETE" | "PATCH") => known,
            _ => "other",
        };
        let labels = [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
        self.durations.get_or_create(&[("route", route.to_owned())]).observe(took.as_secs_f64());
    }

    /// A request was answered with this error.
    pub(super) fn refused(&self, code: &'static str) {
        self.refused.get_or_create(&[("reason", code.to_owned())]).inc();
    }

    /// A client left before the end of the answer.
    pub(super) fn client_gone(&self, route: &str) {
        self.clients_gone.get_or_create(&[("route", route.to_owned())]).inc();
    }

    /// An answer is over.
    pub(super) fn finished(&self, finish: Finish) {
        self.answers.get_or_create(&[("reason", finish.as_str().to_owned())]).inc();
    }

    /// A connection that counts while this lives.
    pub(super) fn connection(self: &Arc<Self>) -> Open {
        self.connections.inc();
        Open(Arc::clone(self))
    }

    /// A connection found no place.
    pub(super) fn connection_refused(&self) {
        self.connections_refused.inc();
    }

    /// A connection was closed from this side.
    pub(super) fn connection_closed(&self, why: Closed) {
        self.connections_closed.get_or_create(&[("reason", why.as_str().to_owned())]).inc();
    }

    /// After how many seconds there is likely a place: the mean time of recent answers, over those that compute at the same time.
    pub(super) fn retry_after(&self) -> u64 {
        let micros = self.answer_micros.load(Ordering::Relaxed) / self.places;
        micros.div_ceil(1_000_000).clamp(1, MAX_RETRY_AFTER)
    }

    fn answer_took(&self, took: Duration) {
        let new = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mean = |old: u64| if old == 0 { new } else { old - old / 16 + new / 16 };
        let _ = self.answer_micros.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(mean(old)));
    }
}

impl Observer for Metrics {
    fn observe(&self, occurrence: Occurrence<'_>) {
        match occurrence {
            // The answer's status counts it.
            Occurrence::Refused(_) => {}
            Occurrence::Queued { prompt_tokens } => {
                self.prompt_tokens.inc_by(prompt_tokens as u64);
            }
            Occurrence::Admitted { waited } => self.queue_time.observe(waited.as_secs_f64()),
            Occurrence::Token { first, after } => {
                self.generated_tokens.inc();
                let histogram = if first { &self.first_token } else { &self.inter_token };
                histogram.observe(after.as_secs_f64());
            }
            Occurrence::Finished { reason, usage, took } => {
                self.cached_tokens.inc_by(usage.cached_tokens as u64);
                match reason {
                    FinishReason::Deadline => drop(self.deadlines.inc()),
                    // The token that ends an answer is told to nobody, and was computed like the others.
                    FinishReason::End(_) => drop(self.generated_tokens.inc()),
                    FinishReason::MaxTokens | FinishReason::Context | FinishReason::Cancelled => {}
                }
                self.answer_took(took);
            }
            Occurrence::Ended(ending) => self.finished(Finish::of(ending)),
            Occurrence::Failed { took, .. } => {
                self.finished(Finish::Error);
                self.answer_took(took);
            }
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Open(Arc<Metrics>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.dec();
    }
}
