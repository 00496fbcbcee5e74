//! What the checkpoint's config must say, in the canonical keys of [`tenon_formats::config`].

mod keys;

use self::keys::{Keys, TableName};
use super::deviation::Deviations;
use super::size;
use super::stated::Stated;
use crate::architecture::{Architecture, Bias, Implied, LayerTypes, SoftCaps};
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::{
    BlockKind, CheckpointFormat, ConfigContract, ConfigValue, Ffn, GatedDeltaNet, Gqa, Mamba2, Mixer, Mla, Moe, Rope, RopeScaling,
};
use crate::spec::ModelSpec;

/// Collects the keys that a checkpoint's config must have. Two tables that disagree about one of them are refused: the config has
/// one value for all layers, and where a file leaves it to a default nothing would be compared.
pub fn contract(
    spec: &ModelSpec,
    architecture: &Architecture,
    kinds: &[BlockKind],
    pattern: &[usize],
    stated: &[Stated<'_>],
    deviations: &Deviations,
    diags: &mut Diagnostics,
) -> ConfigContract {
    let mut contract = Contract {
        spec,
        architecture,
        // A GGUF states less, and the table of its architecture says the rest.
        full: *spec.checkpoint.format != CheckpointFormat::Gguf,
        keys: Keys::default(),
    };
    contract.keys.of(None, deviations.of_tables(&["model", "layers", "checkpoint"]));
    contract.model(pattern);
    for kind in kinds {
        if let Some((name, _)) = &kind.mixer {
            let deviate = deviations.of_tables(&[&format!("mixer.{name}"), &format!("mixer.{name}.rope")]);
            contract.keys.of(Some(TableName::Mixer(name)), deviate);
        }
        match &kind.mixer {
            Some((_, Mixer::Gqa(gqa))) => contract.gqa(gqa),
            Some((_, Mixer::Mla(mla))) => contract.mla(mla),
            Some((_, Mixer::Mamba2(mamba2))) => contract.mamba2(mamba2),
            Some((_, Mixer::GatedDeltaNet(net))) => contract.gated_delta_net(net),
            None => {}
        }
        if let Some((name, ffn)) = &kind.ffn {
            contract.keys.of(Some(TableName::Ffn(name)), deviations.of_tables(&[&format!("ffn.{name}")]));
            contract.ffn(ffn);
        }
    }
    contract.keys.of(None, deviations.all());
    let mut ignored = Vec::new();
    contract.layers(kinds, pattern);
    if contract.full {
        for (key, implied) in architecture.implied {
            match implied {
                Implied::Absent => contract.keys.add(key, ConfigValue::Absent),
                Implied::False => contract.keys.add(key, absent_or(ConfigValue::Bool(false))),
                Implied::Ignored(reason) => ignored.push(((*key).to_owned(), (*reason).to_owned())),
            }
        }
    }
    // What only the checkpoint states, and the spec leaves out on purpose.
    for (key, _) in deviations.all() {
        if !contract.keys.has(key) {
            contract.keys.add(key, ConfigValue::Absent);
        }
    }
    contract.keys.disagreements(spec, stated, architecture.model_type, diags);
    let keys = contract.keys.into_list();
    for (key, reason) in &spec.config_ignore {
        if keys.iter().any(|(k, _)| *k == key.value) {
            let message = format!("`{}` changes the output and cannot be ignored", key.value);
            let diagnostic = Diagnostic::new(Id::ConfigIgnoreBound, message);
            let states = |stated: &&Stated<'_>| stated.config.contains(&key.value.as_str());
            let place = stated.iter().find(states).and_then(|stated| stated.place);
            let diagnostic = match place {
                Some((place, _)) => diagnostic.label(&key.span, "ignored").context(place, "the spec states it here"),
                None => diagnostic.label(&key.span, "the architecture fixes its value"),
            };
            diags.push(diagnostic.help("delete the entry: the checkpoint is compared with the spec"));
            continue;
        }
        ignored.retain(|(known, _)| *known != key.value);
        ignored.push((key.value.clone(), reason.value.clone()));
    }
    ConfigContract { keys, ignored }
}

fn absent_or(value: ConfigValue) -> ConfigValue {
    ConfigValue::AbsentOr(Box::new(value))
}

struct Contract<'s> {
    spec: &'s ModelSpec,
    architecture: &'s Architecture,
    /// The config states everything, or its class has a default for it.
    full: bool,
    keys: Keys<'s>,
}

impl Contract<'_> {
    fn model(&mut self, pattern: &[usize]) {
        let (table, keys) = (&self.spec.model, &mut self.keys);
        keys.add("model_type", ConfigValue::Text(self.spec.checkpoint.model_type.value.clone()));
        keys.int("hidden_size", size(&table.hidden_size));
        keys.int("vocab_size", size(&table.vocab_size));
        keys.int("max_position_embeddings", size(&table.max_position_embeddings));
        keys.float("rms_norm_eps", *table.rms_norm_eps);
        keys.bool("tie_word_embeddings", *table.tie_word_embeddings);
        keys.int("num_hidden_layers", pattern.len());
        for (key, number) in
            [("scale_emb", &table.scale_emb), ("scale_depth", &table.scale_depth), ("dim_model_base", &table.dim_model_base)]
        {
            if let Some(number) = number {
                keys.float(key, number.value);
            }
        }
        if self.architecture.soft_caps != SoftCaps::None {
            keys.optional_float("final_logit_softcapping", table.final_logit_softcapping.as_ref().map(|cap| cap.value));
            if self.architecture.soft_caps == SoftCaps::Logits {
                keys.add("attn_logit_softcapping", ConfigValue::Absent);
            }
        }
    }

    fn gqa(&mut self, gqa: &Gqa) {
        let (architecture, keys) = (self.architecture, &mut self.keys);
        keys.int("num_attention_heads", gqa.heads);
        keys.int("num_key_value_heads", gqa.kv_heads);
        keys.int("head_dim", gqa.head_dim);
        if let Some(window) = gqa.sliding_window {
            keys.int("sliding_window", window);
        }
        if let Some(scalar) = gqa.query_pre_attn_scalar {
            keys.int("query_pre_attn_scalar", scalar);
        }
        if self.full {
            // What the class fixes may still stand in the file, and then it must say the same.
            let stated = |bias, value| match bias {
                Bias::Config => ConfigValue::Bool(value),
                Bias::Fixed(_) => absent_or(ConfigValue::Bool(value)),
            };
            keys.add("attention_bias", stated(architecture.qkv_bias, gqa.bias));
            keys.add("attention_output_bias", absent_or(ConfigValue::Bool(gqa.output_bias)));
            if architecture.soft_caps == SoftCaps::LogitsAndScores {
                keys.optional_float("attn_logit_softcapping", gqa.soft_cap);
            }
            if architecture.attention_sinks {
                keys.add("attention_sinks", absent_or(ConfigValue::Bool(gqa.sinks)));
            }
            if architecture.attn_output_gate {
                keys.add("attn_output_gate", absent_or(ConfigValue::Bool(gqa.output_gate)));
            }
        }
        let own_base = architecture.sliding_rope_theta.filter(|key| *key != "rope_theta" && gqa.sliding_window.is_some());
        match (&gqa.rope, own_base) {
            (Some(rope), None) => {
                keys.float("rope_theta", rope.theta);
                self.rotated(rope, gqa.head_dim);
                self.scaling(&rope.scaling);
            }
            // Everything else that the config says of rotation is about the layers without a window.
            (Some(rope), Some(key)) => {
                keys.float(key, rope.theta);
                self.rotated(rope, gqa.head_dim);
            }
            (None, _) if self.full => keys.add("rope_type", absent_or(ConfigValue::Text("none".to_owned()))),
            (None, _) => {}
        }
    }

    /// How much of a head is rotated, and in which pairs. `partial_rotary_factor` is 1 where it is not given.
    fn rotated(&mut self, rope: &Rope, head_dim: usize) {
        let keys = &mut self.keys;
        if !self.full {
            keys.int("rotary_dim", rope.rotary_dim);
            return;
        }
        keys.add("interleaved", absent_or(ConfigValue::Bool(rope.interleaved)));
        let factor = ConfigValue::Float(rope.rotary_dim as f64 / head_dim as f64);
        let whole = rope.rotary_dim == head_dim;
        keys.add("partial_rotary_factor", if whole { absent_or(factor) } else { factor });
    }

    fn mla(&mut self, mla: &Mla) {
        let keys = &mut self.keys;
        keys.int("num_attention_heads", mla.heads);
        // Keys and values are made for every head, so that the number of their heads says nothing more.
        keys.add("num_key_value_heads", absent_or(ConfigValue::Int(mla.heads as u64)));
        match mla.q_lora_rank {
            Some(rank) => keys.int("q_lora_rank", rank),
            None => keys.add("q_lora_rank", ConfigValue::Absent),
        }
        keys.int("kv_lora_rank", mla.kv_lora_rank);
        keys.int("qk_nope_head_dim", mla.nope);
        keys.int("qk_rope_head_dim", mla.rope_dim);
        keys.int("v_head_dim", mla.v_head_dim);
        keys.bool("attention_bias", mla.bias);
        keys.bool("interleaved", mla.rope.interleaved);
        keys.float("rope_theta", mla.rope.theta);
        keys.int("rotary_dim", mla.rope.rotary_dim);
        self.scaling(&mla.rope.scaling);
        self.keys.optional_float("llama_4_scaling_beta", mla.query_scale.map(|scale| scale.beta));
    }

    fn mamba2(&mut self, mamba2: &Mamba2) {
        let keys = &mut self.keys;
        keys.int("mamba_num_heads", mamba2.heads);
        keys.int("mamba_head_dim", mamba2.head_dim);
        keys.int("ssm_state_size", mamba2.state);
        keys.int("n_groups", mamba2.groups);
        keys.int("conv_kernel", mamba2.conv_kernel);
        keys.int("chunk_size", mamba2.chunk);
        keys.bool("use_conv_bias", mamba2.conv_bias);
        keys.bool("use_bias", mamba2.bias);
        keys.float("time_step_min", mamba2.time_step_min);
    }

    fn gated_delta_net(&mut self, net: &GatedDeltaNet) {
        let keys = &mut self.keys;
        keys.int("linear_num_key_heads", net.key_heads);
        keys.int("linear_key_head_dim", net.key_dim);
        keys.int("linear_num_value_heads", net.value_heads);
        keys.int("linear_value_head_dim", net.value_dim);
        keys.int("linear_conv_kernel_dim", net.conv_kernel);
    }

    fn ffn(&mut self, ffn: &Ffn) {
        match ffn {
            Ffn::GatedMlp { intermediate_size, act, bias } | Ffn::Mlp { intermediate_size, act, bias } => {
                self.keys.int("intermediate_size", *intermediate_size);
                if self.full {
                    self.keys.add("hidden_act", ConfigValue::Text(act.as_str().to_owned()));
                    self.mlp_bias(*bias);
                }
            }
            Ffn::Moe(moe) => self.moe(moe),
        }
    }

    fn mlp_bias(&mut self, bias: bool) {
        let value = ConfigValue::Bool(bias);
        self.keys.add("mlp_bias", if self.architecture.mlp_bias == Bias::Config { value } else { absent_or(value) });
    }

    /// The reader has what a class fixes as its defaults, so that a file which says otherwise is refused.
    fn moe(&mut self, moe: &Moe) {
        // Shared experts and latent projections have none in this version.
        let keys = &mut self.keys;
        keys.add("mlp_bias", absent_or(ConfigValue::Bool(false)));
        keys.int("n_routed_experts", moe.experts);
        keys.int("num_experts_per_tok", moe.top_k);
        keys.int("moe_intermediate_size", moe.intermediate_size);
        keys.add("hidden_act", ConfigValue::Text(moe.act.as_str().to_owned()));
        keys.bool("gated", moe.gated);
        keys.bool("expert_bias", moe.expert_bias);
        keys.add("scoring_func", ConfigValue::Text(moe.router.scoring.as_str().to_owned()));
        keys.bool("router_bias", moe.router.bias);
        keys.bool("e_score_correction_bias", moe.router.correction_bias);
        keys.int("n_group", moe.router.groups);
        keys.int("topk_group", moe.router.top_groups);
        if moe.router.groups > 1 {
            keys.add("group_score", ConfigValue::Text(moe.router.group_score.as_str().to_owned()));
        }
        keys.bool("norm_topk_prob", moe.router.normalise);
        keys.float("routed_scaling_factor", moe.router.scaling);
        keys.optional_int("moe_latent_size", moe.latent);
        keys.optional_int("shared_expert_intermediate_size", moe.shared.map(|shared| shared.intermediate_size));
        if let Some(shared) = moe.shared {
            keys.bool("shared_expert_gate", shared.gate);
        }
        keys.optional_float("swiglu_limit", moe.clamp.map(|clamp| clamp.limit));
        keys.optional_float("swiglu_alpha", moe.clamp.map(|clamp| clamp.alpha));
    }

    fn scaling(&mut self, scaling: &RopeScaling) {
        let keys = &mut self.keys;
        let rope_type = match scaling {
            RopeScaling::Default => "default",
            RopeScaling::Llama3 { .. } => "llama3",
            RopeScaling::Linear { .. } => "linear",
            RopeScaling::Yarn { .. } => "yarn",
        };
        keys.add("rope_type", ConfigValue::Text(rope_type.to_owned()));
        match scaling {
            RopeScaling::Default => {
                for key in ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"] {
                    keys.add(key, ConfigValue::Absent);
                }
            }
            RopeScaling::Linear { factor } => keys.float("factor", *factor),
            RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
                keys.float("factor", *factor);
                keys.float("low_freq_factor", *low_freq_factor);
                keys.float("high_freq_factor", *high_freq_factor);
                keys.int("original_max_position_embeddings", *original_max_position_embeddings);
            }
            RopeScaling::Yarn {
                factor,
                original_max_position_embeddings,
                beta_fast,
                beta_slow,
                truncate,
                mscale,
                mscale_all_dim,
                stated_attention_factor,
                attention_factor: _,
            } => {
                keys.float("factor", *factor);
                keys.int("original_max_position_embeddings", *original_max_position_embeddings);
                keys.float("beta_fast", *beta_fast);
                keys.float("beta_slow", *beta_slow);
                keys.bool("truncate", *truncate);
                // An mscale of 0 counts as none, and the reader takes it out.
                keys.optional_float("mscale", mscale.filter(|m| *m != 0.0));
                keys.optional_float("mscale_all_dim", mscale_all_dim.filter(|m| *m != 0.0));
                keys.optional_float("attention_factor", *stated_attention_factor);
            }
        }
    }

    /// What each layer is, where the config lists it.
    fn layers(&mut self, kinds: &[BlockKind], pattern: &[usize]) {
        let names = |name: &dyn Fn(&BlockKind) -> &'static str| {
            let names: Vec<String> = pattern.iter().map(|kind| name(&kinds[*kind]).to_owned()).collect();
            match names.first() {
                // A list of equal names is one name, once per layer.
                Some(first) if names.iter().all(|n| n == first) => ConfigValue::Each(first.clone(), names.len()),
                _ => ConfigValue::List(names),
            }
        };
        match self.architecture.layer_types {
            LayerTypes::Unread => {}
            LayerTypes::IfGiven => self.keys.add("layer_types", absent_or(names(&layer_type))),
            LayerTypes::Given => self.keys.add("layer_types", names(&layer_type)),
        }
        if self.architecture.mlp_layer_types {
            let sparse = |kind: &BlockKind| if matches!(kind.ffn, Some((_, Ffn::Moe(_)))) { "sparse" } else { "dense" };
            self.keys.add("mlp_layer_types", names(&sparse));
        }
    }
}

/// What `layer_types` says of a layer.
fn layer_type(kind: &BlockKind) -> &'static str {
    match (&kind.mixer, &kind.ffn) {
        (Some((_, Mixer::Mamba2(_) | Mixer::GatedDeltaNet(_))), _) => "linear_attention",
        (Some((_, Mixer::Gqa(gqa))), _) if gqa.sliding_window.is_some() => "sliding_attention",
        (Some((_, Mixer::Gqa(_) | Mixer::Mla(_))), _) => "full_attention",
        (None, Some((_, Ffn::Moe(_)))) => "moe",
        (None, _) => "mlp",
    }
}
