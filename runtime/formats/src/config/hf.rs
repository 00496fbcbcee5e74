//! config.json to canonical names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{CanonicalConfig, ConfigError, ConfigValue, Origin, defaults, show};
use crate::json;

/// The part of a multimodal config that describes the language model.
const TEXT_PART: &str = "text_config";
/// The tables of rotary settings: the current name and the older one.
const ROPE_TABLES: [&str; 2] = ["rope_parameters", "rope_scaling"];

impl CanonicalConfig {
    /// Reads the text of a config.json.
    pub fn from_hf_text(text: &[u8]) -> Result<Self, ConfigError> {
        Self::from_hf(&json::parse(text)?)
    }

    /// Reads a config.json.
    ///
    /// null means not given. `text_config` is flattened: its values win, its nulls do not hide the outer ones. Rotary settings
    /// are read from `rope_parameters` and from `rope_scaling`, and win over the top level, which fills what they leave out.
    /// What is not given follows from other keys or from the architecture's table, marked so in [`ConfigValue::origin`].
    pub fn from_hf(root: &Value) -> Result<Self, ConfigError> {
        let mut stated = Stated::default();
        let mut outer = object(root, "config.json")?.clone();
        let inner = outer.remove(TEXT_PART);
        stated.add(outer, "");
        if let Some(inner) = inner.filter(|v| !v.is_null()) {
            stated.add(object(&inner, TEXT_PART)?.clone(), "text_config.");
        }
        stated.flatten_rope()?;
        stated.rename("torch_dtype", "dtype");

        let mut config = Self { keys: stated.keys };
        if config.text("model_type").is_none() {
            return Err(ConfigError::NoModelType { key: "model_type" });
        }
        let nulls = stated.nulls;
        config.fill_defaults(defaults::of_class(config.model_type()), |key| nulls.contains(key));
        config.derive_window();
        if let Some(bias) = config.bool("attention_bias") {
            config.fill("attention_output_bias", bias, "attention_bias");
        }
        config.fold_uniform("layer_types");
        config.derive_heads();
        config.derive_rotary();
        Ok(config)
    }

    /// Which layers look at a window only, for the classes that compute it.
    fn derive_window(&mut self) {
        let model_type = self.model_type();
        if matches!(model_type, "qwen2" | "qwen3") && self.bool("use_sliding_window") == Some(false) {
            // The class then drops the window, whatever number stands there.
            self.keys.remove("sliding_window");
            self.keys.remove("max_window_layers");
            self.fill("layer_types", "full_attention", "use_sliding_window is false");
        } else if model_type == "mistral" {
            match self.get("sliding_window") {
                Some(_) => self.fill("layer_types", "sliding_attention", "sliding_window is given"),
                None => self.fill("layer_types", "full_attention", "sliding_window is null"),
            }
        }
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

    /// Moves the leaves of the rotary tables to the top. Tables per layer type stay whole under their own path.
    fn flatten_rope(&mut self) -> Result<(), ConfigError> {
        let mut leaves: BTreeMap<String, ConfigValue> = BTreeMap::new();
        for table in ROPE_TABLES {
            let Some(ConfigValue { value, origin }) = self.keys.remove(table) else { continue };
            let path = origin.to_string();
            let mut one = Self::default();
            for (key, value) in object(&value, &path)?.clone() {
                if value.is_object() {
                    let path = format!("{path}.{key}");
                    self.keys.insert(path.clone(), ConfigValue { value, origin: Origin::Stated(path) });
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
        self.keys.extend(leaves);
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

fn conflict(first: &ConfigValue, second: &ConfigValue) -> ConfigError {
    ConfigError::Conflict {
        first: first.origin.to_string(),
        first_value: show(&first.value),
        second: second.origin.to_string(),
        second_value: show(&second.value),
    }
}

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, ConfigError> {
    value.as_object().ok_or_else(|| ConfigError::NotAnObject { path: path.to_owned(), found: show(value) })
}
