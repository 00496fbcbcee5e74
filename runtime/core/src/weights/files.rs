//! Files, mapped into memory: nothing of a file is copied, whatever its size.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use memmap2::Mmap;

use super::LoadError;

/// Maps a file.
pub(super) fn map(path: &Path) -> Result<Mmap, LoadError> {
    // Asked before it is opened: opening a pipe waits for its other end.
    if !fs::metadata(path).map_err(|e| unreadable(path, e))?.is_file() {
        return Err(LoadError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(|e| unreadable(path, e))?;
    // SAFETY: the map is read-only, and its bytes are only ever read as numbers or checked text, so no invariant of ours rests
    // on them. That no other process changes or truncates the file meanwhile is the documented condition of `Checkpoint`.
    unsafe { Mmap::map(&file) }.map_err(|e| unreadable(path, e))
}

/// Names in a directory, sorted.
pub(super) fn names(dir: &Path) -> Result<Vec<std::ffi::OsString>, LoadError> {
    let entries =
        fs::read_dir(dir).and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>, _>>());
    let mut names = entries.map_err(|e| unreadable(dir, e))?;
    names.sort_unstable();
    Ok(names)
}

/// True for a directory; an error where there is nothing.
pub(super) fn is_dir(path: &Path) -> Result<bool, LoadError> {
    Ok(fs::metadata(path).map_err(|e| unreadable(path, e))?.is_dir())
}

pub(super) fn has_extension(name: &OsStr, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

fn unreadable(path: &Path, problem: std::io::Error) -> LoadError {
    let path = path.to_owned();
    if problem.kind() == ErrorKind::NotFound { LoadError::NotFound { path } } else { LoadError::Io { path, problem } }
}
