//! Questions to a checkpoint's config: each key that is asked for is bound, and what nobody asked for is ignored for a reason or
//! refused.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use tenon_formats::config::{ConfigValue, unread};
use tenon_formats::expect::NEVER_CHANGES_OUTPUT;
use tenon_formats::{CanonicalConfig, Origin};

use super::class::{Class, Implied};
use super::description::Noted;

/// Why no MODEL.toml can be written for a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The key of the config, or the tensor, that asks for it.
    pub key: String,
    /// What is missing.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.reason)
    }
}

/// Parts of a checkpoint that read or make images and sound.
pub const VISION: &str = "the vision part is not compiled";
/// Layers that guess further tokens.
pub const SPECULATION: &str = "speculation heads are not used";
/// Each tensor's name and type say how it is stored.
const STORAGE: &str = "each tensor states its own storage format";

const VISION_KEYS: [&str; 20] = [
    "vision_config",
    "vision_encoder",
    "audio_config",
    "multimodal",
    "image_token_id",
    "image_token_index",
    "video_token_id",
    "audio_token_id",
    "vision_start_token_id",
    "vision_end_token_id",
    "vision_feature_layer",
    "vision_soft_tokens_per_image",
    "mm_tokens_per_image",
    "boi_token_index",
    "eoi_token_index",
    "projector_hidden_act",
    "multimodal_projector_bias",
    "spatial_merge_size",
    "mm_projector_id",
    "language_model_only",
];
const SPECULATION_KEYS: [&str; 5] = [
    "num_nextn_predict_layers",
    "mtp_num_hidden_layers",
    "mtp_use_dedicated_embeddings",
    "mtp_layers_block_type",
    "mtp_hybrid_override_pattern",
];
/// Keys that the reader of configs leaves only where they ask for what cannot be written down.
const UNSUPPORTED: [(&str, &str); 15] = [
    ("topk_method", "this way of choosing experts is unknown"),
    ("moe_layer_freq", "experts in every so many layers are only known with 1"),
    ("first_k_dense_replace", "it must be a number of layers"),
    ("mlp_only_layers", "it must be a list of layers"),
    ("decoder_sparse_step", "it must be a number of layers over 0"),
    ("full_attention_interval", "layer_types says otherwise"),
    ("hybrid_override_pattern", "it has letters other than M, E, * and -, or layer_types says otherwise"),
    ("mamba_hidden_act", "the convolution of a state space layer is followed by silu, and there is no other"),
    ("n_shared_experts", "shared experts are one MLP, and their width is not what follows from their number"),
    ("num_key_value_heads", "latent attention has as many as it has heads"),
    ("head_dim", "latent attention has qk_nope_head_dim and qk_rope_head_dim"),
    ("qk_head_dim", "it must be qk_nope_head_dim + qk_rope_head_dim"),
    ("partial_rotary_factor", "the rotated part of a head is qk_rope_head_dim"),
    ("yarn.apply_scale", "readers of params.json disagree about what true means: only false is supported"),
    ("attention_chunk_size", "attention in chunks is not supported"),
];

/// A config, what was asked of it and what is wrong with it.
pub struct Ask<'c> {
    /// The config.
    pub config: &'c CanonicalConfig,
    asked: RefCell<BTreeSet<String>>,
    refusals: RefCell<Vec<Refusal>>,
}

impl<'c> Ask<'c> {
    /// Of which nothing has been asked yet.
    pub fn new(config: &'c CanonicalConfig) -> Self {
        Self { config, asked: RefCell::default(), refusals: RefCell::default() }
    }

    /// What was found to be wrong.
    pub fn into_refusals(self) -> Vec<Refusal> {
        self.refusals.into_inner()
    }

    /// Says that a key asks for something that there is not.
    pub fn refuse(&self, key: &str, reason: impl Into<String>) {
        let path = match self.config.get(key).map(|v| &v.origin) {
            Some(Origin::Stated(path)) => path.clone(),
            _ => key.to_owned(),
        };
        self.refusals.borrow_mut().push(Refusal { key: path, reason: reason.into() });
    }

    /// The value of a key, which is bound by that.
    pub fn get(&self, key: &str) -> Option<&'c ConfigValue> {
        self.asked.borrow_mut().insert(key.to_owned());
        self.config.get(key)
    }

    fn ask<T>(&self, key: &str, kind: &str, read: impl FnOnce(&CanonicalConfig) -> Option<T>) -> Noted<T> {
        let Some(found) = self.get(key) else { return Noted::todo("the checkpoint does not say") };
        let value = read(self.config);
        if value.is_none() {
            self.refuse(key, format!("it is {}, and it must be {kind}", short(&found.value.to_string())));
        }
        Noted { value, note: note(&found.origin) }
    }

    /// An integer.
    pub fn int(&self, key: &str) -> Noted<u64> {
        // TOML has none over 63 bits.
        let fits = |value: &u64| i64::try_from(*value).is_ok();
        self.ask(key, "an integer that is not negative", |config| config.int(key).filter(fits))
    }

    /// A number.
    pub fn float(&self, key: &str) -> Noted<f64> {
        self.ask(key, "a number", |config| config.float(key))
    }

    /// True or false.
    pub fn bool(&self, key: &str) -> Noted<bool> {
        self.ask(key, "true or false", |config| config.bool(key))
    }

    /// One of some names.
    pub fn name(&self, key: &str, names: &[&'static str]) -> Noted<&'static str> {
        let text = self.ask(key, "a text", |config| config.text(key).map(str::to_owned));
        let Some(text_value) = text.value else { return Noted { value: None, note: text.note } };
        let value = names.iter().copied().find(|name| *name == text_value);
        if value.is_none() {
            self.refuse(key, format!("`{}` is not supported; {} are", short(&text_value), names.join(", ")));
        }
        Noted { value, note: text.note }
    }

    /// An integer that may be missing, which means none.
    pub fn int_or_none(&self, key: &str) -> Noted<Option<u64>> {
        if self.get(key).is_none() { Noted::sure(None) } else { self.int(key).map(Some) }
    }

    /// A number that may be missing, which means none.
    pub fn float_or_none(&self, key: &str) -> Noted<Option<f64>> {
        if self.get(key).is_none() { Noted::sure(None) } else { self.float(key).map(Some) }
    }

    /// Whether a switch is on; off where it is missing.
    pub fn is_on(&self, key: &str) -> bool {
        self.get(key).is_some() && self.bool(key).value == Some(true)
    }

    /// What is left: `[config.ignore]`, after refusing what cannot be ignored.
    pub fn rest(&self, class: &Class) -> Vec<(String, Noted<&'static str>)> {
        let mut ignored: Vec<(String, Noted<&'static str>)> = Vec::new();
        let quantised = self.check_quantisation();
        for (key, ConfigValue { value, origin }) in self.config.keys() {
            let Origin::Stated(path) = origin else { continue };
            let harmless = NEVER_CHANGES_OUTPUT.iter().chain(unread(self.config.model_type()));
            if self.asked.borrow().contains(key) || harmless.into_iter().any(|i| i.covers(key) || i.covers(path)) {
                continue;
            }
            let implied = class.implied.iter().find(|(name, _)| *name == key);
            if let Some((_, reason)) = UNSUPPORTED.iter().find(|(name, _)| *name == key) {
                self.refuse(key, *reason);
            } else if ["rope_parameters.", "rope_scaling."].iter().any(|table| path.contains(table)) {
                self.refuse(key, "this rotary setting is not supported");
            } else if let Some((_, implied)) = implied {
                if *implied == Implied::False && *value != serde_json::Value::Bool(false) {
                    self.refuse(key, format!("it is {}, which is not supported", short(&value.to_string())));
                }
            } else if VISION_KEYS.contains(&key) {
                ignored.push((key.to_owned(), Noted::sure(VISION)));
            } else if SPECULATION_KEYS.contains(&key) {
                ignored.push((key.to_owned(), Noted::sure(SPECULATION)));
            } else if !key.starts_with("quantization_config.") {
                let what = format!("it is {}: say why it cannot change the output, if so", short(&value.to_string()));
                ignored.push((key.to_owned(), Noted::todo(what)));
            }
        }
        if quantised {
            ignored.push(("quantization_config.*".to_owned(), Noted::sure(STORAGE)));
        }
        ignored
    }

    /// Whether there is such a table, after refusing what it must not say.
    fn check_quantisation(&self) -> bool {
        let text = |key: &str| self.config.text(&format!("quantization_config.{key}"));
        let there = self.config.keys().any(|(key, _)| key.starts_with("quantization_config."));
        let method = text("quant_method").or_else(|| text("qformat_weight").map(|_| "fp8"));
        let key = |key: &str| format!("quantization_config.{key}");
        match method.map(|m| m.replace('_', "-")).as_deref() {
            None if there => self.refuse(&key("quant_method"), "it is missing, and storage formats have a method"),
            None | Some("mxfp4") => {}
            Some("fp8") => {
                let block = self.config.get(&key("weight_block_size")).map(|v| v.value.to_string());
                if block.is_some_and(|block| block != "[128,128]") {
                    self.refuse(&key("weight_block_size"), "blocks of fp8 weights are 128 x 128, and no others are supported");
                }
            }
            Some("compressed-tensors") => {
                if text("format") != Some("nvfp4-pack-quantized") {
                    self.refuse(&key("format"), "of compressed-tensors, only nvfp4-pack-quantized is supported");
                }
            }
            Some("modelopt") => {
                if !matches!(text("quant_algo"), Some("NVFP4" | "FP8")) {
                    self.refuse(&key("quant_algo"), "of modelopt, only NVFP4 and FP8 are supported");
                }
            }
            Some(other) => self.refuse(&key("quant_method"), format!("weights stored by `{}` are not supported", short(other))),
        }
        there
    }

    /// The storage formats that the config speaks of, for a checkpoint whose tensors are not to be seen.
    pub fn storage(&self) -> Vec<String> {
        let text = |key: &str| self.config.text(&format!("quantization_config.{key}"));
        let formats: &[&str] = match (text("quant_method"), text("qformat_weight")) {
            (Some("mxfp4"), _) => &["mxfp4", "bf16"],
            (Some("fp8"), _) | (_, Some(_)) => &["fp8_e4m3", "bf16", "f32"],
            (Some("modelopt"), _) if text("quant_algo") == Some("FP8") => &["fp8_e4m3", "bf16", "f32"],
            (Some(_), _) => &["nvfp4", "bf16"],
            (None, None) => &["bf16", "f16", "f32"],
        };
        formats.iter().map(|&name| name.to_owned()).collect()
    }
}

/// The comment of a value that the checkpoint does not state.
pub fn note(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Stated(_) => None,
        other => Some(other.to_string()),
    }
}

/// A value as a message shows it.
pub fn short(text: &str) -> String {
    const LONGEST: usize = 60;
    let plain: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > LONGEST { plain + "..." } else { plain }
}
