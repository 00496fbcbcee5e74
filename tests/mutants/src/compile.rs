//! The one build of the mutated copy, and whose fault it is where it fails.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::list::Suite;
use crate::workspace::Copy;

/// What came of a build.
pub enum Built {
    /// The test of the suite.
    Test(PathBuf),
    /// Mutants whose code does not compile, and why.
    Unviable(BTreeMap<u32, String>),
}

impl Suite {
    /// The package of its test, and the test's target.
    const fn test(self) -> (&'static str, &'static str) {
        match self {
            Self::Goldens => ("tenon-tests", "golden"),
            Self::Diagnostics => ("tenon-diagnostics", "ui"),
            Self::CoreUnits => ("tenon-core", "tenon_core"),
            Self::FormatsUnits => ("tenon-formats", "tenon_formats"),
            Self::Types => ("wirings", ""),
        }
    }
}

/// Builds a suite of the copy, or only checks that they would compile; there is no test then.
///
/// # Errors
/// When the build fails elsewhere than in a mutant's code.
pub fn build(copy: &Copy, suite: Suite, target: &Path, only_check: bool) -> Result<Built, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let (package, name) = suite.test();
    let output = Command::new(cargo)
        .args(match (only_check, suite.is_libtest()) {
            (true, true) => vec!["check", "--keep-going", "--lib", "--profile=test"],
            // Tests of units compute little, and building the core optimised takes minutes.
            (false, true) => vec!["test", "--no-run", "--lib", "--config=profile.dev.package.tenon-core.opt-level=0"],
            (true, false) => vec!["check", "--keep-going", "--test", name],
            (false, false) => vec!["build", "--keep-going", "--test", name],
        })
        .args(["--offline", "-p", package, "--message-format=json"])
        .current_dir(&copy.root)
        .env("CARGO_TARGET_DIR", target)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    let (mut test, mut unviable, mut rest) = (None, BTreeMap::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        match message["reason"].as_str() {
            Some("compiler-artifact") if message["target"]["name"] == name && message["profile"]["test"] == true => {
                test = message["executable"].as_str().map(PathBuf::from);
            }
            Some("compiler-message") if message["message"]["level"] == "error" => {
                let message = &message["message"];
                let text = message["message"].as_str().unwrap_or_default().to_owned();
                let spans = message["spans"].as_array().map_or(&[][..], Vec::as_slice);
                match spans.iter().filter_map(|span| whose(copy, span)).next() {
                    Some(number) => drop(unviable.entry(number).or_insert(text)),
                    // `aborting due to` and its like.
                    None if spans.is_empty() => {}
                    None => rest.push(message["rendered"].as_str().unwrap_or_default().to_owned()),
                }
            }
            _ => {}
        }
    }
    match test {
        None if only_check && output.status.success() => Ok(Built::Test(PathBuf::new())),
        Some(test) if output.status.success() => Ok(Built::Test(test)),
        _ if !unviable.is_empty() => Ok(Built::Unviable(unviable)),
        _ => Err(format!("the copy does not compile, and no mutant is to blame\n{}", rest.join("\n"))),
    }
}

/// The mutant whose code a span is in: its own in a source, or a model that was emitted with it.
fn whose(copy: &Copy, span: &Value) -> Option<u32> {
    let file = span["file_name"].as_str()?;
    if let Some((_, rest)) = file.split_once("/mutants/m") {
        let digits = rest.split('/').next()?;
        if let Ok(number) = digits.parse() {
            return Some(number);
        }
    }
    let (start, end) = (span["byte_start"].as_u64()? as usize, span["byte_end"].as_u64()? as usize);
    let in_file = |known: &str| file == known || file.ends_with(&format!("/{known}"));
    let found = copy.parts.iter().find(|(known, range, _)| in_file(known) && range.start <= start && end <= range.end);
    found.map(|(_, _, number)| *number)
}
