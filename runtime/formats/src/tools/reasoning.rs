//! How a model marks its reasoning in the output.

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
