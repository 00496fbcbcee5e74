//! What each config class of Hugging Face transformers makes of its keys: older and other names, lists of layers, and values that
//! only repeat what others say.
//!
//! A value that repeats another is taken out where it agrees, and stays, for a comparison to refuse, where it does not.

use serde_json::Value;

use super::{CanonicalConfig, ConfigValue, Origin, as_int, defaults};

/// Other names of keys, by class. Where both names are given with two values, the old one stays too.
fn renamed(model_type: &str) -> &'static [(&'static str, &'static str)] {
    match model_type {
        "qwen3_moe" | "qwen3_next" | "qwen3_5_moe" | "qwen3_5_moe_text" => {
            &[("num_experts", "n_routed_experts"), ("num_local_experts", "n_routed_experts")]
        }
        "gpt_oss" => &[
            ("num_local_experts", "n_routed_experts"),
            ("num_experts", "n_routed_experts"),
            ("experts_per_token", "num_experts_per_tok"),
            ("intermediate_size", "moe_intermediate_size"),
        ],
        "deepseek_v2" | "deepseek_v3" | "glm4_moe_lite" | "mistral4" => &[
            ("num_local_experts", "n_routed_experts"),
            ("num_experts", "n_routed_experts"),
            ("num_mtp_layers", "num_nextn_predict_layers"),
            ("rope_interleave", "interleaved"),
        ],
        "nemotron_h" => &[
            ("num_local_experts", "n_routed_experts"),
            ("layers_block_type", "layer_types"),
            ("layer_norm_epsilon", "rms_norm_eps"),
            ("norm_eps", "rms_norm_eps"),
            ("mlp_hidden_act", "hidden_act"),
            ("moe_shared_expert_intermediate_size", "shared_expert_intermediate_size"),
            ("mamba_n_groups", "n_groups"),
            ("mamba_d_conv", "conv_kernel"),
            ("mamba_expand", "expand"),
            ("mamba_conv_bias", "use_conv_bias"),
            ("mamba_chunk_size", "chunk_size"),
            ("mamba_dt_min", "time_step_min"),
            ("mamba_dt_max", "time_step_max"),
            ("mamba_dt_limit", "time_step_limit"),
            ("mamba_dt_init_floor", "time_step_floor"),
        ],
        _ => &[],
    }
}

/// Older names of layer types.
const LAYER_TYPES: [(&str, &str); 2] = [("mamba", "linear_attention"), ("attention", "full_attention")];
/// The letters of Nemotron's `hybrid_override_pattern`.
const PATTERN: [(char, &str); 4] = [('M', "linear_attention"), ('E', "moe"), ('*', "full_attention"), ('-', "mlp")];

/// Layers of which lists are spelled out. Published models have up to 126; a hostile number takes no memory.
const MOST_LAYERS: u64 = 1024;

impl CanonicalConfig {
    /// Names and lists of layers, before defaults are filled in. `rope_table` says whether the file has a table of rotary settings.
    pub(super) fn settle_class(&mut self, rope_table: bool) {
        let model_type = self.model_type().to_owned();
        for (old, new) in renamed(&model_type) {
            self.rename(old, new);
        }
        if !rope_table && self.get("rope_type").is_none() {
            self.fill_defaults(defaults::rope_of_class(&model_type), |_| false);
        }
        match model_type.as_str() {
            "nemotron_h" => {
                self.spell_pattern();
                self.remap_layer_types();
                if let Some(layers) = self.layers_listed() {
                    self.fill("num_hidden_layers", layers, "number of layer_types");
                }
            }
            "qwen3_next" | "qwen3_5" | "qwen3_5_text" | "qwen3_5_moe" | "qwen3_5_moe_text" => {
                self.remap_layer_types();
                self.list_every("full_attention_interval", 4, "linear_attention");
                if self.text("rope_type") == Some("mrope") {
                    self.set("rope_type", "default");
                }
            }
            "gemma2" | "gpt_oss" => self.list_every("", 2, "sliding_attention"),
            "gemma3" | "gemma3_text" => {
                // Both names stay: with a list beside them they are read by nobody.
                let key = if self.get("sliding_window_pattern").is_some() { "sliding_window_pattern" } else { "" };
                self.list_every(key, 6, "sliding_attention");
            }
            _ => {}
        }
        match model_type.as_str() {
            "deepseek_v3" => self.list_dense(3),
            "deepseek_v2" | "mistral4" => self.list_dense(0),
            "glm4_moe_lite" if self.get("mlp_layer_types").is_none() => self.list_dense(1),
            "qwen3_moe" | "qwen3_next" | "qwen3_5_moe" | "qwen3_5_moe_text" => self.list_sparse(),
            "gpt_oss" => self.fill("mlp_layer_types", "sparse", "every layer of gpt_oss"),
            _ => {}
        }
        self.fold_uniform("mlp_layer_types");
    }

    /// What llama.cpp knows of an architecture and no GGUF says.
    pub(super) fn finish_gguf(&mut self, architecture: &str) {
        if architecture != "gemma3" {
            return;
        }
        self.list_every("", 6, "sliding_attention");
        match (self.int("num_hidden_layers"), self.int("hidden_size"), self.int("num_attention_heads"), self.int("head_dim")) {
            // The largest of these models, which is told by its number of layers.
            (Some(62), Some(hidden), Some(heads @ 1..), _) => {
                self.fill("query_pre_attn_scalar", hidden / heads, "hidden_size / num_attention_heads of 62 layers");
            }
            (.., Some(head_dim)) => self.fill("query_pre_attn_scalar", head_dim, "head_dim"),
            _ => {}
        }
    }

    /// What follows from the keys of a class, after defaults are filled in.
    pub(super) fn finish_class(&mut self) {
        let model_type = self.model_type().to_owned();
        self.finish_yarn();
        if self.text("hidden_act") == Some("swish") {
            // Two names of one function.
            self.set("hidden_act", "silu");
        }
        // A table of rotary settings may repeat what stands beside it.
        let nested = |key: &&String| key.ends_with("rope_parameters.max_position_embeddings");
        if let Some(key) = self.keys.keys().find(nested).cloned()
            && self.repeats(&key, "max_position_embeddings")
        {
            self.keys.remove(&key);
        }
        match model_type.as_str() {
            "mistral4" | "deepseek_v2" | "deepseek_v3" | "glm4_moe_lite" | "minicpm3" => self.finish_mla(&model_type),
            "nemotron_h" => {
                self.drop_if("n_shared_experts", |value| as_int(value) == Some(1));
                self.drop_if("mamba_hidden_act", |value| value == "silu");
                let mlps = |value: &Value| value.as_array().is_some_and(|types| types.iter().any(|t| t == "mlp"));
                if !self.get("layer_types").is_some_and(|types| mlps(&types.value)) {
                    // Read where a layer is a plain MLP; the class has a size for it in any case.
                    self.keys.remove("intermediate_size");
                    // Of plain MLPs, and of what stands around experts.
                    self.drop_if("mlp_bias", |value| *value == false);
                }
            }
            "gpt_oss" if self.repeats("initial_context_length", "original_max_position_embeddings") => {
                _ = self.keys.remove("initial_context_length");
            }
            _ => {}
        }
        match model_type.as_str() {
            "deepseek_v2" => self.finish_router_v2(),
            "deepseek_v3" | "glm4_moe_lite" => self.drop_if("topk_method", |value| value == "noaux_tc"),
            _ => {}
        }
        if self.int("n_group") == Some(1) {
            self.keys.remove("group_score");
        }
        if self.text("mlp_layer_types") == Some("sparse") {
            // Of the dense layers, of which there are none.
            self.keys.remove("intermediate_size");
        }
        self.finish_shared_expert();
        let speculates = matches!(model_type.as_str(), "mistral4" | "deepseek_v3" | "glm4_moe_lite" | "nemotron_h");
        if speculates && self.get("num_nextn_predict_layers").is_none_or(|v| as_int(&v.value) == Some(0)) {
            for key in ["num_nextn_predict_layers", "mtp_layers_block_type", "mtp_hybrid_override_pattern"] {
                self.keys.remove(key);
            }
        }
    }

    /// `hybrid_override_pattern`, one letter a layer, as a list of names. It stays where it has other letters, or where a list
    /// beside it says otherwise.
    fn spell_pattern(&mut self) {
        let Some(pattern) = self.get("hybrid_override_pattern") else { return };
        let name = |letter| PATTERN.iter().find(|(l, _)| *l == letter).map(|(_, name)| Value::from(*name));
        let names: Option<Vec<Value>> = pattern.value.as_str().and_then(|text| text.chars().map(name).collect());
        let Some(names) = names else { return };
        let value = ConfigValue { value: names.into(), origin: pattern.origin.clone() };
        self.keys.insert("hybrid_override_pattern".to_owned(), value);
        self.rename("hybrid_override_pattern", "layer_types");
    }

    /// Older names in `layer_types`.
    fn remap_layer_types(&mut self) {
        let Some(ConfigValue { value: Value::Array(types), .. }) = self.keys.get_mut("layer_types") else { return };
        for layer_type in types {
            if let Some((_, new)) = LAYER_TYPES.iter().find(|(old, _)| *layer_type == *old) {
                *layer_type = Value::from(*new);
            }
        }
    }

    fn layers_listed(&self) -> Option<usize> {
        Some(self.get("layer_types")?.value.as_array()?.len())
    }

    /// `layer_types` where every so many layers, as `key` says or `default` where it does not, one sees everything and the rest
    /// are `others`. A list that is given counts, and `key` is taken out where it says the same.
    fn list_every(&mut self, key: &str, default: u64, others: &str) {
        let every = if key.is_empty() { Some(default) } else { self.get(key).map_or(Some(default), |v| as_int(&v.value)) };
        let (Some(every @ 1..), Some(layers)) = (every, self.layer_count()) else { return };
        let name = |layer: u64| if layer.is_multiple_of(every) { "full_attention" } else { others };
        let types: Vec<Value> = (1..=layers).map(|layer| Value::from(name(layer))).collect();
        match self.get("layer_types") {
            None => self.fill("layer_types", types, &format!("one full_attention in {every} layers")),
            Some(given) if given.value == Value::from(types) => {}
            Some(_) => return,
        }
        // Gemma's are ignored by name where a list stands beside them.
        if key == "full_attention_interval" {
            self.keys.remove(key);
        }
    }

    /// `mlp_layer_types` of DeepSeek: so many dense layers, then experts.
    fn list_dense(&mut self, default: u64) {
        self.drop_if("moe_layer_freq", |value| as_int(value) == Some(1));
        let Some(layers) = self.layer_count() else { return };
        let dense = match self.get("first_k_dense_replace") {
            Some(given) => as_int(&given.value),
            None => Some(default),
        };
        let Some(dense) = dense else { return };
        let name = |layer| if layer < dense { "dense" } else { "sparse" };
        let types: Vec<Value> = (0..layers).map(|layer| Value::from(name(layer))).collect();
        self.take_as("mlp_layer_types", types.into(), &["first_k_dense_replace"]);
    }

    /// `mlp_layer_types` of Qwen: experts in every so many layers, apart from those that are listed.
    fn list_sparse(&mut self) {
        let Some(layers) = self.layer_count() else { return };
        let step = self.get("decoder_sparse_step").map_or(Some(1), |v| as_int(&v.value));
        let listed = match self.get("mlp_only_layers").map(|v| &v.value) {
            None => Some(Vec::new()),
            Some(Value::Array(layers)) => layers.iter().map(as_int).collect(),
            Some(_) => None,
        };
        let (Some(step @ 1..), Some(listed)) = (step, listed) else { return };
        let dense = |layer: u64| listed.contains(&layer) || !(layer + 1).is_multiple_of(step);
        let types: Vec<Value> = (0..layers).map(|layer| Value::from(if dense(layer) { "dense" } else { "sparse" })).collect();
        self.take_as("mlp_layer_types", types.into(), &["mlp_only_layers", "decoder_sparse_step"]);
    }

    /// The number of layers, where it is one that a list may be spelled out for.
    fn layer_count(&self) -> Option<u64> {
        self.int("num_hidden_layers").filter(|layers| (1..=MOST_LAYERS).contains(layers))
    }

    /// Puts one key in the place of others, with the origin of the first that is there.
    fn take_as(&mut self, key: &str, value: Value, from: &[&str]) {
        let taken: Vec<ConfigValue> = from.iter().filter_map(|old| self.keys.remove(*old)).collect();
        let origin = match taken.into_iter().next() {
            Some(first) => first.origin,
            None => Origin::Default(self.model_type().to_owned()),
        };
        self.keys.entry(key.to_owned()).or_insert(ConfigValue { value, origin });
    }

    /// What YaRN takes for keys that a file leaves out. A factor of 0 is none, as in the reference, which tests for it so.
    fn finish_yarn(&mut self) {
        if self.text("rope_type") != Some("yarn") {
            return;
        }
        let how = "default of yarn";
        self.fill("beta_fast", 32.0, how);
        self.fill("beta_slow", 1.0, how);
        self.fill("truncate", true, how);
        if let Some(positions) = self.int("max_position_embeddings") {
            self.fill("original_max_position_embeddings", positions, "max_position_embeddings");
        }
        for key in ["mscale", "mscale_all_dim", "llama_4_scaling_beta"] {
            self.drop_if(key, |value| value.as_f64() == Some(0.0));
        }
    }

    /// Latent attention has widths of its own, and its class overwrites those of other attention.
    fn finish_mla(&mut self, model_type: &str) {
        let heads = self.int("num_attention_heads");
        if model_type == "minicpm3" {
            self.finish_minicpm3(heads);
        }
        let (Some(nope), Some(rope)) = (self.int("qk_nope_head_dim"), self.int("qk_rope_head_dim")) else { return };
        let Some(all) = nope.checked_add(rope) else { return };
        self.drop_if("num_key_value_heads", |value| as_int(value) == heads);
        self.drop_if("qk_head_dim", |value| as_int(value) == Some(all));
        self.drop_if("head_dim", |value| as_int(value).is_some_and(|v| v == rope || v == all));
        // A share of all of a head for mistral4, and of the part that is rotated for the others.
        let of = if model_type == "mistral4" { all } else { rope };
        self.drop_if("partial_rotary_factor", |value| value.as_f64().is_some_and(|f| (of as f64 * f) as u64 == rope));
        self.fill("rotary_dim", rope, "qk_rope_head_dim");
    }

    /// null turns a scaling off: the class then takes the value that makes it 1.
    fn finish_minicpm3(&mut self, heads: Option<u64>) {
        if let (Some(hidden), Some(heads @ 1..)) = (self.int("hidden_size"), heads) {
            self.fill("v_head_dim", hidden / heads, "hidden_size / num_attention_heads");
            self.fill("dim_model_base", hidden, "hidden_size");
        }
        if let Some(layers) = self.int("num_hidden_layers") {
            self.fill("scale_depth", (layers as f64).sqrt(), "sqrt(num_hidden_layers)");
        }
    }

    /// The groups of DeepSeek V2 count where `topk_method` says so.
    fn finish_router_v2(&mut self) {
        match self.text("topk_method") {
            None | Some("greedy") => {
                self.keys.remove("topk_method");
                for key in ["n_group", "topk_group"] {
                    self.keys.remove(key);
                    self.fill(key, 1, "topk_method is greedy");
                }
            }
            Some("group_limited_greedy") => _ = self.keys.remove("topk_method"),
            Some(_) => {}
        }
    }

    /// The width of the shared experts, which are one MLP, from their number.
    fn finish_shared_expert(&mut self) {
        let Some(number) = self.get("n_shared_experts").and_then(|v| as_int(&v.value)) else { return };
        if self.get("shared_expert_intermediate_size").is_some() {
            return;
        }
        let Some(width) = self.int("moe_intermediate_size").and_then(|width| width.checked_mul(number)) else { return };
        let origin = self.keys.remove("n_shared_experts").map(|v| v.origin);
        if let (1.., Some(origin)) = (width, origin) {
            let key = "shared_expert_intermediate_size".to_owned();
            self.keys.insert(key, ConfigValue { value: width.into(), origin });
        }
    }

    /// Whether a key says what another says.
    fn repeats(&self, key: &str, other: &str) -> bool {
        self.int(key).is_some() && self.int(key) == self.int(other)
    }

    fn drop_if(&mut self, key: &str, agrees: impl Fn(&Value) -> bool) {
        if self.get(key).is_some_and(|v| agrees(&v.value)) {
            self.keys.remove(key);
        }
    }

    /// Replaces the value of a key that is there.
    fn set(&mut self, key: &str, value: &str) {
        if let Some(entry) = self.keys.get_mut(key) {
            entry.value = Value::from(value);
        }
    }

    /// Gives a key its canonical name. Where both names are given with two values, both stay.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        let Some(value) = self.keys.remove(old) else { return };
        match self.keys.get(new) {
            Some(other) if other.value != value.value => _ = self.keys.insert(old.to_owned(), value),
            Some(_) => {}
            None => _ = self.keys.insert(new.to_owned(), value),
        }
    }
}
