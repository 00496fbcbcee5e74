//! Which sequence computes which tokens in the next step.
//!
//! Sequences that run are in the order of their arrival, and all of them arrived before those that wait. Pages are taken when they are
//! needed; where there are none, whoever arrived last gives its own up and goes back to the front of the queue. So the first to arrive
//! always goes on, and by induction every other.

use tenon_core::batch::{BatchError, StateSlot, WantLogits};

use super::{Engine, EngineError};

/// What a sequence computes in a step: its tokens up to `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The sequence, as an index into those that run.
    pub(super) index: usize,
    pub(super) end: usize,
}

/// When the first one that waits did not fit; it is not tried again until one of these has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocked {
    waiting: usize,
    available: usize,
    promised: usize,
    version: u64,
}

impl Engine {
    /// Starts waiting sequences while there is room for all tokens that they have by now.
    pub(super) fn admit(&mut self) -> Result<(), EngineError> {
        while self.running.len() < self.config.max_sequences
            && !self.waiting.is_empty()
            && (!self.is_recurrent() || self.slots.free() > 0)
            && self.next_fits()
        {
            let Some(mut sequence) = self.waiting.pop_front() else { break };
            if self.is_recurrent() {
                sequence.slot = self.slots.take().map(StateSlot);
            }
            sequence.turn = self.next_turn();
            self.running.push(sequence);
            self.look_for_prefix(self.running.len() - 1)?;
        }
        Ok(())
    }

    /// Whether the first that waits has room: pages that can be taken, less those that running sequences will take for tokens that they
    /// have already. One alone always has.
    fn next_fits(&mut self) -> bool {
        let Some(next) = self.waiting.front().filter(|_| !self.running.is_empty()) else { return true };
        let size = self.limits.page_size;
        let missing = |tokens: usize, pages: usize| tokens.div_ceil(size).saturating_sub(pages);
        let promised = self.running.iter().map(|s| missing(s.next_cached(), s.pages.len())).sum();
        let (available, version) = (self.cache.available(), self.cache.version());
        let now = Blocked { waiting: self.waiting.len(), available, promised, version };
        if self.blocked == Some(now) {
            return false;
        }
        let needed = missing(next.next_cached(), self.pages_in_use(next));
        let fits = needed + promised <= available;
        self.blocked = (!fits).then_some(now);
        fits
    }

    /// A number that is larger than those before it.
    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// Chooses the spans of a step: answers first, so that a long prompt delays nobody for more than a chunk; then prompts, whoever was
    /// served longest ago first. The first of those always fits.
    pub(super) fn schedule(&mut self) -> Result<(), EngineError> {
        self.spans.clear();
        self.planned = 0;
        let any_chunking = self.any_chunking;
        let mut index = 0;
        while index < self.running.len() {
            let sequence = &self.running[index];
            if sequence.decodes(any_chunking) {
                self.plan(index, sequence.cached + 1);
            }
            index += 1;
        }
        let mut prompts = std::mem::take(&mut self.prompts);
        prompts.clear();
        prompts.extend(self.running.iter().filter(|s| !s.decodes(any_chunking)).map(|s| (s.turn, s.id)));
        prompts.sort_unstable();
        for &(_, id) in &prompts {
            if self.planned == self.config.step_tokens {
                break;
            }
            // It may have had to give up its pages for one before it.
            let Some(index) = self.find(id) else { continue };
            if self.still_awaits(index)? {
                continue;
            }
            if let Some(end) = self.end_within_budget(index)
                && self.plan(index, end)
            {
                self.running[index].turn = self.next_turn();
            }
        }
        self.prompts = prompts;
        Ok(())
    }

    /// Where the next span of a prompt ends in this step, if there is room for it.
    fn end_within_budget(&self, index: usize) -> Option<usize> {
        let sequence = &self.running[index];
        let end = sequence.next_end(self.config.chunk, self.any_chunking);
        let most = sequence.cached + (self.config.step_tokens - self.planned);
        if end <= most {
            return Some(end);
        }
        // A part of a chunk, where that changes nothing: whole pages of it.
        let part = most / self.limits.page_size * self.limits.page_size;
        (self.any_chunking && part > sequence.cached).then_some(part)
    }

    /// Adds a span, if there are pages for it or some can be had from sequences that arrived later.
    fn plan(&mut self, index: usize, end: usize) -> bool {
        let needed = end.div_ceil(self.limits.page_size);
        while self.running[index].pages.len() < needed {
            if let Some(page) = self.cache.take() {
                self.running[index].pages.push(page);
            } else if index + 1 < self.running.len() {
                self.preempt_last();
            } else {
                return false;
            }
        }
        self.planned += end - self.running[index].cached;
        self.spans.push(Span { index, end });
        true
    }

    /// Sends the sequence that arrived last back to the front of the queue. Its full pages are found again, unless somebody takes them.
    fn preempt_last(&mut self) {
        let Some(mut sequence) = self.running.pop() else { return };
        let index = self.running.len();
        if let Some(at) = self.spans.iter().position(|span| span.index == index) {
            let span = self.spans.remove(at);
            self.planned -= span.end - sequence.cached;
        }
        self.free(&sequence);
        sequence.give_up();
        self.stats.preemptions += 1;
        self.blocked = None;
        self.waiting.push_front(sequence);
    }

    /// Makes the batch of the spans.
    pub(super) fn fill(&mut self) -> Result<(), BatchError> {
        self.batch.clear();
        for &Span { index, end } in &self.spans {
            let sequence = &self.running[index];
            let want = if end == sequence.tokens.len() { WantLogits::Last } else { WantLogits::None };
            let pages = &sequence.pages[..end.div_ceil(self.limits.page_size)];
            self.batch.push(&sequence.tokens[sequence.cached..end], sequence.cached, pages, sequence.slot, want)?;
        }
        Ok(())
    }
}
