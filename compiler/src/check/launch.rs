//! Launches and indices: what `[launch]` and `[[arg]]` of a template give at the largest step of a plan, against what the target can do.

mod advice;
mod instance;
mod limits;
mod report;
mod rules;

use std::collections::BTreeMap;

use self::instance::{Instance, Worst};
use super::coverage::Need;
use crate::diagnostic::Diagnostics;
use crate::expr::{BinaryOp, EvalError, Expr, ExprKind};
use crate::model::{Launch, Maxima, StepDims, Target};
use crate::source::Spanned;
use crate::spec::{ArgSpec, IndexWidth, KernelEntry, LimitsEntry, TemplateSpec};

pub(super) use self::limits::maxima;
pub(super) use self::rules::check as check_template;

/// A kernel that was selected: the op that asks for it, and what KERNEL.toml says about it.
pub(super) struct Selected<'a> {
    pub need: Need<'a>,
    pub template: &'a TemplateSpec,
    pub entry: Option<&'a KernelEntry>,
    pub tuned: Vec<(String, u64)>,
}

/// Where the numbers of a plan's largest step come from.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    pub maxima: Maxima,
    /// `[<target>.limits]`, where KERNEL.toml has one.
    pub stated: Option<&'a LimitsEntry>,
}

/// The names of the three axes.
const AXES: [&str; 3] = ["x", "y", "z"];

/// What a GPU can launch. Numbers of the CUDA C++ programming guide, table of technical specifications, compute capability 9.0.
struct Device {
    /// Blocks in x, y and z.
    grid: [u64; 3],
    /// Threads of a block in z; x and y are bounded by the block alone.
    block_z: u64,
    /// Threads of a block.
    threads: u64,
    /// Threads of a warp.
    warp: u64,
    /// Bytes of shared memory of a block, with the opt-in that all launches here use.
    shared_bytes: u64,
}

const SM_90A: Device =
    Device { grid: [2_147_483_647, 65_535, 65_535], block_z: 64, threads: 1024, warp: 32, shared_bytes: 232_448 };

/// What does not hold of an instance. Each has the numbers that its message needs.
#[derive(Clone, Debug)]
enum Fault<'t> {
    /// An expression has no value at these dimensions: a quotient that is not whole, most often.
    NoValue { what: &'static str, expr: &'t Spanned<Expr>, error: EvalError },
    /// More blocks in an axis than the device has.
    Grid { axis: usize, expr: &'t Spanned<Expr>, worst: Worst, most: u64 },
    /// No block at all in a small step.
    NoBlock { axis: usize, expr: &'t Spanned<Expr> },
    /// More threads than a block can have, in all or in z; or none.
    Threads { exprs: &'t [Spanned<Expr>], block: [u64; 3], over_z: bool },
    /// Threads that do not fill their warps.
    Warp { exprs: &'t [Spanned<Expr>], block: [u64; 3] },
    /// More shared memory than a block can have.
    Shared { expr: &'t Spanned<Expr>, worst: Worst },
    /// An element that the argument's index does not reach.
    Index { arg: &'t ArgSpec, elements: u128 },
}

/// Checks every selected kernel of a target and adds what does not hold, once per template and rule, at the instance that exceeds most.
pub(super) fn prove(selected: &[Selected<'_>], plan: Plan<'_>, diags: &mut Diagnostics) {
    let mut by_template: BTreeMap<&str, Vec<&Selected<'_>>> = BTreeMap::new();
    for one in selected {
        by_template.entry(&one.template.name).or_default().push(one);
    }
    for instances in by_template.values() {
        let mut worst: Vec<(&Selected<'_>, Fault<'_>)> = Vec::new();
        for one in instances {
            for fault in faults(one.template, &Instance::of(one), plan.maxima.largest()) {
                match worst.iter_mut().find(|(_, known)| known.key() == fault.key()) {
                    Some(known) if known.1.amount() < fault.amount() => *known = (one, fault),
                    Some(_) => {}
                    None => worst.push((one, fault)),
                }
            }
        }
        for (one, fault) in worst {
            diags.push(report::diagnostic(&fault, one, instances, plan));
        }
    }
}

/// The launch of an instance at the largest step, for the plan. `None` where the template has none, or it has no value.
pub(super) fn launch(one: &Selected<'_>, maxima: Maxima) -> Option<Launch> {
    let spec = one.template.launch.as_ref()?;
    let (instance, step) = (Instance::of(one), maxima.largest());
    let axes = |list: &[Spanned<Expr>]| {
        let mut sizes = [1; 3];
        for (size, expr) in sizes.iter_mut().zip(list) {
            *size = instance.worst(expr, step).ok()?.value;
        }
        Some(sizes)
    };
    let shared_bytes = instance.worst(&spec.shared_bytes, step).ok()?.value;
    Some(Launch { grid: axes(&spec.grid)?, block: axes(&spec.block)?, shared_bytes })
}

/// Everything that does not hold of an instance, for steps up to the largest.
fn faults<'t>(template: &'t TemplateSpec, instance: &Instance<'_>, largest: StepDims) -> Vec<Fault<'t>> {
    let mut found = Vec::new();
    if let (Some(launch), Target::Sm90a) = (&template.launch, template.target.value) {
        for (axis, expr) in launch.grid.iter().enumerate() {
            match instance.worst(expr, largest) {
                Err(error) => found.push(Fault::NoValue { what: "grid", expr, error }),
                Ok(worst) if worst.value > SM_90A.grid[axis] => {
                    found.push(Fault::Grid { axis, expr, worst, most: SM_90A.grid[axis] });
                }
                Ok(_) => match smallest(expr, instance) {
                    Err(error) => found.push(Fault::NoValue { what: "grid", expr, error }),
                    Ok(0) => found.push(Fault::NoBlock { axis, expr }),
                    Ok(_) => {}
                },
            }
        }
        found.extend(block_faults(&launch.block, instance, largest));
        match smallest(&launch.shared_bytes, instance).and_then(|_| instance.worst(&launch.shared_bytes, largest)) {
            Err(error) => found.push(Fault::NoValue { what: "shared memory", expr: &launch.shared_bytes, error }),
            Ok(worst) if worst.value > SM_90A.shared_bytes => {
                found.push(Fault::Shared { expr: &launch.shared_bytes, worst });
            }
            Ok(_) => {}
        }
    }
    for arg in &template.args {
        let mut elements = Ok(1u128);
        for expr in arg.shape.iter().flat_map(|shape| shape.iter()) {
            match smallest(expr, instance).and_then(|_| instance.worst(expr, largest)) {
                Ok(size) => elements = elements.map(|n: u128| n.saturating_mul(u128::from(size.value))),
                Err(error) => {
                    found.push(Fault::NoValue { what: "shape", expr, error });
                    elements = Err(());
                }
            }
        }
        if let Ok(elements) = elements
            && elements.saturating_sub(1) > u128::from(width(arg).largest())
        {
            found.push(Fault::Index { arg, elements });
        }
    }
    found
}

/// The value at the smallest step. No difference in it may be below zero there: each part then grows with the step, and the largest
/// step is the worst.
fn smallest(expr: &Expr, instance: &Instance<'_>) -> Result<u64, EvalError> {
    let mut differences = Vec::new();
    expr.visit(&mut |part| {
        if matches!(part.kind, ExprKind::Binary(BinaryOp::Sub, ..) | ExprKind::Neg(_)) {
            differences.push(part);
        }
    });
    differences.into_iter().try_for_each(|part| instance.least(part, StepDims::SMALLEST).map(|_| ()))?;
    instance.least(expr, StepDims::SMALLEST)
}

fn block_faults<'t>(exprs: &'t [Spanned<Expr>], instance: &Instance<'_>, largest: StepDims) -> Option<Fault<'t>> {
    let mut sizes = [1; 3];
    for (size, expr) in sizes.iter_mut().zip(exprs) {
        match instance.worst(expr, largest) {
            Ok(worst) => *size = worst.value,
            Err(error) => return Some(Fault::NoValue { what: "block", expr, error }),
        }
    }
    let threads = sizes.iter().fold(1u128, |n, size| n.saturating_mul(u128::from(*size)));
    if threads > u128::from(SM_90A.threads) || threads == 0 {
        Some(Fault::Threads { exprs, block: sizes, over_z: false })
    } else if sizes[2] > SM_90A.block_z {
        Some(Fault::Threads { exprs, block: sizes, over_z: true })
    } else if !threads.is_multiple_of(u128::from(SM_90A.warp)) {
        Some(Fault::Warp { exprs, block: sizes })
    } else {
        None
    }
}

/// The index of an argument; 32 bits where the template does not say 64.
fn width(arg: &ArgSpec) -> IndexWidth {
    arg.index.as_ref().map_or(IndexWidth::Bits32, |index| index.value)
}

impl Fault<'_> {
    /// Faults of one key are one mistake, at several instances.
    fn key(&self) -> (u8, usize) {
        match self {
            Self::NoValue { expr, .. } => (0, expr.span.range.start),
            Self::Grid { axis, .. } => (1, *axis),
            Self::NoBlock { axis, .. } => (2, *axis),
            Self::Threads { .. } => (3, 0),
            Self::Warp { .. } => (4, 0),
            Self::Shared { .. } => (5, 0),
            Self::Index { arg, .. } => (6, arg.name.span.range.start),
        }
    }

    /// By how much one exceeds more than another of its key.
    fn amount(&self) -> u128 {
        match self {
            Self::Grid { worst, .. } | Self::Shared { worst, .. } => u128::from(worst.value),
            Self::Threads { block, .. } => block.iter().fold(1, |n: u128, size| n.saturating_mul(u128::from(*size))),
            Self::Index { elements, .. } => *elements,
            Self::NoValue { .. } | Self::NoBlock { .. } | Self::Warp { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests;
