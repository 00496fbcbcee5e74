//! Kernel selection: for each op of a model on each of its targets, exactly one template fits.

mod heads;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::coverage::{self, Failure, Need, Reason};
use super::launch::{self, Plan, Selected};
use super::{fit, suggest, suggest_text, templates};
use crate::binding;
use crate::cost::{self, Step};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, quoted};
use crate::lower;
use crate::model::{DeviceTemplate, Kernel, Model, Selection, Target};
use crate::program::OpKind;
use crate::source::{Span, Spanned};
use crate::spec::{KernelEntry, KernelSpec, ModelSpec, ParamRule, ParamValue, TemplateSpec};

/// Selects a kernel for every op on every target of the model.
pub(super) fn select(
    model: &Model,
    spec: &ModelSpec,
    kernel: Option<&KernelSpec>,
    templates: &BTreeMap<String, TemplateSpec>,
    diags: &mut Diagnostics,
) -> Vec<(Target, Selection)> {
    let mut all = Vec::new();
    let mut used = Vec::new();
    for target in &spec.model.targets.value {
        let ops = lower::ops(model, target.value);
        let (mut selection, mut failures): (Selection, Vec<Failure<'_>>) = Default::default();
        let mut selected = Vec::new();
        for op in ops.iter() {
            let requirement = op.requirement(&model.checkpoint.accept);
            debug_assert!(templates::knows(&requirement, target.value), "{requirement:?} is not in the table of ops");
            let failed = failures.iter().any(|f| f.need.requirement == requirement);
            if failed || selection.iter().any(|(known, _)| *known == requirement) {
                continue;
            }
            let entry = kernel.and_then(|kernel| entry(kernel, target.value, requirement.op));
            let need = Need { model, spec, ops: &ops, target, op, requirement };
            match choose(&need, entry, templates, diags) {
                Ok(Some(kernel)) => {
                    let template = &templates[&kernel.template];
                    selected.push(Selected { need: need.clone(), template, entry, tuned: kernel.tuned.clone() });
                    selection.push((need.requirement, kernel));
                }
                Ok(None) => {}
                Err(reason) => failures.push(Failure { need, reason }),
            }
        }
        let has_kernels = templates.values().any(|t| t.target.value == target.value);
        diags.extend(coverage::report(&failures, has_kernels));
        let stated = kernel.and_then(|kernel| kernel.limits.iter().find(|e| e.target.value == target.value));
        let plan = Plan { maxima: model.maxima(target.value), stated };
        launch::prove(&selected, plan, diags);
        for ((_, kernel), one) in selection.iter_mut().zip(&selected) {
            kernel.launch = launch::launch(one, plan.maxima);
        }
        all.push((target.value, selection));
        used.extend(ops.iter().map(|op| op.requirement(&model.checkpoint.accept).op));
    }
    used.sort_unstable();
    used.dedup();
    if let Some(kernel) = kernel {
        unused(kernel, spec, &used, templates, diags);
    }
    all
}

fn entry<'k>(kernel: &'k KernelSpec, target: Target, op: &str) -> Option<&'k KernelEntry> {
    kernel.entries.iter().find(|e| e.target.value == target && e.op.value == op)
}

/// The one kernel of an op. `None` where its entry in KERNEL.toml is wrong, which is then reported.
fn choose<'a>(
    need: &Need<'_>,
    entry: Option<&'a KernelEntry>,
    templates: &'a BTreeMap<String, TemplateSpec>,
    diags: &mut Diagnostics,
) -> Result<Option<Kernel>, Reason<'a>> {
    let (op, target) = (need.requirement.op, need.target.value);
    let candidates: Vec<&TemplateSpec> = templates.values().filter(|t| t.op.value == op && t.target.value == target).collect();
    if candidates.is_empty() {
        return Err(Reason::NoTemplate);
    }
    let tune = |template: &TemplateSpec, reason, diags: &mut Diagnostics| {
        let kernel = tune(need, entry, template, reason, diags);
        Ok(kernel.map(|kernel| Kernel { others: others(need, template, &candidates), ..kernel }))
    };
    if let Some(name) = entry.and_then(|e| e.template.as_ref()) {
        let Some(named) = candidates.iter().find(|t| t.name == name.value) else {
            diags.push(no_such_template(need, name, &candidates, templates));
            return Ok(None);
        };
        return match fit::misfit(named, &need.requirement) {
            None => tune(named, "named by KERNEL.toml", diags),
            Some(misfit) => {
                diags.push(heads::named_misfit(need, name, &misfit, &candidates));
                Ok(None)
            }
        };
    }
    let (mut fitting, mut misfits) = (Vec::new(), Vec::new());
    for &template in &candidates {
        match fit::misfit(template, &need.requirement) {
            None => fitting.push(template),
            Some(misfit) => misfits.push(misfit),
        }
    }
    // A template that states no priority ranks below all that do.
    let priority = |t: &TemplateSpec| t.priority.as_ref().map(|p| p.value);
    let highest = fitting.iter().map(|t| priority(t)).max().flatten();
    let only = fitting.len() == 1;
    fitting.retain(|t| priority(t) == highest);
    match fitting.as_slice() {
        [] => Err(Reason::NoneFits(misfits)),
        [one] if only => tune(one, "the only one that fits", diags),
        [one] => tune(one, "the highest priority of those that fit", diags),
        _ => Err(Reason::SeveralFit(fitting)),
    }
}

/// The candidates that were not selected, and why.
fn others(need: &Need<'_>, selected: &TemplateSpec, candidates: &[&TemplateSpec]) -> Vec<(String, String)> {
    let rest = candidates.iter().filter(|template| template.name != selected.name);
    let why = |template: &TemplateSpec| match (fit::misfit(template, &need.requirement), &template.priority) {
        (Some(misfit), _) => misfit.to_string(),
        (None, Some(priority)) => format!("it fits, with priority {}", priority.value),
        (None, None) => "it fits, without a priority".to_owned(),
    };
    rest.map(|template| (template.name.clone(), why(template))).collect()
}

fn no_such_template(
    need: &Need<'_>,
    name: &Spanned<String>,
    candidates: &[&TemplateSpec],
    templates: &BTreeMap<String, TemplateSpec>,
) -> Diagnostic {
    let (op, target) = (need.requirement.op, need.target.value.name());
    let diagnostic =
        Diagnostic::new(Id::UnknownReference, format!("no template for `{op}` on {target} is named `{}`", name.value));
    let diagnostic = match templates.get(&name.value) {
        None => diagnostic.label(&name.span, "there is no folder of this name"),
        Some(other) if other.op.value != op => {
            diagnostic.label(&name.span, "runs another op").context(&other.op.span, format!("namely `{}`", other.op.value))
        }
        Some(other) => diagnostic.label(&name.span, "runs elsewhere").context(&other.target.span, "namely here"),
    };
    let names: Vec<&str> = candidates.iter().map(|t| t.name.as_str()).collect();
    suggest_text(diagnostic, name, &names, || format!("there are {}", quoted(&names)))
}

/// Takes tuned parameters from KERNEL.toml, and the template's first value where it is silent.
fn tune(
    need: &Need<'_>,
    entry: Option<&KernelEntry>,
    template: &TemplateSpec,
    reason: &'static str,
    diags: &mut Diagnostics,
) -> Option<Kernel> {
    let before = diags.len();
    let given = entry.map_or(&[][..], |e| &e.params);
    for (key, value) in given {
        diags.extend(parameter(need, template, key, value));
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
    let asked = |name: &str| need.requirement.params.iter().any(|(param, _)| *param == name);
    let chosen = template.params.iter().filter(|(name, rule)| rule.value.tunable.is_none() && !asked(&name.value));
    let kernel = Kernel {
        template: template.name.clone(),
        rust: template.rust.as_ref().map(|r| r.value.clone()).unwrap_or_default(),
        tuned,
        chosen: chosen.map(|(name, _)| name.value.clone()).collect(),
        reason,
        others: Vec::new(),
        bytes: template.cost.bytes.value.clone(),
        flops: template.cost.flops.value.clone(),
        launch: None,
        device: template.launch.is_some().then(|| DeviceTemplate(Arc::new(template.clone()))),
    };
    diags.extend(unbound(need, template));
    for expr in [&template.cost.bytes, &template.cost.flops] {
        if let Err(e) = cost::evaluate(&expr.value, &need.requirement, &kernel, Step::decode(1)) {
            diags.push(
                Diagnostic::new(Id::TemplateInvalid, format!("a cost of `{}` has no value", template.name))
                    .label(&expr.span.at(e.range.clone()), e.to_string())
                    .note(format!("computed for `{}` of {}", need.requirement.op, need.model.name))
                    .help("a cost must have a value for every model that the template may be selected for"),
            );
        }
    }
    (diags.len() == before).then_some(kernel)
}

/// An argument of a template for which the op has nothing.
fn unbound(need: &Need<'_>, template: &TemplateSpec) -> Option<Diagnostic> {
    let OpKind::Device(op) = &need.op.kind else { return None };
    let arg = binding::bindings(template, op).err()?;
    let names: Vec<&str> = op.operands.iter().map(|(name, _)| *name).collect();
    let message = format!("`{}` has nothing to pass for the argument `{}`", op.op, arg.name.value);
    let diagnostic = Diagnostic::new(Id::TemplateInvalid, message)
        .label(&arg.name.span, "no launch could give it")
        .context(&template.op.span, format!("has {}", quoted(&names)));
    let known = || "use a name that the op has, with the type of what it stands for".to_owned();
    Some(suggest_text(diagnostic, &arg.name, &names, known))
}

/// What is wrong with one key of an entry in KERNEL.toml.
fn parameter(need: &Need<'_>, template: &TemplateSpec, key: &Spanned<String>, value: &Spanned<ParamValue>) -> Option<Diagnostic> {
    let wrong = |message: String| Diagnostic::new(Id::KernelParam, message);
    let tunable: Vec<&str> = template.params.iter().filter(|(_, r)| r.tunable.is_some()).map(|(p, _)| p.value.as_str()).collect();
    let Some((param, rule)) = template.params.iter().find(|(p, _)| p.value == key.value) else {
        let diagnostic = wrong(format!("template `{}` has no parameter `{}`", template.name, key.value))
            .label(&key.span, "nothing would read this")
            .context(&template.op.span, "runs this op");
        return Some(suggest(diagnostic, &key.value, &tunable, &key.span, || match tunable.as_slice() {
            [] => format!("`{}` has nothing to tune: delete the line", template.name),
            some => format!("tunable: {}", quoted(some)),
        }));
    };
    let ParamRule { tunable: Some(allowed), .. } = &rule.value else {
        if let Some(mismatch) = heads::stated_otherwise(need, key, value) {
            return Some(mismatch);
        }
        let diagnostic = wrong(format!("`{}` follows from the model and cannot be tuned", key.value));
        let diagnostic = diagnostic.label(&key.span, "MODEL.toml decides it").context(&param.span, "has no `tunable`");
        return Some(diagnostic.help("delete the line").patch(&line(key, value), ""));
    };
    let is_allowed = |n: u64| allowed.iter().any(|a| a.value == n);
    let (shown, number) = match &value.value {
        ParamValue::Int(n) if is_allowed(*n) => return None,
        ParamValue::Int(n) => (n.to_string(), None),
        ParamValue::Text(text) => (format!("{text:?}"), text.parse().ok().filter(|n| is_allowed(*n))),
    };
    let diagnostic = wrong(format!("`{}` of template `{}` cannot be {shown}", key.value, template.name))
        .label(&value.span, "the kernel was not written for this")
        .context(&allowed.span, "but for these");
    let values: Vec<String> = allowed.iter().map(|a| a.value.to_string()).collect();
    Some(match number {
        Some(number) => diagnostic.help("write it without quotes").patch(&value.span, number.to_string()),
        None => diagnostic.help(format!("choose out of {}", values.join(", "))),
    })
}

/// A key with its value.
fn line(key: &Spanned<String>, value: &Spanned<ParamValue>) -> Span {
    key.span.at(key.span.range.start..value.span.range.end)
}

/// Entries of KERNEL.toml that nothing reads; `used` are the ops of the model.
fn unused(
    kernel: &KernelSpec,
    spec: &ModelSpec,
    used: &[&str],
    templates: &BTreeMap<String, TemplateSpec>,
    diags: &mut Diagnostics,
) {
    for entry in &kernel.entries {
        let (target, op) = (entry.target.value, entry.op.value.as_str());
        if !spec.model.targets.iter().any(|t| t.value == target) {
            let name = target.name();
            diags.push(
                Diagnostic::new(Id::KernelUnused, format!("the model has no target {name}"))
                    .label(&entry.target.span, "nothing would read this table")
                    .context(&spec.model.targets.span, "its targets")
                    .help(format!("add \"{name}\" to `targets`, or delete the table")),
            );
        } else if !used.contains(&op) {
            let diagnostic = Diagnostic::new(Id::KernelUnused, format!("`{op}` is not an op of this model"));
            diags.push(if templates.values().any(|t| t.op.value == op) {
                diagnostic.label(&entry.op.span, "no layer needs it").help("delete the table")
            } else {
                let diagnostic = diagnostic.label(&entry.op.span, "nor of any template");
                suggest(diagnostic, op, used, &entry.op.span, || format!("its ops are {}", quoted(used)))
            });
        }
    }
}
