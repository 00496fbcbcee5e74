//! Nearest legal values: what a tunable parameter, a limit of the plan or a dimension would have to be.

use super::super::fit::{self, Asked};
use super::{Fault, Instance, Plan, Selected, faults};
use crate::model::{Maxima, ParamSet, StepDims};

/// What else a name could be, so that the fault is gone and no other comes.
pub(super) struct Legal<'n> {
    pub name: &'n str,
    /// Nearest first; never empty.
    pub values: Vec<u64>,
}

/// Values of the template's `tunable` lists, at which every op that it runs is fine.
pub(super) fn tunable<'t>(
    fault: &Fault<'_>,
    names: &[&'t str],
    one: &Selected<'t>,
    all: &[&Selected<'_>],
    plan: Plan<'_>,
) -> Vec<Legal<'t>> {
    let largest = plan.maxima.largest();
    let mut found = Vec::new();
    for &name in names {
        let rule = one.template.params.iter().find(|(param, _)| param.value == name);
        let Some(tunable) = rule.and_then(|(_, rule)| rule.value.tunable.as_ref()) else { continue };
        let now = Instance::of(one).number(name).unwrap_or_default();
        let good = |value: &u64| {
            let instead = |one| Instance { instead: Some((name, *value)), ..Instance::of(one) };
            all.iter().all(|one| is_better(fault, one, instead(one), largest, plan))
        };
        let mut values: Vec<u64> = tunable.iter().map(|v| v.value).filter(|v| *v != now).filter(good).collect();
        values.sort_by_key(|v| v.abs_diff(now));
        if !values.is_empty() {
            found.push(Legal { name, values });
        }
    }
    found
}

/// The most that a limit of the plan could be: the key below `[<target>.limits]`, or `None` for the model's context, and the number.
pub(super) fn limits(
    fault: &Fault<'_>,
    names: &[&str],
    all: &[&Selected<'_>],
    plan: Plan<'_>,
) -> Vec<(Option<&'static str>, u64)> {
    let largest = plan.maxima.largest();
    let mut found: Vec<(Option<&'static str>, u64)> = Vec::new();
    for name in names {
        let Some(at) = Maxima::DIMS.iter().position(|dim| dim == name) else { continue };
        let key = Maxima::key(name);
        if found.iter().any(|(known, _)| *known == key) {
            continue;
        }
        let good = |value: u64| {
            let step: StepDims = largest.with(key, value);
            all.iter().all(|one| is_better(fault, one, Instance::of(one), step, plan))
        };
        // A page holds at least a tile of positions.
        let least = if key == Some("page_size") { 16 } else { 1 };
        found.extend(largest_below(largest.0[at], 1, good).filter(|most| *most >= least).map(|most| (key, most)));
    }
    found
}

/// The nearest numbers that a dimension of the model could be for this template, at most one on each side.
pub(super) fn dimension(fault: &Fault<'_>, name: &str, one: &Selected<'_>, plan: Plan<'_>) -> Vec<u64> {
    /// How far to look where a quotient is not whole: farther than any tile.
    const FAR: u64 = 512;
    let Some((_, ParamSet::Int(now))) = one.need.requirement.params.iter().find(|(param, _)| *param == name) else {
        return Vec::new();
    };
    let (now, rule, largest) = (*now, fit::rule(one.template, name), plan.maxima.largest());
    let good = |value: u64| {
        fit::allows(rule, Asked::Number(value))
            && is_better(fault, one, Instance { instead: Some((name, value)), ..Instance::of(one) }, largest, plan)
    };
    if matches!(fault, Fault::NoValue { .. } | Fault::Warp { .. }) {
        let below = (now.saturating_sub(FAR).max(1)..now).rev().find(|v| good(*v));
        let above = (now + 1..now + FAR).find(|v| good(*v));
        return below.into_iter().chain(above).collect();
    }
    let step = rule.multiple_of.as_ref().map_or(1, |step| step.value);
    largest_below(now, step, good).into_iter().collect()
}

/// The largest multiple of `step` below `now` that is good, where smaller ones are good too.
fn largest_below(now: u64, step: u64, good: impl Fn(u64) -> bool) -> Option<u64> {
    // Over multiples: `low` is good (or nothing is), `high` is not.
    let (mut low, mut high) = (0, now.div_ceil(step));
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if good(middle * step) { low = middle } else { high = middle }
    }
    (low > 0).then_some(low * step)
}

/// Whether an instance no longer has the fault, and has no other that it did not have at the plan's largest step.
fn is_better(fault: &Fault<'_>, one: &Selected<'_>, instead: Instance<'_>, step: StepDims, plan: Plan<'_>) -> bool {
    let found = faults(one.template, &instead, step);
    // Most often nothing is left at all, and then the old ones need not be computed.
    found.iter().all(|f| f.key() != fault.key())
        && (found.is_empty() || {
            let before = faults(one.template, &Instance::of(one), plan.maxima.largest());
            found.iter().all(|f| before.iter().any(|known| known.key() == f.key()))
        })
}
