//! Wire formats of tool calls: how a model is told to write a call, how a call looks, and how a text shows that it means this
//! format. One parser owns one format: its prompt, its opening tag, its canonical text, and how an output is read.
//!
//! Four audiences use this: `check` and the loader compare a chat template with the parser that a spec names, the prompt of a
//! request teaches the format where the template does not, generated code names the parser of a model, and the server reads what
//! the model writes ([`OutputParser`]).

mod call;
mod declared;
mod delta;
mod dumps;
pub mod grammar;
mod ids;
mod marks;
mod output;
mod prompt;
mod reasoning;
mod settings;
mod taught;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use declared::{Declared, ToolChoice};
pub use delta::Delta;
pub use dumps::dumps;
pub use marks::marks;
pub use output::{Begun, Finish, OutputEnd, OutputFormat, OutputParser, Parsed, ParsedCall, UnfinishedCall, whole};
pub use reasoning::ReasoningParser;
pub use settings::{Settings, ToolSettings};
pub use taught::taught;

/// The wire format in which a model writes a tool call, and who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolParser {
    /// `<tool_call>{"name": .., "arguments": {..}}</tool_call>`
    Hermes,
    /// `<tool_call><function=f><parameter=k>v</parameter></function></tool_call>`
    Qwen3Coder,
    /// `[TOOL_CALLS]f[ARGS]{..}`, and the older `[TOOL_CALLS][{"name": .., "arguments": {..}}]`
    Mistral,
    /// `{"name": .., "arguments": {..}}` and nothing around it
    BareJson,
    /// `{"name": .., "parameters": {..}}`
    Llama3Json,
    /// `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{..}<｜tool▁call▁end｜><｜tool▁calls▁end｜>` (V3.1)
    Deepseek,
    /// `<|channel|>commentary to=functions.f<|message|>{..}<|call|>` (harmony)
    GptOss,
}

/// Who tells the model how a call is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teaching {
    /// Chat templates do; the parser's prompt takes their place only where a spec skips them.
    Template,
    /// The parser's own prompt always does, since no template is known to: one that teaches a format too contradicts it.
    Own,
    /// The parser's own prompt does, and by the format's design what a template says about tools is left out.
    OwnAlone,
}

impl ToolParser {
    /// Every parser.
    pub const ALL: [Self; 7] =
        [Self::Hermes, Self::Qwen3Coder, Self::Mistral, Self::BareJson, Self::Llama3Json, Self::Deepseek, Self::GptOss];

    /// The spelling in specs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hermes => "hermes",
            Self::Qwen3Coder => "qwen3_coder",
            Self::Mistral => "mistral",
            Self::BareJson => "bare_json",
            Self::Llama3Json => "llama3_json",
            Self::Deepseek => "deepseek",
            Self::GptOss => "gpt_oss",
        }
    }

    /// How a call looks, for messages.
    pub const fn shape(self) -> &'static str {
        match self {
            Self::Hermes => "<tool_call>{\"name\": .., \"arguments\": ..}</tool_call>",
            Self::Qwen3Coder => "<tool_call><function=f><parameter=k>..",
            Self::Mistral => "[TOOL_CALLS]f[ARGS]{..}",
            Self::BareJson => "{\"name\": .., \"arguments\": ..}",
            Self::Llama3Json => "{\"name\": .., \"parameters\": ..}",
            Self::Deepseek => "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{..}",
            Self::GptOss => "<|channel|>commentary to=functions.f<|message|>{..}",
        }
    }

    /// Who teaches the format.
    pub const fn teaching(self) -> Teaching {
        match self {
            // DeepSeek publishes V3.1's format as text for the system message. Templates of the family either list no tools or
            // teach the older form of V3 and R1, so that nothing good comes from them.
            Self::Deepseek => Teaching::OwnAlone,
            Self::BareJson => Teaching::Own,
            Self::Hermes | Self::Qwen3Coder | Self::Mistral | Self::Llama3Json | Self::GptOss => Teaching::Template,
        }
    }

    /// What stands at the beginning of every call, so that a forced call is begun by writing it; `None` where a call begins like
    /// any other answer in JSON.
    pub const fn opening(self) -> Option<&'static str> {
        match self {
            Self::Hermes | Self::Qwen3Coder => Some("<tool_call>"),
            Self::Mistral => Some("[TOOL_CALLS]"),
            Self::Deepseek => Some("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>"),
            Self::GptOss => Some("<|channel|>commentary to=functions."),
            Self::BareJson | Self::Llama3Json => None,
        }
    }

    /// Whether a call that begins like `text` could have been begun with [`Self::opening`]. Harmony allows the recipient before
    /// the channel as well as behind it.
    pub fn is_opened_by(self, text: &str) -> bool {
        let text = text.trim_start();
        let harmony = self == Self::GptOss && text.starts_with("to=functions.");
        harmony || self.opening().is_some_and(|opening| text.starts_with(opening))
    }

    /// A text that stands in every template that teaches the format or writes its calls, to find the place.
    pub const fn marker(self) -> &'static str {
        match self {
            Self::Hermes => "<tool_call>",
            Self::Qwen3Coder => "<function=",
            Self::Mistral => "[TOOL_CALLS]",
            Self::BareJson => "\"arguments\"",
            Self::Llama3Json => "\"parameters\"",
            Self::Deepseek => "<｜tool▁sep｜>",
            Self::GptOss => "to=functions.",
        }
    }
}

impl fmt::Display for ToolParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no parser.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no tool parser is named `{}`; these are: {}", .0.escape_debug(), ToolParser::ALL.map(ToolParser::as_str).join(", "))]
pub struct UnknownParser(String);

impl FromStr for ToolParser {
    type Err = UnknownParser;

    fn from_str(name: &str) -> Result<Self, UnknownParser> {
        Self::ALL.into_iter().find(|parser| parser.as_str() == name).ok_or_else(|| UnknownParser(name.to_owned()))
    }
}
