//! Grouped-query attention: heads and softmax scale.

use super::{cache, rope};
use crate::check::{divisors, size, suggest};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, quoted};
use crate::model::{Gqa, Scale};
use crate::spec::{GqaSpec, ModelSpec};

/// Checks an attention that `layers` layers use.
pub(super) fn check(spec: &ModelSpec, gqa: &GqaSpec, layers: usize, diags: &mut Diagnostics) -> Option<Gqa> {
    let before = diags.len();
    let (heads, kv_heads) = (size(&gqa.num_attention_heads), size(&gqa.num_key_value_heads));
    if !heads.is_multiple_of(kv_heads) {
        diags.push(head_group(gqa, heads, kv_heads));
    }
    let scale = scale(spec, gqa, diags);
    let rope = gqa.rope.as_ref().map(|rope| rope::of_heads(spec, rope, &gqa.head_dim, diags));
    let kv = cache::check(&gqa.kv_cache_dtype, gqa.kv_cache_layers.as_ref(), layers, diags);
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
        soft_cap: gqa.attn_logit_softcapping.as_ref().map(|cap| cap.value),
        sinks: gqa.attention_sinks.as_ref().is_some_and(|sinks| sinks.value),
        output_gate: gqa.attn_output_gate.as_ref().is_some_and(|gate| gate.value),
        kv: kv?,
        // A rotation that is wrong has been reported.
        rope: match rope {
            None => None,
            Some(rope) => Some(rope?),
        },
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
    Some(Scale { formula: expr.value.to_string(), dims: dims as usize, mscale: None, value: (1.0 / (dims as f64).sqrt()) as f32 })
}
