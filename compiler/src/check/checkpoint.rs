//! `check --checkpoint`: a checked model against the config and the tensors of a checkpoint.
//!
//! What differs is found by [`tenon_formats::expect`], as the loader does it, so that both give the same verdict. Here each difference
//! gets its two places, the rule that connects them and a way out.

mod config;
pub mod expect;
mod rules;
mod tensors;

use std::ops::Range;

use tenon_formats::{CanonicalConfig, TensorEntry};

use super::stated::{self, Stated};
use crate::architecture::{self, Architecture};
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::json_spans;
use crate::model::Model;
use crate::new::Checkpoint;
use crate::new::description::Format;
use crate::source::{FileId, Source, SourceMap, Span};
use crate::spec::ModelSpec;

/// A checkpoint, with the text of its config and the headers of its tensors.
#[derive(Clone, Debug)]
pub struct CheckpointFiles {
    /// What it is.
    pub checkpoint: Checkpoint,
    /// config.json or params.json; of a GGUF, [`metadata`].
    pub config: Source,
    /// Every tensor, sorted by name; `None` where not all files that hold them are there.
    pub tensors: Option<Vec<TensorEntry>>,
}

/// The keys of a GGUF's metadata as a text with a line for each, which diagnostics can point into.
pub fn metadata(config: &CanonicalConfig) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (_, value) in config.keys() {
        if let tenon_formats::Origin::Stated(path) = &value.origin {
            lines.push(format!("{}{EQUALS}{}\n", shown_key(path), tenon_formats::config::show(&value.value)));
        }
    }
    lines.sort();
    lines.concat()
}

/// What stands between a key and its value there.
const EQUALS: &str = " = ";

/// A key on one line.
fn shown_key(path: &str) -> String {
    tenon_formats::shown::shown(path).to_string()
}

/// Compares a checkpoint with a spec that passed `check`. `file` is its config in the sources.
pub fn check(
    spec: &ModelSpec,
    model: &Model,
    files: &CheckpointFiles,
    file: FileId,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) {
    let architecture = architecture::find(&model.checkpoint.model_type).expect("check refuses unknown architectures");
    let against = Against {
        spec,
        model,
        architecture,
        stated: stated::all(spec, Some(architecture)),
        sources,
        file,
        format: files.checkpoint.format,
        config: &files.checkpoint.config,
    };
    if let Some(stranger) = against.stranger() {
        diags.push(stranger);
        return;
    }
    let differ = against.config(diags);
    if let Some(tensors) = &files.tensors {
        against.tensors(tensors, &differ, diags);
    }
}

/// A model and the checkpoint that it is compared with.
struct Against<'a> {
    spec: &'a ModelSpec,
    model: &'a Model,
    architecture: &'static Architecture,
    stated: Vec<Stated<'a>>,
    sources: &'a SourceMap,
    /// The text of the config.
    file: FileId,
    format: Format,
    config: &'a CanonicalConfig,
}

impl Against<'_> {
    /// A checkpoint of another format or `model_type`: everything else differs too, and says nothing more.
    fn stranger(&self) -> Option<Diagnostic> {
        let (table, found) = (&self.spec.checkpoint, self.config.model_type());
        let (message, stated) = if table.format.as_str() != self.format.as_str() {
            let message = format!(
                "the spec is for a checkpoint in format \"{}\", and this one is \"{}\"",
                table.format.as_str(),
                self.format.as_str()
            );
            (message, &table.format.span)
        } else if table.model_type.value != found {
            let found = shown_key(found);
            (format!("the spec is of a `{}`, and the checkpoint of a `{found}`", table.model_type.value), &table.model_type.span)
        } else {
            return None;
        };
        let diagnostic = Diagnostic::new(Id::CheckpointMismatch, message).label(stated, "in the spec");
        Some(
            diagnostic
                .context(&self.model_type_place(), "of the checkpoint")
                .help(format!("give the checkpoint that the spec is for, `{}`", table.source.value))
                .help("or write the spec of this one: `tenon new NAME --from DIR`"),
        )
    }

    /// Key and value of a path in the config.
    fn place(&self, path: &str) -> Option<(Span, Span)> {
        let text = &self.sources.file(self.file).text;
        let span = |range: Range<usize>| Span { file: self.file, range };
        if self.format != Format::Gguf {
            return json_spans::find(text, path).map(|place| (span(place.key), span(place.value)));
        }
        let key = shown_key(path);
        let start = format!("{key}{EQUALS}");
        let mut at = 0;
        for line in text.lines() {
            if line.starts_with(&start) {
                return Some((span(at..at + key.len()), span(at + start.len()..at + line.len())));
            }
            at += line.len() + 1;
        }
        None
    }

    /// Where the config says what the model is, which stands for all that it leaves out.
    fn model_type_place(&self) -> Span {
        let key = if self.format == Format::Gguf { "general.architecture" } else { "model_type" };
        let nested = || self.place(&format!("text_config.{key}"));
        nested().or_else(|| self.place(key)).map_or_else(|| self.start(), |(_, value)| value)
    }

    /// The first byte of the config, where nothing in it is meant.
    fn start(&self) -> Span {
        Span { file: self.file, range: 0..self.sources.file(self.file).text.len().min(1) }
    }
}

/// A message that keeps to one line, or one that says less.
fn in_one_line(message: String, short: impl FnOnce() -> String) -> String {
    const LONGEST: usize = 110;
    if message.chars().count() <= LONGEST { message } else { short() }
}
