//! Byte-level BPE.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::TokenIds;
use super::merge::Symbols;
use super::pre::Splitter;
use super::vocabulary::{GgufVocabulary, metadata};
use crate::tokenizer::{TokenizerError, byte_level};

/// Ids of a text between added tokens.
pub(super) struct BytePairs {
    splitter: Splitter,
    /// A word that is a token as a whole is not merged from its bytes.
    whole_words: bool,
    /// `None` for a byte that no token stands for.
    bytes: Box<[Option<u32>; 256]>,
    /// Rank and token of a pair; the lowest rank is merged first.
    merges: HashMap<(u32, u32), (Reverse<usize>, u32)>,
}

impl BytePairs {
    pub(super) fn new(
        vocabulary: &GgufVocabulary,
        ids: &TokenIds,
        splitter: Splitter,
        whole_words: bool,
    ) -> Result<Self, TokenizerError> {
        let mut merges = HashMap::with_capacity(vocabulary.merges.len());
        for (rank, merge) in vocabulary.merges.iter().enumerate() {
            let wrong = |what: String| metadata("tokenizer.ggml.merges", format!("entry {rank}, `{merge}`, {what}"));
            let id = |token: &str| ids.get(token).copied().ok_or_else(|| wrong(format!("and `{token}` is not a token")));
            match merge.split_once(' ') {
                Some((left, right)) if !left.is_empty() && !right.is_empty() => {
                    let pair = (id(left)?, id(right)?);
                    // Of two entries with the same pair, the first counts.
                    merges.entry(pair).or_insert((Reverse(rank), id(&format!("{left}{right}"))?));
                }
                _ => return Err(wrong("is not two tokens".into())),
            }
        }
        let mut buffer = [0; 4];
        let bytes = byte_level::ALPHABET.map(|c| ids.get(&*c.encode_utf8(&mut buffer)).copied());
        Ok(Self { splitter, whole_words, bytes: Box::new(bytes), merges })
    }

    /// Appends the ids of `text`.
    ///
    /// A byte that no token stands for has no id, and nothing else stands for it: vocabularies leave out bytes that no text has,
    /// and some leave out control characters.
    pub(super) fn encode(&self, text: &str, ids: &TokenIds, out: &mut Vec<u32>) {
        let mut symbols = Symbols::new();
        let mut spelled = String::new();
        for word in self.splitter.words(text) {
            if self.whole_words {
                spelled.clear();
                spelled.extend(word.bytes().map(|byte| byte_level::ALPHABET[usize::from(byte)]));
                if let Some(&id) = ids.get(spelled.as_str()) {
                    out.push(id);
                    continue;
                }
            }
            symbols.clear();
            word.bytes().for_each(|byte| symbols.push(1, self.bytes[usize::from(byte)]));
            let merged = symbols.merge(|left, right| self.merges.get(&(left.id?, right.id?)).copied());
            out.extend(merged.filter_map(|symbol| symbol.id));
        }
    }
}
