//! `Batch`: the tokens of one step, valid by construction.

use std::ops::Range;

/// One page of every layer's paged cache. A distinct type from [`StateSlot`], so that one pool's index cannot address another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub u32);

/// One slot of a recurrent state pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateSlot(pub u32);

/// One entry of a snapshot pool: a copy of a sequence's recurrent state that was saved. A distinct type from [`StateSlot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotId(pub u32);

/// What a batch may contain; a model states its own with [`Model::limits`](crate::model::Model::limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Token ids are below this.
    pub vocab_size: usize,
    /// Positions are below this.
    pub max_positions: usize,
    /// Tokens per page.
    pub page_size: usize,
    /// Page ids are below this.
    pub pages: usize,
    /// Slots of the recurrent state pool; 0 where the model has no recurrent layer.
    pub state_slots: usize,
    /// Most tokens in one step.
    pub max_tokens: usize,
    /// Most rows of logits in one step.
    pub max_logit_rows: usize,
}

impl std::fmt::Display for BatchLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} tokens, {} logit rows, {} pages of {} tokens, {} state slots, {} positions, vocabulary {}",
            self.max_tokens,
            self.max_logit_rows,
            self.pages,
            self.page_size,
            self.state_slots,
            self.max_positions,
            self.vocab_size
        )
    }
}

/// Which tokens of a sequence want logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantLogits {
    /// None: a prefill chunk that is not the last.
    None,
    /// The last token of this step.
    Last,
    /// Every token of this step.
    All,
}

/// The part of one sequence that a step computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceSpan {
    /// Its tokens, as a range of the batch's tokens.
    pub tokens: Range<usize>,
    /// The position of its first token: that many tokens are in the cache already.
    pub start: usize,
    /// Its page table, as a range of [`Batch::pages`]; page `i` holds positions `i * page_size ..`.
    pub pages: Range<usize>,
    /// Its slot in the recurrent state pool, where the model has one.
    pub state_slot: Option<StateSlot>,
}

impl SequenceSpan {
    /// Tokens that a query at the end of this span attends to, itself included.
    pub fn context(&self) -> usize {
        self.start + self.tokens.len()
    }
}

/// The tokens of one step: prefill chunks and decodes of several sequences, mixed freely.
#[derive(Clone, Debug)]
pub struct Batch {
    limits: BatchLimits,
    token_ids: Vec<u32>,
    positions: Vec<u32>,
    sequences: Vec<SequenceSpan>,
    pages: Vec<PageId>,
    logit_rows: Vec<usize>,
    written: Vec<u64>,
    slots: Vec<StateSlot>,
}

/// Why a sequence cannot join a batch. The batch is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// A sequence without tokens.
    #[error("a sequence in a batch needs at least one token")]
    Empty,
    /// More tokens than a step may have.
    #[error("{tokens} tokens in one step, and the limit is {limit}")]
    TooManyTokens {
        /// Tokens that the batch would have.
        tokens: usize,
        /// The limit.
        limit: usize,
    },
    /// More logit rows than a step may have.
    #[error("{rows} rows of logits in one step, and the limit is {limit}")]
    TooManyLogitRows {
        /// Rows that the batch would have.
        rows: usize,
        /// The limit.
        limit: usize,
    },
    /// A token id outside the vocabulary.
    #[error("token id {token} is outside the vocabulary of {vocab_size}")]
    Token {
        /// The id.
        token: u32,
        /// The vocabulary.
        vocab_size: usize,
    },
    /// A position outside the model's context.
    #[error("position {position} is outside the context of {max_positions}")]
    Position {
        /// The last position asked for.
        position: usize,
        /// The context.
        max_positions: usize,
    },
    /// Too few or too many pages for the sequence's length.
    #[error("{context} tokens need {needed} pages of {page_size}, and the sequence brings {got}")]
    PageTable {
        /// Tokens of the sequence, cached ones included.
        context: usize,
        /// Tokens per page.
        page_size: usize,
        /// Pages needed.
        needed: usize,
        /// Pages brought.
        got: usize,
    },
    /// A page that does not exist.
    #[error("page {} does not exist: the cache has {pages}", page.0)]
    Page {
        /// The id.
        page: PageId,
        /// Pages of the cache.
        pages: usize,
    },
    /// Two spans would write the same page.
    #[error("page {} would be written by two sequences of one step", page.0)]
    PageWrittenTwice {
        /// The page.
        page: PageId,
    },
    /// A state slot is missing, unexpected, out of range or taken.
    #[error("{what}")]
    StateSlot {
        /// What is wrong with it.
        what: String,
    },
}

impl Batch {
    /// An empty batch for a model with these limits.
    pub fn new(limits: BatchLimits) -> Self {
        Self {
            limits,
            token_ids: Vec::with_capacity(limits.max_tokens),
            positions: Vec::with_capacity(limits.max_tokens),
            sequences: Vec::new(),
            pages: Vec::new(),
            logit_rows: Vec::with_capacity(limits.max_logit_rows),
            written: vec![0; limits.pages.div_ceil(64)],
            slots: Vec::new(),
        }
    }

    /// Removes all sequences and keeps the allocations.
    pub fn clear(&mut self) {
        self.token_ids.clear();
        self.positions.clear();
        self.sequences.clear();
        self.pages.clear();
        self.logit_rows.clear();
        self.written.fill(0);
        self.slots.clear();
    }

    /// Adds the next `token_ids` of a sequence that has `start` tokens in its `pages` already.
    ///
    /// Pages that hold only positions below `start` are read and may be shared; the pages that this span writes belong to it
    /// alone.
    pub fn push(
        &mut self,
        token_ids: &[u32],
        start: usize,
        pages: &[PageId],
        state_slot: Option<StateSlot>,
        want: WantLogits,
    ) -> Result<(), BatchError> {
        let l = self.limits;
        if token_ids.is_empty() {
            return Err(BatchError::Empty);
        }
        let tokens = self.token_ids.len() + token_ids.len();
        if tokens > l.max_tokens {
            return Err(BatchError::TooManyTokens { tokens, limit: l.max_tokens });
        }
        let rows = self.logit_rows.len()
            + match want {
                WantLogits::None => 0,
                WantLogits::Last => 1,
                WantLogits::All => token_ids.len(),
            };
        if rows > l.max_logit_rows {
            return Err(BatchError::TooManyLogitRows { rows, limit: l.max_logit_rows });
        }
        if let Some(&token) = token_ids.iter().find(|&&t| t as usize >= l.vocab_size) {
            return Err(BatchError::Token { token, vocab_size: l.vocab_size });
        }
        let context = start.saturating_add(token_ids.len());
        if context > l.max_positions {
            return Err(BatchError::Position { position: context - 1, max_positions: l.max_positions });
        }
        let needed = context.div_ceil(l.page_size);
        if pages.len() != needed {
            return Err(BatchError::PageTable { context, page_size: l.page_size, needed, got: pages.len() });
        }
        if let Some(&page) = pages.iter().find(|p| p.0 as usize >= l.pages) {
            return Err(BatchError::Page { page, pages: l.pages });
        }
        self.check_slot(state_slot)?;
        self.claim(&pages[start / l.page_size..])?;

        let first = self.token_ids.len();
        self.token_ids.extend_from_slice(token_ids);
        self.positions.extend(start as u32..context as u32);
        let table = self.pages.len();
        self.pages.extend_from_slice(pages);
        self.slots.extend(state_slot);
        self.sequences.push(SequenceSpan { tokens: first..tokens, start, pages: table..self.pages.len(), state_slot });
        match want {
            WantLogits::None => {}
            WantLogits::Last => self.logit_rows.push(tokens - 1),
            WantLogits::All => self.logit_rows.extend(first..tokens),
        }
        Ok(())
    }

    fn check_slot(&self, slot: Option<StateSlot>) -> Result<(), BatchError> {
        let slots = self.limits.state_slots;
        let what = match slot {
            None if slots > 0 => "the model has recurrent layers, so each sequence needs a state slot".to_owned(),
            Some(s) if slots == 0 => format!("state slot {} for a model without recurrent layers", s.0),
            Some(s) if s.0 as usize >= slots => format!("state slot {} does not exist: the pool has {slots}", s.0),
            Some(s) if self.slots.contains(&s) => format!("state slot {} is used by two sequences of one step", s.0),
            _ => return Ok(()),
        };
        Err(BatchError::StateSlot { what })
    }

    /// Marks the pages that a span writes; on a conflict nothing stays marked.
    fn claim(&mut self, pages: &[PageId]) -> Result<(), BatchError> {
        for (i, &page) in pages.iter().enumerate() {
            let (word, bit) = (page.0 as usize / 64, 1u64 << (page.0 % 64));
            if self.written[word] & bit != 0 {
                for undo in &pages[..i] {
                    self.written[undo.0 as usize / 64] &= !(1u64 << (undo.0 % 64));
                }
                return Err(BatchError::PageWrittenTwice { page });
            }
            self.written[word] |= bit;
        }
        Ok(())
    }

    /// The limits that this batch was built for.
    pub fn limits(&self) -> BatchLimits {
        self.limits
    }

    /// Number of tokens, over all sequences.
    pub fn tokens(&self) -> usize {
        self.token_ids.len()
    }

    /// True when there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.token_ids.is_empty()
    }

    /// Token ids, sequence after sequence.
    pub fn token_ids(&self) -> &[u32] {
        &self.token_ids
    }

    /// The position of each token in its sequence.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The sequences.
    pub fn sequences(&self) -> &[SequenceSpan] {
        &self.sequences
    }

    /// The page table of one of [`Batch::sequences`].
    pub fn pages(&self, sequence: &SequenceSpan) -> &[PageId] {
        &self.pages[sequence.pages.clone()]
    }

    /// Indices of the tokens that want logits.
    pub fn logit_rows(&self) -> &[usize] {
        &self.logit_rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> BatchLimits {
        BatchLimits {
            vocab_size: 100,
            max_positions: 64,
            page_size: 16,
            pages: 8,
            state_slots: 0,
            max_tokens: 40,
            max_logit_rows: 8,
        }
    }

    fn pages(ids: &[u32]) -> Vec<PageId> {
        ids.iter().copied().map(PageId).collect()
    }

    #[test]
    fn mixes_prefill_and_decode() {
        let mut b = Batch::new(limits());
        b.push(&[1, 2, 3], 0, &pages(&[4]), None, WantLogits::Last).unwrap();
        b.push(&[9], 16, &pages(&[0, 1]), None, WantLogits::All).unwrap();
        assert_eq!(b.positions(), [0, 1, 2, 16]);
        assert_eq!(b.logit_rows(), [2, 3]);
        assert_eq!(b.pages(&b.sequences()[1]), pages(&[0, 1]));
        assert_eq!(b.sequences()[1].context(), 17);
    }

    #[test]
    fn a_full_prefix_page_may_be_shared_and_a_written_one_may_not() {
        let mut b = Batch::new(limits());
        b.push(&[1], 16, &pages(&[0, 1]), None, WantLogits::None).unwrap();
        b.push(&[1], 16, &pages(&[0, 2]), None, WantLogits::None).unwrap();
        let twice = b.push(&[1], 17, &pages(&[0, 2]), None, WantLogits::None);
        assert_eq!(twice, Err(BatchError::PageWrittenTwice { page: PageId(2) }));
        // A refused sequence leaves no trace: its other pages can still be claimed.
        let partly = b.push(&[1; 17], 16, &pages(&[0, 3, 2]), None, WantLogits::None);
        assert_eq!(partly, Err(BatchError::PageWrittenTwice { page: PageId(2) }));
        b.push(&[1], 16, &pages(&[0, 3]), None, WantLogits::None).unwrap();
        assert_eq!(b.tokens(), 3);
    }

    #[test]
    fn refuses_what_does_not_fit_with_both_values() {
        let mut b = Batch::new(limits());
        let errors = [
            b.push(&[], 0, &[], None, WantLogits::None),
            b.push(&[1; 41], 0, &pages(&[0, 1, 2]), None, WantLogits::None),
            b.push(&[1; 9], 0, &pages(&[0]), None, WantLogits::All),
            b.push(&[100], 0, &pages(&[0]), None, WantLogits::None),
            b.push(&[1], 64, &pages(&[0, 1, 2, 3, 4]), None, WantLogits::None),
            b.push(&[1], usize::MAX, &pages(&[0]), None, WantLogits::None),
            b.push(&[1; 17], 0, &pages(&[0]), None, WantLogits::None),
            b.push(&[1], 0, &pages(&[8]), None, WantLogits::None),
            b.push(&[1], 0, &pages(&[0]), Some(StateSlot(0)), WantLogits::None),
        ];
        let texts: Vec<String> = errors.into_iter().map(|e| e.unwrap_err().to_string()).collect();
        assert_eq!(
            texts,
            [
                "a sequence in a batch needs at least one token",
                "41 tokens in one step, and the limit is 40",
                "9 rows of logits in one step, and the limit is 8",
                "token id 100 is outside the vocabulary of 100",
                "position 64 is outside the context of 64",
                "position 18446744073709551614 is outside the context of 64",
                "17 tokens need 2 pages of 16, and the sequence brings 1",
                "page 8 does not exist: the cache has 8",
                "state slot 0 for a model without recurrent layers",
            ]
        );
        assert!(b.is_empty());
    }

    #[test]
    fn recurrent_models_need_distinct_slots() {
        let mut b = Batch::new(BatchLimits { state_slots: 2, ..limits() });
        let missing = b.push(&[1], 0, &pages(&[0]), None, WantLogits::None).unwrap_err();
        assert_eq!(missing.to_string(), "the model has recurrent layers, so each sequence needs a state slot");
        b.push(&[1], 0, &pages(&[0]), Some(StateSlot(1)), WantLogits::None).unwrap();
        let twice = b.push(&[1], 0, &pages(&[1]), Some(StateSlot(1)), WantLogits::None).unwrap_err();
        assert_eq!(twice.to_string(), "state slot 1 is used by two sequences of one step");
    }
}
