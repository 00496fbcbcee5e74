//! Reads `mutants.toml`.

use std::path::Path;

use serde::Deserialize;

use super::change::{Change, Mutant, Origin};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    mutant: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    file: Option<String>,
    find: String,
    replace: String,
    breaks: String,
    gate: String,
}

/// The written mutants of a template.
///
/// # Errors
/// A file that cannot be read, two of one name, and a gate that is not known.
pub fn written(templates: &Path, template: &str) -> Result<Vec<Mutant>, String> {
    let path = templates.join(template).join("mutants.toml");
    let bad = |what: String| format!("{}: {what}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|e| bad(e.to_string()))?;
    let file: File = toml::from_str(&text).map_err(|e| bad(e.to_string()))?;
    let mut mutants: Vec<Mutant> = Vec::new();
    for entry in file.mutant {
        if entry.gate != "g1" {
            return Err(bad(format!("`{}`: there is no gate `{}`", entry.name, entry.gate)));
        }
        let file = entry.file.unwrap_or_else(|| format!("{template}.cuh"));
        let change = Change::Replace { file, find: entry.find, replace: entry.replace };
        let mutant = Mutant { name: entry.name, origin: Origin::Written, change, breaks: entry.breaks };
        if mutants.iter().any(|known| known.folder() == mutant.folder()) {
            return Err(bad(format!("two mutants are called `{}`", mutant.name)));
        }
        mutants.push(mutant);
    }
    Ok(mutants)
}
