//! Reasoning in a pair of tags before an answer.

use super::tags::{Match, TagMatcher};
use super::text::{Kind, Out, Text};

/// Separates it.
#[derive(Debug)]
pub(crate) struct Split {
    open: &'static str,
    close: &'static str,
    state: State,
    tags: TagMatcher,
    /// Whitespace before what may be the opening tag.
    space: String,
    reasoning: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but reasoning and whitespace came.
    Before,
    /// Reasoning has just begun, by the prompt: models that write the tag again do so here.
    Begun,
    Reasoning,
    Answer,
}

impl Split {
    pub(crate) fn new((open, close): (&'static str, &'static str), is_begun: bool) -> Self {
        let state = if is_begun { State::Begun } else { State::Before };
        let mut reasoning = Text::new(Kind::Reasoning);
        reasoning.mark();
        Self { open, close, state, tags: TagMatcher::default(), space: String::new(), reasoning }
    }

    /// The answer begins with the output.
    pub(crate) fn over((open, close): (&'static str, &'static str)) -> Self {
        Self { state: State::Answer, ..Self::new((open, close), false) }
    }

    /// Reads a character; gives back what belongs to the answer, and says when reasoning ended here.
    pub(crate) fn push(&mut self, c: char, answer: &mut String, out: &mut Out<'_>) -> bool {
        let Self { open, close, .. } = *self;
        match self.state {
            State::Answer => answer.push(c),
            State::Before if self.tags.is_empty() && c.is_ascii_whitespace() => self.space.push(c),
            State::Before => {
                let mut plain = String::new();
                if let Match::Tag(_) = self.tags.push(c, &[open], |c| plain.push(c)) {
                    self.space.clear();
                    self.reasoning.part();
                    self.state = State::Reasoning;
                } else if !plain.is_empty() {
                    self.state = State::Answer;
                    answer.push_str(&std::mem::take(&mut self.space));
                    answer.push_str(&plain);
                    answer.push_str(&self.tags.take());
                }
            }
            State::Begun | State::Reasoning => {
                let Self { tags, reasoning, .. } = self;
                let is_begun = self.state == State::Begun;
                let both = [close, open];
                match tags.push(c, if is_begun { &both } else { &both[..1] }, |c| reasoning.push(c, out)) {
                    Match::Tag(tag) if tag == close => {
                        self.reasoning.mark();
                        self.state = State::Before;
                        return true;
                    }
                    Match::Tag(_) => self.state = State::Reasoning,
                    Match::Held if is_begun && self.reasoning.is_told() => self.state = State::Reasoning,
                    Match::Held => {}
                }
            }
        }
        false
    }

    /// Nothing follows; gives back what belongs to the answer.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) -> String {
        let held = self.tags.take();
        match self.state {
            State::Before | State::Answer => std::mem::take(&mut self.space) + &held,
            State::Begun | State::Reasoning => {
                self.reasoning.push_str(&held, out);
                self.reasoning.mark();
                self.reasoning.finish(out);
                String::new()
            }
        }
    }
}
