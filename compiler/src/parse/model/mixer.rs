//! `[mixer.<name>]`: attention and its rope.

use super::{POSITIVE, is_positive};
use crate::diagnostic::{Diagnostic, Id};
use crate::parse::SIZE;
use crate::reader::{Table, Value, Vocabulary};
use crate::source::Spanned;
use crate::spec::{GqaSpec, KvCacheLayers, KvDtype, MixerSpec, RopeScalingSpec, RopeSpec};

const MIXER_KINDS: Vocabulary<()> =
    Vocabulary { names: &[("gqa", ())], not_yet: &["mla", "mamba2", "gated_delta_net"], not_yet_id: Id::UnknownValue };

const KV_DTYPES: Vocabulary<KvDtype> = Vocabulary {
    names: &[("f32", KvDtype::F32), ("bf16", KvDtype::Bf16)],
    not_yet: &["f16", "fp8_e4m3", "fp8_e5m2", "int8", "q8_0", "nvfp4"],
    not_yet_id: Id::KvDtypeUnsupported,
};

#[derive(Clone, Copy, PartialEq)]
enum RopeType {
    Default,
    Llama3,
}

const ROPE_TYPES: Vocabulary<RopeType> = Vocabulary {
    names: &[("default", RopeType::Default), ("llama3", RopeType::Llama3)],
    not_yet: &["linear", "dynamic", "yarn", "longrope", "su", "mrope", "proportional"],
    not_yet_id: Id::UnknownValue,
};

/// Every key that belongs to some rope_type of the field: given to another one, it would not be obeyed.
const ROPE_SCALING_KEYS: [&str; 12] = [
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
    "attention_factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "short_factor",
    "long_factor",
    "truncate",
];

/// Reads one `[mixer.<name>]`.
pub(super) fn read(mut table: Table<'_>) -> Option<MixerSpec> {
    let Some(_kind) = table.required("kind").and_then(|v| v.choice(&MIXER_KINDS)) else {
        table.abandon();
        return None;
    };
    let num_attention_heads = table.required("num_attention_heads").and_then(|v| v.integer(SIZE));
    let num_key_value_heads = table.required("num_key_value_heads").and_then(|v| v.integer(SIZE));
    let head_dim = table.required("head_dim").and_then(|v| v.integer(SIZE));
    let attention_bias = table.required("attention_bias").and_then(|v| v.boolean());
    let attention_output_bias = table.required("attention_output_bias").and_then(|v| v.boolean());
    let qk_norm = table.required("qk_norm").and_then(|v| v.boolean());
    let softmax_scale = table.required("softmax_scale").and_then(|v| v.expression());
    let query_pre_attn_scalar = table.optional("query_pre_attn_scalar").and_then(|v| v.integer(SIZE));
    let sliding_window = table.required("sliding_window").and_then(|v| window(&v));
    let kv_cache_dtype = table.required("kv_cache_dtype").and_then(|v| v.list(|d| d.choice(&KV_DTYPES)));
    let kv_cache_layers = table.optional("kv_cache_layers").and_then(|v| kv_cache_layers(&v));
    let rope = rope(table.table("rope"));
    table.finish();
    Some(MixerSpec::Gqa(GqaSpec {
        num_attention_heads: num_attention_heads?,
        num_key_value_heads: num_key_value_heads?,
        head_dim: head_dim?,
        attention_bias: attention_bias?,
        attention_output_bias: attention_output_bias?,
        qk_norm: qk_norm?,
        softmax_scale: softmax_scale?,
        query_pre_attn_scalar,
        sliding_window: sliding_window?,
        kv_cache_dtype: kv_cache_dtype?,
        kv_cache_layers,
        rope: rope?,
    }))
}

/// A number of tokens, or `"none"`.
fn window(value: &Value<'_>) -> Option<Spanned<Option<u64>>> {
    if value.is_text() {
        let none = value.text_that("a number of tokens, or \"none\" where a query sees all before it", |text| text == "none")?;
        return Some(none.with(None));
    }
    value.integer(SIZE).map(|window| window.map(Some))
}

fn kv_cache_layers(value: &Value<'_>) -> Option<Spanned<KvCacheLayers>> {
    let mut table = value.inline_table()?;
    let first = table.required("first").and_then(|v| v.integer(0..=*SIZE.end()));
    let last = table.required("last").and_then(|v| v.integer(0..=*SIZE.end()));
    let dtype = table.required("dtype").and_then(|v| v.choice(&KV_DTYPES));
    table.finish();
    Some(value.spanned(KvCacheLayers { first: first?, last: last?, dtype: dtype? }))
}

fn rope(mut table: Table<'_>) -> Option<RopeSpec> {
    let rope_theta = table.required("rope_theta").and_then(|v| v.float(POSITIVE, is_positive));
    let rotary_dim = table.required("rotary_dim").and_then(|v| v.integer(SIZE));
    let interleaved = table.required("interleaved").and_then(|v| v.boolean());
    let Some(rope_type) = table.required("rope_type").and_then(|v| v.choice(&ROPE_TYPES)) else {
        table.abandon();
        return None;
    };
    let scaling = match rope_type.value {
        RopeType::Default => {
            scaling_keys(&mut table, &rope_type, &[]);
            Some(RopeScalingSpec::Default)
        }
        RopeType::Llama3 => {
            let factors = ["factor", "low_freq_factor", "high_freq_factor"];
            let positions = "original_max_position_embeddings";
            scaling_keys(&mut table, &rope_type, &[factors[0], factors[1], factors[2], positions]);
            let [factor, low_freq_factor, high_freq_factor] =
                factors.map(|key| table.optional(key).and_then(|v| v.float(POSITIVE, is_positive)));
            let original = table.optional(positions).and_then(|v| v.integer(SIZE));
            (|| {
                Some(RopeScalingSpec::Llama3 {
                    factor: factor?,
                    low_freq_factor: low_freq_factor?,
                    high_freq_factor: high_freq_factor?,
                    original_max_position_embeddings: original?,
                })
            })()
        }
    };
    table.finish();
    let scaling = rope_type.with(scaling?);
    Some(RopeSpec { rope_theta: rope_theta?, rotary_dim: rotary_dim?, interleaved: interleaved?, scaling })
}

/// A rope_type has exactly the keys that it says: one that is left out is no default, one too many would not be obeyed.
fn scaling_keys(table: &mut Table<'_>, rope_type: &Spanned<RopeType>, wanted: &[&'static str]) {
    let named = |(name, _): &&(&'static str, RopeType)| *name;
    let name = ROPE_TYPES.names.iter().find(|(_, t)| *t == rope_type.value).as_ref().map(named).unwrap_or_default();
    let missing: Vec<&str> = wanted.iter().copied().filter(|key| table.key_span(key).is_none()).collect();
    if let [first, more @ ..] = missing.as_slice() {
        let rest = match more {
            [] => String::new(),
            [one] => format!(" and `{one}`"),
            several => format!(" and {} more keys", several.len()),
        };
        let label = if more.is_empty() { "it has no default" } else { "none of them has a default" };
        let diagnostic = Diagnostic::new(Id::RopeScalingUnstated, format!("rope_type `{name}` needs `{first}`{rest}"));
        let diagnostic = diagnostic.label(&rope_type.span, label).context(table.header(), "missing here");
        table.report(missing.iter().fold(diagnostic, |d, key| table.whereabouts(key, d)));
    }
    for key in ROPE_SCALING_KEYS.into_iter().filter(|key| !wanted.contains(key)) {
        if let Some(span) = table.key_span(key) {
            let message = format!("rope_type `{name}` has no `{key}`");
            let diagnostic = Diagnostic::new(Id::RopeScalingUnstated, message).label(&span, "would not be obeyed");
            let help = "take it out, or name the rope_type that it belongs to";
            table.report(diagnostic.context(&rope_type.span, "decides which keys there are").help(help));
            // Reported once, here, and not again as a key that nothing reads.
            table.skip(key);
        }
    }
}
