//! What is wrong with a template, or between a template and the parser that a spec names.

use std::fmt;

use super::Place;
use crate::tools::{ReasoningParser, Teaching, ToolParser};

/// One fault. The compiler makes a diagnostic of it, with places; its text is what the server prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The template does not compile.
    Compile(Place),
    /// The template fails at a conversation that every template must render.
    Probe {
        /// The conversation, to stand behind "at".
        probe: &'static str,
        /// What it says, and where.
        place: Place,
    },
    /// The template renders a conversation without the text of one of its messages.
    Dropped {
        /// The conversation, to stand behind "of".
        probe: &'static str,
        /// Whose text is missing.
        whose: &'static str,
    },
    /// The template and the parser's own prompt both give instructions.
    TwoSources {
        /// The parser.
        parser: ToolParser,
        /// The parsers that would read the template's format; none for one that this version does not know.
        readers: Vec<ToolParser>,
    },
    /// Nobody tells the model how a call is written.
    NoSource {
        /// The parser.
        parser: ToolParser,
    },
    /// The template teaches or writes a format that the parser does not read.
    OtherFormat {
        /// The parser.
        parser: ToolParser,
        /// The parsers that would read it; none for a format that this version does not know.
        readers: Vec<ToolParser>,
    },
    /// The template teaches the parser's format, and writes calls of the history in another form, such as arguments escaped twice.
    OtherHistory {
        /// The parser.
        parser: ToolParser,
        /// The beginning of a call as the template writes it.
        shown: String,
    },
    /// What a forced call is begun with is not how calls of the history begin.
    Steering {
        /// The parser.
        parser: ToolParser,
        /// The beginning of a call as the template writes it.
        shown: String,
    },
    /// Steering for a parser whose calls begin like any other answer.
    NoOpening {
        /// The parser.
        parser: ToolParser,
    },
    /// A forced call would be begun within the reasoning that the template opens.
    SteeringInReasoning {
        /// Whose marks the template writes.
        reasoning: ReasoningParser,
    },
    /// The marks of reasoning in the template are not those that the spec's parser separates.
    OtherReasoning {
        /// The parser of the spec.
        parser: Option<ReasoningParser>,
        /// The parsers of the marks in the template.
        written: Vec<ReasoningParser>,
    },
    /// Reasoning is allowed while tools are declared, and no parser separates it.
    UnreadReasoning,
    /// Reasoning is not allowed while tools are declared, and the template has nothing that turns it off.
    NoSwitch {
        /// The parser of the spec.
        reasoning: ReasoningParser,
    },
}

impl Fault {
    /// The id of the diagnostic, which `tenon explain` explains.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::Compile(_) | Self::Probe { .. } | Self::Dropped { .. } => "template-unsupported",
            Self::TwoSources { .. }
            | Self::NoSource { .. }
            | Self::OtherFormat { .. }
            | Self::OtherHistory { .. }
            | Self::Steering { .. }
            | Self::NoOpening { .. }
            | Self::SteeringInReasoning { .. }
            | Self::OtherReasoning { .. }
            | Self::UnreadReasoning
            | Self::NoSwitch { .. } => "tool-format-conflict",
        }
    }

    /// Where in the template, if it is known.
    pub const fn place(&self) -> Option<&Place> {
        match self {
            Self::Compile(place) | Self::Probe { place, .. } => Some(place),
            _ => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compile(place) => write!(f, "the chat template does not compile: {place}"),
            Self::Probe { probe, place } => write!(f, "the chat template fails at {probe}: {place}"),
            Self::Dropped { probe, whose } => {
                write!(f, "the chat template renders {probe} without {whose}")
            }
            Self::TwoSources { parser, readers } => {
                let same = readers.contains(parser) && parser.teaching() == Teaching::Template;
                let what = if same { "the same tool format" } else { "a tool format, and not the same one" };
                write!(f, "the chat template and the parser `{parser}` both teach {what}")
            }
            Self::NoSource { parser } => {
                write!(f, "the chat template says nothing about tools, so nobody teaches the format that `{parser}` reads")
            }
            Self::OtherFormat { parser, readers } => match readers.as_slice() {
                [] => {
                    write!(f, "the chat template's tool format is none that `{parser}` or another parser of this version reads")
                }
                [other, ..] => write!(f, "the chat template's tool format is that of `{other}`, and the parser is `{parser}`"),
            },
            Self::OtherHistory { parser, .. } => {
                write!(f, "the chat template asks for what `{parser}` reads, and writes calls of the history in another form")
            }
            Self::Steering { parser, .. } => {
                write!(f, "the chat template does not begin a call with what steering would write for `{parser}`")
            }
            Self::NoOpening { parser } => {
                write!(f, "steering begins a forced call with an opening tag, and `{parser}` has none")
            }
            Self::SteeringInReasoning { .. } => {
                f.write_str("steering would begin a forced call within the reasoning that the chat template opens")
            }
            Self::OtherReasoning { parser: None, .. } => {
                f.write_str("the chat template marks reasoning, and `[reasoning] parser` is \"none\"")
            }
            Self::OtherReasoning { parser: Some(parser), written } => match written.as_slice() {
                [] => write!(f, "the chat template has no tags of reasoning, and `{parser}` would look for them in vain"),
                [other, ..] => write!(f, "the chat template marks reasoning as `{other}` reads it, and the parser is `{parser}`"),
            },
            Self::UnreadReasoning => f.write_str("reasoning is allowed while tools are declared, and no parser separates it"),
            Self::NoSwitch { .. } => f.write_str(
                "reasoning is not allowed while tools are declared, and the chat template has no switch that turns it off",
            ),
        }
    }
}
