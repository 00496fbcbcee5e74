//! Mutants of types: a guard that rustc is. Without it, a wiring of `tests/compile_fail/cases/` that must not compile does.
//!
//! A switch cannot turn a type off, so that each of these is built by itself: the runtime's core in a copy of its own, unoptimised, the
//! wrappers of a device's kernels, and the wiring as a program beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::inject;
use crate::list::Mutant;
use crate::report::Verdict;
use crate::workspace::Copy;

/// The package of the wirings. The library is there because rustc would otherwise build nothing of a package without programs.
const WIRINGS: &str = "[package]\nname = \"wirings\"\nversion = \"0.1.0\"\nedition = \"2024\"\nautobins = false\n\
[dependencies]\ntenon-core = { workspace = true, features = [\"cuda\"] }\ntenon-formats = { workspace = true, features = [\"chat\"] }\n\
tenon-models.workspace = true\n";
/// The wrappers of kernels as the crate that they are emitted into, without the table of instances, which is machine code.
const MODELS: &str = "[package]\nname = \"tenon-models\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
[dependencies]\ntenon-core = { workspace = true, features = [\"cuda\"] }\n";
/// Where they are.
const KERNELS: &str = "generated/src/kernels";

/// What came of the build of one wiring.
enum Wiring {
    /// It compiles.
    Compiles,
    /// rustc refuses it.
    Refused,
    /// rustc refuses the core, in these words.
    CoreRefused(String),
}

/// What comes of each mutant of types and each of its cases.
///
/// # Errors
/// When a file cannot be read or written, or cargo does not run.
pub fn run(
    source: &Path,
    folder: &Path,
    target: &Path,
    mutants: &[(u32, &Mutant)],
) -> Result<BTreeMap<(u32, String), Verdict>, String> {
    let mut verdicts = BTreeMap::new();
    if mutants.is_empty() {
        return Ok(verdicts);
    }
    let copy = Copy { source: source.to_path_buf(), root: folder.to_path_buf(), parts: Vec::new() };
    let mut cases: Vec<&String> = mutants.iter().flat_map(|(_, m)| &m.cases).collect();
    cases.sort();
    cases.dedup();
    let missing = write(&copy, &cases)?;
    // The control: each wiring is refused by the core as it is.
    let mut control: BTreeMap<&str, Wiring> = BTreeMap::new();
    for case in cases.iter().filter(|case| !missing.contains(*case)) {
        control.insert(case, build(&copy.root, target, case)?);
    }
    for (number, mutant) in mutants {
        let edited = edited(&copy, mutant);
        for case in &mutant.cases {
            let verdict = match (&edited, control.get(case.as_str())) {
                (Err(why), _) => Verdict::NotApplied(why.clone()),
                (_, None) => Verdict::ControlEmpty,
                (_, Some(Wiring::Compiles)) => Verdict::ControlRed("it compiles without the mutant".to_owned()),
                (_, Some(Wiring::CoreRefused(why))) => Verdict::ControlRed(why.clone()),
                (Ok(files), Some(Wiring::Refused)) => {
                    for (file, text) in files {
                        copy.put(file, text)?;
                    }
                    match build(&copy.root, target, case)? {
                        Wiring::Compiles => Verdict::Caught(case.clone(), "it compiles".to_owned()),
                        Wiring::Refused => Verdict::Missed,
                        Wiring::CoreRefused(why) => Verdict::Unviable(why),
                    }
                }
            };
            verdicts.insert((*number, case.clone()), verdict);
        }
        for (file, _) in edited.iter().flatten() {
            copy.put(file, copy.read(file)?)?;
        }
    }
    Ok(verdicts)
}

/// The files that a mutant changes, as it leaves them.
fn edited(copy: &Copy, mutant: &Mutant) -> Result<BTreeMap<String, String>, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for edit in &mutant.edit {
        let mut text = match files.remove(&edit.file) {
            Some(text) => text,
            None => copy.read(&edit.file)?,
        };
        let place = inject::place(&text, edit)?;
        text.replace_range(place, &edit.replace);
        files.insert(edit.file.clone(), text);
    }
    Ok(files)
}

/// Makes or renews the copy. Returns the cases that are none.
fn write(copy: &Copy, cases: &[&String]) -> Result<Vec<String>, String> {
    let root = copy.read("Cargo.toml")?;
    let list = root.lines().find(|l| l.starts_with("members = ")).ok_or("Cargo.toml lists members on one line")?;
    let defaults = root.lines().find(|l| l.starts_with("default-members = ")).unwrap_or_default();
    let members = r#"members = ["runtime/formats", "runtime/core", "generated", "wirings"]"#;
    // Without the profiles: types are checked the same, and optimising the core takes most of a build.
    let root = root.split("[profile.").next().unwrap_or_default().replacen(defaults, "", 1).replacen(list, members, 1);
    copy.put("Cargo.toml", root)?;
    copy.put("Cargo.lock", copy.read("Cargo.lock")?)?;
    for folder in ["runtime/formats", "runtime/core"] {
        copy.put(&format!("{folder}/Cargo.toml"), copy.read(&format!("{folder}/Cargo.toml"))?)?;
        for file in copy.files(&format!("{folder}/src"))? {
            copy.put(&file, fs::read(copy.source.join(&file)).map_err(|e| format!("{file}: {e}"))?)?;
        }
    }
    copy.put("generated/Cargo.toml", MODELS)?;
    copy.put("generated/src/lib.rs", "//! The wrappers of kernels.\n#[rustfmt::skip]\npub mod kernels;\n")?;
    let table = format!("{KERNELS}/instances");
    for file in copy.files(KERNELS)?.iter().filter(|file| !file.starts_with(&table)) {
        copy.put(file, copy.read(file)?)?;
    }
    copy.put(&format!("{table}.rs"), "//! None.\n")?;
    let mut manifest = WIRINGS.to_owned();
    let mut missing = Vec::new();
    for case in cases {
        match fs::read(copy.source.join(format!("tests/compile_fail/cases/{case}.rs"))) {
            Ok(text) => {
                copy.put(&format!("wirings/src/{case}.rs"), text)?;
                manifest += &format!("[[bin]]\nname = \"{case}\"\npath = \"src/{case}.rs\"\n");
            }
            Err(_) => missing.push((*case).clone()),
        }
    }
    copy.put("wirings/Cargo.toml", manifest)?;
    Ok(missing)
}

/// Builds a wiring: checking alone would not evaluate assertions of generic constants.
fn build(root: &Path, target: &Path, case: &str) -> Result<Wiring, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--offline", "--quiet", "-p", "wirings", "--bin", case, "--message-format=json"])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", PathBuf::from(target).join("mutants/types-target"))
        .stderr(Stdio::null())
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    if output.status.success() {
        return Ok(Wiring::Compiles);
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        if message["message"]["level"] == "error" {
            let why = message["message"]["message"].as_str().unwrap_or_default().to_owned();
            let is_case = message["target"]["name"] == case;
            return Ok(if is_case { Wiring::Refused } else { Wiring::CoreRefused(why) });
        }
    }
    Err(format!("the copy of the core does not build with {case}, and no message says why"))
}
