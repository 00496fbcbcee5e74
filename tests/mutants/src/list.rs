//! The faults, as data: `list/*.toml`.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// What a mutant is expected to come to. Everything but `caught` is a test of the harness itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// The goldens fail.
    #[default]
    Caught,
    /// The goldens pass.
    Missed,
    /// It does not compile.
    Unviable,
    /// Its place is not found.
    NotApplied,
    /// No trial is selected.
    ControlEmpty,
}

/// Which tests must catch a mutant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// The goldens: its cases are goldens.
    #[default]
    Goldens,
    /// The diagnostics: its cases are folders below `tests/ui/`, each of which needs the guard.
    Diagnostics,
    /// Unit tests of the runtime's core: its cases are names of tests.
    CoreUnits,
    /// Unit tests of the formats: its cases are names of tests.
    FormatsUnits,
    /// rustc: its cases are wirings of `tests/compile_fail/cases/`, each of which compiles without the guard.
    Types,
}

impl Suite {
    /// Whether its tests are rustc's own, which are selected by their names and know no results but passed and failed.
    pub fn is_libtest(self) -> bool {
        matches!(self, Self::CoreUnits | Self::FormatsUnits)
    }
}

/// One change of one file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// Relative to the workspace.
    pub file: String,
    /// Stands in the file exactly once; what is between `⟦` and `⟧`, or all of it, is replaced: an expression or whole statements.
    pub find: String,
    /// What takes its place.
    pub replace: String,
    /// It is made for every mutant and for none: it changes nothing, but makes room for the others.
    #[serde(default)]
    pub always: bool,
}

/// One fault.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// A short name, once in all lists.
    pub name: String,
    /// What it breaks.
    pub breaks: String,
    /// Where.
    pub edit: Vec<Edit>,
    /// Goldens that must catch it, each by itself.
    pub cases: Vec<String>,
    /// What the names of the trials contain that may catch it; of goldens, any chunking where nothing is said.
    #[serde(default)]
    pub trials: Vec<String>,
    /// Which tests must catch it.
    #[serde(default)]
    pub suite: Suite,
    /// What must come of it.
    #[serde(default)]
    pub expect: Expect,
    /// The list that it stands in.
    #[serde(skip)]
    pub list: String,
}

impl Mutant {
    /// Whether it changes the compiler.
    pub fn of_compiler(&self) -> bool {
        self.edit.iter().any(|edit| edit.file.starts_with("compiler/"))
    }

    /// Whether it changes what the compiler emits for its cases, so that they are compiled with it.
    pub fn is_lowered(&self) -> bool {
        self.suite == Suite::Goldens && self.of_compiler()
    }

    /// What selects the trials of each case.
    pub fn lines(&self) -> Vec<String> {
        if self.suite.is_libtest() {
            return self.cases.clone();
        }
        let any_chunking = self.trials.is_empty() && self.suite == Suite::Goldens;
        let trials = if any_chunking { "/chunk_".to_owned() } else { self.trials.join(" ") };
        self.cases.iter().map(|case| format!("{case} {trials}")).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutant: Vec<Mutant>,
}

/// Reads every list of a folder.
///
/// # Errors
/// When a list is not as it should be: a message with its name.
pub fn read(folder: &Path) -> Result<Vec<Mutant>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<_> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    paths.sort();
    let mut all: Vec<Mutant> = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let list: List = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        for mutant in list.mutant {
            if all.iter().any(|other| other.name == mutant.name) {
                return Err(format!("{}: two mutants are named {}", path.display(), mutant.name));
            }
            if mutant.cases.is_empty() || mutant.edit.is_empty() {
                return Err(format!("{}: {} has no case or no edit", path.display(), mutant.name));
            }
            if mutant.of_compiler() && !mutant.edit.iter().all(|edit| edit.file.starts_with("compiler/")) {
                return Err(format!("{}: {} changes the compiler and the runtime", path.display(), mutant.name));
            }
            all.push(Mutant { list: name.clone(), ..mutant });
        }
    }
    Ok(all)
}
