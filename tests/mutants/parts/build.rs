//! Build script of the goldens in the mutated copy: that of the workspace, and then each mutant of the compiler, with the case that
//! must catch it, as one more model.

#[path = "golden_build.rs"]
mod golden;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::{env, fs};

use tenon_compiler::emit::File;
use tenon_compiler::source::SourceMap;
use tenon_compiler::{driver, emit, programs};

fn main() {
    golden::original();
    println!("cargo::rerun-if-changed=lowering.txt");
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let root = here.parent().expect("tests/ stands in the workspace");
    let sources = driver::read(root, "tests/golden", "kernel-templates").expect("specs and templates are readable");
    let sources = golden::with_swapped(sources);
    let (mut modules, mut entries, mut status) = (String::new(), String::new(), String::new());
    for line in fs::read_to_string(here.join("lowering.txt")).expect("the harness writes it").lines() {
        let (number, case) = line.split_once(' ').expect("a number and a case");
        let one = driver::only(&sources, &[case.to_owned(), format!("{case}-swapped")]);
        let pristine = emitted(&one).expect("without a mutant the case compiles");
        tenon_mutant::set(number.parse().expect("a number"));
        let mutated = catch_unwind(AssertUnwindSafe(|| emitted(&one)));
        tenon_mutant::set(0);
        let outcome = match mutated {
            Err(_) => "panicked",
            Ok(Err(_)) => "refused",
            Ok(Ok(files)) if code(&files) == code(&pristine) => "same",
            Ok(Ok(files)) => {
                let folder = out.join("mutants").join(format!("m{number}"));
                for file in &files {
                    let path = folder.join(&file.path);
                    fs::create_dir_all(path.parent().expect("a file stands in a folder")).expect("OUT_DIR is writable");
                    fs::write(&path, &file.text).expect("OUT_DIR is writable");
                }
                for module in files.iter().filter_map(|f| f.path.strip_suffix("/mod.rs")) {
                    let path = folder.join(module).join("mod.rs").display().to_string();
                    modules.push_str(&format!("#[path = {path:?}]\npub mod m{number}_{module};\n"));
                    entries.push_str(&format!("    ({number}, &m{number}_{module}::ENTRY),\n"));
                }
                "emitted"
            }
        };
        status.push_str(&format!("{number} {case} {outcome}\n"));
    }
    fs::write(here.join("lowered.txt"), status).expect("the copy is writable");

    let list = out.join("golden.rs");
    let text = fs::read_to_string(&list).expect("the workspace's build script wrote it");
    assert_eq!(text.matches("pub const MODELS:").count(), 1, "the list of goldens is a constant");
    let text = text.replace("pub const MODELS:", "const PRISTINE:");
    let models = "
/// Every golden model, that of the mutant in place of its own.
pub static MODELS: std::sync::LazyLock<Vec<&'static tenon_core::model::ModelEntry>> = std::sync::LazyLock::new(|| {
    let mut models = PRISTINE.to_vec();
    for (_, entry) in MUTANTS.iter().filter(|(number, _)| tenon_mutant::on(*number)) {
        models.iter_mut().filter(|m| m.info.name == entry.info.name).for_each(|m| *m = entry);
    }
    models
});
";
    let mutants = format!("const MUTANTS: &[(u32, &tenon_core::model::ModelEntry)] = &[\n{entries}];\n");
    fs::write(&list, format!("{text}\n{modules}\n{mutants}{models}")).expect("OUT_DIR is writable");
}

/// The Rust among files: a plan may differ in its words alone.
fn code(files: &[File]) -> Vec<&File> {
    files.iter().filter(|f| f.path.ends_with(".rs")).collect()
}

/// The files of one case: its model, and the one in the other forms of latent attention where there is one.
fn emitted(sources: &SourceMap) -> Result<Vec<File>, String> {
    let models = tenon_compiler::models(sources).map_err(|_| "refused".to_owned())?;
    Ok(models.iter().flat_map(|model| emit::model(&programs(model))).collect())
}
