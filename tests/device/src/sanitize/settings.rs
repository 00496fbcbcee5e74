//! Reads `sanitize.toml`: what kernels read of their outputs, and the faults that every run must see.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::tool::Tool;

/// What `sanitize.toml` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What a kernel may read of memory that it also writes.
    #[serde(default)]
    pub reads: Vec<Reads>,
    /// What a tool is not run on.
    #[serde(default)]
    pub skip: Vec<Skip>,
    /// Faults that are planted.
    #[serde(default)]
    pub fault: Vec<Fault>,
}

/// A template that a tool is not run on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// The tool.
    pub tool: Tool,
    /// The template.
    pub template: String,
    /// Why not, for every report.
    pub why: String,
}

/// An argument that a kernel reads although it may write it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reads {
    /// The template.
    pub template: String,
    /// The argument.
    pub arg: String,
    /// Only where these scalar arguments have these values.
    #[serde(default)]
    pub when: BTreeMap<String, i64>,
    /// Why it is read.
    pub why: String,
}

/// Who must see a planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watcher {
    /// memcheck, in the release build.
    Memcheck,
    /// racecheck, in the release build.
    Racecheck,
    /// synccheck, in the release build.
    Synccheck,
    /// initcheck, in the release build.
    Initcheck,
    /// The build with assertions, under memcheck.
    DeviceAsserts,
}

impl Watcher {
    /// All of them: each must have a fault.
    pub const ALL: [Self; 5] = [Self::Memcheck, Self::Racecheck, Self::Synccheck, Self::Initcheck, Self::DeviceAsserts];

    /// The tool that its fault runs under.
    pub fn tool(self) -> Tool {
        match self {
            Self::Memcheck | Self::DeviceAsserts => Tool::Memcheck,
            Self::Racecheck => Tool::Racecheck,
            Self::Synccheck => Tool::Synccheck,
            Self::Initcheck => Tool::Initcheck,
        }
    }

    /// As `sanitize.toml` and reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeviceAsserts => "device-asserts",
            other => other.tool().name(),
        }
    }
}

/// A fault that is planted in a template: a text that stands exactly once in its header is another.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Its name.
    pub name: String,
    /// Who must see it.
    pub watcher: Watcher,
    /// In which template.
    pub template: String,
    /// The text.
    pub find: String,
    /// The other.
    pub replace: String,
    /// What must stand in the report of the tool, or of the driver.
    pub shows: String,
    /// What is wrong about it.
    pub why: String,
}

/// Reads a file, of which every watcher must have a fault.
///
/// # Errors
/// A file that cannot be read, faults of one name, a watcher without a fault.
pub fn settings(path: &Path) -> Result<Settings, String> {
    let bad = |what: String| format!("{}: {what}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
    let settings: Settings = toml::from_str(&text).map_err(|e| bad(e.to_string()))?;
    for watcher in Watcher::ALL {
        if !settings.fault.iter().any(|fault| fault.watcher == watcher) {
            return Err(bad(format!("there is no fault that {} must see", watcher.name())));
        }
    }
    for (at, fault) in settings.fault.iter().enumerate() {
        if fault.shows.is_empty() {
            return Err(bad(format!("`{}` does not say what its report has", fault.name)));
        }
        if settings.fault[..at].iter().any(|known| known.name == fault.name) {
            return Err(bad(format!("two faults are called `{}`", fault.name)));
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn what_the_file_says_is_true_of_the_templates() {
        let settings = settings(&root().join("tests/device/sanitize.toml")).unwrap();
        let templates = Template::all(&root().join("kernel-templates")).unwrap();
        for read in &settings.reads {
            let template = templates.iter().find(|t| t.name == read.template).unwrap_or_else(|| panic!("{}", read.template));
            let arg =
                template.args.iter().find(|a| a.name == read.arg).unwrap_or_else(|| panic!("{} {}", read.template, read.arg));
            assert!(arg.ty.ends_with('*') && !arg.ty.starts_with("const "), "{} {} is no output", read.template, read.arg);
            assert!(!read.why.is_empty(), "{} {}", read.template, read.arg);
            for name in read.when.keys() {
                assert!(template.args.iter().any(|a| a.name == *name && a.ty == "int"), "{} {name}", read.template);
            }
        }
        for skip in &settings.skip {
            assert!(templates.iter().any(|t| t.name == skip.template) && !skip.why.is_empty(), "{}", skip.template);
        }
        for fault in &settings.fault {
            let template = templates.iter().find(|t| t.name == fault.template).unwrap_or_else(|| panic!("{}", fault.name));
            let change = super::super::planted::change(fault).text(&root().join("kernel-templates"), &template.name);
            assert!(matches!(change, Ok(Some(_))), "{}: {change:?}", fault.name);
            assert!(!fault.why.is_empty(), "{}", fault.name);
        }
    }

    #[test]
    fn every_watcher_must_have_a_fault() {
        let path = std::env::temp_dir().join(format!("tenon-sanitize-{}.toml", std::process::id()));
        let fault = |watcher: &str, name: &str| {
            format!(
                "[[fault]]\nname = \"{name}\"\nwatcher = \"{watcher}\"\ntemplate = \"scale\"\nfind = \"a\"\nreplace = \"b\"\n\
                 shows = \"c\"\nwhy = \"d\"\n"
            )
        };
        let mut text: String = Watcher::ALL[..4].iter().map(|w| fault(w.name(), w.name())).collect();
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            settings(&path)
        };
        assert!(read(&text).unwrap_err().ends_with("there is no fault that device-asserts must see"));
        text += &fault("device-asserts", "asserts");
        assert_eq!(read(&text).unwrap().fault.len(), 5);
        text += &fault("memcheck", "memcheck");
        assert!(read(&text).unwrap_err().ends_with("two faults are called `memcheck`"));
        assert!(read(&text.replace("shows = \"c\"", "shows = \"\"")).is_err());
        assert!(read(&text.replace("why", "reason")).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
