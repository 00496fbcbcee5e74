//! What becomes of a corrupted spec: refused, and by whom, or a program, and which.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenon_compiler::diagnostic::{Diagnostics, Format, Id};
use tenon_compiler::emit;
use tenon_compiler::model::{Model, Sampling};
use tenon_compiler::new::Checkpoint;
use tenon_compiler::source::SourceMap;

use crate::against;

/// What becomes of it.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// `tenon check` refuses it, first with this.
    Refused(Id),
    /// It is a model whose checkpoint would have to have another config.
    Config(String),
    /// It is a model whose checkpoint would have to have other tensors.
    Tensors(String),
    /// The checkpoint fits, and what is computed is the same, line by line.
    Same,
    /// The checkpoint fits, and these lines are others.
    Different(Vec<String>),
    /// The compiler panicked.
    Panicked(String),
}

/// A spec, its checkpoint, and what is computed with both.
pub struct Subject {
    /// Name of the model, and of its folder.
    pub name: String,
    /// MODEL.toml.
    pub text: String,
    /// KERNEL.toml, where there is one.
    pub kernel: Option<String>,
    /// What the spec is compared with.
    pub checkpoint: Checkpoint,
    templates: SourceMap,
    essence: String,
    lines: BTreeSet<String>,
}

impl Subject {
    /// A good spec.
    ///
    /// # Errors
    /// What is wrong with it, or how its checkpoint differs from it.
    pub fn new(
        name: &str,
        text: String,
        kernel: Option<String>,
        checkpoint: Checkpoint,
        templates: SourceMap,
    ) -> Result<Self, String> {
        let name = name.to_owned();
        let mut subject =
            Self { name, text, kernel, checkpoint, templates, essence: String::new(), lines: BTreeSet::new() };
        let sources = subject.sources(&subject.text, subject.kernel.as_deref());
        let model = match tenon_compiler::models(&sources) {
            Ok(mut models) => models.remove(0),
            Err(diags) => return Err(diags.render(&sources, Format::Human, false)),
        };
        if subject.checkpoint.tensors.is_none() {
            subject.checkpoint.tensors = Some(against::tensors_of(&model));
        }
        let differences = against::compare(&model, &subject.checkpoint);
        if let Some(difference) = differences.config.iter().chain(&differences.tensors).next() {
            return Err(format!("{}: {difference}", subject.name));
        }
        subject.lines = lines(&model);
        subject.essence = essence(model);
        Ok(subject)
    }

    /// The files of a run with these texts in place of the subject's.
    pub fn sources(&self, text: &str, kernel: Option<&str>) -> SourceMap {
        let mut sources = self.templates.clone();
        sources.add(format!("specs/{}/MODEL.toml", self.name), text);
        if let Some(kernel) = kernel {
            sources.add(format!("specs/{}/KERNEL.toml", self.name), kernel);
        }
        sources
    }

    /// What becomes of these texts.
    pub fn judge(&self, text: &str, kernel: Option<&str>) -> Verdict {
        let sources = self.sources(text, kernel);
        let judged = catch_unwind(AssertUnwindSafe(|| match tenon_compiler::models(&sources) {
            Ok(models) => self.compare(models),
            Err(diags) => refused(&diags, &sources),
        }));
        judged.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Verdict::Panicked(text.unwrap_or_default())
        })
    }

    fn compare(&self, mut models: Vec<Model>) -> Verdict {
        let model = models.remove(0);
        let differences = against::compare(&model, &self.checkpoint);
        if let Some(first) = differences.config.into_iter().next() {
            return Verdict::Config(first);
        }
        if let Some(first) = differences.tensors.into_iter().next() {
            return Verdict::Tensors(first);
        }
        // Lowering and emitting are functions of the model, so that equal models need not be emitted.
        if essence(model.clone()) == self.essence {
            return Verdict::Same;
        }
        let other = lines(&model);
        let of = |sign: char, a: &BTreeSet<String>, b: &BTreeSet<String>| {
            a.difference(b).map(|line| format!("{sign} {line}")).collect::<Vec<_>>()
        };
        let changed = [of('-', &self.lines, &other), of('+', &other, &self.lines)].concat();
        if changed.is_empty() { Verdict::Same } else { Verdict::Different(changed) }
    }
}

/// Every diagnostic can be shown; the first says what it is.
fn refused(diags: &Diagnostics, sources: &SourceMap) -> Verdict {
    let _ = diags.render(sources, Format::Short, false);
    Verdict::Refused(diags.sorted()[0].id)
}

/// All of a model that can change what it computes for a checkpoint that fits.
fn essence(mut model: Model) -> String {
    model.checkpoint.source.clear();
    model.checkpoint.pull.clear();
    model.checkpoint.ignore.clear();
    // Compared with the checkpoint, as the loader does.
    model.config.keys.clear();
    model.config.ignored.clear();
    model.sampling = Sampling { temperature: 0.0, top_p: 1.0, top_k: 0 };
    for kind in &mut model.kinds {
        kind.name = format!("kind {}", model.pattern.first().copied().unwrap_or_default());
    }
    format!("{model:?}")
}

/// The lines of generated code that compute something or say how to, without its comments.
fn lines(model: &Model) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for file in emit::model(&tenon_compiler::programs(model)) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if name == "plan.txt" || name == "config.rs" {
            continue;
        }
        // In order, so that lines that change places are seen.
        let code = file.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        lines.extend(code.enumerate().map(|(at, line)| format!("{name} {at}: {line}")));
    }
    lines
}
