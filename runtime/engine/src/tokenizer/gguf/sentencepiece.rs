//! SentencePiece-style BPE: pieces of text with scores, and bytes for what no piece covers.

use super::TokenIds;
use super::merge::{Symbol, Symbols};
use super::vocabulary::{GgufVocabulary, metadata};
use crate::tokenizer::TokenizerError;

/// What stands for a space in pieces.
pub(in crate::tokenizer) const SPACE: &str = "\u{2581}";

/// Ids of a text between added tokens.
pub(super) struct ScoredPieces {
    scores: Vec<Score>,
    /// What stands for each byte that no piece covers.
    bytes: Box<[u32; 256]>,
    /// Bytes of the longest token.
    longest: usize,
    /// A text, and what follows an added token, begins with a space that is not in it.
    space_prefix: bool,
}

/// A score that is a number; there is one zero.
#[derive(Clone, Copy, PartialEq)]
struct Score(f32);

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The spelling of a byte token.
fn byte_name(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// The byte that a token of type `byte` stands for.
pub(super) fn byte_of_name(token: &str) -> Option<u8> {
    let hex = token.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(hex, 16).ok().filter(|&byte| byte_name(byte).eq_ignore_ascii_case(token))
}

impl ScoredPieces {
    pub(super) fn new(vocabulary: &GgufVocabulary, ids: &TokenIds) -> Result<Self, TokenizerError> {
        let key = "tokenizer.ggml.scores";
        let (scores, tokens) = (&vocabulary.scores, vocabulary.tokens.len());
        if scores.len() != tokens {
            return Err(metadata(key, format!("{} scores for {tokens} tokens", scores.len())));
        }
        if let Some(id) = scores.iter().position(|score| score.is_nan()) {
            return Err(metadata(key, format!("the score of token {id} is NaN")));
        }
        let mut bytes = Box::new([0; 256]);
        for (byte, id) in (0..=u8::MAX).zip(bytes.iter_mut()) {
            let token = ids.get(byte_name(byte).as_str()).or_else(|| ids.get(str::from_utf8(&[byte]).ok()?));
            *id = token.copied().or(vocabulary.unknown).ok_or_else(|| {
                let what = format!("there is neither a token `{}` nor one for what is unknown", byte_name(byte));
                metadata("tokenizer.ggml.tokens", what)
            })?;
        }
        Ok(Self {
            // Adding zero makes the negative one positive.
            scores: scores.iter().map(|score| Score(score + 0.0)).collect(),
            bytes,
            longest: vocabulary.tokens.iter().map(String::len).max().unwrap_or(0),
            space_prefix: vocabulary.space_prefix(),
        })
    }

    /// Appends the ids of `text`, which begins a text or follows an added token.
    pub(super) fn encode(&self, text: &str, ids: &TokenIds, out: &mut Vec<u32>) {
        let mut escaped = String::with_capacity(text.len() + SPACE.len());
        if self.space_prefix {
            escaped.push_str(SPACE);
        }
        for (i, part) in text.split(' ').enumerate() {
            if i > 0 {
                escaped.push_str(SPACE);
            }
            escaped.push_str(part);
        }
        let token = |start, len| if len > self.longest { None } else { ids.get(&escaped[start..start + len]).copied() };
        let mut symbols = Symbols::new();
        for (start, c) in escaped.char_indices() {
            symbols.push(c.len_utf8(), token(start, c.len_utf8()));
        }
        let pair = |left: &Symbol, right: &Symbol| {
            let id = token(left.start, left.len + right.len)?;
            Some((self.scores[id as usize], id))
        };
        for symbol in symbols.merge(pair) {
            match symbol.id {
                Some(id) => out.push(id),
                None => {
                    let bytes = &escaped.as_bytes()[symbol.start..symbol.start + symbol.len];
                    out.extend(bytes.iter().map(|&byte| self.bytes[usize::from(byte)]));
                }
            }
        }
    }
}
