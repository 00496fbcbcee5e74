//! `[launch]` and `[[arg]]` of a template by themselves: that they stand where they belong, and grow with the step, so that what holds at
//! the largest step holds at every step.

use super::super::templates::{invalid, names_are_known};
use super::AXES;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expr::{BinaryOp, Expr, ExprKind, Function};
use crate::model::{Maxima, Target};
use crate::source::Spanned;
use crate::spec::{ArgSpec, LaunchSpec, TemplateSpec};

/// Checks one template.
pub fn check(template: &TemplateSpec, diags: &mut Diagnostics) {
    let target = &template.target;
    match (target.value, &template.launch) {
        (Target::Sm90a, None) => diags.push(
            invalid("a kernel for sm_90a has no `[launch]`")
                .label(&target.span, "runs on a GPU, which must be told with how many threads")
                .help("add [launch] with `grid`, `block` and `shared_bytes`"),
        ),
        (Target::Cpu, Some(launch)) => diags.push(
            invalid("a kernel for the CPU has a `[launch]`")
                .label(&launch.header, "nothing would read this table")
                .context(&target.span, "a function of the CPU is called, not launched")
                .help("delete the table"),
        ),
        (Target::Sm90a, Some(launch)) => self::launch(launch, template, diags),
        (Target::Cpu, None) => {}
    }
    match (target.value, template.args.first()) {
        (Target::Cpu, Some(arg)) => diags.push(
            invalid("a kernel for the CPU lists its arguments")
                .label(&arg.name.span, "nothing would read this")
                .context(&target.span, "a function of the CPU has types, which rustc checks")
                .help("delete every `[[arg]]`"),
        ),
        (Target::Sm90a, None) => diags.push(
            invalid("a kernel for sm_90a lists no arguments")
                .label(&target.span, "runs on a GPU, where nothing checks an index that is too narrow")
                .help("add an `[[arg]]` with `name`, `type` and, for memory, `shape` for each, in the order of the signature"),
        ),
        (Target::Cpu, None) | (Target::Sm90a, Some(_)) => {}
    }
    for (name, _) in template.params.iter().filter(|(name, _)| Maxima::DIMS.contains(&name.value.as_str())) {
        diags.push(
            invalid(format!("the param `{}` has the name of a dimension of a step", name.value))
                .label(&name.span, "expressions could mean either")
                .help("rename the param"),
        );
    }
    for (i, arg) in template.args.iter().enumerate() {
        if let Some(first) = template.args[..i].iter().find(|other| other.name.value == arg.name.value) {
            diags.push(
                invalid(format!("two arguments are named `{}`", arg.name.value))
                    .label(&arg.name.span, "again")
                    .context(&first.name.span, "first here")
                    .help("rename one of them"),
            );
        }
        self::arg(arg, template, diags);
    }
}

fn launch(launch: &LaunchSpec, template: &TemplateSpec, diags: &mut Diagnostics) {
    for (what, axes) in [("grid", &launch.grid), ("block", &launch.block)] {
        if axes.is_empty() || axes.len() > AXES.len() {
            diags.push(
                invalid(format!("`{what}` has {} axes", axes.len()))
                    .label(&axes.span, "a launch has x, and may have y and z")
                    .help("write one to three sizes; what is not given is 1"),
            );
        }
    }
    for expr in launch.grid.iter().chain(launch.block.iter()).chain([&launch.shared_bytes]) {
        expression(expr, template, diags);
    }
    for expr in launch.block.iter() {
        if let Some((name, range)) = expr.value.uses().into_iter().find(|(name, _)| is_step_dim(name)) {
            diags.push(
                invalid(format!("the block depends on `{name}`, which changes from step to step"))
                    .label(&expr.span.at(range), "a dimension of the step")
                    .help("an instance is compiled for one block: use params of the template"),
            );
        }
    }
}

fn arg(arg: &ArgSpec, template: &TemplateSpec, diags: &mut Diagnostics) {
    let name = &arg.name.value;
    match &arg.shape {
        None if arg.is_memory() => diags.push(
            invalid(format!("the argument `{name}` is memory, and has no shape"))
                .label(&arg.ty.span, "a pointer")
                .help("add `shape`, a list with the elements in each dimension"),
        ),
        Some(shape) if !arg.is_memory() => diags.push(
            invalid(format!("the argument `{name}` has a shape, and is no memory"))
                .label(&shape.span, "elements of what?")
                .context(&arg.ty.span, "not a pointer")
                .help("delete `shape`, or end the type with `*`"),
        ),
        Some(shape) if shape.is_empty() => {
            let diagnostic = invalid(format!("the argument `{name}` has a shape without dimensions"));
            diags.push(diagnostic.label(&shape.span, "an empty list").help("write the elements in each dimension"));
        }
        _ => {}
    }
    if let Some(index) = arg.index.as_ref().filter(|_| !arg.is_memory()) {
        diags.push(
            invalid(format!("the argument `{name}` has an index, and is no memory"))
                .label(&index.key, "nothing would be indexed")
                .context(&arg.ty.span, "not a pointer")
                .help("delete the line"),
        );
    }
    for expr in arg.shape.iter().flat_map(|shape| shape.iter()) {
        expression(expr, template, diags);
    }
}

fn is_step_dim(name: &str) -> bool {
    Maxima::DIMS.contains(&name)
}

fn has_step_dim(expr: &Expr) -> bool {
    expr.uses().iter().any(|(name, _)| is_step_dim(name))
}

/// An expression is over known names, and grows with every dimension of the step.
fn expression(expr: &Spanned<Expr>, template: &TemplateSpec, diags: &mut Diagnostics) {
    if names_are_known(expr, template, &Maxima::DIMS, diags) {
        diags.extend(shrinks(&expr.value).map(|(at, why)| unproven(expr, at, why)));
        diags.extend(divides(&expr.value).map(|at| inexact(expr, at)));
    }
}

/// The first part that makes an expression smaller when a dimension of the step grows, and why.
pub(super) fn shrinks<'e>(expr: &'e Expr) -> Option<(&'e Expr, &'static str)> {
    let shrinking = |part: &'e Expr, why| has_step_dim(part).then_some((part, why));
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Name(_) => None,
        ExprKind::Neg(inner) => shrinking(inner, "negated"),
        ExprKind::Binary(op, a, b) => {
            let right = match op {
                BinaryOp::Sub => shrinking(b, "subtracted"),
                BinaryOp::Div => shrinking(b, "a divisor"),
                BinaryOp::Pow => shrinking(b, "an exponent"),
                BinaryOp::Add | BinaryOp::Mul => None,
            };
            right.or_else(|| shrinks(a)).or_else(|| shrinks(b))
        }
        ExprKind::Call(function, arguments) => {
            let divisor = match (function, arguments.as_slice()) {
                (Function::CeilDiv, [_, divisor]) => shrinking(divisor, "a divisor"),
                _ => None,
            };
            divisor.or_else(|| arguments.iter().find_map(|a| shrinks(a)))
        }
    }
}

/// The first quotient of a dimension of the step, which is whole at some steps and not at others.
pub(super) fn divides(expr: &Expr) -> Option<&Expr> {
    let mut found = None;
    expr.visit(&mut |part| {
        if let ExprKind::Binary(BinaryOp::Div, dividend, divisor) = &part.kind
            && found.is_none()
            && has_step_dim(dividend)
            && !has_step_dim(divisor)
        {
            found = Some(part);
        }
    });
    found
}

fn unproven(expr: &Spanned<Expr>, part: &Expr, why: &str) -> Diagnostic {
    invalid("a size of the launch gets smaller when the step gets larger")
        .label(&expr.span.at(part.range.clone()), format!("{why}: what holds at the largest step would prove nothing"))
        .help("dimensions of the step may be added, multiplied, divided by others, and stand in `min` and `max`")
}

fn inexact(expr: &Spanned<Expr>, quotient: &Expr) -> Diagnostic {
    let diagnostic = invalid(format!("`{quotient}` is a whole number at some steps only"));
    let place = expr.span.at(quotient.range.clone());
    let diagnostic = diagnostic.label(&place, "a step has any number of them, from 1 up");
    match &quotient.kind {
        ExprKind::Binary(BinaryOp::Div, a, b) => {
            let rounded = format!("ceil_div({a}, {b})");
            diagnostic
                .help(format!("`{rounded}` rounds up, and the kernel leaves out what is beyond the end"))
                .patch(&place, rounded)
        }
        _ => diagnostic,
    }
}
