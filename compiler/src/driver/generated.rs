//! The files under `generated/`: compared with what the compiler emits, and brought up to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use super::{entries, named};
use crate::diff::LineDiff;
use crate::emit::File;

/// Lines of hunks that a message shows of one file.
const MOST_LINES: usize = 12;

/// How a file on disk differs from what the compiler emits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Relative to the crate of models.
    pub path: String,
    /// In which way.
    pub kind: DifferenceKind,
}

/// In which way a generated file differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// It is not there.
    Missing,
    /// It says something else: the first hunks, `-` on disk and `+` as emitted, and how many lines more.
    Stale(String),
    /// No spec makes it.
    Orphan,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            DifferenceKind::Missing => write!(f, "{} is missing", self.path),
            DifferenceKind::Orphan => write!(f, "{} comes from no spec", self.path),
            DifferenceKind::Stale(diff) => write!(f, "{} differs:\n{diff}", self.path),
        }
    }
}

/// Folders of the crate of models that hold generated files and nothing else.
const FOLDERS: [&str; 2] = ["src", "kernels"];

/// The files under `<into>/src` and `<into>/kernels`, by their path relative to `into`. Nothing where there is no such folder.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn generated(into: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    FOLDERS.iter().try_for_each(|folder| walk(&into.join(folder), into, &mut found))?;
    Ok(found)
}

/// Compares the files under `<into>/src` with what was emitted, by content and as a set.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn compare(files: &[File], into: &Path) -> io::Result<Vec<Difference>> {
    let mut on_disk = generated(into)?;
    let mut differences = Vec::new();
    for file in files {
        let kind = match on_disk.remove(&file.path) {
            None => DifferenceKind::Missing,
            Some(text) if text == file.text.as_bytes() => continue,
            Some(text) => DifferenceKind::Stale(LineDiff::new(&String::from_utf8_lossy(&text), &file.text).excerpt(MOST_LINES)),
        };
        differences.push(Difference { path: file.path.clone(), kind });
    }
    differences.extend(on_disk.into_keys().map(|path| Difference { path, kind: DifferenceKind::Orphan }));
    differences.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(differences)
}

fn walk(folder: &Path, root: &Path, into: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for path in entries(folder)? {
        if path.is_dir() {
            walk(&path, root, into)?;
        } else {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let parts: Vec<_> = relative.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
            into.insert(parts.join("/"), fs::read(&path).map_err(|e| named(e, &path))?);
        }
    }
    Ok(())
}

/// Brings `<into>/src` to what was emitted: writes what is missing or stale, removes orphans.
///
/// # Errors
/// A file that cannot be written or removed; the error names it.
pub fn write(files: &[File], into: &Path, differences: &[Difference]) -> io::Result<()> {
    for difference in differences {
        let path = into.join(&difference.path);
        match difference.kind {
            DifferenceKind::Orphan => {
                fs::remove_file(&path).map_err(|e| named(e, &path))?;
                // A folder of a model that is gone goes with its last file; one that still holds something stays.
                if let Some(folder) = path.parent() {
                    let _ = fs::remove_dir(folder);
                }
            }
            DifferenceKind::Missing | DifferenceKind::Stale(_) => {
                let file = files.iter().find(|f| f.path == difference.path).expect("a difference names an emitted file");
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder).map_err(|e| named(e, folder))?;
                }
                fs::write(&path, &file.text).map_err(|e| named(e, &path))?;
            }
        }
    }
    Ok(())
}
