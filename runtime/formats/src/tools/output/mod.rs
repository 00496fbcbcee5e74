//! What a model writes, read while it is written: content, reasoning and calls.
//!
//! A call is told as soon as it is certain to be one, and its arguments while they arrive. Deltas do not depend on how the text is cut.

mod call;
mod calls;
mod hermes;
mod json;
mod named;
mod place;
mod split;
mod tags;
#[cfg(test)]
mod tests;
mod text;
mod whole;

use std::sync::Arc;

pub use whole::{Finish, Parsed, ParsedCall, UnfinishedCall, whole};

use self::call::Functions;
use self::calls::{Calls, Format};
use self::hermes::Hermes;
use self::split::Split;
use self::text::{Kind, Out, Text};
use super::{Declared, Delta, ReasoningParser, ToolParser};

/// How the output of one answer is read.
#[derive(Clone, Debug)]
pub struct OutputFormat {
    /// Who reads calls; `None` where no tools are declared: everything is content.
    pub tools: Option<ToolParser>,
    /// Who reads reasoning; `None` for a model that does not reason.
    pub reasoning: Option<ReasoningParser>,
    /// The functions that may be called; a call of another one is content. Where the list is empty, every name is a function.
    pub declared: Arc<[Declared]>,
    /// What the prompt has begun.
    pub begun: Begun,
    /// `false`: after the first call, nothing is read as one.
    pub parallel: bool,
}

/// What the prompt has begun, so that the output continues it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begun {
    /// Nothing.
    #[default]
    Nothing,
    /// Reasoning: its opening tag stands in the prompt.
    Reasoning,
    /// A call: the prompt ends with [`ToolParser::opening`].
    Call,
}

/// How an output ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputEnd {
    /// By itself.
    Complete,
    /// By a limit, a deadline or a stop sequence.
    Cut,
}

/// Reads one output.
#[derive(Debug)]
pub struct OutputParser {
    split: Option<Split>,
    answer: Answer,
    /// What the split gives to the answer, kept for its memory.
    passed: String,
}

/// Who reads what is no reasoning.
#[derive(Debug)]
enum Answer {
    Plain(Text),
    Calls(Calls),
}

impl OutputParser {
    /// A reader of an output that has not begun.
    pub fn new(format: OutputFormat) -> Self {
        let split = format.reasoning.map(|reasoning| match format.begun {
            Begun::Nothing => Split::new(reasoning.marks(), false),
            Begun::Reasoning => Split::new(reasoning.marks(), true),
            Begun::Call => Split::over(reasoning.marks()),
        });
        let answer = match format.tools {
            None => Answer::Plain(Text::last(Kind::Content)),
            Some(parser) => {
                let reader = match parser {
                    _ => Box::new(Hermes) as Box<dyn Format>,
                };
                let opened = (format.begun == Begun::Call).then(|| parser.opening().map(|tag| reader.opened(tag))).flatten();
                let mut calls = Calls::new(reader, Functions::new(format.declared), format.parallel);
                if let Some(opened) = opened {
                    calls.begun(opened);
                }
                Answer::Calls(calls)
            }
        };
        Self { split, answer, passed: String::new() }
    }

    /// Reads more of the output and appends what it adds to the answer.
    pub fn push(&mut self, text: &str, out: &mut Vec<Delta>) {
        let out = &mut Out::new(out);
        for c in text.chars() {
            match &mut self.split {
                None => self.answer.push(c, out),
                Some(split) => {
                    self.passed.clear();
                    if split.push(c, &mut self.passed, out) {
                        self.answer.mark();
                    }
                    for c in self.passed.chars() {
                        self.answer.push(c, out);
                    }
                }
            }
        }
    }

    /// The output has ended: appends what was held back.
    pub fn finish(&mut self, ending: OutputEnd, out: &mut Vec<Delta>) {
        let out = &mut Out::new(out);
        if let Some(split) = &mut self.split {
            let held = split.finish(ending, out);
            held.chars().for_each(|c| self.answer.push(c, out));
        }
        self.answer.finish(ending, out);
    }

    /// How many calls are complete.
    pub fn calls(&self) -> usize {
        match &self.answer {
            Answer::Plain(_) => 0,
            Answer::Calls(calls) => calls.complete(),
        }
    }
}

impl Answer {
    fn push(&mut self, c: char, out: &mut Out<'_>) {
        match self {
            Self::Plain(text) => text.push(c, out),
            Self::Calls(calls) => calls.push(c, out),
        }
    }

    fn mark(&mut self) {
        match self {
            Self::Plain(text) => text.mark(),
            Self::Calls(calls) => calls.mark(),
        }
    }

    fn finish(&mut self, ending: OutputEnd, out: &mut Out<'_>) {
        match self {
            Self::Plain(text) => text.finish(out),
            Self::Calls(calls) => calls.finish(ending, out),
        }
    }
}
