//! What tokens are for, where a file's types do not say it.

use super::TokenIds;
use super::vocabulary::{GgufVocabulary, TokenType};

/// Texts that are control tokens whatever type a file gives them: llama.cpp's lists of ends and of infill markers.
const CONTROL: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<PRE>",
    "▁<PRE>",
    "<|code_prefix|>",
    "<|prefix|>",
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<SUF>",
    "▁<SUF>",
    "<|code_suffix|>",
    "<|suffix|>",
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<MID>",
    "▁<MID>",
    "<|code_middle|>",
    "<|middle|>",
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<PAD>",
    "[PAD]",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<fim-repo>",
    "<REPO>",
    "<reponame>",
    "<|file_sep|>",
];

/// Control tokens after which it is someone else's turn. The end of a document (`<|endoftext|>`) is not among them: it is the EOS
/// of those models that end there.
const TURN_ENDS: &[&str] = &[
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<end_of_utterance>",
    "<EOT>",
    "[EOT]",
];

/// True for a token whose text stands for it wherever it occurs.
pub(super) fn is_added(text: &str, ty: TokenType) -> bool {
    match ty {
        TokenType::Control | TokenType::Unknown | TokenType::UserDefined => true,
        TokenType::Normal | TokenType::Unused | TokenType::Byte => CONTROL.contains(&text),
    }
}

/// True when the whitespace behind an added token belongs to it: Phi-3's tokens, except three. No GGUF key says so; llama.cpp
/// goes by the model's name too.
pub(super) fn takes_whitespace(text: &str, name: Option<&str>) -> bool {
    let phi_3 = name.is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        name.contains("phi-3") || name.contains("phi3")
    });
    phi_3 && !matches!(text, "<unk>" | "<s>" | "<|endoftext|>")
}

/// Sorted ids at which a generation ends.
pub(super) fn end_ids(vocabulary: &GgufVocabulary, ids: &TokenIds) -> Vec<u32> {
    let control = |text: &str| {
        let id = *ids.get(text)?;
        let ty = vocabulary.token_types[id as usize];
        (ty != TokenType::UserDefined && is_added(text, ty)).then_some(id)
    };
    let has = |text| control(text).is_some();
    // Where a turn has several messages, `<|end|>` closes a message only.
    let messages = (has("<|return|>") && has("<|call|>")) || (has("<|calls|>") && has("<|flush|>"));
    let known = TURN_ENDS.iter().filter(|&&text| !(messages && text == "<|end|>")).filter_map(|text| control(text));
    let mut end_ids: Vec<u32> = [vocabulary.eos, vocabulary.eot, vocabulary.eom].into_iter().flatten().chain(known).collect();
    end_ids.sort_unstable();
    end_ids.dedup();
    end_ids
}
