//! A tokenizer from the files of a Hugging Face checkpoint.

use std::path::Path;

use serde_json::Value;
use tokenizers::DecoderWrapper;

use super::pieces::{PieceKind, Pieces};
use super::{Affixes, Encoder, Tokenizer, TokenizerError};

impl Tokenizer {
    /// The tokenizer of a checkpoint directory: `tokenizer.json`, and what `tokenizer_config.json`, `generation_config.json` and
    /// `config.json` say about special tokens, where they exist.
    ///
    /// Generations end at every `eos_token_id` of the two configs and at `eos_token`.
    pub fn from_dir(dir: &Path) -> Result<Self, TokenizerError> {
        let path = dir.join("tokenizer.json");
        let bytes = std::fs::read(&path).map_err(|source| TokenizerError::Read { path: path.clone(), source })?;
        let mut encoder = tokenizers::Tokenizer::from_bytes(bytes)
            .map_err(|e| TokenizerError::File { path: path.clone(), what: e.to_string() })?;
        // Some files carry the truncation and padding of the training run; a prompt is never cut or padded here.
        encoder.with_truncation(None).map_err(|e| TokenizerError::Library(e.to_string()))?;
        encoder.with_padding(None);

        match encoder.get_decoder() {
            Some(DecoderWrapper::ByteLevel(_)) => {}
            other => return Err(TokenizerError::Decoder { found: decoder_name(other) }),
        }
        let mut pieces = Pieces::new();
        for (token, id) in encoder.get_vocab(false) {
            pieces.insert_byte_level(id, &token);
        }
        for (id, token) in encoder.get_added_tokens_decoder() {
            let kind = if token.special { PieceKind::Special } else { PieceKind::Added };
            pieces.insert(id, token.content.as_bytes(), kind);
        }

        let named = match optional_json(&dir.join("tokenizer_config.json"))? {
            Some((_, config)) => named_tokens(&config),
            None => Vec::new(),
        };
        let mut end_ids = Vec::new();
        for file in ["generation_config.json", "config.json"] {
            if let Some((path, config)) = optional_json(&dir.join(file))? {
                let ids = token_ids(config.get("eos_token_id"));
                let found = ids.ok_or_else(|| TokenizerError::File {
                    path,
                    what: format!("`eos_token_id` is neither a token id nor a list of them: {}", config["eos_token_id"]),
                })?;
                end_ids.extend(found);
            }
        }
        for (name, text) in &named {
            if name == "eos_token" {
                end_ids.extend(encoder.token_to_id(text));
            }
        }
        end_ids.sort_unstable();
        end_ids.dedup();
        let encoder = Encoder::Library(Box::new(encoder));
        Ok(Self { encoder, pieces, end_ids, affixes: Affixes::PostProcessor, named, space_prefix: false })
    }
}

/// The kind of a decoder, as `tokenizer.json` spells it.
fn decoder_name(decoder: Option<&DecoderWrapper>) -> String {
    let value = serde_json::to_value(decoder).unwrap_or_default();
    value.get("type").and_then(Value::as_str).unwrap_or("none").to_owned()
}

/// A JSON file that need not exist.
pub(crate) fn optional_json(path: &Path) -> Result<Option<(std::path::PathBuf, Value)>, TokenizerError> {
    let path = path.to_owned();
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(TokenizerError::Read { path, source }),
    };
    match serde_json::from_slice(&text) {
        Ok(value) => Ok(Some((path, value))),
        Err(e) => Err(TokenizerError::File { path, what: e.to_string() }),
    }
}

/// One id or a list; null and absent are no ids, anything else is `None`.
fn token_ids(value: Option<&Value>) -> Option<Vec<u32>> {
    let id = |v: &Value| v.as_u64().and_then(|id| u32::try_from(id).ok());
    match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(id).collect(),
        Some(one) => Some(vec![id(one)?]),
    }
}

/// The `*_token` entries of `tokenizer_config.json`, each a text or an object with `content`.
fn named_tokens(config: &Value) -> Vec<(String, String)> {
    let entries = config.as_object().into_iter().flatten();
    let named = entries.filter(|(name, _)| name.ends_with("_token")).filter_map(|(name, value)| {
        let text = value.as_str().or_else(|| value.get("content")?.as_str())?;
        Some((name.clone(), text.to_owned()))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tokenizer::SpecialTokens;

    fn write(dir: &Path, file: &str, value: &Value) {
        std::fs::write(dir.join(file), value.to_string()).unwrap();
    }

    fn tokenizer_json() -> Value {
        json!({
            "version": "1.0",
            "truncation": {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
            "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                        "pad_type_id": 0, "pad_token": "a"},
            "added_tokens": [
                {"id": 5, "content": "<s>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false},
                {"id": 6, "content": "<end>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false},
            ],
            "normalizer": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}},
            },
            "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "model": {
                "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4}, "merges": ["a b", "Ġ ab"],
            },
        })
    }

    #[test]
    fn reads_a_directory_and_never_truncates() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "tokenizer.json", &tokenizer_json());
        write(dir.path(), "config.json", &json!({"eos_token_id": null}));
        write(dir.path(), "generation_config.json", &json!({"eos_token_id": [6, 3]}));
        let config = json!({"bos_token": {"content": "<s>"}, "eos_token": "<end>", "add_bos_token": true, "pad_token": null});
        write(dir.path(), "tokenizer_config.json", &config);
        let tokenizer = Tokenizer::from_dir(dir.path()).unwrap();
        assert_eq!(tokenizer.encode_text("ab ab ab<end>").unwrap(), [5, 3, 4, 4, 6]);
        assert_eq!(tokenizer.encode_rendered("<s>ab").unwrap(), [5, 3]);
        assert_eq!(tokenizer.end_ids(), [3, 6]);
        assert_eq!(tokenizer.named_tokens().len(), 2);
        assert_eq!(tokenizer.decode(&[5, 3, 4, 6], SpecialTokens::Hide).unwrap(), "ab ab");
    }

    #[test]
    fn errors_name_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let missing = Tokenizer::from_dir(dir.path()).unwrap_err().to_string();
        assert!(missing.contains("tokenizer.json: No such file"), "{missing}");
        let mut other = tokenizer_json();
        other["decoder"] = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
        write(dir.path(), "tokenizer.json", &other);
        let decoder = Tokenizer::from_dir(dir.path()).unwrap_err().to_string();
        assert_eq!(decoder, "the tokenizer's decoder is `Metaspace`, and this version reads `ByteLevel`");
        write(dir.path(), "tokenizer.json", &tokenizer_json());
        write(dir.path(), "generation_config.json", &json!({"eos_token_id": "two"}));
        let id = Tokenizer::from_dir(dir.path()).unwrap_err().to_string();
        assert!(id.ends_with("`eos_token_id` is neither a token id nor a list of them: \"two\""), "{id}");
    }
}
