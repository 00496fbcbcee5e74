//! What a model writes, read while it is written: content, reasoning and calls.
//!
//! # Rules
//! - Deltas do not depend on how the text is cut: joined, they are the same for all pieces.
//! - Reasoning is separated first, and what stands in it is text. In tags it stands before everything else; a later tag is content.
//! - A call is told as soon as it is certain to be one: its name is declared, and its arguments have begun. Arguments are passed on
//!   character by character. Until then what may be a call is held back, and of running text only what may be the beginning of a tag
//!   and whitespace, which waits for what follows it.
//! - JSON is read strictly, as [`serde_json`] does, so that the arguments of a call that ends are one JSON object. A tag in a string is
//!   data. Of a repeated key within the arguments both are passed on, and readers take the last. Nesting ends at 100.
//! - What is no call is content, as it is written, marks included. Marks of calls and of reasoning are left out, and so are keys beside
//!   name and arguments, ids, which the server replaces by its own, and whitespace at either end of content that stands next to a mark.
//! - A call of a function that is not declared is read to its end, so that its strings stay data, and is content.
//! - Where only one call is allowed, what follows the first one is content.
//!
//! # What is not as it should be
//! A call that had been told when it turned out to be none never ends, and all of its text follows as content: who streams drops a
//! call without an end, and nothing is lost. Reading goes on behind the place, so that a later call is found. Where the output was
//! cut, a call that was told stays as it is, without an end; what was not certain yet is content.
//!
//! | parser | is a call too | ends by itself without | is content |
//! |---|---|---|---|
//! | hermes | keys in any order; no arguments or `null` (`{}`); several objects in one tag | `</tool_call>` | JSON that breaks off or is none; arguments that are no object; a second name or arguments; what stands between the object and `</tool_call>` |
//! | qwen3_coder | `<function=f>` without `<tool_call>`; a parameter that the next one's tag, on a line of its own, ends | `</tool_call>`; `</function>` behind a parameter; `</parameter>` before `</function>` that ends all | `<function=f>` with neither parameter nor end behind it; a parameter that breaks off |
//! | mistral | `[CALL_ID]id` before `[ARGS]`; `f{..}` without `[ARGS]`; a list of objects, or one object; no arguments or `null` in these | `]` of the list | a name with anything else behind it; an empty list; elements of a list from the first that is no call |
//! | bare_json | objects at the beginning of a line, with keys `id` and `type` beside the two | | an object with any other key, without arguments, in a code block, or inside another value or sentence |
//! | llama3_json | the same anywhere but in a code block, behind `<\|python_tag\|>` or without, separated by `;`; `arguments` for `parameters` | | the same, and `<\|python_tag\|>` with anything else |
//! | deepseek | a call without the outer tags; whitespace between the parts | both closing tags | a name with anything but an object behind it; the older form of V3 |
//! | gpt_oss | the recipient before the channel; any channel; no `<\|constrain\|>` | `<\|call\|>` | messages to other recipients, with header and end; a header that breaks off (of a cut output it is left out: it holds no text) |
//!
//! Parameters of qwen3_coder are typed by the schema: strings as they stand, less one line break at either end, everything else as
//! JSON, with Python's `True`, `False` and `None`; a text that is no value of its type is passed on as a string. Where a schema says
//! nothing (no type, no properties), JSON is taken for JSON; a parameter that a schema with properties lacks is a string.
//!
//! Reasoning that never closes is reasoning to the end. Where the prompt has begun it, a repeated opening tag is left out. Messages of
//! harmony on the channel `analysis` are reasoning, or content where no reasoning is asked for; a further message of the same kind
//! begins a paragraph.

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
            let held = split.finish(out);
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
