//! A server that listens before its model is there.

use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, OnceLock};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use serde_json::{Value, json};
use tenon_engine::Engine;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Front, front, listen};
use crate::serve::anthropic;
use crate::serve::auth::Access;
use crate::serve::error::ApiError;
use crate::serve::limits::HttpLimits;
use crate::serve::metrics::{self, Metrics};
use crate::serve::worker::Running;
use crate::serve::{FLUSH, Limits, ServeError, Served, Server, Service, routes};

/// What answers: while the model is loaded, and from then on.
#[derive(Debug)]
pub(super) struct Gate {
    loading: Router,
    ready: OnceLock<Router>,
}

impl Gate {
    pub(super) fn router(&self) -> Router {
        self.ready.get().unwrap_or(&self.loading).clone()
    }
}

/// A server that listens. Until [`Opening::run`], it answers that it is loading: whoever watches it sees that it lives, and a port
/// that is taken is found before minutes of loading, not after.
#[derive(Debug)]
pub struct Opening {
    gate: Arc<Gate>,
    front: Arc<Front>,
    http: HttpLimits,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Opening {
    /// Begins to answer on a listener, which must be done within a runtime.
    ///
    /// # Errors
    /// A listener without an address.
    pub fn start(listener: TcpListener, model: &str, limits: Limits, http: HttpLimits, access: Access) -> std::io::Result<Self> {
        Self::with(listener, model, http, access, Metrics::new(model, limits.max_sequences), None)
    }

    /// The same; a service that is there already answers from the beginning.
    pub(in crate::serve) fn with(
        listener: TcpListener,
        model: &str,
        http: HttpLimits,
        access: Access,
        metrics: Arc<Metrics>,
        service: Option<&Arc<Service>>,
    ) -> std::io::Result<Self> {
        let front = Arc::new(Front {
            access,
            loopback: listener.local_addr()?.ip().is_loopback(),
            model: model.into(),
            metrics: Arc::clone(&metrics),
            keep_alive: http.sse_keep_alive,
            dialect: anthropic::respond,
        });
        let gate = Arc::new(Gate { loading: behind(&front, loading(Arc::clone(&metrics))), ready: OnceLock::new() });
        if let Some(service) = service {
            // Before the first request can come.
            let _ = gate.ready.set(behind(&front, routes::router(Arc::clone(service))));
        }
        let (stop, stopped) = watch::channel(false);
        let serving = tokio::spawn(listen(listener, Arc::clone(&gate), http, Arc::clone(&front), stopped));
        Ok(Self { gate, front, http, stop, serving })
    }

    /// Takes requests from now on. `plan` is what `GET /debug/plan` answers.
    ///
    /// # Errors
    /// The thread of the engine cannot be started.
    pub fn ready(self, served: Served, plan: Value, engine: Engine, limits: Limits) -> std::io::Result<Ready> {
        let metrics = Arc::clone(&self.front.metrics);
        let (service, engine) = Server::service(served, plan, engine, limits, self.http, metrics)?;
        Ok(self.serve(Arc::new(service), engine))
    }

    pub(in crate::serve) fn serve(self, service: Arc<Service>, engine: Running) -> Ready {
        self.gate.ready.get_or_init(|| behind(&self.front, routes::router(Arc::clone(&service))));
        Ready { opening: self, service, engine }
    }
}

/// A server that takes requests.
#[derive(Debug)]
pub struct Ready {
    opening: Opening,
    service: Arc<Service>,
    engine: Running,
}

impl Ready {
    /// Answers requests until `shutdown`, then takes no more, finishes those that it has taken as far as the time for it goes, and
    /// returns.
    ///
    /// # Errors
    /// The engine or the listener ended although nobody asked them to.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let Self { mut opening, service, mut engine } = self;
        tokio::select! {
            () = shutdown => {}
            () = engine.ended() => return Err(ServeError::Engine),
            ended = &mut opening.serving => {
                let error = ended.map_or_else(std::io::Error::other, |()| std::io::Error::other("the listener has ended"));
                return Err(ServeError::Accept(error));
            }
        }
        service.worker.drain();
        let _ = opening.stop.send(true);
        let time = opening.http.drain_timeout;
        if tokio::time::timeout(time, engine.ended()).await.is_err() {
            tracing::warn!(seconds = time.as_secs_f64(), "requests that did not end in time are cut off");
            // With its connection, a request leaves the engine.
            opening.serving.abort();
            engine.ended().await;
        }
        if !engine.join() {
            return Err(ServeError::Engine);
        }
        // A client that does not read, or has sent half a request, cannot hold the server up.
        match tokio::time::timeout(FLUSH.min(time), &mut opening.serving).await {
            Ok(Err(error)) if error.is_panic() => Err(ServeError::Accept(std::io::Error::other(error))),
            _ => Ok(()),
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Routes, behind what every request passes.
fn behind(front_state: &Arc<Front>, routes: Router) -> Router {
    routes.layer(middleware::from_fn_with_state(Arc::clone(front_state), front))
}

/// What there is to say while the model is loaded.
fn loading(metrics: Arc<Metrics>) -> Router {
    let text = async move || -> Result<Response, ApiError> {
        let text = metrics.text().map_err(|_| ApiError::internal("the metrics cannot be written"))?;
        Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
    };
    Router::new()
        .route("/health", get(async || Json(json!({ "status": "ok" }))))
        .route("/ready", get(async || (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "loading" })))))
        .route("/metrics", get(text))
        .fallback(async || Err::<Infallible, _>(ApiError::loading()))
        .layer(middleware::from_fn(anthropic::told_in_its_form))
}

impl ApiError {
    /// 503: the model is not there yet.
    fn loading() -> Self {
        let error = Self::request("loading", "the model is being loaded; GET /ready tells when requests are taken");
        Self { status: StatusCode::SERVICE_UNAVAILABLE, kind: "server_error", ..error }
    }
}
