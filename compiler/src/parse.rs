//! Text to spec: reads every MODEL.toml, KERNEL.toml and TEMPLATE.toml, and says everything that is wrong with one.

mod kernel;
mod model;
mod template;
mod whereabouts;

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Diagnostics, Id, did_you_mean};
use crate::reader::Vocabulary;
use crate::source::{FileId, SourceMap, Span};
use crate::spec::{KernelSpec, ModelSpec, Specs, Target, TemplateSpec};

/// Reads the specs among the sources, which are known by their names: `<folder>/MODEL.toml`, `<folder>/KERNEL.toml` beside it,
/// and `<folder>/TEMPLATE.toml` with the CUDA code beside it; the last folder of the path names the model or template. Other files are
/// left alone.
///
/// A file with errors is left out of the result and its errors go to `diags`. A model whose KERNEL.toml has errors stays, so that
/// `check` can go on with what is good.
pub fn parse(sources: &SourceMap, diags: &mut Diagnostics) -> Specs {
    let mut models: BTreeMap<&str, (FileId, Option<ModelSpec>)> = BTreeMap::new();
    let mut kernels: BTreeMap<&str, (FileId, Option<KernelSpec>)> = BTreeMap::new();
    let mut templates: BTreeMap<&str, (FileId, Option<TemplateSpec>)> = BTreeMap::new();
    let mut code: Vec<(&str, FileId)> = Vec::new();
    for (id, source) in sources.files() {
        let (folders, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
        let folder = folders.rsplit('/').next().unwrap_or_default();
        match name {
            "MODEL.toml" if is_first(&models, folder, id, "model", diags) => {
                models.insert(folder, (id, model::read(id, source, folder, diags)));
            }
            "KERNEL.toml" if is_first(&kernels, folder, id, "model", diags) => {
                kernels.insert(folder, (id, kernel::read(id, source, diags)));
            }
            "TEMPLATE.toml" if is_first(&templates, folder, id, "template", diags) => {
                templates.insert(folder, (id, template::read(id, source, folder, diags)));
            }
            name if is_cuda(name) => code.push((folders, id)),
            _ => {}
        }
    }
    for (file, template) in templates.values_mut() {
        let folder = sources.file(*file).path.strip_suffix("/TEMPLATE.toml");
        let beside = code.iter().filter(|(folders, _)| Some(*folders) == folder).map(|(_, id)| *id);
        let jinja = |id: &FileId| sources.file(*id).path.ends_with(".cu.jinja");
        let text = beside.clone().find(jinja).map(|id| (id, sources.file(id).text.clone()));
        template.iter_mut().for_each(|template| {
            template.code.extend(beside.clone());
            template.source = text.clone();
        });
    }

    let mut specs = Specs::default();
    for (folder, (file, _)) in &kernels {
        if !models.contains_key(folder) {
            let message = format!("no MODEL.toml stands beside this KERNEL.toml of `{folder}`");
            let diagnostic = Diagnostic::new(Id::UnknownReference, message).label(&beginning(*file), "which model is this for?");
            let near = did_you_mean(folder, models.keys().copied().filter(|model| !kernels.contains_key(model)));
            diags.push(near.into_iter().fold(diagnostic, Diagnostic::help));
        }
    }
    for (folder, (_, model)) in models {
        let kernel = kernels.remove(folder).map(|(_, kernel)| kernel);
        if let Some(None) = kernel {
            specs.broken_kernels.insert(folder.to_owned());
        }
        specs.models.extend(model.map(|model| (folder.to_owned(), (model, kernel.flatten()))));
    }
    specs.broken_templates = templates.values().any(|(_, template)| template.is_none());
    specs.templates = templates.into_iter().filter_map(|(name, (_, template))| Some((name.to_owned(), template?))).collect();
    specs
}

/// Reports a second file of the same folder name: names are global, whatever folder they stand in.
fn is_first<T>(known: &BTreeMap<&str, (FileId, T)>, folder: &str, file: FileId, what: &str, diags: &mut Diagnostics) -> bool {
    let first = known.get(folder).map(|(first, _)| *first);
    if let Some(first) = first {
        let diagnostic = Diagnostic::new(Id::DuplicateValue, format!("two folders define the {what} `{folder}`"));
        let diagnostic = diagnostic.label(&beginning(file), "again").context(&beginning(first), "first here");
        diags.push(diagnostic.help("rename one of the folders"));
    }
    first.is_none()
}

/// Whether a file beside a TEMPLATE.toml is the code of its kernel.
pub(crate) fn is_cuda(name: &str) -> bool {
    [".cuh", ".cu", ".cu.jinja"].iter().any(|ending| name.ends_with(ending))
}

fn beginning(file: FileId) -> Span {
    Span { file, range: 0..0 }
}

/// Numbers of elements, layers, heads and the like.
const SIZE: std::ops::RangeInclusive<u64> = 1..=1 << 31;

/// What a width is that need not be there.
const SIZE_OR_NONE: &str = "a whole number, or \"none\" where there is none";

const TARGETS: Vocabulary<Target> = Vocabulary {
    names: &[("cpu", Target::Cpu), ("sm_90a", Target::Sm90a)],
    not_yet: &["sm_80", "sm_90", "sm_100a"],
    not_yet_id: Id::UnknownValue,
};

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
pub(crate) mod fuzz;
#[cfg(test)]
mod tests;
