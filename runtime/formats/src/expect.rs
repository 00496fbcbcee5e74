//! What a spec expects of a checkpoint's config, and where the two differ.

use std::fmt;

use serde_json::Value;

use crate::config::{CanonicalConfig, ConfigValue, Origin, as_int, show, unread};
use crate::shown::shown;

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
    /// This text for each of so many layers: a list of it. A config whose layers agree holds it once, see [`CanonicalConfig`].
    Each(&'static str, usize),
    /// A list of names.
    List(&'static [&'static str]),
    /// Nothing: null, or not given and without a default.
    Absent,
    /// Nothing, or this.
    AbsentOr(&'static Expected),
}

impl Expected {
    /// The value that must be there, as JSON.
    pub(crate) fn to_json(self) -> Option<Value> {
        match self {
            Self::Int(v) => Some(v.into()),
            Self::Float(v) => Some(v.into()),
            Self::Bool(v) => Some(v.into()),
            Self::Text(v) => Some(v.into()),
            Self::Each(v, count) => Some(vec![v; count].into()),
            Self::List(names) => Some(names.to_vec().into()),
            Self::Absent | Self::AbsentOr(_) => None,
        }
    }

    fn may_be_absent(self) -> bool {
        matches!(self, Self::Absent | Self::AbsentOr(_))
    }

    fn matches(self, found: &Value) -> bool {
        match self {
            Self::Int(v) => as_int(found) == Some(v),
            Self::Float(v) => found.as_f64().is_some_and(|found| found as f32 == v as f32),
            Self::Bool(v) => found.as_bool() == Some(v),
            Self::Text(v) => found.as_str() == Some(v),
            Self::Each(v, count) => match found {
                Value::Array(items) => items.len() == count && items.iter().all(|item| item.as_str() == Some(v)),
                one => one.as_str() == Some(v),
            },
            Self::List(names) => {
                found.as_array().is_some_and(|items| items.iter().map(Value::as_str).eq(names.iter().map(|n| Some(*n))))
            }
            Self::Absent => false,
            Self::AbsentOr(v) => v.matches(found),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(v, count) => write!(f, "{v:?} for each of {count} layers"),
            Self::Absent => f.write_str("nothing (null or not given)"),
            Self::AbsentOr(v) => write!(f, "{v} or nothing"),
            other => f.write_str(&other.to_json().as_ref().map(show).unwrap_or_default()),
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
    /// Keys that may have any, beside those of [`NEVER_CHANGES_OUTPUT`] and [`unread`].
    pub ignored: &'static [IgnoredKey],
}

/// Keys that do not change what any model computes.
pub const NEVER_CHANGES_OUTPUT: &[IgnoredKey] = &[
    IgnoredKey::new("architectures", "the class name; model_type says what the model is"),
    IgnoredKey::new("auto_map", "where remote code lives, which is never run"),
    IgnoredKey::new("transformers_version", "which version wrote the file"),
    IgnoredKey::new("transformers.js_config", "settings of another runtime"),
    IgnoredKey::new("_name_or_path", "where the file came from"),
    IgnoredKey::new("_attn_implementation*", "which kernels another runtime picks"),
    IgnoredKey::new("dtype", "each tensor states its own"),
    IgnoredKey::new("torch_dtype", "each tensor states its own"),
    IgnoredKey::new("use_cache", "a switch of another runtime"),
    IgnoredKey::new("torchscript", "a switch of another runtime"),
    IgnoredKey::new("return_dict", "a switch of another runtime"),
    IgnoredKey::new("output_attentions", "a switch of another runtime"),
    IgnoredKey::new("output_hidden_states", "a switch of another runtime"),
    IgnoredKey::new("initializer_range", "training only"),
    IgnoredKey::new("attention_dropout", "training only"),
    IgnoredKey::new("hidden_dropout", "training only"),
    IgnoredKey::new("output_router_logits", "a switch of another runtime"),
    IgnoredKey::new("router_aux_loss_coef", "training only"),
    IgnoredKey::new("pretraining_tp", "how training split matrices; the product is the same"),
    IgnoredKey::new("bos_token_id", "read by the tokenizer"),
    IgnoredKey::new("eos_token_id", "read by the tokenizer"),
    IgnoredKey::new("pad_token_id", "read by the tokenizer"),
    IgnoredKey::new("tokenizer_class", "read by the tokenizer"),
    IgnoredKey::new("id2label", "names of a classifier's classes"),
    IgnoredKey::new("label2id", "names of a classifier's classes"),
    IgnoredKey::new("general.*", "who made the file and how; the alignment is applied by its reader"),
    IgnoredKey::new("split.no", "how a file is cut into parts, which its reader puts together"),
    IgnoredKey::new("split.count", "how a file is cut into parts, which its reader puts together"),
    IgnoredKey::new("split.tensors.count", "how a file is cut into parts, which its reader puts together"),
    IgnoredKey::new("quantize.imatrix.*", "how the quantised weights were found"),
];

impl ConfigKey {
    /// `key` must have this value.
    pub const fn new(key: &'static str, expected: Expected) -> Self {
        Self { key, expected }
    }
}

impl IgnoredKey {
    /// `key` may have any value, because of `reason`.
    pub const fn new(key: &'static str, reason: &'static str) -> Self {
        Self { key, reason }
    }

    /// Whether this entry is about a key of that name or path.
    pub fn covers(&self, name: &str) -> bool {
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
                write!(f, "{}: the checkpoint has {}, the spec neither states nor ignores it", shown(origin), show(value))
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
            None if expected.may_be_absent() => {}
            None => differences.push(ConfigMismatch::Missing { key, expected }),
        }
    }
    for (key, ConfigValue { value, origin }) in config.keys() {
        let Origin::Stated(path) = origin else { continue };
        let bound = contract.keys.iter().any(|k| k.key == key);
        let ignored = contract
            .ignored
            .iter()
            .chain(NEVER_CHANGES_OUTPUT)
            .chain(unread(config.model_type()))
            .any(|i| i.covers(key) || i.covers(path));
        if !bound && !ignored {
            differences.push(ConfigMismatch::Unbound { origin: path.clone(), value: value.clone() });
        }
    }
    differences.sort_by(|a, b| a.key().cmp(b.key()));
    differences
}

#[cfg(test)]
mod tests;
