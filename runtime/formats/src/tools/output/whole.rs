//! Deltas put together again.

use serde_json::{Map, Value};

use super::super::Delta;
use super::{OutputEnd, OutputFormat, OutputParser};

/// A whole output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The answer's text.
    pub content: Option<String>,
    /// The reasoning before it.
    pub reasoning: Option<String>,
    /// The calls that are complete.
    pub calls: Vec<ParsedCall>,
    /// A call that was told in part when the output was cut.
    pub unfinished: Option<UnfinishedCall>,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedCall {
    /// Which function.
    pub name: String,
    /// With what.
    pub arguments: Map<String, Value>,
}

/// The beginning of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedCall {
    /// Which function.
    pub name: String,
    /// The beginning of the JSON text of its arguments.
    pub arguments: String,
}

/// Why an answer is over, as the chat completions API names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended it.
    Stop,
    /// It was cut.
    Length,
    /// The model ended it, and it has calls.
    ToolCalls,
}

impl Finish {
    /// What follows from how the output ended and how many calls are complete. A cut answer says so even where it has calls.
    pub fn of(ending: OutputEnd, calls: usize) -> Self {
        match ending {
            OutputEnd::Cut => Self::Length,
            OutputEnd::Complete if calls > 0 => Self::ToolCalls,
            OutputEnd::Complete => Self::Stop,
        }
    }

    /// The spelling of the chat completions API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
        }
    }
}

impl Parsed {
    /// Puts the deltas of an output together. Of a call that never ended, only a last one that was cut is kept: what was told of
    /// one that turned out to be none stands in the content.
    pub fn of(deltas: &[Delta], ending: OutputEnd) -> Self {
        let mut parsed = Self::default();
        let mut open: Option<UnfinishedCall> = None;
        for delta in deltas {
            match delta {
                Delta::Content(text) => parsed.content.get_or_insert_default().push_str(text),
                Delta::Reasoning(text) => parsed.reasoning.get_or_insert_default().push_str(text),
                Delta::CallBegin { name, .. } => open = Some(UnfinishedCall { name: name.clone(), arguments: String::new() }),
                Delta::CallArguments { text, .. } => open.iter_mut().for_each(|call| call.arguments.push_str(text)),
                Delta::CallEnd { .. } => {
                    let Some(UnfinishedCall { name, arguments }) = open.take() else { continue };
                    // Readers tell nothing that is not an object.
                    let arguments = serde_json::from_str(&arguments).unwrap_or_default();
                    parsed.calls.push(ParsedCall { name, arguments });
                }
            }
        }
        // What was told of a call that turned out to be none was given back as content behind it.
        let is_last = deltas.iter().rev().find(|delta| !matches!(delta, Delta::CallArguments { .. }));
        parsed.unfinished = open.filter(|_| ending == OutputEnd::Cut && matches!(is_last, Some(Delta::CallBegin { .. })));
        parsed
    }
}

/// Reads a whole output.
pub fn whole(format: OutputFormat, text: &str, ending: OutputEnd) -> Parsed {
    let mut parser = OutputParser::new(format);
    let mut deltas = Vec::new();
    parser.push(text, &mut deltas);
    parser.finish(ending, &mut deltas);
    Parsed::of(&deltas, ending)
}
