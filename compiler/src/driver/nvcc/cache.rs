//! The cache of machine code: a folder per key, and the key is everything that the result depends on.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::{fs, str};

use super::Job;

/// The machine code in a folder of the cache.
pub(super) const CODE: &str = "code.cubin";
/// What ptxas said; written last, so that its presence says that the entry is whole.
const REPORT: &str = "ptxas.txt";

/// The name of a job's folder: 128 bits of a hash over the version of nvcc, its flags with the macros that they define, the source, and
/// every header that the source reaches in the job's folders.
pub(super) fn key(version: &str, flags: &[String], job: &Job) -> io::Result<String> {
    let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
    "second".hash(&mut hashers[1]);
    let headers = headers(job)?;
    for hasher in &mut hashers {
        (version, flags, &job.source, &headers).hash(hasher);
    }
    Ok(format!("{:016x}{:016x}", hashers[0].finish(), hashers[1].finish()))
}

/// The names and texts of all headers that are reached, in the order of their names. Those of the toolkit are not in the job's folders:
/// the version of nvcc stands for them.
fn headers(job: &Job) -> io::Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    let mut open: Vec<String> = included(&job.source);
    while let Some(name) = open.pop() {
        let Some(path) = job.include.iter().map(|folder| folder.join(&name)).find(|path| path.is_file()) else { continue };
        if seen.insert(path.clone()) {
            let text = fs::read_to_string(&path)?;
            open.extend(included(&text));
            texts.push((name, text));
        }
    }
    texts.sort();
    Ok(texts)
}

/// The names between quotes of `#include` lines.
fn included(text: &str) -> Vec<String> {
    let quoted = |line: &str| {
        Some(line.trim_start().strip_prefix("#include")?.trim_start().strip_prefix('"')?.split('"').next()?.to_owned())
    };
    text.lines().filter_map(quoted).collect()
}

/// A whole entry.
pub(super) fn read(folder: &Path) -> Option<(Vec<u8>, String)> {
    let report = fs::read_to_string(folder.join(REPORT)).ok()?;
    Some((fs::read(folder.join(CODE)).ok()?, report))
}

/// Makes an entry whole whose code is written.
pub(super) fn write(folder: &Path, report: &str) -> io::Result<()> {
    fs::write(folder.join(REPORT), report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(folder: &Path, source: &str) -> Job {
        let include = vec![folder.to_owned()];
        Job { name: "k".to_owned(), source: source.to_owned(), include, max_spill_bytes: 0, dynamic_shared_bytes: 0 }
    }

    #[test]
    fn a_key_changes_with_what_the_result_depends_on() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.cuh"), "#include \"b.cuh\"\n#include <cuda_bf16.h>\n").unwrap();
        fs::write(at("b.cuh"), "int b;").unwrap();
        fs::write(at("unreached.cuh"), "int c;").unwrap();
        let one = job(folder.path(), "#include \"a.cuh\"\nint main;");
        let key = |version: &str, flags: &[&str], job: &Job| {
            key(version, &flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>(), job)
        };
        let first = key("13.0", &["-O3"], &one).unwrap();
        assert_eq!(first, key("13.0", &["-O3"], &one).unwrap());
        assert_ne!(first, key("13.1", &["-O3"], &one).unwrap());
        assert_ne!(first, key("13.0", &["-O2"], &one).unwrap());
        assert_ne!(first, key("13.0", &["-O3", "-DCHECKED"], &one).unwrap());
        assert_ne!(first, key("13.0", &["-O3"], &job(folder.path(), "int main;")).unwrap());
        fs::write(at("unreached.cuh"), "int d;").unwrap();
        assert_eq!(first, key("13.0", &["-O3"], &one).unwrap(), "a header that nothing includes");
        fs::write(at("b.cuh"), "int changed;").unwrap();
        assert_ne!(first, key("13.0", &["-O3"], &one).unwrap(), "a header of a header");
    }

    #[test]
    fn an_entry_without_its_report_is_not_whole() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(CODE), b"half").unwrap();
        assert_eq!(read(folder.path()), None);
        write(folder.path(), "ptxas info").unwrap();
        assert_eq!(read(folder.path()), Some((b"half".to_vec(), "ptxas info".to_owned())));
    }
}
