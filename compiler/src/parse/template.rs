//! TEMPLATE.toml: what one kernel can do.

use super::{SIZE, TARGETS, whereabouts};
use crate::diagnostic::Diagnostics;
use crate::reader::{Table, Value, read_file};
use crate::source::{FileId, Source, Spanned};
use crate::spec::{CostSpec, NumericsSpec, ParamRule, TemplateSpec};

/// Reads one TEMPLATE.toml.
pub(super) fn read(file: FileId, source: &Source, folder: &str, diags: &mut Diagnostics) -> Option<TemplateSpec> {
    read_file(file, source, whereabouts::of, diags, |mut root| {
        let op = root.required("op").and_then(|v| v.text());
        let target = root.required("target").and_then(|v| v.choice(&TARGETS));
        let rust = root.optional("rust").and_then(|v| v.text());
        let priority = root.optional("priority").and_then(|v| v.integer(0..=1000));
        let params = params(root.table("params"));
        let numerics = numerics(root.table("numerics"));
        let cost = cost(root.table("cost"));
        root.finish();
        Some(TemplateSpec {
            file,
            name: folder.to_owned(),
            op: op?,
            target: target?,
            rust,
            priority,
            params: params?,
            numerics: numerics?,
            cost: cost?,
        })
    })
}

fn params(mut table: Table<'_>) -> Option<Vec<(Spanned<String>, Spanned<ParamRule>)>> {
    let params: Vec<Option<_>> = table.named_values().into_iter().map(|(name, value)| Some((name, rule(&value)?))).collect();
    table.finish();
    params.into_iter().collect()
}

/// `["bf16", "f32"]`, or `{ multiple_of = 8, max = 512 }`.
fn rule(value: &Value<'_>) -> Option<Spanned<ParamRule>> {
    if value.is_list() {
        let names = value.set(|name| name.text())?;
        return Some(names.with(ParamRule { one_of: Some(names.clone()), ..ParamRule::default() }));
    }
    let mut table = value.inline_table()?;
    let rule = ParamRule {
        min: table.optional("min").and_then(|v| v.integer(SIZE)),
        max: table.optional("max").and_then(|v| v.integer(SIZE)),
        multiple_of: table.optional("multiple_of").and_then(|v| v.integer(SIZE)),
        power_of_two: table.optional("power_of_two").and_then(|v| v.boolean()),
        tunable: table.optional("tunable").and_then(|v| v.set(|n| n.integer(SIZE))),
        one_of: None,
    };
    table.finish();
    Some(value.spanned(rule))
}

fn numerics(mut table: Table<'_>) -> Option<NumericsSpec> {
    let accumulate = table.required("accumulate").and_then(|v| v.text());
    let class = table.required("class").and_then(|v| v.text());
    let depth = table.required("depth").and_then(|v| v.expression());
    table.finish();
    Some(NumericsSpec { accumulate: accumulate?, class: class?, depth: depth? })
}

fn cost(mut table: Table<'_>) -> Option<CostSpec> {
    let bytes = table.required("bytes").and_then(|v| v.expression());
    let flops = table.required("flops").and_then(|v| v.expression());
    table.finish();
    Some(CostSpec { bytes: bytes?, flops: flops? })
}
