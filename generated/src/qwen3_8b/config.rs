//! qwen3-8b: what the config of its checkpoint must say.
//! Generated from model-specs/qwen3-8b; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{ConfigContract, ConfigKey, Expected, IgnoredKey};

/// What the checkpoint's config must say, or it is refused.
pub const CONFIG: ConfigContract = ConfigContract {
    keys: &[
        ConfigKey::new("model_type", Expected::Text("qwen3")),
        ConfigKey::new("hidden_size", Expected::Int(4096)),
        ConfigKey::new("vocab_size", Expected::Int(151936)),
        ConfigKey::new("max_position_embeddings", Expected::Int(40960)),
        ConfigKey::new("rms_norm_eps", Expected::Float(1e-6)),
        ConfigKey::new("tie_word_embeddings", Expected::Bool(false)),
        ConfigKey::new("num_hidden_layers", Expected::Int(36)),
        ConfigKey::new("num_attention_heads", Expected::Int(32)),
        ConfigKey::new("num_key_value_heads", Expected::Int(8)),
        ConfigKey::new("head_dim", Expected::Int(128)),
        ConfigKey::new("attention_bias", Expected::Bool(false)),
        ConfigKey::new(
            "attention_output_bias",
            Expected::AbsentOr(&Expected::Bool(false)),
        ),
        ConfigKey::new("rope_theta", Expected::Float(1000000.0)),
        ConfigKey::new("interleaved", Expected::AbsentOr(&Expected::Bool(false))),
        ConfigKey::new(
            "partial_rotary_factor",
            Expected::AbsentOr(&Expected::Float(1.0)),
        ),
        ConfigKey::new("rope_type", Expected::Text("default")),
        ConfigKey::new("factor", Expected::Absent),
        ConfigKey::new("low_freq_factor", Expected::Absent),
        ConfigKey::new("high_freq_factor", Expected::Absent),
        ConfigKey::new("original_max_position_embeddings", Expected::Absent),
        ConfigKey::new("intermediate_size", Expected::Int(12288)),
        ConfigKey::new("hidden_act", Expected::Text("silu")),
        ConfigKey::new("mlp_bias", Expected::AbsentOr(&Expected::Bool(false))),
        ConfigKey::new(
            "layer_types",
            Expected::AbsentOr(&Expected::Each("full_attention", 36)),
        ),
        ConfigKey::new("use_sliding_window", Expected::AbsentOr(&Expected::Bool(false))),
        ConfigKey::new("sliding_window", Expected::Absent),
    ],
    ignored: &[
        IgnoredKey::new(
            "max_window_layers",
            "read only where use_sliding_window is true",
        ),
    ],
};
