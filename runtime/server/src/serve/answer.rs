//! One answer: the engine's tokens become text, which ends where a stop sequence begins.

use std::collections::VecDeque;
use std::sync::Arc;

use tenon_engine::{ChosenToken, Detokenizer, FinishReason, SpecialTokens, StopMatcher, TokenLogprobs, Tokenizer, Usage};
use tenon_formats::tools::Delta;

use super::Service;
use super::error::ApiError;
use super::worker::{Update, Updates};

/// A request that the engine works for. Dropping it cancels the work.
pub(super) struct Answer {
    service: Arc<Service>,
    updates: Updates,
    text: Text,
    usage: TokenUsage,
    /// Parts that are ready.
    ready: VecDeque<Part>,
    ended: bool,
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
    /// Where its text begins in the answer's, in characters.
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

/// Tokens of a request: the prompt counts once, and the answers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenUsage {
    pub(super) prompt_tokens: usize,
    /// Those of the prompt that were in the cache already.
    pub(super) cached_tokens: usize,
    /// Tokens that the model chose, the end token included.
    pub(super) completion_tokens: usize,
    /// Those that were reasoning.
    pub(super) reasoning_tokens: usize,
}

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Whole {
    /// In order.
    pub(super) choices: Vec<WholeChoice>,
    pub(super) usage: TokenUsage,
}

/// One choice of a whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WholeChoice {
    pub(super) content: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) calls: Vec<WholeCall>,
    pub(super) tokens: Vec<Told>,
    /// `None` until it is known.
    pub(super) ending: Option<Ending>,
}

/// A call of a whole answer. Its id is the dialect's ([`Service::call_id`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WholeCall {
    pub(super) name: String,
    /// The JSON text of an object; cut where the answer was.
    pub(super) arguments: String,
}

impl WholeChoice {
    /// Adds what comes next.
    fn add(&mut self, delta: Delta) {
        let append = |to: &mut Option<String>, text: String| to.get_or_insert_default().push_str(&text);
        match delta {
            Delta::Content(text) => append(&mut self.content, text),
            Delta::Reasoning(text) => append(&mut self.reasoning, text),
            Delta::CallBegin { name, .. } => self.calls.push(WholeCall { name, arguments: String::new() }),
            Delta::CallArguments { index, text } => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.arguments.push_str(&text);
                }
            }
            Delta::CallEnd { .. } => {}
        }
    }
}

impl Answer {
    /// An answer to a prompt of that many tokens, whose request the engine has accepted.
    pub(super) fn new(service: Arc<Service>, updates: Updates, stop: Vec<String>, prompt_tokens: usize) -> Self {
        let usage = TokenUsage { prompt_tokens, ..TokenUsage::default() };
        Self { service, updates, text: Text::new(stop), usage, ready: VecDeque::new(), ended: false }
    }

    /// The next part; `None` after [`Part::Usage`], which is the last.
    pub(super) async fn next(&mut self) -> Result<Option<Part>, ApiError> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(Some(part));
            }
            if self.ended {
                return Ok(None);
            }
            match self.updates.next().await {
                Some(Update::Accepted) => {}
                Some(Update::Token(token)) => {
                    // Counted here, not by the engine, which may be some tokens beyond a stop sequence.
                    self.usage.completion_tokens += 1;
                    let (piece, stopped) = self.text.push(&self.service.served.tokenizer, token)?;
                    match stopped {
                        Some(stop) => {
                            self.updates.leave();
                            self.end(piece, Ending::StopSequence(stop));
                        }
                        None if !piece.text.is_empty() => self.tell(piece),
                        None => {}
                    }
                }
                Some(Update::Finished(reason, usage)) => {
                    let (piece, stopped) = self.text.finish();
                    let ending = match (stopped, reason) {
                        (Some(stop), _) => Ending::StopSequence(stop),
                        (None, FinishReason::End(_)) => Ending::Stop,
                        (None, FinishReason::MaxTokens | FinishReason::Context | FinishReason::Deadline) => Ending::Length,
                        (None, FinishReason::Cancelled) => return Err(self.service.worker.gone()),
                    };
                    let Usage { cached_tokens, completion_tokens, .. } = usage;
                    (self.usage.cached_tokens, self.usage.completion_tokens) = (cached_tokens, completion_tokens);
                    self.end(piece, ending);
                }
                Some(Update::Failed(message)) => return Err(ApiError::internal(message)),
                Some(Update::Refused(_)) | None => return Err(self.service.worker.gone()),
            }
        }
    }

    /// Everything, once it is there.
    pub(super) async fn whole(mut self) -> Result<Whole, ApiError> {
        let mut whole = Whole { choices: vec![WholeChoice::default()], ..Whole::default() };
        while let Some(part) = self.next().await? {
            match part {
                Part::Delta { choice, deltas, tokens } => {
                    if let Some(choice) = whole.choices.get_mut(choice) {
                        deltas.into_iter().for_each(|delta| choice.add(delta));
                        choice.tokens.extend(tokens);
                    }
                }
                Part::End { choice, ending } => {
                    if let Some(choice) = whole.choices.get_mut(choice) {
                        choice.ending = Some(ending);
                    }
                }
                Part::Usage(usage) => whole.usage = usage,
            }
        }
        Ok(whole)
    }

    fn tell(&mut self, piece: Piece) {
        let deltas = if piece.text.is_empty() { Vec::new() } else { vec![Delta::Content(piece.text)] };
        if !deltas.is_empty() || !piece.tokens.is_empty() {
            self.ready.push_back(Part::Delta { choice: 0, deltas, tokens: piece.tokens });
        }
    }

    fn end(&mut self, piece: Piece, ending: Ending) {
        self.tell(piece);
        self.ready.push_back(Part::End { choice: 0, ending });
        self.ready.push_back(Part::Usage(self.usage));
        self.ended = true;
    }
}

/// A piece of text, and the tokens that begin in it where log-probabilities were asked for.
#[derive(Debug, Default)]
struct Piece {
    text: String,
    tokens: Vec<Told>,
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

    /// Takes a token; returns what can be given out, and the stop sequence that has ended the text.
    fn push(&mut self, tokenizer: &Tokenizer, token: ChosenToken) -> Result<(Piece, Option<String>), ApiError> {
        let mut produced = String::new();
        let unknown = |error| ApiError::internal(format!("{error}"));
        self.detokenizer.push(tokenizer, token.id, &mut produced).map_err(unknown)?;
        if let Some(logprobs) = token.logprobs {
            self.waiting.push_back(Told { id: token.id, offset: self.produced, logprobs: *logprobs });
        }
        Ok(self.produce(&produced))
    }

    /// The text is over: returns what was held back.
    fn finish(&mut self) -> (Piece, Option<String>) {
        let mut last = String::new();
        self.detokenizer.finish(&mut last);
        let (mut piece, stopped) = self.produce(&last);
        if stopped.is_none() {
            self.stops.finish(&mut piece.text);
            piece.tokens.extend(self.waiting.drain(..));
        }
        (piece, stopped)
    }

    fn produce(&mut self, produced: &str) -> (Piece, Option<String>) {
        self.produced += produced.chars().count();
        let mut text = String::new();
        let stopped = self.stops.push(produced, &mut text).map(str::to_owned);
        self.released += text.chars().count();
        // A token is told with the text that it begins; one that begins at a stop sequence or behind it is not part of the answer.
        let begun = self.waiting.iter().take_while(|told| told.offset < self.released).count();
        let tokens = self.waiting.drain(..begun).collect();
        (Piece { text, tokens }, stopped)
    }
}
