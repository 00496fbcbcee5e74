//! `activations` of KERNEL.toml: what the linear layers of the CPU read.

use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::{Ffn, Model, Target};
use crate::spec::{Activations, KernelSpec, ModelSpec};

/// What KERNEL.toml says, f32 where it says nothing.
pub fn read(model: &Model, spec: &ModelSpec, kernel: Option<&KernelSpec>, diags: &mut Diagnostics) -> Activations {
    let mut chosen = Activations::default();
    for entry in kernel.iter().flat_map(|kernel| &kernel.activations) {
        let (target, dtype) = (&entry.target, &entry.dtype);
        if target.value != Target::Cpu {
            let name = target.value.name();
            diags.push(
                Diagnostic::new(Id::KernelUnused, format!("the activations of {name} cannot be chosen"))
                    .label(&dtype.span, "nothing would read this")
                    .help(format!("delete the line: the kernels of {name} say what they read")),
            );
        } else if !model.targets.contains(&Target::Cpu) {
            diags.push(
                Diagnostic::new(Id::KernelUnused, "the model has no target cpu")
                    .label(&dtype.span, "nothing would read this")
                    .context(&spec.model.targets.span, "its targets")
                    .help("add \"cpu\" to `targets`, or delete the line"),
            );
        } else if let Some(name) = experts(model).filter(|_| dtype.value == Activations::Int8) {
            let diagnostic = Diagnostic::new(Id::KernelGap, "no kernel runs experts with activations int8 on cpu");
            let diagnostic = diagnostic.label(&dtype.span, "chosen for every linear layer");
            let stated = spec.ffns.iter().find(|(stated, _)| stated.value == name);
            let diagnostic = match stated {
                Some((stated, _)) => diagnostic.context(&stated.span, "its linear layers are experts"),
                None => diagnostic,
            };
            diags.push(diagnostic.help("delete the line, or write \"f32\""));
        } else {
            chosen = dtype.value;
        }
    }
    chosen
}

/// The first feed-forward of experts.
fn experts(model: &Model) -> Option<&str> {
    model
        .kinds
        .iter()
        .filter_map(|kind| kind.ffn.as_ref())
        .find_map(|(name, ffn)| matches!(ffn, Ffn::Moe(_)).then_some(name.as_str()))
}
