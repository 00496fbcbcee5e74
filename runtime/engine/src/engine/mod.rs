//! The scheduler: which sequence computes which tokens in which step. It knows ids only; text is the caller's.

mod error;
mod sequence;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tenon_core::batch::{Batch, BatchError, BatchLimits, PageId, StateSlot, WantLogits};
use tenon_core::model::{Logits, Model, RowSampling};

use crate::constraint::Constraint;
use crate::free_list::FreeList;
use crate::logprobs::TokenLogprobs;
use crate::sampling::{LogitsError, Sampler, SamplingParams};

pub use error::{ConfigError, EngineError, SubmitError};

use sequence::Sequence;

/// How an engine schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Prompts are computed in chunks that end at multiples of this many tokens.
    pub chunk: usize,
    /// Most sequences that compute at the same time; others wait.
    pub max_sequences: usize,
}

/// One sequence to generate.
#[derive(Debug)]
pub struct Request {
    /// The prompt's token ids, at least one.
    pub prompt: Vec<u32>,
    /// How tokens are chosen.
    pub sampling: SamplingParams,
    /// Most tokens to generate, at least 1; `None` is up to the end of the context.
    pub max_tokens: Option<usize>,
    /// Tokens that end the generation; they are not part of the answer.
    pub end_ids: Arc<[u32]>,
    /// Whether each token comes with its log-probability, and beside it with those of how many most likely tokens.
    pub logprobs: Option<usize>,
    /// What the answer may say; `None` is anything.
    pub constraint: Option<Box<dyn Constraint>>,
    /// When the answer ends, whatever there is of it; a request that still waits then ends without one.
    pub deadline: Option<Instant>,
}

impl Request {
    /// A request that leaves everything open which it may.
    pub fn new(prompt: Vec<u32>, sampling: SamplingParams, end_ids: Arc<[u32]>) -> Self {
        Self { prompt, sampling, max_tokens: None, end_ids, logprobs: None, constraint: None, deadline: None }
    }
}

/// One sequence of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(u64);

/// Something that a step brought about.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// For which sequence.
    pub sequence: SequenceId,
    /// What.
    pub kind: EventKind,
}

/// What a step brought about.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// Part of the prompt was computed.
    Prompt {
        /// Tokens of the prompt that are in the cache.
        done: usize,
        /// Tokens of the prompt.
        total: usize,
    },
    /// The next token of the answer.
    Token(ChosenToken),
    /// The sequence is done, and its pages are free.
    Finished(FinishReason, Usage),
    /// No token could be chosen; the sequence has ended, and its pages are free.
    Failed(LogitsError),
}

/// A token of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenToken {
    /// Its id.
    pub id: u32,
    /// How likely it was, where the request asks for that.
    pub logprobs: Option<Box<TokenLogprobs>>,
}

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model produced this end token.
    End(u32),
    /// As many tokens as the request allows.
    MaxTokens,
    /// The context is full.
    Context,
    /// The time that the request had is over.
    Deadline,
    /// The caller ended it.
    Cancelled,
}

impl FinishReason {
    /// In words, for statistics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::End(_) => "end of turn",
            Self::MaxTokens => "max-tokens reached",
            Self::Context => "context full",
            Self::Deadline => "deadline reached",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Tokens of one sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Those of the prompt that were in the cache already.
    pub cached_tokens: usize,
    /// Tokens that the model chose, the end token included.
    pub completion_tokens: usize,
}

/// Owns a model and generates any number of sequences with it.
pub struct Engine {
    model: Box<dyn Model>,
    limits: BatchLimits,
    config: EngineConfig,
    batch: Batch,
    logits: Logits,
    pages: FreeList,
    slots: FreeList,
    /// In the order of arrival, which is the order of service.
    running: Vec<Sequence>,
    waiting: VecDeque<Sequence>,
    next_id: u64,
    /// Sequences of the current batch, as an index into `running`, and how many of its tokens are
    /// cached after the step.
    scheduled: Vec<(usize, usize)>,
    /// For a model that chooses tokens: how, and which it chose.
    rows: Vec<RowSampling>,
    chosen: Vec<Option<u32>>,
}

impl Engine {
    /// An engine without sequences.
    pub fn new(model: Box<dyn Model>, config: EngineConfig) -> Result<Self, ConfigError> {
        let limits = model.limits();
        let EngineConfig { chunk, max_sequences } = config;
        for (name, value) in [("chunk", chunk), ("max_sequences", max_sequences)] {
            if value == 0 {
                return Err(ConfigError::Zero { name });
            }
        }
        let others = max_sequences - 1;
        let needed = chunk.saturating_add(others);
        if needed > limits.max_tokens {
            return Err(ConfigError::Step { chunk, others, needed, max_tokens: limits.max_tokens });
        }
        if max_sequences > limits.max_logit_rows {
            return Err(ConfigError::LogitRows { max_sequences, max_logit_rows: limits.max_logit_rows });
        }
        Ok(Self {
            limits,
            config,
            batch: Batch::new(limits),
            logits: Logits::new(model.info(), max_sequences),
            pages: FreeList::new(limits.pages),
            slots: FreeList::new(limits.state_slots),
            running: Vec::new(),
            waiting: VecDeque::new(),
            next_id: 0,
            scheduled: Vec::new(),
            rows: Vec::new(),
            chosen: Vec::new(),
            model,
        })
    }

    /// The model.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// Most tokens of one sequence, prompt and answer together.
    pub fn context(&self) -> usize {
        self.limits.max_positions.min(self.limits.pages * self.limits.page_size)
    }

    /// True when no sequence computes or waits.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// Adds a sequence, to be computed by the following steps.
    ///
    /// Nothing is cut: what does not fit into the context is refused.
    pub fn submit(&mut self, request: Request) -> Result<SequenceId, SubmitError> {
        let (prompt, context) = (request.prompt.len(), self.context());
        if prompt == 0 {
            return Err(SubmitError::EmptyPrompt);
        }
        if prompt >= context {
            return Err(SubmitError::PromptTooLong { prompt, context });
        }
        match request.max_tokens {
            Some(0) => return Err(SubmitError::NoTokens),
            Some(max_tokens) if max_tokens > context - prompt => {
                return Err(SubmitError::TooLong { prompt, max_tokens, context });
            }
            _ => {}
        }
        let vocab_size = self.limits.vocab_size;
        if let Some(&token) = request.prompt.iter().find(|&&t| t as usize >= vocab_size) {
            return Err(SubmitError::Token { token, vocab_size });
        }
        request.sampling.check(vocab_size)?;
        let sampler = Sampler::new(request.sampling.clone(), &request.prompt)?;
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        self.waiting.push_back(Sequence::new(id, request, sampler, context));
        Ok(id)
    }

    /// Ends a sequence and frees its pages. `None` if it has ended already.
    pub fn cancel(&mut self, id: SequenceId) -> Option<Usage> {
        if let Some(at) = self.waiting.iter().position(|s| s.id == id) {
            return self.waiting.remove(at).map(|s| s.usage());
        }
        let at = self.running.iter().position(|s| s.id == id)?;
        Some(self.retire(at).usage())
    }

    /// Runs one step and appends what came of it to `events`; without sequences it does nothing.
    ///
    /// A step holds the next token of every answer, and as many chunks of prompts as fit beside them.
    pub fn step(&mut self, events: &mut Vec<Event>) -> Result<(), EngineError> {
        self.admit();
        self.schedule()?;
        if self.batch.is_empty() {
            return Ok(());
        }
        let on_device = self.compute()?;

        let mut row = 0;
        let mut ended = Vec::new();
        for &(index, end) in &self.scheduled {
            let sequence = &mut self.running[index];
            let id = sequence.id;
            let mut tell = |kind| events.push(Event { sequence: id, kind });
            if let Some((done, total)) = sequence.computed(end) {
                tell(EventKind::Prompt { done, total });
            }
            if !sequence.wants_token() {
                continue;
            }
            let choice = if on_device { sequence.chosen(self.chosen[row]) } else { sequence.choose(self.logits.row(row)) };
            match choice {
                Ok((token, reason)) => {
                    if let Some(token) = token {
                        tell(EventKind::Token(token));
                    }
                    if let Some(reason) = reason {
                        tell(EventKind::Finished(reason, sequence.usage()));
                        ended.push(index);
                    }
                }
                Err(error) => {
                    tell(EventKind::Failed(error));
                    ended.push(index);
                }
            }
            row += 1;
        }
        ended.sort_unstable();
        for index in ended.into_iter().rev() {
            self.retire(index);
        }
        Ok(())
    }

    /// Runs the batch. True where the model chose the tokens, which it does where it can and no sequence wants more than those.
    fn compute(&mut self) -> Result<bool, EngineError> {
        let (running, scheduled) = (&mut self.running, &self.scheduled);
        let ids_only = scheduled.iter().all(|&(index, _)| running[index].wants_ids_only());
        let Some(model) = self.model.sampled().filter(|_| ids_only) else {
            self.model.step(&self.batch, &mut self.logits)?;
            return Ok(false);
        };
        self.rows.clear();
        for &(index, end) in scheduled {
            let sequence = &mut running[index];
            if end == sequence.tokens.len() {
                self.rows.push(sequence.row());
            }
        }
        model.step_sampled(&self.batch, &self.rows, &mut self.chosen)?;
        Ok(true)
    }

    /// Starts waiting sequences while there is room. Each gets all pages that it may ever need, so that none has to stop midway.
    fn admit(&mut self) {
        while self.running.len() < self.config.max_sequences
            && let Some(next) = self.waiting.front()
        {
            let pages = next.max_cached().div_ceil(self.limits.page_size);
            let needs_slot = self.slots.size() > 0;
            if pages > self.pages.free() || (needs_slot && self.slots.free() == 0) {
                return;
            }
            let Some(mut sequence) = self.waiting.pop_front() else { return };
            sequence.pages = self.pages.take(pages).into_iter().flatten().map(PageId).collect();
            sequence.slot = needs_slot.then(|| self.slots.take(1)).flatten().and_then(|ids| ids.first().copied()).map(StateSlot);
            self.running.push(sequence);
        }
    }

    /// Fills the batch: answers first, so that a long prompt delays nobody for more than a chunk.
    fn schedule(&mut self) -> Result<(), BatchError> {
        self.batch.clear();
        self.scheduled.clear();
        for answers in [true, false] {
            for (index, sequence) in self.running.iter().enumerate() {
                if sequence.is_answering() != answers {
                    continue;
                }
                let end = sequence.next_end(self.config.chunk);
                let tokens = &sequence.tokens[sequence.cached..end];
                if self.batch.tokens() + tokens.len() > self.limits.max_tokens {
                    continue;
                }
                let want = if end == sequence.tokens.len() { WantLogits::Last } else { WantLogits::None };
                let pages = &sequence.pages[..end.div_ceil(self.limits.page_size)];
                self.batch.push(tokens, sequence.cached, pages, sequence.slot, want)?;
                self.scheduled.push((index, end));
            }
        }
        Ok(())
    }

    fn retire(&mut self, index: usize) -> Sequence {
        let sequence = self.running.remove(index);
        self.pages.give_back(sequence.pages.iter().map(|p| p.0));
        self.slots.give_back(sequence.slot.map(|s| s.0));
        sequence
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("model", &self.model.info().name)
            .field("config", &self.config)
            .field("running", &self.running.len())
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
