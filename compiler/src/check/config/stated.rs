//! Where MODEL.toml states what a key of config.json says.

use super::StatedBy;
use crate::source::{Span, Spanned};
use crate::spec::{FfnSpec, GqaSpec, MixerSpec, MlaSpec, ModelSpec, MoeSpec, RopeScalingSpec, RopeSpec};

/// The key of MODEL.toml that states a key of config.json.
pub fn place<'s>(spec: &'s ModelSpec, key: &str) -> Option<&'s Span> {
    let mixers = spec.mixers.iter().find_map(|(_, mixer)| of_mixer(mixer, key));
    let ffns = || spec.ffns.iter().find_map(|(_, ffn)| of_ffn(ffn, key));
    of_model(spec, key).or(mixers).or_else(ffns)
}

/// The key of one table that states a key of config.json; where it is one that the table leaves out, the table's name.
pub fn place_in<'s>(spec: &'s ModelSpec, table: StatedBy<'s>, key: &str) -> &'s Span {
    let (name, key) = match table {
        StatedBy::Mixer(name) => named(&spec.mixers, name, |mixer| of_mixer(mixer, key)),
        StatedBy::Ffn(name) => named(&spec.ffns, name, |ffn| of_ffn(ffn, key)),
    };
    key.unwrap_or(name)
}

fn named<'s, T>(
    tables: &'s [(Spanned<String>, T)],
    name: &str,
    place: impl Fn(&'s T) -> Option<&'s Span>,
) -> (&'s Span, Option<&'s Span>) {
    let found = tables.iter().find(|(known, _)| known.value == name);
    let (name, table) = found.expect("only tables that a block names are read");
    (&name.span, place(table))
}

fn of_model<'s>(spec: &'s ModelSpec, key: &str) -> Option<&'s Span> {
    let model = &spec.model;
    Some(match key {
        "model_type" => &spec.checkpoint.model_type.key,
        "hidden_size" => &model.hidden_size.key,
        "vocab_size" => &model.vocab_size.key,
        "max_position_embeddings" => &model.max_position_embeddings.key,
        "rms_norm_eps" => &model.rms_norm_eps.key,
        "tie_word_embeddings" => &model.tie_word_embeddings.key,
        "scale_emb" => &model.scale_emb.as_ref()?.key,
        "scale_depth" => &model.scale_depth.as_ref()?.key,
        "dim_model_base" => &model.dim_model_base.as_ref()?.key,
        "final_logit_softcapping" => &model.final_logit_softcapping.as_ref()?.key,
        "num_hidden_layers" => &spec.layers.num_hidden_layers.key,
        "layer_types" | "mlp_layer_types" => &spec.layers.pattern.key,
        _ => return None,
    })
}

fn of_mixer<'s>(mixer: &'s MixerSpec, key: &str) -> Option<&'s Span> {
    match mixer {
        MixerSpec::Gqa(gqa) => of_gqa(gqa, key),
        MixerSpec::Mla(mla) => of_mla(mla, key),
        MixerSpec::Mamba2(mamba2) => Some(match key {
            "mamba_num_heads" => &mamba2.mamba_num_heads.key,
            "mamba_head_dim" => &mamba2.mamba_head_dim.key,
            "ssm_state_size" => &mamba2.ssm_state_size.key,
            "n_groups" => &mamba2.n_groups.key,
            "conv_kernel" => &mamba2.conv_kernel.key,
            "chunk_size" => &mamba2.chunk_size.key,
            "use_conv_bias" => &mamba2.use_conv_bias.key,
            "use_bias" => &mamba2.use_bias.key,
            "time_step_min" => &mamba2.time_step_min.key,
            _ => return None,
        }),
        MixerSpec::GatedDeltaNet(net) => Some(match key {
            "linear_num_key_heads" => &net.linear_num_key_heads.key,
            "linear_key_head_dim" => &net.linear_key_head_dim.key,
            "linear_num_value_heads" => &net.linear_num_value_heads.key,
            "linear_value_head_dim" => &net.linear_value_head_dim.key,
            "linear_conv_kernel_dim" => &net.linear_conv_kernel_dim.key,
            _ => return None,
        }),
    }
}

fn of_gqa<'s>(gqa: &'s GqaSpec, key: &str) -> Option<&'s Span> {
    Some(match key {
        "num_attention_heads" => &gqa.num_attention_heads.key,
        "num_key_value_heads" => &gqa.num_key_value_heads.key,
        "head_dim" => &gqa.head_dim.key,
        "attention_bias" => &gqa.attention_bias.key,
        "attention_output_bias" => &gqa.attention_output_bias.key,
        "query_pre_attn_scalar" => &gqa.query_pre_attn_scalar.as_ref()?.key,
        "sliding_window" => &gqa.sliding_window.key,
        "attn_logit_softcapping" => &gqa.attn_logit_softcapping.as_ref()?.key,
        "attention_sinks" => &gqa.attention_sinks.as_ref()?.key,
        "attn_output_gate" => &gqa.attn_output_gate.as_ref()?.key,
        _ => return of_rope(gqa.rope.as_ref()?, key),
    })
}

fn of_mla<'s>(mla: &'s MlaSpec, key: &str) -> Option<&'s Span> {
    Some(match key {
        // Keys and values are made for every head.
        "num_attention_heads" | "num_key_value_heads" => &mla.num_attention_heads.key,
        "q_lora_rank" => &mla.q_lora_rank.key,
        "kv_lora_rank" => &mla.kv_lora_rank.key,
        "qk_nope_head_dim" => &mla.qk_nope_head_dim.key,
        "qk_rope_head_dim" => &mla.qk_rope_head_dim.key,
        "v_head_dim" => &mla.v_head_dim.key,
        "attention_bias" => &mla.attention_bias.key,
        _ => return of_rope(&mla.rope, key),
    })
}

fn of_rope<'s>(rope: &'s RopeSpec, key: &str) -> Option<&'s Span> {
    match key {
        "rope_theta" | "rope_local_base_freq" => return Some(&rope.rope_theta.key),
        "rotary_dim" | "partial_rotary_factor" => return Some(&rope.rotary_dim.key),
        "interleaved" => return Some(&rope.interleaved.key),
        _ => {}
    }
    let place = match &rope.scaling.value {
        RopeScalingSpec::Default => None,
        RopeScalingSpec::Linear { factor } => (key == "factor").then_some(&factor.key),
        RopeScalingSpec::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => match key {
            "factor" => Some(&factor.key),
            "low_freq_factor" => Some(&low_freq_factor.key),
            "high_freq_factor" => Some(&high_freq_factor.key),
            "original_max_position_embeddings" => Some(&original_max_position_embeddings.key),
            _ => None,
        },
        RopeScalingSpec::Yarn(yarn) => match key {
            "factor" => Some(&yarn.factor.key),
            "original_max_position_embeddings" => Some(&yarn.original_max_position_embeddings.key),
            "beta_fast" => Some(&yarn.beta_fast.key),
            "beta_slow" => Some(&yarn.beta_slow.key),
            "mscale" => Some(&yarn.mscale.key),
            "mscale_all_dim" => Some(&yarn.mscale_all_dim.key),
            "attention_factor" => Some(&yarn.attention_factor.key),
            "truncate" => Some(&yarn.truncate.key),
            "llama_4_scaling_beta" => yarn.llama_4_scaling_beta.as_ref().map(|beta| &beta.key),
            _ => None,
        },
    };
    // What a rope_type does not have, it rules out.
    place.or_else(|| OF_ROPE_TYPE.contains(&key).then_some(&rope.scaling.key))
}

const OF_ROPE_TYPE: [&str; 11] = [
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
    "llama_4_scaling_beta",
];

fn of_ffn<'s>(ffn: &'s FfnSpec, key: &str) -> Option<&'s Span> {
    match ffn {
        FfnSpec::GatedMlp { intermediate_size, hidden_act, mlp_bias }
        | FfnSpec::Mlp { intermediate_size, hidden_act, mlp_bias } => Some(match key {
            "intermediate_size" => &intermediate_size.key,
            "hidden_act" => &hidden_act.key,
            "mlp_bias" => &mlp_bias.key,
            _ => return None,
        }),
        FfnSpec::Moe(moe) => of_moe(moe, key),
    }
}

fn of_moe<'s>(moe: &'s MoeSpec, key: &str) -> Option<&'s Span> {
    Some(match key {
        "n_routed_experts" => &moe.n_routed_experts.key,
        "num_experts_per_tok" => &moe.num_experts_per_tok.key,
        "moe_intermediate_size" => &moe.moe_intermediate_size.key,
        "hidden_act" => &moe.hidden_act.key,
        "gated" => &moe.gated.key,
        "expert_bias" => &moe.expert_bias.key,
        "scoring_func" => &moe.scoring_func.key,
        "router_bias" => &moe.router_bias.key,
        "e_score_correction_bias" => &moe.e_score_correction_bias.key,
        "n_group" => &moe.n_group.key,
        "topk_group" => &moe.topk_group.key,
        "group_score" => &moe.group_score.as_ref()?.key,
        "norm_topk_prob" => &moe.norm_topk_prob.key,
        "routed_scaling_factor" => &moe.routed_scaling_factor.key,
        "moe_latent_size" => &moe.moe_latent_size.key,
        "shared_expert_intermediate_size" => &moe.shared_expert_intermediate_size.key,
        "shared_expert_gate" => &moe.shared_expert_gate.as_ref()?.key,
        "swiglu_limit" => &moe.swiglu_limit.key,
        "swiglu_alpha" => &moe.swiglu_alpha.as_ref()?.key,
        _ => return None,
    })
}
