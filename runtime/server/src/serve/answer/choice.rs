//! One choice: token ids to text, and text to what it means.

use std::collections::VecDeque;

use tenon_engine::{ChosenToken, Detokenizer, StopMatcher, Tokenizer};
use tenon_formats::tools::{Delta, Finish, OutputEnd, OutputParser};

use super::{Ending, Told};
use crate::serve::prompt::Reading;

/// What can be told.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) deltas: Vec<Delta>,
    pub(super) tokens: Vec<Told>,
}

/// One choice while it is generated.
pub(super) struct Choice {
    detokenizer: Detokenizer,
    parser: OutputParser,
    stops: StopMatcher,
    /// The stop sequence that has ended the content.
    stopped: Option<String>,
    is_reasoning: bool,
    /// Tokens that were taken.
    tokens: usize,
    waiting: Waiting,
    /// The cached tokens of its prompt count here: it is the first answer to it, and they were not counted yet.
    counts_cached: bool,
    is_over: bool,
}

impl Choice {
    pub(super) fn new(reading: &Reading, stop: Vec<String>, is_first: bool) -> Self {
        Self {
            detokenizer: Detokenizer::new(reading.special.clone()),
            parser: OutputParser::new(reading.format.clone()),
            waiting: Waiting { by_text: !stop.is_empty(), ..Waiting::default() },
            stops: StopMatcher::new(stop),
            stopped: None,
            is_reasoning: reading.begins_with_reasoning(),
            tokens: 0,
            counts_cached: is_first,
            is_over: false,
        }
    }

    /// Takes a token, and returns what can be told.
    pub(super) fn push(&mut self, tokenizer: &Tokenizer, token: ChosenToken) -> Piece {
        self.tokens += 1;
        let mut text = String::new();
        // Embeddings are padded beyond the vocabulary: such an id is drawn now and then where sampling is flat, and stands for no text.
        let _ = self.detokenizer.push(tokenizer, token.id, &mut text);
        self.waiting.take(token, &text);
        let mut deltas = Vec::new();
        self.parser.push(&text, &mut deltas);
        let last = deltas.last().map(|delta| matches!(delta, Delta::Reasoning(_)));
        // A token that ends reasoning is one of it.
        self.is_reasoning = last.unwrap_or(self.is_reasoning);
        self.read(deltas)
    }

    /// The model has ended it.
    pub(super) fn complete(&mut self) -> (Piece, Ending) {
        self.finish(OutputEnd::Complete)
    }

    /// Something else has.
    pub(super) fn cut(&mut self) -> (Piece, Ending) {
        self.finish(OutputEnd::Cut)
    }

    fn finish(&mut self, end: OutputEnd) -> (Piece, Ending) {
        let (mut text, mut deltas) = (String::new(), Vec::new());
        self.detokenizer.finish(&mut text);
        self.waiting.text(&text);
        self.parser.push(&text, &mut deltas);
        self.parser.finish(end, &mut deltas);
        let mut piece = self.read(deltas);
        if let Some(stop) = self.stopped.take() {
            return (piece, Ending::StopSequence(stop));
        }
        self.release_held(&mut piece.deltas);
        piece.tokens.extend(self.waiting.all());
        let ending = match Finish::of(end, self.parser.calls()) {
            Finish::Stop => Ending::Stop,
            Finish::Length => Ending::Length,
            Finish::ToolCalls => Ending::ToolCalls,
        };
        (piece, ending)
    }

    /// Looks for stop sequences in the content, behind which nothing is told.
    fn read(&mut self, deltas: Vec<Delta>) -> Piece {
        let mut piece = Piece::default();
        for delta in deltas {
            let Delta::Content(text) = delta else {
                // Content before and behind a call are not one text.
                self.release_held(&mut piece.deltas);
                if let Delta::Reasoning(text) = &delta {
                    self.waiting.told(text);
                }
                piece.deltas.push(delta);
                continue;
            };
            let mut sure = String::new();
            self.stopped = self.stops.push(&text, &mut sure).map(str::to_owned);
            self.tell_content(sure, &mut piece.deltas);
            if self.stopped.is_some() {
                break;
            }
        }
        // Tokens are told with what they begin.
        if !piece.deltas.is_empty() || self.stopped.is_some() {
            piece.tokens.extend(self.waiting.begun());
        }
        piece
    }

    /// Content that was held back, since it could have begun a stop sequence.
    fn release_held(&mut self, deltas: &mut Vec<Delta>) {
        let mut held = String::new();
        self.stops.finish(&mut held);
        self.tell_content(held, deltas);
    }

    fn tell_content(&mut self, text: String, deltas: &mut Vec<Delta>) {
        if !text.is_empty() {
            self.waiting.told(&text);
            deltas.push(Delta::Content(text));
        }
    }

    /// The stop sequence that has ended it.
    pub(super) fn stopped(&mut self) -> Option<String> {
        self.stopped.take()
    }

    /// Whether the last token was part of the reasoning.
    pub(super) fn is_reasoning(&self) -> bool {
        self.is_reasoning
    }

    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }

    /// Takes note of how many tokens of the prompt were in the cache; returns those that count.
    pub(super) fn begin(&mut self, cached: usize) -> usize {
        if std::mem::take(&mut self.counts_cached) { cached } else { 0 }
    }

    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Tokens that are not told yet, where log-probabilities are asked for.
///
/// A token is told with the text that it begins. Where stop sequences are looked for, one that begins at such a sequence or behind it
/// is not part of the answer: what is told is then found again in the output, marks between left out. Without stop sequences, all
/// tokens are part of it.
#[derive(Debug, Default)]
struct Waiting {
    tokens: VecDeque<Told>,
    /// Log-probabilities are asked for.
    is_wanted: bool,
    /// Stop sequences are looked for.
    by_text: bool,
    /// Characters of the output.
    produced: usize,
    /// The end of the output, from behind what was told.
    output: String,
    /// Characters before that.
    told: usize,
}

impl Waiting {
    fn take(&mut self, token: ChosenToken, text: &str) {
        if let Some(logprobs) = token.logprobs {
            self.is_wanted = true;
            self.tokens.push_back(Told { id: token.id, offset: self.produced, logprobs: *logprobs });
        }
        self.text(text);
    }

    fn text(&mut self, text: &str) {
        self.produced += text.chars().count();
        if self.by_text && self.is_wanted {
            self.output.push_str(text);
        }
    }

    fn told(&mut self, text: &str) {
        if let Some(at) = self.output.find(text) {
            self.told += self.output.drain(..at + text.len()).as_str().chars().count();
        }
    }

    /// Those whose text was told.
    fn begun(&mut self) -> impl Iterator<Item = Told> {
        let begun = self.tokens.iter().take_while(|token| !self.by_text || token.offset < self.told).count();
        self.tokens.drain(..begun)
    }

    fn all(&mut self) -> impl Iterator<Item = Told> {
        self.tokens.drain(..)
    }
}
