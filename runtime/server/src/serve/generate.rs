//! From a request to its answer.

use std::sync::Arc;
use std::time::Instant;

use tenon_engine::{ChatTemplate, Constraint, Request, choice_seed};
use tokio::sync::OwnedSemaphorePermit;

use super::answer::{Answer, Begin};
use super::constrain::Asked;
use super::error::ApiError;
use super::observe::{Observer, Occurrence};
use super::prompt::{self, Prepared};
use super::request::{GenerateRequest, OutputShape, Prompt};
use super::worker::{Places, Update};
use super::{Service, ids, log};

/// A prompt, and what its answers are held to.
struct Constrained {
    prompt: Prompt,
    output: OutputShape,
    output_field: &'static str,
    /// Answers.
    n: usize,
}

impl Service {
    /// Hands a request to the engine. Everything that can be refused is refused here, before the first byte of an answer.
    pub(super) async fn generate(self: &Arc<Self>, request: GenerateRequest) -> Result<Answer, ApiError> {
        self.generate_all(vec![request]).await
    }

    /// The same for several prompts that are answered together: the choices of the first, then those of the second, and so on.
    pub(super) async fn generate_all(self: &Arc<Self>, requests: Vec<GenerateRequest>) -> Result<Answer, ApiError> {
        let observer = self.observer();
        let answer = self.begin(requests, Arc::clone(&observer)).await;
        answer.inspect_err(|error| observer.observe(Occurrence::Refused(error)))
    }

    async fn begin(self: &Arc<Self>, requests: Vec<GenerateRequest>, observer: Arc<dyn Observer>) -> Result<Answer, ApiError> {
        // Reading a prompt is part of the time that a request has.
        let began = Instant::now();
        let field = requests.first().map_or("prompt", |request| request.prompt.field());
        let answers = requests.iter().map(|request| request.n).sum();
        if answers > self.worker.room() {
            let field = if requests.len() > 1 { field } else { "n" };
            return Err(ApiError::too_many(field, answers, self.worker.room()));
        }
        // Before the prompts, so that a flood of requests costs nothing more.
        let places = self.worker.places(answers)?;
        let (mut sequences, mut begun) = (Vec::new(), Vec::new());
        for request in requests {
            let GenerateRequest { prompt, sampling, max_tokens, stop, logprobs, n, output, output_field, timeout } = request;
            let asked = Constrained { prompt, output, output_field, n };
            let (Prepared { ids, reading }, constraints) = self.prepare_constrained(asked, places.clone()).await?;
            let (prompt_tokens, context) = (ids.len(), self.served.context);
            let room = context.saturating_sub(prompt_tokens);
            if room == 0 || max_tokens.is_some_and(|max_tokens| max_tokens > room) {
                return Err(ApiError::context(field, prompt_tokens, max_tokens, context));
            }
            let sampling = sampling.resolve(self.served.sampling);
            sampling.check(self.served.tokenizer.vocab_size()).map_err(ApiError::sampling)?;
            // The operator's time is the most that a request may ask for.
            let timeout = timeout.into_iter().chain(self.http.request_timeout).min();
            let deadline = timeout.map(|timeout| began + timeout);
            let end_ids: Arc<[u32]> = Arc::from(self.served.tokenizer.end_ids());
            for (choice, constraint) in constraints.into_iter().enumerate() {
                let mut sampling = sampling.clone();
                sampling.seed = choice_seed(sampling.seed, choice);
                sequences.push(Request {
                    prompt: ids.clone(),
                    sampling,
                    max_tokens: Some(max_tokens.unwrap_or(room)),
                    end_ids: Arc::clone(&end_ids),
                    logprobs,
                    constraint,
                    deadline,
                });
            }
            begun.push(Begin { prompt_tokens, n, reading, stop });
        }
        let mut updates = self.worker.submit(sequences, places, Arc::clone(&observer))?;
        match updates.next().await {
            Some(Update::Refused(error)) => Err(ApiError::refused(error, field)),
            Some(_) => Ok(Answer::new(Arc::clone(self), updates, observer, begun)),
            None => Err(self.worker.gone()),
        }
    }

    /// Who is told what happens to the request that is read at the moment.
    fn observer(&self) -> Arc<dyn Observer> {
        match log::current() {
            Some(record) => record,
            None => Arc::clone(&self.metrics) as Arc<dyn Observer>,
        }
    }

    /// Tokens of a prompt: those that [`Service::generate`] would have computed.
    pub(super) async fn count(self: &Arc<Self>, prompt: &Prompt) -> Result<usize, ApiError> {
        self.prepare(prompt.clone()).await.map(|prepared| prepared.ids.len())
    }

    /// A long prompt takes a while, in which others want their tokens.
    pub(super) async fn prepare(self: &Arc<Self>, prompt: Prompt) -> Result<Prepared, ApiError> {
        let (service, reader) = (Arc::clone(self), self.reader()?);
        let prepared = tokio::task::spawn_blocking(move || {
            let _reader = reader;
            prompt::prepare(&service.served, &prompt)
        });
        prepared.await.map_err(|_| ApiError::internal("reading the prompt failed, which is a bug"))?
    }

    /// A place among the prompts that are read and not answered, of which there are as many as those for answers. Whoever reads keeps it to
    /// the end, also when the client leaves.
    pub(super) fn reader(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        Arc::clone(&self.readers).try_acquire_owned().map_err(|_| ApiError::full(self.worker.room()))
    }

    /// The same with the constraint of each answer.
    async fn prepare_constrained(
        self: &Arc<Self>,
        asked: Constrained,
        places: Places,
    ) -> Result<(Prepared, Vec<Option<Box<dyn Constraint>>>), ApiError> {
        let service = Arc::clone(self);
        let prepare = move || {
            let Constrained { prompt, output, output_field, n } = asked;
            // The work goes on when its client leaves, and so keeps its places until it is done.
            let _places = places;
            let prepared = prompt::prepare(&service.served, &prompt)?;
            let asked = Asked { output: &output, output_field };
            let constraint = service.grammars.constraint(&service.served, &prepared.reading, asked)?;
            let mut constraints: Vec<_> = (1..n).map(|_| constraint.as_ref().map(|constraint| constraint.fork())).collect();
            constraints.push(constraint);
            Ok((prepared, constraints))
        };
        tokio::task::spawn_blocking(prepare).await.map_err(|_| ApiError::internal("reading the prompt failed, which is a bug"))?
    }

    /// An id for a call that begins: the dialect's prefix and 24 letters and digits, or 9 of them alone for a model whose templates
    /// take no other.
    pub(super) fn call_id(&self, prefix: &str) -> String {
        let parser = self.served.template.as_ref().and_then(ChatTemplate::tools).map(|tools| tools.parser);
        ids::call_id(prefix, parser)
    }
}
