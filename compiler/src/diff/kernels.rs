//! Kernels that a program gains and loses.

use serde::Serialize;

use crate::emit;
use crate::model::ParamSet;
use crate::program::Program;

/// A kernel instance that another number of ops runs than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelChange {
    /// The op.
    pub op: &'static str,
    /// The template with its numbers, as plan.txt names it, and the names that tell it from its like.
    pub instance: String,
    /// How often a step ran it, counted over the layers; 0 where it is new.
    pub old: usize,
    /// How often a step runs it; 0 where it is gone.
    pub new: usize,
}

/// Op, name, how often.
type Instance = (&'static str, String, usize);

/// The instances of a program, each once, in the order of a step.
fn instances(program: &Program<'_>) -> Vec<Instance> {
    let mut found: Vec<Instance> = Vec::new();
    let layers = |kind: usize| program.model.pattern.iter().filter(|k| **k == kind).count();
    let of_kinds = program.ops.kinds.iter().enumerate().flat_map(|(kind, ops)| ops.iter().map(move |op| (op, layers(kind))));
    let (prologue, epilogue) = (program.ops.prologue.iter().map(|op| (op, 1)), program.ops.epilogue.iter().map(|op| (op, 1)));
    for (op, times) in prologue.chain(of_kinds).chain(epilogue) {
        let requirement = op.requirement(&program.model.checkpoint.accept);
        let mut name = emit::instance_of(program, op);
        for (param, set) in &requirement.params {
            // Formats and cache dtypes are a model's, and told once for it; these are the op's own.
            if let (false, ParamSet::Names(names)) = (matches!(*param, "format" | "kv_dtype"), set) {
                name.push_str(&format!(" {}", names.join("/")));
            }
        }
        match found.iter_mut().find(|(_, known, _)| *known == name) {
            Some((_, _, count)) => *count += times,
            None => found.push((requirement.op, name, times)),
        }
    }
    found
}

/// What differs: in the order of the old step, new instances behind those of the same op that they take the place of.
pub(super) fn kernels(old: &Program<'_>, new: &Program<'_>) -> Vec<KernelChange> {
    let (old, new) = (instances(old), instances(new));
    let count = |list: &[Instance], name: &str| list.iter().find(|(_, n, _)| n == name).map_or(0, |(_, _, times)| *times);
    let mut ops: Vec<&'static str> = Vec::new();
    for (op, ..) in old.iter().chain(&new) {
        if !ops.contains(op) {
            ops.push(op);
        }
    }
    let mut changes = Vec::new();
    for op in ops {
        let before = old.iter().filter(|(of, ..)| *of == op);
        let come = new.iter().filter(|(of, name, _)| *of == op && count(&old, name) == 0);
        for (_, instance, _) in before.chain(come) {
            let (old, new) = (count(&old, instance), count(&new, instance));
            if old != new {
                changes.push(KernelChange { op, instance: instance.clone(), old, new });
            }
        }
    }
    changes
}
