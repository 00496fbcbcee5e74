//! Keys of config.json that the class of a `model_type` does not read, or that cannot change what it computes, with the reason.

use crate::expect::IgnoredKey;

const NEMOTRON_H: &[IgnoredKey<'static>] = &[
    IgnoredKey::new("rope_theta", "attention of this class rotates nothing"),
    IgnoredKey::new("partial_rotary_factor", "attention of this class rotates nothing"),
    IgnoredKey::new("expand", "mamba_num_heads and mamba_head_dim say how wide it is"),
    IgnoredKey::new("mamba_proj_bias", "use_bias says which projections have one"),
    IgnoredKey::new("mamba_ssm_cache_dtype", "the state is kept in f32"),
    IgnoredKey::new("time_step_max", "training only"),
    IgnoredKey::new("time_step_floor", "training only"),
    IgnoredKey::new("time_step_limit", "the class bounds steps by time_step_min alone"),
    IgnoredKey::new("use_mamba_kernels", "which kernels another runtime picks"),
    IgnoredKey::new("num_logits_to_keep", "a switch of another runtime"),
    IgnoredKey::new("rescale_prenorm_residual", "training only"),
    IgnoredKey::new("residual_in_fp32", "the residual is kept in f32"),
    IgnoredKey::new("moe_shared_expert_overlap", "in which order another runtime computes"),
];

const QWEN_HYBRID: &[IgnoredKey<'static>] = &[
    IgnoredKey::new("mrope_section", "text has one position for all sections"),
    IgnoredKey::new("mrope_interleaved", "text has one position for all sections"),
    IgnoredKey::new("mamba_ssm_dtype", "the state is kept in f32"),
];

const DEEPSEEK: &[IgnoredKey<'static>] = &[
    IgnoredKey::new("aux_loss_alpha", "training only"),
    IgnoredKey::new("seq_aux", "training only"),
    IgnoredKey::new("ep_size", "how training spread the experts"),
];

const MISTRAL: &[IgnoredKey<'static>] = &[
    IgnoredKey::new("moe.expert_parallel", "how training spread the experts"),
    IgnoredKey::new("moe.expert_model_parallel", "how training spread the experts"),
];

const QWEN3_MOE: &[IgnoredKey<'static>] = &[IgnoredKey::new("max_window_layers", "read only where use_sliding_window is true")];

/// The keys that a checkpoint of this `model_type` may state without any effect, beside those of
/// [`NEVER_CHANGES_OUTPUT`](crate::expect::NEVER_CHANGES_OUTPUT).
pub fn unread(model_type: &str) -> &'static [IgnoredKey<'static>] {
    match model_type {
        "nemotron_h" => NEMOTRON_H,
        "qwen3_next" | "qwen3_5" | "qwen3_5_text" | "qwen3_5_moe" | "qwen3_5_moe_text" => QWEN_HYBRID,
        "deepseek_v2" | "deepseek_v3" => DEEPSEEK,
        "mistral" | "mistral4" => MISTRAL,
        "qwen3_moe" => QWEN3_MOE,
        _ => &[],
    }
}
