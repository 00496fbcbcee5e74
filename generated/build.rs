//! Keeps `src/` equal to what the specs say, and tells rustc which models to compile in.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use tenon_compiler::diagnostic::Format;
use tenon_compiler::driver::{self, Difference, nvcc};
use tenon_compiler::emit::{self, File, Instance};
use tenon_compiler::model::Model;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = here.parent().expect("generated/ stands in the workspace").to_path_buf();
    for watched in ["model-specs", "kernel-templates", "generated/src", "generated/kernels"] {
        // What is not there yet would be looked for by every build.
        if !root.join(watched).exists() {
            continue;
        }
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo::rerun-if-env-changed=TENON_FROZEN");
    println!("cargo::rerun-if-env-changed=TENON_MODELS");

    let sources = driver::read(&root, "model-specs", "kernel-templates").unwrap_or_else(|e| fail(&e.to_string()));
    let models =
        tenon_compiler::models(&sources).unwrap_or_else(|diags| fail(diags.render(&sources, Format::Human, false).trim_end()));
    tenon_compiler::emittable(&sources, &models)
        .unwrap_or_else(|diags| fail(diags.render(&sources, Format::Human, false).trim_end()));
    let files = tenon_compiler::files(&models);
    let differences = driver::compare(&files, &here).unwrap_or_else(|e| fail(&e.to_string()));
    if !differences.is_empty() {
        bring_up_to_date(&files, &here, &differences);
    }
    remember(&files);
    let selected = select(&models);
    if env::var_os("CARGO_FEATURE_CUDA").is_some() {
        machine_code(&root, &models, &selected);
    }
}

/// Compiles every CUDA instance that the selected models launch.
fn machine_code(root: &Path, all: &[Model], selected: &[&Model]) {
    for variable in ["NVCC", "CUDA_HOME", "CUDA_PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let programs: Vec<_> = all.iter().map(tenon_compiler::programs).collect();
    let is_launched = |instance: &Instance| selected.iter().any(|model| instance.models.contains(&model.name));
    let (launched, others): (Vec<_>, Vec<_>) = emit::instances(&programs).into_iter().partition(is_launched);
    let left_out: Vec<String> = others.into_iter().map(|instance| instance.name).collect();
    let jobs = nvcc::jobs(&launched, &root.join("kernel-templates"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    nvcc::for_build_script(&jobs, &left_out, &out).unwrap_or_else(|e| fail(&e));
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    process::exit(1)
}

/// Writes what differs, or fails where writing is not wanted or not possible.
fn bring_up_to_date(files: &[File], here: &Path, differences: &[Difference]) {
    let frozen = env::var_os("TENON_FROZEN").is_some_and(|v| v == "1");
    let by_hand: Vec<&Difference> = differences.iter().filter(|d| edited_by_hand(here, d)).collect();
    let failure = if frozen {
        Some("TENON_FROZEN is set".to_owned())
    } else {
        driver::write(files, here, differences).err().map(|e| e.to_string())
    };
    if let Some(why) = failure {
        let list: Vec<String> = differences.iter().map(|d| format!("generated/{d}")).collect();
        fail(&format!(
            "error[generated-stale]: generated/ is not what the specs say, and it cannot be written here ({why})\n{}\n\
             help: run `cargo build` in a writable checkout without TENON_FROZEN, review `git diff generated/`, and commit",
            list.join("\n")
        ));
    }
    for difference in by_hand {
        println!(
            "cargo::warning=generated/{} was edited by hand and has been restored; edit the spec or the template instead",
            difference.path
        );
    }
}

/// The last build's outputs are kept beside its artefacts: a file that is neither those nor the new ones was edited.
fn edited_by_hand(here: &Path, difference: &Difference) -> bool {
    let (Ok(last), Ok(now)) = (fs::read(memory().join(&difference.path)), fs::read(here.join(&difference.path))) else {
        return false;
    };
    last != now
}

fn memory() -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("last")
}

fn remember(files: &[File]) {
    let memory = memory();
    let _ = fs::remove_dir_all(&memory);
    for file in files {
        let path = memory.join(&file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).unwrap_or_else(|e| fail(&format!("{}: {e}", folder.display())));
        }
        fs::write(&path, &file.text).unwrap_or_else(|e| fail(&format!("{}: {e}", path.display())));
    }
}

/// Every model is compiled in, or those that `TENON_MODELS` names.
fn select(models: &[Model]) -> Vec<&Model> {
    let known: Vec<String> = models.iter().map(|m| format!("\"{}\"", m.module())).collect();
    println!("cargo::rustc-check-cfg=cfg(tenon_model, values({}))", known.join(", "));
    let wanted = env::var("TENON_MODELS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    if let Some(unknown) = wanted.iter().find(|name| !models.iter().any(|m| m.name == **name)) {
        let names: Vec<&str> = models.iter().map(|m| m.name.as_str()).collect();
        fail(&format!("error: TENON_MODELS names `{unknown}`, and model-specs/ has {}", names.join(", ")));
    }
    let selected: Vec<&Model> = models.iter().filter(|m| wanted.is_empty() || wanted.contains(&m.name.as_str())).collect();
    for model in &selected {
        println!("cargo::rustc-cfg=tenon_model=\"{}\"", model.module());
    }
    selected
}
