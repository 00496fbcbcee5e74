//! Mixers that keep a state per sequence: how their heads share what they share.

use crate::check::{divisors, size};
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::{GatedDeltaNet, Mamba2};
use crate::source::Spanned;
use crate::spec::{GatedDeltaNetSpec, Mamba2Spec};

pub(super) fn mamba2(spec: &Mamba2Spec, diags: &mut Diagnostics) -> Option<Mamba2> {
    let (heads, groups) = (&spec.mamba_num_heads, &spec.n_groups);
    if !heads.value.is_multiple_of(groups.value) {
        diags.push(
            Diagnostic::new(Id::HeadGroup, format!("{} heads cannot form {} groups evenly", heads.value, groups.value))
                .label(&groups.span, format!("{} / {} is not whole", heads.value, groups.value))
                .context(&heads.span, format!("{} heads", heads.value))
                .note("the heads of a group share B and C: n_groups divides mamba_num_heads")
                .help(nearest(heads, groups, "heads can form", "groups")),
        );
        return None;
    }
    Some(Mamba2 {
        heads: size(heads),
        head_dim: size(&spec.mamba_head_dim),
        state: size(&spec.ssm_state_size),
        groups: size(groups),
        conv_kernel: size(&spec.conv_kernel),
        chunk: size(&spec.chunk_size),
        conv_bias: spec.use_conv_bias.value,
        bias: spec.use_bias.value,
        time_step_min: spec.time_step_min.value,
    })
}

pub(super) fn gated_delta_net(spec: &GatedDeltaNetSpec, diags: &mut Diagnostics) -> Option<GatedDeltaNet> {
    let (values, keys) = (&spec.linear_num_value_heads, &spec.linear_num_key_heads);
    if !values.value.is_multiple_of(keys.value) {
        let message = format!("{} value heads cannot share {} key heads evenly", values.value, keys.value);
        let diagnostic = Diagnostic::new(Id::HeadGroup, message)
            .label(&keys.span, format!("{} / {} is not whole", values.value, keys.value))
            .context(&values.span, format!("{} value heads", values.value))
            .note("each head of queries and keys serves linear_num_value_heads / linear_num_key_heads value heads");
        diags.push(if keys.value.is_multiple_of(values.value) {
            diagnostic
                .help("there are never more key heads than value heads: swap the two numbers")
                .patch(&keys.span, values.value.to_string())
                .patch(&values.span, keys.value.to_string())
        } else {
            diagnostic.help(nearest(values, keys, "value heads can share", "key heads"))
        });
        return None;
    }
    Some(GatedDeltaNet {
        key_heads: size(keys),
        key_dim: size(&spec.linear_key_head_dim),
        value_heads: size(values),
        value_dim: size(&spec.linear_value_head_dim),
        conv_kernel: size(&spec.linear_conv_kernel_dim),
    })
}

/// The legal numbers next to the one that was given.
fn nearest(whole: &Spanned<u64>, parts: &Spanned<u64>, verb: &str, what: &str) -> String {
    let legal = divisors(whole.value);
    let below = legal.iter().rev().find(|d| **d < parts.value);
    let above = legal.iter().find(|d| **d > parts.value);
    let listed: Vec<String> = below.into_iter().chain(above).map(u64::to_string).collect();
    format!("{} {verb} {} {what}", whole.value, listed.join(" or "))
}
