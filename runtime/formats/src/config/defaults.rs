//! What an architecture takes for keys that a checkpoint does not state.
//!
//! Only settings of the arithmetic are here. A dimension that a file leaves out stays missing: no published checkpoint does, and
//! the class defaults of a library are the sizes of one particular model.

use crate::expect::Expected::{self, Bool, Float, Int, Text};

/// Keys and their values.
type Defaults = &'static [(&'static str, Expected<'static>)];

/// A rotation of whole heads without stretching, pairs in halves.
const PLAIN_ROPE: Defaults = &[
    ("rope_theta", Float(10_000.0)),
    ("rope_type", Text("default")),
    ("interleaved", Bool(false)),
    ("partial_rotary_factor", Float(1.0)),
];

/// Of a decoder as most classes have it.
const DECODER: Defaults = &[
    ("hidden_act", Text("silu")),
    ("rms_norm_eps", Float(1e-6)),
    ("tie_word_embeddings", Bool(false)),
    ("attention_bias", Bool(false)),
    ("mlp_bias", Bool(false)),
];

/// Softmax over all experts, no groups, plain gated experts: what a class of experts has unless it says otherwise.
const EXPERTS: Defaults = &[
    ("gated", Bool(true)),
    ("expert_bias", Bool(false)),
    ("router_bias", Bool(false)),
    ("scoring_func", Text("softmax")),
    ("e_score_correction_bias", Bool(false)),
    ("n_group", Int(1)),
    ("topk_group", Int(1)),
    ("norm_topk_prob", Bool(true)),
    ("routed_scaling_factor", Float(1.0)),
    ("shared_expert_gate", Bool(false)),
];

/// The router of DeepSeek V3, which others took over.
const SIGMOID_ROUTER: Defaults =
    &[("scoring_func", Text("sigmoid")), ("e_score_correction_bias", Bool(true)), ("group_score", Text("top2"))];

/// Latent attention turns neighbours.
const MLA_ROPE: Defaults = &[("rope_theta", Float(10_000.0)), ("rope_type", Text("default")), ("interleaved", Bool(true))];

/// Qwen3-Next and after: gated attention, a quarter of a head rotated.
const QWEN_HYBRID: Defaults = &[
    ("attn_output_gate", Bool(true)),
    ("partial_rotary_factor", Float(0.25)),
    ("linear_conv_kernel_dim", Int(4)),
    ("shared_expert_gate", Bool(true)),
];

/// Windows of Qwen, which are off unless they are turned on.
const QWEN_WINDOW: Defaults =
    &[("use_sliding_window", Bool(false)), ("sliding_window", Int(4096)), ("max_window_layers", Int(28))];

/// Gemma 2 and 3.
const GEMMA: Defaults = &[
    ("hidden_act", Text("gelu_pytorch_tanh")),
    ("tie_word_embeddings", Bool(true)),
    ("query_pre_attn_scalar", Int(256)),
    ("use_bidirectional_attention", Bool(false)),
];

/// Defaults of the config class that Hugging Face transformers has for `model_type`, and what its model code fixes without a key.
/// Of two that name a key the earlier one counts.
///
/// A key with an explicit null takes no default: `sliding_window: null` of a mistral is no window, an absent one is 4096.
pub(super) fn of_class(model_type: &str) -> &'static [Defaults] {
    match model_type {
        "llama" => &[&[("layer_types", Text("full_attention"))], DECODER, PLAIN_ROPE],
        "mistral" => &[&[("num_key_value_heads", Int(8)), ("sliding_window", Int(4096))], DECODER, PLAIN_ROPE],
        // Fixed by the model code: q, k and v have biases, o has none.
        "qwen2" => &[
            &[("num_key_value_heads", Int(32)), ("attention_bias", Bool(true)), ("attention_output_bias", Bool(false))],
            QWEN_WINDOW,
            DECODER,
            PLAIN_ROPE,
        ],
        "qwen3" => &[&[("num_key_value_heads", Int(32)), ("head_dim", Int(128))], QWEN_WINDOW, DECODER, PLAIN_ROPE],
        "qwen3_moe" => &[&[("norm_topk_prob", Bool(false))], QWEN_WINDOW, EXPERTS, DECODER, PLAIN_ROPE],
        "qwen3_next" => &[&[("head_dim", Int(256))], QWEN_HYBRID, EXPERTS, DECODER, PLAIN_ROPE],
        "qwen3_5_moe" | "qwen3_5_moe_text" => {
            &[&[("head_dim", Int(256)), ("norm_topk_prob", Bool(true))], QWEN_HYBRID, EXPERTS, DECODER, PLAIN_ROPE]
        }
        "qwen3_5" | "qwen3_5_text" => &[&[("head_dim", Int(256))], QWEN_HYBRID, DECODER, PLAIN_ROPE],
        "gemma2" => &[
            &[
                ("head_dim", Int(256)),
                ("sliding_window", Int(4096)),
                ("attn_logit_softcapping", Float(50.0)),
                ("final_logit_softcapping", Float(30.0)),
            ],
            GEMMA,
            DECODER,
            PLAIN_ROPE,
        ],
        "gemma3" | "gemma3_text" => {
            &[&[("rope_theta", Float(1_000_000.0)), ("rope_local_base_freq", Float(10_000.0))], GEMMA, DECODER, PLAIN_ROPE]
        }
        "mistral4" => &[&[("n_shared_experts", Int(1)), ("group_score", Text("top2"))], EXPERTS, DECODER, MLA_ROPE],
        // The code never normalises the chosen scores.
        "deepseek_v2" => &[
            &[("n_shared_experts", Int(2)), ("norm_topk_prob", Bool(false)), ("group_score", Text("max"))],
            EXPERTS,
            DECODER,
            MLA_ROPE,
        ],
        "deepseek_v3" => &[
            &[("n_shared_experts", Int(1)), ("n_group", Int(8)), ("topk_group", Int(4)), ("routed_scaling_factor", Float(2.5))],
            SIGMOID_ROUTER,
            EXPERTS,
            DECODER,
            MLA_ROPE,
        ],
        "glm4_moe_lite" => &[
            &[("n_shared_experts", Int(1)), ("rms_norm_eps", Float(1e-5)), ("routed_scaling_factor", Float(1.8))],
            SIGMOID_ROUTER,
            EXPERTS,
            DECODER,
            MLA_ROPE,
        ],
        "minicpm3" => &[
            &[
                ("rms_norm_eps", Float(1e-5)),
                ("tie_word_embeddings", Bool(true)),
                ("scale_emb", Float(12.0)),
                ("scale_depth", Float(1.4)),
                ("dim_model_base", Int(256)),
                ("interleaved", Bool(false)),
            ],
            DECODER,
            MLA_ROPE,
        ],
        // Attention rotates nothing, whatever base a file gives.
        "nemotron_h" => &[
            &[
                ("hidden_act", Text("relu2")),
                ("rms_norm_eps", Float(1e-5)),
                ("rope_type", Text("none")),
                ("gated", Bool(false)),
                ("use_bias", Bool(false)),
                ("use_conv_bias", Bool(true)),
                ("conv_kernel", Int(4)),
                ("chunk_size", Int(128)),
                ("time_step_min", Float(0.001)),
            ],
            SIGMOID_ROUTER,
            EXPERTS,
            DECODER,
        ],
        "gpt_oss" => &[
            &[
                ("attention_bias", Bool(true)),
                ("rms_norm_eps", Float(1e-5)),
                ("sliding_window", Int(128)),
                ("attention_sinks", Bool(true)),
                ("rope_theta", Float(150_000.0)),
                ("expert_bias", Bool(true)),
                ("router_bias", Bool(true)),
                // Constants of the code; a file may state the limit.
                ("swiglu_limit", Float(7.0)),
                ("swiglu_alpha", Float(1.702)),
            ],
            EXPERTS,
            DECODER,
            PLAIN_ROPE,
        ],
        _ => &[],
    }
}

/// How a class stretches its rotation where the file says nothing about one at all.
pub(super) fn rope_of_class(model_type: &str) -> Defaults {
    match model_type {
        "mistral4" => &[
            ("rope_type", Text("yarn")),
            ("factor", Float(128.0)),
            ("original_max_position_embeddings", Int(8192)),
            ("beta_fast", Float(32.0)),
            ("beta_slow", Float(1.0)),
            ("mscale", Float(1.0)),
            ("mscale_all_dim", Float(1.0)),
            ("llama_4_scaling_beta", Float(0.1)),
        ],
        "gpt_oss" => &[
            ("rope_type", Text("yarn")),
            ("factor", Float(32.0)),
            ("original_max_position_embeddings", Int(4096)),
            ("beta_fast", Float(32.0)),
            ("beta_slow", Float(1.0)),
            ("truncate", Bool(false)),
        ],
        _ => &[],
    }
}

/// What a GGUF of this architecture means and has no key for. In Hugging Face terms: loading puts permuted rows back, so that
/// rotated pairs are halves here too.
pub(super) fn of_gguf(architecture: &str) -> &'static [(&'static str, Expected<'static>)] {
    match architecture {
        "llama" => &[
            ("hidden_act", Text("silu")),
            ("layer_types", Text("full_attention")),
            ("rope_theta", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("interleaved", Bool(false)),
        ],
        "qwen2" | "qwen3" => &[
            ("hidden_act", Text("silu")),
            ("use_sliding_window", Bool(false)),
            ("layer_types", Text("full_attention")),
            ("rope_theta", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("interleaved", Bool(false)),
        ],
        // The base of the layers that see a window has no key in such a file.
        "gemma3" => &[
            ("hidden_act", Text("gelu_pytorch_tanh")),
            ("rope_theta", Float(1_000_000.0)),
            ("rope_local_base_freq", Float(10_000.0)),
            ("rope_type", Text("default")),
            ("interleaved", Bool(false)),
        ],
        _ => &[],
    }
}
