//! What a user reads of a launch or an index that does not fit: the dimension that asks for it, the expression that makes it, and what
//! would be legal.

use super::super::fit::Asked;
use super::advice;
use super::{AXES, Fault, Instance, Plan, SM_90A, Selected, width};
use crate::diagnostic::{Diagnostic, Id, listed, thousands};
use crate::expr::{BinaryOp, Dim, EvalErrorKind, Expr, ExprKind, Function};
use crate::model::{Maxima, ParamSet, StepDims};
use crate::source::{Span, Spanned};
use crate::spec::{LimitsEntry, ParamValue, TemplateSpec};

/// The diagnostic of a fault at its worst instance; `all` are those of the same template.
pub(super) fn diagnostic(fault: &Fault<'_>, one: &Selected<'_>, all: &[&Selected<'_>], plan: Plan<'_>) -> Diagnostic {
    let (id, message) = headline(fault, one.template);
    let names = fault.names();
    let mut diagnostic = Diagnostic::new(id, message);
    let mut places: Vec<Span> = Vec::new();
    // A launch without blocks is one of a small step, and no limit makes it larger.
    let is_about = |name: &&&str| !(matches!(fault, Fault::NoBlock { .. }) && Maxima::DIMS.contains(*name));
    for name in names.iter().filter(is_about) {
        let Some((span, text)) = place(name, one, plan) else { continue };
        if !places.contains(&span) {
            diagnostic = diagnostic.label(&span, text);
            places.push(span);
        }
    }
    let (made, text) = made(fault, one, plan);
    diagnostic = match places.is_empty() {
        true => diagnostic.label(&made, text),
        false => diagnostic.context(&made, text),
    };
    if let Fault::Index { arg, .. } = fault
        && let Some(index) = &arg.index
    {
        diagnostic = diagnostic.context(&index.span, "its index");
    }
    let mut keys: Vec<&str> = Vec::new();
    for (name, key) in names.iter().filter(is_about).filter_map(|name| Some((*name, Maxima::key(name)?))) {
        let largest = plan.maxima.largest().get(name);
        if let (None, Some(Dim::Int(most)), false) = (place(name, one, plan), largest, keys.contains(&key)) {
            keys.push(key);
            diagnostic = diagnostic.note(format!("`{key}` is {} where KERNEL.toml states nothing", thousands(most)));
        }
    }
    ways(fault, &names, one, all, plan, diagnostic)
}

fn headline(fault: &Fault<'_>, template: &TemplateSpec) -> (Id, String) {
    let (kernel, target) = (&template.name, template.target.value.name());
    match fault {
        Fault::NoValue { what, error, .. } => match &error.kind {
            EvalErrorKind::Inexact { .. } => (Id::TemplateInvalid, format!("the {what} of `{kernel}` is no whole number")),
            _ => (Id::TemplateInvalid, format!("the {what} of `{kernel}` has no value")),
        },
        Fault::Grid { axis, worst, most, .. } => (
            Id::LaunchGridLimit,
            format!(
                "`{kernel}` launches {} blocks in {}, and {target} can have {}",
                thousands(worst.value),
                AXES[*axis],
                thousands(*most)
            ),
        ),
        Fault::NoBlock { axis, .. } => {
            (Id::LaunchGridLimit, format!("`{kernel}` launches no block in {} for a step of one token", AXES[*axis]))
        }
        Fault::Threads { block, over_z: true, .. } => (
            Id::LaunchBlock,
            format!("a block of `{kernel}` is {} threads deep in z, and {target} can have {}", block[2], SM_90A.block_z),
        ),
        Fault::Threads { block, over_z: false, .. } => match total(block) {
            0 => (Id::LaunchBlock, format!("a block of `{kernel}` has no threads")),
            threads => (
                Id::LaunchBlock,
                format!(
                    "a block of `{kernel}` has {} threads, and {target} can have {}",
                    thousands(threads),
                    thousands(SM_90A.threads)
                ),
            ),
        },
        Fault::Warp { block, .. } => (
            Id::LaunchBlock,
            format!("a block of `{kernel}` has {} threads, which do not fill warps of {}", total(block), SM_90A.warp),
        ),
        Fault::Shared { worst, .. } => (
            Id::SharedMemoryLimit,
            format!(
                "`{kernel}` needs {} bytes of shared memory, and a block of {target} has {}",
                thousands(worst.value),
                thousands(SM_90A.shared_bytes)
            ),
        ),
        Fault::Index { arg, elements } => {
            let bits = width(arg).bits();
            (
                Id::IndexWidth,
                format!(
                    "`{}` of `{kernel}` has {} elements, and its index has {bits} bits",
                    arg.name.value,
                    thousands(*elements)
                ),
            )
        }
    }
}

fn total(block: &[u64; 3]) -> u128 {
    block.iter().fold(1, |n: u128, size| n.saturating_mul(u128::from(*size)))
}

/// The expression that makes the number, and the number.
fn made(fault: &Fault<'_>, one: &Selected<'_>, plan: Plan<'_>) -> (Span, String) {
    let instance = Instance::of(one);
    let formula = |expr: &Expr, at: &[(&'static str, &'static str)], step: StepDims| {
        let numbers = with_numbers(expr, &instance, step, at);
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Name(_) => String::new(),
            _ => format!("{numbers} = "),
        }
    };
    let largest = plan.maxima.largest();
    match fault {
        Fault::NoValue { expr, error, .. } => (expr.span.at(error.range.clone()), error.to_string()),
        Fault::Grid { expr, worst, .. } => {
            (expr.span.clone(), format!("{}{} at the largest step", formula(expr, &worst.at, largest), thousands(worst.value)))
        }
        Fault::NoBlock { expr, .. } => {
            (expr.span.clone(), format!("{}0, and a launch without blocks fails", formula(expr, &[], StepDims::SMALLEST)))
        }
        Fault::Threads { block, .. } | Fault::Warp { block, .. } => {
            let axes = one.template.launch.as_ref().map_or(3, |launch| launch.block.len().clamp(1, 3));
            let sizes: Vec<String> = block[..axes].iter().map(u64::to_string).collect();
            let span = one.template.launch.as_ref().map_or(&one.template.op.span, |launch| &launch.block.span);
            (span.clone(), format!("{} threads", sizes.join(" x ")))
        }
        Fault::Shared { expr, worst } => {
            (expr.span.clone(), format!("{}{}", formula(expr, &worst.at, largest), thousands(worst.value)))
        }
        Fault::Index { arg, .. } => {
            let shape = arg.shape.as_ref();
            let sizes: Vec<String> = shape
                .iter()
                .flat_map(|shape| shape.iter())
                .map(|expr| instance.worst(expr, largest).map_or_else(|_| "?".to_owned(), |size| thousands(size.value)))
                .collect();
            let last = thousands(width(arg).largest());
            let span = shape.map_or(&arg.name.span, |shape| &shape.span);
            (span.clone(), format!("{} at the largest step; the index ends at {last}", sizes.join(" x ")))
        }
    }
}

/// The expression with its names replaced by numbers, and dtypes by their names.
fn with_numbers(expr: &Expr, instance: &Instance<'_>, step: StepDims, at: &[(&'static str, &'static str)]) -> Expr {
    let again = |part: &Expr| with_numbers(part, instance, step, at);
    let kind = match &expr.kind {
        ExprKind::Name(name) => {
            let of_step = step.get(name).and_then(|dim| match dim {
                Dim::Int(value) => Some(value),
                _ => None,
            });
            match of_step.or_else(|| instance.number(name)) {
                Some(value) => ExprKind::Int(value),
                None => {
                    let dtype = at.iter().find(|(param, _)| param == name).map_or(name.as_str(), |(_, dtype)| dtype);
                    ExprKind::Name(dtype.to_owned())
                }
            }
        }
        ExprKind::Neg(inner) => ExprKind::Neg(Box::new(again(inner))),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, Box::new(again(a)), Box::new(again(b))),
        ExprKind::Call(function, arguments) => ExprKind::Call(*function, arguments.iter().map(again).collect()),
        number @ (ExprKind::Int(_) | ExprKind::Float(_)) => number.clone(),
    };
    Expr { kind, range: expr.range.clone() }
}

/// Where the value of a name is stated, and what to say there. `None` for a limit that nothing states.
fn place(name: &str, one: &Selected<'_>, plan: Plan<'_>) -> Option<(Span, String)> {
    if Maxima::DIMS.contains(&name) {
        let Some(key) = Maxima::key(name) else {
            let context = &one.need.spec.model.max_position_embeddings;
            return Some((context.span.clone(), "the longest context".to_owned()));
        };
        let stated = plan.stated.and_then(|entry| limit(entry, key))?;
        return Some((stated.span.clone(), format!("the most that the plan allows: `{name}`")));
    }
    if let Some((param, set)) = one.need.requirement.params.iter().find(|(param, _)| *param == name) {
        let asked = match set {
            ParamSet::Int(value) => Asked::Number(*value),
            // Which of the names it is at stands in the expression's label.
            ParamSet::Names(_) => return None,
        };
        let (span, needed) = one.need.stated(param, asked);
        return Some((span, format!("`{param}` is {asked} here, {needed}")));
    }
    let (_, value) = stated_param(name, one)?;
    Some((value.span.clone(), format!("chosen for `{name}`")))
}

/// What KERNEL.toml chose for a tunable parameter.
fn stated_param<'a>(name: &str, one: &Selected<'a>) -> Option<(&'a Spanned<String>, &'a Spanned<ParamValue>)> {
    one.entry?.params.iter().find(|(key, _)| key.value == name).map(|(key, value)| (key, value))
}

fn limit<'a>(entry: &'a LimitsEntry, key: &str) -> Option<&'a Spanned<u64>> {
    match key {
        "step_tokens" => entry.step_tokens.as_ref(),
        "sequences" => entry.sequences.as_ref(),
        "page_size" => entry.page_size.as_ref(),
        _ => entry.pages.as_ref(),
    }
}

/// Adds what could be changed: a dimension, a limit, a parameter, or the template; the last with a patch where one number is enough.
fn ways(
    fault: &Fault<'_>,
    names: &[&str],
    one: &Selected<'_>,
    all: &[&Selected<'_>],
    plan: Plan<'_>,
    mut diagnostic: Diagnostic,
) -> Diagnostic {
    let target = one.need.target.value.name();
    if let Fault::NoValue { expr, error, .. } = fault {
        let part = quotient_at(&expr.value, &error.range);
        if let Some(ExprKind::Binary(BinaryOp::Div, a, b)) = part.map(|part| &part.kind) {
            let rounded = Expr { kind: ExprKind::Call(Function::CeilDiv, vec![(**a).clone(), (**b).clone()]), range: 0..0 };
            diagnostic = diagnostic.help(format!("write `{rounded}` if the kernel leaves out what is beyond the end"));
        }
    }
    if let Fault::Index { arg, .. } = fault
        && width(arg).bits() == 32
    {
        diagnostic =
            diagnostic.help("index with 64 bits: `index = 64` in the TEMPLATE.toml, and the type of the index in the kernel");
    }
    if let Fault::NoBlock { expr, .. } = fault {
        diagnostic = diagnostic.help(format!("write `max(1, {})`: a step may have one token", expr.value));
    }
    if let Fault::Grid { axis: 1 | 2, worst, .. } = fault
        && worst.value <= SM_90A.grid[0]
    {
        diagnostic =
            diagnostic.help(format!("x can have {}: the template may launch this size there", thousands(SM_90A.grid[0])));
    }
    // What is stated can be patched, and a patch belongs to the last help.
    let mut limits = advice::limits(fault, names, all, plan);
    let is_stated = |key: Option<&str>| key.and_then(|key| limit(plan.stated?, key));
    limits.sort_by_key(|(key, _)| is_stated(*key).is_some());
    for (key, most) in limits.iter().copied() {
        let (shown, stated) = (thousands(most), is_stated(key));
        diagnostic = match (key, stated) {
            (None, _) => diagnostic.help(format!("a context up to {shown} is legal")),
            (Some(key), None) => {
                diagnostic.help(format!("`{key} = {most}` below [{target}.limits] in KERNEL.toml is the most that is legal"))
            }
            (Some(key), Some(stated)) => {
                diagnostic.patches.clear();
                diagnostic.help(format!("`{key}` up to {shown} is legal")).patch(&stated.span, most.to_string())
            }
        };
    }
    let mut tunable = advice::tunable(fault, names, one, all, plan);
    tunable.sort_by_key(|legal| stated_param(legal.name, one).is_some());
    for legal in &tunable {
        let (name, nearest) = (legal.name, legal.values[0]);
        let values: Vec<String> = legal.values.iter().map(u64::to_string).collect();
        diagnostic.patches.clear();
        diagnostic = match stated_param(name, one) {
            Some((_, value)) => {
                diagnostic.help(format!("`{name}` can be {}", listed_plain(&values))).patch(&value.span, nearest.to_string())
            }
            None => {
                let op = one.need.requirement.op;
                diagnostic.help(format!("`{name} = {nearest}` below [{target}.{op}] in KERNEL.toml is legal"))
            }
        };
    }
    // A model's dimensions are not for its author to choose: they are told where nothing else helps.
    if limits.is_empty() && tunable.is_empty() {
        for name in names {
            let legal: Vec<String> = advice::dimension(fault, name, one, plan).into_iter().map(thousands).collect();
            match (legal.as_slice(), fault) {
                ([], _) => {}
                ([one], Fault::NoValue { .. } | Fault::Warp { .. }) => {
                    diagnostic = diagnostic.help(format!("the nearest legal `{name}` is {one}"));
                }
                ([below, above, ..], _) => diagnostic = diagnostic.help(format!("`{name}` {below} and {above} are legal")),
                ([most], _) => diagnostic = diagnostic.help(format!("`{name}` up to {most} is legal")),
            }
        }
    }
    if diagnostic.helps.is_empty() {
        let way = match fault {
            Fault::Threads { .. } | Fault::Warp { .. } => "the product of `block` must be a multiple of 32, up to 1,024",
            _ => "change the template, with its tests",
        };
        diagnostic = diagnostic.help(way);
    }
    diagnostic
}

fn listed_plain(values: &[String]) -> String {
    let names: Vec<&str> = values.iter().map(String::as_str).collect();
    listed(&names, "or").replace('`', "")
}

/// The part of an expression that stands at a range.
fn quotient_at<'e>(expr: &'e Expr, range: &std::ops::Range<usize>) -> Option<&'e Expr> {
    let mut found = None;
    expr.visit(&mut |part| {
        if part.range == *range && matches!(part.kind, ExprKind::Binary(BinaryOp::Div, ..)) {
            found = Some(part);
        }
    });
    found
}

impl<'t> Fault<'t> {
    /// The names that it depends on, in the order of their use.
    fn names(&self) -> Vec<&'t str> {
        let exprs: Vec<&'t Spanned<Expr>> = match self {
            Self::NoValue { expr, .. } | Self::Grid { expr, .. } | Self::NoBlock { expr, .. } | Self::Shared { expr, .. } => {
                vec![*expr]
            }
            Self::Threads { exprs, .. } | Self::Warp { exprs, .. } => exprs.iter().collect(),
            Self::Index { arg, .. } => arg.shape.iter().flat_map(|shape| shape.iter()).collect(),
        };
        let mut names = Vec::new();
        for name in exprs.iter().flat_map(|expr| expr.value.names()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}
