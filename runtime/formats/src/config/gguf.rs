//! GGUF metadata to canonical names.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{CanonicalConfig, ConfigError, ConfigValue, Origin, conflict, defaults};
use crate::gguf::{Array, Gguf, Value};
use crate::json::MAX_VALUES;

const ARCHITECTURE: &str = "general.architecture";
/// Ids, texts and merges of the tokenizer: read from [`Gguf::metadata`], where they are typed and not copied.
const TOKENIZER: &str = "tokenizer.";

/// Keys of the architecture, without its prefix.
const RENAMED: [(&str, &str); 16] = [
    ("embedding_length", "hidden_size"),
    ("block_count", "num_hidden_layers"),
    ("feed_forward_length", "intermediate_size"),
    ("context_length", "max_position_embeddings"),
    ("vocab_size", "vocab_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    ("attention.sliding_window", "sliding_window"),
    ("rope.freq_base", "rope_theta"),
    ("rope.dimension_count", "rotary_dim"),
    ("rope.scaling.type", "rope_type"),
    ("rope.scaling.factor", "factor"),
    ("rope.scaling.original_context_length", "original_max_position_embeddings"),
    ("rope.scaling.attn_factor", "attention_factor"),
];

/// Special tokens, which config.json has beside the hyperparameters.
const TOKENS: [(&str, &str); 3] = [
    ("tokenizer.ggml.bos_token_id", "bos_token_id"),
    ("tokenizer.ggml.eos_token_id", "eos_token_id"),
    ("tokenizer.ggml.padding_token_id", "pad_token_id"),
];

impl CanonicalConfig {
    /// Reads the metadata of a GGUF. Whether embeddings are tied and which biases exist is read off its tensors, which is how
    /// such a file says it.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, ConfigError> {
        let architecture = gguf.architecture().ok_or(ConfigError::NoModelType { key: ARCHITECTURE })?;
        let mut config = Self { keys: BTreeMap::new() };
        let mut left = MAX_VALUES;
        for (path, value) in &gguf.metadata {
            let Some(key) = canonical_name(path, architecture) else { continue };
            if let Value::Array(array) = value {
                let count = values(array);
                left = left.checked_sub(count).ok_or_else(|| ConfigError::TooManyValues { path: path.clone(), count })?;
            }
            let value = stated(path, value);
            match config.keys.get(key) {
                Some(other) if other.value != value.value => return Err(conflict(other, &value)),
                _ => _ = config.keys.insert(key.to_owned(), value),
            }
        }
        for key in ["num_key_value_heads", "num_attention_heads", "intermediate_size"] {
            config.fold_uniform(key);
        }
        config.read_tensors(gguf);
        if let Some(tokens) = gguf.metadata.get("tokenizer.ggml.tokens").and_then(Value::as_array) {
            config.fill("vocab_size", tokens.len(), "number of tokenizer.ggml.tokens");
        }
        if config.text("rope_type") == Some("none") {
            config.keys.get_mut("rope_type").expect("it was just read").value = Json::from("default");
        }
        config.fill_defaults(defaults::of_gguf(architecture), |_| false);
        config.derive_heads();
        if let Some(head_dim) = config.int("head_dim") {
            config.fill("rotary_dim", head_dim, "head_dim");
        }
        config.derive_rotary();
        config.finish_gguf(architecture);
        config.fold_value_length(architecture);
        Ok(config)
    }

    /// What the tensors say.
    fn read_tensors(&mut self, gguf: &Gguf) {
        let tied = gguf.tensor("output.weight").is_none();
        self.fill("tie_word_embeddings", tied, if tied { "no output.weight" } else { "output.weight" });
        for (key, tensor) in [
            ("attention_bias", "blk.0.attn_q.bias"),
            ("attention_output_bias", "blk.0.attn_output.bias"),
            ("mlp_bias", "blk.0.ffn_up.bias"),
        ] {
            let there = gguf.tensor(tensor).is_some();
            let how = if there { tensor.to_owned() } else { format!("no {tensor}") };
            self.fill(key, there, &how);
        }
        // Llama 3.1 scaling is stored as its result, one factor per frequency; the four numbers that make it are not in the file.
        if gguf.tensor("rope_freqs.weight").is_some() {
            self.fill("rope_type", "rope_freqs", "rope_freqs.weight");
        }
    }

    /// Values as wide as keys are what `head_dim` says already; others stay a key of their own.
    fn fold_value_length(&mut self, architecture: &str) {
        let path = format!("{architecture}.attention.value_length");
        if self.int(&path).is_some() && self.int(&path) == self.int("head_dim") {
            self.keys.remove(&path);
        }
    }
}

/// The name under which a key is kept, or `None` for the tokenizer's own.
fn canonical_name<'a>(path: &'a str, architecture: &str) -> Option<&'a str> {
    if path == ARCHITECTURE {
        return Some("model_type");
    }
    if path.starts_with(TOKENIZER) {
        return TOKENS.iter().find(|(from, _)| *from == path).map(|(_, to)| *to);
    }
    let own = path.strip_prefix(architecture).and_then(|rest| rest.strip_prefix('.'));
    let renamed = own.and_then(|own| RENAMED.iter().find(|(from, _)| *from == own));
    Some(renamed.map_or(path, |(_, to)| *to))
}

/// Values in an array, of all levels.
fn values(array: &Array) -> usize {
    match array {
        Array::Array(arrays) => arrays.len() + arrays.iter().map(values).sum::<usize>(),
        other => other.len(),
    }
}

fn stated(path: &str, value: &Value) -> ConfigValue {
    ConfigValue { value: json_of(value), origin: Origin::Stated(path.to_owned()) }
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::U8(v) => (*v).into(),
        Value::I8(v) => (*v).into(),
        Value::U16(v) => (*v).into(),
        Value::I16(v) => (*v).into(),
        Value::U32(v) => (*v).into(),
        Value::I32(v) => (*v).into(),
        Value::U64(v) => (*v).into(),
        Value::I64(v) => (*v).into(),
        Value::Bool(v) => (*v).into(),
        Value::String(v) => v.as_str().into(),
        Value::F32(v) => json_of_f32(*v),
        Value::F64(v) => json_of_f64(*v),
        Value::Array(v) => json_of_array(v),
    }
}

fn json_of_array(array: &Array) -> Json {
    match array {
        Array::U8(v) => v.iter().copied().collect(),
        Array::I8(v) => v.iter().copied().collect(),
        Array::U16(v) => v.iter().copied().collect(),
        Array::I16(v) => v.iter().copied().collect(),
        Array::U32(v) => v.iter().copied().collect(),
        Array::I32(v) => v.iter().copied().collect(),
        Array::U64(v) => v.iter().copied().collect(),
        Array::I64(v) => v.iter().copied().collect(),
        Array::Bool(v) => v.iter().copied().collect(),
        Array::String(v) => v.iter().map(String::as_str).collect(),
        Array::F32(v) => v.iter().copied().map(json_of_f32).collect(),
        Array::F64(v) => v.iter().copied().map(json_of_f64).collect(),
        Array::Array(v) => v.iter().map(json_of_array).collect(),
    }
}

/// The shortest decimal that rounds to this f32, so that 1e-5 reads as 1e-5 and not as 9.999999747378752e-6.
fn json_of_f32(value: f32) -> Json {
    json_of_f64(value.to_string().parse().expect("Rust reads the floats that it writes"))
}

/// JSON has no infinities and no NaN; their names stay visible in messages and equal no number.
fn json_of_f64(value: f64) -> Json {
    serde_json::Number::from_f64(value).map_or_else(|| Json::from(value.to_string()), Json::Number)
}
