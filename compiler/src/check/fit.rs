//! Whether a template can run an op at given parameters, and which condition excludes it where it cannot.

use std::fmt;

use crate::diagnostic::listed;
use crate::model::{ParamSet, Requirement};
use crate::source::Span;
use crate::spec::{ParamRule, TemplateSpec};

/// Why a template does not fit.
#[derive(Clone, Debug)]
pub(super) struct Misfit<'t> {
    pub template: &'t TemplateSpec,
    /// The parameter, and the value that the model asks for.
    pub param: &'static str,
    pub asked: Asked,
    /// The condition that excludes it, and how.
    pub rule: Span,
    pub why: String,
}

/// The value of a parameter that a model asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Number(u64),
    Name(&'static str),
}

impl fmt::Display for Misfit<'_> {
    /// `head_dim 72 is outside of { multiple_of = 16, max = 256 }`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = rule(self.template, self.param);
        let numbers = [("multiple_of", &rule.multiple_of), ("min", &rule.min), ("max", &rule.max)];
        let mut parts: Vec<String> =
            numbers.iter().filter_map(|(key, value)| Some(format!("{key} = {}", value.as_ref()?.value))).collect();
        parts.extend(rule.power_of_two.as_ref().map(|wanted| format!("power_of_two = {}", wanted.value)));
        write!(f, "{} {} is outside of ", self.param, self.asked)?;
        match &rule.one_of {
            Some(names) => write!(f, "{:?}", names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>()),
            None => write!(f, "{{ {} }}", parts.join(", ")),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// The first parameter of a requirement that a template does not allow.
pub(super) fn misfit<'t>(template: &'t TemplateSpec, requirement: &Requirement) -> Option<Misfit<'t>> {
    requirement.params.iter().find_map(|(param, set)| {
        let rule = rule(template, param);
        let (asked, (rule, why)) = match set {
            ParamSet::Int(value) => (Asked::Number(*value), broken(rule, *value)?),
            ParamSet::Names(names) => {
                let name = names.iter().find(|name| !allows(rule, Asked::Name(name)))?;
                let known = rule.one_of.as_ref().expect("templates::check wants a list for names");
                (Asked::Name(name), (known.span.clone(), format!("`{name}` is not among these")))
            }
        };
        Some(Misfit { template, param, asked, rule, why })
    })
}

/// The rule of a parameter of the template's op.
pub(super) fn rule<'t>(template: &'t TemplateSpec, param: &str) -> &'t ParamRule {
    let found = template.params.iter().find(|(name, _)| name.value == param);
    &found.expect("templates::check wants every parameter of the op").1.value
}

/// Whether a rule allows a value.
pub(super) fn allows(rule: &ParamRule, asked: Asked) -> bool {
    match asked {
        Asked::Number(value) => broken(rule, value).is_none(),
        Asked::Name(name) => rule.one_of.as_ref().is_some_and(|list| list.iter().any(|known| known.value == name)),
    }
}

/// The condition that a number breaks, and how.
pub(super) fn broken(rule: &ParamRule, value: u64) -> Option<(Span, String)> {
    if let Some(step) = rule.multiple_of.as_ref().filter(|step| !value.is_multiple_of(step.value)) {
        let why = match value / step.value {
            0 => format!("{value} is no multiple of {}", step.value),
            times => format!("{value} is {times} x {} + {}", step.value, value % step.value),
        };
        return Some((step.span.clone(), why));
    }
    if let Some(min) = rule.min.as_ref().filter(|min| value < min.value) {
        return Some((min.span.clone(), format!("{value} is less")));
    }
    if let Some(max) = rule.max.as_ref().filter(|max| value > max.value) {
        return Some((max.span.clone(), format!("{value} is more")));
    }
    let power = rule.power_of_two.as_ref().filter(|wanted| wanted.value && !value.is_power_of_two())?;
    Some((power.span.clone(), format!("{value} is no power of two")))
}

/// "56 and 64 are legal": the values next to the one that was asked for at which every op finds a template. `choices` has the
/// rules of one parameter in the candidates of each op.
pub(super) fn legal(asked: Asked, choices: &[Vec<&ParamRule>]) -> Option<String> {
    let all_allow = |value: Asked| choices.iter().all(|rules| rules.iter().any(|rule| allows(rule, value)));
    match asked {
        Asked::Number(value) => {
            let numbers = neighbours(value, choices, |value| all_allow(Asked::Number(value)));
            match numbers.as_slice() {
                [] => None,
                [one] => Some(format!("the nearest legal value is {one}")),
                [below, above, ..] => Some(format!("{below} and {above} are legal")),
            }
        }
        Asked::Name(_) => {
            let first = choices.first()?.iter().filter_map(|rule| rule.one_of.as_ref());
            let mut names: Vec<&str> = first.flat_map(|list| list.iter().map(|name| name.value.as_str())).collect();
            names.dedup();
            let in_all = |name: &&str| {
                let knows = |rule: &&ParamRule| rule.one_of.as_ref().is_some_and(|list| list.iter().any(|n| n.value == **name));
                choices.iter().all(|rules| rules.iter().any(knows))
            };
            let legal: Vec<&str> = names.into_iter().filter(in_all).collect();
            let verb = if legal.len() == 1 { "is" } else { "are" };
            (!legal.is_empty()).then(|| format!("{} {verb} legal", listed(&legal, "and")))
        }
    }
}

/// The nearest legal number on each side. Rules have small steps, so a short walk finds it, or else a bound of a rule is it.
fn neighbours(value: u64, choices: &[Vec<&ParamRule>], is_legal: impl Fn(u64) -> bool) -> Vec<u64> {
    const FAR: u64 = 4096;
    let bounds = choices.iter().flatten().flat_map(|rule| {
        let step = rule.multiple_of.as_ref().map_or(1, |step| step.value);
        let max = rule.max.as_ref().map(|max| max.value - max.value % step);
        let min = rule.min.as_ref().map(|min| min.value.next_multiple_of(step));
        max.into_iter().chain(min)
    });
    let bounds: Vec<u64> = bounds.filter(|bound| is_legal(*bound)).collect();
    let below = (value.saturating_sub(FAR).max(1)..value).rev().find(|v| is_legal(*v));
    let above = (value + 1..value + FAR).find(|v| is_legal(*v));
    let below = below.or_else(|| bounds.iter().copied().filter(|b| *b < value).max());
    let above = above.or_else(|| bounds.iter().copied().filter(|b| *b > value).min());
    below.into_iter().chain(above).collect()
}
