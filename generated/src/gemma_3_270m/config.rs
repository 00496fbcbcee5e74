//! gemma-3-270m: what the config of its checkpoint must say.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{ConfigContract, ConfigKey, Expected};

/// What the checkpoint's config must say, or it is refused.
pub const CONFIG: ConfigContract = ConfigContract {
    keys: &[
        ConfigKey::new("model_type", Expected::Text("gemma3")),
        ConfigKey::new("hidden_size", Expected::Int(640)),
        ConfigKey::new("vocab_size", Expected::Int(262144)),
        ConfigKey::new("max_position_embeddings", Expected::Int(32768)),
        ConfigKey::new("rms_norm_eps", Expected::Float(1e-6)),
        ConfigKey::new("tie_word_embeddings", Expected::Bool(true)),
        ConfigKey::new("num_hidden_layers", Expected::Int(18)),
        ConfigKey::new("final_logit_softcapping", Expected::Absent),
        ConfigKey::new("attn_logit_softcapping", Expected::Absent),
        ConfigKey::new("num_attention_heads", Expected::Int(4)),
        ConfigKey::new("num_key_value_heads", Expected::Int(1)),
        ConfigKey::new("head_dim", Expected::Int(256)),
        ConfigKey::new("sliding_window", Expected::Int(512)),
        ConfigKey::new("query_pre_attn_scalar", Expected::Int(256)),
        ConfigKey::new("rope_local_base_freq", Expected::Float(10000.0)),
        ConfigKey::new("rotary_dim", Expected::Int(256)),
        ConfigKey::new("intermediate_size", Expected::Int(2048)),
        ConfigKey::new("rope_theta", Expected::Float(1000000.0)),
        ConfigKey::new("rope_type", Expected::Text("default")),
        ConfigKey::new("factor", Expected::Absent),
        ConfigKey::new("low_freq_factor", Expected::Absent),
        ConfigKey::new("high_freq_factor", Expected::Absent),
        ConfigKey::new("original_max_position_embeddings", Expected::Absent),
        ConfigKey::new(
            "layer_types",
            Expected::List(
                &[
                    "sliding_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "full_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "sliding_attention",
                    "full_attention",
                ],
            ),
        ),
    ],
    ignored: &[],
};
