//! The same against the types of a device: rustc must refuse each `cases/device_*.rs`, and say what its `//~` lines say.
//!
//! They need the core's feature `cuda`, which the other tests of the workspace are built without, and the wrappers of kernels, which need
//! no machine code to be compiled: so they are programs of a small workspace of their own, in the target folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The wrappers of kernels as the crate that they are emitted into, without the table of instances, which is machine code.
const MODELS: &str =
    "[package]\nname = \"tenon-models\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\ntenon-core.workspace = true\n";

/// The wirings, as programs. The library is there because cargo would otherwise build nothing of a package whose programs all fail.
const WIRINGS: &str = "[package]\nname = \"wirings\"\nversion = \"0.1.0\"\nedition = \"2024\"\nautobins = false\n\
[dependencies]\ntenon-core.workspace = true\ntenon-models = { path = \"../generated\" }\n";

#[test]
fn device_cases() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("tests/compile_fail stands in the workspace");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device-wirings");
    let cases = cases(&here.join("cases"));
    assert!(cases.len() > 5, "cases/device_*.rs are there");
    workspace(root, &folder, &cases);
    let (errors, programs) = build(&folder);
    let mut wrong = Vec::new();
    for (name, text) in &cases {
        let said = errors.get(name).map_or("", String::as_str);
        let wanted: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//~ ")).collect();
        match programs.get(name) {
            Some(program) if wanted.is_empty() => {
                let output = Command::new(program).output().expect("what was built runs");
                if !output.status.success() {
                    wrong.push(format!("{name} fails: {}", String::from_utf8_lossy(&output.stderr)));
                }
            }
            Some(_) => wrong.push(format!("{name} compiles")),
            None if wanted.is_empty() => wrong.push(format!("{name} does not compile:\n{said}")),
            None => {
                let missing = wanted.iter().filter(|text| !said.contains(**text));
                wrong.extend(missing.map(|text| format!("{name} is not refused with `{text}`, but:\n{said}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Name and text of each.
fn cases(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).expect("cases/ is there").filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".rs")?.to_owned();
        name.starts_with("device_").then(|| (name, fs::read_to_string(&path).expect("a case is text")))
    };
    entries.filter_map(named).collect()
}

/// Writes the workspace.
fn workspace(root: &Path, folder: &Path, cases: &BTreeMap<String, String>) {
    let core = root.join("runtime/core");
    put(
        &folder.join("Cargo.toml"),
        &format!(
            "[workspace]\nresolver = \"3\"\nmembers = [\"generated\", \"wirings\"]\n[workspace.dependencies]\n\
             tenon-core = {{ path = {core:?}, features = [\"cuda\"] }}\n[profile.dev]\ndebug = false\n"
        ),
    );
    put(&folder.join("Cargo.lock"), &fs::read_to_string(root.join("Cargo.lock")).expect("the workspace has a lock file"));
    put(&folder.join("generated/Cargo.toml"), MODELS);
    put(&folder.join("generated/src/lib.rs"), "//! The wrappers of kernels.\n#[rustfmt::skip]\npub mod kernels;\n");
    let kernels = root.join("generated/src/kernels");
    for entry in fs::read_dir(&kernels).expect("kernels are generated") {
        let path = entry.expect("kernels are generated").path();
        if path.is_file() {
            let text = fs::read_to_string(&path).expect("kernels are generated");
            put(&folder.join("generated/src/kernels").join(path.file_name().expect("a name")), &text);
        }
    }
    put(&folder.join("generated/src/kernels/instances.rs"), "//! None.\n");
    let mut manifest = WIRINGS.to_owned();
    for (name, text) in cases {
        manifest += &format!("[[bin]]\nname = {name:?}\npath = \"src/{name}.rs\"\n");
        put(&folder.join(format!("wirings/src/{name}.rs")), text);
    }
    put(&folder.join("wirings/Cargo.toml"), &manifest);
    put(&folder.join("wirings/src/lib.rs"), "//! Nothing.\n");
}

/// Writes a file unless it is there already: cargo goes by times. The lock file is cargo's once it is there.
fn put(path: &Path, text: &str) {
    let is_kept = path.ends_with("Cargo.lock") && path.exists();
    if is_kept || fs::read_to_string(path).is_ok_and(|known| known == text) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a file stands in a folder")).expect("the target folder is writable");
    fs::write(path, text).expect("the target folder is writable");
}

/// Builds all at once: checking alone would not evaluate assertions of generic constants. Gives what rustc says of each program that it
/// refuses, and where the others are.
fn build(folder: &Path) -> (BTreeMap<String, String>, BTreeMap<String, PathBuf>) {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "-p", "wirings", "--bins", "--keep-going", "--message-format=json"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    let (mut errors, mut programs): (BTreeMap<String, String>, BTreeMap<String, PathBuf>) = Default::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let name = message["target"]["name"].as_str().unwrap_or_default().to_owned();
        if let Some(program) = message["executable"].as_str() {
            programs.insert(name, program.into());
        } else if message["message"]["level"] == "error" {
            *errors.entry(name).or_default() += message["message"]["rendered"].as_str().unwrap_or_default();
        }
    }
    let of_others = errors.iter().find(|(name, _)| !name.starts_with("device_"));
    assert!(of_others.is_none(), "{of_others:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!(errors.is_empty() && programs.is_empty()), "cargo builds nothing: {said}");
    (errors, programs)
}
