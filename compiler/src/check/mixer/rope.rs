//! Rotation: its width, and the numbers that stretch it.

use crate::check::size;
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::{CheckpointFormat, QueryScale, Rope, RopeScaling};
use crate::source::Spanned;
use crate::spec::{ModelSpec, RopeScalingSpec, RopeSpec, YarnSpec};

/// The rotation of heads that have `head_dim` elements.
pub(super) fn of_heads(spec: &ModelSpec, rope: &RopeSpec, head_dim: &Spanned<u64>, diags: &mut Diagnostics) -> Option<Rope> {
    let rotary_dim = &rope.rotary_dim;
    let odd = !rotary_dim.value.is_multiple_of(2);
    if odd || rotary_dim.value > head_dim.value {
        let nearest = (head_dim.value - head_dim.value % 2).min(rotary_dim.value + 1);
        let message =
            if odd { "`rotary_dim` is odd, and elements are rotated in pairs" } else { "`rotary_dim` is over `head_dim`" };
        diags.push(
            Diagnostic::new(Id::RotaryDim, message)
                .label(&rotary_dim.span, format!("{} elements of each head are rotated", rotary_dim.value))
                .context(&head_dim.span, format!("a head has {}", head_dim.value))
                .help("usually every element of a head is rotated")
                .patch(&rotary_dim.span, nearest.to_string()),
        );
        return None;
    }
    if let RopeScalingSpec::Yarn(YarnSpec { llama_4_scaling_beta: Some(beta), .. }) = &rope.scaling.value {
        diags.push(
            Diagnostic::new(Id::RopeScalingUnstated, "`llama_4_scaling_beta` belongs to latent attention")
                .label(&beta.span, "no `gqa` of this version scales its queries by position")
                .help("take it out, or write the attention as `mla` where it is one"),
        );
        return None;
    }
    rotation(spec, rope, diags)
}

/// The rotation of latent attention, of exactly `qk_rope_head_dim` elements.
pub(super) fn of_latent(spec: &ModelSpec, rope: &RopeSpec, rope_dim: &Spanned<u64>, diags: &mut Diagnostics) -> Option<Rope> {
    let rotary_dim = &rope.rotary_dim;
    if rotary_dim.value != rope_dim.value {
        diags.push(
            Diagnostic::new(Id::RotaryDim, "`rotary_dim` differs from `qk_rope_head_dim`")
                .label(&rotary_dim.span, format!("{} elements are rotated", rotary_dim.value))
                .context(&rope_dim.span, format!("{} elements of a key are there to be rotated", rope_dim.value))
                .help("latent attention rotates the elements that are not made from the latent, and no others")
                .patch(&rotary_dim.span, rope_dim.value.to_string()),
        );
        return None;
    }
    if !rope_dim.value.is_multiple_of(2) {
        diags.push(
            Diagnostic::new(Id::RotaryDim, "`qk_rope_head_dim` is odd, and elements are rotated in pairs")
                .label(&rope_dim.span, format!("{} elements", rope_dim.value))
                .context(&rotary_dim.span, "all of them are rotated")
                .help("config.json states an even number"),
        );
        return None;
    }
    rotation(spec, rope, diags)
}

/// How queries grow with their position.
pub(super) fn query_scale(rope: &RopeSpec) -> Option<QueryScale> {
    let RopeScalingSpec::Yarn(yarn) = &rope.scaling.value else { return None };
    let beta = yarn.llama_4_scaling_beta.as_ref()?.value;
    Some(QueryScale { beta, original_max_position_embeddings: size(&yarn.original_max_position_embeddings) })
}

fn rotation(spec: &ModelSpec, rope: &RopeSpec, diags: &mut Diagnostics) -> Option<Rope> {
    let RopeSpec { rope_theta, rotary_dim, interleaved, scaling } = rope;
    let scaling = match &scaling.value {
        RopeScalingSpec::Default => RopeScaling::Default,
        RopeScalingSpec::Linear { factor } => {
            stretches(factor, diags)?;
            RopeScaling::Linear { factor: factor.value }
        }
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
        RopeScalingSpec::Yarn(yarn) => self::yarn(spec, rope_theta, yarn, diags)?,
    };
    Some(Rope { theta: rope_theta.value, rotary_dim: size(rotary_dim), interleaved: interleaved.value, scaling })
}

/// A factor under 1 would shorten the context.
fn stretches(factor: &Spanned<f64>, diags: &mut Diagnostics) -> Option<()> {
    if factor.value >= 1.0 {
        return Some(());
    }
    let diagnostic = Diagnostic::new(Id::ValueOutOfRange, "`factor` is under 1, and positions are stretched by it");
    let help = "some configs state the inverse: 0.125 for a context that is 8 times as long is 8.0 here";
    diags.push(diagnostic.label(&factor.span, format!("{} would shorten the context", factor.value)).help(help));
    None
}

fn yarn(spec: &ModelSpec, theta: &Spanned<f64>, yarn: &YarnSpec, diags: &mut Diagnostics) -> Option<RopeScaling> {
    stretches(&yarn.factor, diags)?;
    if yarn.beta_fast.value <= yarn.beta_slow.value {
        diags.push(
            Diagnostic::new(Id::ValueOutOfRange, "`beta_fast` is not over `beta_slow`")
                .label(&yarn.beta_fast.span, "rotations above which a dimension is left alone")
                .context(&yarn.beta_slow.span, "rotations below which it is stretched fully")
                .help("the paper has beta_fast = 32 and beta_slow = 1"),
        );
        return None;
    }
    if theta.value <= 1.0 {
        let diagnostic = Diagnostic::new(Id::ValueOutOfRange, "`rope_theta` is not over 1, and yarn divides by its logarithm");
        diags.push(diagnostic.label(&theta.span, "the base of the wavelengths").help("most models have 10000.0 or more"));
        return None;
    }
    let attention_factor = attention_factor(yarn);
    if spec.checkpoint.format.value == CheckpointFormat::Mistral && attention_factor != 1.0 {
        diags.push(
            Diagnostic::new(Id::RopeScalingUnstated, "cosines and sines would be scaled, which `apply_scale = false` rules out")
                .label(&yarn.attention_factor.span, format!("comes to {attention_factor:.4}"))
                .context(&spec.checkpoint.format.span, "params.json says `yarn.apply_scale = false`")
                .help("write 1.0: yarn leaves cosines and sines alone there")
                .patch(&yarn.attention_factor.span, "1.0"),
        );
        return None;
    }
    Some(RopeScaling::Yarn {
        factor: yarn.factor.value,
        original_max_position_embeddings: size(&yarn.original_max_position_embeddings),
        beta_fast: yarn.beta_fast.value,
        beta_slow: yarn.beta_slow.value,
        truncate: yarn.truncate.value,
        attention_factor,
        mscale: yarn.mscale.value,
        mscale_all_dim: yarn.mscale_all_dim.value,
        stated_attention_factor: yarn.attention_factor.value,
    })
}

/// What is stated, or else what Hugging Face transformers takes (`_compute_yarn_parameters`): with both mscales the quotient of
/// their effects, and without them that of an mscale of 1. An mscale of 0 counts as none there.
fn attention_factor(yarn: &YarnSpec) -> f64 {
    let effect = |mscale| mscale_of(yarn.factor.value, mscale);
    let given = |mscale: &Spanned<Option<f64>>| mscale.value.filter(|m| *m != 0.0);
    match (yarn.attention_factor.value, given(&yarn.mscale), given(&yarn.mscale_all_dim)) {
        (Some(stated), ..) => stated,
        (None, Some(mscale), Some(all)) => effect(mscale) / effect(all),
        (None, ..) => effect(1.0),
    }
}

/// `yarn_mscale(factor, mscale)`
pub(super) fn mscale_of(factor: f64, mscale: f64) -> f64 {
    if factor > 1.0 { 0.1 * mscale * factor.ln() + 1.0 } else { 1.0 }
}
