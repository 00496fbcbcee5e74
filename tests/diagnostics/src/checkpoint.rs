//! Cases about a checkpoint: the files of a golden are spoilt, and its spec is compared with them.

use std::path::{Path, PathBuf};

use tenon_compiler::diagnostic::Diagnostics;
use tenon_compiler::source::SourceMap;

use crate::case::{Files, ui};

/// Where the checkpoint stands beside the specs.
pub const FOLDER: &str = "checkpoint/";

/// `tests/golden/<name>`
pub fn golden(name: &str) -> PathBuf {
    ui().parent().expect("tests/").join("golden").join(name)
}

/// The spec of a golden with its checkpoint, and the templates of the other cases.
pub fn base(name: &str) -> Files {
    let mut files = Files::base(name);
    for (path, content) in Files::of(&golden(name)).all() {
        match path {
            "MODEL.toml" => files.add(&format!("model-specs/{name}/{path}"), content.to_vec()),
            // What the model must compute.
            "golden.json" | "golden.safetensors" => {}
            _ => files.add(&format!("{FOLDER}{path}"), content.to_vec()),
        }
    }
    files
}

/// What `tenon check NAME --checkpoint checkpoint` finds.
pub fn diagnose(files: &Files) -> (Diagnostics, SourceMap) {
    let folder = tempfile::tempdir().expect("a folder for the checkpoint");
    files.write(folder.path());
    let mut sources = files.sources();
    let name = model(&sources);
    let checkpoint = tenon_compiler::driver::checkpoint_files(&folder.path().join(FOLDER), None);
    let mut checkpoint = checkpoint.unwrap_or_else(|e| panic!("{name}: {e}"));
    checkpoint.config.path = relative(&checkpoint.config.path, folder.path());
    let found = tenon_compiler::model_of(&mut sources, &name, &checkpoint).err().unwrap_or_default();
    (found, sources)
}

/// The one model of the sources.
pub fn model(sources: &SourceMap) -> String {
    let [name] = &tenon_compiler::driver::model_names(sources)[..] else { panic!("one model is compared with a checkpoint") };
    name.clone()
}

fn relative(path: &str, folder: &Path) -> String {
    let start = format!("{}/", folder.display());
    path.strip_prefix(&start).unwrap_or(path).to_owned()
}
