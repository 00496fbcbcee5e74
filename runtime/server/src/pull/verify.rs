//! SHA-256 of what was fetched, computed while it is written.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

use crate::Failure;

/// A bar on stderr over a known number of bytes; invisible where stderr is no terminal.
pub(super) fn bar(bytes: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{wide_bar}] {bytes}/{total_bytes} {bytes_per_sec} ({eta})");
    let bar = ProgressBar::new(bytes).with_message(what.to_owned());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The digest of everything that was copied.
#[derive(Default)]
pub(super) struct Digester(Sha256);

impl Digester {
    /// Copies everything.
    pub(super) fn copy(&mut self, from: &mut impl Read, to: &mut impl Write, bar: &ProgressBar) -> std::io::Result<()> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            self.0.update(&buffer[..count]);
            to.write_all(&buffer[..count])?;
            bar.inc(count as u64);
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// The digest, in hexadecimal.
    pub(super) fn hexadecimal(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Copies everything, and returns the digest of what was copied, in hexadecimal.
pub(super) fn copy(from: &mut impl Read, to: &mut impl Write, bar: &ProgressBar) -> std::io::Result<String> {
    let mut digest = Digester::default();
    digest.copy(from, to, bar)?;
    Ok(digest.hexadecimal())
}

/// What is wrong with a file's digest; `None` when it is the expected one.
pub(super) fn check_file(path: &Path, sha256: &str) -> Result<Option<String>, Failure> {
    let named = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut file = File::open(path).map_err(named)?;
    let bar = bar(file.metadata().map_err(named)?.len(), "checking");
    let found = copy(&mut file, &mut std::io::sink(), &bar).map_err(named)?;
    Ok(mismatch(&path.display().to_string(), &found, sha256))
}

/// The message about a digest that is not the expected one.
pub(super) fn mismatch(what: &str, found: &str, expected: &str) -> Option<String> {
    let differ = !found.eq_ignore_ascii_case(expected);
    differ.then(|| format!("the sha256 of {what} is {found}, and must be {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_sha256_over_all_buffers() {
        let (mut out, bar) = (Vec::new(), ProgressBar::hidden());
        let abc = copy(&mut &b"abc"[..], &mut out, &bar).unwrap();
        assert_eq!(abc, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(out, b"abc");
        let long = vec![b'a'; 3_000_000];
        let whole: String = Sha256::digest(&long).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(copy(&mut &long[..], &mut std::io::sink(), &bar).unwrap(), whole);
    }

    #[test]
    fn a_wrong_digest_is_told_with_both() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "abc").unwrap();
        let right = "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD";
        assert_eq!(check_file(&path, right).unwrap(), None);
        let wrong = check_file(&path, "00").unwrap().unwrap();
        assert!(
            wrong.ends_with("is ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, and must be 00"),
            "{wrong}"
        );
        assert!(check_file(&dir.path().join("g"), "00").is_err());
    }
}
