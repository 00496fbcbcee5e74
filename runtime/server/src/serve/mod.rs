//! The HTTP server: the routes of OpenAI and of Anthropic over one engine, several requests at a time.
//!
//! A connection has limits and times ([`listen`], [`limits`]); what comes through one passes [`listen::front`], which knows who may ask
//! ([`auth`]) and keeps the books ([`log`], [`metrics`]).
//!
//! A request is read strictly ([`fields`]), brought into one form ([`request`]), rendered and tokenized ([`prompt`]), and handed to
//! the thread that owns the engine ([`worker`], by [`generate`]); its tokens come back through a channel and become content,
//! reasoning and calls ([`answer`]) in the form that the route speaks ([`openai`], [`anthropic`]).

mod answer;
mod anthropic;
mod auth;
mod constrain;
mod declared;
mod error;
mod fields;
mod generate;
mod ids;
mod limits;
mod listen;
mod log;
mod metrics;
mod observe;
mod openai;
mod openapi;
mod page;
mod prompt;
mod request;
mod routes;
mod template;
#[cfg(test)]
mod testing;
mod tokenize;
mod worker;

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::Request as HttpRequest;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tenon_core::model::SamplingDefaults;
use tenon_engine::{ChatTemplate, Engine, Tokenizer};
use tenon_formats::json::MAX_VALUES;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use constrain::Grammars;
use error::ApiError;
use limits::BodyLimits;
use metrics::Metrics;
use worker::{Running, Worker};

pub use auth::{Access, KeyError, Keys, Origin, OriginError};
pub use limits::HttpLimits;
pub use listen::{Opening, Ready};
pub use log::{LogFormat, LogLevel, start as start_log};

/// Time that clients have to read the rest of their answers once the engine has finished them and the server is to end.
const FLUSH: Duration = Duration::from_secs(5);

/// The model that is served, as far as text is concerned.
#[derive(Debug)]
pub struct Served {
    /// The name that requests must give.
    pub name: String,
    /// Its vocabulary.
    pub tokenizer: Tokenizer,
    /// Its chat format, if it has one.
    pub template: Option<ChatTemplate>,
    /// Most tokens of one request, prompt and answer together; the engine may hold more for several.
    pub context: usize,
    /// Sampling parameters of a request that states none.
    pub sampling: SamplingDefaults,
}

/// How much the server takes on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sequences that compute at the same time; the engine's own number.
    pub max_sequences: usize,
    /// Sequences that wait beside them; a request that does not find a place for all of its own is refused with 429.
    pub queue: usize,
    /// Bytes of a request's body.
    pub max_body_bytes: usize,
}

/// Why a server ended although nobody asked it to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The engine's thread ended.
    #[error("the engine has stopped, which is a bug; what it printed above says why")]
    Engine,
    /// The listener failed.
    #[error("the server cannot accept connections: {0}")]
    Accept(#[from] std::io::Error),
}

/// What the routes share.
#[derive(Debug)]
struct Service {
    served: Served,
    plan: Value,
    worker: Worker,
    /// Places for prompts that are only read.
    readers: Arc<Semaphore>,
    grammars: Grammars,
    max_body_bytes: usize,
    http: HttpLimits,
    /// Seconds since 1970.
    started: u64,
    metrics: Arc<Metrics>,
    /// Names the configuration that answers: what a seed repeats, it repeats under the same name.
    fingerprint: String,
}

/// A server whose engine runs, and which does not listen yet.
#[derive(Debug)]
pub struct Server {
    service: Service,
    access: Access,
    engine: Running,
}

impl Server {
    /// Starts the thread of the engine. `plan` is what `GET /debug/plan` answers: what is running, and where it comes from.
    pub fn start(served: Served, plan: Value, engine: Engine, limits: Limits) -> std::io::Result<Self> {
        let metrics = Metrics::new(&served.name, limits.max_sequences);
        let (service, engine) = Self::service(served, plan, engine, limits, HttpLimits::default(), metrics)?;
        Ok(Self { service, access: Access::default(), engine })
    }

    fn service(
        served: Served,
        plan: Value,
        engine: Engine,
        limits: Limits,
        http: HttpLimits,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<(Service, Running)> {
        let books = Arc::clone(metrics.engine());
        let (worker, engine) = worker::start(engine, limits.max_sequences.saturating_add(limits.queue), books)?;
        let (max_body_bytes, started) = (limits.max_body_bytes, seconds_since_1970());
        let fingerprint = fingerprint(&plan);
        let grammars = Grammars::default();
        let readers = Arc::new(Semaphore::new(worker.room()));
        Ok((Service { served, plan, worker, readers, grammars, max_body_bytes, http, started, metrics, fingerprint }, engine))
    }

    /// With other limits of connections and times than the default ones.
    pub fn http(mut self, limits: HttpLimits) -> Self {
        self.service.http = limits;
        self
    }

    /// For those who may ask; without this, everybody who reaches the address may.
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Answers requests until `shutdown`, then takes no more, finishes those that it has taken as far as the time for it goes, and
    /// returns.
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let Self { service, access, engine } = self;
        let (http, metrics) = (service.http, Arc::clone(&service.metrics));
        let service = Arc::new(service);
        let opening = Opening::with(listener, &service.served.name, http, access, metrics, Some(&service))?;
        opening.serve(service, engine).run(shutdown).await
    }
}

impl Service {
    /// The JSON of a request's body, within the limits.
    async fn body(&self, request: HttpRequest) -> Result<Value, ApiError> {
        let HttpLimits { max_json_depth: depth, body_timeout: time, .. } = self.http;
        // A prompt of token ids is a value for each.
        let values = MAX_VALUES.saturating_add(self.served.context);
        limits::json(request, BodyLimits { bytes: self.max_body_bytes, depth, time, values }).await
    }
}

/// The text of a request's prompt: what the routes would tokenize.
///
/// # Errors
/// What a route would refuse the body for, in one line.
pub fn render(served: &Served, body: Value) -> Result<String, String> {
    let prompt = match body.get("prompt") {
        Some(_) => openai::read_completion_to_render(body, served),
        None if anthropic::is_its_form(&body) => anthropic::read_to_render(body, served),
        None => openai::read_chat(body, served).map(|(request, _)| request.prompt),
    };
    prompt.and_then(|prompt| prompt::text(served, &prompt).map(Cow::into_owned)).map_err(|error| error.message)
}

/// The text of a request's prompt by a template that stands alone, as transformers renders it.
///
/// # Errors
/// What is wrong with the request, or what the template fails at, in one line.
pub fn render_template(template: &ChatTemplate, body: Value) -> Result<String, String> {
    let chat = if anthropic::is_its_form(&body) { anthropic::read_for(template, body) } else { template::read(body) };
    chat.and_then(|chat| prompt::verbatim(template, &chat)).map_err(|error| error.message)
}

/// A name for what is running: the plan has the model, its weights and the target.
fn fingerprint(plan: &Value) -> String {
    let digest = Sha256::digest(format!("{} {plan}", env!("CARGO_PKG_VERSION")));
    let short: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    format!("fp_{short}")
}

fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
