//! config.json to canonical names.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{CanonicalConfig, ConfigError, ConfigValue, Origin, conflict, plain_floats, show};
use crate::json;

/// The part of a multimodal config that describes the language model.
const TEXT_PART: &str = "text_config";
/// Rotary settings that may stand in such a table and at the top level.
const ROPE_KEYS: [&str; 4] = ["rope_theta", "rope_type", "partial_rotary_factor", "original_max_position_embeddings"];
/// The tables of rotary settings: the current name and the older one.
const ROPE_TABLES: [&str; 2] = ["rope_parameters", "rope_scaling"];
/// How the weights are stored, which each tensor states too.
const QUANTIZATION: &str = "quantization_config";

impl CanonicalConfig {
    /// Reads the text of a config.json.
    pub fn from_hf_text(text: &[u8]) -> Result<Self, ConfigError> {
        let root = match json::parse(text) {
            // Only then, and only where it is short: a file may be as long as it likes, and most are JSON.
            Err(error) if text.len() <= LONGEST_CONFIG => match standard(text) {
                Cow::Borrowed(_) => return Err(error.into()),
                Cow::Owned(standard) => json::parse(&standard)?,
            },
            other => other?,
        };
        Self::flattened(root)
    }

    /// Reads a config.json.
    ///
    /// null means not given. `text_config` is flattened: its values win, its nulls do not hide the outer ones. Rotary settings
    /// are read from `rope_parameters` and from `rope_scaling`, and win over the top level, which fills what they leave out.
    /// What is not given follows from other keys or from the architecture's table, marked so in [`ConfigValue::origin`].
    pub fn from_hf(root: &Value) -> Result<Self, ConfigError> {
        Self::flattened(root.clone())
    }

    /// Values are moved all the way: those of a hostile file take a hundred times its bytes.
    fn flattened(mut root: Value) -> Result<Self, ConfigError> {
        plain_floats(&mut root);
        let mut stated = Stated::default();
        let mut outer = object(root, "config.json")?;
        let inner = outer.remove(TEXT_PART);
        stated.add(outer, "");
        if let Some(inner) = inner.filter(|v| !v.is_null()) {
            stated.add(object(inner, TEXT_PART)?, "text_config.");
        }
        stated.flatten_quantization()?;
        let rope_table = stated.flatten_rope()?;
        stated.rename("torch_dtype", "dtype");
        stated.rename("hidden_activation", "hidden_act");
        stated.flatten_rope_per_layer_type()?;

        let mut config = Self { keys: stated.keys };
        if config.text("model_type").is_none() {
            return Err(ConfigError::NoModelType { key: "model_type" });
        }
        let nulls = stated.nulls;
        config.settle_class(rope_table);
        config.finish(|key| nulls.contains(key));
        Ok(config)
    }
}

/// What the file states, by leaf name.
#[derive(Default)]
struct Stated {
    keys: BTreeMap<String, ConfigValue>,
    /// Keys that are given as null where nothing outside of it gave a value.
    nulls: BTreeSet<String>,
}

impl Stated {
    /// Adds the entries of an object over those that are there.
    fn add(&mut self, entries: Map<String, Value>, prefix: &str) {
        for (key, value) in entries {
            if value.is_null() {
                if !self.keys.contains_key(&key) {
                    self.nulls.insert(key);
                }
                continue;
            }
            let origin = Origin::Stated(format!("{prefix}{key}"));
            self.keys.insert(key, ConfigValue { value, origin });
        }
    }

    /// Moves the leaves of the rotary tables to the top. Tables per layer type stay whole under their own path, and so do leaves
    /// that have the name of something else at the top.
    /// Says whether there is such a table.
    fn flatten_rope(&mut self) -> Result<bool, ConfigError> {
        let mut there = false;
        let mut leaves: BTreeMap<String, ConfigValue> = BTreeMap::new();
        for table in ROPE_TABLES {
            let Some(ConfigValue { value, origin }) = self.keys.remove(table) else { continue };
            there = true;
            let path = origin.to_string();
            let mut one = Self::default();
            for (key, value) in object(value, &path)? {
                if value.is_object() {
                    self.add_whole(ConfigValue { value, origin: Origin::Stated(format!("{path}.{key}")) })?;
                } else {
                    one.add(Map::from_iter([(key.clone(), value)]), &format!("{path}."));
                }
            }
            if let Some(old) = one.rename("type", "rope_type") {
                return Err(conflict(&one.keys["rope_type"], &old));
            }
            for (key, value) in one.keys {
                match leaves.get(&key) {
                    Some(other) if other.value != value.value => return Err(conflict(other, &value)),
                    Some(_) => {}
                    None => _ = leaves.insert(key, value),
                }
            }
        }
        for (key, value) in leaves {
            if self.keys.contains_key(&key) && !ROPE_KEYS.contains(&key.as_str()) {
                self.add_whole(value)?;
            } else {
                self.keys.insert(key, value);
            }
        }
        Ok(there)
    }

    /// Gives each entry of `quantization_config` a key of its own, `quantization_config.quant_method`, so that a spec can state or
    /// ignore it; what is nested deeper stays whole.
    fn flatten_quantization(&mut self) -> Result<(), ConfigError> {
        let Some(ConfigValue { value, origin }) = self.keys.remove(QUANTIZATION) else { return Ok(()) };
        let path = origin.to_string();
        for (key, value) in object(value, &path)? {
            if !value.is_null() {
                let origin = Origin::Stated(format!("{path}.{key}"));
                self.add_one(format!("{QUANTIZATION}.{key}"), ConfigValue { value, origin })?;
            }
        }
        Ok(())
    }

    /// Adds a value under its own path; a key with dots in its name may have taken that.
    fn add_whole(&mut self, value: ConfigValue) -> Result<(), ConfigError> {
        let Origin::Stated(path) = value.origin.clone() else { unreachable!("the file states it") };
        self.add_one(path, value)
    }

    /// Adds a value under a name that another one may have, if that is the same.
    fn add_one(&mut self, name: String, value: ConfigValue) -> Result<(), ConfigError> {
        match self.keys.get(&name) {
            Some(other) if other.value != value.value => return Err(conflict(other, &value)),
            Some(_) => {}
            None => _ = self.keys.insert(name, value),
        }
        Ok(())
    }

    /// One base for layers that see everything and one for layers that see a window (Gemma 3): the older, flat names for the
    /// two, `rope_theta` and `rope_local_base_freq`, are the canonical ones. Any other setting of layers with a window stays under
    /// its own path.
    fn flatten_rope_per_layer_type(&mut self) -> Result<(), ConfigError> {
        for (layer_type, theta) in [("full_attention", "rope_theta"), ("sliding_attention", "rope_local_base_freq")] {
            let table = format!("rope_parameters.{layer_type}");
            let Some(path) = self.keys.keys().find(|path| path.ends_with(&table)).cloned() else { continue };
            let Some(ConfigValue { value, .. }) = self.keys.remove(&path) else { continue };
            for (key, value) in object(value, &path)? {
                let name = match (key.as_str(), layer_type) {
                    ("rope_theta", _) => theta.to_owned(),
                    // Only layers that see everything are stretched, and the flat names are about them.
                    (_, "full_attention") => key.clone(),
                    ("rope_type", _) if value == "default" => continue,
                    _ => format!("{path}.{key}"),
                };
                if !value.is_null() {
                    self.add_one(name, ConfigValue { value, origin: Origin::Stated(format!("{path}.{key}")) })?;
                }
            }
        }
        Ok(())
    }

    /// Gives a key its current name. Where both names are given with two values, both stay, and the old one's is returned.
    fn rename(&mut self, old: &str, new: &str) -> Option<ConfigValue> {
        let value = self.keys.remove(old)?;
        match self.keys.get(new) {
            Some(other) if other.value != value.value => {
                self.keys.insert(old.to_owned(), value.clone());
                return Some(value);
            }
            Some(_) => {}
            None => _ = self.keys.insert(new.to_owned(), value),
        }
        None
    }
}

/// Longest config.json in which words that are no JSON are looked for, in bytes.
const LONGEST_CONFIG: usize = 1 << 24;

/// Python writes infinities as bare words, which JSON does not have: as texts, they are read. Words inside of texts stay.
fn standard(text: &[u8]) -> Cow<'_, [u8]> {
    const WORDS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    if !WORDS.iter().any(|word| text.windows(word.len()).any(|at| at == *word)) {
        return Cow::Borrowed(text);
    }
    let mut standard = Vec::with_capacity(text.len() + 16);
    let (mut quoted, mut rest) = (false, text);
    while let Some((&byte, after)) = rest.split_first() {
        let word = WORDS.iter().find(|word| !quoted && rest.starts_with(word));
        let taken = match (byte, word) {
            (_, Some(word)) => {
                standard.extend(b"{\"__float__\":\"".iter().chain(*word).chain(b"\"}"));
                rest = &rest[word.len()..];
                continue;
            }
            (b'\\', None) if quoted => 2.min(rest.len()),
            (b'"', None) => {
                quoted = !quoted;
                1
            }
            _ => 1,
        };
        standard.extend_from_slice(&rest[..taken]);
        rest = if taken == 1 { after } else { &rest[taken..] };
    }
    Cow::Owned(standard)
}

pub(super) fn object(value: Value, path: &str) -> Result<Map<String, Value>, ConfigError> {
    match value {
        Value::Object(object) => Ok(object),
        other => Err(ConfigError::NotAnObject { path: path.to_owned(), found: show(&other) }),
    }
}
