//! `[mixer.<name>]`: attention, and what keeps a state instead of a cache.

mod recurrent;
mod rope;

use super::{POSITIVE, is_positive};
use crate::diagnostic::{Diagnostic, Id};
use crate::parse::{SIZE, SIZE_OR_NONE};
use crate::reader::{Table, Value, Vocabulary};
use crate::source::Spanned;
use crate::spec::{GqaSpec, KvCacheLayers, KvDtype, MixerSpec, MlaSpec};

#[derive(Clone, Copy)]
enum Kind {
    Gqa,
    Mla,
    Mamba2,
    GatedDeltaNet,
}

const MIXER_KINDS: Vocabulary<Kind> = Vocabulary {
    names: &[("gqa", Kind::Gqa), ("mla", Kind::Mla), ("mamba2", Kind::Mamba2), ("gated_delta_net", Kind::GatedDeltaNet)],
    not_yet: &["mamba", "rwkv", "lightning_attention", "short_conv", "kimi_delta_attention", "cross_attention"],
    not_yet_id: Id::UnknownValue,
};

const KV_DTYPES: Vocabulary<KvDtype> = Vocabulary {
    names: &[("f32", KvDtype::F32), ("bf16", KvDtype::Bf16), ("fp8_e4m3", KvDtype::Fp8E4m3)],
    not_yet: &["f16", "fp8_e5m2", "int8", "q8_0", "nvfp4"],
    not_yet_id: Id::KvDtypeUnsupported,
};

/// Reads one `[mixer.<name>]`.
pub(super) fn read(mut table: Table<'_>) -> Option<MixerSpec> {
    let Some(kind) = table.required("kind").and_then(|v| v.choice(&MIXER_KINDS)) else {
        table.abandon();
        return None;
    };
    match kind.value {
        Kind::Gqa => gqa(table).map(MixerSpec::Gqa),
        Kind::Mla => mla(table).map(MixerSpec::Mla),
        Kind::Mamba2 => recurrent::mamba2(table).map(MixerSpec::Mamba2),
        Kind::GatedDeltaNet => recurrent::gated_delta_net(table).map(MixerSpec::GatedDeltaNet),
    }
}

fn gqa(mut table: Table<'_>) -> Option<GqaSpec> {
    let num_attention_heads = table.required("num_attention_heads").and_then(|v| v.integer(SIZE));
    let num_key_value_heads = table.required("num_key_value_heads").and_then(|v| v.integer(SIZE));
    let head_dim = table.required("head_dim").and_then(|v| v.integer(SIZE));
    let attention_bias = table.required("attention_bias").and_then(|v| v.boolean());
    let attention_output_bias = table.required("attention_output_bias").and_then(|v| v.boolean());
    let qk_norm = table.required("qk_norm").and_then(|v| v.boolean());
    let softmax_scale = table.required("softmax_scale").and_then(|v| v.expression());
    let query_pre_attn_scalar = table.optional("query_pre_attn_scalar").and_then(|v| v.integer(SIZE));
    let sliding_window = table
        .required("sliding_window")
        .and_then(|v| v.or_none("a number of tokens, or \"none\" where a query sees all before it", |v| v.integer(SIZE)));
    let attn_logit_softcapping = table.optional("attn_logit_softcapping").and_then(|v| v.float(POSITIVE, is_positive));
    let attention_sinks = table.optional("attention_sinks").and_then(|v| v.boolean());
    let attn_output_gate = table.optional("attn_output_gate").and_then(|v| v.boolean());
    let (kv_cache_dtype, kv_cache_layers) = cache(&mut table);
    let rope = rope::read(table.table("rope"));
    table.finish();
    Some(GqaSpec {
        num_attention_heads: num_attention_heads?,
        num_key_value_heads: num_key_value_heads?,
        head_dim: head_dim?,
        attention_bias: attention_bias?,
        attention_output_bias: attention_output_bias?,
        qk_norm: qk_norm?,
        softmax_scale: softmax_scale?,
        query_pre_attn_scalar,
        sliding_window: sliding_window?,
        attn_logit_softcapping,
        attention_sinks,
        attn_output_gate,
        kv_cache_dtype: kv_cache_dtype?,
        kv_cache_layers,
        rope: rope?.value,
    })
}

fn mla(mut table: Table<'_>) -> Option<MlaSpec> {
    let num_attention_heads = table.required("num_attention_heads").and_then(|v| v.integer(SIZE));
    let q_lora_rank = table.required("q_lora_rank").and_then(|v| v.or_none(SIZE_OR_NONE, |v| v.integer(SIZE)));
    let kv_lora_rank = table.required("kv_lora_rank").and_then(|v| v.integer(SIZE));
    let qk_nope_head_dim = table.required("qk_nope_head_dim").and_then(|v| v.integer(SIZE));
    let qk_rope_head_dim = table.required("qk_rope_head_dim").and_then(|v| v.integer(SIZE));
    let v_head_dim = table.required("v_head_dim").and_then(|v| v.integer(SIZE));
    let latent_rms_norm_eps = table.required("latent_rms_norm_eps").and_then(|v| v.float(POSITIVE, is_positive));
    let attention_bias = table.required("attention_bias").and_then(|v| v.boolean());
    let softmax_scale = table.required("softmax_scale").and_then(|v| v.expression());
    let (kv_cache_dtype, kv_cache_layers) = cache(&mut table);
    let rope = rope::read(table.table("rope")).and_then(|rope| {
        if rope.value.is_none() {
            let diagnostic = Diagnostic::new(Id::UnknownValue, "`rope_type` of latent attention cannot be `none`");
            let diagnostic = diagnostic.label(&rope.span, "qk_rope_head_dim elements of a key are rotated");
            table.report(diagnostic.help("name the rope_type of the checkpoint's config.json; without one, it is \"default\""));
        }
        rope.value
    });
    table.finish();
    Some(MlaSpec {
        num_attention_heads: num_attention_heads?,
        q_lora_rank: q_lora_rank?,
        kv_lora_rank: kv_lora_rank?,
        qk_nope_head_dim: qk_nope_head_dim?,
        qk_rope_head_dim: qk_rope_head_dim?,
        v_head_dim: v_head_dim?,
        latent_rms_norm_eps: latent_rms_norm_eps?,
        attention_bias: attention_bias?,
        softmax_scale: softmax_scale?,
        kv_cache_dtype: kv_cache_dtype?,
        kv_cache_layers,
        rope: rope?,
    })
}

type Dtypes = Spanned<Vec<Spanned<KvDtype>>>;

/// `kv_cache_dtype` and `kv_cache_layers`.
fn cache(table: &mut Table<'_>) -> (Option<Dtypes>, Option<Spanned<KvCacheLayers>>) {
    let dtypes = table.required("kv_cache_dtype").and_then(|v| v.list(|d| d.choice(&KV_DTYPES)));
    let layers = table.optional("kv_cache_layers").and_then(|v| kv_cache_layers(&v));
    (dtypes, layers)
}

fn kv_cache_layers(value: &Value<'_>) -> Option<Spanned<KvCacheLayers>> {
    let mut table = value.inline_table()?;
    let first = table.required("first").and_then(|v| v.integer(0..=*SIZE.end()));
    let last = table.required("last").and_then(|v| v.integer(0..=*SIZE.end()));
    let dtype = table.required("dtype").and_then(|v| v.choice(&KV_DTYPES));
    table.finish();
    Some(value.spanned(KvCacheLayers { first: first?, last: last?, dtype: dtype? }))
}
