//! What is wrong with a template, or between a template and the parser that a spec names.

use std::fmt;

use super::Place;
use crate::tools::{Teaching, ToolParser};

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
        /// The formats of the template.
        taught: Vec<ToolParser>,
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
    /// What a forced call is begun with is not how calls of the history begin.
    Steering {
        /// The parser.
        parser: ToolParser,
        /// The beginning of a call as the template writes it.
        shown: String,
    },
}

impl Fault {
    /// The id of the diagnostic, which `tenon explain` explains.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::Compile(_) | Self::Probe { .. } | Self::Dropped { .. } => "template-unsupported",
            Self::TwoSources { .. } | Self::NoSource { .. } | Self::OtherFormat { .. } | Self::Steering { .. } => {
                "tool-format-conflict"
            }
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
            Self::TwoSources { parser, taught } => {
                let same = taught.contains(parser) && parser.teaching() == Teaching::Template;
                let what = if same { "the same tool format" } else { "a tool format, and not the same one" };
                write!(f, "the chat template and the parser `{parser}` both teach {what}")
            }
            Self::NoSource { parser } => {
                write!(f, "the chat template says nothing about tools, so nobody teaches the format that `{parser}` reads")
            }
            Self::OtherFormat { parser, readers } => match readers.as_slice() {
                [] => write!(f, "the chat template's tool format is none that `{parser}` or another parser of this version reads"),
                [other, ..] => write!(f, "the chat template's tool format is that of `{other}`, and the parser is `{parser}`"),
            },
            Self::Steering { parser, .. } => {
                write!(f, "the chat template does not begin a call with what steering would write for `{parser}`")
            }
        }
    }
}
