//! One sequence: its tokens, how many of them are in the cache, and when it ends.

use std::sync::Arc;

use tenon_core::batch::{PageId, StateSlot};
use tenon_core::model::RowSampling;

use super::{ChosenToken, FinishReason, Request, SequenceId, Usage};
use crate::logprobs::TokenLogprobs;
use crate::sampling::{LogitsError, Sampler};

/// A sequence that waits or computes.
pub(super) struct Sequence {
    pub(super) id: SequenceId,
    /// Prompt and answer.
    pub(super) tokens: Vec<u32>,
    /// Tokens whose keys and values are in the cache.
    pub(super) cached: usize,
    pub(super) pages: Vec<PageId>,
    pub(super) slot: Option<StateSlot>,
    prompt: usize,
    /// Tokens that the model chose; one more than the answer has once the end token was chosen.
    chosen: usize,
    /// Length at which it ends, and why.
    limit: usize,
    limit_reason: FinishReason,
    sampler: Sampler,
    end_ids: Arc<[u32]>,
    logprobs: Option<usize>,
}

impl Sequence {
    pub(super) fn new(id: SequenceId, request: Request, sampler: Sampler, context: usize) -> Self {
        let prompt = request.prompt.len();
        let (limit, limit_reason) = match request.max_tokens {
            Some(max_tokens) => (prompt + max_tokens, FinishReason::MaxTokens),
            None => (context, FinishReason::Context),
        };
        Self {
            id,
            tokens: request.prompt,
            cached: 0,
            pages: Vec::new(),
            slot: None,
            prompt,
            chosen: 0,
            limit,
            limit_reason,
            sampler,
            end_ids: request.end_ids,
            logprobs: request.logprobs,
        }
    }

    /// Most tokens that will ever be in the cache: the last one is only chosen, never computed.
    pub(super) fn max_cached(&self) -> usize {
        self.limit - 1
    }

    /// True once the prompt is in the cache.
    pub(super) fn is_answering(&self) -> bool {
        self.cached >= self.prompt
    }

    /// Where the next span of tokens ends: at a multiple of `chunk`, or with the tokens there are.
    pub(super) fn next_end(&self, chunk: usize) -> usize {
        self.tokens.len().min((self.cached / chunk + 1) * chunk)
    }

    /// Notes that the tokens before `end` are in the cache; returns the progress of the prompt, if they were part of it.
    pub(super) fn computed(&mut self, end: usize) -> Option<(usize, usize)> {
        let prompt = !self.is_answering();
        self.cached = end;
        prompt.then_some((end, self.prompt))
    }

    /// True when every token is in the cache, so that the next can be chosen.
    pub(super) fn wants_token(&self) -> bool {
        self.cached == self.tokens.len()
    }

    /// Chooses the next token. Returns it, unless it is an end token, and why the sequence ends, if it does.
    pub(super) fn choose(&mut self, logits: &[f32]) -> Result<(Option<ChosenToken>, Option<FinishReason>), LogitsError> {
        let id = self.sampler.sample(logits, None)?;
        let logprobs = self.logprobs.map(|top| Box::new(TokenLogprobs::of(logits, id, top)));
        Ok(self.take(id, logprobs))
    }

    /// True where nothing but the next token is wanted of a row of logits.
    pub(super) fn wants_ids_only(&self) -> bool {
        self.logprobs.is_none() && self.sampler.is_plain()
    }

    /// How the next token is chosen elsewhere.
    pub(super) fn row(&mut self) -> RowSampling {
        self.sampler.row()
    }

    /// The next token, which was chosen elsewhere; as [`Self::choose`].
    pub(super) fn chosen(&mut self, id: Option<u32>) -> Result<(Option<ChosenToken>, Option<FinishReason>), LogitsError> {
        Ok(self.take(id.ok_or(LogitsError::Broken)?, None))
    }

    fn take(&mut self, id: u32, logprobs: Option<Box<TokenLogprobs>>) -> (Option<ChosenToken>, Option<FinishReason>) {
        self.chosen += 1;
        if self.end_ids.contains(&id) {
            return (None, Some(FinishReason::End(id)));
        }
        self.sampler.observe(id);
        self.tokens.push(id);
        (Some(ChosenToken { id, logprobs }), (self.tokens.len() == self.limit).then_some(self.limit_reason))
    }

    pub(super) fn usage(&self) -> Usage {
        Usage { prompt_tokens: self.prompt, cached_tokens: 0, completion_tokens: self.chosen }
    }
}
