//! A mutant, and how it changes the text of a template.

use std::path::{Path, PathBuf};

use tenon_device_cases::Param;

use crate::instance::Instance;
use crate::template::Template;

use super::verdict::Gate;

/// A fault.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Its name, unique among those of a template.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// What is done to the text.
    pub change: Change,
    /// The guarantee that it breaks.
    pub breaks: String,
    /// The gate that a written one names: another alone is not enough.
    pub gate: Option<Gate>,
    /// Which of the faults known from the field it is.
    pub field: Option<String>,
    /// The reference makes the same mistake, so that gate G1 tells nothing.
    pub shared: bool,
    /// The goldens that must notice, by the beginning of their names; empty where none are run.
    pub goldens: String,
}

/// Where a mutant comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// `mutants.toml`
    Written,
    /// A barrier that is removed.
    Barrier,
    /// A bound that is one further.
    Bound,
    /// A sum that is kept in fewer bits.
    Accumulator,
    /// A number of the instance that is one step larger or smaller.
    Parameter,
    /// The test of the harness itself.
    SelfTest,
}

/// What is done to the text of a template.
#[derive(Clone, Debug)]
pub enum Change {
    /// A text that stands exactly once in a file is another.
    Replace {
        /// Under the folder of the template, or under that of all templates where it starts with `include/`.
        file: String,
        /// The text.
        find: String,
        /// The other.
        replace: String,
    },
    /// These bytes of a file are a text.
    Splice {
        /// As above.
        file: String,
        /// From where.
        at: usize,
        /// How many.
        len: usize,
        /// The text.
        replace: String,
    },
    /// A parameter of the instance has its next value, while the launch remains as it was.
    Step {
        /// The parameter.
        name: String,
        /// The one before instead.
        back: bool,
        /// What its values are multiples of.
        by: u64,
        /// Its values, where they are listed.
        values: Vec<u64>,
    },
}

impl Mutant {
    /// One that no template names.
    pub fn made(name: String, origin: Origin, change: Change, breaks: String) -> Self {
        Self { name, origin, change, breaks, gate: None, field: None, shared: false, goldens: String::new() }
    }

    /// Whether a static_assert of the template is what should stop it.
    pub fn may_be_refused(&self) -> bool {
        self.gate == Some(Gate::Build) || !matches!(self.origin, Origin::Written | Origin::SelfTest)
    }

    /// The name of its folder. Compilers pass paths through shells, so it has only characters that mean nothing there.
    pub fn folder(&self) -> String {
        self.name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
    }
}

impl Change {
    /// The file that changes, under the folder of all templates, and its text. `None` where no file does.
    ///
    /// # Errors
    /// How often the text stands there, where that is not once.
    pub fn text(&self, templates: &Path, template: &str) -> Result<Option<(PathBuf, String)>, String> {
        let (file, at, len, replace) = match self {
            Self::Step { .. } => return Ok(None),
            Self::Replace { file, find, replace } => (file, read(templates, template, file)?.find(find), find.len(), replace),
            Self::Splice { file, at, len, replace } => (file, Some(*at), *len, replace),
        };
        let text = read(templates, template, file)?;
        if let Self::Replace { find, .. } = self {
            let count = if find.is_empty() { 0 } else { text.matches(find.as_str()).count() };
            if count != 1 {
                return Err(format!("`{find}` stands {count} times in {file}"));
            }
        }
        let at = at.filter(|at| text.is_char_boundary(*at) && text.is_char_boundary(at + len));
        let at = at.ok_or_else(|| format!("{file} has no such place"))?;
        Ok(Some((place(template, file), [&text[..at], replace, &text[at + len..]].concat())))
    }

    /// The instance as the mutant has it. Its name remains.
    pub fn instance(&self, instance: &Instance) -> Instance {
        let mut changed = instance.clone();
        if let Self::Step { name, back, by, values } = self {
            for (param, value) in &mut changed.params.0 {
                if let (true, Param::Int(n)) = (param == name, value) {
                    *n = if *back { before(*n, *by, values) } else { next(*n, *by, values) };
                }
            }
        }
        changed
    }
}

/// The value after this one: of a list the next, where there is one.
fn next(n: u64, by: u64, values: &[u64]) -> u64 {
    listed(n, values, |at| at + 1).unwrap_or(n + by)
}

/// The value before this one. What has none before it stays, and is then the same machine code.
fn before(n: u64, by: u64, values: &[u64]) -> u64 {
    listed(n, values, |at| at.wrapping_sub(1)).unwrap_or(if n > by { n - by } else { n })
}

fn listed(n: u64, values: &[u64], to: impl Fn(usize) -> usize) -> Option<u64> {
    let at = values.iter().position(|value| *value == n)?;
    values.get(to(at)).copied()
}

/// Where a file lies under the folder of all templates.
pub fn place(template: &str, file: &str) -> PathBuf {
    if file.starts_with("include/") { PathBuf::from(file) } else { Path::new(template).join(file) }
}

/// The text of a file of a template.
pub fn read(templates: &Path, template: &str, file: &str) -> Result<String, String> {
    let path = templates.join(place(template, file));
    std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
}

/// A folder of its own for a mutant: the template's and `include`, with the change. Gives the template as it stands there.
pub fn apply(change: &Change, templates: &Path, template: &Template, folder: &Path) -> Result<Template, String> {
    let changed = change.text(templates, &template.name)?;
    let io = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    for part in [template.name.as_str(), "include"] {
        let (from, to) = (templates.join(part), folder.join(part));
        std::fs::create_dir_all(&to).map_err(|e| io(&to, e))?;
        for entry in std::fs::read_dir(&from).map_err(|e| io(&from, e))? {
            let path = entry.map_err(|e| io(&from, e))?.path();
            if let (true, Some(name)) = (path.is_file(), path.file_name()) {
                std::fs::copy(&path, to.join(name)).map_err(|e| io(&path, e))?;
            }
        }
    }
    if let Some((file, text)) = changed {
        std::fs::write(folder.join(&file), text).map_err(|e| io(&file, e))?;
    }
    Ok(Template { folder: folder.join(&template.name), ..template.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_must_stand_exactly_once() {
        let folder = std::env::temp_dir().join(format!("tenon-change-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("op")).unwrap();
        std::fs::write(folder.join("op/op.cuh"), "a b b c").unwrap();
        let text = |find: &str| {
            let change = Change::Replace { file: "op.cuh".to_owned(), find: find.to_owned(), replace: "x".to_owned() };
            change.text(&folder, "op")
        };
        assert_eq!(text("a").unwrap().unwrap(), (PathBuf::from("op/op.cuh"), "x b b c".to_owned()));
        assert_eq!(text("b").unwrap_err(), "`b` stands 2 times in op.cuh");
        assert_eq!(text("d").unwrap_err(), "`d` stands 0 times in op.cuh");
        assert_eq!(text("").unwrap_err(), "`` stands 0 times in op.cuh");
        let splice = Change::Splice { file: "op.cuh".to_owned(), at: 4, len: 1, replace: "y".to_owned() };
        assert_eq!(splice.text(&folder, "op").unwrap().unwrap().1, "a b y c");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_step_goes_to_the_value_beside() {
        assert_eq!((next(64, 8, &[]), before(64, 8, &[])), (72, 56));
        assert_eq!((next(64, 1, &[128, 64, 32]), before(64, 1, &[128, 64, 32])), (32, 128));
        assert_eq!((next(32, 1, &[128, 64, 32]), before(128, 1, &[128, 64, 32])), (33, 127));
        assert_eq!((next(128, 1, &[128]), before(8, 8, &[])), (129, 8));
    }
}
