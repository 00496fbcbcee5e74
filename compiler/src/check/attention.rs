//! Mixers: heads, softmax scale, rotation and cache dtypes.

use super::{distinct, divisors, size, suggest};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, quoted};
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
        diags.push(head_group(gqa, heads, kv_heads));
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
        query_pre_attn_scalar: gqa.query_pre_attn_scalar.as_ref().map(|s| size(s)),
        sliding_window: gqa.sliding_window.value.as_ref().map(size),
        kv: kv?,
        rope: rope?,
    })
}

fn head_group(gqa: &GqaSpec, heads: usize, kv_heads: usize) -> Diagnostic {
    let (query, key_value) = (&gqa.num_attention_heads, &gqa.num_key_value_heads);
    let diagnostic =
        Diagnostic::new(Id::HeadGroup, format!("{heads} query heads cannot share {kv_heads} key-value heads evenly"))
            .label(&key_value.span, format!("{heads} / {kv_heads} is not whole"))
            .context(&query.span, format!("{heads} query heads"))
            .note("each key-value head serves num_attention_heads / num_key_value_heads query heads");
    if kv_heads.is_multiple_of(heads) {
        return diagnostic
            .help("there are never more key-value heads than query heads: swap the two numbers")
            .patch(&query.span, kv_heads.to_string())
            .patch(&key_value.span, heads.to_string());
    }
    let mut legal = divisors(query.value);
    if legal.len() > 4 {
        // The nearest on both sides say more than all of a long list.
        let above = legal.iter().position(|k| *k > key_value.value).unwrap_or(legal.len() - 1).max(1);
        legal = vec![legal[above - 1], legal[above]];
    }
    let (last, most) = legal.split_last().expect("every number has a divisor");
    let most: Vec<String> = most.iter().map(u64::to_string).collect();
    let list = if most.is_empty() { last.to_string() } else { format!("{} or {last}", most.join(", ")) };
    diagnostic.help(format!("{heads} query heads can share {list} key-value heads"))
}

/// Dimensions of other kinds of attention: a scale that is copied from one of them means something else here.
const OF_LATENT_ATTENTION: [&str; 5] = ["q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"];

/// A scale is `rsqrt` of a whole number of dimensions, and those are the dimensions in which queries meet keys.
fn scale(spec: &ModelSpec, gqa: &GqaSpec, diags: &mut Diagnostics) -> Option<Scale> {
    let expr = &gqa.softmax_scale;
    let mut dims = vec![
        ("head_dim", &gqa.head_dim),
        ("num_attention_heads", &gqa.num_attention_heads),
        ("num_key_value_heads", &gqa.num_key_value_heads),
        ("hidden_size", &spec.model.hidden_size),
    ];
    dims.extend(gqa.query_pre_attn_scalar.as_ref().map(|scalar| ("query_pre_attn_scalar", scalar)));
    // Where the spec states a number for the scale, it is that one, and else the dimension of a head.
    let (over, why) = match &gqa.query_pre_attn_scalar {
        Some(scalar) => (scalar, format!("the scale is to be taken over {}", scalar.value)),
        None => (&gqa.head_dim, format!("queries and keys meet in {} dimensions", gqa.head_dim.value)),
    };
    let formula = if gqa.query_pre_attn_scalar.is_some() { "rsqrt(query_pre_attn_scalar)" } else { "rsqrt(head_dim)" };
    let value_of = |name: &str| dims.iter().find(|(n, _)| *n == name).map(|(_, v)| v.value);
    let unknown: Vec<_> = expr.value.uses().into_iter().filter(|(name, _)| value_of(name).is_none()).collect();
    if let [(name, range), more @ ..] = unknown.as_slice() {
        let known: Vec<&str> = dims.iter().map(|(name, _)| *name).collect();
        let diagnostic = Diagnostic::new(Id::UnknownDim, format!("`{name}` is not a dimension of this attention"));
        let mut diagnostic = diagnostic.label(&expr.span.at(range.clone()), "");
        for (_, range) in more {
            diagnostic = diagnostic.label(&expr.span.at(range.clone()), "nor is this");
        }
        if OF_LATENT_ATTENTION.contains(name) {
            diagnostic = diagnostic.note(format!("`{name}` belongs to latent attention, `mla`; this is `gqa`"));
        }
        diags.push(suggest(diagnostic, name, &known, &expr.span.at(range.clone()), || {
            format!("there are {}; a gqa scale is usually `rsqrt(head_dim)`", quoted(known.iter().copied()))
        }));
        return None;
    }
    let refuse = |message: &str, label: String, range: std::ops::Range<usize>| {
        Diagnostic::new(Id::SoftmaxScale, message)
            .label(&expr.span.at(range), label)
            .context(&over.span, why.clone())
            .note("scores are divided by the root of the number of dimensions that they sum over")
            .help("write the dimension of a head")
            .patch(&expr.span, format!("\"{formula}\""))
    };
    let Some(argument) = expr.value.argument_of("rsqrt") else {
        let why = if expr.value.names().is_empty() { "a number does not say where it comes from" } else { "another form" };
        diags.push(refuse("the softmax scale is not `rsqrt` of a dimension", why.to_owned(), expr.value.range.clone()));
        return None;
    };
    let dims = match argument.eval_u64(&value_of) {
        Ok(dims) if dims > 0 => dims,
        Ok(_) => {
            diags.push(refuse("the softmax scale is taken over no dimension", "this is 0".to_owned(), argument.range.clone()));
            return None;
        }
        Err(e) => {
            diags.push(refuse("the softmax scale is not taken over a whole number of dimensions", e.to_string(), e.range));
            return None;
        }
    };
    if dims != over.value {
        let message = match gqa.query_pre_attn_scalar {
            Some(_) => "the softmax scale is not taken over query_pre_attn_scalar",
            None => "the softmax scale is not taken over the head dimension",
        };
        diags.push(refuse(message, format!("this is {dims}"), argument.range.clone()));
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
        let message =
            if odd { "`rotary_dim` is odd, and elements are rotated in pairs" } else { "`rotary_dim` is over `head_dim`" };
        diags.push(
            Diagnostic::new(Id::RotaryDim, message)
                .label(&rotary_dim.span, format!("{} elements of each head are rotated", rotary_dim.value))
                .context(&gqa.head_dim.span, format!("a head has {}", gqa.head_dim.value))
                .help("usually every element of a head is rotated")
                .patch(&rotary_dim.span, nearest.to_string()),
        );
        return None;
    }
    let scaling = match &scaling.value {
        RopeScalingSpec::Default => RopeScaling::Default,
        RopeScalingSpec::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
            if low_freq_factor.value >= high_freq_factor.value {
                diags.push(
                    Diagnostic::new(Id::ValueOutOfRange, "`low_freq_factor` is not below `high_freq_factor`")
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
                    Diagnostic::new(Id::ValueOutOfRange, "`kv_cache_layers` covers more layers than there are")
                        .label(&given.span, format!("{first} + {last} = {} layers", first + last))
                        .context(&gqa.kv_cache_dtype.key, format!("{layers} layers use this mixer")),
                );
                return None;
            }
            Some(KvEdges { first, last, dtype: given.dtype.value })
        }
    };
    Some(KvCache { dtypes: list.value.iter().map(|d| d.value).collect(), edges })
}
