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
pub mod check;
pub mod cost;
pub mod diagnostic;
pub mod diff;
pub mod driver;
pub mod emit;
pub mod expr;
#[cfg(test)]
mod fuzz;
pub mod lower;
pub mod model;
pub mod new;
pub mod parse;
pub mod program;
mod reader;
pub mod source;
pub mod spec;

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

/// Lowers a checked model, once per target.
pub fn programs(model: &Model) -> Vec<Program<'_>> {
    model.targets.iter().map(|target| lower::lower(model, *target)).collect()
}

/// Refuses models for a target that this version checks and plans, and emits no code for. What builds asks this before [`files`].
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
