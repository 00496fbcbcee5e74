//! In which formats a checkpoint stores the weights of a program.

use std::collections::BTreeSet;

use tenon_compiler::architecture::Role;
use tenon_compiler::program::Program;
use tenon_core::weights::Checkpoint;
use tenon_formats::StorageFormat;

/// The format of the weight of a role, in a layer or outside of all, by the checkpoint's own header.
///
/// # Errors
/// When the program or the checkpoint has no such weight, or its tensors are of several formats.
pub fn stored(program: &Program<'_>, checkpoint: &Checkpoint, role: Role, layer: Option<usize>) -> Result<StorageFormat, String> {
    let kind = layer.map(|layer| program.model.pattern[layer]);
    let tensor = program.tensors.iter().find(|tensor| tensor.role == role && tensor.kind == kind);
    let tensor = tensor.ok_or_else(|| format!("the model has no {}", role.field()))?;
    let mut formats = BTreeSet::new();
    for name in &tensor.names {
        let name = name.replace("{layer}", &layer.unwrap_or(0).to_string()).replace("{expert}", "0");
        let entry = checkpoint.tensor(&name).ok_or_else(|| format!("the checkpoint has no {name}"))?;
        formats.insert(entry.format.known().ok_or_else(|| format!("{name} is stored as {}", entry.format))?.as_str());
    }
    match Vec::from_iter(formats).as_slice() {
        [one] => StorageFormat::parse(one).ok_or_else(|| format!("{one} is no format")),
        several => Err(format!("tensors of {} are stored as {several:?}", role.field())),
    }
}
