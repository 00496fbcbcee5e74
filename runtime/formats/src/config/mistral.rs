//! params.json, the format of Mistral's own checkpoints, to canonical names.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::hf::object;
use super::{CanonicalConfig, ConfigError, ConfigValue, Origin, conflict, plain_floats};
use crate::json;

/// Keys with another name there, by path. The rest of a table that is read keeps its own path.
const RENAMED: [(&str, &str); 29] = [
    ("dim", "hidden_size"),
    ("n_layers", "num_hidden_layers"),
    ("n_heads", "num_attention_heads"),
    ("n_kv_heads", "num_key_value_heads"),
    ("hidden_dim", "intermediate_size"),
    ("norm_eps", "rms_norm_eps"),
    ("tied_embeddings", "tie_word_embeddings"),
    ("activation", "hidden_act"),
    ("yarn.factor", "factor"),
    ("yarn.original_max_position_embeddings", "original_max_position_embeddings"),
    ("yarn.beta", "beta_fast"),
    ("yarn.alpha", "beta_slow"),
    ("llama_4_scaling.beta", "llama_4_scaling_beta"),
    ("llama_4_scaling.original_max_position_embeddings", "original_max_position_embeddings"),
    ("moe.num_experts", "n_routed_experts"),
    ("moe.num_experts_per_tok", "num_experts_per_tok"),
    ("moe.expert_hidden_dim", "moe_intermediate_size"),
    ("moe.num_shared_experts", "n_shared_experts"),
    ("moe.first_k_dense_replace", "first_k_dense_replace"),
    ("moe.route_every_n", "moe_layer_freq"),
    ("moe.num_expert_groups", "n_group"),
    ("moe.num_expert_groups_per_tok", "topk_group"),
    ("moe.routed_scale", "routed_scaling_factor"),
    ("quantization.quant_method", "quantization_config.quant_method"),
    ("quantization.format", "quantization_config.format"),
    ("quantization.ignore", "quantization_config.ignore"),
    ("quantization.config_groups", "quantization_config.config_groups"),
    ("quantization.qformat_weight", "quantization_config.qformat_weight"),
    ("quantization.qscheme_act", "quantization_config.qscheme_act"),
];

/// Tables whose entries are keys of their own.
const TABLES: [&str; 4] = ["yarn", "llama_4_scaling", "moe", "quantization"];

impl CanonicalConfig {
    /// Reads the text of a params.json.
    ///
    /// `model_type` is not stated there and follows from the keys: experts over latent attention are a `mistral4`, anything else
    /// is a `mistral`. `yarn.apply_scale = false` forbids the scale of YaRN: `mscale` and `mscale_all_dim` are absent and
    /// `attention_factor` is 1. Where it is true the key stays, since readers of this format disagree about what it then means.
    ///
    /// # Errors
    /// No JSON, no object where one belongs, or two places that say one thing in two ways.
    pub fn from_mistral(text: &[u8]) -> Result<Self, ConfigError> {
        let mut config = Self { keys: BTreeMap::new() };
        let mut root = json::parse(text)?;
        plain_floats(&mut root);
        // By name, so that of two places that disagree the same one is always named first.
        let mut entries: Vec<(String, Value)> = object(root, "params.json")?.into_iter().collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (key, value) in entries {
            if TABLES.contains(&key.as_str()) && !value.is_null() {
                config.add_all(object(value, &key)?, &format!("{key}."))?;
            } else {
                config.add_all(Map::from_iter([(key, value)]), "")?;
            }
        }
        config.drop_transformer();
        let latent = config.get("kv_lora_rank").is_some() && config.get("n_routed_experts").is_some();
        let (model_type, how) = if latent {
            ("mistral4", "moe and kv_lora_rank are given")
        } else {
            ("mistral", "params.json without latent attention")
        };
        config.fill("model_type", model_type, how);
        config.read_yarn();
        // The code behind this format takes these where a file says nothing.
        config.fill("tie_word_embeddings", false, "default of params.json");
        let windowed = config.get("sliding_window").is_some();
        config.rename("max_seq_len", "max_position_embeddings");
        config.settle_class(true);
        if !latent {
            // The files of transformers have their rows in another order, and turn halves.
            config.fill("interleaved", true, "params.json turns neighbours");
            config.fill("layer_types", if windowed { "sliding_attention" } else { "full_attention" }, "sliding_window");
        }
        config.drop_defaults_of_training();
        config.finish(|key| key == "sliding_window");
        Ok(config)
    }

    fn add_all(&mut self, entries: Map<String, Value>, prefix: &str) -> Result<(), ConfigError> {
        for (key, value) in entries {
            if value.is_null() {
                continue;
            }
            let path = format!("{prefix}{key}");
            let name = RENAMED.iter().find(|(from, _)| *from == path).map_or(path.as_str(), |(_, to)| to);
            let value = ConfigValue { value, origin: Origin::Stated(path.clone()) };
            match self.keys.get(name) {
                Some(other) if other.value != value.value => return Err(conflict(other, &value)),
                Some(_) => {}
                None => _ = self.keys.insert(name.to_owned(), value),
            }
        }
        Ok(())
    }

    /// `model_type: "transformer"` tells apart what is not a state space model, and no more.
    fn drop_transformer(&mut self) {
        if self.text("model_type") == Some("transformer") {
            self.keys.remove("model_type");
        }
    }

    fn read_yarn(&mut self) {
        if self.get("factor").is_some() {
            self.fill("rope_type", "yarn", "yarn is given");
        }
        if self.bool("yarn.apply_scale") == Some(false)
            && let Some(ConfigValue { origin, .. }) = self.keys.remove("yarn.apply_scale")
        {
            self.keys.insert("attention_factor".to_owned(), ConfigValue { value: 1.0.into(), origin });
        }
    }

    /// Switches that are off.
    fn drop_defaults_of_training(&mut self) {
        for (key, off) in [
            ("moe.renorm_strategy", Value::from("WEIGHTS")),
            ("moe.use_load_balancing_bias", Value::from(false)),
            ("causal", Value::from(true)),
            ("use_biases", Value::from(false)),
        ] {
            if self.get(key).is_some_and(|v| v.value == off) {
                self.keys.remove(key);
            }
        }
    }
}
