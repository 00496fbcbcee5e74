//! Where weights are kept: one folder per model.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Failure;

/// The folder of everything that `pull` fetches.
#[derive(Clone, Debug)]
pub struct Home(PathBuf);

impl Home {
    /// `$TENON_HOME`, or else `$XDG_DATA_HOME/tenon`, or else `~/.local/share/tenon`.
    pub fn find() -> Result<Self, Failure> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Failure> {
        let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(home) = set("TENON_HOME") {
            return Ok(Self(home));
        }
        // The XDG specification asks to ignore relative paths.
        if let Some(data) = set("XDG_DATA_HOME").filter(|path| path.is_absolute()) {
            return Ok(Self(data.join("tenon")));
        }
        match set("HOME") {
            Some(home) => Ok(Self(home.join(".local/share/tenon"))),
            None => Err("neither TENON_HOME nor HOME is set, so there is no place for weights: set TENON_HOME".into()),
        }
    }

    /// A home at a given place.
    #[cfg(test)]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder of a model's weights. It holds complete files only.
    pub fn model(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The folder for what is not complete yet, on the same file system.
    pub fn downloads(&self, name: &str) -> PathBuf {
        self.0.join(".downloads").join(name)
    }
}

/// The name under which a file is written until it is whole.
pub fn partial(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

/// True when a folder has something in it.
pub fn is_filled(dir: &Path) -> bool {
    std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_taken_in_order() {
        let home = |set: &[(&str, &str)]| {
            let found = Home::from_variables(|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()));
            found.map(|home| home.model("m")).map_err(|e| e.to_string())
        };
        let all = [("TENON_HOME", "/t"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(home(&all), Ok("/t/m".into()));
        assert_eq!(home(&all[1..]), Ok("/x/tenon/m".into()));
        assert_eq!(home(&[("XDG_DATA_HOME", "x"), ("HOME", "/h")]), Ok("/h/.local/share/tenon/m".into()));
        assert_eq!(home(&[("TENON_HOME", ""), ("HOME", "/h")]), Ok("/h/.local/share/tenon/m".into()));
        assert!(home(&[]).unwrap_err().contains("set TENON_HOME"));
    }
}
