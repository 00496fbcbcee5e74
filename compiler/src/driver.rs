//! The driver: reads specs and templates from a workspace, and writes generated files or compares them. All IO is here.

mod checkpoint;
mod diff;
mod generated;
pub mod nvcc;
mod revision;

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::parse::is_cuda;
use crate::source::SourceMap;

pub use checkpoint::{checkpoint, checkpoint_files};
pub use diff::{DiffError, difference};
pub use generated::{Difference, DifferenceKind, compare, generated, write};
pub use revision::{Revision, revision};

/// The files that the compiler reads, by folder: `MODEL.toml`, `KERNEL.toml` and chat templates of each model, and
/// `TEMPLATE.toml` and the CUDA code of each kernel, and what kernels share. Paths in the map are relative to `root`.
///
/// # Errors
/// A folder or file that cannot be read; the error names it.
pub fn read(root: &Path, specs: &str, templates: &str) -> io::Result<SourceMap> {
    let mut sources = SourceMap::default();
    for folder in folders(&root.join(specs))? {
        for file in files(&folder)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_of_a_model(&name) {
                add(&mut sources, root, &file)?;
            }
        }
    }
    for folder in folders(&root.join(templates))? {
        for file in files(&folder)? {
            if is_of_a_template(&file.file_name().unwrap_or_default().to_string_lossy()) {
                add(&mut sources, root, &file)?;
            }
        }
    }
    Ok(sources)
}

fn is_of_a_model(name: &str) -> bool {
    name == "MODEL.toml" || name == "KERNEL.toml" || name.ends_with(".jinja")
}

fn is_of_a_template(name: &str) -> bool {
    name == "TEMPLATE.toml" || is_cuda(name)
}

/// Whether [`read`] would read a path, relative to the root and with forward slashes.
fn is_spec(path: &str, specs: &str, templates: &str) -> bool {
    let Some((folders, name)) = path.rsplit_once('/') else { return false };
    let is_below =
        |folder: &str| folders.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).is_some_and(|one| !one.contains('/'));
    (is_below(specs) && is_of_a_model(name)) || (is_below(templates) && is_of_a_template(name))
}

/// Folders that hold a MODEL.toml.
pub fn model_names(sources: &SourceMap) -> Vec<String> {
    let folder = |path: &str| path.strip_suffix("/MODEL.toml").map(|f| f.rsplit('/').next().unwrap_or(f).to_owned());
    sources.files().filter_map(|(_, file)| folder(&file.path)).collect()
}

/// The sources without the models that are not named; templates stay.
pub fn only(sources: &SourceMap, names: &[String]) -> SourceMap {
    let mut kept = SourceMap::default();
    for (_, file) in sources.files() {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let folder = folder.rsplit('/').next().unwrap_or_default();
        if is_of_a_template(name) || names.iter().any(|n| n == folder) {
            kept.add(file.path.clone(), file.text.clone());
        }
    }
    kept
}

fn add(sources: &mut SourceMap, root: &Path, file: &Path) -> io::Result<()> {
    let text = fs::read_to_string(file).map_err(|e| named(e, file))?;
    let relative = file.strip_prefix(root).unwrap_or(file);
    let path: Vec<_> = relative.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    sources.add(path.join("/"), text);
    Ok(())
}

fn named(error: io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| named(e, folder))? {
        found.push(entry.map_err(|e| named(e, folder))?.path());
    }
    found.sort();
    Ok(found)
}

fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|p| p.is_dir()).collect())
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|p| p.is_file()).collect())
}

/// Writes `model-specs/<name>/MODEL.toml` of a model that is not there yet; the path, relative to `root`.
///
/// # Errors
/// A folder of that name, or one that cannot be written.
pub fn create(root: &Path, name: &str, text: &str) -> Result<String, String> {
    let folder = format!("model-specs/{name}");
    let path = root.join(&folder);
    fs::create_dir_all(root.join("model-specs")).map_err(|e| named(e, &root.join("model-specs")).to_string())?;
    fs::create_dir(&path).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => format!("{folder} is there already; remove it, or take another name"),
        _ => named(e, &path).to_string(),
    })?;
    let file = path.join("MODEL.toml");
    fs::write(&file, text).map_err(|e| named(e, &file).to_string())?;
    Ok(format!("{folder}/MODEL.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, which goes with the value.
    pub(super) struct Folder(pub(super) PathBuf);

    impl Folder {
        pub(super) fn of(name: &str, files: &[(&str, &[u8])]) -> Self {
            let path = std::env::temp_dir().join(format!("tenon-driver-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            for (name, bytes) in files {
                fs::write(path.join(name), bytes).unwrap();
            }
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_code_of_a_kernel_is_read_with_its_template() {
        let folder = Folder::of("code", &[]);
        for file in
            ["specs/a/MODEL.toml", "kernels/k/TEMPLATE.toml", "kernels/k/k.cuh", "kernels/k/notes.md", "kernels/include/warp.cuh"]
        {
            let path = folder.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let sources = read(&folder.0, "specs", "kernels").unwrap();
        let paths = |sources: &SourceMap| sources.files().map(|(_, file)| file.path.clone()).collect::<Vec<_>>();
        let code = ["kernels/include/warp.cuh", "kernels/k/TEMPLATE.toml", "kernels/k/k.cuh"];
        assert_eq!(paths(&sources), [&["specs/a/MODEL.toml"][..], &code].concat());
        assert!(paths(&sources).iter().all(|path| is_spec(path, "specs", "kernels")));
        assert!(!is_spec("kernels/k/notes.md", "specs", "kernels"));
        assert_eq!(paths(&only(&sources, &["b".to_owned()])), code);
    }

    #[test]
    fn a_model_is_created_once() {
        let folder = Folder::of("create", &[]);
        assert_eq!(create(&folder.0, "a", "text"), Ok("model-specs/a/MODEL.toml".to_owned()));
        assert_eq!(fs::read_to_string(folder.0.join("model-specs/a/MODEL.toml")).unwrap(), "text");
        assert!(create(&folder.0, "a", "").unwrap_err().starts_with("model-specs/a is there already"));
    }
}
