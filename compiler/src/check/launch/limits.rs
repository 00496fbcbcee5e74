//! `[<target>.limits]` of KERNEL.toml: the largest step that the plan of a target is for.

use super::super::size;
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::{Maxima, Target};
use crate::spec::{KernelSpec, LimitsEntry, ModelSpec};

/// The largest step of each target of a model, and the tables of KERNEL.toml that no target reads.
pub fn maxima(spec: &ModelSpec, kernel: Option<&KernelSpec>, diags: &mut Diagnostics) -> Vec<(Target, Maxima)> {
    let entries: &[LimitsEntry] = kernel.map_or(&[], |kernel| &kernel.limits);
    for entry in entries {
        let (target, name) = (entry.target.value, entry.target.value.name());
        if !spec.model.targets.iter().any(|t| t.value == target) {
            diags.push(
                Diagnostic::new(Id::KernelUnused, format!("the model has no target {name}"))
                    .label(&entry.target.span, "nothing would read this table")
                    .context(&spec.model.targets.span, "its targets")
                    .help(format!("add \"{name}\" to `targets`, or delete the table")),
            );
        } else if !target.launches() {
            diags.push(
                Diagnostic::new(Id::KernelUnused, format!("nothing on {name} has limits"))
                    .label(&entry.header, "its kernels are functions: nothing is launched, and indices have 64 bits")
                    .help("delete the table"),
            );
        }
    }
    let of = |target: Target| {
        let mut maxima = Maxima::default_for(size(&spec.model.max_position_embeddings) as u64);
        if let Some(entry) = entries.iter().find(|e| e.target.value == target) {
            for (limit, stated) in [
                (&mut maxima.step_tokens, &entry.step_tokens),
                (&mut maxima.sequences, &entry.sequences),
                (&mut maxima.page_size, &entry.page_size),
                (&mut maxima.pages, &entry.pages),
            ] {
                *limit = stated.as_ref().map_or(*limit, |stated| stated.value);
            }
        }
        (target, maxima)
    };
    spec.model.targets.iter().map(|target| of(target.value)).collect()
}
