//! `CanonicalConfig`: one model's hyperparameters under Hugging Face's flat names, wherever a checkpoint states them.
//!
//! # Canonical keys
//!
//! A key has the name that MODEL.toml gives it, and Hugging Face's where MODEL.toml has none. *Taken out* means: the key repeats
//! what others say and is not there where it agrees; where it does not, it stays, and a comparison refuses it. Keys without any
//! effect on a class stay, and [`unread`] names them for comparisons. Values are stated, defaults or derived ([`Origin`]).
//!
//! All classes: `model_type`, `hidden_size`, `vocab_size`, `max_position_embeddings`, `rms_norm_eps`, `tie_word_embeddings`,
//! `num_hidden_layers`, `num_attention_heads`, `attention_bias`, `attention_output_bias`, `mlp_bias`, `hidden_act`;
//! `quantization_config.<key>` for each entry of that table. Where not all layers are alike, `layer_types` and `mlp_layer_types`
//! are lists with a name for each; where all agree, one name.
//!
//! - Rotation: `rope_type` (`none` for nemotron_h), `rope_theta`, `rotary_dim`, `partial_rotary_factor`, `interleaved`, and by its
//!   type `factor`, `low_freq_factor`, `high_freq_factor`, `original_max_position_embeddings`, `beta_fast`, `beta_slow`, `mscale`,
//!   `mscale_all_dim`, `attention_factor`, `truncate`, `llama_4_scaling_beta` (0 is taken out of the last one and of both mscales).
//! - Grouped queries (all but latent attention): `num_key_value_heads`, `head_dim`, `sliding_window`.
//! - Latent attention (mistral4, deepseek_v2, deepseek_v3, glm4_moe_lite, minicpm3): `q_lora_rank` (absent for none),
//!   `kv_lora_rank`, `qk_nope_head_dim`, `qk_rope_head_dim`, `v_head_dim`; `rotary_dim` is derived. Taken out: `head_dim`,
//!   `qk_head_dim`, `num_key_value_heads`, `partial_rotary_factor`.
//! - Experts: `n_routed_experts`, `num_experts_per_tok`, `moe_intermediate_size`, `gated`, `expert_bias`, `scoring_func`,
//!   `router_bias`, `e_score_correction_bias`, `n_group`, `topk_group`, `group_score` (absent where `n_group` is 1),
//!   `norm_topk_prob`, `routed_scaling_factor`, `moe_latent_size` (absent for none), `shared_expert_intermediate_size` (absent for
//!   none; the product where a file states `n_shared_experts`), `shared_expert_gate`, `swiglu_limit`, `swiglu_alpha`.
//!
//! By class, beside these:
//!
//! | `model_type` | further keys | layers |
//! |---|---|---|
//! | llama, mistral, qwen2 | `intermediate_size` | `layer_types` |
//! | qwen3 | `intermediate_size`, `max_window_layers`, `use_sliding_window` | `layer_types` |
//! | qwen3_moe | experts; `use_sliding_window`; `intermediate_size` where a layer is dense | `layer_types`, `mlp_layer_types` (`dense`, `sparse`) for `mlp_only_layers` and `decoder_sparse_step` |
//! | gemma2 | `intermediate_size`, `query_pre_attn_scalar`, `attn_logit_softcapping`, `final_logit_softcapping`, `use_bidirectional_attention` | `layer_types` (`sliding_attention`, `full_attention`) |
//! | gemma3, gemma3_text | as gemma2, and `rope_local_base_freq` | `layer_types`; `sliding_window_pattern` and `_sliding_window_pattern` stay |
//! | mistral4, deepseek_v2, deepseek_v3, glm4_moe_lite | experts; `intermediate_size` where a layer is dense; `num_nextn_predict_layers` over 0 | `mlp_layer_types` (`dense`, `sparse`) for `first_k_dense_replace`; `moe_layer_freq` 1 taken out; `topk_method` taken out where it is what the class does |
//! | minicpm3 | `intermediate_size`, `scale_emb`, `scale_depth`, `dim_model_base` | |
//! | nemotron_h | experts; `mamba_num_heads`, `mamba_head_dim`, `ssm_state_size`, `n_groups`, `conv_kernel`, `chunk_size`, `use_conv_bias`, `use_bias`, `time_step_min`; `intermediate_size` and a false `mlp_bias` where a layer is an `mlp`; `num_nextn_predict_layers` over 0 and its `mtp_*` | `layer_types` (`linear_attention`, `full_attention`, `moe`, `mlp`) for `layers_block_type` and `hybrid_override_pattern` |
//! | qwen3_next, qwen3_5_moe, qwen3_5_moe_text | experts; `attn_output_gate`, `linear_num_key_heads`, `linear_key_head_dim`, `linear_num_value_heads`, `linear_value_head_dim`, `linear_conv_kernel_dim` | `layer_types` (`linear_attention`, `full_attention`) for `full_attention_interval`; `mlp_layer_types` |
//! | qwen3_5, qwen3_5_text | as qwen3_next without experts; `intermediate_size` | `layer_types` |
//! | gpt_oss | experts (`moe_intermediate_size` for `intermediate_size`); `attention_sinks` | `layer_types`, `mlp_layer_types` (`sparse`) |
//!
//! params.json has the keys of mistral4, or of mistral where it has no latent attention. There `attention_factor` is 1 where
//! `yarn.apply_scale` is false, with `mscale` and `mscale_all_dim` absent; `yarn.apply_scale` stays where it is true.

mod classes;
mod defaults;
mod gguf;
mod hf;
mod mistral;
mod unread;

pub use unread::unread;

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde_json::Value;

use crate::expect::Expected;
use crate::json::{JsonError, MAX_VALUES};
use crate::shown::shown;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Stated in the file: the key's path there (`rope_parameters.rope_theta`, `llama.rope.freq_base`).
    Stated(String),
    /// Not stated: what the architecture of this `model_type` takes then.
    Default(String),
    /// Not stated, and follows from what is: in words.
    Derived(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated(path) => shown(path).fmt(f),
            Self::Default(model_type) => write!(f, "default of {}", shown(model_type)),
            Self::Derived(how) => f.write_str(how),
        }
    }
}

/// A value and where it comes from. The value is never null: null means not given.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigValue {
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// Why a config cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not JSON, or a key stands twice.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// Not an object where one belongs.
    #[error("{} is {found}, and it must be an object", shown(path))]
    NotAnObject {
        /// Path of the value.
        path: String,
        /// The value.
        found: String,
    },
    /// The key that says what the model is.
    #[error("`{key}` is missing or no text, and nothing else says which architecture this is")]
    NoModelType {
        /// `model_type` or `general.architecture`.
        key: &'static str,
    },
    /// Lists that no config has. A value takes many times the memory of its byte in a GGUF.
    #[error(
        "`{}` is a list of {count} values, and all lists outside of `tokenizer.` may have {MAX_VALUES} together",
        shown(path)
    )]
    TooManyValues {
        /// The path of the list that is too much.
        path: String,
        /// Its values.
        count: usize,
    },
    /// Two spellings of one setting that disagree.
    #[error(
        "`{}` is {first_value} and `{}` is {second_value}, and the two are one setting: remove one of them",
        shown(first),
        shown(second)
    )]
    Conflict {
        /// One path.
        first: String,
        /// Its value.
        first_value: String,
        /// The other path.
        second: String,
        /// Its value.
        second_value: String,
    },
}

/// A model's hyperparameters under canonical names, which are Hugging Face's flat ones.
///
/// Keys without a canonical name stay under their own path, so that a comparison sees everything that the file says.
#[derive(Clone, Debug, PartialEq)]
pub struct CanonicalConfig {
    keys: BTreeMap<String, ConfigValue>,
}

impl CanonicalConfig {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&ConfigValue> {
        self.keys.get(key)
    }

    /// Every key, sorted.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &ConfigValue)> {
        self.keys.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// `model_type` of config.json, of its text part where it has one; `general.architecture` of a GGUF.
    pub fn model_type(&self) -> &str {
        self.text("model_type").expect("both readers refuse a config without one")
    }

    /// An integer that is not negative.
    pub fn int(&self, key: &str) -> Option<u64> {
        as_int(&self.get(key)?.value)
    }

    /// A number.
    pub fn float(&self, key: &str) -> Option<f64> {
        self.get(key)?.value.as_f64()
    }

    /// A text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.value.as_str()
    }

    /// A bool.
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.get(key)?.value.as_bool()
    }

    /// Token ids of a key that may be one id or a list of them (`eos_token_id`).
    pub fn token_ids(&self, key: &str) -> Option<Vec<u32>> {
        let id = |value: &Value| as_int(value)?.try_into().ok();
        match &self.get(key)?.value {
            Value::Array(ids) => ids.iter().map(id).collect(),
            one => Some(vec![id(one)?]),
        }
    }

    /// Everything that follows from stated keys, for config.json and params.json. `is_null` says which keys are given as null.
    fn finish(&mut self, is_null: impl Fn(&str) -> bool) {
        let model_type = self.model_type().to_owned();
        for group in defaults::of_class(&model_type) {
            self.fill_defaults(group, &is_null);
        }
        self.finish_class();
        self.derive_window();
        if let Some(bias) = self.bool("attention_bias") {
            self.fill("attention_output_bias", bias, "attention_bias");
        }
        self.fold_uniform("layer_types");
        if self.get("kv_lora_rank").is_none() {
            self.derive_heads();
            self.derive_rotary();
        }
    }

    /// Which layers look at a window only, for the classes that compute it.
    fn derive_window(&mut self) {
        let model_type = self.model_type();
        if matches!(model_type, "qwen2" | "qwen3" | "qwen3_moe") && self.bool("use_sliding_window") == Some(false) {
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

    /// Head dimensions that follow from other keys, in both formats.
    fn derive_heads(&mut self) {
        let Some(heads) = self.int("num_attention_heads") else { return };
        self.fill("num_key_value_heads", heads, "num_attention_heads");
        if let Some(hidden) = self.int("hidden_size")
            && heads > 0
            && hidden.is_multiple_of(heads)
        {
            self.fill("head_dim", hidden / heads, "hidden_size / num_attention_heads");
        }
    }

    /// The rotated part of a head, as a width and as a share of the head: config.json has the one, GGUF the other.
    fn derive_rotary(&mut self) {
        let Some(head_dim) = self.int("head_dim").filter(|&d| d > 0) else { return };
        if let Some(factor) = self.float("partial_rotary_factor") {
            // Truncated, as in the reference's `int(head_dim * partial_rotary_factor)`.
            self.fill("rotary_dim", (head_dim as f64 * factor) as u64, "head_dim * partial_rotary_factor");
        } else if let Some(rotary) = self.int("rotary_dim") {
            self.fill("partial_rotary_factor", rotary as f64 / head_dim as f64, "rotary_dim / head_dim");
        }
    }

    /// Sets a key that is not there.
    fn fill(&mut self, key: &str, value: impl Into<Value>, how: &str) {
        self.keys
            .entry(key.to_owned())
            .or_insert_with(|| ConfigValue { value: value.into(), origin: Origin::Derived(how.to_owned()) });
    }

    /// Sets keys that are not there and that the file did not turn off with null.
    fn fill_defaults(&mut self, defaults: &[(&str, Expected<'_>)], is_null: impl Fn(&str) -> bool) {
        let model_type = self.model_type().to_owned();
        for (key, value) in defaults {
            if !is_null(key)
                && let Some(value) = value.to_json()
            {
                let origin = Origin::Default(model_type.clone());
                self.keys.entry((*key).to_owned()).or_insert(ConfigValue { value, origin });
            }
        }
    }

    /// Replaces a list of one value per layer by that value where all layers agree.
    fn fold_uniform(&mut self, key: &str) {
        let layers = self.int("num_hidden_layers");
        if let Some(ConfigValue { value, .. }) = self.keys.get_mut(key)
            && let Value::Array(items) = value
            && Some(items.len() as u64) == layers
            && let Some(first) = items.first()
            && items.iter().all(|item| item == first)
        {
            *value = first.clone();
        }
    }
}

/// JSON has no infinities. Transformers writes one as `{"__float__": "Infinity"}`; here it is the text that Rust has for it, which
/// equals no number.
fn plain_floats(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(plain_floats),
        Value::Object(object) => {
            let float = match object.get("__float__") {
                Some(Value::String(text)) if object.len() == 1 => text.parse::<f64>().ok(),
                _ => None,
            };
            match float {
                Some(float) => {
                    let name = || Value::from(float.to_string());
                    *value = serde_json::Number::from_f64(float).map_or_else(name, Value::Number);
                }
                None => object.values_mut().for_each(plain_floats),
            }
        }
        _ => {}
    }
}

/// The error of two places that say one thing in two ways.
fn conflict(first: &ConfigValue, second: &ConfigValue) -> ConfigError {
    ConfigError::Conflict {
        first: first.origin.to_string(),
        first_value: show(&first.value),
        second: second.origin.to_string(),
        second_value: show(&second.value),
    }
}

/// An integer that is not negative, also when it is written as `8192.0`.
pub(crate) fn as_int(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        // Up to 2^53 a float names one integer.
        (float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&float)).then_some(float as u64)
    })
}

/// A value as a message shows it: cut where it is long.
pub fn show(value: &Value) -> String {
    const LONGEST: usize = 60;
    let mut text = Bounded { text: String::new(), left: LONGEST };
    // The only error is that of a full text, and then the rest is not even written.
    let ending = if write!(text, "{value}").is_ok() { "" } else { "..." };
    format!("{}{ending}", shown(&text.text))
}

/// A text that takes so many characters and no more.
struct Bounded {
    text: String,
    left: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
