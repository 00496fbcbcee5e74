//! What the spec may not say otherwise, because every checkpoint of its `model_type` has it so.

mod attention;
mod experts;

use std::fmt::Display;

use crate::architecture::{Architecture, Bias, FfnKind, MixerKind, SoftCaps};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, listed};
use crate::expr::Expr;
use crate::model::{Activation, CheckpointFormat, ExpertLayout, NormPlacement};
use crate::source::{Span, Spanned};
use crate::spec::{FfnSpec, MixerSpec, ModelSpec, RopeSpec};

/// Compares what the spec states with what every checkpoint of this `model_type` has.
pub fn check(spec: &ModelSpec, architecture: &Architecture, diags: &mut Diagnostics) {
    let conventions = Conventions { spec, architecture };
    // Under the model_type of another model everything else differs too, and says nothing more.
    let strangers = conventions.kinds();
    if !strangers.is_empty() {
        diags.extend(strangers);
        return;
    }
    let mut found = conventions.checkpoint();
    found.extend(conventions.model());
    found.extend(conventions.blocks());
    found.extend(spec.mixers.iter().flat_map(|(_, mixer)| conventions.mixer(mixer)));
    found.extend(spec.ffns.iter().flat_map(|(_, ffn)| conventions.ffn(ffn)));
    diags.extend(found);
}

/// A spec and the conventions that it must follow.
struct Conventions<'s> {
    spec: &'s ModelSpec,
    architecture: &'s Architecture,
}

/// Why a convention cannot be stated otherwise.
const UNSTATED: &str = "the architecture fixes it, and no config states it";

/// Norms over latents are made without the config's `rms_norm_eps`, and so have the default of their class, which is this one
/// for every class of latent attention.
const LATENT_NORM_EPS: f64 = 1e-6;

impl Conventions<'_> {
    /// A diagnostic about what `place` says.
    fn mismatch(&self, message: String, place: &Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Id::ArchitectureMismatch, message).label(place, label)
    }

    fn model_type(&self) -> &str {
        self.architecture.model_type
    }

    /// A statement that must be this.
    fn fixed<T: PartialEq + Display>(&self, what: &str, stated: &Spanned<T>, value: T) -> Option<Diagnostic> {
        (stated.value != value).then(|| {
            self.mismatch(
                format!("`{what}` is {value} in every `{}` checkpoint", self.model_type()),
                &stated.span,
                format!("the spec says {}", stated.value),
            )
            .context(&self.spec.checkpoint.model_type.span, UNSTATED)
            .help("follow the architecture")
            .patch(&stated.span, value.to_string())
        })
    }

    /// A number that must be this, as a spec writes it.
    fn fixed_number(&self, what: &str, stated: &Spanned<f64>, value: f64) -> Option<Diagnostic> {
        (stated.value != value).then(|| {
            self.mismatch(
                format!("`{what}` is {value:?} in every `{}` checkpoint", self.model_type()),
                &stated.span,
                format!("the spec says {:?}", stated.value),
            )
            .context(&self.spec.checkpoint.model_type.span, UNSTATED)
            .help("follow the architecture")
            .patch(&stated.span, format!("{value:?}"))
        })
    }

    /// A name in quotes that must be this.
    fn fixed_name(&self, what: &str, span: &Span, stated: &str, value: &str, why: &str) -> Option<Diagnostic> {
        (stated != value).then(|| {
            self.mismatch(
                format!("`{what}` is \"{value}\" in every `{}` checkpoint", self.model_type()),
                span,
                format!("the spec says \"{stated}\""),
            )
            .context(&self.spec.checkpoint.model_type.span, why)
            .help("follow the architecture")
            .patch(span, format!("\"{value}\""))
        })
    }

    /// An expression that the architecture fixes. What counts is the formula: a number that happens to be equal may differ in
    /// the next checkpoint.
    fn formula(&self, what: &str, stated: &Spanned<Expr>, fixed: &str) -> Option<Diagnostic> {
        (stated.value.to_string() != fixed).then(|| {
            self.mismatch(
                format!("`{what}` is `{fixed}` in every `{}` checkpoint", self.model_type()),
                &stated.span,
                "the spec says otherwise",
            )
            .context(&self.spec.checkpoint.model_type.span, UNSTATED)
            .help("follow the architecture")
            .patch(&stated.span, format!("\"{fixed}\""))
        })
    }

    /// An expression that is there exactly where the architecture has it.
    fn optional_formula(&self, what: &str, stated: Option<&Spanned<Expr>>, fixed: Option<&str>) -> Option<Diagnostic> {
        match (stated, fixed) {
            (Some(stated), Some(fixed)) => self.formula(what, stated, fixed),
            (Some(stated), None) => Some(self.not_there(what, &stated.key)),
            (None, Some(fixed)) => {
                let model = &self.spec.model;
                let diagnostic = Diagnostic::new(Id::MissingKey, format!("`{what}` is missing"))
                    .label(&model.header, format!("a `{}` has one", self.model_type()))
                    .context(&self.spec.checkpoint.model_type.span, UNSTATED);
                Some(diagnostic.help(format!("write `{what} = \"{fixed}\"`")))
            }
            (None, None) => None,
        }
    }

    /// A key that says something of which no such checkpoint has any.
    fn not_there(&self, what: &str, key: &Span) -> Diagnostic {
        self.mismatch(format!("no `{}` checkpoint has `{what}`", self.model_type()), key, "here one has")
            .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
            .help("delete the line")
    }

    /// The checkpoint's format, and how its experts are stored.
    fn checkpoint(&self) -> Vec<Diagnostic> {
        let format = &self.spec.checkpoint.format;
        let known: Vec<&str> = self.architecture.formats.iter().map(|f| f.as_str()).collect();
        if self.architecture.formats.contains(&format.value) {
            return Vec::new();
        }
        let message = format!("no `{}` checkpoint is known in format \"{}\"", self.model_type(), format.value.as_str());
        let diagnostic = Diagnostic::new(Id::UnknownValue, message)
            .label(&format.span, "the names of its tensors there are unknown")
            .context(&self.spec.checkpoint.model_type.span, format!("is read from {}", listed(&known, "and")))
            .help("take the checkpoint in a format that is read, and write that");
        vec![diagnostic]
    }

    fn model(&self) -> Vec<Diagnostic> {
        let (model, architecture) = (&self.spec.model, self.architecture);
        let mut found = Vec::new();
        found.extend(self.fixed("rms_norm_unit_offset", &model.rms_norm_unit_offset, architecture.rms_norm_unit_offset));
        found.extend(self.formula("embedding_scale", &model.embedding_scale, architecture.embedding_scale));
        found.extend(self.optional_formula("residual_scale", model.residual_scale.as_ref(), architecture.residual_scale));
        found.extend(self.optional_formula("logit_scale", model.logit_scale.as_ref(), architecture.logit_scale));
        if let Some(cap) = model.final_logit_softcapping.as_ref().filter(|_| architecture.soft_caps == SoftCaps::None) {
            found.push(self.not_there("final_logit_softcapping", &cap.key));
        }
        if let Some(names) = self.spec.weights.names.as_ref().filter(|_| *self.spec.checkpoint.format != CheckpointFormat::Hf) {
            found.push(
                self.mismatch("`names` is about Hugging Face's format".to_owned(), &names.key, "would rename nothing")
                    .context(&self.spec.checkpoint.format.span, "is another one")
                    .help("delete the line"),
            );
        }
        found
    }

    fn blocks(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (name, block) in &self.spec.layers.blocks {
            let placement = |norm| match norm {
                NormPlacement::Pre => "pre",
                NormPlacement::Sandwich => "sandwich",
            };
            let (stated, fixed) = (placement(block.norm.value), placement(self.architecture.norm));
            found.extend(self.fixed_name("norm", &block.norm.span, stated, fixed, UNSTATED));
            let message = |what: &str| format!("a layer of every `{}` checkpoint has {what}", self.model_type());
            let diagnostic = match (&block.mixer, &block.ffn, self.architecture.single) {
                (Some(mixer), Some(ffn), true) => self
                    .mismatch(message("a mixer or a feed-forward, not both"), &ffn.span, "in the same layer")
                    .context(&mixer.span, "a mixer")
                    .help("make two blocks of it, and name both in `pattern`"),
                (Some(_), None, false) => self
                    .mismatch(message("a mixer and a feed-forward"), &name.span, "this block has no feed-forward")
                    .help("name its `ffn`"),
                (None, Some(_), false) => self
                    .mismatch(message("a mixer and a feed-forward"), &name.span, "this block has no mixer")
                    .help("name its `mixer`"),
                _ => continue,
            };
            found.push(diagnostic.context(&self.spec.checkpoint.model_type.span, "the architecture fixes it"));
        }
        found
    }

    /// Mixers and feed-forwards of a kind that no such checkpoint has.
    fn kinds(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let known: Vec<&str> = self.architecture.mixers.iter().map(|k| k.as_str()).collect();
        for (name, mixer) in &self.spec.mixers {
            let kind = mixer_kind(mixer);
            if !self.architecture.mixers.contains(&kind) {
                found.push(self.unknown_kind(name, "mixer", kind.as_str(), &known));
            }
        }
        let known: Vec<&str> = self.architecture.ffns.iter().map(|k| k.as_str()).collect();
        for (name, ffn) in &self.spec.ffns {
            let kind = ffn_kind(ffn);
            if !self.architecture.ffns.contains(&kind) {
                found.push(self.unknown_kind(name, "feed-forward", kind.as_str(), &known));
            }
        }
        found
    }

    fn unknown_kind(&self, name: &Spanned<String>, what: &str, kind: &str, known: &[&str]) -> Diagnostic {
        self.mismatch(
            format!("no {what} of a `{}` checkpoint is `{kind}`", self.model_type()),
            &name.span,
            format!("a `{}` has {}", self.model_type(), listed(known, "and")),
        )
        .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it")
        .help("write the kind that the architecture has, or the `model_type` of the checkpoint's config.json")
    }

    fn mixer(&self, mixer: &MixerSpec) -> Vec<Diagnostic> {
        match mixer {
            MixerSpec::Gqa(gqa) => self.gqa(gqa),
            MixerSpec::Mla(mla) => {
                let interleaved = self.interleaved(&mla.rope);
                let eps = self.fixed_number("latent_rms_norm_eps", &mla.latent_rms_norm_eps, LATENT_NORM_EPS);
                interleaved.into_iter().chain(eps).collect()
            }
            MixerSpec::Mamba2(_) | MixerSpec::GatedDeltaNet(_) => Vec::new(),
        }
    }

    /// How rotary pairs lie, where no config says it.
    fn interleaved(&self, rope: &RopeSpec) -> Option<Diagnostic> {
        self.fixed("interleaved", &rope.interleaved, self.architecture.rope_interleaved?)
    }

    fn ffn(&self, ffn: &FfnSpec) -> Vec<Diagnostic> {
        match (ffn, &self.architecture.moe) {
            (FfnSpec::GatedMlp { hidden_act, mlp_bias, .. } | FfnSpec::Mlp { hidden_act, mlp_bias, .. }, _) => {
                self.mlp(hidden_act, mlp_bias)
            }
            (FfnSpec::Moe(moe), Some(experts)) => self.moe(moe, experts),
            (FfnSpec::Moe(_), None) => Vec::new(),
        }
    }

    fn mlp(&self, hidden_act: &Spanned<Activation>, mlp_bias: &Spanned<bool>) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        // config.json states the activation; a GGUF does not.
        if *self.spec.checkpoint.format == CheckpointFormat::Gguf && hidden_act.value != self.architecture.hidden_act {
            let act = self.architecture.hidden_act.as_str();
            found.push(
                self.mismatch(
                    format!("`hidden_act` is \"{act}\" in every `{}` GGUF", self.model_type()),
                    &hidden_act.span,
                    format!("the spec says \"{}\"", hidden_act.value.as_str()),
                )
                .context(&self.spec.checkpoint.model_type.span, "the architecture fixes it, and the file does not state it")
                .help("follow the architecture")
                .patch(&hidden_act.span, format!("\"{act}\"")),
            );
        }
        if let Bias::Fixed(value) = self.architecture.mlp_bias {
            found.extend(self.fixed("mlp_bias", mlp_bias, value));
        }
        found
    }

    /// How the experts of a layer are stored.
    fn layout(&self) -> ExpertLayout {
        let stated = self.spec.weights.experts.as_ref().map(|layout| layout.value);
        self.architecture.expert_layout(*self.spec.checkpoint.format, stated)
    }
}

fn mixer_kind(mixer: &MixerSpec) -> MixerKind {
    match mixer {
        MixerSpec::Gqa(_) => MixerKind::Gqa,
        MixerSpec::Mla(_) => MixerKind::Mla,
        MixerSpec::Mamba2(_) => MixerKind::Mamba2,
        MixerSpec::GatedDeltaNet(_) => MixerKind::GatedDeltaNet,
    }
}

fn ffn_kind(ffn: &FfnSpec) -> FfnKind {
    match ffn {
        FfnSpec::GatedMlp { .. } => FfnKind::GatedMlp,
        FfnSpec::Mlp { .. } => FfnKind::Mlp,
        FfnSpec::Moe(_) => FfnKind::Moe,
    }
}

impl CheckpointFormat {
    /// The spelling in specs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hf => "hf",
            Self::Gguf => "gguf",
            Self::Mistral => "mistral",
        }
    }
}
