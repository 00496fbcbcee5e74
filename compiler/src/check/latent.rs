//! `[<target>.mla]` of KERNEL.toml: in which space latent attention is computed on each target.

use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::{Mixer, MlaForms, Model, Target};
use crate::spec::{KernelSpec, ModelSpec};

/// The forms of each target that KERNEL.toml says something about.
pub fn forms(model: &Model, spec: &ModelSpec, kernel: Option<&KernelSpec>, diags: &mut Diagnostics) -> Vec<(Target, MlaForms)> {
    let is_latent = model.kinds.iter().any(|kind| matches!(kind.mixer, Some((_, Mixer::Mla(_)))));
    let mut forms = Vec::new();
    for entry in kernel.iter().flat_map(|kernel| &kernel.mla) {
        let target = &entry.target;
        if !model.targets.contains(&target.value) {
            let name = target.value.name();
            diags.push(
                Diagnostic::new(Id::KernelUnused, format!("the model has no target {name}"))
                    .label(&target.span, "nothing would read this table")
                    .context(&spec.model.targets.span, "its targets")
                    .help(format!("add \"{name}\" to `targets`, or delete the table")),
            );
        } else if !is_latent {
            diags.push(
                Diagnostic::new(Id::KernelUnused, "no mixer of this model is `mla`")
                    .label(&entry.header, "nothing would read this table")
                    .help("delete the table"),
            );
        } else {
            let default = MlaForms::default();
            let prefill = entry.prefill.as_ref().map_or(default.prefill, |form| form.value);
            let decode = entry.decode.as_ref().map_or(default.decode, |form| form.value);
            forms.push((target.value, MlaForms { prefill, decode }));
        }
    }
    forms
}
