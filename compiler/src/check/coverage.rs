//! What to say where an op finds no kernel, or more than one: ops that fail for the same reason are told together.

mod part;
mod stated;

use part::part;

use super::fit::{self, Asked, Misfit};
use super::{divisors, size};
use crate::diagnostic::{Diagnostic, Id, listed};
use crate::model::{Model, Requirement, Target};
use crate::program::{Op, Ops, Part};
use crate::source::{Span, Spanned};
use crate::spec::{FfnSpec, GqaSpec, MixerSpec, ModelSpec, ParamRule, TemplateSpec};

/// An op of a model on one of its targets, and what it asks of a kernel.
#[derive(Clone)]
pub(super) struct Need<'a> {
    pub model: &'a Model,
    pub spec: &'a ModelSpec,
    pub ops: &'a Ops,
    pub target: &'a Spanned<Target>,
    pub op: &'a Op,
    pub requirement: Requirement,
}

/// An op that has no kernel, or no single one.
pub(super) struct Failure<'a> {
    pub need: Need<'a>,
    pub reason: Reason<'a>,
}

/// Why an op has no single kernel.
pub(super) enum Reason<'a> {
    /// No template has this op on this target.
    NoTemplate,
    /// None of these fits.
    NoneFits(Vec<Misfit<'a>>),
    /// All of these fit, and nothing ranks them.
    SeveralFit(Vec<&'a TemplateSpec>),
}

/// One diagnostic for each reason.
pub(super) fn report(failures: &[Failure<'_>], target_has_kernels: bool) -> Vec<Diagnostic> {
    let mut told = Vec::new();
    let missing: Vec<&Need<'_>> = failures.iter().filter(|f| matches!(f.reason, Reason::NoTemplate)).map(|f| &f.need).collect();
    told.extend((!missing.is_empty()).then(|| no_template(&missing, target_has_kernels)));

    let mut groups: Vec<Gap<'_>> = Vec::new();
    for failure in failures {
        let Reason::NoneFits(misfits) = &failure.reason else { continue };
        let first = &misfits[0];
        let same = misfits.iter().all(|m| m.param == first.param);
        let group = groups.iter_mut().find(|gap| match (same, gap.asked) {
            (true, Some(asked)) => asked == (first.param, first.asked),
            (false, None) => gap.members[0].0.requirement.op == failure.need.requirement.op,
            _ => false,
        });
        match group {
            Some(gap) => gap.members.push((&failure.need, misfits)),
            None => {
                let asked = same.then_some((first.param, first.asked));
                groups.push(Gap { asked, members: vec![(&failure.need, misfits)] });
            }
        }
    }
    told.extend(groups.iter().map(none_fits));

    let mut overlaps: Vec<&str> = Vec::new();
    for failure in failures {
        if let Reason::SeveralFit(templates) = &failure.reason
            && !overlaps.contains(&failure.need.requirement.op)
        {
            overlaps.push(failure.need.requirement.op);
            told.push(several_fit(&failure.need, templates));
        }
    }
    told
}

fn no_template(needs: &[&Need<'_>], target_has_kernels: bool) -> Diagnostic {
    let target = needs[0].target;
    let name = target.value.name();
    // The only target cannot be taken out.
    let several = needs[0].spec.model.targets.len() > 1;
    if !target_has_kernels {
        let way =
            if several { format!("take \"{name}\" out of `targets`") } else { "name another target, such as \"cpu\"".to_owned() };
        return Diagnostic::new(Id::KernelGap, format!("no kernel is written for {name}"))
            .label(&target.span, "the model says that it runs there")
            .help(way);
    }
    let ops = distinct(needs.iter().map(|need| need.requirement.op));
    let mut diagnostic = Diagnostic::new(Id::KernelGap, format!("no kernel runs {} on {name}", listed(&ops, "and")));
    let mut places: Vec<Span> = Vec::new();
    for need in needs {
        let (place, layers) = (need.place(), need.layers());
        if !places.contains(&place) {
            diagnostic = diagnostic.label(&place, format!("needed {layers}"));
            places.push(place);
        }
    }
    if !places.contains(&target.span) {
        diagnostic = diagnostic.context(&target.span, "the model says that it runs there");
    }
    let template = if ops.len() == 1 { "a template" } else { "templates" };
    let remove = if several { format!("take \"{name}\" out of `targets`, or ") } else { String::new() };
    diagnostic.help(format!("{remove}add {template} for {}", listed(&ops, "and")))
}

/// Ops that no template fits, for one reason.
struct Gap<'f> {
    /// The parameter and value that every template excludes, or `None` where one excludes this and another that.
    asked: Option<(&'static str, Asked)>,
    /// The ops, with what excludes each template. Never empty.
    members: Vec<(&'f Need<'f>, &'f [Misfit<'f>])>,
}

fn none_fits(gap: &Gap<'_>) -> Diagnostic {
    let (need, misfits) = gap.members[0];
    let target = need.target.value.name();
    let ops = distinct(gap.members.iter().map(|(need, _)| need.requirement.op));
    let kernels = if ops.len() == 1 { "no kernel runs" } else { "no kernels run" };
    let with = match gap.asked {
        Some((param, value)) => format!("with {param} {value}"),
        None => "as this model needs it".to_owned(),
    };
    let mut diagnostic = Diagnostic::new(Id::KernelGap, format!("{kernels} {} {with} on {target}", listed(&ops, "and")));

    for param in distinct(misfits.iter().map(|m| m.param)) {
        let misfit = misfits.iter().find(|m| m.param == param).expect("params are those of the misfits");
        let (place, label) = need.stated(param, misfit.asked);
        diagnostic = diagnostic.label(&place, label);
    }
    let mut rules: Vec<&Span> = Vec::new();
    for misfit in gap.members.iter().flat_map(|(_, misfits)| misfits.iter()) {
        if !rules.contains(&&misfit.rule) {
            rules.push(&misfit.rule);
            diagnostic = diagnostic.context(&misfit.rule, misfit.why.clone());
        }
    }
    let mut ways: Vec<String> = Vec::new();
    if let Some((param, asked)) = gap.asked {
        let templates = gap.members.iter().map(|(_, misfits)| misfits.iter().map(|m| m.template));
        let choices: Vec<Vec<_>> = templates.map(|each| each.map(|t| fit::rule(t, param)).collect()).collect();
        ways.extend(match need.owner() {
            Owner::Mixer(_, MixerSpec::Gqa(gqa)) if param == "group" => need.legal_heads(gqa, &choices),
            _ => fit::legal(asked, &choices),
        });
    }
    ways.push("extend a template, with its tests".to_owned());
    diagnostic.help(ways.join("; or "))
}

fn several_fit(need: &Need<'_>, templates: &[&TemplateSpec]) -> Diagnostic {
    let (op, target) = (need.requirement.op, need.target.value.name());
    let message = format!("{} kernels run `{op}` on {target}, and nothing says which", templates.len());
    let diagnostic = Diagnostic::new(Id::KernelOverlap, message).label(&need.place(), format!("needed {}", need.layers()));
    let diagnostic = templates.iter().fold(diagnostic, |diagnostic, template| match &template.priority {
        Some(priority) => diagnostic.context(&priority.span, format!("`{}` fits", template.name)),
        None => diagnostic.context(&template.op.span, format!("`{}` fits", template.name)),
    });
    diagnostic
        .help(format!("name one in KERNEL.toml: [{target}.{op}] template = \"{}\"", templates[0].name))
        .help("or give one of them the highest `priority` in its TEMPLATE.toml")
}

/// Whose op it is: the table of MODEL.toml that states its dimensions.
enum Owner<'a> {
    Mixer(&'a Spanned<String>, &'a MixerSpec),
    Ffn(&'a Spanned<String>, &'a FfnSpec),
    Model,
}

impl<'a> Need<'a> {
    fn owner(&self) -> Owner<'a> {
        let kind = self.kinds().next().map(|k| &self.model.kinds[k]);
        let mixer = |name: &str| {
            let (name, mixer) = self.spec.mixers.iter().find(|(n, _)| n.value == name)?;
            Some(Owner::Mixer(name, mixer))
        };
        let owner = match part(&self.op.kind) {
            Part::Mixer => kind.and_then(|kind| mixer(&kind.mixer.as_ref()?.0)),
            Part::Ffn => kind.and_then(|kind| {
                let wanted = &kind.ffn.as_ref()?.0;
                let (name, ffn) = self.spec.ffns.iter().find(|(n, _)| n.value == *wanted)?;
                Some(Owner::Ffn(name, ffn))
            }),
            Part::Rotation(rotary_dim) => {
                let rotates = |m: &MixerSpec| stated::rope(m).is_some_and(|rope| size(&rope.rotary_dim) == rotary_dim);
                self.spec.mixers.iter().find(|(_, m)| rotates(m)).and_then(|(name, _)| mixer(&name.value))
            }
            Part::Model => None,
        };
        owner.unwrap_or(Owner::Model)
    }

    /// Kinds of blocks that have this op.
    fn kinds(&self) -> impl Iterator<Item = usize> {
        let accept = &self.model.checkpoint.accept;
        let asks = move |ops: &Vec<Op>| ops.iter().any(|op| op.requirement(accept) == self.requirement);
        self.ops.kinds.iter().enumerate().filter(move |(_, ops)| asks(ops)).map(|(k, _)| k)
    }

    /// "by layers 0..24", or how many of them, or "once in a step".
    pub fn layers(&self) -> String {
        let kinds: Vec<usize> = self.kinds().collect();
        let pattern = &self.model.pattern;
        let layers: Vec<usize> = (0..pattern.len()).filter(|&i| kinds.contains(&pattern[i])).collect();
        match layers.as_slice() {
            [] => "once in a step".to_owned(),
            [one] => format!("by layer {one}"),
            [first, .., last] if last - first + 1 == layers.len() => format!("by layers {first}..{}", last + 1),
            some => format!("by {} of {} layers", some.len(), pattern.len()),
        }
    }

    /// The name of the table that the op belongs to, or the target.
    pub fn place(&self) -> Span {
        match self.owner() {
            Owner::Mixer(name, _) | Owner::Ffn(name, _) => name.span.clone(),
            Owner::Model => self.target.span.clone(),
        }
    }

    /// Where MODEL.toml states the value of a parameter, and what to say there.
    pub fn stated(&self, param: &str, asked: Asked) -> (Span, String) {
        let needed = format!("needed {}", self.layers());
        let (model, owner) = (&self.spec.model, self.owner());
        let is = |stated: &Spanned<u64>| asked == Asked::Number(stated.value);
        if let ("group", Owner::Mixer(_, MixerSpec::Gqa(gqa))) = (param, &owner) {
            let (heads, kv_heads) = (gqa.num_attention_heads.value, gqa.num_key_value_heads.value);
            let label = format!("{heads} / {kv_heads} = {asked} query heads share each, {needed}");
            return (gqa.num_key_value_heads.span.clone(), label);
        }
        let stated = match &owner {
            _ if param == "format" => {
                let accept = &self.spec.weights.accept;
                let stated = accept.iter().find(|format| asked == Asked::Name(format.as_str()));
                Some(stated.map_or(&accept.span, |format| &format.span))
            }
            Owner::Mixer(_, mixer) => stated::by_mixer(mixer, param, asked),
            Owner::Ffn(_, ffn) => stated::by_ffn(ffn, param, asked),
            Owner::Model => None,
        };
        let place = match stated {
            Some(span) => span.clone(),
            None if is(&model.hidden_size) => model.hidden_size.span.clone(),
            None if is(&model.vocab_size) => model.vocab_size.span.clone(),
            None => self.place(),
        };
        (place, needed)
    }

    /// The number of KV heads nearest to the spec's at which the query heads of each are few enough.
    fn legal_heads(&self, gqa: &GqaSpec, choices: &[Vec<&ParamRule>]) -> Option<String> {
        let (heads, kv_heads) = (gqa.num_attention_heads.value, gqa.num_key_value_heads.value);
        let fits = |group: u64| choices.iter().all(|rules| rules.iter().any(|r| fit::allows(r, Asked::Number(group))));
        let legal = divisors(heads).into_iter().filter(|k| fits(heads / k));
        let nearest = legal.min_by_key(|k| k.abs_diff(kv_heads))?;
        Some(format!("with `num_key_value_heads = {nearest}`, {} would share each, which is legal", heads / nearest))
    }
}

fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    names.fold(Vec::new(), |mut known, name| {
        if !known.contains(&name) {
            known.push(name);
        }
        known
    })
}
