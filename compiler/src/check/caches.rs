//! Which cache dtypes the kernels of a target read: those that a spec allows and a target cannot hold are left out of its plan.

use std::collections::BTreeMap;

use crate::lower;
use crate::model::{KvDtype, Model, Target};
use crate::spec::TemplateSpec;

/// The dtypes that every op with a cache finds a kernel for, by target. A target of which the model keeps none at all is not listed, so
/// that selection tells the gap.
pub(super) fn read(model: &Model, templates: &BTreeMap<String, TemplateSpec>) -> Vec<(Target, Vec<KvDtype>)> {
    let launched = model.targets.iter().filter(|target| target.launches());
    launched.filter_map(|target| Some((*target, of_target(model, *target, templates)?))).collect()
}

fn of_target(model: &Model, target: Target, templates: &BTreeMap<String, TemplateSpec>) -> Option<Vec<KvDtype>> {
    let ops = lower::ops(model, target);
    let requirements = ops.iter().map(|op| op.requirement(&model.checkpoint.accept));
    let with_cache: Vec<&str> =
        requirements.filter(|r| r.params.iter().any(|(name, _)| *name == "kv_dtype")).map(|r| r.op).collect();
    let reads = |op: &str, dtype: KvDtype| {
        templates.values().filter(|t| t.op.value == op && t.target.value == target).any(|template| {
            let rule =
                template.params.iter().find(|(name, _)| name.value == "kv_dtype").and_then(|(_, r)| r.value.one_of.as_ref());
            rule.is_some_and(|names| names.iter().any(|name| name.value == dtype.as_str()))
        })
    };
    let all = [KvDtype::F32, KvDtype::Bf16, KvDtype::Fp8E4m3];
    let read: Vec<KvDtype> = all.into_iter().filter(|dtype| with_cache.iter().all(|op| reads(op, *dtype))).collect();
    let kept = lower::mixers(model)
        .iter()
        .filter_map(|(_, mixer)| mixer.kv())
        .all(|kv| kv.dtypes.iter().any(|dtype| read.contains(dtype)));
    kept.then_some(read)
}
