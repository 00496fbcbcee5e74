//! The invariants of ARCHITECTURE.md that are absences in the source text.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the workspace").to_path_buf()
}

/// Rust files under a folder, with their text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push((path.clone(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} has no Rust files");
    found
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

#[test]
fn the_compiler_does_io_in_its_driver_alone() {
    for (path, text) in sources("compiler/src") {
        let name = name(&path);
        let is_driver = name == "compiler/src/driver.rs" || name.starts_with("compiler/src/driver/");
        if is_driver || name == "compiler/src/main.rs" {
            continue;
        }
        for io in ["std::fs", "std::env::", "std::process", "std::net", "File::open", "println!", "eprintln!"] {
            // Tests may read fixtures and print.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let test_file = name.contains("/tests") || name.contains("fixtures") || name.contains("fuzz");
            assert!(test_file || !code.contains(io), "{name} uses {io}");
        }
    }
}

#[test]
fn formats_do_no_io() {
    for (path, text) in sources("runtime/formats/src") {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for io in ["std::fs", "std::env::", "memmap2", "File::open"] {
            assert!(name(&path).contains("/tests/") || !code.contains(io), "{} uses {io}", name(&path));
        }
    }
}

#[test]
fn crates_depend_one_way() {
    let manifest = |folder: &str| fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let runtime_of = |folder: &str| {
        let text = manifest(folder);
        let dependencies = text.split("[dependencies]").nth(1).expect("a manifest has dependencies");
        dependencies.split("\n[").next().unwrap_or_default().to_owned()
    };
    for (folder, never) in [
        ("runtime/formats", &["tenon-core", "tenon-engine", "tenon-models", "tenon-compiler", "memmap2"][..]),
        ("runtime/core", &["tenon-engine", "tenon-models", "tenon-compiler", "tokenizers"][..]),
        ("runtime/engine", &["tenon-models", "tenon-compiler"][..]),
        ("compiler", &["tenon-core", "tenon-engine", "tenon-models", "tokenizers", "axum"][..]),
        ("generated", &["tenon-engine", "tenon-compiler"][..]),
    ] {
        for dependency in never {
            assert!(!runtime_of(folder).contains(dependency), "{folder} depends on {dependency}");
        }
    }
}

/// `unsafe` stands in the thread pool, the disjoint writes, the vector kernels, the memory map and the calls of a GPU's driver and matrix
/// library, and nowhere else.
#[test]
fn unsafe_lives_in_few_modules() {
    let allowed = UNSAFE_MODULES;
    for folder in
        ["compiler/src", "runtime/formats/src", "runtime/core/src", "runtime/engine/src", "runtime/server/src", "generated/src"]
    {
        for (path, text) in sources(folder) {
            let name = name(&path);
            let uses = text.lines().any(|line| {
                let code = line.split("//").next().unwrap_or_default();
                code.contains("unsafe {") || code.contains("unsafe fn") || code.contains("unsafe impl")
            });
            assert!(!uses || allowed.contains(&name.as_str()), "{name} has unsafe code and is not on the list");
        }
    }
    for module in allowed {
        assert!(root().join(module).is_file(), "{module} is on the list and does not exist");
    }
}

const UNSAFE_MODULES: &[&str] = &[
    "runtime/core/src/cpu/avx2.rs",
    "runtime/core/src/cpu/grid.rs",
    "runtime/core/src/cpu/pool.rs",
    "runtime/core/src/cuda/driver.rs",
    "runtime/core/src/cuda/driver/launch.rs",
    "runtime/core/src/cuda/driver/pinned.rs",
    "runtime/core/src/cuda/lt.rs",
    "runtime/core/src/weights/files.rs",
    "runtime/server/src/interrupt.rs",
];

#[test]
fn files_stay_readable_in_one_sitting() {
    for folder in [
        "compiler/src",
        "runtime/formats/src",
        "runtime/core/src",
        "runtime/engine/src",
        "runtime/server/src",
        "tests/src",
        "tests/tests",
    ] {
        for (path, text) in sources(folder) {
            let lines = text.lines().count();
            assert!(lines <= 500, "{} has {lines} lines: it is usually two things", name(&path));
            assert!(text.starts_with("//!"), "{} does not open with a `//!` sentence", name(&path));
        }
    }
}
