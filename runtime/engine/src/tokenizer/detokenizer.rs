//! Token ids to text, one at a time, never half a character.

use std::sync::Arc;

use super::Tokenizer;
use super::pieces::PieceKind;

/// Whether special tokens appear in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecialTokens {
    /// They are left out.
    Hide,
    /// They appear as the vocabulary spells them.
    Show,
    /// Those of these ids appear, which [`Tokenizer::special_ids`] names: the marks by which calls and reasoning are told from text.
    Only(Arc<[u32]>),
}

impl SpecialTokens {
    fn shows(&self, id: u32) -> bool {
        match self {
            Self::Hide => false,
            Self::Show => true,
            Self::Only(ids) => ids.contains(&id),
        }
    }
}

/// An id without a token. Models whose embedding is padded beyond the vocabulary have such ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("token id {id} has no token: the vocabulary has {vocab_size}")]
pub struct UnknownToken {
    /// The id.
    pub id: u32,
    /// One past the largest id that has a token.
    pub vocab_size: usize,
}

/// Incremental decoding of one sequence.
///
/// What has been written so far, plus [`Detokenizer::finish`], equals decoding all bytes at once with
/// [`String::from_utf8_lossy`]: bytes of a character that is not complete yet are held back, and bytes that can no longer become
/// one turn into U+FFFD.
#[derive(Clone, Debug)]
pub struct Detokenizer {
    special: SpecialTokens,
    /// The beginning of a character, at most 3 bytes between calls.
    pending: Vec<u8>,
    /// Whether spaces that encoding has put before a text and after added tokens are taken out again.
    from_start: bool,
    /// The next piece is one that such a space may begin.
    space_prefix: bool,
}

impl Detokenizer {
    /// Decoding of what continues a text, such as an answer: every space is part of it.
    pub fn new(special: SpecialTokens) -> Self {
        Self { special, pending: Vec::new(), from_start: false, space_prefix: false }
    }

    /// Decoding from the first token of a text: a space that SentencePiece-style encoding has put there is left out.
    pub fn from_start(special: SpecialTokens) -> Self {
        Self { from_start: true, space_prefix: true, ..Self::new(special) }
    }

    /// Appends to `text` what token `id` completes.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32, text: &mut String) -> Result<(), UnknownToken> {
        let (bytes, kind) = tokenizer.pieces.get(id).ok_or(UnknownToken { id, vocab_size: tokenizer.vocab_size() })?;
        let prefix = self.space_prefix && tokenizer.space_prefix && kind == PieceKind::Text;
        self.space_prefix = self.from_start && kind != PieceKind::Text;
        if kind != PieceKind::Special || self.special.shows(id) {
            self.push_bytes(bytes.strip_prefix(b" ").filter(|_| prefix).unwrap_or(bytes), text);
        }
        Ok(())
    }

    fn push_bytes(&mut self, bytes: &[u8], text: &mut String) {
        self.pending.extend_from_slice(bytes);
        let mut held = 0;
        let mut chunks = self.pending.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            // Only the last chunk can be the beginning of a character; after any other one a wrong byte followed.
            let last = chunks.peek().is_none();
            if last && std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none()) {
                held = invalid.len();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.pending.drain(..self.pending.len() - held);
    }

    /// Appends what is left: one U+FFFD if the sequence ends inside a character.
    pub fn finish(&mut self, text: &mut String) {
        if !self.pending.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            self.pending.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    /// Cuts `bytes` at random places, decodes the parts, and checks that every prefix was as far along as it could be.
    fn decode_in_parts(bytes: &[u8], rng: &mut SplitMix64) -> String {
        let mut detokenizer = Detokenizer::new(SpecialTokens::Hide);
        let (mut text, mut at) = (String::new(), 0);
        while at < bytes.len() {
            let end = bytes.len().min(at + rng.below(6));
            detokenizer.push_bytes(&bytes[at..end], &mut text);
            at = end;
            assert!(detokenizer.pending.len() < 4, "{} bytes held back", detokenizer.pending.len());
            let whole = String::from_utf8_lossy(&bytes[..at]).into_owned();
            let held = !detokenizer.pending.is_empty();
            assert_eq!(text, whole.strip_suffix(char::REPLACEMENT_CHARACTER).filter(|_| held).unwrap_or(&whole));
        }
        detokenizer.finish(&mut text);
        text
    }

    #[test]
    fn incremental_equals_whole_for_text_and_for_noise() {
        let alphabet = ["a", " ", "é", "ß", "日", "本", "🦀", "👩‍👩‍👧", "\u{FFFD}", "\u{10FFFF}", "\n"];
        let mut rng = SplitMix64::new(7);
        for round in 0..4_000 {
            let mut bytes = Vec::new();
            for _ in 0..rng.below(24) {
                // Even rounds are valid UTF-8; odd ones mix in lone bytes of every class.
                if round % 2 == 0 || rng.below(3) > 0 {
                    bytes.extend_from_slice(alphabet[rng.below(alphabet.len())].as_bytes());
                } else {
                    bytes.push([0x80, 0xBF, 0xC0, 0xC3, 0xE0, 0xED, 0xF0, 0xF4, 0xFF][rng.below(9)]);
                }
            }
            assert_eq!(decode_in_parts(&bytes, &mut rng), String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn only_the_named_special_tokens_are_shown() {
        let tokenizer = Tokenizer::from_gguf(&crate::tokenizer::tests::vocabulary()).unwrap();
        let ids = tokenizer.encode_text("<s>he</s>").unwrap();
        assert_eq!(ids.len(), 3);
        // A user-defined token is text, and `he` is no special token.
        let marks = tokenizer.special_ids(&["<s>", "<tool>", "he", "nothing"]);
        assert_eq!(marks, [256]);
        let decode = |special| tokenizer.decode(&ids, special).unwrap();
        assert_eq!(decode(SpecialTokens::Only(marks.into())), "<s>he");
        assert_eq!(decode(SpecialTokens::Only([257].into())), "he</s>");
        assert_eq!(decode(SpecialTokens::Only([].into())), decode(SpecialTokens::Hide));
        assert_eq!(decode(SpecialTokens::Only([256, 257].into())), decode(SpecialTokens::Show));
    }

    #[test]
    fn each_token_has_a_text_of_its_own() {
        let tokenizer = Tokenizer::from_gguf(&crate::tokenizer::tests::vocabulary()).unwrap();
        let ids = tokenizer.encode_text("<s>hello ü</s>").unwrap();
        assert_eq!(tokenizer.texts(&ids).unwrap(), ["<s>", "hello", " ", "\u{FFFD}", "\u{FFFD}", "</s>"]);
        let error = tokenizer.texts(&[1, 9_999]).unwrap_err().to_string();
        assert!(error.starts_with("token id 9999 has no token"), "{error}");
    }

    #[test]
    fn half_a_character_is_never_written() {
        let mut detokenizer = Detokenizer::new(SpecialTokens::Hide);
        let mut text = String::new();
        for (bytes, so_far) in [(&b"\xF0\x9F"[..], ""), (b"\xA6", ""), (b"\x80!", "🦀!"), (b"\xE6\x97", "🦀!")] {
            detokenizer.push_bytes(bytes, &mut text);
            assert_eq!(text, so_far);
        }
        detokenizer.finish(&mut text);
        assert_eq!(text, "🦀!\u{FFFD}");
    }
}
