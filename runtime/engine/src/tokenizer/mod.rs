//! Text to token ids and back, from a checkpoint's `tokenizer.json` or from GGUF metadata.

mod byte_level;
mod detokenizer;
mod gguf;
mod huggingface;
mod pieces;

use std::path::PathBuf;

use tenon_core::weights::Checkpoint;

pub use detokenizer::{Detokenizer, SpecialTokens, UnknownToken};
pub use gguf::{GgufVocabulary, TokenType};

pub(crate) use huggingface::optional_json;

use gguf::GgufEncoder;
use pieces::{PieceKind, Pieces};

#[cfg(test)]
pub(crate) use gguf::tests;

/// How a byte-level vocabulary spells each byte.
#[cfg(test)]
pub(crate) use byte_level::ALPHABET;

/// A tokenizer: byte-level BPE, or SentencePiece-style with scores and byte fallback.
///
/// Decoding is a table from id to bytes, since text is produced token by token.
pub struct Tokenizer {
    encoder: Encoder,
    pieces: Pieces,
    /// Sorted; a generation ends at any of them.
    end_ids: Vec<u32>,
    affixes: Affixes,
    /// Name and text, in the order in which templates are given them.
    named: Vec<(String, String)>,
    /// Encoding puts a space before a text and after added tokens, which is no part of the text.
    space_prefix: bool,
}

/// From text to ids.
enum Encoder {
    /// `tokenizer.json`, as Hugging Face's library reads it.
    Library(Box<tokenizers::Tokenizer>),
    /// GGUF metadata, as llama.cpp reads it.
    Gguf(Box<GgufEncoder>),
}

/// Who adds the tokens that open and close a text.
enum Affixes {
    /// The post-processor of `tokenizer.json`.
    PostProcessor,
    /// GGUF flags: these ids stand before and after every text.
    Ids { before: Option<u32>, after: Option<u32> },
}

/// Why a tokenizer cannot be built or used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// A file is missing or unreadable.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file's content is not what it should be.
    #[error("{}: {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// GGUF metadata is missing or has a value that does not fit.
    #[error("GGUF metadata `{key}`: {what}")]
    Metadata {
        /// The key.
        key: &'static str,
        /// What is wrong with its value.
        what: String,
    },
    /// The decoder of `tokenizer.json` is of a kind that this version does not read.
    #[error("the tokenizer's decoder is `{found}`, and this version reads `ByteLevel`")]
    Decoder {
        /// Its kind.
        found: String,
    },
    /// The library refused the vocabulary or the text.
    #[error("tokenizer: {0}")]
    Library(String),
}

impl Tokenizer {
    /// The tokenizer of a checkpoint: its GGUF metadata, or the `tokenizer.json` of its directory.
    pub fn load(checkpoint: &Checkpoint) -> Result<Self, TokenizerError> {
        match checkpoint.gguf() {
            Some(gguf) => Self::from_gguf(&GgufVocabulary::read(gguf)?),
            None => Self::from_dir(checkpoint.dir()),
        }
    }

    /// Ids of a plain text, with the tokens around it that the model expects (a BOS, where the tokenizer says so).
    ///
    /// The text of a special token (`<|im_end|>`) becomes that token.
    pub fn encode_text(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let processed = matches!(self.affixes, Affixes::PostProcessor);
        let mut ids = self.ids(text, processed)?;
        if let Affixes::Ids { before, after } = self.affixes {
            ids.splice(0..0, before);
            ids.extend(after);
        }
        Ok(ids)
    }

    /// Ids of a rendered chat template, which writes its own BOS.
    ///
    /// A GGUF that asks for a BOS gets exactly one, whether its template writes it or not.
    pub fn encode_rendered(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = self.ids(text, false)?;
        if let Affixes::Ids { before: Some(bos), .. } = self.affixes
            && ids.first() != Some(&bos)
        {
            ids.insert(0, bos);
        }
        Ok(ids)
    }

    /// Ids of a text and nothing around it.
    pub fn encode_bare(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        self.ids(text, false)
    }

    fn ids(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, TokenizerError> {
        match &self.encoder {
            Encoder::Gguf(encoder) => Ok(encoder.encode(text)),
            Encoder::Library(encoder) => {
                let encoding = encoder.encode_fast(text, add_special_tokens);
                encoding.map(|e| e.get_ids().to_vec()).map_err(|e| TokenizerError::Library(e.to_string()))
            }
        }
    }

    /// Sorted ids at which a generation ends.
    pub fn end_ids(&self) -> &[u32] {
        &self.end_ids
    }

    /// One past the largest id.
    pub fn vocab_size(&self) -> usize {
        self.pieces.len()
    }

    /// The bytes that a token stands for, `None` for an id without a token. A token may end inside a character.
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.pieces.get(id).map(|(bytes, _)| bytes)
    }

    /// True for control tokens, which are not part of the text.
    pub fn is_special(&self, id: u32) -> bool {
        self.pieces.get(id).is_some_and(|(_, kind)| kind == PieceKind::Special)
    }

    /// The id of a token, by its text as the vocabulary spells it.
    pub fn id(&self, token: &str) -> Option<u32> {
        match &self.encoder {
            Encoder::Library(encoder) => encoder.token_to_id(token),
            Encoder::Gguf(encoder) => encoder.id(token),
        }
    }

    /// Ids of the special tokens with these texts, sorted; a text that is no special token has none.
    pub fn special_ids<S: AsRef<str>>(&self, texts: &[S]) -> Vec<u32> {
        (0..self.vocab_size() as u32)
            .filter(|&id| {
                let special = self.pieces.get(id).filter(|&(_, kind)| kind == PieceKind::Special);
                special.is_some_and(|(bytes, _)| texts.iter().any(|text| text.as_ref().as_bytes() == bytes))
            })
            .collect()
    }

    /// The text of each token by itself, special ones as the vocabulary spells them. A character that several tokens make up has
    /// U+FFFD in each of them.
    ///
    /// # Errors
    /// When an id has no token.
    pub fn texts(&self, ids: &[u32]) -> Result<Vec<String>, UnknownToken> {
        let text = |&id: &u32| match self.bytes(id) {
            Some(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            None => Err(UnknownToken { id, vocab_size: self.vocab_size() }),
        };
        ids.iter().map(text).collect()
    }

    /// Named special tokens (`bos_token`, `eos_token`, ...) and their text, for chat templates.
    pub fn named_tokens(&self) -> &[(String, String)] {
        &self.named
    }

    /// The text whose ids these are: what [`Tokenizer::encode_text`] was given, less hidden special tokens.
    pub fn decode(&self, ids: &[u32], special: SpecialTokens) -> Result<String, UnknownToken> {
        let mut text = String::new();
        let mut detokenizer = Detokenizer::from_start(special);
        for &id in ids {
            detokenizer.push(self, id, &mut text)?;
        }
        detokenizer.finish(&mut text);
        Ok(text)
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer").field("vocab_size", &self.vocab_size()).field("end_ids", &self.end_ids).finish()
    }
}
