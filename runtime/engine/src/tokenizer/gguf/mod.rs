//! A tokenizer from GGUF metadata: llama.cpp's ids.

mod added;
mod bpe;
mod merge;
mod pre;
mod roles;
mod sentencepiece;
#[cfg(test)]
pub(crate) mod tests;
mod vocabulary;

use std::collections::HashMap;

use super::pieces::{PieceKind, Pieces};
use super::{Affixes, Encoder, Tokenizer, TokenizerError};
use added::{AddedTokens, Fragment};
use bpe::BytePairs;
use pre::Splitter;
use sentencepiece::{SPACE, ScoredPieces, byte_of_name};
use vocabulary::{Kind, metadata};

pub use vocabulary::{GgufVocabulary, TokenType};

/// The id of each token, by its text as the vocabulary spells it.
type TokenIds = HashMap<Box<str>, u32>;

/// From text to ids.
pub(super) struct GgufEncoder {
    ids: TokenIds,
    added: AddedTokens,
    merges: Merges,
}

enum Merges {
    BytePairs(BytePairs),
    ScoredPieces(ScoredPieces),
}

impl GgufEncoder {
    /// Ids of a text, in which the text of an added token becomes that token.
    pub(super) fn encode(&self, text: &str) -> Vec<u32> {
        let mut out = Vec::new();
        for fragment in self.added.partition(text) {
            match (fragment, &self.merges) {
                (Fragment::Token(id), _) => out.push(id),
                (Fragment::Text(text), Merges::BytePairs(merges)) => merges.encode(text, &self.ids, &mut out),
                (Fragment::Text(text), Merges::ScoredPieces(pieces)) => pieces.encode(text, &self.ids, &mut out),
            }
        }
        out
    }

    /// The id of a token.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }
}

impl Tokenizer {
    /// A tokenizer from GGUF metadata.
    ///
    /// Generations end at `eos_token_id`, `eot_token_id` and `eom_token_id`, as far as the file states them, and at tokens whose
    /// text is a known end of a turn (`<end_of_turn>`, `<|eot_id|>`, ..).
    pub fn from_gguf(vocabulary: &GgufVocabulary) -> Result<Self, TokenizerError> {
        let kind = vocabulary.check()?;
        let mut ids = TokenIds::with_capacity(vocabulary.tokens.len());
        for (id, token) in (0u32..).zip(&vocabulary.tokens) {
            // llama.cpp's name for an empty token, which nothing can be merged to.
            let text = if token.is_empty() { format!("[EMPTY_{id}]") } else { token.clone() };
            if let Some(first) = ids.insert(text.into(), id) {
                let what = format!("`{token}` stands for both {first} and {id}");
                return Err(metadata("tokenizer.ggml.tokens", what));
            }
        }
        let merges = match kind {
            Kind::BytePairs(pre) => Merges::BytePairs(BytePairs::new(vocabulary, &ids, Splitter::new(pre), pre.whole_words)?),
            Kind::ScoredPieces => Merges::ScoredPieces(ScoredPieces::new(vocabulary, &ids)?),
        };
        let pieces = pieces(vocabulary, kind)?;
        let tokens = (0u32..).zip(vocabulary.tokens.iter().zip(&vocabulary.token_types));
        let added = AddedTokens::new(tokens.filter(|(_, (text, ty))| roles::is_added(text, **ty)).map(|(id, (text, _))| {
            let takes_whitespace = roles::takes_whitespace(text, vocabulary.name.as_deref());
            (text.as_str(), id, takes_whitespace)
        }));
        let text = |id: u32| vocabulary.tokens[id as usize].clone();
        let named = [
            ("bos_token", vocabulary.bos),
            ("eos_token", vocabulary.eos),
            ("unk_token", vocabulary.unknown),
            ("pad_token", vocabulary.padding),
        ];
        Ok(Self {
            pieces,
            end_ids: roles::end_ids(vocabulary, &ids),
            affixes: Affixes::Ids {
                before: vocabulary.bos.filter(|_| vocabulary.adds_bos(kind)),
                after: vocabulary.eos.filter(|_| vocabulary.add_eos == Some(true)),
            },
            named: named.into_iter().filter_map(|(name, id)| Some((name.to_owned(), text(id?)))).collect(),
            space_prefix: vocabulary.space_prefix(),
            encoder: Encoder::Gguf(Box::new(GgufEncoder { ids, added, merges })),
        })
    }
}

/// What each token stands for.
fn pieces(vocabulary: &GgufVocabulary, kind: Kind) -> Result<Pieces, TokenizerError> {
    let mut pieces = Pieces::new();
    for (id, (token, &ty)) in (0u32..).zip(vocabulary.tokens.iter().zip(&vocabulary.token_types)) {
        match (ty, kind) {
            (TokenType::UserDefined, _) => pieces.insert(id, token.as_bytes(), PieceKind::Added),
            _ if roles::is_added(token, ty) => pieces.insert(id, token.as_bytes(), PieceKind::Special),
            (TokenType::Byte, _) => {
                let byte = byte_of_name(token).ok_or_else(|| {
                    let what = format!("token {id} is of type 6, a byte, and `{token}` is none (`<0x00>` to `<0xFF>` are)");
                    metadata("tokenizer.ggml.token_type", what)
                })?;
                pieces.insert(id, &[byte], PieceKind::Text);
            }
            (_, Kind::BytePairs(_)) => pieces.insert_byte_level(id, token),
            (_, Kind::ScoredPieces) => pieces.insert(id, token.replace(SPACE, " ").as_bytes(), PieceKind::Text),
        }
    }
    Ok(pieces)
}
