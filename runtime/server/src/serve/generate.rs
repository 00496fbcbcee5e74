//! From a request to its answer.

use std::sync::Arc;
use std::time::Instant;

use tenon_engine::{ChatTemplate, Constraint, Request, choice_seed};

use super::answer::{Answer, Begin};
use super::constrain::Asked;
use super::error::ApiError;
use super::observe::{Nobody, Observer, Occurrence};
use super::prompt::{self, Prepared};
use super::request::{GenerateRequest, OutputShape, Prompt};
use super::worker::Update;
use super::{Service, ids};

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
            let (Prepared { ids, reading }, mut constraint) = self.prepare_constrained(prompt, output, output_field).await?;
            let (prompt_tokens, context) = (ids.len(), self.served.context);
            let room = context.saturating_sub(prompt_tokens);
            if room == 0 || max_tokens.is_some_and(|max_tokens| max_tokens > room) {
                return Err(ApiError::context(field, prompt_tokens, max_tokens, context));
            }
            let sampling = sampling.resolve(self.served.sampling);
            sampling.check(self.served.tokenizer.vocab_size()).map_err(ApiError::sampling)?;
            let deadline = timeout.map(|timeout| Instant::now() + timeout);
            let end_ids: Arc<[u32]> = Arc::from(self.served.tokenizer.end_ids());
            for choice in 0..n {
                let mut sampling = sampling.clone();
                sampling.seed = choice_seed(sampling.seed, choice);
                sequences.push(Request {
                    prompt: ids.clone(),
                    sampling,
                    max_tokens: Some(max_tokens.unwrap_or(room)),
                    end_ids: Arc::clone(&end_ids),
                    logprobs,
                    // The last one has the original.
                    constraint: if choice + 1 == n { constraint.take() } else { constraint.as_ref().map(|it| it.fork()) },
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
        Arc::new(Nobody)
    }

    /// Tokens of a prompt: those that [`Service::generate`] would have computed.
    pub(super) async fn count(self: &Arc<Self>, prompt: &Prompt) -> Result<usize, ApiError> {
        self.prepare(prompt.clone()).await.map(|prepared| prepared.ids.len())
    }

    /// A long prompt takes a while, in which others want their tokens.
    pub(super) async fn prepare(self: &Arc<Self>, prompt: Prompt) -> Result<Prepared, ApiError> {
        let service = Arc::clone(self);
        let prepared = tokio::task::spawn_blocking(move || prompt::prepare(&service.served, &prompt));
        prepared.await.map_err(|_| ApiError::internal("reading the prompt failed, which is a bug"))?
    }

    /// The same with the constraint of the answers.
    async fn prepare_constrained(
        self: &Arc<Self>,
        prompt: Prompt,
        output: OutputShape,
        output_field: &'static str,
    ) -> Result<(Prepared, Option<Box<dyn Constraint>>), ApiError> {
        let service = Arc::clone(self);
        let prepare = move || {
            let prepared = prompt::prepare(&service.served, &prompt)?;
            let asked = Asked { output: &output, output_field };
            let constraint = service.grammars.constraint(&service.served, &prepared.reading, asked)?;
            Ok((prepared, constraint))
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
