//! The `tenon` binary, as it would be run from a shell.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use tenon_compiler::diagnostic::{Format, Id};

use tenon_diagnostics::case::{Case, check};
use tenon_diagnostics::checkpoint;

/// Runs `tenon --root ROOT ARGUMENTS`.
pub fn tenon(root: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(&*BINARY);
    command.arg("--root").arg(root).args(arguments).env_remove("CLICOLOR_FORCE");
    command.output().unwrap_or_else(|e| panic!("{}: {e}", BINARY.display()))
}

/// Built into the folder that holds this test, so that it is never older than the compiler that the other tests see.
static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.parent().and_then(Path::parent).expect("a test stands in <target>/<profile>/deps");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "tenon-compiler", "--bin", "tenon", "--target-dir"]);
    build.arg(profile.parent().expect("a profile stands in a target folder"));
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let output = build.output().unwrap_or_else(|e| panic!("cargo build: {e}"));
    assert!(output.status.success(), "cargo build: {}", String::from_utf8_lossy(&output.stderr));
    profile.join(format!("tenon{}", std::env::consts::EXE_SUFFIX))
});

/// `tenon explain ID` prints the page, and `tenon explain` lists every id.
pub fn explain() -> Result<(), String> {
    let run = |arguments: &[&str]| {
        let output = tenon(Path::new("nowhere"), arguments);
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for id in Id::ALL {
        if run(&["explain", id.as_str()]) != (true, format!("{}\n", id.page().trim_end())) {
            return Err(format!("`tenon explain {id}` does not print the page"));
        }
    }
    let (_, list) = run(&["explain"]);
    let listed: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let ids: Vec<&str> = Id::ALL.iter().map(|id| id.as_str()).collect();
    if listed == ids { Ok(()) } else { Err(format!("`tenon explain` lists\n{list}")) }
}

/// `tenon check` ends with 1 and prints what the library renders: for people and scripts to stderr, JSON to stdout.
pub fn checks(case: &Case) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let files = case.files();
    files.write(folder.path());
    let sources = files.sources();
    for format in Format::ALL {
        let output = tenon(folder.path(), &["check", "--format", format.as_str()]);
        let (said, silent) = if format == Format::Json { (output.stdout, output.stderr) } else { (output.stderr, output.stdout) };
        let (said, expected) = (String::from_utf8_lossy(&said), check(&sources).render(&sources, format, false));
        if said.trim_end() != expected.trim_end() || !silent.is_empty() || output.status.code() != Some(1) {
            return Err(format!("--format {}: {}\n{said}", format.as_str(), output.status));
        }
    }
    Ok(())
}

/// `tenon plan` ends with 1 and prints what the case expects.
pub fn plans(case: &Case) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    case.files().write(folder.path());
    let command = case.mistake.command.as_deref().unwrap_or_default();
    let output = tenon(folder.path(), &command.split_whitespace().skip(1).collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(1) || said != case.expected()? {
        return Err(format!("{}\n{said}", output.status));
    }
    Ok(())
}

/// `tenon check` is content, and `tenon build` ends with 1, prints this, and writes nothing.
pub fn refuses_build(case: &Case, text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    case.files().write(folder.path());
    let output = tenon(folder.path(), &["check"]);
    if !output.status.success() {
        return Err(format!("`tenon check`: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let output = tenon(folder.path(), &["build"]);
    let said = String::from_utf8_lossy(&output.stderr);
    if said != text || output.status.code() != Some(1) || folder.path().join("generated").exists() {
        return Err(format!("`tenon build`: {}\n{said}", output.status));
    }
    Ok(())
}

/// `tenon check NAME --checkpoint DIR` ends with 1 and prints what the case expects; the checkpoint as it was is accepted.
pub fn compares(case: &Case) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (root, name) = (folder.path(), case.mistake.base.as_str());
    let at = root.join(checkpoint::FOLDER);
    let run = || tenon(root, &["check", name, "--checkpoint", &at.to_string_lossy()]);
    checkpoint::base(name).write(root);
    let output = run();
    if !output.status.success() || !String::from_utf8_lossy(&output.stdout).contains("tensors are what the spec says") {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    case.files().write(root);
    let output = run();
    let said = String::from_utf8_lossy(&output.stderr).replace(&format!("{}/", root.display()), "");
    match output.status.code() == Some(1) && said == case.expected()? {
        true => Ok(()),
        false => Err(format!("{}\n{said}", output.status)),
    }
}
