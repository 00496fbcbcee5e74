//! The marks of a format: texts that a vocabulary may have as special tokens, which a reader must see nevertheless.

use super::{ReasoningParser, ToolParser};

/// Harmony's, for calls and for reasoning.
const HARMONY: &[&str] = &["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"];

impl ToolParser {
    /// Texts of this format that may be special tokens of a vocabulary.
    pub const fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Hermes => &["<tool_call>", "</tool_call>"],
            Self::Qwen3Coder => &["<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=", "</parameter>"],
            Self::Mistral => &["[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"],
            Self::BareJson => &[],
            Self::Llama3Json => &["<|python_tag|>"],
            Self::Deepseek => &[
                "<｜tool▁calls▁begin｜>",
                "<｜tool▁call▁begin｜>",
                "<｜tool▁sep｜>",
                "<｜tool▁call▁end｜>",
                "<｜tool▁calls▁end｜>",
            ],
            Self::GptOss => HARMONY,
        }
    }
}

impl ReasoningParser {
    /// Texts of this format that may be special tokens of a vocabulary; [`Self::marks`] may be made of several.
    pub const fn tokens(self) -> &'static [&'static str] {
        match self {
            Self::Think => &["<think>", "</think>"],
            Self::Mistral => &["[THINK]", "[/THINK]"],
            Self::Harmony => HARMONY,
        }
    }
}

/// The marks of a model's parsers: a detokenizer shows the special tokens with these texts and hides the others.
pub fn marks(tools: Option<ToolParser>, reasoning: Option<ReasoningParser>) -> Vec<&'static str> {
    let mut marks: Vec<&'static str> = tools.map_or(&[][..], ToolParser::marks).to_vec();
    for mark in reasoning.map_or(&[][..], ReasoningParser::tokens) {
        if !marks.contains(mark) {
            marks.push(mark);
        }
    }
    marks
}
