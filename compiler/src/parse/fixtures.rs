//! Good specs, for tests to spoil.

use crate::diagnostic::{Diagnostics, Format};
use crate::parse::parse;
use crate::source::SourceMap;
use crate::spec::Specs;

/// A model with one kind of block.
pub(crate) const MODEL: &str = include_str!("fixtures/MODEL.toml");
/// A latent attention with yarn, over experts.
pub(crate) const LATENT: &str = include_str!("fixtures/LATENT.toml");
/// Layers of every other kind.
pub(crate) const HYBRID: &str = include_str!("fixtures/HYBRID.toml");
/// A kernel for its linears.
pub(crate) const TEMPLATE: &str = include_str!("fixtures/TEMPLATE.toml");
/// How the CPU runs it.
pub(crate) const KERNEL: &str = "[cpu.linear]\ntile = 4\n\n[cpu.mla]\nprefill = \"expanded\"\ndecode = \"absorbed\"\n";

/// Parses files given as path and text.
pub(crate) fn parse_files(files: &[(&str, &str)]) -> (Specs, Diagnostics, SourceMap) {
    let mut sources = SourceMap::default();
    for (path, text) in files {
        sources.add(*path, *text);
    }
    let mut diags = Diagnostics::default();
    let specs = parse(&sources, &mut diags);
    (specs, diags, sources)
}

/// What is wrong with one MODEL.toml, as the short form says it.
pub(crate) fn complaints(model: &str) -> Vec<String> {
    let (specs, diags, sources) = parse_files(&[("specs/smol/MODEL.toml", model)]);
    let short = diags.render(&sources, Format::Short, false);
    assert_eq!(specs.models.is_empty(), diags.has_errors(), "a spec or a diagnostic, not both: {short}");
    short.lines().map(|line| line.strip_prefix("specs/smol/MODEL.toml:").unwrap_or(line).to_owned()).collect()
}
