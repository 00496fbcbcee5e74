//! Compiles the golden specs like any other spec, into modules that the tests include.

use std::path::PathBuf;
use std::{env, fs};

use tenon_compiler::diagnostic::Format;
use tenon_compiler::{driver, emit, programs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let root = here.parent().expect("tests/ stands in the workspace").to_path_buf();
    for watched in ["tests/golden", "kernel-templates"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let sources = driver::read(&root, "tests/golden", "kernel-templates").expect("specs and templates are readable");
    let models =
        tenon_compiler::models(&sources).unwrap_or_else(|diags| panic!("{}", diags.render(&sources, Format::Human, false)));

    let mut modules = String::new();
    let mut entries = String::new();
    for model in &models {
        for file in emit::model(&programs(model)) {
            let path = out.join("golden").join(&file.path);
            fs::create_dir_all(path.parent().expect("a file stands in a folder")).expect("OUT_DIR is writable");
            fs::write(&path, &file.text).expect("OUT_DIR is writable");
        }
        let module = model.module();
        let path = out.join("golden").join(&module).join("mod.rs");
        modules.push_str(&format!("#[path = {:?}]\npub mod {module};\n", path.display().to_string()));
        entries.push_str(&format!("    &{module}::ENTRY,\n"));
    }
    let list =
        format!("{modules}\n/// Every golden model.\npub const MODELS: &[&tenon_core::model::ModelEntry] = &[\n{entries}];\n");
    fs::write(out.join("golden.rs"), list).expect("OUT_DIR is writable");
}
