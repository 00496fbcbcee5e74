//! What GGUF metadata says about a vocabulary.

use tenon_formats::Gguf;
use tenon_formats::gguf::{Array, Value};

use super::pre::PreTokenizer;
use crate::tokenizer::TokenizerError;

/// What GGUF metadata says about a vocabulary (`tokenizer.ggml.*`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GgufVocabulary {
    /// `general.name`: the model's name, on which Phi-3's rule for whitespace depends.
    pub name: Option<String>,
    /// `model`: the kind of tokenizer; `gpt2` is byte-level BPE, `llama` is SentencePiece-style.
    pub model: String,
    /// `pre`: the name of the pre-tokenizer. Byte-level BPE needs one, and nothing else reads it.
    pub pre: Option<String>,
    /// `tokens`: the text of each id, in the byte-level alphabet or with U+2581 for spaces.
    pub tokens: Vec<String>,
    /// `token_type` of each id.
    pub token_types: Vec<TokenType>,
    /// `scores` of each id (SentencePiece-style): the higher, the sooner it is merged.
    pub scores: Vec<f32>,
    /// `merges` (byte-level BPE): two tokens each, separated by a space, the strongest first.
    pub merges: Vec<String>,
    /// `bos_token_id`.
    pub bos: Option<u32>,
    /// `eos_token_id`.
    pub eos: Option<u32>,
    /// `eot_token_id`: the end of a turn.
    pub eot: Option<u32>,
    /// `eom_token_id`: the end of a message.
    pub eom: Option<u32>,
    /// `unknown_token_id`.
    pub unknown: Option<u32>,
    /// `padding_token_id`.
    pub padding: Option<u32>,
    /// `add_bos_token`.
    pub add_bos: Option<bool>,
    /// `add_eos_token`.
    pub add_eos: Option<bool>,
    /// `add_space_prefix` (SentencePiece-style): a text, and what follows an added token, begins with a space.
    pub add_space_prefix: Option<bool>,
}

/// What a token is (`tokenizer.ggml.token_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenType {
    /// 1: part of the merged vocabulary.
    Normal,
    /// 2: stands for what cannot be encoded.
    Unknown,
    /// 3: opens or closes something; not part of the text.
    Control,
    /// 4: added by the model's authors; part of the text.
    UserDefined,
    /// 5: a reserved id.
    Unused,
    /// 6: a single byte, `<0x00>` to `<0xFF>`.
    Byte,
}

impl TokenType {
    /// The type with this number.
    pub fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => return None,
        })
    }
}

/// The kinds of tokenizer that are read.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    BytePairs(&'static PreTokenizer),
    ScoredPieces,
}

const BYTE_LEVEL_BPE: &str = "gpt2";
const SENTENCEPIECE: &str = "llama";

fn unknown_model(model: &str) -> TokenizerError {
    let known = "`gpt2` (byte-level BPE) and `llama` (SentencePiece-style) are";
    metadata("tokenizer.ggml.model", format!("`{model}` is not read by this version; {known}"))
}

pub(super) fn metadata(key: &'static str, what: impl Into<String>) -> TokenizerError {
    TokenizerError::Metadata { key, what: what.into() }
}

/// The value of `key` as `kind`; `None` where the file does not have the key.
fn value<'g, T>(
    gguf: &'g Gguf,
    key: &'static str,
    kind: &str,
    read: impl FnOnce(&'g Value) -> Option<T>,
) -> Result<Option<T>, TokenizerError> {
    let wrong = || metadata(key, format!("is not {kind}"));
    gguf.metadata.get(key).map(|value| read(value).ok_or_else(wrong)).transpose()
}

/// Scores are floats, and integers in some older files.
fn scores(value: &Value) -> Option<Vec<f32>> {
    match value {
        Value::Array(Array::F32(scores)) => Some(scores.clone()),
        Value::Array(Array::I32(scores)) => Some(scores.iter().map(|&score| score as f32).collect()),
        _ => None,
    }
}

impl GgufVocabulary {
    /// Reads the `tokenizer.ggml.*` keys of a file.
    ///
    /// SentencePiece-style files that leave out the ids of BOS, EOS and the unknown token have LLaMA's, 1, 2 and 0.
    pub fn read(gguf: &Gguf) -> Result<Self, TokenizerError> {
        let missing = |key| metadata(key, "is missing: the file has no tokenizer of this kind");
        let text = |key| value(gguf, key, "a string", |v| v.as_str().map(str::to_owned));
        let texts = |key| value(gguf, key, "an array of strings", Value::as_strings)?.ok_or_else(|| missing(key));
        let id = |key| value(gguf, key, "a token id", |v| u32::try_from(v.as_u64()?).ok());
        let flag = |key| value(gguf, key, "a bool", Value::as_bool);

        let model = text("tokenizer.ggml.model")?.ok_or_else(|| missing("tokenizer.ggml.model"))?;
        let (merged, scored) = (model == BYTE_LEVEL_BPE, model == SENTENCEPIECE);
        if !merged && !scored {
            // Other kinds have other keys; what they lack is not what is wrong.
            return Err(unknown_model(&model));
        }
        let key = "tokenizer.ggml.token_type";
        let numbers = value(gguf, key, "an array of 32-bit integers", Value::as_i32s)?.ok_or_else(|| missing(key))?;
        let types = numbers.iter().map(|&number| {
            TokenType::from_number(number).ok_or_else(|| metadata(key, format!("{number} is not a type (1 to 6 are)")))
        });
        let tokens = texts("tokenizer.ggml.tokens")?.to_vec();
        let default = |id: u32| (scored && (id as usize) < tokens.len()).then_some(id);
        let key = "tokenizer.ggml.scores";
        let found = value(gguf, key, "an array of 32-bit numbers", scores)?;
        Ok(Self {
            name: text("general.name")?,
            pre: text("tokenizer.ggml.pre")?,
            token_types: types.collect::<Result<_, _>>()?,
            scores: if scored { found.ok_or_else(|| missing(key))? } else { Vec::new() },
            merges: if merged { texts("tokenizer.ggml.merges")?.to_vec() } else { Vec::new() },
            bos: id("tokenizer.ggml.bos_token_id")?.or(default(1)),
            eos: id("tokenizer.ggml.eos_token_id")?.or(default(2)),
            eot: id("tokenizer.ggml.eot_token_id")?,
            eom: id("tokenizer.ggml.eom_token_id")?,
            unknown: id("tokenizer.ggml.unknown_token_id")?.or(default(0)),
            padding: id("tokenizer.ggml.padding_token_id")?,
            add_bos: flag("tokenizer.ggml.add_bos_token")?,
            add_eos: flag("tokenizer.ggml.add_eos_token")?,
            add_space_prefix: flag("tokenizer.ggml.add_space_prefix")?,
            tokens,
            model,
        })
    }

    /// Refuses a vocabulary whose parts do not fit together.
    pub(super) fn check(&self) -> Result<Kind, TokenizerError> {
        let kind = self.kind()?;
        let tokens = self.tokens.len();
        if self.token_types.len() != tokens {
            let what = format!("{} types for {tokens} tokens", self.token_types.len());
            return Err(metadata("tokenizer.ggml.token_type", what));
        }
        for (key, id) in [
            ("tokenizer.ggml.bos_token_id", self.bos),
            ("tokenizer.ggml.eos_token_id", self.eos),
            ("tokenizer.ggml.eot_token_id", self.eot),
            ("tokenizer.ggml.eom_token_id", self.eom),
            ("tokenizer.ggml.unknown_token_id", self.unknown),
            ("tokenizer.ggml.padding_token_id", self.padding),
        ] {
            if let Some(id) = id.filter(|&id| id as usize >= tokens) {
                return Err(metadata(key, format!("{id} is outside the {tokens} tokens")));
            }
        }
        for (key, add, id) in
            [("tokenizer.ggml.add_bos_token", self.add_bos, self.bos), ("tokenizer.ggml.add_eos_token", self.add_eos, self.eos)]
        {
            if add == Some(true) && id.is_none() {
                return Err(metadata(key, "is true, and the file does not say which token that is"));
            }
        }
        if self.bos.is_none() && self.adds_bos(kind) {
            let what = "is missing, and texts of this kind of tokenizer begin with that token (add_bos_token = false would say otherwise)";
            return Err(metadata("tokenizer.ggml.bos_token_id", what));
        }
        Ok(kind)
    }

    fn kind(&self) -> Result<Kind, TokenizerError> {
        match (self.model.as_str(), &self.pre) {
            (SENTENCEPIECE, _) => Ok(Kind::ScoredPieces),
            (BYTE_LEVEL_BPE, Some(pre)) => PreTokenizer::named(pre).map(Kind::BytePairs).ok_or_else(|| {
                let known = PreTokenizer::names().collect::<Vec<_>>().join(", ");
                metadata("tokenizer.ggml.pre", format!("`{pre}` is not a pre-tokenizer that this version knows ({known})"))
            }),
            (BYTE_LEVEL_BPE, None) => {
                let what = "is missing: without it nothing says how text is cut into words; convert the model again with a current llama.cpp";
                Err(metadata("tokenizer.ggml.pre", what))
            }
            (model, _) => Err(unknown_model(model)),
        }
    }

    /// True when a text begins with BOS.
    pub(super) fn adds_bos(&self, kind: Kind) -> bool {
        self.add_bos.unwrap_or(match kind {
            Kind::BytePairs(pre) => pre.add_bos,
            Kind::ScoredPieces => true,
        })
    }

    /// True when a text, and what follows an added token, begins with a space that is not in it.
    pub(super) fn space_prefix(&self) -> bool {
        self.model == SENTENCEPIECE && self.add_space_prefix.unwrap_or(true)
    }
}
