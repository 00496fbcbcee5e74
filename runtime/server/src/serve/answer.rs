//! One answer: the engine's tokens become text, which ends where a stop sequence begins.

use std::collections::VecDeque;
use std::sync::Arc;

use tenon_engine::{ChosenToken, Detokenizer, FinishReason, SpecialTokens, StopMatcher, TokenLogprobs, Tokenizer, Usage};

use super::Service;
use super::error::ApiError;
use super::worker::{Update, Updates};

/// A request that the engine works for. Dropping it cancels the work.
pub(super) struct Answer {
    service: Arc<Service>,
    updates: Updates,
    text: Text,
    usage: Usage,
}

/// What came next.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    /// More text.
    Text(Piece),
    /// The last text, which may be none.
    End(Piece, Ending, Usage),
}

/// A piece of text, and the tokens that begin in it where log-probabilities were asked for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) tokens: Vec<Told>,
}

impl Piece {
    /// Adds the piece that follows.
    pub(super) fn append(&mut self, next: Self) {
        self.text.push_str(&next.text);
        self.tokens.extend(next.tokens);
    }
}

/// A token of the answer and how likely it was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub(super) id: u32,
    /// Where its text begins in the answer's, in characters.
    pub(super) offset: usize,
    pub(super) logprobs: TokenLogprobs,
}

/// Why an answer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The model ended it, or a stop sequence did.
    Stop,
    /// As many tokens as were asked for, or as the context holds.
    Length,
}

impl Answer {
    /// An answer to a prompt of that many tokens, whose request the engine has accepted.
    pub(super) fn new(service: Arc<Service>, updates: Updates, stop: Vec<String>, prompt_tokens: usize) -> Self {
        let usage = Usage { prompt_tokens, cached_tokens: 0, completion_tokens: 0 };
        Self { service, updates, text: Text::new(stop), usage }
    }

    /// The next part; after [`Part::End`] or an error there is none.
    pub(super) async fn next(&mut self) -> Result<Part, ApiError> {
        loop {
            match self.updates.next().await {
                Some(Update::Accepted) => {}
                Some(Update::Token(token)) => {
                    // Counted here, not by the engine, which may be some tokens beyond a stop sequence.
                    self.usage.completion_tokens += 1;
                    let (piece, stopped) = self.text.push(&self.service.served.tokenizer, token)?;
                    if stopped {
                        self.updates.leave();
                        return Ok(Part::End(piece, Ending::Stop, self.usage));
                    }
                    if !piece.text.is_empty() {
                        return Ok(Part::Text(piece));
                    }
                }
                Some(Update::Finished(reason, usage)) => {
                    let (piece, stopped) = self.text.finish();
                    let ending = match reason {
                        _ if stopped => Ending::Stop,
                        FinishReason::End(_) => Ending::Stop,
                        FinishReason::MaxTokens | FinishReason::Context | FinishReason::Deadline => Ending::Length,
                        FinishReason::Cancelled => return Err(self.service.worker.gone()),
                    };
                    return Ok(Part::End(piece, ending, usage));
                }
                Some(Update::Failed(message)) => return Err(ApiError::internal(message)),
                Some(Update::Refused(_)) | None => return Err(self.service.worker.gone()),
            }
        }
    }
}

/// Tokens to text.
struct Text {
    detokenizer: Detokenizer,
    stops: StopMatcher,
    /// Characters that tokens have produced.
    produced: usize,
    /// Characters that were given out.
    released: usize,
    /// Tokens whose text was not given out yet.
    waiting: VecDeque<Told>,
}

impl Text {
    fn new(stop: Vec<String>) -> Self {
        Self {
            detokenizer: Detokenizer::new(SpecialTokens::Hide),
            stops: StopMatcher::new(stop),
            produced: 0,
            released: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Takes a token; returns what can be given out, and whether a stop sequence has ended the text.
    fn push(&mut self, tokenizer: &Tokenizer, token: ChosenToken) -> Result<(Piece, bool), ApiError> {
        let mut produced = String::new();
        let unknown = |error| ApiError::internal(format!("{error}"));
        self.detokenizer.push(tokenizer, token.id, &mut produced).map_err(unknown)?;
        if let Some(logprobs) = token.logprobs {
            self.waiting.push_back(Told { id: token.id, offset: self.produced, logprobs: *logprobs });
        }
        Ok(self.produce(&produced))
    }

    /// The text is over: returns what was held back.
    fn finish(&mut self) -> (Piece, bool) {
        let mut last = String::new();
        self.detokenizer.finish(&mut last);
        let (mut piece, stopped) = self.produce(&last);
        if !stopped {
            self.stops.finish(&mut piece.text);
            piece.tokens.extend(self.waiting.drain(..));
        }
        (piece, stopped)
    }

    fn produce(&mut self, produced: &str) -> (Piece, bool) {
        self.produced += produced.chars().count();
        let mut text = String::new();
        let stopped = self.stops.push(produced, &mut text);
        self.released += text.chars().count();
        // A token is told with the text that it begins; one that begins at a stop sequence or behind it is not part of the answer.
        let begun = self.waiting.iter().take_while(|told| told.offset < self.released).count();
        let tokens = self.waiting.drain(..begun).collect();
        (Piece { text, tokens }, stopped)
    }
}
