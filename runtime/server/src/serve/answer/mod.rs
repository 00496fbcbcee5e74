//! Answers: the engine's tokens become text, the text content, reasoning and calls, and the content ends where a stop sequence begins.

mod choice;
mod whole;

use std::collections::VecDeque;
use std::sync::Arc;

use tenon_engine::{FinishReason, TokenLogprobs, Usage};
use tenon_formats::tools::Delta;

use super::Service;
use super::error::ApiError;
use super::observe::{Observer, Occurrence};
use super::prompt::Reading;
use super::worker::{News, Update, Updates};
use choice::{Choice, Piece};

pub(super) use whole::{Whole, WholeCall, WholeChoice};

/// A request that the engine works for. Dropping it cancels the work.
pub(super) struct Answer {
    service: Arc<Service>,
    updates: Updates,
    observer: Arc<dyn Observer>,
    /// One for each sequence of the engine.
    choices: Vec<Choice>,
    /// Choices that are not over.
    open: usize,
    usage: TokenUsage,
    /// Parts that are ready.
    ready: VecDeque<Part>,
}

/// What came next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// More of one choice.
    Delta {
        /// Which.
        choice: usize,
        /// What it says; none when there are tokens only, as at the end of an answer.
        deltas: Vec<Delta>,
        /// The tokens that begin in it, where log-probabilities were asked for.
        tokens: Vec<Told>,
    },
    /// One choice is over.
    End {
        /// Which.
        choice: usize,
        /// Why.
        ending: Ending,
    },
    /// All are over. It is the last part.
    Usage(TokenUsage),
}

/// A token of the answer and how likely it was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub(super) id: u32,
    /// Where its text begins in the model's output, in characters.
    pub(super) offset: usize,
    pub(super) logprobs: TokenLogprobs,
}

/// Why an answer is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The model ended it.
    Stop,
    /// This stop sequence did.
    StopSequence(String),
    /// As many tokens as were asked for, or as the context or the time holds.
    Length,
    /// The model ended it, and has called functions.
    ToolCalls,
}

/// Tokens of a request: a prompt counts once, and its answers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenUsage {
    pub(super) prompt_tokens: usize,
    /// Those of the prompt that were in the cache already, when its first answer began.
    pub(super) cached_tokens: usize,
    /// Tokens that the model chose, the end token included.
    pub(super) completion_tokens: usize,
    /// Those that were reasoning.
    pub(super) reasoning_tokens: usize,
}

/// The answers to one prompt, as the engine begins with them.
pub(super) struct Begin {
    pub(super) prompt_tokens: usize,
    /// How many.
    pub(super) n: usize,
    pub(super) reading: Reading,
    pub(super) stop: Vec<String>,
}

impl Answer {
    /// Answers whose request the engine has accepted.
    pub(super) fn new(service: Arc<Service>, updates: Updates, observer: Arc<dyn Observer>, begun: Vec<Begin>) -> Self {
        let prompt_tokens = begun.iter().map(|begin| begin.prompt_tokens).sum();
        let of = |begin: Begin| (0..begin.n).map(move |i| Choice::new(&begin.reading, begin.stop.clone(), i == 0));
        let choices: Vec<Choice> = begun.into_iter().flat_map(of).collect();
        let usage = TokenUsage { prompt_tokens, ..TokenUsage::default() };
        Self { service, updates, observer, open: choices.len(), choices, usage, ready: VecDeque::new() }
    }

    /// The tokens as far as they are known: those of the prompt from the beginning, those found in the cache with the first part, the
    /// others with the last.
    pub(super) fn usage(&self) -> TokenUsage {
        self.usage
    }

    /// How many choices there are.
    pub(super) fn choices(&self) -> usize {
        self.choices.len()
    }

    /// The next part; `None` after [`Part::Usage`], which is the last.
    pub(super) async fn next(&mut self) -> Result<Option<Part>, ApiError> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(Some(part));
            }
            if self.open == 0 {
                return Ok(None);
            }
            match self.updates.next().await {
                Some(Update::Accepted) => {}
                Some(Update::Sequence(number, news)) => self.take(number, news)?,
                Some(Update::Refused(_)) | None => return Err(self.service.worker.gone()),
            }
        }
    }

    fn take(&mut self, number: usize, news: News) -> Result<(), ApiError> {
        let Some(choice) = self.choices.get_mut(number).filter(|choice| !choice.is_over()) else {
            // It was found to be over before the engine knew.
            return Ok(());
        };
        match news {
            News::Begun(cached) => self.usage.cached_tokens += choice.begin(cached),
            News::Token(token) => {
                // Counted here, not by the engine, which may be some tokens beyond a stop sequence.
                self.usage.completion_tokens += 1;
                let piece = choice.push(&self.service.served.tokenizer, token);
                self.usage.reasoning_tokens += usize::from(choice.is_reasoning());
                let stopped = choice.stopped();
                self.tell(number, piece);
                if let Some(stop) = stopped {
                    self.updates.leave(number);
                    self.end(number, Ending::StopSequence(stop));
                }
            }
            News::Finished(reason, usage) => {
                let Usage { cached_tokens, completion_tokens, .. } = usage;
                // An end token is counted by the engine and told to nobody.
                self.usage.completion_tokens += completion_tokens.saturating_sub(choice.tokens());
                self.usage.cached_tokens += choice.begin(cached_tokens);
                // Of any choice: what others have said is an answer.
                let is_empty = self.usage.completion_tokens == 0;
                let (piece, ending) = match reason {
                    FinishReason::End(_) => choice.complete(),
                    FinishReason::Deadline if is_empty => return Err(ApiError::too_late()),
                    FinishReason::MaxTokens | FinishReason::Context | FinishReason::Deadline => choice.cut(),
                    FinishReason::Cancelled => return Err(self.service.worker.gone()),
                };
                self.tell(number, piece);
                self.end(number, ending);
            }
            News::Failed(message) => return Err(ApiError::internal(message)),
        }
        Ok(())
    }

    fn tell(&mut self, choice: usize, piece: Piece) {
        let Piece { deltas, tokens } = piece;
        if !deltas.is_empty() || !tokens.is_empty() {
            self.ready.push_back(Part::Delta { choice, deltas, tokens });
        }
    }

    fn end(&mut self, number: usize, ending: Ending) {
        self.observer.observe(Occurrence::Ended(&ending));
        if let Some(choice) = self.choices.get_mut(number) {
            choice.end();
        }
        self.ready.push_back(Part::End { choice: number, ending });
        self.open -= 1;
        if self.open == 0 {
            self.ready.push_back(Part::Usage(self.usage));
        }
    }
}
