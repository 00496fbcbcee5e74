//! `head-dim-mismatch`: KERNEL.toml chooses a kernel for heads of another width than the model's.
//!
//! KERNEL.toml never decides on a dimension. A head width that contradicts MODEL.toml is this error, because it is the one that ran for
//! weeks unseen; one that repeats it, and any other dimension, is `kernel-param`. A named template that does not fit otherwise, and an
//! op that no template fits, are `kernel-gap`.

use super::super::coverage::Need;
use super::super::fit::{self, Asked, Misfit};
use super::line;
use crate::diagnostic::{Diagnostic, Id, quoted};
use crate::model::ParamSet;
use crate::source::Spanned;
use crate::spec::{ParamValue, TemplateSpec};

/// Parameters of ops that are the width of a head, or of a part of one.
const WIDTHS: [&str; 6] = ["head_dim", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "key_dim", "value_dim"];

/// Whether a parameter is the width of a head.
pub(super) fn is_width(param: &str) -> bool {
    WIDTHS.contains(&param)
}

/// A head width in an entry of KERNEL.toml that is not the model's.
pub(super) fn stated_otherwise(need: &Need<'_>, key: &Spanned<String>, value: &Spanned<ParamValue>) -> Option<Diagnostic> {
    let ParamValue::Int(stated) = value.value else { return None };
    let asked = need.requirement.params.iter().find(|(param, _)| is_width(param) && *param == key.value);
    let Some((param, ParamSet::Int(width))) = asked else { return None };
    if stated == *width {
        return None;
    }
    let (place, needed) = need.stated(param, Asked::Number(*width));
    let op = need.requirement.op;
    Some(
        Diagnostic::new(
            Id::HeadDimMismatch,
            format!("`{op}` is given {param} {stated} in KERNEL.toml, and the model has {width}"),
        )
        .label(&value.span, format!("a kernel for {stated} would read the neighbouring head"))
        .context(&place, format!("the model's {param}, {needed}"))
        .help("delete the line: each instance takes the width of its own layers from MODEL.toml")
        .patch(&line(key, value), ""),
    )
}

/// A template that KERNEL.toml names and that does not run the op at the model's dimensions: `head-dim-mismatch` where it is written for
/// heads of other widths, else `kernel-gap`.
pub(super) fn named_misfit(
    need: &Need<'_>,
    name: &Spanned<String>,
    misfit: &Misfit<'_>,
    candidates: &[&TemplateSpec],
) -> Diagnostic {
    let (param, asked, op) = (misfit.param, misfit.asked, need.requirement.op);
    let (place, needed) = need.stated(param, asked);
    let (id, needed) = match is_width(param) {
        true => (Id::HeadDimMismatch, format!("the model's {param}, {needed}")),
        false => (Id::KernelGap, needed),
    };
    let diagnostic = Diagnostic::new(id, format!("`{}` is named for `{op}`, and does not run {param} {asked}", name.value))
        .label(&name.span, "KERNEL.toml chooses it")
        .context(&place, needed)
        .context(&misfit.rule, misfit.why.clone());
    let fitting: Vec<&str> =
        candidates.iter().filter(|t| fit::misfit(t, &need.requirement).is_none()).map(|t| t.name.as_str()).collect();
    match fitting.as_slice() {
        [] => {
            let legal = fit::legal(asked, &[vec![fit::rule(misfit.template, param)]]);
            let legal = legal.map_or_else(String::new, |legal| format!("{legal} for it; "));
            diagnostic.help(format!("{legal}no template runs `{op}` with {param} {asked}: extend one, with its tests"))
        }
        [one] => diagnostic.help(format!("name `{one}`, the only one that fits")).patch(&name.span, format!("\"{one}\"")),
        several => diagnostic.help(format!("these fit: {}", quoted(several))),
    }
}
