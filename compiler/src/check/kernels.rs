//! Kernel selection: for each op of a model on each of its targets, exactly one template fits.

use std::collections::BTreeMap;

use crate::cost::{self, Step};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, did_you_mean, quoted};
use crate::lower;
use crate::model::{Kernel, Model, ParamSet, Requirement, Selection, Target};
use crate::program::Op;
use crate::source::{Span, Spanned};
use crate::spec::{KernelEntry, KernelSpec, ModelSpec, ParamRule, ParamValue, Specs, TemplateSpec};

/// Checks the templates by themselves.
pub fn templates(specs: &Specs, diags: &mut Diagnostics) {
    for template in specs.templates.values() {
        let invalid = |message: &str, span: &Span, label: String| {
            Diagnostic::new(Id::TemplateInvalid, message.to_owned()).label(span, label)
        };
        if template.target.value == Target::Cpu && template.rust.is_none() {
            diags.push(
                invalid("a kernel for the CPU names no function", &template.target.span, "runs Rust".to_owned())
                    .help("add rust = \"path::of::the::function\""),
            );
        }
        if template.target.value != Target::Cpu {
            diags.push(
                invalid(
                    "no code can be emitted for this target yet",
                    &template.target.span,
                    "this version emits Rust for cpu".to_owned(),
                )
                .help("delete the folder, or write target = \"cpu\""),
            );
        }
        if let Some(rust) = &template.rust
            && (syn::parse_str::<syn::Path>(&rust.value).is_err() || !rust.value.contains("::"))
        {
            diags.push(invalid("the function's path is no Rust path", &rust.span, format!("`{}`", rust.value)));
        }
        if !["products", "exponentials", "elementwise"].contains(&template.numerics.class.as_str()) {
            diags.push(
                invalid("no error model has this name", &template.numerics.class.span, "of [numerics]".to_owned())
                    .help("write \"products\", \"exponentials\" or \"elementwise\""),
            );
        }
        let known = |name: &str| Step::DIMS.contains(&name) || template.params.iter().any(|(p, _)| p.value == name);
        for expr in [&template.cost.bytes, &template.cost.flops] {
            for name in expr.value.names() {
                if !known(name) {
                    diags.push(invalid(
                        "a cost is computed from a dimension that the template does not have",
                        &expr.span,
                        format!("`{name}` is neither a param nor one of {}", quoted(Step::DIMS)),
                    ));
                }
            }
        }
        for (param, rule) in &template.params {
            if let Some(tunable) = &rule.tunable
                && tunable.value.is_empty()
            {
                diags.push(invalid("a tunable parameter has no values", &tunable.span, format!("of `{}`", param.value)));
            }
        }
    }
}

/// Selects a kernel for every op on every target of the model.
pub fn select(
    model: &Model,
    spec: &ModelSpec,
    kernel: Option<&KernelSpec>,
    templates: &BTreeMap<String, TemplateSpec>,
    diags: &mut Diagnostics,
) -> Vec<(Target, Selection)> {
    let ops = lower::ops(model);
    let mut all = Vec::new();
    for target in &spec.model.targets.value {
        let mut selection: Selection = Vec::new();
        for op in ops.iter() {
            let requirement = op.requirement(&model.checkpoint.accept);
            if selection.iter().any(|(known, _)| *known == requirement) {
                continue;
            }
            let entry = entry(kernel, target.value, requirement.op);
            let want = Want { model, spec, target, requirement: &requirement, op, entry };
            if let Some(chosen) = want.choose(templates, diags) {
                selection.push((requirement, chosen));
            }
        }
        all.push((target.value, selection));
    }
    if let Some(kernel) = kernel {
        unused(kernel, spec, &ops.iter().collect::<Vec<_>>(), model, templates, diags);
    }
    all
}

fn entry<'k>(kernel: Option<&'k KernelSpec>, target: Target, op: &str) -> Option<&'k KernelEntry> {
    kernel?.entries.iter().find(|e| e.target.value == target && e.op.value == op)
}

/// One requirement in search of its template.
struct Want<'a> {
    model: &'a Model,
    spec: &'a ModelSpec,
    target: &'a Spanned<Target>,
    requirement: &'a Requirement,
    op: &'a Op,
    entry: Option<&'a KernelEntry>,
}

impl Want<'_> {
    fn choose(&self, templates: &BTreeMap<String, TemplateSpec>, diags: &mut Diagnostics) -> Option<Kernel> {
        let candidates: Vec<&TemplateSpec> =
            templates.values().filter(|t| t.op.value == self.requirement.op && t.target.value == self.target.value).collect();
        if let Some(name) = self.entry.and_then(|e| e.template.as_ref()) {
            let Some(named) = candidates.iter().find(|t| t.name == name.value) else {
                let names: Vec<&str> = candidates.iter().map(|t| t.name.as_str()).collect();
                diags.push(
                    Diagnostic::new(Id::UnknownReference, format!("no template `{}` for `{}`", name.value, self.requirement.op))
                        .label(&name.span, format!("on {}", self.target.value.name()))
                        .help(
                            did_you_mean(&name.value, names.iter().copied())
                                .unwrap_or_else(|| format!("templates for it: {}", quoted(names.iter().copied()))),
                        ),
                );
                return None;
            };
            return match misfit(named, self.requirement) {
                None => self.tune(named, "named by KERNEL.toml", diags),
                Some(why) => {
                    let gap = self.gap(&[(named, why)]);
                    diags.push(gap.context(&name.span, "the template named here"));
                    None
                }
            };
        }
        let (mut fitting, mut misfits) = (Vec::new(), Vec::new());
        for template in &candidates {
            match misfit(template, self.requirement) {
                None => fitting.push(*template),
                Some(why) => misfits.push((*template, why)),
            }
        }
        match fitting.as_slice() {
            [] => {
                diags.push(self.gap(&misfits));
                None
            }
            [only] => self.tune(only, "the only one that fits", diags),
            several => {
                let priority = |t: &TemplateSpec| t.priority.as_ref().map(|p| p.value);
                let highest = several.iter().filter_map(|t| priority(t)).max();
                let best: Vec<&&TemplateSpec> = several.iter().filter(|t| highest.is_some() && priority(t) == highest).collect();
                if let [best] = best.as_slice() {
                    return self.tune(best, "the highest priority of those that fit", diags);
                }
                diags.push(self.overlap(several));
                None
            }
        }
    }

    /// The place in MODEL.toml that asks for this op, with what it asks.
    fn place(&self) -> (Span, String) {
        let layers = self.layers();
        if let Some((name, _)) = self.spec.mixers.iter().find(|(name, _)| self.mentions(&name.value)) {
            return (name.span.clone(), layers);
        }
        (self.target.span.clone(), layers)
    }

    /// Whether this op belongs to the mixer with this name.
    fn mentions(&self, mixer: &str) -> bool {
        let ops = lower::ops(self.model);
        self.model.kinds.iter().zip(&ops.kinds).any(|(kind, ops)| {
            kind.mixer.as_ref().is_some_and(|(name, _)| name == mixer) && ops.iter().any(|op| op.kind == self.op.kind)
        })
    }

    fn layers(&self) -> String {
        let ops = lower::ops(self.model);
        let kinds: Vec<usize> = (0..ops.kinds.len()).filter(|&k| ops.kinds[k].iter().any(|op| op.kind == self.op.kind)).collect();
        let count = self.model.pattern.iter().filter(|k| kinds.contains(k)).count();
        if count == 0 { "needed once in a step".to_owned() } else { format!("needed by {count} layers") }
    }

    fn gap(&self, misfits: &[(&TemplateSpec, Misfit)]) -> Diagnostic {
        let (op, target) = (self.requirement.op, self.target.value.name());
        let (span, needed) = self.place();
        let Some((_, first)) = misfits.first() else {
            return Diagnostic::new(Id::KernelGap, format!("no kernel runs `{op}` on {target}"))
                .label(&span, needed)
                .context(&self.target.span, "the model says that it runs there")
                .help(format!("take {target} out of `targets`, or add a template for `{op}`"));
        };
        let mut diagnostic = Diagnostic::new(Id::KernelGap, format!("no kernel runs `{op}` with {} on {target}", first.asked));
        let dim = self.key_span(first.param);
        diagnostic = match dim {
            Some(dim) => diagnostic.label(&dim, needed),
            None => diagnostic.label(&span, needed),
        };
        for (_, misfit) in misfits {
            diagnostic = diagnostic.context(&misfit.rule, misfit.why.clone());
        }
        match &first.nearest {
            Some(nearest) => diagnostic.help(nearest.clone()),
            None => diagnostic,
        }
    }

    /// Where MODEL.toml states a parameter of this requirement.
    fn key_span(&self, param: &str) -> Option<Span> {
        use crate::spec::{FfnSpec, MixerSpec};
        let mixer = self.spec.mixers.iter().find(|(name, _)| self.mentions(&name.value));
        match (param, mixer) {
            ("head_dim", Some((_, MixerSpec::Gqa(gqa)))) => Some(gqa.head_dim.span.clone()),
            ("rotary_dim", Some((_, MixerSpec::Gqa(gqa)))) => Some(gqa.rope.rotary_dim.span.clone()),
            ("layout", Some((_, MixerSpec::Gqa(gqa)))) => Some(gqa.rope.interleaved.span.clone()),
            ("group" | "num_key_value_heads", Some((_, MixerSpec::Gqa(gqa)))) => Some(gqa.num_key_value_heads.span.clone()),
            ("kv_dtype", Some((_, MixerSpec::Gqa(gqa)))) => Some(gqa.kv_cache_dtype.span.clone()),
            ("format", _) => Some(self.spec.weights.accept.span.clone()),
            ("in" | "out" | "dim", _) => self.spec.ffns.first().map(|(_, FfnSpec::GatedMlp { intermediate_size, .. })| {
                let inner = intermediate_size.value;
                let asks = self.requirement.params.iter().any(|(_, p)| *p == ParamSet::Int(inner));
                if asks { intermediate_size.span.clone() } else { self.spec.model.hidden_size.span.clone() }
            }),
            _ => None,
        }
    }

    fn overlap(&self, several: &[&TemplateSpec]) -> Diagnostic {
        let (span, needed) = self.place();
        let target = self.target.value.name();
        let mut diagnostic = Diagnostic::new(
            Id::KernelOverlap,
            format!("{} kernels run `{}` on {target}, and nothing says which", several.len(), self.requirement.op),
        )
        .label(&span, needed);
        for template in several {
            diagnostic = diagnostic.context(&template.op.span, format!("`{}` fits", template.name));
        }
        diagnostic.help(format!(
            "name one in KERNEL.toml: [{target}.{}] template = \"{}\"; or give one TEMPLATE.toml a higher `priority`",
            self.requirement.op, several[0].name
        ))
    }

    /// Takes tuned parameters from KERNEL.toml, and the template's first value where it is silent.
    fn tune(&self, template: &TemplateSpec, reason: &'static str, diags: &mut Diagnostics) -> Option<Kernel> {
        let before = diags.len();
        let given = self.entry.map_or(&[][..], |e| &e.params);
        for (key, value) in given {
            let rule = template.params.iter().find(|(p, _)| p.value == key.value);
            let tunable: Vec<&str> =
                template.params.iter().filter(|(_, r)| r.tunable.is_some()).map(|(p, _)| p.value.as_str()).collect();
            match rule.map(|(param, rule)| (param, &rule.value)) {
                Some((_, ParamRule { tunable: Some(allowed), .. })) => {
                    let legal = matches!(value.value, ParamValue::Int(n) if allowed.value.iter().any(|a| a.value == n));
                    if !legal {
                        let values: Vec<String> = allowed.value.iter().map(|a| a.value.to_string()).collect();
                        diags.push(
                            Diagnostic::new(
                                Id::KernelParam,
                                format!("`{}` of template `{}` cannot be this", key.value, template.name),
                            )
                            .label(&value.span, "not among the values that the kernel was written for")
                            .context(&allowed.span, "these are")
                            .help(format!("choose {}", values.join(", "))),
                        );
                    }
                }
                Some((param, _)) => diags.push(
                    Diagnostic::new(Id::KernelParam, format!("`{}` follows from the model and cannot be tuned", key.value))
                        .label(&key.span, "delete this")
                        .context(&param.span, "has no `tunable`"),
                ),
                None => diags.push(
                    Diagnostic::new(Id::KernelParam, format!("template `{}` has no parameter `{}`", template.name, key.value))
                        .label(&key.span, "nothing would read this")
                        .context(&template.op.span, "the template that runs this op")
                        .help(did_you_mean(&key.value, tunable.iter().copied()).unwrap_or_else(|| {
                            if tunable.is_empty() {
                                "it has none that can be tuned".to_owned()
                            } else {
                                format!("tunable: {}", quoted(tunable.iter().copied()))
                            }
                        })),
                ),
            }
        }
        let tuned = template.params.iter().filter_map(|(name, rule)| {
            let default = rule.tunable.as_ref()?.value.first()?.value;
            let chosen = given.iter().find(|(key, _)| key.value == name.value).and_then(|(_, v)| match v.value {
                ParamValue::Int(n) => Some(n),
                ParamValue::Text(_) => None,
            });
            Some((name.value.clone(), chosen.unwrap_or(default)))
        });
        let tuned: Vec<(String, u64)> = tuned.collect();
        for expr in [&template.cost.bytes, &template.cost.flops] {
            if let Err(e) = cost::evaluate(&expr.value, self.requirement, &tuned, Step::decode(1)) {
                diags.push(
                    Diagnostic::new(Id::TemplateInvalid, "a cost has no value")
                        .label(&expr.span, e.to_string())
                        .note(format!("computed for `{}` of {}", self.requirement.op, self.model.name)),
                );
            }
        }
        (diags.len() == before).then(|| Kernel {
            template: template.name.clone(),
            rust: template.rust.as_ref().map(|r| r.value.clone()).unwrap_or_default(),
            tuned,
            reason,
            bytes: template.cost.bytes.value.clone(),
            flops: template.cost.flops.value.clone(),
        })
    }
}

/// Why a template does not fit.
struct Misfit {
    param: &'static str,
    /// What the model asks, such as `head_dim 72`.
    asked: String,
    /// The rule that it breaks.
    rule: Span,
    /// How it breaks it.
    why: String,
    /// Legal values nearby.
    nearest: Option<String>,
}

/// The first parameter of a requirement that a template does not allow.
fn misfit(template: &TemplateSpec, requirement: &Requirement) -> Option<Misfit> {
    for (param, set) in &requirement.params {
        let Some((name, rule)) = template.params.iter().find(|(p, _)| p.value == *param) else {
            return Some(Misfit {
                param,
                asked: format!("a `{param}`"),
                rule: template.op.span.clone(),
                why: format!("`{}` does not say which `{param}` it can do", template.name),
                nearest: None,
            });
        };
        let found = match set {
            ParamSet::Int(value) => {
                number(*value, rule).map(|(rule, why, nearest)| (format!("{param} {value}"), rule, why, nearest))
            }
            ParamSet::Names(values) => values.iter().find_map(|value| {
                let Some(list) = &rule.one_of else {
                    return Some((format!("{param} {value}"), name.span.clone(), "lists no names".to_owned(), None));
                };
                let known = list.value.iter().any(|v| v.value == *value);
                (!known).then(|| {
                    let names = quoted(list.value.iter().map(|v| v.value.as_str()));
                    (
                        format!("{param} {value}"),
                        list.span.clone(),
                        format!("`{value}` is not among these"),
                        Some(format!("`{}` can do {names}", template.name)),
                    )
                })
            }),
        };
        if let Some((asked, rule, why, nearest)) = found {
            return Some(Misfit { param, asked, rule, why, nearest });
        }
    }
    None
}

/// The condition that a number breaks, why, and legal numbers nearby.
fn number(value: u64, rule: &ParamRule) -> Option<(Span, String, Option<String>)> {
    let (least, most) = (rule.min.as_ref().map_or(1, |m| m.value), rule.max.as_ref().map_or(u64::MAX, |m| m.value));
    if let Some(step) = &rule.multiple_of
        && step.value > 0
        && !value.is_multiple_of(step.value)
    {
        let below = value - value % step.value;
        let legal: Vec<String> =
            [below, below + step.value].iter().filter(|v| **v >= least && **v <= most && **v > 0).map(u64::to_string).collect();
        let why = format!("{value} is {} x {} + {}", value / step.value, step.value, value % step.value);
        return Some((step.span.clone(), why, Some(format!("{} would fit", legal.join(" and ")))));
    }
    if let Some(min) = rule.min.as_ref().filter(|m| value < m.value) {
        return Some((min.span.clone(), format!("{value} is less"), Some(format!("the least is {}", min.value))));
    }
    if let Some(max) = rule.max.as_ref().filter(|m| value > m.value) {
        return Some((max.span.clone(), format!("{value} is more"), Some(format!("the most is {}", max.value))));
    }
    if let Some(power) = rule.power_of_two.as_ref().filter(|p| p.value && !value.is_power_of_two()) {
        let (above, why) = (value.next_power_of_two(), format!("{value} is no power of two"));
        return Some((power.span.clone(), why, Some(format!("{} and {above} would fit", above / 2))));
    }
    None
}

/// Entries of KERNEL.toml that nothing reads.
fn unused(
    kernel: &KernelSpec,
    spec: &ModelSpec,
    ops: &[&Op],
    model: &Model,
    templates: &BTreeMap<String, TemplateSpec>,
    diags: &mut Diagnostics,
) {
    let mut used: Vec<&str> = ops.iter().map(|op| op.requirement(&model.checkpoint.accept).op).collect();
    used.sort_unstable();
    used.dedup();
    for entry in &kernel.entries {
        let (target, op) = (entry.target.value, entry.op.value.as_str());
        if !spec.model.targets.iter().any(|t| t.value == target) {
            diags.push(
                Diagnostic::new(Id::KernelUnused, format!("the model has no target {}", target.name()))
                    .label(&entry.target.span, "nothing would read this table")
                    .context(&spec.model.targets.span, "its targets")
                    .help("add the target, or delete the table"),
            );
        } else if !used.contains(&op) {
            let exists = templates.values().any(|t| t.op.value == op);
            let why = if exists { "no layer of this model uses it" } else { "no template has this op" };
            diags.push(
                Diagnostic::new(Id::KernelUnused, format!("`{op}` is not an op of this model")).label(&entry.op.span, why).help(
                    did_you_mean(op, used.iter().copied())
                        .unwrap_or_else(|| format!("its ops: {}", quoted(used.iter().copied()))),
                ),
            );
        }
    }
}
