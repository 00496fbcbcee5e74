//! llama-3.1-8b: what the config of its checkpoint must say.
//! Generated from model-specs/llama-3.1-8b; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{ConfigContract, ConfigKey, Expected};

/// What the checkpoint's config must say, or it is refused.
pub const CONFIG: ConfigContract = ConfigContract {
    keys: &[
        ConfigKey::new("model_type", Expected::Text("llama")),
        ConfigKey::new("hidden_size", Expected::Int(4096)),
        ConfigKey::new("vocab_size", Expected::Int(128256)),
        ConfigKey::new("max_position_embeddings", Expected::Int(131072)),
        ConfigKey::new("rms_norm_eps", Expected::Float(1e-5)),
        ConfigKey::new("tie_word_embeddings", Expected::Bool(false)),
        ConfigKey::new("num_hidden_layers", Expected::Int(32)),
        ConfigKey::new("num_attention_heads", Expected::Int(32)),
        ConfigKey::new("num_key_value_heads", Expected::Int(8)),
        ConfigKey::new("head_dim", Expected::Int(128)),
        ConfigKey::new("attention_bias", Expected::Bool(false)),
        ConfigKey::new(
            "attention_output_bias",
            Expected::AbsentOr(&Expected::Bool(false)),
        ),
        ConfigKey::new("rope_theta", Expected::Float(500000.0)),
        ConfigKey::new("interleaved", Expected::AbsentOr(&Expected::Bool(false))),
        ConfigKey::new(
            "partial_rotary_factor",
            Expected::AbsentOr(&Expected::Float(1.0)),
        ),
        ConfigKey::new("rope_type", Expected::Text("llama3")),
        ConfigKey::new("factor", Expected::Float(8.0)),
        ConfigKey::new("low_freq_factor", Expected::Float(1.0)),
        ConfigKey::new("high_freq_factor", Expected::Float(4.0)),
        ConfigKey::new("original_max_position_embeddings", Expected::Int(8192)),
        ConfigKey::new("intermediate_size", Expected::Int(14336)),
        ConfigKey::new("hidden_act", Expected::Text("silu")),
        ConfigKey::new("mlp_bias", Expected::Bool(false)),
        ConfigKey::new(
            "layer_types",
            Expected::AbsentOr(&Expected::Each("full_attention", 32)),
        ),
    ],
    ignored: &[],
};
