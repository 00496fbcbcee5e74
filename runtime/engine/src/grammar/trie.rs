//! A tokenizer's vocabulary as the library wants it: a tree of bytes.

use std::sync::Arc;

use toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use crate::tokenizer::Tokenizer;

/// The longest token that the tree holds; one that is longer is never part of a constrained answer.
const LONGEST: usize = 1_000;

struct Vocabulary(TokTrie);

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.0
    }

    fn tokenize_bytes(&self, text: &[u8]) -> Vec<TokenId> {
        self.0.greedy_tokenize(text)
    }

    /// The library would force greedy tokens otherwise, which no model was trained on.
    fn tokenize_is_canonical(&self) -> bool {
        false
    }
}

/// The vocabulary, with `marks` as their bytes and other special tokens apart from all text; `None` without an end token.
pub(super) fn vocabulary(tokenizer: &Tokenizer, marks: &[u32]) -> Option<TokEnv> {
    let ends = tokenizer.end_ids();
    let first = *ends.first()?;
    let words: Vec<Vec<u8>> = (0..tokenizer.vocab_size() as u32)
        .map(|id| {
            let bytes = tokenizer.bytes(id).filter(|bytes| bytes.len() <= LONGEST).unwrap_or_default();
            // An end token ends the answer, so that its text is never said, not even where it is a mark.
            let apart = ends.contains(&id) || (tokenizer.is_special(id) && !marks.contains(&id));
            match apart && !bytes.is_empty() {
                true => [&[TokTrie::SPECIAL_TOKEN_MARKER], bytes].concat(),
                false => bytes.to_vec(),
            }
        })
        .collect();
    let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, first), &words);
    Some(Arc::new(Vocabulary(trie.with_eos_tokens(ends))))
}
