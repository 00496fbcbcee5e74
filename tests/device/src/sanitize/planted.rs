//! Faults that are planted in templates: the changed header stands in a folder of its own, before the template's among those of headers.

use std::path::Path;

use crate::mutants::Change;
use crate::template::Template;

use super::settings::Fault;

/// What a fault does to the header of its template.
pub fn change(fault: &Fault) -> Change {
    Change::Replace { file: format!("{}.cuh", fault.template), find: fault.find.clone(), replace: fault.replace.clone() }
}

/// Writes the changed header of a template to `folder`.
///
/// # Errors
/// A text that does not stand exactly once in the header, and files that cannot be written.
pub fn plant(fault: &Fault, templates: &Path, template: &Template, folder: &Path) -> Result<(), String> {
    let changed = change(fault).text(templates, &template.name).map_err(|e| format!("{}: {e}", fault.name))?;
    let (_, text) = changed.ok_or_else(|| format!("{}: it changes no file", fault.name))?;
    let path = folder.join(format!("{}.cuh", template.name));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    written.map_err(|e| format!("{}: {e}", path.display()))
}
