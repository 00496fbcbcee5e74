//! What an architecture takes for keys that a checkpoint does not state.
//!
//! Only settings of the arithmetic are here. A dimension that a file leaves out stays missing: no published checkpoint does, and
//! the class defaults of a library are the sizes of one particular model.

use crate::expect::Expected::{self, Bool, Float, Int, Text};

/// Defaults of the config class that Hugging Face transformers has for `model_type`, and what its model code fixes without a key.
///
/// A key with an explicit null takes no default: `sliding_window: null` of a mistral is no window, an absent one is 4096.
pub(super) fn of_class(model_type: &str) -> &'static [(&'static str, Expected)] {
    match model_type {
        "llama" => &[
            ("hidden_act", Text("silu")),
            ("rms_norm_eps", Float(1e-6)),
            ("tie_word_embeddings", Bool(false)),
            ("attention_bias", Bool(false)),
            ("mlp_bias", Bool(false)),
            ("layer_types", Text("full_attention")),
            ("rope_theta", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("rope_interleaved", Bool(false)),
            ("partial_rotary_factor", Float(1.0)),
        ],
        "mistral" => &[
            ("num_key_value_heads", Int(8)),
            ("hidden_act", Text("silu")),
            ("rms_norm_eps", Float(1e-6)),
            ("tie_word_embeddings", Bool(false)),
            ("attention_bias", Bool(false)),
            ("mlp_bias", Bool(false)),
            ("sliding_window", Int(4096)),
            ("rope_theta", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("rope_interleaved", Bool(false)),
            ("partial_rotary_factor", Float(1.0)),
        ],
        "qwen2" => &[
            ("num_key_value_heads", Int(32)),
            ("hidden_act", Text("silu")),
            ("rms_norm_eps", Float(1e-6)),
            ("tie_word_embeddings", Bool(false)),
            // Fixed by the model code: q, k and v have biases, o has none.
            ("attention_bias", Bool(true)),
            ("attention_output_bias", Bool(false)),
            ("mlp_bias", Bool(false)),
            ("use_sliding_window", Bool(false)),
            ("sliding_window", Int(4096)),
            ("max_window_layers", Int(28)),
            ("rope_theta", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("rope_interleaved", Bool(false)),
            ("partial_rotary_factor", Float(1.0)),
        ],
        "qwen3" => &[
            ("num_key_value_heads", Int(32)),
            ("head_dim", Int(128)),
            ("hidden_act", Text("silu")),
            ("rms_norm_eps", Float(1e-6)),
            ("tie_word_embeddings", Bool(false)),
            ("attention_bias", Bool(false)),
            ("mlp_bias", Bool(false)),
            ("use_sliding_window", Bool(false)),
            ("sliding_window", Int(4096)),
            ("max_window_layers", Int(28)),
            ("rope_theta", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("rope_interleaved", Bool(false)),
            ("partial_rotary_factor", Float(1.0)),
        ],
        "gemma3_text" => &[
            ("hidden_act", Text("gelu_pytorch_tanh")),
            ("rms_norm_eps", Float(1e-6)),
            ("tie_word_embeddings", Bool(true)),
            ("attention_bias", Bool(false)),
            ("query_pre_attn_scalar", Int(256)),
            ("use_bidirectional_attention", Bool(false)),
            ("rope_theta", Float(1_000_000.0)),
            ("rope_local_base_freq", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("rope_interleaved", Bool(false)),
            ("partial_rotary_factor", Float(1.0)),
        ],
        _ => &[],
    }
}

/// What a GGUF of this architecture means and has no key for. In Hugging Face terms: loading puts permuted rows back, so that
/// rotated pairs are halves here too.
pub(super) fn of_gguf(architecture: &str) -> &'static [(&'static str, Expected)] {
    match architecture {
        "llama" => &[
            ("hidden_act", Text("silu")),
            ("layer_types", Text("full_attention")),
            ("rope_theta", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("rope_interleaved", Bool(false)),
        ],
        "qwen2" | "qwen3" => &[
            ("hidden_act", Text("silu")),
            ("use_sliding_window", Bool(false)),
            ("layer_types", Text("full_attention")),
            ("rope_theta", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("rope_interleaved", Bool(false)),
        ],
        // The base of the layers that see a window has no key in such a file, nor has the pattern of the layers.
        "gemma3" => &[
            ("hidden_act", Text("gelu_pytorch_tanh")),
            ("rope_theta", Float(1_000_000.0)),
            ("rope_local_base_freq", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("rope_interleaved", Bool(false)),
        ],
        _ => &[],
    }
}
