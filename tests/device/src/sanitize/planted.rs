//! Faults that are planted in templates, each in a folder of its own.

use std::path::Path;

use crate::mutants::{Change, apply};
use crate::template::Template;

use super::settings::Fault;

/// What a fault does to the text of its template.
pub fn change(fault: &Fault) -> Change {
    let file = fault.file.clone().unwrap_or_else(|| format!("{}.cuh", fault.template));
    Change::Replace { file, find: fault.find.clone(), replace: fault.replace.clone() }
}

/// Plants a fault in `folder`, and gives the template as it stands there.
///
/// # Errors
/// A text that does not stand exactly once in its file, and files that cannot be copied.
pub fn plant(fault: &Fault, templates: &Path, template: &Template, folder: &Path) -> Result<Template, String> {
    if folder.exists() {
        // A folder of an earlier run may hold files that there are no more.
        std::fs::remove_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    apply(&change(fault), templates, template, folder).map_err(|e| format!("{}: {e}", fault.name))
}
