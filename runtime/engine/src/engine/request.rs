//! What is asked of an engine, and what it tells.

use std::sync::Arc;
use std::time::Instant;

use crate::constraint::{Constraint, ConstraintError};
use crate::logprobs::TokenLogprobs;
use crate::sampling::{LogitsError, SamplingParams};

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
pub struct SequenceId(pub(super) u64);

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
    /// More of the prompt is in the cache than ever before. The first one says that the sequence waits no longer; a sequence whose cache
    /// was given up and is computed again tells nothing twice.
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
    Failed(ChoiceError),
}

/// Why no token could be chosen.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChoiceError {
    /// The logits allow none.
    #[error(transparent)]
    Logits(#[from] LogitsError),
    /// The constraint allows none.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
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
    /// Those of the prompt that were not computed, because another request had left them in the cache.
    pub cached_tokens: usize,
    /// Tokens that the model chose, the end token included.
    pub completion_tokens: usize,
}
