//! `tenon diff` as it is run from a shell: in a repository, against a revision, and where there is none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the compiler stands in the workspace").to_path_buf()
}

/// A folder with two models and their templates, below a repository or not.
struct Folder {
    dir: tempfile::TempDir,
}

const LLAMA: &str = "model-specs/llama/MODEL.toml";

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = workspace().join("tests/ui/base");
        copy(&base.join("kernel-templates"), &dir.path().join("work/kernel-templates"));
        for model in ["llama", "qwen3"] {
            copy(&base.join("model-specs").join(model), &dir.path().join("work/model-specs").join(model));
        }
        Self { dir }
    }

    /// The same with everything committed and built. The workspace is not the top of its repository.
    fn committed() -> Self {
        let folder = Self::new();
        folder.git(&["init", "--quiet"]);
        assert!(folder.tenon(&["build"]).status.success());
        folder.commit();
        folder
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn git(&self, arguments: &[&str]) {
        let identity =
            ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"];
        let output = Command::new("git").arg("-C").arg(self.dir.path()).args(identity).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "a change"]);
    }

    fn edit(&self, path: &str, find: &str, replace: &str) {
        let path = self.root().join(path);
        let before = fs::read_to_string(&path).unwrap();
        assert_eq!(before.matches(find).count(), 1, "`{find}` in {}", path.display());
        fs::write(path, before.replace(find, replace)).unwrap();
    }

    fn tenon(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
        // A repository above the temporary folder is none of this test's.
        command.env("GIT_CEILING_DIRECTORIES", self.dir.path().parent().unwrap());
        command.arg("--root").arg(self.root()).args(arguments).env_remove("CLICOLOR_FORCE").output().unwrap()
    }

    /// What it prints when it ends with this code, with the digits of the commit taken out.
    fn diff(&self, arguments: &[&str], code: i32) -> String {
        let output = self.tenon(&[&["diff"], arguments].concat());
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        let mut parts = said.split(" (").map(str::to_owned);
        let mut out = parts.next().unwrap_or_default();
        for part in parts {
            let is_commit =
                part.len() > 10 && part.as_bytes()[..10].iter().all(u8::is_ascii_hexdigit) && part.as_bytes()[10] == b')';
            out.push_str(&if is_commit { part[11..].to_owned() } else { format!(" ({part}") });
        }
        out
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { assert!(fs::copy(&path, &target).unwrap() > 0) }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_working_tree_is_compared_with_head_and_files_with_generated() {
    let folder = Folder::committed();
    let nothing = "specs: HEAD -> working tree\n\nno model and no template differs\n\n\
                   files: generated/ as it stands -> what the working tree's specs emit\n  no file differs\n";
    assert_eq!(folder.diff(&["--exit-code"], 0), nothing);
    folder.edit(LLAMA, "rope_theta = 10000.0", "rope_theta = 20000.0");
    let summary = "specs: HEAD -> working tree\n\nllama\n  scales        mixer.attention.rope.rope_theta 10000.0 -> 20000.0\n\n\
                   files: generated/ as it stands -> what the working tree's specs emit\n";
    let files = "  generated/src/llama/  config.rs +1 -1, mod.rs +1 -1, plan.json +1 -1, plan.txt +1 -1\n";
    assert_eq!(folder.diff(&[], 0), format!("{summary}{files}"));
    assert_eq!(folder.diff(&["llama", "--exit-code"], 1), format!("{summary}{files}"));
    assert_eq!(folder.diff(&["qwen3", "--exit-code"], 0), nothing);
    assert!(folder.diff(&["--full"], 0).contains("+++ b/generated/src/llama/mod.rs\n@@ -"));
    // Built, the files are what the specs say; the specs still differ from those of HEAD.
    assert!(folder.tenon(&["build"]).status.success());
    assert_eq!(folder.diff(&["--exit-code"], 1), format!("{summary}  no file differs\n"));
    let json: serde_json::Value = serde_json::from_str(&folder.diff(&["--format", "json"], 0)).unwrap();
    assert_eq!(json["models"][0]["scales"][0]["new"], "20000.0");
    assert_eq!(json["specs"]["new"], "working tree");
}

#[test]
fn a_revision_is_compiled_by_this_compiler() {
    let folder = Folder::committed();
    folder.edit(LLAMA, "rope_theta = 10000.0", "rope_theta = 20000.0");
    fs::remove_dir_all(folder.root().join("model-specs/qwen3")).unwrap();
    folder.commit();
    let said = folder.diff(&["--against", "HEAD~1", "--exit-code"], 1);
    assert!(said.starts_with("specs: HEAD~1 -> working tree\n\nllama\n  scales "), "{said}");
    assert!(said.contains("\n- qwen3\n  targets       cpu\n"), "{said}");
    assert!(said.contains("\nfiles: what the specs of HEAD~1 emit -> what the working tree's specs emit\n"), "{said}");
    assert!(said.contains("  generated/src/qwen3/  config.rs -"), "{said}");
    // A model that only the revision has can be named.
    assert!(folder.diff(&["qwen3", "--against", "HEAD~1"], 0).contains("\n- qwen3\n"));
    let against_head = folder.diff(&["--against", "HEAD", "--exit-code"], 0);
    assert!(against_head.contains("no file differs"), "{against_head}");
}

#[test]
fn what_cannot_be_compared_is_named() {
    let folder = Folder::committed();
    assert_eq!(folder.diff(&["--against", "v9"], 2), "error: git knows no revision `v9`\n");
    assert_eq!(folder.diff(&["--against=--all"], 2), "error: `--all` is no revision\n");
    let unknown = folder.diff(&["lama"], 2);
    assert!(unknown.starts_with("error: no model `lama` in the working tree or HEAD; did you mean `llama`?"), "{unknown}");

    // HEAD's specs do not compile: an error where it was asked for, and else a note.
    folder.edit(LLAMA, "num_key_value_heads = 2", "num_key_value_heads = 3");
    folder.commit();
    folder.edit(LLAMA, "num_key_value_heads = 3", "num_key_value_heads = 2");
    let broken = folder.diff(&["--against", "HEAD"], 2);
    assert!(broken.contains("error[head-group]") && broken.contains("--> HEAD:model-specs/llama/MODEL.toml:"), "{broken}");
    let noted = folder.diff(&["--exit-code"], 0);
    assert!(
        noted.starts_with("note: only files are compared, since there are no specs to compare with: the specs of HEAD do not")
    );
    assert!(noted.contains("HEAD:model-specs/llama/MODEL.toml:32:"), "{noted}");
    assert!(noted.ends_with("  no file differs\n"), "{noted}");

    // A broken working tree says what is wrong with it.
    folder.edit(LLAMA, "num_key_value_heads = 2", "num_key_value_heads = 4");
    folder.edit(LLAMA, "num_key_value_heads = 4", "num_key_value_heads = 5");
    let broken = folder.diff(&[], 2);
    assert!(broken.contains("error[head-group]") && broken.contains("--> model-specs/llama/MODEL.toml:"), "{broken}");
    let json: serde_json::Value = serde_json::from_str(&folder.diff(&["--format", "json"], 2)).unwrap();
    assert_eq!(json["diagnostics"][0]["id"], "head-group");
}

#[test]
fn outside_a_repository_files_are_compared() {
    let folder = Folder::new();
    let said = folder.diff(&["--exit-code"], 1);
    assert!(
        said.starts_with("note: only files are compared, since there are no specs to compare with: git rev-parse: not a git"),
        "{said}"
    );
    assert!(said.contains("  generated/src/llama/  config.rs +"), "{said}");
    assert!(folder.diff(&["--against", "HEAD"], 2).starts_with("error: git rev-parse: not a git repository"));
    folder.git(&["init", "--quiet"]);
    assert!(folder.diff(&[], 0).contains("compare with: git knows no revision `HEAD`"));
}
