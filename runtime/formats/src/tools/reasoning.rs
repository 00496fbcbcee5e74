//! How a model marks its reasoning in the output.

use std::fmt;

use serde_json::{Map, Value, json};

/// Who separates reasoning from the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReasoningParser {
    /// `<think>..</think>`
    Think,
    /// `[THINK]..[/THINK]`
    Mistral,
    /// The channel `analysis` of harmony.
    Harmony,
}

impl ReasoningParser {
    /// Every parser.
    pub const ALL: [Self; 3] = [Self::Think, Self::Mistral, Self::Harmony];

    /// The spelling in specs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Think => "think",
            Self::Mistral => "mistral",
            Self::Harmony => "harmony",
        }
    }

    /// What opens reasoning, and what ends it.
    pub const fn marks(self) -> (&'static str, &'static str) {
        match self {
            Self::Think => ("<think>", "</think>"),
            Self::Mistral => ("[THINK]", "[/THINK]"),
            Self::Harmony => ("<|channel|>analysis<|message|>", "<|end|>"),
        }
    }

    /// The variables with which chat templates of the family turn reasoning on or off; none where it cannot be turned off.
    pub fn variables(self, on: bool) -> Map<String, Value> {
        let variables = match self {
            // Qwen, GLM and Nemotron ask for the first, DeepSeek and Granite for the second.
            Self::Think => json!({ "enable_thinking": on, "thinking": on }),
            Self::Mistral => json!({ "reasoning_effort": if on { "high" } else { "none" } }),
            Self::Harmony => json!({}),
        };
        variables.as_object().cloned().unwrap_or_default()
    }

    /// Whether a prompt ends within reasoning, so that the answer begins there. A channel of harmony is never open: each message
    /// names its own.
    pub fn is_open_at_the_end_of(self, prompt: &str) -> bool {
        let (open, close) = self.marks();
        self != Self::Harmony && prompt.rfind(open).is_some_and(|at| !prompt[at..].contains(close))
    }

    /// The parsers whose marks a chat template writes.
    pub fn of_template(text: &str) -> Vec<Self> {
        // The template of harmony puts its header together from parts.
        let is_there = |parser: &Self| match parser {
            Self::Harmony => text.contains("<|channel|>analysis"),
            Self::Think | Self::Mistral => text.contains(parser.marks().1),
        };
        Self::ALL.into_iter().filter(is_there).collect()
    }
}

impl fmt::Display for ReasoningParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
