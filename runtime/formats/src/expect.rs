//! What a spec expects of a checkpoint's config, and where the two differ.

use std::fmt;

use serde_json::Value;

use crate::config::{CanonicalConfig, ConfigValue, Origin, as_int, show};

/// A value that a spec states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// An integer.
    Int(u64),
    /// A number, compared after rounding to f32: GGUF stores no more.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(&'static str),
    /// Nothing: null, or not given and without a default.
    Absent,
}

impl Expected {
    /// The same as JSON; nothing for [`Expected::Absent`].
    pub fn to_json(self) -> Option<Value> {
        match self {
            Self::Int(v) => Some(v.into()),
            Self::Float(v) => Some(v.into()),
            Self::Bool(v) => Some(v.into()),
            Self::Text(v) => Some(v.into()),
            Self::Absent => None,
        }
    }

    fn matches(self, found: &Value) -> bool {
        match self {
            Self::Int(v) => as_int(found) == Some(v),
            Self::Float(v) => found.as_f64().is_some_and(|found| found as f32 == v as f32),
            Self::Bool(v) => found.as_bool() == Some(v),
            Self::Text(v) => found.as_str() == Some(v),
            Self::Absent => false,
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Some(value) => f.write_str(&show(&value)),
            None => f.write_str("nothing (null or not given)"),
        }
    }
}

/// A key that the spec states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigKey {
    /// Its canonical name.
    pub key: &'static str,
    /// Its value.
    pub expected: Expected,
}

/// A key that the spec leaves unread, and why it may. The name is canonical or the path in the file; a final `*` stands for
/// any ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IgnoredKey {
    /// The name.
    pub key: &'static str,
    /// Why it does not change the output.
    pub reason: &'static str,
}

/// All that a spec says about a checkpoint's config. Generated code holds one as a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigContract {
    /// Keys that must have these values.
    pub keys: &'static [ConfigKey],
    /// Keys that may have any, beside those of [`NEVER_CHANGES_OUTPUT`].
    pub ignored: &'static [IgnoredKey],
}

/// Keys that do not change what any model computes.
pub const NEVER_CHANGES_OUTPUT: &[IgnoredKey] = &[
    ignored("architectures", "the class name; model_type says what the model is"),
    ignored("auto_map", "where remote code lives, which is never run"),
    ignored("transformers_version", "which version wrote the file"),
    ignored("transformers.js_config", "settings of another runtime"),
    ignored("_name_or_path", "where the file came from"),
    ignored("_attn_implementation*", "which kernels another runtime picks"),
    ignored("dtype", "each tensor states its own"),
    ignored("torch_dtype", "each tensor states its own"),
    ignored("use_cache", "a switch of another runtime"),
    ignored("torchscript", "a switch of another runtime"),
    ignored("return_dict", "a switch of another runtime"),
    ignored("output_attentions", "a switch of another runtime"),
    ignored("output_hidden_states", "a switch of another runtime"),
    ignored("initializer_range", "training only"),
    ignored("attention_dropout", "training only"),
    ignored("pretraining_tp", "how training split matrices; the product is the same"),
    ignored("bos_token_id", "read by the tokenizer"),
    ignored("eos_token_id", "read by the tokenizer"),
    ignored("pad_token_id", "read by the tokenizer"),
    ignored("tokenizer_class", "read by the tokenizer"),
    ignored("id2label", "names of a classifier's classes"),
    ignored("label2id", "names of a classifier's classes"),
    ignored("general.*", "who made the file and how; the alignment is applied by its reader"),
    ignored("quantize.imatrix.*", "how the quantised weights were found"),
];

const fn ignored(key: &'static str, reason: &'static str) -> IgnoredKey {
    IgnoredKey { key, reason }
}

impl IgnoredKey {
    fn covers(&self, name: &str) -> bool {
        match self.key.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => self.key == name,
        }
    }
}

/// One difference between a spec and a checkpoint's config.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigMismatch {
    /// Both speak, and not alike.
    Different {
        /// The canonical name.
        key: &'static str,
        /// What the spec says.
        expected: Expected,
        /// What the checkpoint has, and where.
        found: ConfigValue,
    },
    /// Only the spec speaks.
    Missing {
        /// The canonical name.
        key: &'static str,
        /// What the spec says.
        expected: Expected,
    },
    /// Only the checkpoint speaks.
    Unbound {
        /// The key's path in the file.
        origin: String,
        /// Its value.
        value: Value,
    },
}

impl ConfigMismatch {
    /// What the difference is about, for sorting: the canonical name, or the path in the file.
    pub fn key(&self) -> &str {
        match self {
            Self::Different { key, .. } | Self::Missing { key, .. } => key,
            Self::Unbound { origin, .. } => origin,
        }
    }
}

impl fmt::Display for ConfigMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Different { key, expected, found } => {
                write!(f, "{key}: the spec says {expected}, the checkpoint has {}", show(&found.value))?;
                let origin = found.origin.to_string();
                if origin == *key { Ok(()) } else { write!(f, " ({origin})") }
            }
            Self::Missing { key, expected } => {
                write!(f, "{key}: the spec says {expected}, the checkpoint does not say")
            }
            Self::Unbound { origin, value } => {
                write!(f, "{origin}: the checkpoint has {}, the spec neither states nor ignores it", show(value))
            }
        }
    }
}

/// Every difference, sorted by key. Defaults and derived values answer for keys that the spec states; only keys that stand in
/// the file can be unbound.
pub fn compare(config: &CanonicalConfig, contract: &ConfigContract) -> Vec<ConfigMismatch> {
    let mut differences = Vec::new();
    for &ConfigKey { key, expected } in contract.keys {
        match config.get(key) {
            Some(found) if expected.matches(&found.value) => {}
            Some(found) => differences.push(ConfigMismatch::Different { key, expected, found: found.clone() }),
            None if expected == Expected::Absent => {}
            None => differences.push(ConfigMismatch::Missing { key, expected }),
        }
    }
    for (key, ConfigValue { value, origin }) in config.keys() {
        let Origin::Stated(path) = origin else { continue };
        let bound = contract.keys.iter().any(|k| k.key == key);
        let ignored = contract.ignored.iter().chain(NEVER_CHANGES_OUTPUT).any(|i| i.covers(key) || i.covers(path));
        if !bound && !ignored {
            differences.push(ConfigMismatch::Unbound { origin: path.clone(), value: value.clone() });
        }
    }
    differences.sort_by(|a, b| a.key().cmp(b.key()));
    differences
}

#[cfg(test)]
mod tests;
