//! Walks through the ops of a step and counts.

use tenon_formats::StorageFormat;

use super::step::Shape;
use super::{Deployment, Ending, Launches, Step};
use crate::architecture::Role;
use crate::binding::BUCKET;
use crate::emit::instance::{self, Param};
use crate::expr::Dim;
use crate::lower;
use crate::model::{Kernel, ParamSet, Requirement};
use crate::program::{CacheDtype, Call, DeviceOp, FEW_ROWS, Op, OpKind, Operand, Program, When};

pub(super) fn count(program: &Program<'_>, deployment: &Deployment<'_>, step: &Step) -> Result<Launches, String> {
    let mut walk = Walk { program, deployment, shape: Shape::of(program, deployment, step)?, counted: Launches::default() };
    walk.ops(&program.ops.prologue, None)?;
    for (layer, kind) in program.model.pattern.iter().enumerate() {
        walk.ops(&program.ops.kinds[*kind], Some(layer))?;
    }
    if walk.shape.logit_rows > 0 {
        let (gather, head) = program.ops.epilogue.split_at(1.min(program.ops.epilogue.len()));
        walk.ops(gather, None)?;
        walk.shape = walk.shape.over_logit_rows();
        walk.ops(head, None)?;
        let chooses = match step.ending {
            Ending::Logits => None,
            Ending::Greedy => Some("argmax"),
            Ending::Sampled => Some("sample"),
        };
        for op in head.iter().filter(|op| chooses == Some(of_device(op).op)) {
            walk.launch(op, None)?;
        }
    }
    Ok(walk.counted)
}

fn of_device(op: &Op) -> &DeviceOp {
    match &op.kind {
        OpKind::Device(op) => op,
        other => unreachable!("{other:?} is no op of a device"),
    }
}

struct Walk<'w, 'p> {
    program: &'w Program<'p>,
    deployment: &'w Deployment<'w>,
    shape: Shape,
    counted: Launches,
}

impl Walk<'_, '_> {
    /// The ops of a layer, or those outside of all.
    fn ops(&mut self, mut ops: &[Op], layer: Option<usize>) -> Result<(), String> {
        while let Some((op, rest)) = ops.split_first() {
            let kind = of_device(op);
            // Those that a call chooses among follow it.
            let within = rest.iter().take_while(|op| of_device(op).call == Call::Within).count();
            match kind.call {
                Call::Launch if self.runs(kind.when) => self.launch(op, layer)?,
                Call::Linear(_) => self.product(op, rest.first(), layer)?,
                Call::Gated => self.gated(op, &rest[..within], layer)?,
                Call::Expand(phase) => {
                    let attend = rest.first().ok_or("an expansion is followed by its attention")?;
                    let heads = number(&attend.requirement(&self.program.model.checkpoint.accept), "num_attention_heads");
                    let heads = heads.ok_or("attention has heads")?;
                    for _ in 0..self.shape.passes(phase, heads, lower::expanded_rows(self.program.model) as u64) {
                        self.launch(op, layer)?;
                        self.launch(attend, layer)?;
                    }
                }
                Call::Launch | Call::InPass | Call::Within => {}
            }
            ops = rest;
        }
        Ok(())
    }

    fn is_few(&self) -> bool {
        self.shape.rows <= FEW_ROWS as u64
    }

    fn runs(&self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Few => self.is_few(),
            When::Many => !self.is_few(),
        }
    }

    /// A product, and what makes its weight bf16 where that follows.
    fn product(&mut self, op: &Op, next: Option<&Op>, layer: Option<usize>) -> Result<(), String> {
        if self.is_few() {
            return self.launch(op, layer);
        }
        let role = of_device(op).weight.ok_or("a product has a weight")?;
        if self.stored(role, layer)? != StorageFormat::Bf16 {
            let dequantise = next.filter(|op| of_device(op).op == "dequantise");
            self.launch(dequantise.ok_or_else(|| format!("nothing makes {} bf16", role.field()))?, layer)?;
        }
        let requirement = op.requirement(&self.program.model.checkpoint.accept);
        let [out, input] = ["out", "in"].map(|name| number(&requirement, name).unwrap_or(0));
        *self.counted.products.entry(format!("[{}, {input}] by [{out}, {input}]", self.shape.rows)).or_default() += 1;
        Ok(())
    }

    /// Two products and their activation, which are one launch for few rows of weights that are stored alike.
    fn gated(&mut self, op: &Op, within: &[Op], layer: Option<usize>) -> Result<(), String> {
        let format = |name| match of_device(op).operand(name) {
            Some(Operand::Weight(role, _)) => self.stored(*role, layer),
            _ => Err(format!("a gated product has no {name}")),
        };
        if self.is_few() && format("gate")? == format("up")? {
            return self.launch(op, layer);
        }
        for (at, op) in within.iter().enumerate() {
            match of_device(op).op {
                "linear" => self.product(op, within.get(at + 1), layer)?,
                "dequantise" => {}
                _ => self.launch(op, layer)?,
            }
        }
        Ok(())
    }

    fn stored(&self, role: Role, layer: Option<usize>) -> Result<StorageFormat, String> {
        (self.deployment.format)(role, layer)
    }

    /// One launch of an op, where its grid has blocks.
    fn launch(&mut self, op: &Op, layer: Option<usize>) -> Result<(), String> {
        let requirement = op.requirement(&self.program.model.checkpoint.accept);
        let kernel = self.program.model.kernel(self.program.target, &requirement);
        let template = &kernel.device.as_ref().ok_or_else(|| format!("{} is no kernel", kernel.template))?.0;
        let mut params = Vec::new();
        for (param, values) in instance::values(&instance::Launched { requirement: requirement.clone(), kernel, template }) {
            params.push((param, self.choose(of_device(op), param, values, layer)?));
        }
        let spec = template.launch.as_ref().ok_or_else(|| format!("{} is not launched", template.name))?;
        for axis in &spec.grid.value {
            let blocks = axis.value.eval_u64(&|name: &str| self.value(op, name, &requirement, kernel, &params));
            if blocks.map_err(|e| format!("the grid of {}: {e:?}", template.name))? == 0 {
                return Ok(());
            }
        }
        *self.counted.kernels.entry(instance::name(template, &params)).or_default() += 1;
        Ok(())
    }

    /// Which of the values of a parameter this launch has.
    fn choose(&self, op: &DeviceOp, param: &str, values: Vec<Param>, layer: Option<usize>) -> Result<Param, String> {
        let wanted = match param {
            "format" => {
                let role = op.weight.or(match op.operand("stack") {
                    Some(Operand::Weight(role, _)) => Some(*role),
                    _ => None,
                });
                Param::Name(self.stored(role.ok_or_else(|| format!("{} has no weight", op.op))?, layer)?.as_str().to_owned())
            }
            "kv_dtype" => Param::Name(self.cache(layer)?.to_owned()),
            BUCKET => {
                let enough = values.iter().filter_map(|value| match value {
                    Param::Number(rows) if *rows >= self.shape.rows => Some(*rows),
                    _ => None,
                });
                Param::Number(enough.min().ok_or_else(|| format!("{} has no instance for {} rows", op.op, self.shape.rows))?)
            }
            _ => match <[Param; 1]>::try_from(values) {
                Ok([only]) => return Ok(only),
                Err(values) => return Err(format!("{param} of {} is any of {values:?}", op.op)),
            },
        };
        if values.contains(&wanted) {
            return Ok(wanted);
        }
        let wanted = match wanted {
            Param::Number(number) => number.to_string(),
            Param::Name(name) => name,
        };
        Err(format!("{} has no instance where {param} is {wanted}", op.op))
    }

    /// The dtype of a layer's cache.
    fn cache(&self, layer: Option<usize>) -> Result<&str, String> {
        let layer = layer.ok_or("what has a cache is in a layer")?;
        let group = self.program.groups.iter().find(|group| group.layers.contains(&layer)).ok_or("every layer has a group")?;
        match group.cache {
            CacheDtype::Chosen => Ok(self.deployment.kv_dtype),
            CacheDtype::Fixed(dtype) => Ok(dtype.as_str()),
            CacheDtype::None => Err(format!("layer {layer} has no cache")),
        }
    }

    /// What a name in the grid of a template stands for.
    fn value(&self, op: &Op, name: &str, requirement: &Requirement, kernel: &Kernel, params: &[(&str, Param)]) -> Option<Dim> {
        if let Some(dim) = self.shape.get(name, self.program.model.maxima(self.program.target)) {
            return Some(dim);
        }
        if let Some((_, value)) = params.iter().find(|(param, _)| *param == name) {
            return match value {
                Param::Number(number) => Some(Dim::Int(*number)),
                Param::Name(name) => StorageFormat::parse(name).map(Dim::from),
            };
        }
        // In how many parts, and over what of a pass, is at least one, so that any of them says whether there are blocks.
        let chosen = || of_device(op).chosen.iter().find(|(chosen, _)| *chosen == name).map(|(_, most)| *most);
        let tuned = || kernel.tuned.iter().find(|(tuned, _)| tuned == name).map(|(_, value)| *value);
        number(requirement, name).or_else(tuned).or_else(chosen).map(Dim::Int)
    }
}

/// A parameter of an op that is a number.
fn number(requirement: &Requirement, name: &str) -> Option<u64> {
    requirement.params.iter().find(|(param, _)| *param == name).and_then(|(_, set)| match set {
        ParamSet::Int(value) => Some(*value),
        ParamSet::Names(_) => None,
    })
}
