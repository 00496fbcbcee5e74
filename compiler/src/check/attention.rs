//! Mixers: heads, softmax scale, rotation and cache dtypes.

use super::{distinct, size};
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::expr::Expr;
use crate::model::{Gqa, KvCache, KvEdges, Mixer, Rope, RopeScaling, Scale};
use crate::source::Spanned;
use crate::spec::{GqaSpec, MixerSpec, ModelSpec, RopeScalingSpec, RopeSpec};

/// Checks a mixer that `layers` layers use.
pub fn mixer(spec: &ModelSpec, mixer: &MixerSpec, layers: usize, diags: &mut Diagnostics) -> Option<Mixer> {
    match mixer {
        MixerSpec::Gqa(gqa) => Some(Mixer::Gqa(self::gqa(spec, gqa, layers, diags)?)),
    }
}

fn gqa(spec: &ModelSpec, gqa: &GqaSpec, layers: usize, diags: &mut Diagnostics) -> Option<Gqa> {
    let before = diags.len();
    let (heads, kv_heads) = (size(&gqa.num_attention_heads), size(&gqa.num_key_value_heads));
    if !heads.is_multiple_of(kv_heads) {
        let legal: Vec<String> = (1..=heads).filter(|k| heads.is_multiple_of(*k)).map(|k| k.to_string()).collect();
        diags.push(
            Diagnostic::new(Id::HeadGroup, format!("{heads} query heads cannot share {kv_heads} key-value heads evenly"))
                .label(&gqa.num_key_value_heads.span, format!("{heads} / {kv_heads} is not whole"))
                .context(&gqa.num_attention_heads.span, format!("{heads} query heads"))
                .note("each key-value head serves num_attention_heads / num_key_value_heads query heads")
                .help(format!("{heads} heads can share {} key-value heads", legal.join(", "))),
        );
    }
    let scale = scale(spec, gqa, diags);
    let rope = rope(gqa, diags);
    let kv = cache(gqa, layers, diags);
    if diags.len() != before {
        return None;
    }
    Some(Gqa {
        heads,
        kv_heads,
        head_dim: size(&gqa.head_dim),
        bias: *gqa.attention_bias,
        output_bias: *gqa.attention_output_bias,
        qk_norm: *gqa.qk_norm,
        scale: scale?,
        kv: kv?,
        rope: rope?,
    })
}

/// A scale is `rsqrt` of a whole number of dimensions, and those are the dimensions in which queries meet keys.
fn scale(spec: &ModelSpec, gqa: &GqaSpec, diags: &mut Diagnostics) -> Option<Scale> {
    let expr = &gqa.softmax_scale;
    let dims = [
        ("head_dim", &gqa.head_dim),
        ("num_attention_heads", &gqa.num_attention_heads),
        ("num_key_value_heads", &gqa.num_key_value_heads),
        ("hidden_size", &spec.model.hidden_size),
    ];
    let value_of = |name: &str| dims.iter().find(|(n, _)| *n == name).map(|(_, v)| v.value);
    let unknown: Vec<&str> = expr.value.names().into_iter().filter(|n| value_of(n).is_none()).collect();
    if let Some(name) = unknown.first() {
        let known: Vec<&str> = dims.iter().map(|(n, _)| *n).collect();
        let help = crate::diagnostic::did_you_mean(name, known.iter().copied())
            .unwrap_or_else(|| format!("a gqa scale may use {}", crate::diagnostic::quoted(known.iter().copied())));
        diags.push(
            Diagnostic::new(Id::UnknownDim, format!("`{name}` is not a dimension of this attention"))
                .label(&expr.span, "in this expression")
                .help(help),
        );
        return None;
    }
    let Some(argument) = expr.value.argument_of("rsqrt") else {
        diags.push(
            Diagnostic::new(Id::SoftmaxScale, "the softmax scale of gqa is not `rsqrt` of dimensions")
                .label(&expr.span, format!("`{}` has another form", expr.value))
                .help("write the dimensions in which queries meet keys")
                .patch(&expr.span, "\"rsqrt(head_dim)\""),
        );
        return None;
    };
    let lookup = |name: &str| value_of(name);
    let dims = match argument.eval_u64(&lookup) {
        Ok(dims) if dims > 0 => dims,
        _ => {
            diags.push(
                Diagnostic::new(Id::SoftmaxScale, "the softmax scale is not taken over a whole number of dimensions")
                    .label(&expr.span, format!("`{argument}` is not a positive integer")),
            );
            return None;
        }
    };
    if dims != gqa.head_dim.value {
        diags.push(
            Diagnostic::new(Id::SoftmaxScale, "the softmax scale is not taken over the head dimension")
                .label(&expr.span, format!("`{argument}` is {dims}"))
                .context(&gqa.head_dim.span, format!("queries and keys meet in {} dimensions", gqa.head_dim.value))
                .note("scores are divided by the root of the number of dimensions that they sum over")
                .help("write the dimension of a head")
                .patch(&expr.span, "\"rsqrt(head_dim)\""),
        );
        return None;
    }
    Some(Scale { formula: canonical(expr), dims: dims as usize, value: (1.0 / (dims as f64).sqrt()) as f32 })
}

fn canonical(expr: &Spanned<Expr>) -> String {
    expr.value.to_string()
}

fn rope(gqa: &GqaSpec, diags: &mut Diagnostics) -> Option<Rope> {
    let RopeSpec { rope_theta, rotary_dim, interleaved, scaling } = &gqa.rope;
    if !rotary_dim.value.is_multiple_of(2) || rotary_dim.value > gqa.head_dim.value {
        let odd = !rotary_dim.value.is_multiple_of(2);
        let nearest = (gqa.head_dim.value - gqa.head_dim.value % 2).min(rotary_dim.value + 1);
        let message = if odd { "rotary elements do not come in pairs" } else { "more elements are rotated than a head has" };
        diags.push(
            Diagnostic::new(Id::RotaryDim, message)
                .label(&rotary_dim.span, format!("{} elements of each head", rotary_dim.value))
                .context(&gqa.head_dim.span, format!("a head has {}", gqa.head_dim.value))
                .help("the first `rotary_dim` elements of a head are rotated in pairs; usually all of them")
                .patch(&rotary_dim.span, nearest.to_string()),
        );
        return None;
    }
    let scaling = match &scaling.value {
        RopeScalingSpec::Default => RopeScaling::Default,
        RopeScalingSpec::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
            if low_freq_factor.value >= high_freq_factor.value {
                diags.push(
                    Diagnostic::new(Id::ValueOutOfRange, "low_freq_factor is not below high_freq_factor")
                        .label(&low_freq_factor.span, "bounds the long wavelengths")
                        .context(&high_freq_factor.span, "bounds the short ones")
                        .note("frequencies between the two are interpolated, which divides by their difference")
                        .help("Llama 3.1 has low_freq_factor = 1.0 and high_freq_factor = 4.0"),
                );
                return None;
            }
            RopeScaling::Llama3 {
                factor: factor.value,
                low_freq_factor: low_freq_factor.value,
                high_freq_factor: high_freq_factor.value,
                original_max_position_embeddings: size(original_max_position_embeddings),
            }
        }
    };
    Some(Rope { theta: rope_theta.value, rotary_dim: size(rotary_dim), interleaved: interleaved.value, scaling })
}

fn cache(gqa: &GqaSpec, layers: usize, diags: &mut Diagnostics) -> Option<KvCache> {
    let list = &gqa.kv_cache_dtype;
    distinct(&list.value, |d| d.as_str(), "cache dtype", diags);
    if list.value.is_empty() {
        diags.push(
            Diagnostic::new(Id::KvDtypeMissing, "the KV cache has no dtype")
                .label(&list.span, "an empty list")
                .note("no dtype is assumed: a caller's default once made every layer fp8")
                .help("list what this cache may be, the default first, such as [\"bf16\", \"f32\"]"),
        );
        return None;
    }
    let edges = match &gqa.kv_cache_layers {
        None => None,
        Some(given) => {
            let (first, last) = (size(&given.first), size(&given.last));
            if first + last > layers {
                diags.push(
                    Diagnostic::new(Id::ValueOutOfRange, "kv_cache_layers covers more layers than there are")
                        .label(&given.span, format!("{first} + {last} layers"))
                        .context(&gqa.kv_cache_dtype.key, format!("{layers} layers use this mixer")),
                );
                return None;
            }
            Some(KvEdges { first, last, dtype: given.dtype.value })
        }
    };
    Some(KvCache { dtypes: list.value.iter().map(|d| d.value).collect(), edges })
}
