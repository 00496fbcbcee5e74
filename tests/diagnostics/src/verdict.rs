//! What becomes of a corrupted spec: refused, and by whom, or a model, and which.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenon_compiler::check::checkpoint::CheckpointFiles;
use tenon_compiler::diagnostic::{Diagnostics, Format, Id};
use tenon_compiler::model::Model;
use tenon_compiler::source::SourceMap;
use tenon_compiler::spec::{ModelSpec, TemplateSpec};
use tenon_compiler::{check, parse};

use crate::apart::Split;

/// What becomes of it.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The text cannot be read as a spec; the first diagnostic.
    Parse(Id),
    /// `tenon check` refuses it; the first diagnostic.
    Check(Id),
    /// It is a model, and not that of the checkpoint; the first diagnostic.
    Checkpoint(Id),
    /// The checkpoint fits, and the model is the same.
    Same,
    /// The checkpoint fits, and the model differs only in these entries of [`APART`](crate::apart::APART).
    Apart(Vec<&'static str>),
    /// The checkpoint fits, and something else is computed: the lines of the model that differ.
    Different(Vec<String>),
    /// The compiler panicked.
    Panicked(String),
}

/// A good spec, its checkpoint, and the model that it is.
pub struct Subject {
    /// Name of the model, and of its folder.
    pub name: String,
    /// MODEL.toml.
    pub text: String,
    /// KERNEL.toml, where there is one.
    pub kernel: Option<String>,
    /// What the spec is compared with.
    pub checkpoint: CheckpointFiles,
    /// TEMPLATE.toml of each kernel.
    files: SourceMap,
    /// The same, read once: most of the time of a check goes into them.
    templates: BTreeMap<String, TemplateSpec>,
    model: Split,
}

impl Subject {
    /// A good spec, with the checkpoint that it is for.
    ///
    /// # Errors
    /// What is wrong with it, or how its checkpoint differs from it.
    pub fn new(
        name: &str,
        text: String,
        kernel: Option<String>,
        checkpoint: impl FnOnce(&Model) -> CheckpointFiles,
        files: &SourceMap,
    ) -> Result<Self, String> {
        let sources = sources(name, &text, kernel.as_deref(), files);
        let mut diags = Diagnostics::default();
        let mut specs = parse::parse(&sources, &mut diags);
        let mut models = check::check(&specs, &sources, &mut diags);
        if diags.has_errors() {
            return Err(diags.render(&sources, Format::Human, false));
        }
        let model = models.remove(0);
        let (spec, _) = specs.models.remove(name).expect("the model is named like its folder");
        let checkpoint = checkpoint(&model);
        let (files, templates) = (files.clone(), specs.templates);
        let split = Split::new(model.clone());
        let subject = Self { name: name.to_owned(), text, kernel, checkpoint, files, templates, model: split };
        match subject.against(&spec, &model, sources) {
            Some((diags, sources)) => Err(diags.render(&sources, Format::Human, false)),
            None => Ok(subject),
        }
    }

    /// What becomes of these texts in the place of the subject's.
    pub fn judge(&self, text: &str, kernel: Option<&str>) -> Verdict {
        catch_unwind(AssertUnwindSafe(|| self.judged(text, kernel))).unwrap_or_else(|panic| Verdict::Panicked(said(&*panic)))
    }

    /// The names that the diagnostics of a MODEL.toml say would be legal.
    pub fn legal_names(&self, text: &str) -> Vec<String> {
        let sources = sources(&self.name, text, self.kernel.as_deref(), &SourceMap::default());
        let mut diags = Diagnostics::default();
        parse::parse(&sources, &mut diags);
        let labels = diags.sorted().into_iter().flat_map(|diagnostic| &diagnostic.labels);
        let lists = labels.filter_map(|label| label.text.strip_prefix("legal: "));
        lists.flat_map(|list| list.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
    }

    fn judged(&self, text: &str, kernel: Option<&str>) -> Verdict {
        let sources = sources(&self.name, text, kernel, &self.files);
        // The ids of the files are those of the whole, in which the spec comes first.
        let own = self::sources(&self.name, text, kernel, &SourceMap::default());
        let mut diags = Diagnostics::default();
        let mut specs = parse::parse(&own, &mut diags);
        if diags.has_errors() {
            return Verdict::Parse(first(&diags, &sources));
        }
        specs.templates.clone_from(&self.templates);
        let mut models = check::check(&specs, &sources, &mut diags);
        if diags.has_errors() {
            return Verdict::Check(first(&diags, &sources));
        }
        let model = models.remove(0);
        let (spec, _) = &specs.models[&self.name];
        match self.against(spec, &model, sources) {
            Some((diags, sources)) => Verdict::Checkpoint(first(&diags, &sources)),
            None => self.compare(model),
        }
    }

    /// How the checkpoint differs from a model.
    fn against(&self, spec: &ModelSpec, model: &Model, mut sources: SourceMap) -> Option<(Diagnostics, SourceMap)> {
        let config = &self.checkpoint.config;
        let file = sources.add(config.path.clone(), config.text.clone());
        let mut diags = Diagnostics::default();
        check::checkpoint::check(spec, model, &self.checkpoint, file, &sources, &mut diags);
        diags.has_errors().then_some((diags, sources))
    }

    fn compare(&self, model: Model) -> Verdict {
        let other = Split::new(model);
        if other.essence != self.model.essence {
            let [old, new] = [&self.model, &other].map(|split| split.essence.lines().map(str::trim).collect::<BTreeSet<_>>());
            let lost = old.difference(&new).map(|line| format!("- {line}"));
            let gained = new.difference(&old).map(|line| format!("+ {line}"));
            return Verdict::Different(lost.chain(gained).collect());
        }
        match self.model.differ(&other) {
            names if names.is_empty() => Verdict::Same,
            names => Verdict::Apart(names),
        }
    }
}

/// What is said first; and whatever is said can be shown.
fn first(diags: &Diagnostics, sources: &SourceMap) -> Id {
    let _ = diags.render(sources, Format::Human, false);
    diags.sorted()[0].id
}

/// The files of one model, and those of the kernels.
fn sources(name: &str, text: &str, kernel: Option<&str>, templates: &SourceMap) -> SourceMap {
    let mut sources = SourceMap::default();
    sources.add(format!("specs/{name}/MODEL.toml"), text);
    if let Some(kernel) = kernel {
        sources.add(format!("specs/{name}/KERNEL.toml"), kernel);
    }
    for (_, file) in templates.files() {
        sources.add(file.path.clone(), file.text.clone());
    }
    sources
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no text").to_owned()
}
