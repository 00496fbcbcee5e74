//! The mixers of a description.

use super::ask::Ask;
use super::class::{Attention, Class};
use super::description::{DeltaNet, Gqa, Mamba2, Mixer, Mla, Noted, Rope, Rotation, Scaling};
use super::layers::MixerKind;

/// Below this width a cache in f32 costs little, and is exact.
const SMALL: u64 = 1024;

/// One mixer.
pub fn mixer(ask: &Ask<'_>, class: &Class, kind: MixerKind) -> Mixer {
    match kind {
        MixerKind::Mamba2 => mamba2(ask),
        MixerKind::DeltaNet => delta_net(ask),
        MixerKind::Full | MixerKind::Sliding if class.attention == Attention::Mla => mla(ask),
        MixerKind::Full | MixerKind::Sliding => gqa(ask, class, kind),
    }
}

fn cache(ask: &Ask<'_>) -> &'static [&'static str] {
    match ask.config.int("hidden_size") {
        Some(hidden) if hidden < SMALL => &["f32", "bf16"],
        _ => &["bf16", "f32"],
    }
}

fn gqa(ask: &Ask<'_>, class: &Class, kind: MixerKind) -> Mixer {
    let scalar = class.attention == Attention::GqaScalar;
    // Bound also where no layer has a window: the class then ignores it, and so does this.
    let window = ask.int_or_none("sliding_window");
    let capping = ask.float_or_none("attn_logit_softcapping");
    Mixer::Gqa(Gqa {
        num_attention_heads: ask.int("num_attention_heads"),
        num_key_value_heads: ask.int("num_key_value_heads"),
        head_dim: ask.int("head_dim"),
        attention_bias: ask.bool("attention_bias"),
        attention_output_bias: ask.bool("attention_output_bias"),
        qk_norm: class.qk_norm,
        query_pre_attn_scalar: scalar.then(|| ask.int("query_pre_attn_scalar")),
        softmax_scale: if scalar { "rsqrt(query_pre_attn_scalar)" } else { "rsqrt(head_dim)" },
        sliding_window: match (kind, window) {
            (MixerKind::Sliding, Noted { value: Some(None), .. }) => Noted::todo("the checkpoint does not say"),
            (MixerKind::Sliding, window) => window,
            _ => Noted::sure(None),
        },
        attn_logit_softcapping: capping.value.flatten().map(|cap| Noted { value: Some(cap), note: capping.note }),
        attention_sinks: ask.is_on("attention_sinks"),
        attn_output_gate: ask.is_on("attn_output_gate"),
        kv_cache_dtype: cache(ask),
        rope: rope(ask, class, kind),
    })
}

fn mla(ask: &Ask<'_>) -> Mixer {
    // Every class with latent attention squares YaRN's scale into its own where a file gives the second factor.
    let scaled = ask.config.text("rope_type") == Some("yarn") && ask.config.get("mscale_all_dim").is_some();
    Mixer::Mla(Mla {
        num_attention_heads: ask.int("num_attention_heads"),
        q_lora_rank: ask.int_or_none("q_lora_rank"),
        kv_lora_rank: ask.int("kv_lora_rank"),
        qk_nope_head_dim: ask.int("qk_nope_head_dim"),
        qk_rope_head_dim: ask.int("qk_rope_head_dim"),
        v_head_dim: ask.int("v_head_dim"),
        latent_rms_norm_eps: 1e-6,
        attention_bias: ask.bool("attention_bias"),
        softmax_scale: if scaled {
            "rsqrt(qk_nope_head_dim + qk_rope_head_dim) * yarn_mscale(factor, mscale_all_dim)^2"
        } else {
            "rsqrt(qk_nope_head_dim + qk_rope_head_dim)"
        },
        kv_cache_dtype: cache(ask),
        rope: rotation(ask, "rope_theta", "rope_type").map(|rotation| Rotation {
            // As wide as that part of a head, and so without a comment.
            rotary_dim: Noted { note: None, ..rotation.rotary_dim },
            ..rotation
        }),
    })
}

fn rope(ask: &Ask<'_>, class: &Class, kind: MixerKind) -> Rope {
    match class.local_theta {
        Some(theta) if kind == MixerKind::Sliding => Some(Rotation {
            rope_theta: ask.float(theta),
            scaling: Scaling::Default,
            rotary_dim: rotary_dim(ask),
            interleaved: ask.bool("interleaved"),
        }),
        _ => rotation(ask, "rope_theta", "rope_type"),
    }
}

/// The rotated width: a share of a head, or stated.
fn rotary_dim(ask: &Ask<'_>) -> Noted<u64> {
    ask.get("partial_rotary_factor");
    let width = ask.int("rotary_dim");
    // All of a head needs no comment.
    let whole = width.value.is_some() && width.value == ask.config.int("head_dim");
    if whole { Noted { note: None, ..width } } else { width }
}

fn rotation(ask: &Ask<'_>, theta: &str, key: &str) -> Rope {
    const TYPES: [&str; 5] = ["none", "default", "linear", "llama3", "yarn"];
    if ask.config.text(key) == Some("rope_freqs") {
        ask.get(key);
        ask.refuse(
            "rope_freqs.weight",
            "the file holds what stretching made of each frequency, and not the numbers that say how",
        );
        return None;
    }
    let rope_type = ask.name(key, &TYPES).value;
    let scaling = match rope_type {
        Some("none") => return None,
        Some("linear") => Scaling::Linear { factor: ask.float("factor") },
        Some("llama3") => Scaling::Llama3 {
            factor: ask.float("factor"),
            low_freq_factor: ask.float("low_freq_factor"),
            high_freq_factor: ask.float("high_freq_factor"),
            original_max_position_embeddings: ask.int("original_max_position_embeddings"),
        },
        Some("yarn") => {
            let beta = ask.float_or_none("llama_4_scaling_beta");
            Scaling::Yarn {
                factor: ask.float("factor"),
                original_max_position_embeddings: ask.int("original_max_position_embeddings"),
                beta_fast: ask.float("beta_fast"),
                beta_slow: ask.float("beta_slow"),
                mscale: ask.float_or_none("mscale"),
                mscale_all_dim: ask.float_or_none("mscale_all_dim"),
                attention_factor: ask.float_or_none("attention_factor"),
                truncate: ask.bool("truncate"),
                llama_4_scaling_beta: beta.value.flatten().map(|value| Noted { value: Some(value), note: beta.note }),
            }
        }
        // Any other type has been refused.
        _ => Scaling::Default,
    };
    Some(Rotation { rope_theta: ask.float(theta), scaling, rotary_dim: rotary_dim(ask), interleaved: ask.bool("interleaved") })
}

fn mamba2(ask: &Ask<'_>) -> Mixer {
    Mixer::Mamba2(Mamba2 {
        mamba_num_heads: ask.int("mamba_num_heads"),
        mamba_head_dim: ask.int("mamba_head_dim"),
        ssm_state_size: ask.int("ssm_state_size"),
        n_groups: ask.int("n_groups"),
        conv_kernel: ask.int("conv_kernel"),
        chunk_size: ask.int("chunk_size"),
        use_conv_bias: ask.bool("use_conv_bias"),
        use_bias: ask.bool("use_bias"),
        time_step_min: ask.float("time_step_min"),
    })
}

fn delta_net(ask: &Ask<'_>) -> Mixer {
    Mixer::DeltaNet(DeltaNet {
        linear_num_key_heads: ask.int("linear_num_key_heads"),
        linear_key_head_dim: ask.int("linear_key_head_dim"),
        linear_num_value_heads: ask.int("linear_num_value_heads"),
        linear_value_head_dim: ask.int("linear_value_head_dim"),
        linear_conv_kernel_dim: ask.int("linear_conv_kernel_dim"),
    })
}
