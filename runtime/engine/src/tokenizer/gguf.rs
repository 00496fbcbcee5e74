//! A tokenizer from GGUF metadata.

use tenon_formats::Gguf;
use tenon_formats::gguf::Value;
use tokenizers::AddedToken;
use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::models::bpe::{BPE, Vocab};

use super::pieces::Pieces;
use super::pre::PreTokenizer;
use super::{Affixes, Tokenizer, TokenizerError};

/// What GGUF metadata says about a vocabulary (`tokenizer.ggml.*`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GgufVocabulary {
    /// `model`: the kind of tokenizer; `gpt2` is byte-level BPE.
    pub model: String,
    /// `pre`: the name of the pre-tokenizer.
    pub pre: String,
    /// `tokens`: the text of each id, in the byte-level alphabet.
    pub tokens: Vec<String>,
    /// `token_type` of each id.
    pub token_types: Vec<TokenType>,
    /// `merges`: two tokens each, separated by a space, the strongest first.
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
}

/// What a token is (`tokenizer.ggml.token_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenType {
    /// 1: part of the BPE vocabulary.
    Normal,
    /// 2: stands for what cannot be encoded.
    Unknown,
    /// 3: opens or closes something; not part of the text.
    Control,
    /// 4: added by the model's authors; part of the text.
    UserDefined,
    /// 5: a reserved id.
    Unused,
    /// 6: a single byte.
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

const BYTE_LEVEL_BPE: &str = "gpt2";

fn unknown_model(model: &str) -> TokenizerError {
    metadata("tokenizer.ggml.model", format!("`{model}` is not read by this version; `gpt2` (byte-level BPE) is"))
}

fn metadata(key: &'static str, what: impl Into<String>) -> TokenizerError {
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

impl GgufVocabulary {
    /// Reads the `tokenizer.ggml.*` keys of a file.
    pub fn read(gguf: &Gguf) -> Result<Self, TokenizerError> {
        let missing = |key| metadata(key, "is missing: the file has no tokenizer of this kind");
        let text = |key| value(gguf, key, "a string", |v| v.as_str().map(str::to_owned))?.ok_or_else(|| missing(key));
        let texts = |key| value(gguf, key, "an array of strings", Value::as_strings)?.ok_or_else(|| missing(key));
        let id = |key| value(gguf, key, "a token id", |v| u32::try_from(v.as_u64()?).ok());
        let flag = |key| value(gguf, key, "a bool", Value::as_bool);

        let model = text("tokenizer.ggml.model")?;
        if model != BYTE_LEVEL_BPE {
            // Other kinds have other keys; what they lack is not what is wrong.
            return Err(unknown_model(&model));
        }
        let key = "tokenizer.ggml.token_type";
        let numbers = value(gguf, key, "an array of 32-bit integers", Value::as_i32s)?.ok_or_else(|| missing(key))?;
        let types = numbers.iter().map(|&number| {
            TokenType::from_number(number).ok_or_else(|| metadata(key, format!("{number} is not a type (1 to 6 are)")))
        });
        Ok(Self {
            pre: text("tokenizer.ggml.pre")?,
            tokens: texts("tokenizer.ggml.tokens")?.to_vec(),
            token_types: types.collect::<Result<_, _>>()?,
            merges: texts("tokenizer.ggml.merges")?.to_vec(),
            bos: id("tokenizer.ggml.bos_token_id")?,
            eos: id("tokenizer.ggml.eos_token_id")?,
            eot: id("tokenizer.ggml.eot_token_id")?,
            eom: id("tokenizer.ggml.eom_token_id")?,
            unknown: id("tokenizer.ggml.unknown_token_id")?,
            padding: id("tokenizer.ggml.padding_token_id")?,
            add_bos: flag("tokenizer.ggml.add_bos_token")?,
            add_eos: flag("tokenizer.ggml.add_eos_token")?,
            model,
        })
    }

    /// Refuses a vocabulary whose parts do not fit together.
    fn check(&self) -> Result<&'static PreTokenizer, TokenizerError> {
        if self.model != BYTE_LEVEL_BPE {
            return Err(unknown_model(&self.model));
        }
        let pre = PreTokenizer::named(&self.pre).ok_or_else(|| {
            let known = PreTokenizer::names();
            metadata("tokenizer.ggml.pre", format!("`{}` is not a pre-tokenizer that this version knows ({known})", self.pre))
        })?;
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
        Ok(pre)
    }

    fn merges(&self) -> Result<Vec<(String, String)>, TokenizerError> {
        let pairs = self.merges.iter().enumerate().map(|(i, merge)| match merge.split_once(' ') {
            Some((left, right)) if !left.is_empty() && !right.is_empty() => Ok((left.to_owned(), right.to_owned())),
            _ => Err(metadata("tokenizer.ggml.merges", format!("entry {i}, `{merge}`, is not two tokens"))),
        });
        pairs.collect()
    }
}

impl Tokenizer {
    /// A tokenizer from GGUF metadata.
    ///
    /// Generations end at `eos_token_id`, `eot_token_id` and `eom_token_id`, as far as the file states them.
    pub fn from_gguf(vocabulary: &GgufVocabulary) -> Result<Self, TokenizerError> {
        let pre = vocabulary.check()?;
        let library = |e: tokenizers::Error| TokenizerError::Library(e.to_string());

        let mut vocab = Vocab::with_capacity(vocabulary.tokens.len());
        let mut added = Vec::new();
        let mut pieces = Pieces::new();
        for (id, (token, kind)) in (0u32..).zip(vocabulary.tokens.iter().zip(&vocabulary.token_types)) {
            if let Some(first) = vocab.insert(token.clone(), id) {
                let what = format!("`{token}` stands for both {first} and {id}");
                return Err(metadata("tokenizer.ggml.tokens", what));
            }
            match kind {
                TokenType::Control | TokenType::Unknown | TokenType::UserDefined => {
                    let special = *kind != TokenType::UserDefined;
                    pieces.insert_literal(id, token, special);
                    added.push(AddedToken::from(token.clone(), special).normalized(false));
                }
                TokenType::Normal | TokenType::Unused | TokenType::Byte => pieces.insert_byte_level(id, token),
            }
        }

        let bpe = BPE::builder()
            .vocab_and_merges(vocab, vocabulary.merges()?)
            .ignore_merges(pre.ignore_merges)
            .build()
            .map_err(library)?;
        let mut encoder = tokenizers::Tokenizer::new(bpe);
        encoder.with_pre_tokenizer(Some(pre.build().map_err(library)?));
        encoder.with_decoder(Some(ByteLevel::default()));
        encoder.add_tokens(added).map_err(library)?;

        let mut end_ids: Vec<u32> = [vocabulary.eos, vocabulary.eot, vocabulary.eom].into_iter().flatten().collect();
        end_ids.sort_unstable();
        end_ids.dedup();
        let text = |id: u32| vocabulary.tokens[id as usize].clone();
        let named = [
            ("bos_token", vocabulary.bos),
            ("eos_token", vocabulary.eos),
            ("unk_token", vocabulary.unknown),
            ("pad_token", vocabulary.padding),
        ];
        Ok(Self {
            encoder,
            pieces,
            end_ids,
            affixes: Affixes::Ids {
                before: vocabulary.bos.filter(|_| vocabulary.add_bos.unwrap_or(pre.add_bos)),
                after: vocabulary.eos.filter(|_| vocabulary.add_eos == Some(true)),
            },
            named: named.into_iter().filter_map(|(name, id)| Some((name.to_owned(), text(id?)))).collect(),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::SpecialTokens;
    use super::*;
    use crate::rng::SplitMix64;

    /// All 256 bytes, a few merges, and three special tokens: `<s>` (256), `</s>` (257) and the user-defined `<tool>` (258).
    pub(crate) fn vocabulary() -> GgufVocabulary {
        let mut bytes: Vec<char> = ('!'..='~').chain('¡'..='¬').chain('®'..='ÿ').collect();
        bytes.extend((0u32..).map_while(|n| char::from_u32(256 + n)).take(256 - bytes.len()));
        let mut tokens: Vec<String> = bytes.into_iter().map(String::from).collect();
        let mut token_types = vec![TokenType::Normal; 256];
        tokens.extend(["<s>", "</s>", "<tool>"].map(String::from));
        token_types.extend([TokenType::Control, TokenType::Control, TokenType::UserDefined]);
        let merges = ["h e", "l l", "he ll", "hell o", "Ġ w", "Ã ©"];
        tokens.extend(merges.map(|m| m.replace(' ', "")));
        token_types.resize(tokens.len(), TokenType::Normal);
        GgufVocabulary {
            model: "gpt2".into(),
            pre: "smollm".into(),
            tokens,
            token_types,
            merges: merges.map(String::from).to_vec(),
            bos: Some(256),
            eos: Some(257),
            ..Default::default()
        }
    }

    #[test]
    fn special_tokens_are_parsed_and_hidden() {
        let tokenizer = Tokenizer::from_gguf(&vocabulary()).unwrap();
        let ids = tokenizer.encode_text("<s>hello w<tool></s>").unwrap();
        assert_eq!(ids, [256, 262, 263, 258, 257]);
        assert_eq!(tokenizer.decode(&ids, SpecialTokens::Hide).unwrap(), "hello w<tool>");
        assert_eq!(tokenizer.decode(&ids, SpecialTokens::Show).unwrap(), "<s>hello w<tool></s>");
        assert_eq!(tokenizer.end_ids(), [257]);
        let named: Vec<_> = tokenizer.named_tokens().iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        assert_eq!(named, [("bos_token", "<s>"), ("eos_token", "</s>")]);
        let absent = tokenizer.decode(&[9_999], SpecialTokens::Hide).unwrap_err();
        assert_eq!(absent.to_string(), "token id 9999 has no token: the vocabulary has 265");
    }

    #[test]
    fn a_bos_is_added_once_where_the_file_asks_for_it() {
        let with = GgufVocabulary { add_bos: Some(true), add_eos: Some(true), ..vocabulary() };
        let tokenizer = Tokenizer::from_gguf(&with).unwrap();
        assert_eq!(tokenizer.encode_text("hello").unwrap(), [256, 262, 257]);
        assert_eq!(tokenizer.encode_rendered("hello").unwrap(), [256, 262]);
        assert_eq!(tokenizer.encode_rendered("<s>hello").unwrap(), [256, 262]);
        let without = Tokenizer::from_gguf(&vocabulary()).unwrap();
        assert_eq!(without.encode_rendered("hello").unwrap(), [262]);
        let llama = Tokenizer::from_gguf(&GgufVocabulary { pre: "llama-bpe".into(), ..vocabulary() }).unwrap();
        assert_eq!(llama.encode_text("hello").unwrap(), [256, 262]);
    }

    #[test]
    fn every_text_survives_the_round_trip() {
        let tokenizer = Tokenizer::from_gguf(&vocabulary()).unwrap();
        let parts = ["hello", " w", "é", "日本", "🦀", "\u{1F3FD}", "\r\n", "\t", "  ", "1234", "<tool>", "'ll", "\0"];
        let mut rng = SplitMix64::new(3);
        for _ in 0..500 {
            let text: String = (0..rng.below(12)).map(|_| parts[rng.below(parts.len())]).collect();
            let ids = tokenizer.encode_text(&text).unwrap();
            assert_eq!(tokenizer.decode(&ids, SpecialTokens::Hide).unwrap(), text);
            // The library's own decoder is an independent reference for tokens that are not special.
            assert_eq!(tokenizer.encoder.decode(&ids, true).unwrap(), text);
        }
    }

    #[test]
    fn refuses_what_does_not_fit_and_says_what() {
        let cases = [
            GgufVocabulary { model: "llama".into(), ..vocabulary() },
            GgufVocabulary { pre: "viking".into(), ..vocabulary() },
            GgufVocabulary { token_types: vec![TokenType::Normal; 3], ..vocabulary() },
            GgufVocabulary { eot: Some(70_000), ..vocabulary() },
            GgufVocabulary { bos: None, add_bos: Some(true), ..vocabulary() },
            GgufVocabulary { merges: vec!["he".into()], ..vocabulary() },
            {
                let mut twice = vocabulary();
                twice.tokens[258] = "<s>".into();
                twice
            },
            GgufVocabulary { merges: vec!["x y".into()], ..vocabulary() },
        ];
        let texts = cases.map(|v| Tokenizer::from_gguf(&v).unwrap_err().to_string());
        for (text, expected) in texts.iter().zip([
            "GGUF metadata `tokenizer.ggml.model`: `llama` is not read by this version; `gpt2` (byte-level BPE) is",
            "GGUF metadata `tokenizer.ggml.pre`: `viking` is not a pre-tokenizer that this version knows (gpt-2, ",
            "GGUF metadata `tokenizer.ggml.token_type`: 3 types for 265 tokens",
            "GGUF metadata `tokenizer.ggml.eot_token_id`: 70000 is outside the 265 tokens",
            "GGUF metadata `tokenizer.ggml.add_bos_token`: is true, and the file does not say which token that is",
            "GGUF metadata `tokenizer.ggml.merges`: entry 0, `he`, is not two tokens",
            "GGUF metadata `tokenizer.ggml.tokens`: `<s>` stands for both 256 and 258",
            "tokenizer: Token `xy` out of vocabulary",
        ]) {
            assert!(text.starts_with(expected), "{text}\nexpected: {expected}");
        }
    }
}
