//! `generated/` is what the specs say, as a set and by content; and the build script that keeps it so does what it promises.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tenon_compiler::diagnostic::Format;
use tenon_compiler::driver;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the workspace").to_path_buf()
}

#[test]
fn checked_in_files_are_what_the_specs_say() {
    let root = root();
    let sources = driver::read(&root, "model-specs", "kernel-templates").unwrap();
    let models = tenon_compiler::models(&sources).unwrap_or_else(|d| panic!("{}", d.render(&sources, Format::Human, false)));
    let differences = driver::compare(&tenon_compiler::files(&models), &root.join("generated")).unwrap();
    let list: Vec<String> = differences.iter().map(|d| format!("generated/{d}")).collect();
    assert!(list.is_empty(), "run `cargo build`, review `git diff generated/`, and commit:\n{}", list.join("\n"));
}

/// Blocks, mixers and models may be called anything: what Rust or the generated code uses itself is told apart.
#[test]
fn any_name_becomes_code_that_parses() {
    let template = fs::read_to_string(root().join("tests/golden/gemma3-sliding/MODEL.toml")).unwrap();
    let names =
        ["1", "__", "_1", "a-b", "self", "fn", "attention", "rope", "linear", "weights", "norm", "kind", "scale", "\u{d6}"];
    for name in names {
        let spec = template.replace("[layers.local]", &format!("[layers.\"{name}\"]"));
        let spec =
            spec.replace("pattern = [\"local\", \"local\", \"full\", \"local\"]", &format!("pattern = [\"{name}\", \"full\"]"));
        let spec = spec
            .replace("[mixer.local", &format!("[mixer.\"{name}\""))
            .replace("mixer = \"local\"", &format!("mixer = \"{name}\""));
        assert!(!spec.contains("local"), "the golden spec changed its shape");
        let read = driver::read(&root(), "model-specs", "kernel-templates").unwrap();
        let mut sources = driver::only(&read, &[]);
        sources.add("model-specs/gemma3-sliding/MODEL.toml", spec);
        let models = tenon_compiler::models(&sources).unwrap_or_else(|d| panic!("{}", d.render(&sources, Format::Human, false)));
        // Emission parses what it writes.
        assert!(tenon_compiler::files(&models).len() >= 4, "{name}");
    }
}

#[test]
fn nothing_volatile_is_written() {
    let root = root();
    let mut checked = 0;
    let mut open = vec![root.join("generated/src"), root.join("generated/kernels")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&*root.to_string_lossy()), "{}: an absolute path", path.display());
        assert!(!text.contains(env!("CARGO_PKG_VERSION")) || text.contains("==0.1."), "{}: a version", path.display());
        // A plan has a part for each target; a table of instances has an entry for each storage format and bucket of rows.
        let is_table = path.parent().is_some_and(|folder| folder.ends_with("kernels/instances"));
        let most = if path.ends_with("plan.txt") || is_table { 600 } else { 300 };
        assert!(text.lines().count() <= most, "{}: over {most} lines", path.display());
        checked += 1;
    }
    assert!(checked >= 100, "generated files were not looked at");
}

/// A workspace with one model, and the build script of `tenon-models` run on it.
struct Workspace {
    dir: tempfile::TempDir,
}

impl Workspace {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (root(), dir.path());
        copy(&from.join("kernel-templates"), &to.join("kernel-templates"));
        copy(&from.join("model-specs/smollm2-135m-instruct"), &to.join("model-specs/smollm2-135m-instruct"));
        fs::create_dir_all(to.join("generated/src")).unwrap();
        Self { dir }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    fn build(&self, variables: &[(&str, &str)]) -> Output {
        let out = self.path("out");
        fs::create_dir_all(&out).unwrap();
        let mut command = Command::new(build_script());
        command.env_remove("TENON_FROZEN").env_remove("TENON_MODELS");
        command.env("CARGO_MANIFEST_DIR", self.path("generated")).env("OUT_DIR", out);
        command.envs(variables.iter().copied()).output().expect("the build script runs")
    }
}

/// Cargo has just built it, beside this crate's own.
fn build_script() -> PathBuf {
    let build = Path::new(env!("OUT_DIR")).ancestors().nth(2).expect("target/<profile>/build").to_path_buf();
    let mut found: Vec<(std::time::SystemTime, PathBuf)> = fs::read_dir(&build)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("tenon-models-"))
        .map(|path| path.join("build-script-build"))
        .filter(|path| path.is_file())
        .map(|path| (fs::metadata(&path).unwrap().modified().unwrap(), path))
        .collect();
    found.sort();
    found.pop().expect("tenon-models is a dependency, so its build script was built").1
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const CPU: &str = "generated/src/smollm2_135m_instruct/cpu.rs";
/// Where its activations are declared.
const MEMORY: &str = "generated/src/smollm2_135m_instruct/cpu_memory.rs";
const SPEC: &str = "model-specs/smollm2-135m-instruct/MODEL.toml";

#[test]
fn a_build_writes_what_is_missing_and_then_rests() {
    let workspace = Workspace::new();
    let first = workspace.build(&[]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert_eq!(workspace.read(CPU), fs::read_to_string(root().join(CPU)).unwrap());
    let before = fs::metadata(workspace.path(CPU)).unwrap().modified().unwrap();
    let second = workspace.build(&[]);
    assert!(second.status.success());
    assert!(!text(&second.stdout).contains("warning"), "{}", text(&second.stdout));
    assert_eq!(fs::metadata(workspace.path(CPU)).unwrap().modified().unwrap(), before, "an equal file was written again");
}

#[test]
fn an_edited_spec_changes_the_code_without_a_warning() {
    let workspace = Workspace::new();
    workspace.build(&[]);
    let spec = workspace.read(SPEC).replace("intermediate_size = 1536", "intermediate_size = 1600");
    fs::write(workspace.path(SPEC), spec).unwrap();
    let output = workspace.build(&[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("cargo::warning"), "{}", text(&output.stdout));
    assert!(workspace.read(MEMORY).contains("Rows<f32, 1600>"));
}

#[test]
fn a_hand_edit_is_restored_with_a_warning_that_names_it() {
    let workspace = Workspace::new();
    workspace.build(&[]);
    let original = workspace.read(CPU);
    fs::write(workspace.path(CPU), original.replace("PagedKv<D, 3, 64>", "PagedKv<D, 3, 128>")).unwrap();
    let output = workspace.build(&[]);
    assert!(output.status.success());
    let warning = format!("cargo::warning={CPU} was edited by hand and has been restored");
    assert!(text(&output.stdout).contains(&warning), "{}", text(&output.stdout));
    assert_eq!(workspace.read(CPU), original);
}

#[test]
fn an_orphan_is_removed_and_a_model_that_left_goes() {
    let workspace = Workspace::new();
    workspace.build(&[]);
    fs::create_dir_all(workspace.path("generated/src/gone")).unwrap();
    fs::write(workspace.path("generated/src/gone/cpu.rs"), "// nobody makes this\n").unwrap();
    assert!(workspace.build(&[]).status.success());
    assert!(!workspace.path("generated/src/gone").exists());
}

#[test]
fn a_frozen_build_fails_and_shows_the_difference() {
    let workspace = Workspace::new();
    workspace.build(&[]);
    let stale = workspace.read(MEMORY).replace("Rows<f32, 1536>", "Rows<f32, 1535>");
    fs::write(workspace.path(MEMORY), &stale).unwrap();
    fs::remove_file(workspace.path("generated/src/smollm2_135m_instruct/plan.txt")).unwrap();
    fs::write(workspace.path("generated/src/extra.rs"), "").unwrap();
    let output = workspace.build(&[("TENON_FROZEN", "1")]);
    let error = text(&output.stderr);
    assert!(!output.status.success());
    for expected in [
        "error[generated-stale]: generated/ is not what the specs say, and it cannot be written here (TENON_FROZEN is set)",
        "generated/src/extra.rs comes from no spec",
        "generated/src/smollm2_135m_instruct/cpu_memory.rs differs:",
        "  - ",
        "  + ",
        "generated/src/smollm2_135m_instruct/plan.txt is missing",
        "help: run `cargo build` in a writable checkout",
    ] {
        assert!(error.contains(expected), "`{expected}` is not in:\n{error}");
    }
    assert_eq!(workspace.read(MEMORY), stale, "a frozen build wrote");
}

#[test]
fn models_can_be_left_out_and_unknown_ones_are_named() {
    let workspace = Workspace::new();
    let output = workspace.build(&[("TENON_MODELS", "smollm2-135m-instruct")]);
    assert!(text(&output.stdout).contains("cargo::rustc-cfg=tenon_model=\"smollm2_135m_instruct\""));
    let output = workspace.build(&[("TENON_MODELS", "smollm3")]);
    assert!(!output.status.success());
    assert_eq!(text(&output.stderr), "error: TENON_MODELS names `smollm3`, and model-specs/ has smollm2-135m-instruct\n");
}

#[test]
fn a_broken_spec_stops_the_build_with_its_diagnostic() {
    let workspace = Workspace::new();
    let spec = workspace.read(SPEC).replace("num_key_value_heads = 3", "num_key_value_heads = 4");
    fs::write(workspace.path(SPEC), spec).unwrap();
    let output = workspace.build(&[]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("error[head-group]"), "{}", text(&output.stderr));
    assert!(!workspace.path(CPU).exists(), "code was emitted from a broken spec");
}
