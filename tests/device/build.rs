//! Lists the references of the GPU's kernels: `kernel-templates/<op>/reference.rs` becomes a module.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let templates = here.join("../../kernel-templates").canonicalize().expect("kernel-templates/ stands in the workspace");
    println!("cargo::rerun-if-changed={}", templates.display());
    let mut names: Vec<String> = fs::read_dir(&templates)
        .expect("kernel-templates/ is readable")
        .filter_map(|entry| {
            let path = entry.expect("kernel-templates/ is readable").path();
            path.join("reference.rs").exists().then(|| path.file_name().expect("a name").to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    let mut text = String::new();
    for name in &names {
        let path = templates.join(name).join("reference.rs").display().to_string();
        text.push_str(&format!("#[path = {path:?}]\n#[allow(missing_docs)]\npub mod {name};\n"));
    }
    text.push_str("/// Every template with a reference.\npub const REFERENCES: &[Reference] = &[\n");
    for name in &names {
        text.push_str(&format!("    Reference {{ template: {name:?}, cases: {name}::cases, bench: {name}::bench }},\n"));
    }
    text.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("references.rs");
    fs::write(out, text).expect("OUT_DIR is writable");
}
