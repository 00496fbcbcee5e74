//! Compiles MODEL.toml x KERNEL.toml x templates into readable, dimension-specialised code.
//!
//! ```text
//! parse   text    -> spec       every value with its span, nothing defaulted
//! check   spec    -> model      names, dims, dtypes, scales, kernel coverage; the only stage that refuses
//! lower   model   -> program    ops over buffers, tensors to load, groups of layers
//! emit    program -> files      Rust and plan.txt
//! ```
//! The stages do no IO: [`driver`] reads the inputs into a [`source::SourceMap`] and writes or compares the outputs.

pub mod architecture;
pub mod binding;
pub mod check;
pub mod cost;
pub mod diagnostic;
pub mod diff;
pub mod driver;
pub mod emit;
pub mod expr;
#[cfg(test)]
mod fuzz;
mod json_spans;
pub mod launches;
pub mod lower;
pub mod model;
pub mod new;
pub mod parse;
pub mod program;
mod reader;
pub mod source;
pub mod spec;

use check::checkpoint::CheckpointFiles;
use diagnostic::Diagnostics;
use model::Model;
use program::Program;
use source::SourceMap;

/// Parses and checks every spec of the sources. On errors, all of them.
pub fn models(sources: &SourceMap) -> Result<Vec<Model>, Diagnostics> {
    let mut diags = Diagnostics::default();
    let specs = parse::parse(sources, &mut diags);
    let models = check::check(&specs, sources, &mut diags);
    if diags.has_errors() { Err(diags) } else { Ok(models) }
}

/// Parses and checks the spec of one model, and compares a checkpoint with it. The config of the checkpoint becomes one of the sources,
/// where diagnostics point into it. On errors, all of them.
pub fn model_of(sources: &mut SourceMap, name: &str, files: &CheckpointFiles) -> Result<Model, Diagnostics> {
    let mut diags = Diagnostics::default();
    let specs = parse::parse(sources, &mut diags);
    let models = check::check(&specs, sources, &mut diags);
    let file = sources.add(files.config.path.clone(), files.config.text.clone());
    let found = models.into_iter().find(|model| model.name == name).zip(specs.models.get(name));
    if let Some((model, (spec, _))) = &found {
        check::checkpoint::check(spec, model, files, file, sources, &mut diags);
        diags.extend(check::tools::against_checkpoint(spec, files.checkpoint.template.as_ref(), sources));
    }
    match found {
        Some((model, _)) if !diags.has_errors() => Ok(model),
        _ => Err(diags),
    }
}

/// Lowers a checked model, once per target.
pub fn programs(model: &Model) -> Vec<Program<'_>> {
    model.targets.iter().map(|target| lower::lower(model, *target)).collect()
}

/// Refuses models for a target alone that this version checks and plans alone, and builds beside another. What builds asks this before
/// [`files`].
pub fn emittable(sources: &SourceMap, models: &[Model]) -> Result<(), Diagnostics> {
    // The models were checked, so parsing again finds nothing wrong; it has the places that a model no longer has.
    let specs = parse::parse(sources, &mut Diagnostics::default());
    let mut diags = Diagnostics::default();
    for spec in models.iter().filter_map(|model| specs.models.get(&model.name)).map(|(spec, _)| spec) {
        diags.extend(check::not_emitted(spec));
    }
    if diags.has_errors() { Err(diags) } else { Ok(()) }
}

/// Lowers and emits checked models that are [`emittable`]. Nothing here can fail.
pub fn files(models: &[Model]) -> Vec<emit::File> {
    let programs: Vec<Vec<Program<'_>>> = models.iter().map(programs).collect();
    emit::emit(&programs)
}
