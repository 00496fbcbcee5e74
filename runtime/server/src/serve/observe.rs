//! What happens to requests, for whoever keeps books: metrics, logs.

use std::fmt::Debug;
use std::time::Duration;

use tenon_engine::{FinishReason, Usage};

use super::error::ApiError;

/// Is told what happens to requests. Answers wait for it, so it must be quick and never block.
///
/// Everything about a request is told within the [`tracing::Span`] in which the request arrived, also by the engine's thread, so that
/// a log line written here has what that span has.
pub(super) trait Observer: Debug + Send + Sync {
    /// Takes note.
    fn observe(&self, occurrence: Occurrence<'_>);
}

/// Something that happened to a request, or to one of its sequences: a request has one for each answer that it asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Occurrence<'a> {
    /// A request was refused, before anything was computed for it.
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
    /// It has ended, or its client has left.
    Finished {
        /// Why.
        reason: FinishReason,
        /// Tokens used.
        usage: Usage,
        /// Time since it was queued.
        took: Duration,
    },
    /// It cannot go on.
    Failed {
        /// Why.
        message: &'a str,
        /// Time since it was queued.
        took: Duration,
    },
}

/// Keeps no books.
#[derive(Debug)]
pub(super) struct Nobody;

impl Observer for Nobody {
    fn observe(&self, _: Occurrence<'_>) {}
}
