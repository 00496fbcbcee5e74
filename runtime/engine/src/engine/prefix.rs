//! What sequences have in common: pages, snapshots behind them, and work that one does for several.
//!
//! A prefix can be taken over up to a boundary: where a page ends, and where it matters how a sequence is cut also a chunk of the
//! prompt, so that whoever takes it over computes the rest with the same cuts as alone. Where layers are recurrent, a boundary needs
//! a snapshot as well. A sequence leaves two at most of its own: behind the last boundary of its prompt, and where an earlier prompt,
//! whose pages it found, went another way.

use tenon_core::batch::PageId;

use super::sequence::Sequence;
use super::{Engine, EngineError};

impl Engine {
    /// The last boundary that is not after so many tokens.
    fn boundary(&self, tokens: usize) -> usize {
        tokens / self.unit * self.unit
    }

    /// The last boundary up to which a sequence may take over what others have computed: its last token is its own, since that is where
    /// the next one is chosen.
    fn last_boundary(&self, sequence: &Sequence) -> usize {
        let tokens = if self.any_chunking { sequence.tokens.len() } else { sequence.prompt };
        self.boundary(tokens - 1)
    }

    /// Takes over what is in the cache, and finds out who computes more of it at the moment.
    pub(super) fn look_for_prefix(&mut self, index: usize) -> Result<(), EngineError> {
        if !self.shares {
            return Ok(());
        }
        if self.is_recurrent() {
            let sequence = &mut self.running[index];
            let last = (sequence.prompt - 1) / self.unit * self.unit;
            sequence.want_snapshot(last);
        }
        self.extend(index)?;
        self.running[index].awaits = None;
        if let Some((ahead, end)) = self.who_computes(index) {
            self.running[index].awaits = Some((self.running[ahead].id, end));
            if self.is_recurrent() {
                self.running[ahead].want_snapshot(end);
            }
        }
        Ok(())
    }

    /// Whether a sequence goes on waiting for one before it. One that does not is as far as the cache takes it.
    pub(super) fn still_awaits(&mut self, index: usize) -> Result<bool, EngineError> {
        match self.running[index].awaits {
            Some((id, end)) => match self.find(id) {
                Some(ahead) if self.running[ahead].cached < end => return Ok(true),
                Some(_) => {
                    self.running[index].awaits = None;
                    self.extend(index)?;
                }
                // It was cancelled, or it ended early: another one may have the same tokens.
                None => self.look_for_prefix(index)?,
            },
            // What somebody else has computed in the meantime; a state could not be taken over without having been asked for.
            None if !self.is_recurrent() => self.extend(index)?,
            None => {}
        }
        Ok(self.running[index].awaits.is_some())
    }

    /// The earlier sequence that is to compute the most of what this one needs next, and up to where they are the same.
    ///
    /// Whoever waits for it loses no time: it is at least as far, it has its turns, and what waits leaves it more of each step. Only
    /// earlier ones are waited for, so that nobody waits in a circle, and one that ends early is noticed in the next step.
    fn who_computes(&self, index: usize) -> Option<(usize, usize)> {
        let sequence = &self.running[index];
        let last = self.boundary(sequence.prompt - 1);
        let mut best = None;
        for (ahead, other) in self.running[..index].iter().enumerate() {
            let end = best.map_or(sequence.cached, |(_, end)| end);
            if end >= last {
                break;
            }
            if other.cached >= other.prompt || other.cached < sequence.cached {
                continue;
            }
            let same = other.tokens[..other.prompt].iter().zip(&sequence.tokens[..last]).take_while(|(a, b)| a == b).count();
            let same = self.boundary(same);
            if same > end.max(other.cached) {
                best = Some((ahead, same));
            }
        }
        best
    }

    /// Continues a sequence with what the cache has behind it, if it stands at a boundary.
    fn extend(&mut self, index: usize) -> Result<(), EngineError> {
        let (size, recurrent) = (self.limits.page_size, self.is_recurrent());
        let sequence = &self.running[index];
        if !self.shares || sequence.cached != sequence.kept * size || !sequence.cached.is_multiple_of(self.unit) {
            return Ok(());
        }
        let mut found = std::mem::take(&mut self.found);
        let matched = self.walk(sequence, &mut found);
        let (start, whole) = (sequence.cached, self.boundary(matched));
        let usable = |pages: &[PageId]| {
            let at = start + pages.len() * size;
            let page = pages.last()?;
            let snapshot = self.cache.snapshot(*page);
            (at.is_multiple_of(self.unit) && (!recurrent || snapshot.is_some())).then_some((at, snapshot))
        };
        let hit = (1..=found.len()).rev().find_map(|pages| usable(&found[..pages]));
        if let Some((end, snapshot)) = hit {
            if let (Some(snapshot), Some(slot), true) = (snapshot, sequence.slot, recurrent) {
                self.model.restore_state(snapshot, slot)?;
                self.cache.touch_snapshot(snapshot);
            }
            found.truncate((end - start) / size);
            found.iter().for_each(|&page| self.cache.share(page));
            let sequence = &mut self.running[index];
            // Pages that were taken for a span that then had no room.
            self.cache.release(&sequence.pages[sequence.kept..]);
            sequence.pages.truncate(sequence.kept);
            sequence.pages.extend_from_slice(&found);
            sequence.kept = sequence.pages.len();
            self.stats.prefix_hit_tokens += sequence.found(end) as u64;
        }
        if recurrent && whole > self.running[index].cached {
            self.running[index].want_snapshot(whole);
        }
        found.clear();
        self.found = found;
        Ok(())
    }

    /// The pages that the cache has behind a sequence, as far as it may take them over. Returns how many tokens there are with them.
    fn walk(&self, sequence: &Sequence, found: &mut Vec<PageId>) -> usize {
        let size = self.limits.page_size;
        let (mut at, last) = (sequence.kept * size, self.last_boundary(sequence));
        let mut parent = sequence.pages[..sequence.kept].last().copied();
        while at < last
            && let Some(page) = self.cache.find(parent, &sequence.tokens[at..at + size])
        {
            found.push(page);
            parent = Some(page);
            at += size;
        }
        at
    }

    /// Pages that a waiting sequence would take over from sequences that run.
    pub(super) fn pages_in_use(&self, sequence: &Sequence) -> usize {
        if !self.shares {
            return 0;
        }
        let mut found = Vec::new();
        self.walk(sequence, &mut found);
        found.iter().take_while(|&&page| self.cache.is_used(page)).count()
    }

    /// Keeps the pages that a sequence has filled, and a snapshot where one is wanted.
    pub(super) fn keep(&mut self, index: usize) -> Result<(), EngineError> {
        if !self.shares {
            return Ok(());
        }
        let (size, unit) = (self.limits.page_size, self.unit);
        let sequence = &mut self.running[index];
        let full = if self.any_chunking {
            sequence.cached / size
        } else if sequence.cached <= sequence.prompt && sequence.cached.is_multiple_of(unit) {
            sequence.cached / size
        } else {
            // Not computed as whoever has the same tokens would compute them.
            return Ok(());
        };
        while sequence.kept < full {
            let at = sequence.kept;
            let parent = sequence.pages[..at].last().copied();
            sequence.pages[at] = self.cache.keep(sequence.pages[at], parent, &sequence.tokens[at * size..][..size]);
            sequence.kept += 1;
        }
        if sequence.takes_snapshot()
            && let (Some(slot), Some(&page)) = (sequence.slot, sequence.pages[..full].last())
            && let Some(snapshot) = self.cache.take_snapshot(page)
        {
            let saved = self.model.save_state(slot, snapshot);
            if saved.is_err() {
                self.cache.drop_snapshot(snapshot);
            }
            saved?;
        }
        Ok(())
    }
}
