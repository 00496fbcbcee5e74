//! What a model writes, read while it is written: content, reasoning and calls.
//!
//! A call is told as soon as it is certain to be one, and its arguments while they arrive. Deltas do not depend on how the text is cut.

mod arguments;
mod bare;
mod call;
mod calls;
mod deepseek;
mod harmony;
mod hermes;
mod json;
mod mistral;
mod named;
mod parameter;
mod place;
mod qwen3_coder;
mod schema;
mod split;
mod tags;
#[cfg(test)]
mod tests;
mod text;
mod whole;

use std::sync::Arc;

pub use whole::{Finish, Parsed, ParsedCall, UnfinishedCall, whole};

use self::bare::{BareJson, Llama3Json};
use self::call::{Functions, Progress};
use self::calls::{Calls, Format};
use self::deepseek::Deepseek;
use self::harmony::Harmony;
use self::hermes::Hermes;
use self::mistral::Mistral;
use self::qwen3_coder::Qwen3Coder;
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
    Harmony(Harmony),
}

/// Who finds calls in running text; harmony has messages instead.
fn reader(parser: ToolParser) -> Option<Box<dyn Format>> {
    Some(match parser {
        ToolParser::Hermes => Box::new(Hermes),
        ToolParser::Qwen3Coder => Box::new(Qwen3Coder),
        ToolParser::Mistral => Box::new(Mistral),
        ToolParser::BareJson => Box::new(BareJson),
        ToolParser::Llama3Json => Box::new(Llama3Json),
        ToolParser::Deepseek => Box::new(Deepseek),
        ToolParser::GptOss => return None,
    })
}

impl OutputParser {
    /// A reader of an output that has not begun.
    pub fn new(format: OutputFormat) -> Self {
        let OutputFormat { tools, reasoning, declared, begun, parallel } = format;
        let split = reasoning.filter(|reasoning| *reasoning != ReasoningParser::Harmony).map(|reasoning| match begun {
            Begun::Nothing => Split::new(reasoning.marks(), false),
            Begun::Reasoning => Split::new(reasoning.marks(), true),
            Begun::Call => Split::over(reasoning.marks()),
        });
        let reasons = reasoning == Some(ReasoningParser::Harmony);
        let calls = tools == Some(ToolParser::GptOss);
        let progress = Progress::new(Functions::new(declared), !parallel);
        let opening = tools.and_then(ToolParser::opening).filter(|_| begun == Begun::Call);
        let answer = match tools.and_then(reader) {
            Some(reader) if reasons => {
                Answer::Harmony(Harmony::new(None, reasons, Answer::Calls(Calls::new(reader, progress, opening))))
            }
            Some(reader) => Answer::Calls(Calls::new(reader, progress, opening)),
            None if calls || reasons => {
                let mut harmony =
                    Harmony::new(Some(progress).filter(|_| calls), reasons, Answer::Plain(Text::new(Kind::Content)));
                match begun {
                    Begun::Nothing => {}
                    Begun::Reasoning => harmony.reasoning_begun(),
                    Begun::Call => harmony.header_begun(opening.unwrap_or_default()),
                }
                Answer::Harmony(harmony)
            }
            None => Answer::Plain(Text::last(Kind::Content)),
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
        self.answer.complete()
    }
}

impl Answer {
    fn push(&mut self, c: char, out: &mut Out<'_>) {
        match self {
            Self::Plain(text) => text.push(c, out),
            Self::Calls(calls) => calls.push(c, out),
            Self::Harmony(harmony) => harmony.push(c, out),
        }
    }

    /// A mark stands here that belongs to no call.
    fn mark(&mut self) {
        match self {
            Self::Plain(text) => text.mark(),
            Self::Calls(calls) => calls.mark(),
            Self::Harmony(harmony) => harmony.mark(),
        }
    }

    /// What comes next is a paragraph of its own.
    fn part(&mut self) {
        match self {
            Self::Plain(text) => text.part(),
            Self::Calls(calls) => calls.part(),
            Self::Harmony(harmony) => harmony.mark(),
        }
    }

    /// A message ends here, and with it what it has begun.
    fn close(&mut self, out: &mut Out<'_>) {
        if let Self::Calls(calls) = self {
            calls.close(OutputEnd::Complete, out);
        }
    }

    fn complete(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            Self::Calls(calls) => calls.complete(),
            Self::Harmony(harmony) => harmony.complete(),
        }
    }

    fn finish(&mut self, ending: OutputEnd, out: &mut Out<'_>) {
        match self {
            Self::Plain(text) => text.finish(out),
            Self::Calls(calls) => calls.finish(ending, out),
            Self::Harmony(harmony) => harmony.finish(ending, out),
        }
    }
}
