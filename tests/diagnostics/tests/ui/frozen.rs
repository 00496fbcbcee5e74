//! `generated-stale`: a workspace is built, spoilt, and compared.

use std::path::Path;
use std::process::Output;

use tenon_compiler::diagnostic::Id;
use tenon_compiler::{driver, files, models};

use crate::binary::tenon;
use tenon_diagnostics::case::{Case, Files};

/// What `tenon build --frozen` prints about a workspace that was built before the case's mistake.
pub fn text(case: &Case) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let root = folder.path();
    Files::base(&case.mistake.base).write(root);
    succeeds(tenon(root, &["build"]))?;
    succeeds(tenon(root, &["build", "--frozen"]))?;

    case.spoil(Files::of(root)).write(root);
    let output = tenon(root, &["build", "--frozen"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() != Some(1) || !text.contains(&format!("error[{}]", Id::GeneratedStale)) {
        return Err(format!("{}, not 1 and generated-stale\n{text}", output.status));
    }
    agrees(root, &text)?;

    // The way out that the text names.
    succeeds(tenon(root, &["build"]))?;
    succeeds(tenon(root, &["build", "--frozen"]))?;
    Ok(text)
}

/// The binary names exactly the files that `driver::compare` finds to differ.
fn agrees(root: &Path, text: &str) -> Result<(), String> {
    let sources = driver::read(root, "model-specs", "kernel-templates").map_err(|e| e.to_string())?;
    let models = models(&sources).map_err(|_| "the spoilt workspace has errors of another kind")?;
    let differences = driver::compare(&files(&models), &root.join("generated")).map_err(|e| e.to_string())?;
    let named = |path: &str| text.contains(&format!("generated/{path} "));
    let missing: Vec<_> = differences.iter().filter(|d| !named(&d.path)).collect();
    let lines = text.lines().filter(|line| line.starts_with("generated/")).count();
    if missing.is_empty() && lines == differences.len() && lines > 0 {
        return Ok(());
    }
    Err(format!("driver::compare finds {differences:?}\n{text}"))
}

fn succeeds(output: Output) -> Result<(), String> {
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}
