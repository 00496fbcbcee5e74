//! One sequence: its tokens, how many of them are in the cache, and when it ends.

use std::sync::Arc;
use std::time::Instant;

use tenon_core::batch::{PageId, StateSlot};
use tenon_core::model::RowSampling;

use super::{ChoiceError, ChosenToken, FinishReason, Request, SequenceId, Usage};
use crate::constraint::{Constraint, TokenSet};
use crate::logprobs::TokenLogprobs;
use crate::sampling::{LogitsError, Sampler};

/// A sequence that waits or computes.
pub(super) struct Sequence {
    pub(super) id: SequenceId,
    /// Prompt and answer.
    pub(super) tokens: Vec<u32>,
    pub(super) prompt: usize,
    /// Tokens whose keys and values are in the cache.
    pub(super) cached: usize,
    /// Pages of those, and possibly some more.
    pub(super) pages: Vec<PageId>,
    /// How many of the pages are kept: full, and shared with whoever has the same tokens.
    pub(super) kept: usize,
    pub(super) slot: Option<StateSlot>,
    /// Among those with a prompt to compute, the smallest is served next.
    pub(super) turn: u64,
    /// An earlier sequence that computes tokens which this one has too, and the end of those: they are not computed twice.
    pub(super) awaits: Option<(SequenceId, usize)>,
    pub(super) deadline: Option<Instant>,
    /// Where a snapshot of the state is to be taken.
    snapshots: Vec<usize>,
    /// Most tokens that were ever in the cache.
    seen: usize,
    /// Tokens of the prompt that others had computed.
    hits: usize,
    /// Tokens that the model chose; one more than the answer has once the end token was chosen.
    chosen: usize,
    /// Length at which it ends, and why.
    limit: usize,
    limit_reason: FinishReason,
    sampler: Sampler,
    /// No token depends on anything but its row of logits and the parameters that [`RowSampling`] has.
    plain: bool,
    end_ids: Arc<[u32]>,
    logprobs: Option<usize>,
    constraint: Option<Box<dyn Constraint>>,
}

/// What a span of tokens was.
pub(super) struct Computed {
    /// The progress of the prompt, if there was any.
    pub(super) progress: Option<(usize, usize)>,
    /// Tokens of the prompt that were computed for the first time.
    pub(super) prompt: usize,
    /// Tokens that were computed before.
    pub(super) again: usize,
}

impl Sequence {
    pub(super) fn new(id: SequenceId, request: Request, sampler: Sampler, context: usize) -> Self {
        let prompt = request.prompt.len();
        let (limit, limit_reason) = match request.max_tokens {
            Some(max_tokens) => (prompt + max_tokens, FinishReason::MaxTokens),
            None => (context, FinishReason::Context),
        };
        let plain = request.constraint.is_none() && request.logprobs.is_none() && sampler.is_plain();
        Self {
            id,
            tokens: request.prompt,
            prompt,
            cached: 0,
            pages: Vec::new(),
            kept: 0,
            slot: None,
            turn: 0,
            awaits: None,
            deadline: request.deadline,
            snapshots: Vec::new(),
            seen: 0,
            hits: 0,
            chosen: 0,
            limit,
            limit_reason,
            sampler,
            plain,
            end_ids: request.end_ids,
            logprobs: request.logprobs,
            constraint: request.constraint,
        }
    }

    /// Tokens that are in the cache when the next one after those that are known is computed, if there will be one.
    pub(super) fn next_cached(&self) -> usize {
        // The last token of an answer is chosen, and never computed.
        (self.tokens.len() + 1).min(self.limit - 1)
    }

    /// True where the next span is one token of the answer, and false where tokens of the prompt are missing, or so many of the answer
    /// that they are computed in chunks.
    pub(super) fn decodes(&self, any_chunking: bool) -> bool {
        self.cached >= self.prompt && (!any_chunking || self.cached + 1 == self.tokens.len())
    }

    /// Where the next span of tokens ends: at a multiple of `chunk`, where a snapshot is to be taken, or with the tokens there are.
    ///
    /// Where it matters how a sequence is cut, it is cut as if it had never lost its cache: the end of the prompt is an end, and every
    /// token of the answer a span.
    pub(super) fn next_end(&self, chunk: usize, any_chunking: bool) -> usize {
        let known = match any_chunking {
            true => self.tokens.len(),
            false if self.cached < self.prompt => self.prompt,
            false => self.cached + 1,
        };
        let end = known.min((self.cached / chunk + 1) * chunk);
        self.snapshots.iter().copied().filter(|&at| at > self.cached).fold(end, usize::min)
    }

    /// Asks for a snapshot of the state where so many tokens are in the cache.
    pub(super) fn want_snapshot(&mut self, at: usize) {
        if at > self.cached && !self.snapshots.contains(&at) {
            self.snapshots.push(at);
        }
    }

    /// Whether a snapshot is to be taken of the state as it is now; asked once.
    pub(super) fn takes_snapshot(&mut self) -> bool {
        let wanted = self.snapshots.contains(&self.cached);
        self.snapshots.retain(|&at| at > self.cached);
        wanted
    }

    /// Notes that the tokens before `end` are in the cache, since others have computed them. Returns how many of the prompt were not there
    /// before.
    pub(super) fn found(&mut self, end: usize) -> usize {
        let new = end.min(self.prompt).saturating_sub(self.seen.max(self.cached));
        self.hits += new;
        self.cached = end;
        self.seen = self.seen.max(end);
        self.snapshots.retain(|&at| at > end);
        new
    }

    /// Notes that the tokens before `end` were computed.
    pub(super) fn computed(&mut self, end: usize) -> Computed {
        let of_prompt = |tokens: usize| tokens.min(self.prompt);
        let (prompt, again) = (
            of_prompt(end).saturating_sub(of_prompt(self.seen.max(self.cached))),
            end.min(self.seen).saturating_sub(self.cached),
        );
        let progress = (end > self.seen && self.seen < self.prompt).then_some((of_prompt(end), self.prompt));
        self.cached = end;
        self.seen = self.seen.max(end);
        Computed { progress, prompt, again }
    }

    /// Forgets the cache, to be computed again. What was chosen stays.
    pub(super) fn give_up(&mut self) {
        (self.cached, self.kept, self.awaits) = (0, 0, None);
        self.snapshots.clear();
        self.pages.clear();
        self.slot = None;
    }

    /// True when every token is in the cache, so that the next can be chosen.
    pub(super) fn wants_token(&self) -> bool {
        self.cached == self.tokens.len()
    }

    /// Chooses the next token. Returns it, unless it is an end token, and why the sequence ends, if it does.
    ///
    /// `allowed` is room for the tokens that a constraint allows, which sequences share.
    pub(super) fn choose(
        &mut self,
        logits: &[f32],
        allowed: &mut TokenSet,
    ) -> Result<(Option<ChosenToken>, Option<FinishReason>), ChoiceError> {
        let id = match self.constraint.as_deref_mut() {
            Some(constraint) => {
                constraint.allowed(allowed)?;
                let id = self.sampler.sample(logits, Some(allowed))?;
                constraint.accept(id)?;
                id
            }
            None => self.sampler.sample(logits, None)?,
        };
        let logprobs = self.logprobs.map(|top| Box::new(TokenLogprobs::of(logits, id, top)));
        Ok(self.take(id, logprobs))
    }

    /// True where nothing but the next token is wanted of a row of logits, and it can be chosen from that row alone.
    pub(super) fn wants_ids_only(&self) -> bool {
        self.plain
    }

    /// How the next token is chosen elsewhere.
    pub(super) fn row(&mut self) -> RowSampling {
        self.sampler.row()
    }

    /// The next token, which was chosen elsewhere; as [`Self::choose`].
    pub(super) fn chosen(&mut self, id: Option<u32>) -> Result<(Option<ChosenToken>, Option<FinishReason>), ChoiceError> {
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
        Usage { prompt_tokens: self.prompt, cached_tokens: self.hits, completion_tokens: self.chosen }
    }
}
