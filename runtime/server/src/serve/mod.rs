//! The HTTP server: the routes of OpenAI and of Anthropic over one engine, several requests at a time.
//!
//! A request is read strictly ([`fields`]), brought into one form ([`request`]), rendered and tokenized ([`prompt`]), and handed to
//! the thread that owns the engine ([`worker`], by [`generate`]); its tokens come back through a channel and become content,
//! reasoning and calls ([`answer`]) in the form that the route speaks ([`openai`], [`anthropic`]).

mod answer;
mod anthropic;
mod constrain;
mod error;
mod fields;
mod generate;
mod ids;
mod observe;
mod openai;
mod prompt;
mod request;
mod routes;
mod template;
#[cfg(test)]
mod testing;
mod tokenize;
mod worker;

use std::borrow::Cow;
use std::future::{Future, IntoFuture};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::serve::ListenerExt;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tenon_core::model::SamplingDefaults;
use tenon_engine::{ChatTemplate, Engine, Tokenizer};
use tokio::net::TcpListener;

use constrain::Grammars;
use observe::Nobody;
use worker::{Running, Worker};

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
    /// Requests that compute at the same time; the engine's own number.
    pub max_sequences: usize,
    /// Requests that wait beside them; further ones are refused with 429.
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
    grammars: Grammars,
    max_body_bytes: usize,
    /// Seconds since 1970.
    started: u64,
    /// Names the configuration that answers: what a seed repeats, it repeats under the same name.
    fingerprint: String,
}

/// A server whose engine runs, and which does not listen yet.
#[derive(Debug)]
pub struct Server {
    service: Arc<Service>,
    engine: Running,
}

impl Server {
    /// Starts the thread of the engine. `plan` is what `GET /debug/plan` answers: what is running, and where it comes from.
    pub fn start(served: Served, plan: Value, engine: Engine, limits: Limits) -> std::io::Result<Self> {
        let (worker, engine) = worker::start(engine, limits.max_sequences.saturating_add(limits.queue), Arc::new(Nobody))?;
        let service = Service {
            fingerprint: fingerprint(&plan),
            served,
            plan,
            worker,
            grammars: Grammars::default(),
            max_body_bytes: limits.max_body_bytes,
            started: seconds_since_1970(),
        };
        Ok(Self { service: Arc::new(service), engine })
    }

    /// Answers requests until `shutdown`, then takes no more, finishes those that it has taken, and returns.
    pub async fn run(mut self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        // Answers are many small packets, each of which somebody waits for.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let serve = axum::serve(listener, routes::router(Arc::clone(&self.service))).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
        let mut serving = tokio::spawn(serve.into_future());
        tokio::select! {
            () = shutdown => {}
            () = self.engine.ended() => return Err(ServeError::Engine),
            ended = &mut serving => return ended.map_err(std::io::Error::other)?.map_err(ServeError::Accept),
        }
        self.service.worker.drain();
        let _ = stop.send(());
        self.engine.ended().await;
        if !self.engine.join() {
            return Err(ServeError::Engine);
        }
        // A client that does not read, or has sent half a request, cannot hold the server up.
        match tokio::time::timeout(FLUSH, serving).await {
            Ok(ended) => ended.map_err(std::io::Error::other)?.map_err(ServeError::Accept),
            Err(_) => Ok(()),
        }
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
