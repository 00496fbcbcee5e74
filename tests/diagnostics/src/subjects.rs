//! The specs that are corrupted, each with its checkpoint.

use std::fs;
use std::path::{Path, PathBuf};

use tenon_compiler::source::SourceMap;
use tenon_compiler::{driver, new};

use crate::verdict::Subject;

/// Every golden, a draft for every checkpoint that comes without a spec, and the model whose weights are in the tree.
///
/// # Panics
/// Where one of them is not good.
pub fn all() -> Vec<Subject> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this package stands in tests/");
    let read = |folder| driver::read(root, folder, "kernel-templates").expect("specs and templates can be read");
    let goldens = read("tests/golden");
    let templates = driver::only(&goldens, &[]);
    let subject = |name: &str, text: String, kernel: Option<String>, checkpoint: &Path| {
        let checkpoint = driver::checkpoint(checkpoint).unwrap_or_else(|e| panic!("{e}"));
        Subject::new(name, text, kernel, checkpoint, &templates).unwrap_or_else(|e| panic!("{e}"))
    };
    let mut all = Vec::new();
    for (folder, text) in specs(root, &goldens) {
        all.push(subject(&name(&folder), text, None, &folder));
    }
    for folder in folders(&root.join("tests/unseen")) {
        let name = format!("unseen-{}", name(&folder));
        let checkpoint = driver::checkpoint(&folder).unwrap_or_else(|e| panic!("{e}"));
        let draft = new::draft(&name, &checkpoint).unwrap_or_else(|refusals| panic!("{name}: {refusals:?}"));
        all.push(subject(&name, draft.text, None, &folder));
    }
    let bard = driver::only(&read("model-specs"), &["bard-mla".to_owned()]);
    for (folder, text) in specs(root, &bard) {
        all.push(subject(&name(&folder), text, None, &folder.join("weights")));
    }
    all
}

/// Folder and text of each MODEL.toml.
fn specs(root: &Path, sources: &SourceMap) -> Vec<(PathBuf, String)> {
    let specs = sources.files().filter_map(|(_, file)| Some((file.path.strip_suffix("/MODEL.toml")?, &file.text)));
    specs.map(|(folder, text)| (root.join(folder), text.clone())).collect()
}

/// Folders that hold a checkpoint, in order.
fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap_or_else(|e| panic!("{}: {e}", of.display()));
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    folders.retain(|folder| folder.join("config.json").exists());
    folders.sort();
    folders
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
