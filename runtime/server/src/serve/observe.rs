//! What happens to requests, for whoever keeps books: metrics, logs.

use std::fmt::Debug;
use std::time::Duration;

use tenon_engine::engine::EngineStats;
use tenon_engine::{FinishReason, Usage};

use super::answer::Ending;
use super::error::ApiError;

/// Is told what happens to one request. Answers wait for it, so it must be quick and never block.
///
/// It is called by the engine's thread and by whoever reads the answer, neither of which has anything of the request around it.
pub(super) trait Observer: Debug + Send + Sync {
    /// Takes note.
    fn observe(&self, occurrence: Occurrence<'_>);
}

/// Something that happened to a request, or to one of its sequences: a request has one for each answer that it asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Occurrence<'a> {
    /// The request was refused, before anything was computed for it.
    Refused(&'a ApiError),
    /// A sequence waits for the engine.
    Queued {
        /// Tokens of its prompt.
        prompt_tokens: usize,
    },
    /// The first part of its prompt was computed.
    Admitted {
        /// Time since it was queued.
        waited: Duration,
    },
    /// Its next token was chosen.
    Token {
        /// It is the sequence's first.
        first: bool,
        /// Time since the one before, or since the sequence was queued.
        after: Duration,
    },
    /// The engine is done with a sequence. A stop sequence is found in the text, so that to the engine such an answer is cancelled.
    Finished {
        /// Why.
        reason: FinishReason,
        /// Tokens used.
        usage: Usage,
        /// Time since it was queued.
        took: Duration,
    },
    /// An answer is over, as its client is told. An answer whose client leaves never gets there.
    Ended(&'a Ending),
    /// A sequence cannot go on.
    Failed {
        /// Why.
        message: &'a str,
        /// Time since it was queued.
        took: Duration,
    },
}

/// Is told what the engine holds, whenever that may have changed. The engine waits for it.
pub(super) trait EngineObserver: Debug + Send + Sync {
    /// Takes note.
    fn stats(&self, stats: &EngineStats);
}

/// Keeps no books.
#[derive(Debug)]
pub(super) struct Nobody;

impl EngineObserver for Nobody {
    fn stats(&self, _: &EngineStats) {}
}

impl Observer for Nobody {
    fn observe(&self, _: Occurrence<'_>) {}
}
