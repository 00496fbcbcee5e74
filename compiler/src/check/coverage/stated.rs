//! Where MODEL.toml states the value of a parameter that an op asks of a kernel.

use super::Asked;
use crate::source::{Span, Spanned};
use crate::spec::{FfnSpec, KvCacheLayers, KvDtype, MixerSpec, RopeSpec};

/// The rotation of a mixer.
pub(super) fn rope(mixer: &MixerSpec) -> Option<&RopeSpec> {
    match mixer {
        MixerSpec::Gqa(gqa) => gqa.rope.as_ref(),
        MixerSpec::Mla(mla) => Some(&mla.rope),
        MixerSpec::Mamba2(_) | MixerSpec::GatedDeltaNet(_) => None,
    }
}

/// Where a mixer states the value of a parameter.
pub(super) fn by_mixer<'s>(mixer: &'s MixerSpec, param: &str, asked: Asked) -> Option<&'s Span> {
    match (param, rope(mixer)) {
        ("rotary_dim", Some(rope)) => return Some(&rope.rotary_dim.span),
        ("layout", Some(rope)) => return Some(&rope.interleaved.span),
        _ => {}
    }
    let number = match mixer {
        MixerSpec::Gqa(gqa) => match param {
            "head_dim" => &gqa.head_dim,
            "num_key_value_heads" => &gqa.num_key_value_heads,
            "kv_dtype" => return Some(cache_dtype(&gqa.kv_cache_dtype, gqa.kv_cache_layers.as_ref(), asked)),
            "window" => return Some(&gqa.sliding_window.span),
            _ => return None,
        },
        MixerSpec::Mla(mla) => match param {
            "num_attention_heads" => &mla.num_attention_heads,
            "qk_nope_head_dim" => &mla.qk_nope_head_dim,
            "qk_rope_head_dim" => &mla.qk_rope_head_dim,
            "v_head_dim" => &mla.v_head_dim,
            "kv_lora_rank" => &mla.kv_lora_rank,
            "kv_dtype" => return Some(cache_dtype(&mla.kv_cache_dtype, mla.kv_cache_layers.as_ref(), asked)),
            _ => return None,
        },
        MixerSpec::Mamba2(mamba2) => match param {
            "heads" => &mamba2.mamba_num_heads,
            "head_dim" => &mamba2.mamba_head_dim,
            "state" => &mamba2.ssm_state_size,
            "groups" => &mamba2.n_groups,
            "chunk" => &mamba2.chunk_size,
            "conv_kernel" => &mamba2.conv_kernel,
            _ => return None,
        },
        MixerSpec::GatedDeltaNet(net) => match param {
            "key_heads" => &net.linear_num_key_heads,
            "key_dim" => &net.linear_key_head_dim,
            "value_heads" => &net.linear_num_value_heads,
            "value_dim" | "head_dim" => &net.linear_value_head_dim,
            "conv_kernel" => &net.linear_conv_kernel_dim,
            _ => return None,
        },
    };
    Some(&number.span)
}

fn cache_dtype<'s>(
    list: &'s Spanned<Vec<Spanned<KvDtype>>>,
    edges: Option<&'s Spanned<KvCacheLayers>>,
    asked: Asked,
) -> &'s Span {
    let stated = list.iter().chain(edges.map(|edges| &edges.dtype)).find(|d| asked == Asked::Name(d.as_str()));
    stated.map_or(&list.span, |dtype| &dtype.span)
}

/// Where a feed-forward states the value of a parameter.
pub(super) fn by_ffn<'s>(ffn: &'s FfnSpec, param: &str, asked: Asked) -> Option<&'s Span> {
    let is = |stated: &Spanned<u64>| asked == Asked::Number(stated.value);
    match ffn {
        FfnSpec::GatedMlp { intermediate_size, .. } | FfnSpec::Mlp { intermediate_size, .. } => {
            is(intermediate_size).then_some(&intermediate_size.span)
        }
        FfnSpec::Moe(moe) => match param {
            "experts" => Some(&moe.n_routed_experts.span),
            "top_k" => Some(&moe.num_experts_per_tok.span),
            "act" => Some(&moe.hidden_act.span),
            "intermediate_size" => Some(&moe.moe_intermediate_size.span),
            _ if is(&moe.n_routed_experts) => Some(&moe.n_routed_experts.span),
            _ => {
                let width = |stated: &'s Spanned<Option<u64>>| {
                    stated.value.is_some_and(|width| asked == Asked::Number(width)).then_some(&stated.span)
                };
                width(&moe.shared_expert_intermediate_size).or_else(|| width(&moe.moe_latent_size))
            }
        },
    }
}
