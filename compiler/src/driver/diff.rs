//! The two sides of `tenon diff`: the working tree, a revision, and what stands in `generated/`.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Revision, generated, model_names, only, read, revision};
use crate::diagnostic::{Diagnostics, Format, did_you_mean};
use crate::diff::{self, Compared, Report, Side};
use crate::emit::File;
use crate::model::Model;
use crate::source::SourceMap;

const SPECS: &str = "model-specs";
const TEMPLATES: &str = "kernel-templates";

/// Why there is no report.
#[derive(Debug)]
pub enum DiffError {
    /// One line: a name, a revision or a file that is not there.
    Message(String),
    /// Specs that do not compile: those of the working tree, or of the revision, whose paths then begin with it and a colon.
    Broken(SourceMap, Diagnostics),
}

/// What `tenon diff` reports: the specs of the working tree against those of `against`, all or those of `names`.
///
/// With a revision, both sides are compiled by this compiler, and files are compared as it emits them. Without one, specs are
/// compared with those of `HEAD`, where there is a `HEAD` whose specs compile, and files with those that stand in `generated/`.
///
/// # Errors
/// What cannot be read, is not known, or does not compile. Without `against`, none of this about `HEAD`: the report says it in a
/// note.
pub fn difference(root: &Path, names: &[String], against: Option<&str>) -> Result<Report, DiffError> {
    let message = |e: std::io::Error| DiffError::Message(e.to_string());
    let tree = read(root, SPECS, TEMPLATES).map_err(message)?;
    let old = match against {
        Some(rev) => Some(revision(root, rev, SPECS, TEMPLATES).map_err(DiffError::Message)?),
        None => None,
    };
    let head = || revision(root, "HEAD", SPECS, TEMPLATES);
    let (old, mut note) = match old {
        Some(old) => (Some(old), None),
        None => head().map_or_else(|why| (None, Some(without(&why))), |head| (Some(head), None)),
    };
    let all: Vec<String> = model_names(&tree).into_iter().chain(old.iter().flat_map(|old| model_names(&old.sources))).collect();
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        let hint = did_you_mean(unknown, all.iter().map(String::as_str));
        let sides = old.as_ref().map_or("the working tree".to_owned(), |old| format!("the working tree or {}", old.name));
        return Err(DiffError::Message(format!(
            "no model `{unknown}` in {sides}; {}",
            hint.unwrap_or_else(|| "see model-specs/".to_owned())
        )));
    }

    let chosen = |sources: SourceMap| if names.is_empty() { sources } else { only(&sources, names) };
    let tree = chosen(tree);
    let new_models = crate::models(&tree).map_err(|diags| DiffError::Broken(tree.clone(), diags))?;
    let emitted = crate::files(&new_models);
    let tree_side = Side { sources: &tree, models: &new_models };

    let mut old_side: Option<(Revision, Vec<Model>)> = None;
    if let Some(mut old) = old {
        old.sources = chosen(old.sources);
        match crate::models(&old.sources) {
            Ok(models) => old_side = Some((old, models)),
            Err(diags) => {
                let sources = prefixed(&old.sources, against.unwrap_or("HEAD"));
                if against.is_some() {
                    return Err(DiffError::Broken(sources, diags));
                }
                let first = diags.render(&sources, Format::Short, false).lines().next().unwrap_or_default().to_owned();
                note = Some(without(&format!("the specs of {} do not compile with this compiler: {first}", old.name)));
            }
        }
    }

    let difference = old_side.as_ref().map(|(old, models)| {
        let old_side = Side { sources: &old.sources, models };
        diff::compare(old_side, tree_side, names)
    });
    let (old_files, from, to) = match (&old_side, against) {
        (Some((old, models)), Some(_)) => {
            let bytes = |file: File| (file.path, file.text.into_bytes());
            let files: BTreeMap<_, _> = crate::files(models).into_iter().map(bytes).collect();
            (files, format!("what the specs of {} emit", old.name), "what the working tree's specs emit".to_owned())
        }
        _ => {
            let files = generated(&root.join("generated")).map_err(message)?;
            (files, "generated/ as it stands".to_owned(), "what the working tree's specs emit".to_owned())
        }
    };
    let old_models = old_side.as_ref().map_or(&[][..], |(_, models)| models);
    let folders: Vec<String> = new_models.iter().chain(old_models).map(|model| format!("src/{}/", model.module())).collect();
    // The root of the crate lists all models, and is made from all or not at all.
    let counts = |path: &str| names.is_empty() || folders.iter().any(|folder| path.starts_with(folder.as_str()));
    let old_files = old_files.into_iter().filter(|(path, _)| counts(path)).collect();
    let new_files: Vec<File> = emitted.into_iter().filter(|file| counts(&file.path)).collect();

    Ok(Report {
        specs: old_side.as_ref().map(|(old, _)| Compared { old: old.name.clone(), new: "working tree".to_owned() }),
        note,
        difference: difference.unwrap_or_default(),
        generated: Compared { old: from, new: to },
        files: diff::files(&old_files, &new_files),
    })
}

fn without(why: &str) -> String {
    format!("only files are compared, since there are no specs to compare with: {why}")
}

/// The same files in the same order, under paths that say of which revision they are.
fn prefixed(sources: &SourceMap, prefix: &str) -> SourceMap {
    let mut named = SourceMap::default();
    for (_, file) in sources.files() {
        named.add(format!("{prefix}:{}", file.path), file.text.clone());
    }
    named
}
