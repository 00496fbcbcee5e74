//! Compiles the golden specs like any other spec, into modules that the tests include.

use std::path::{Path, PathBuf};
use std::{env, fs};

use tenon_compiler::diagnostic::Format;
use tenon_compiler::driver::nvcc;
use tenon_compiler::model::Model;
use tenon_compiler::source::SourceMap;
use tenon_compiler::{driver, emit, new, programs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let root = here.parent().expect("tests/ stands in the workspace").to_path_buf();
    for watched in ["tests/golden", "tests/unseen", "kernel-templates"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let mut sources = driver::read(&root, "tests/golden", "kernel-templates").expect("specs and templates are readable");
    draft_unseen(&mut sources, &root.join("tests/unseen"));
    swap_forms(&mut sources);
    wrong_scale(&mut sources, &root);
    accept_all(&mut sources);
    int8(&mut sources, &root);
    let cuda = env::var_os("CARGO_FEATURE_CUDA").is_some();
    if cuda {
        on_devices(&mut sources);
    }
    let models =
        tenon_compiler::models(&sources).unwrap_or_else(|diags| panic!("{}", diags.render(&sources, Format::Human, false)));

    // What an older build wrote, and this one does not, would be found by rustc.
    let _ = fs::remove_dir_all(out.join("golden"));
    let mut modules = String::new();
    let mut entries = String::new();
    let mut tables = String::new();
    for model in &models {
        for mut file in emit::model(&programs(model)) {
            if model.name == WRONG_SCALE {
                take_latent_scale(&mut file.text);
            }
            let path = out.join("golden").join(&file.path);
            fs::create_dir_all(path.parent().expect("a file stands in a folder")).expect("OUT_DIR is writable");
            fs::write(&path, &file.text).expect("OUT_DIR is writable");
        }
        let module = model.module();
        let path = out.join("golden").join(&module).join("mod.rs");
        modules.push_str(&format!("#[path = {:?}]\npub mod {module};\n", path.display().to_string()));
        entries.push_str(&format!("    &{module}::ENTRY,\n"));
        tables.push_str(&format!("    ({:?}, &{module}::tensors::TENSORS, &{module}::CONFIG),\n", model.name));
    }
    if cuda {
        modules.push_str(&machine_code(&models, &root, &out));
        modules.push_str(&texts(&sources));
    }
    let list = format!(
        "{modules}
/// Every golden model.
pub const MODELS: &[&tenon_core::model::ModelEntry] = &[
{entries}];
/// What the loader compares a checkpoint of each with.
pub const TABLES: &[(&str, &[tenon_core::weights::PlannedTensor], &tenon_core::weights::ConfigContract<'static>)] = &[
{tables}];
"
    );
    fs::write(out.join("golden.rs"), list).expect("OUT_DIR is writable");
}

/// Goldens for the CPU become goldens for GPUs as well: those that stand in the tree, and those with the forms swapped. The others are about
/// what `tenon new` drafts and loaders read, with dimensions that no kernel of a GPU runs.
fn on_devices(sources: &mut SourceMap) {
    let is_golden = |path: &str| {
        let name = path.strip_prefix("tests/golden/").and_then(|path| path.strip_suffix("/MODEL.toml"));
        name.is_some_and(|name| {
            let beside = ["-formats", "-int8"].iter().any(|end| name.ends_with(end));
            !name.starts_with("unseen-") && !beside && name != WRONG_SCALE
        })
    };
    let specs: Vec<(String, String)> = sources
        .files()
        .filter(|(_, file)| is_golden(&file.path))
        .map(|(_, file)| (file.path.clone(), file.text.replacen("targets = [\"cpu\"]", "targets = [\"cpu\", \"sm_90a\"]", 1)))
        .collect();
    for (path, text) in specs {
        sources.replace(&path, text);
    }
}

/// The specs and templates that these models were compiled from: what their launches are derived from once more, wherever the test runs.
fn texts(sources: &SourceMap) -> String {
    let texts = sources.files().map(|(_, file)| format!("    ({:?}, {:?}),\n", file.path, file.text)).collect::<String>();
    format!("/// Every spec and template, by its path.\npub const SOURCES: &[(&str, &str)] = &[\n{texts}];\n")
}

/// Writes what the goldens launch beside them, compiles it, and gives the module.
fn machine_code(models: &[Model], root: &Path, out: &Path) -> String {
    let programs: Vec<_> = models.iter().map(programs).collect();
    for file in emit::kernels(&programs) {
        let path = out.join("golden").join(file.path.strip_prefix("src/").unwrap_or(&file.path));
        fs::create_dir_all(path.parent().expect("a file stands in a folder")).expect("OUT_DIR is writable");
        fs::write(&path, &file.text).expect("OUT_DIR is writable");
    }
    let mut jobs = nvcc::jobs(&emit::instances(&programs), &root.join("kernel-templates"));
    // The kernels of such a build count their launches on the device.
    if env::var_os("CARGO_FEATURE_COUNT_LAUNCHES").is_some() {
        jobs = nvcc::counted(jobs).unwrap_or_else(|failures| panic!("{}", nvcc::told(&failures)));
    }
    nvcc::for_build_script(&jobs, &[], out).unwrap_or_else(|e| panic!("{e}"));
    format!("#[path = {:?}]\npub mod kernels;\n", out.join("golden/kernels/mod.rs").display().to_string())
}

/// Adds a model for each checkpoint folder that comes without a spec: the one that `tenon new` drafts, unedited.
fn draft_unseen(sources: &mut SourceMap, folder: &Path) {
    for entry in fs::read_dir(folder).expect("tests/unseen is readable") {
        let folder = entry.expect("tests/unseen is readable").path();
        if !folder.join("config.json").exists() {
            continue;
        }
        let name = format!("unseen-{}", folder.file_name().unwrap_or_default().to_string_lossy());
        let checkpoint = driver::checkpoint(&folder).unwrap_or_else(|e| panic!("{name}: {e}"));
        let draft = new::draft(&name, &checkpoint).unwrap_or_else(|refusals| panic!("{name}: {refusals:?}"));
        sources.add(format!("tests/golden/{name}/MODEL.toml"), draft.text);
    }
}

/// So many sequences that the contexts of one step, a row for each head, do not find room in one pass: a plan's default has fewer.
const MANY_CONTEXTS: &str = "[sm_90a.limits]\nsequences = 1024\n";

/// Adds a second model beside each one with latent attention: the same, with both forms the other way round, and for a residual stream
/// that is larger by 2^8, so that the epsilon of its norms is larger by 2^16.
fn swap_forms(sources: &mut SourceMap) {
    let mut swapped = Vec::new();
    for (_, file) in sources.files() {
        let Some(folder) = file.path.strip_suffix("/MODEL.toml") else { continue };
        if !file.text.contains("kind = \"mla\"") {
            continue;
        }
        let case = folder.rsplit('/').next().expect("a path has a last part");
        let other = format!("{case}-swapped");
        let text = file.text.replacen(&format!("name = \"{case}\""), &format!("name = \"{other}\""), 1);
        let line = text.lines().find(|line| line.starts_with("rms_norm_eps = ")).expect("a spec states it");
        let eps: f64 = line["rms_norm_eps = ".len()..].parse().expect("a number");
        let text = text.replacen(line, &format!("rms_norm_eps = {}", eps * 65536.0), 1);
        let folder = format!("{}{other}", folder.strip_suffix(case).expect("it ends so"));
        swapped.push((format!("{folder}/MODEL.toml"), text));
        let forms = |target: &str| format!("[{target}.mla]\nprefill = \"absorbed\"\ndecode = \"expanded\"\n");
        let both = if env::var_os("CARGO_FEATURE_CUDA").is_some() && !case.starts_with("unseen-") {
            forms("cpu") + &forms("sm_90a") + MANY_CONTEXTS
        } else {
            forms("cpu")
        };
        swapped.push((format!("{folder}/KERNEL.toml"), both));
    }
    for (path, text) in swapped {
        sources.add(path, text);
    }
}

/// A model that is wrong on purpose: its scores are scaled for the width of the latent. Its spec is right, or it would not compile.
const WRONG_SCALE: &str = "bard-mla-wrong-scale";

fn wrong_scale(sources: &mut SourceMap, root: &Path) {
    let spec = root.join("model-specs/bard-mla/MODEL.toml");
    println!("cargo::rerun-if-changed={}", spec.display());
    let text = fs::read_to_string(spec).expect("the spec of bard-mla is readable");
    let text = text.replacen("name = \"bard-mla\"", &format!("name = \"{WRONG_SCALE}\""), 1);
    // What the binary would carry is of no use here.
    let text: String = text
        .lines()
        .filter(|l| !l.contains("checkpoint.pull") && !l.contains("bundle = "))
        .fold(String::new(), |t, l| t + l + "\n");
    sources.add(format!("tests/golden/{WRONG_SCALE}/MODEL.toml"), text);
}

/// 1 / sqrt(kv_lora_rank + qk_rope_head_dim), in place of what the spec states.
fn take_latent_scale(text: &mut String) {
    let Some(at) = text.find("SoftmaxScale::rsqrt_yarn(") else { return };
    let end = at + text[at..].find(';').expect("a constant ends");
    text.replace_range(at..end, "SoftmaxScale::rsqrt(96, 0.102_062_07)");
}

/// Cases that are compared in every storage format of a checkpoint.
const FORMATS: [&str; 5] = ["deepseek-v3-mla-moe", "gpt-oss-sinks", "mistral4-mla-moe", "nemotron-h-mamba2", "qwen3.5-moe-gdn"];

/// Adds a second model beside each of those: the same, whose matrices may be in any of these formats.
fn accept_all(sources: &mut SourceMap) {
    for case in FORMATS {
        let path = format!("tests/golden/{case}/MODEL.toml");
        let text =
            sources.files().find(|(_, file)| file.path == path).map(|(_, file)| file.text.clone()).expect("it is a golden");
        let other = format!("{case}-formats");
        let (one, all) = ("accept = [\"bf16\", \"f32\"]", "accept = [\"bf16\", \"f32\", \"fp8_e4m3\", \"nvfp4\", \"mxfp4\"]");
        assert!(text.contains(one), "{path} accepts bf16 and f32");
        let text = text.replacen(&format!("name = \"{case}\""), &format!("name = \"{other}\""), 1).replacen(one, all, 1);
        sources.add(format!("tests/golden/{other}/MODEL.toml"), text);
    }
}

/// Goldens, and models, that are computed with activations in int8 as well.
const INT8: [&str; 4] =
    ["tests/golden/gemma3-sliding", "tests/golden/llama-gqa", "model-specs/gemma-3-270m", "model-specs/smollm2-135m-instruct"];

/// Adds a second model beside each of those: the same, for the CPU, whose linear layers read int8.
fn int8(sources: &mut SourceMap, root: &Path) {
    for folder in INT8 {
        let path = root.join(folder).join("MODEL.toml");
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).expect("the spec of a model is readable");
        let name = folder.rsplit('/').next().expect("a path has a last part");
        let other = format!("{name}-int8");
        let text = text.replacen(&format!("name = \"{name}\""), &format!("name = \"{other}\""), 1);
        let text = text.replacen("targets = [\"cpu\", \"sm_90a\"]", "targets = [\"cpu\"]", 1);
        sources.add(format!("tests/golden/{other}/MODEL.toml"), text);
        sources.add(format!("tests/golden/{other}/KERNEL.toml"), "[cpu]\nactivations = \"int8\"\n".to_owned());
    }
}
