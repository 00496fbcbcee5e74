//! What a spec expects of a checkpoint's config, and where the two differ; of its tensors, in [`tensors`].

pub mod tensors;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::config::{CanonicalConfig, ConfigValue, Origin, as_int, show, unread};
use crate::shown::shown;

/// A value that a spec states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected<'a> {
    /// An integer.
    Int(u64),
    /// A number, compared after rounding to f32: GGUF stores no more.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(&'a str),
    /// This text for each of so many layers: a list of it. A config whose layers agree holds it once, see [`CanonicalConfig`].
    Each(&'a str, usize),
    /// A list of names.
    List(&'a [&'a str]),
    /// Nothing: null, or not given and without a default.
    Absent,
    /// Nothing, or this.
    AbsentOr(&'a Expected<'a>),
    /// Anything but this: the spec departs from the config on purpose, under this key of `[deviation]`. Of several keys of the config
    /// that one deviation is about, at least one must differ.
    Not(&'a Expected<'a>, &'a str),
}

impl Expected<'_> {
    /// The value that must be there, as JSON.
    pub(crate) fn to_json(self) -> Option<Value> {
        match self {
            Self::Int(v) => Some(v.into()),
            Self::Float(v) => Some(v.into()),
            Self::Bool(v) => Some(v.into()),
            Self::Text(v) => Some(v.into()),
            Self::Each(v, count) => Some(vec![v; count].into()),
            Self::List(names) => Some(names.to_vec().into()),
            Self::Absent | Self::AbsentOr(_) | Self::Not(..) => None,
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
            Self::Not(v, _) => !v.matches(found),
        }
    }

    /// Whether a config agrees, which may lack the key.
    fn agrees(self, found: Option<&ConfigValue>) -> bool {
        found.map_or(self.may_be_absent(), |found| self.matches(&found.value))
    }
}

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(v, count) => write!(f, "{v:?} for each of {count} layers"),
            Self::Absent => f.write_str("nothing (null or not given)"),
            Self::AbsentOr(v) => write!(f, "{v} or nothing"),
            Self::Not(v, _) => write!(f, "anything but {v}"),
            other => f.write_str(&other.to_json().as_ref().map(show).unwrap_or_default()),
        }
    }
}

/// A key that the spec states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigKey<'a> {
    /// Its canonical name.
    pub key: &'a str,
    /// Its value.
    pub expected: Expected<'a>,
}

/// A key that the spec leaves unread, and why it may. The name is canonical or the path in the file; a final `*` stands for
/// any ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IgnoredKey<'a> {
    /// The name.
    pub key: &'a str,
    /// Why it does not change the output.
    pub reason: &'a str,
}

/// All that a spec says about a checkpoint's config. Generated code holds one as a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigContract<'a> {
    /// Keys that must have these values.
    pub keys: &'a [ConfigKey<'a>],
    /// Keys that may have any, beside those of [`NEVER_CHANGES_OUTPUT`] and [`unread`].
    pub ignored: &'a [IgnoredKey<'a>],
}

/// Keys that do not change what any model computes.
pub const NEVER_CHANGES_OUTPUT: &[IgnoredKey<'_>] = &[
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

impl<'a> ConfigKey<'a> {
    /// `key` must have this value.
    pub const fn new(key: &'a str, expected: Expected<'a>) -> Self {
        Self { key, expected }
    }
}

impl<'a> IgnoredKey<'a> {
    /// `key` may have any value, because of `reason`.
    pub const fn new(key: &'a str, reason: &'a str) -> Self {
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

/// What a spec states, by canonical name.
pub type Stated<'a> = Vec<(&'a str, Expected<'a>)>;

/// One difference between a spec and a checkpoint's config.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigMismatch<'a> {
    /// Both speak, and not alike.
    Different {
        /// The canonical name.
        key: &'a str,
        /// What the spec says.
        expected: Expected<'a>,
        /// What the checkpoint has, and where.
        found: ConfigValue,
    },
    /// Only the spec speaks.
    Missing {
        /// The canonical name.
        key: &'a str,
        /// What the spec says.
        expected: Expected<'a>,
    },
    /// Only the checkpoint speaks.
    Unbound {
        /// The canonical name.
        key: String,
        /// The key's path in the file.
        origin: String,
        /// Its value.
        value: Value,
    },
    /// A deviation from nothing: the checkpoint has what the spec says.
    Agrees {
        /// The key of `[deviation]`.
        deviation: &'a str,
        /// What both say, by canonical name.
        values: Stated<'a>,
    },
}

impl ConfigMismatch<'_> {
    /// What the difference is about, for sorting: the canonical name, or the path in the file.
    pub fn key(&self) -> &str {
        match self {
            Self::Different { key, .. } | Self::Missing { key, .. } => key,
            Self::Unbound { origin, .. } => origin,
            Self::Agrees { deviation, .. } => deviation,
        }
    }

    /// The id of the page that explains it: `tenon explain ID`.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::Different { .. } | Self::Missing { .. } => "checkpoint-mismatch",
            Self::Unbound { .. } => "config-key-unbound",
            Self::Agrees { .. } => "deviation-refused",
        }
    }
}

impl fmt::Display for ConfigMismatch<'_> {
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
            Self::Unbound { origin, value, .. } => {
                write!(f, "{}: the checkpoint has {}, the spec neither states nor ignores it", shown(origin), show(value))
            }
            Self::Agrees { deviation, values } => {
                write!(f, "[deviation] {deviation}: the checkpoint has what the spec says")?;
                match values.as_slice() {
                    [(_, value)] => write!(f, ", {value}"),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// Every difference, sorted by key. Defaults and derived values answer for keys that the spec states; only keys that stand in
/// the file can be unbound.
pub fn compare<'a>(config: &CanonicalConfig, contract: &ConfigContract<'a>) -> Vec<ConfigMismatch<'a>> {
    let mut differences = Vec::new();
    // Whether each deviates, and from what.
    let mut deviations: BTreeMap<&str, (bool, Stated<'a>)> = BTreeMap::new();
    for &ConfigKey { key, expected } in contract.keys {
        let found = config.get(key);
        match (expected, found) {
            (Expected::Not(value, deviation), _) => {
                let (deviates, values) = deviations.entry(deviation).or_default();
                *deviates |= !value.agrees(found);
                values.push((key, *value));
            }
            _ if expected.agrees(found) => {}
            (_, Some(found)) => differences.push(ConfigMismatch::Different { key, expected, found: found.clone() }),
            (_, None) => differences.push(ConfigMismatch::Missing { key, expected }),
        }
    }
    let agree = deviations.into_iter().filter(|(_, (deviates, _))| !deviates);
    differences.extend(agree.map(|(deviation, (_, values))| ConfigMismatch::Agrees { deviation, values }));
    for (key, ConfigValue { value, origin }) in config.keys() {
        let Origin::Stated(path) = origin else { continue };
        let bound = contract.keys.iter().any(|k| k.key == key);
        if !bound && ignored(contract, config.model_type(), key, path).is_none() {
            let (key, origin) = (key.to_owned(), path.clone());
            differences.push(ConfigMismatch::Unbound { key, origin, value: value.clone() });
        }
    }
    differences.sort_by(|a, b| a.key().cmp(b.key()));
    differences
}

/// Why a key may say anything, where it may. It has a canonical name and a path in the file.
pub fn ignored<'a>(contract: &ConfigContract<'a>, model_type: &str, key: &str, path: &str) -> Option<&'a str> {
    let all = contract.ignored.iter().chain(NEVER_CHANGES_OUTPUT).chain(unread(model_type));
    all.into_iter().find(|ignored| ignored.covers(key) || ignored.covers(path)).map(|ignored| ignored.reason)
}

#[cfg(test)]
mod tests;
