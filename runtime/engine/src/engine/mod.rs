//! The scheduler: which sequence computes which tokens in which step. It knows ids only; text is the caller's.
//!
//! What a step does: whose time is over ends; who waits starts while there is room (`schedule`), with what others have computed
//! already (`prefix`); spans are chosen, computed, and their full pages kept (`cache`); tokens are chosen (`sequence`).

mod cache;
mod config;
mod error;
mod prefix;
mod request;
mod schedule;
mod sequence;

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use tenon_core::batch::{Batch, BatchLimits, PageId};
use tenon_core::model::{Logits, Model, RowSampling};

use crate::constraint::TokenSet;
use crate::free_list::FreeList;
use crate::sampling::Sampler;

pub use config::{EngineConfig, EngineStats};
pub use error::{ConfigError, EngineError, SubmitError};
pub use request::{ChoiceError, ChosenToken, Event, EventKind, FinishReason, Request, SequenceId, Usage};

use cache::Cache;
use schedule::{Blocked, Span};
use sequence::Sequence;

/// Owns a model and generates any number of sequences with it.
pub struct Engine {
    model: Box<dyn Model>,
    limits: BatchLimits,
    config: EngineConfig,
    any_chunking: bool,
    /// Whether prefixes are shared.
    shares: bool,
    /// Prefixes are shared up to multiples of this many tokens.
    unit: usize,
    batch: Batch,
    logits: Logits,
    /// Room for what a constraint allows.
    allowed: TokenSet,
    cache: Cache,
    slots: FreeList,
    /// In the order of arrival.
    running: Vec<Sequence>,
    /// In the order of arrival, all later than those that run.
    waiting: VecDeque<Sequence>,
    deadlines: BTreeSet<(Instant, SequenceId)>,
    blocked: Option<Blocked>,
    next_id: u64,
    turns: u64,
    /// What the current step computes, and how many tokens that are.
    spans: Vec<Span>,
    planned: usize,
    /// For a model that chooses tokens: how, and which it chose.
    rows: Vec<RowSampling>,
    chosen: Vec<Option<u32>>,
    /// Allocations that steps use again.
    prompts: Vec<(u64, SequenceId)>,
    found: Vec<PageId>,
    ended: Vec<usize>,
    stats: EngineStats,
}

impl Engine {
    /// An engine without sequences.
    ///
    /// # Errors
    /// A configuration that the model was not loaded for, or under which a prompt could wait for ever.
    pub fn new(model: Box<dyn Model>, config: EngineConfig) -> Result<Self, ConfigError> {
        config.check(&*model)?;
        let limits = model.limits();
        let any_chunking = model.any_chunking();
        let recurrent = limits.state_slots > 0;
        let snapshots = if recurrent && config.prefix_cache { config.snapshots } else { 0 };
        Ok(Self {
            limits,
            config,
            any_chunking,
            shares: config.prefix_cache && (!recurrent || snapshots > 0),
            unit: if any_chunking { limits.page_size } else { least_common_multiple(limits.page_size, config.chunk) },
            batch: Batch::new(limits),
            logits: Logits::new(model.info(), config.max_sequences),
            allowed: TokenSet::alloc(limits.vocab_size),
            cache: Cache::new(limits.pages, snapshots),
            slots: FreeList::new(limits.state_slots),
            running: Vec::new(),
            waiting: VecDeque::new(),
            deadlines: BTreeSet::new(),
            blocked: None,
            next_id: 0,
            turns: 0,
            spans: Vec::new(),
            planned: 0,
            rows: Vec::new(),
            chosen: Vec::new(),
            prompts: Vec::new(),
            found: Vec::new(),
            ended: Vec::new(),
            stats: EngineStats { pages: limits.pages, snapshots, ..EngineStats::default() },
            model,
        })
    }

    /// The model.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// Most tokens of one sequence, prompt and answer together. The cache holds one of this length at least.
    pub fn context(&self) -> usize {
        let held = self.limits.max_positions.min(self.limits.pages.saturating_mul(self.limits.page_size));
        self.config.context.map_or(held, |context| context.min(held))
    }

    /// True when no sequence computes or waits.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// What it holds and what it has done.
    pub fn stats(&self) -> EngineStats {
        let pages_cached = self.cache.unused();
        EngineStats {
            waiting: self.waiting.len(),
            running: self.running.len(),
            pages_used: self.cache.size() - self.cache.available(),
            pages_cached,
            snapshots_used: self.cache.snapshots_taken(),
            ..self.stats
        }
    }

    /// Adds a sequence, to be computed by the following steps.
    ///
    /// # Errors
    /// Nothing is cut: what does not fit into the context is refused, and so is what can never be computed.
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
        self.deadlines.extend(request.deadline.map(|deadline| (deadline, id)));
        self.waiting.push_back(Sequence::new(id, request, sampler, context));
        Ok(id)
    }

    /// Tokens of a sequence so far; `None` if it has ended.
    pub fn usage(&self, id: SequenceId) -> Option<Usage> {
        let mut sequences = self.running.iter().chain(&self.waiting);
        sequences.find(|sequence| sequence.id == id).map(Sequence::usage)
    }

    /// Ends a sequence and frees its pages. `None` if it has ended already.
    pub fn cancel(&mut self, id: SequenceId) -> Option<Usage> {
        self.remove(id).map(|sequence| sequence.usage())
    }

    /// Runs one step and appends what came of it to `events`; without sequences it does nothing.
    ///
    /// A step holds the next token of every answer, and as many chunks of prompts as fit beside them.
    ///
    /// # Errors
    /// When the model fails. The sequences are still there; whoever goes on cancels them.
    pub fn step(&mut self, events: &mut Vec<Event>) -> Result<(), EngineError> {
        self.step_at(Instant::now(), events)
    }

    /// As [`Self::step`], at a time that the caller states: deadlines up to `now` are over.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn step_at(&mut self, now: Instant, events: &mut Vec<Event>) -> Result<(), EngineError> {
        self.expire(now, events);
        self.admit()?;
        self.schedule()?;
        self.fill()?;
        if self.batch.is_empty() {
            return Ok(());
        }
        let on_device = self.compute()?;
        self.stats.steps += 1;
        self.stats.batch_sequences = self.batch.sequences().len();
        self.stats.batch_tokens = self.batch.tokens();
        self.conclude(on_device, events)
    }

    /// Ends the sequences whose time is over.
    fn expire(&mut self, now: Instant, events: &mut Vec<Event>) {
        while self.deadlines.first().is_some_and(|&(deadline, _)| deadline <= now) {
            let Some((_, id)) = self.deadlines.pop_first() else { break };
            if let Some(sequence) = self.remove(id) {
                events.push(Event { sequence: id, kind: EventKind::Finished(FinishReason::Deadline, sequence.usage()) });
            }
        }
    }

    /// Runs the batch. True where the model chose the tokens, which it does where it can and no sequence wants more than those.
    fn compute(&mut self) -> Result<bool, EngineError> {
        let (running, spans) = (&mut self.running, &self.spans);
        let ids_only = spans.iter().all(|span| running[span.index].wants_ids_only());
        let Some(model) = self.model.sampled().filter(|_| ids_only) else {
            self.model.step(&self.batch, &mut self.logits)?;
            return Ok(false);
        };
        self.rows.clear();
        for &Span { index, end } in spans {
            let sequence = &mut running[index];
            if end == sequence.tokens.len() {
                self.rows.push(sequence.row());
            }
        }
        model.step_sampled(&self.batch, &self.rows, &mut self.chosen)?;
        Ok(true)
    }

    /// Notes what was computed, chooses tokens, and ends what is done.
    fn conclude(&mut self, on_device: bool, events: &mut Vec<Event>) -> Result<(), EngineError> {
        let spans = std::mem::take(&mut self.spans);
        let mut ended = std::mem::take(&mut self.ended);
        ended.clear();
        let mut row = 0;
        // A state that is not saved fails the step, but not before those that are done have ended.
        let mut kept = Ok(());
        for &Span { index, end } in &spans {
            let sequence = &mut self.running[index];
            let id = sequence.id;
            let mut tell = |kind| events.push(Event { sequence: id, kind });
            let computed = sequence.computed(end);
            self.stats.prompt_tokens += computed.prompt as u64;
            self.stats.recomputed_tokens += computed.again as u64;
            if let Some((done, total)) = computed.progress {
                tell(EventKind::Prompt { done, total });
            }
            kept = kept.and(self.keep(index));
            let sequence = &mut self.running[index];
            if !sequence.wants_token() {
                continue;
            }
            let choice = if on_device {
                sequence.chosen(self.chosen[row])
            } else {
                sequence.choose(self.logits.row(row), &mut self.allowed)
            };
            row += 1;
            match choice {
                Ok((token, reason)) => {
                    self.stats.generated_tokens += 1;
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
        }
        ended.sort_unstable();
        for &index in ended.iter().rev() {
            self.retire(index);
        }
        (self.spans, self.ended) = (spans, ended);
        kept
    }

    /// A running sequence, as an index into those.
    fn find(&self, id: SequenceId) -> Option<usize> {
        self.running.binary_search_by_key(&id, |sequence| sequence.id).ok()
    }

    fn remove(&mut self, id: SequenceId) -> Option<Sequence> {
        if let Some(index) = self.find(id) {
            return Some(self.retire(index));
        }
        let at = self.waiting.binary_search_by_key(&id, |sequence| sequence.id).ok()?;
        let sequence = self.waiting.remove(at)?;
        self.forget_deadline(&sequence);
        self.blocked = None;
        Some(sequence)
    }

    fn retire(&mut self, index: usize) -> Sequence {
        let sequence = self.running.remove(index);
        self.free(&sequence);
        self.forget_deadline(&sequence);
        sequence
    }

    fn forget_deadline(&mut self, sequence: &Sequence) {
        if let Some(deadline) = sequence.deadline {
            self.deadlines.remove(&(deadline, sequence.id));
        }
    }

    /// Ends the use of a sequence's pages and slot.
    fn free(&mut self, sequence: &Sequence) {
        self.cache.release(&sequence.pages);
        if let Some(slot) = sequence.slot {
            self.slots.give_back(slot.0);
        }
    }

    fn is_recurrent(&self) -> bool {
        self.limits.state_slots > 0
    }
}

fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
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
