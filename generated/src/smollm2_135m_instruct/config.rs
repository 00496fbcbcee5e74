//! smollm2-135m-instruct: what the config of its checkpoint must say.
//! Generated from model-specs/smollm2-135m-instruct; edit the TOMLs there, then `cargo build`.

use tenon_core::weights::{ConfigContract, ConfigKey, Expected};

/// What the checkpoint's config must say, or it is refused.
pub const CONFIG: ConfigContract = ConfigContract {
    keys: &[
        ConfigKey::new("model_type", Expected::Text("llama")),
        ConfigKey::new("hidden_size", Expected::Int(576)),
        ConfigKey::new("vocab_size", Expected::Int(49152)),
        ConfigKey::new("max_position_embeddings", Expected::Int(8192)),
        ConfigKey::new("rms_norm_eps", Expected::Float(1e-5)),
        ConfigKey::new("tie_word_embeddings", Expected::Bool(true)),
        ConfigKey::new("num_hidden_layers", Expected::Int(30)),
        ConfigKey::new("num_attention_heads", Expected::Int(9)),
        ConfigKey::new("num_key_value_heads", Expected::Int(3)),
        ConfigKey::new("head_dim", Expected::Int(64)),
        ConfigKey::new("rope_theta", Expected::Float(100000.0)),
        ConfigKey::new("rotary_dim", Expected::Int(64)),
        ConfigKey::new("rope_type", Expected::Text("default")),
        ConfigKey::new("factor", Expected::Absent),
        ConfigKey::new("low_freq_factor", Expected::Absent),
        ConfigKey::new("high_freq_factor", Expected::Absent),
        ConfigKey::new("original_max_position_embeddings", Expected::Absent),
        ConfigKey::new("intermediate_size", Expected::Int(1536)),
        ConfigKey::new(
            "layer_types",
            Expected::AbsentOr(&Expected::Each("full_attention", 30)),
        ),
    ],
    ignored: &[],
};
