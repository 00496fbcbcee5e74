//! Pre-tokenizers by the name that `tokenizer.ggml.pre` gives them.

use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

/// How text is cut before the merges, and what else goes with that name.
pub(super) struct PreTokenizer {
    names: &'static [&'static str],
    cut: Cut,
    /// A piece that is a token as a whole is not merged from its bytes.
    pub(super) ignore_merges: bool,
    /// What holds when the file does not say `add_bos_token`.
    pub(super) add_bos: bool,
}

enum Cut {
    /// GPT-2's regex.
    Gpt2,
    /// Single digits, then GPT-2's regex.
    DigitsGpt2,
    /// Another regex.
    Regex(&'static str),
}

/// Regexes and flags as llama.cpp's `llama-vocab.cpp` has them for each name; the same as in the models' `tokenizer.json`.
/// Qwen2's normalisation to NFC is left out, as it is there.
const PRE_TOKENIZERS: &[PreTokenizer] = &[
    PreTokenizer { names: &["gpt-2", "phi-2", "mpt", "olmo"], cut: Cut::Gpt2, ignore_merges: false, add_bos: false },
    PreTokenizer {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell"],
        cut: Cut::DigitsGpt2,
        ignore_merges: false,
        add_bos: false,
    },
    PreTokenizer {
        names: &["llama-bpe", "llama3", "llama-v3"],
        cut: Cut::Regex(concat!(
            r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )),
        ignore_merges: true,
        add_bos: true,
    },
    PreTokenizer {
        names: &["qwen2", "deepseek-r1-qwen"],
        cut: Cut::Regex(concat!(
            r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )),
        ignore_merges: false,
        add_bos: false,
    },
];

impl PreTokenizer {
    /// The pre-tokenizer with this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        PRE_TOKENIZERS.iter().find(|p| p.names.contains(&name))
    }

    /// Every name, for messages.
    pub(super) fn names() -> String {
        PRE_TOKENIZERS.iter().flat_map(|p| p.names).copied().collect::<Vec<_>>().join(", ")
    }

    /// The steps, as the library has them.
    pub(super) fn build(&self) -> tokenizers::Result<PreTokenizerWrapper> {
        let gpt2 = ByteLevel::new(false, true, true);
        let steps: Vec<PreTokenizerWrapper> = match self.cut {
            Cut::Gpt2 => vec![gpt2.into()],
            Cut::DigitsGpt2 => vec![Digits::new(true).into(), gpt2.into()],
            Cut::Regex(regex) => {
                let pattern = SplitPattern::Regex(regex.to_owned());
                let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?;
                vec![split.into(), ByteLevel::new(false, true, false).into()]
            }
        };
        Ok(Sequence::new(steps).into())
    }
}

#[cfg(test)]
mod tests {
    use tokenizers::tokenizer::pre_tokenizer::PreTokenizedString;
    use tokenizers::{OffsetReferential, OffsetType, PreTokenizer as _};

    use super::*;

    fn cut<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
        let mut pieces = PreTokenizedString::from(text);
        PreTokenizer::named(name).unwrap().build().unwrap().pre_tokenize(&mut pieces).unwrap();
        let splits = pieces.get_splits(OffsetReferential::Original, OffsetType::Byte);
        splits.into_iter().map(|(_, (start, end), _)| &text[start..end]).collect()
    }

    #[test]
    fn each_family_cuts_as_its_regex_says() {
        let text = "I'LL pay  1234 €!!\n\n  it's";
        assert_eq!(cut("gpt-2", text), ["I", "'", "LL", " pay", " ", " 1234", " €!!", "\n\n ", " it", "'s"]);
        assert_eq!(cut("smollm", text), ["I", "'", "LL", " pay", "  ", "1", "2", "3", "4", " €!!", "\n\n ", " it", "'s"]);
        assert_eq!(cut("llama-bpe", text), ["I", "'LL", " pay", " ", " ", "123", "4", " €!!\n\n", " ", " it", "'s"]);
        assert_eq!(cut("qwen2", text), ["I", "'LL", " pay", " ", " ", "1", "2", "3", "4", " €!!\n\n", " ", " it", "'s"]);
    }

    #[test]
    fn long_runs_of_whitespace_are_cut_to_the_end() {
        // The library stops without an error when the regex engine gives up; every byte must still be in a piece.
        let text = format!("a{}b{}", " ".repeat(100_000), "\n".repeat(100_000));
        for name in ["gpt-2", "smollm", "llama-bpe", "qwen2"] {
            let pieces = cut(name, &text);
            assert_eq!(pieces.iter().map(|p| p.len()).sum::<usize>(), text.len(), "{name}");
            assert_eq!(pieces.len(), 4, "{name}");
        }
    }

    #[test]
    fn unknown_names_are_not_guessed() {
        assert!(PreTokenizer::named("default").is_none());
        assert!(PreTokenizer::names().contains("smollm"));
    }
}
