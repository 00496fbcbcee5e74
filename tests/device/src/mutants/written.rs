//! Reads `mutants.toml`.

use std::path::Path;

use serde::Deserialize;

use super::change::{Change, Mutant, Origin};
use super::verdict::Gate;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    mutant: Vec<Entry>,
    #[serde(default)]
    survivor: Vec<Survivor>,
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
    field: Option<String>,
    #[serde(default)]
    shared: bool,
    #[serde(default)]
    goldens: String,
}

/// Automatic mutants that no case can tell from the kernel, though the machine code is another, and why that is so.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survivor {
    /// Under the folder of the template, or under that of all templates where it starts with `include/`.
    pub file: String,
    /// The line that is changed, without the blanks around it. All changes of one operator in such lines are meant.
    pub line: String,
    /// The operator.
    pub origin: Origin,
    /// Why none could notice.
    pub because: String,
}

impl Survivor {
    /// Whether it speaks of this mutant.
    pub fn matches(&self, mutant: &Mutant, templates: &Path, template: &str) -> bool {
        let Change::Splice { file, at, .. } = &mutant.change else { return false };
        if mutant.origin != self.origin || *file != self.file {
            return false;
        }
        let text = super::change::read(templates, template, file).unwrap_or_default();
        let start = text.get(..*at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        text.get(start..).and_then(|rest| rest.lines().next()).is_some_and(|line| line.trim() == self.line)
    }
}

fn file(templates: &Path, template: &str) -> Result<(String, File), String> {
    let path = templates.join(template).join("mutants.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok((path.display().to_string(), file))
}

/// The written mutants of a template.
///
/// # Errors
/// A file that cannot be read, two of one name, and a gate that is not known.
pub fn written(templates: &Path, template: &str) -> Result<Vec<Mutant>, String> {
    let (path, file) = file(templates, template)?;
    let mut mutants: Vec<Mutant> = Vec::new();
    for entry in file.mutant {
        let bad = |what: String| format!("{path}: `{}`: {what}", entry.name);
        let gate = Gate::of(&entry.gate).ok_or_else(|| bad(format!("there is no gate `{}`", entry.gate)))?;
        if (gate == Gate::Goldens) == entry.goldens.is_empty() {
            return Err(bad("the gate `goldens` needs the beginning of a golden's name, and no other has one".to_owned()));
        }
        let file = entry.file.unwrap_or_else(|| format!("{template}.cuh"));
        let change = Change::Replace { file, find: entry.find, replace: entry.replace };
        let made = Mutant::made(entry.name, Origin::Written, change, entry.breaks);
        let mutant = Mutant { gate: Some(gate), field: entry.field, shared: entry.shared, goldens: entry.goldens, ..made };
        if mutants.iter().any(|known| known.folder() == mutant.folder()) {
            return Err(format!("{path}: two mutants are called `{}`", mutant.name));
        }
        mutants.push(mutant);
    }
    Ok(mutants)
}

/// The automatic mutants of a template that survive, each with the reason.
///
/// # Errors
/// A file that cannot be read.
pub fn survivors(templates: &Path, template: &str) -> Result<Vec<Survivor>, String> {
    Ok(file(templates, template)?.1.survivor)
}
