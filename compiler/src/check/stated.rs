//! What MODEL.toml states of a checkpoint: every key that one is compared by, where it stands, which keys of config.json say the
//! same, and whether a spec may depart from them.

use crate::architecture::Architecture;
use crate::source::{Span, Spanned};
use crate::spec::{FfnSpec, GqaSpec, MixerSpec, MlaSpec, ModelSpec, MoeSpec, RopeScalingSpec, RopeSpec};

/// One key of MODEL.toml.
#[derive(Clone, Debug)]
pub struct Stated<'s> {
    /// The path of its table: `model`, `mixer.attention.rope`.
    pub table: String,
    /// The key.
    pub key: &'static str,
    /// Where key and value stand; `None` for a key that may be left out, and is.
    pub place: Option<(&'s Span, &'s Span)>,
    /// The canonical keys of a checkpoint's config that say the same; none where no config says it.
    pub config: Vec<&'static str>,
    /// How a value of it is written.
    pub kind: Kind,
    /// Whether the spec may depart from the checkpoint here, or why it may not.
    pub deviates: Result<(), &'static str>,
}

/// How the value of a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// `true` or `false`.
    Bool,
    /// A whole number, or "none" where the config states nothing.
    IntOrNone,
    /// A number, or "none" where the config states nothing.
    FloatOrNone,
    /// One of these names.
    Name(&'static [&'static str]),
    /// Something that no single value of a config replaces.
    Other,
}

impl Stated<'_> {
    /// Its full path: `mixer.attention.rope.rope_theta`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.table, self.key)
    }
}

/// A number of a dimension cannot differ from that of the tensors.
const SHAPES: Result<(), &str> = Err("tensors of the checkpoint have their shapes by it");
/// So cannot a switch that says which tensors are read.
const TENSORS: Result<(), &str> = Err("it says which tensors the checkpoint has");
/// Nor what the bytes of a tensor mean.
const MEANING: Result<(), &str> = Err("it says how the weights are stored, which is a fact of the checkpoint");
/// What is a fact of the arithmetic that follows from other keys.
const FOLLOWS: Result<(), &str> = Err("it follows from other keys, which may deviate");
/// The rest is arithmetic, which a spec may choose.
const MAY: Result<(), &str> = Ok(());

/// Activations that configs name as specs do.
const ACTIVATIONS: &[&str] = &["silu", "gelu_pytorch_tanh", "gelu", "relu2"];

/// The keys of config.json that belong to some `rope_type`.
pub const OF_ROPE_TYPE: [&str; 12] = [
    "rope_type",
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "attention_factor",
    "truncate",
    "llama_4_scaling_beta",
];

/// Every key of a spec, in the order of its tables. The architecture says which config key states the base of layers with a window.
pub fn all<'s>(spec: &'s ModelSpec, architecture: Option<&Architecture>) -> Vec<Stated<'s>> {
    let mut list = List { table: String::new(), found: Vec::new() };
    list.model(spec);
    for (name, mixer) in &spec.mixers {
        list.table = format!("mixer.{}", name.value);
        match mixer {
            MixerSpec::Gqa(gqa) => list.gqa(gqa, architecture),
            MixerSpec::Mla(mla) => list.mla(mla),
            MixerSpec::Mamba2(mamba2) => {
                list.int("mamba_num_heads", &mamba2.mamba_num_heads, SHAPES);
                list.int("mamba_head_dim", &mamba2.mamba_head_dim, SHAPES);
                list.int("ssm_state_size", &mamba2.ssm_state_size, SHAPES);
                list.int("n_groups", &mamba2.n_groups, SHAPES);
                list.int("conv_kernel", &mamba2.conv_kernel, SHAPES);
                list.int("chunk_size", &mamba2.chunk_size, MAY);
                list.bool("use_conv_bias", &mamba2.use_conv_bias, TENSORS);
                list.bool("use_bias", &mamba2.use_bias, TENSORS);
                list.float("time_step_min", &mamba2.time_step_min, MAY);
            }
            MixerSpec::GatedDeltaNet(net) => {
                list.int("linear_num_key_heads", &net.linear_num_key_heads, SHAPES);
                list.int("linear_key_head_dim", &net.linear_key_head_dim, SHAPES);
                list.int("linear_num_value_heads", &net.linear_num_value_heads, SHAPES);
                list.int("linear_value_head_dim", &net.linear_value_head_dim, SHAPES);
                list.int("linear_conv_kernel_dim", &net.linear_conv_kernel_dim, SHAPES);
            }
        }
    }
    for (name, ffn) in &spec.ffns {
        list.table = format!("ffn.{}", name.value);
        match ffn {
            FfnSpec::GatedMlp { intermediate_size, hidden_act, mlp_bias }
            | FfnSpec::Mlp { intermediate_size, hidden_act, mlp_bias } => {
                list.int("intermediate_size", intermediate_size, SHAPES);
                list.add("hidden_act", hidden_act, Kind::Name(ACTIVATIONS), MAY);
                list.bool("mlp_bias", mlp_bias, TENSORS);
            }
            FfnSpec::Moe(moe) => list.moe(moe),
        }
    }
    list.found
}

struct List<'s> {
    table: String,
    found: Vec<Stated<'s>>,
}

impl<'s> List<'s> {
    fn push(
        &mut self,
        key: &'static str,
        place: Option<(&'s Span, &'s Span)>,
        kind: Kind,
        deviates: Result<(), &'static str>,
    ) -> &mut Stated<'s> {
        self.found.push(Stated { table: self.table.clone(), key, place, config: vec![key], kind, deviates });
        self.found.last_mut().expect("one was pushed")
    }

    fn add<T>(
        &mut self,
        key: &'static str,
        stated: &'s Spanned<T>,
        kind: Kind,
        deviates: Result<(), &'static str>,
    ) -> &mut Stated<'s> {
        self.push(key, Some((&stated.key, &stated.span)), kind, deviates)
    }

    fn optional<T>(
        &mut self,
        key: &'static str,
        stated: &'s Option<Spanned<T>>,
        kind: Kind,
        deviates: Result<(), &'static str>,
    ) -> &mut Stated<'s> {
        self.push(key, stated.as_ref().map(|s| (&s.key, &s.span)), kind, deviates)
    }

    fn int(&mut self, key: &'static str, stated: &'s Spanned<u64>, deviates: Result<(), &'static str>) {
        self.add(key, stated, Kind::Int, deviates);
    }

    fn float(&mut self, key: &'static str, stated: &'s Spanned<f64>, deviates: Result<(), &'static str>) {
        self.add(key, stated, Kind::Float, deviates);
    }

    fn bool(&mut self, key: &'static str, stated: &'s Spanned<bool>, deviates: Result<(), &'static str>) {
        self.add(key, stated, Kind::Bool, deviates);
    }

    /// A factor that an architecture fixes, and no config states.
    fn formula<T>(&mut self, key: &'static str, stated: &'s Spanned<T>, deviates: Result<(), &'static str>) {
        self.add(key, stated, Kind::Other, deviates).config.clear();
    }

    fn model(&mut self, spec: &'s ModelSpec) {
        let model = &spec.model;
        self.table = "model".to_owned();
        self.int("hidden_size", &model.hidden_size, SHAPES);
        self.int("vocab_size", &model.vocab_size, SHAPES);
        self.int("max_position_embeddings", &model.max_position_embeddings, MAY);
        self.float("rms_norm_eps", &model.rms_norm_eps, MAY);
        self.bool("tie_word_embeddings", &model.tie_word_embeddings, TENSORS);
        self.formula("rms_norm_unit_offset", &model.rms_norm_unit_offset, MEANING);
        self.formula("embedding_scale", &model.embedding_scale, MAY);
        self.optional("residual_scale", &model.residual_scale, Kind::Other, MAY).config.clear();
        self.optional("logit_scale", &model.logit_scale, Kind::Other, MAY).config.clear();
        self.optional("scale_emb", &model.scale_emb, Kind::Float, MAY);
        self.optional("scale_depth", &model.scale_depth, Kind::Float, MAY);
        self.optional("dim_model_base", &model.dim_model_base, Kind::Float, MAY);
        self.optional("final_logit_softcapping", &model.final_logit_softcapping, Kind::Float, MAY);
        self.table = "checkpoint".to_owned();
        self.add("model_type", &spec.checkpoint.model_type, Kind::Other, Err("it says which architecture the weights are of"));
        self.table = "layers".to_owned();
        self.int("num_hidden_layers", &spec.layers.num_hidden_layers, TENSORS);
        self.add("pattern", &spec.layers.pattern, Kind::Other, TENSORS).config = vec!["layer_types", "mlp_layer_types"];
    }

    fn gqa(&mut self, gqa: &'s GqaSpec, architecture: Option<&Architecture>) {
        self.int("num_attention_heads", &gqa.num_attention_heads, SHAPES);
        self.int("num_key_value_heads", &gqa.num_key_value_heads, SHAPES);
        self.int("head_dim", &gqa.head_dim, SHAPES);
        self.bool("attention_bias", &gqa.attention_bias, TENSORS);
        self.bool("attention_output_bias", &gqa.attention_output_bias, TENSORS);
        self.add("qk_norm", &gqa.qk_norm, Kind::Other, TENSORS).config.clear();
        self.formula("softmax_scale", &gqa.softmax_scale, MAY);
        self.optional("query_pre_attn_scalar", &gqa.query_pre_attn_scalar, Kind::Int, MAY);
        self.add("sliding_window", &gqa.sliding_window, Kind::IntOrNone, MAY);
        self.optional("attn_logit_softcapping", &gqa.attn_logit_softcapping, Kind::Float, MAY);
        self.optional("attention_sinks", &gqa.attention_sinks, Kind::Bool, TENSORS);
        self.optional("attn_output_gate", &gqa.attn_output_gate, Kind::Bool, TENSORS);
        if let Some(rope) = &gqa.rope {
            let windowed = gqa.sliding_window.value.is_some();
            let own_base = architecture.and_then(|a| a.sliding_rope_theta).filter(|key| windowed && *key != "rope_theta");
            self.rope(rope, MAY, own_base);
        }
    }

    fn mla(&mut self, mla: &'s MlaSpec) {
        // Keys and values are made for every head.
        self.add("num_attention_heads", &mla.num_attention_heads, Kind::Int, SHAPES).config.push("num_key_value_heads");
        self.add("q_lora_rank", &mla.q_lora_rank, Kind::IntOrNone, SHAPES);
        self.int("kv_lora_rank", &mla.kv_lora_rank, SHAPES);
        self.int("qk_nope_head_dim", &mla.qk_nope_head_dim, SHAPES);
        self.int("qk_rope_head_dim", &mla.qk_rope_head_dim, SHAPES);
        self.int("v_head_dim", &mla.v_head_dim, SHAPES);
        self.formula("latent_rms_norm_eps", &mla.latent_rms_norm_eps, MAY);
        self.bool("attention_bias", &mla.attention_bias, TENSORS);
        self.formula("softmax_scale", &mla.softmax_scale, FOLLOWS);
        self.rope(&mla.rope, SHAPES, None);
    }

    /// `own_base` is the key of the config that states the base alone, where the rest of it is about other layers.
    fn rope(&mut self, rope: &'s RopeSpec, width: Result<(), &'static str>, own_base: Option<&'static str>) {
        self.table.push_str(".rope");
        self.add("rope_theta", &rope.rope_theta, Kind::Float, MAY).config = vec![own_base.unwrap_or("rope_theta")];
        self.int("rotary_dim", &rope.rotary_dim, width);
        self.found.last_mut().expect("it was just added").config.push("partial_rotary_factor");
        self.bool("interleaved", &rope.interleaved, MEANING);
        let first = self.found.len();
        self.add("rope_type", &rope.scaling, Kind::Other, MAY);
        match &rope.scaling.value {
            RopeScalingSpec::Default => {}
            RopeScalingSpec::Linear { factor } => self.float("factor", factor, MAY),
            RopeScalingSpec::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
                self.float("factor", factor, MAY);
                self.float("low_freq_factor", low_freq_factor, MAY);
                self.float("high_freq_factor", high_freq_factor, MAY);
                self.int("original_max_position_embeddings", original_max_position_embeddings, MAY);
            }
            RopeScalingSpec::Yarn(yarn) => {
                self.float("factor", &yarn.factor, MAY);
                self.int("original_max_position_embeddings", &yarn.original_max_position_embeddings, MAY);
                self.float("beta_fast", &yarn.beta_fast, MAY);
                self.float("beta_slow", &yarn.beta_slow, MAY);
                self.add("mscale", &yarn.mscale, Kind::FloatOrNone, MAY);
                self.add("mscale_all_dim", &yarn.mscale_all_dim, Kind::FloatOrNone, MAY);
                self.add("attention_factor", &yarn.attention_factor, Kind::FloatOrNone, MAY);
                self.bool("truncate", &yarn.truncate, MAY);
                self.optional("llama_4_scaling_beta", &yarn.llama_4_scaling_beta, Kind::Float, MAY);
            }
        }
        let of_type = &mut self.found[first..];
        if own_base.is_some() {
            of_type.iter_mut().for_each(|stated| stated.config.clear());
        } else {
            // What a rope_type does not have, it rules out.
            let known: Vec<&str> = of_type.iter().flat_map(|stated| stated.config.iter().copied()).collect();
            of_type[0].config.extend(OF_ROPE_TYPE.iter().copied().filter(|key| !known.contains(key)));
        }
    }

    fn moe(&mut self, moe: &'s MoeSpec) {
        self.int("n_routed_experts", &moe.n_routed_experts, SHAPES);
        self.int("num_experts_per_tok", &moe.num_experts_per_tok, MAY);
        self.int("moe_intermediate_size", &moe.moe_intermediate_size, SHAPES);
        self.add("hidden_act", &moe.hidden_act, Kind::Name(ACTIVATIONS), MAY);
        self.bool("gated", &moe.gated, TENSORS);
        self.bool("expert_bias", &moe.expert_bias, TENSORS);
        self.add("scoring_func", &moe.scoring_func, Kind::Name(&["softmax", "sigmoid"]), MAY);
        self.bool("router_bias", &moe.router_bias, TENSORS);
        self.bool("e_score_correction_bias", &moe.e_score_correction_bias, TENSORS);
        self.int("n_group", &moe.n_group, MAY);
        self.int("topk_group", &moe.topk_group, MAY);
        self.optional("group_score", &moe.group_score, Kind::Name(&["top2", "max"]), MAY);
        self.bool("norm_topk_prob", &moe.norm_topk_prob, MAY);
        self.float("routed_scaling_factor", &moe.routed_scaling_factor, MAY);
        self.add("moe_latent_size", &moe.moe_latent_size, Kind::IntOrNone, SHAPES);
        self.add("shared_expert_intermediate_size", &moe.shared_expert_intermediate_size, Kind::IntOrNone, SHAPES);
        self.optional("shared_expert_gate", &moe.shared_expert_gate, Kind::Bool, TENSORS);
        self.add("swiglu_limit", &moe.swiglu_limit, Kind::FloatOrNone, MAY);
        self.optional("swiglu_alpha", &moe.swiglu_alpha, Kind::Float, MAY);
    }
}
