//! KERNEL.toml: how each target runs a model.

use super::{SIZE, TARGETS, whereabouts};
use crate::diagnostic::Diagnostics;
use crate::reader::{Table, Value, read_file};
use crate::source::{FileId, Source, Spanned};
use crate::spec::{KernelEntry, KernelSpec, ParamValue, Target};

/// Reads one KERNEL.toml.
pub(super) fn read(file: FileId, source: &Source, diags: &mut Diagnostics) -> Option<KernelSpec> {
    read_file(file, source, whereabouts::of, diags, |mut root| {
        let mut entries = Vec::new();
        for (name, mut table) in root.named_tables() {
            let Some(target) = TARGETS.meaning(&name) else {
                table.report(TARGETS.refuse(&name, "a target", &name.span, false));
                table.abandon();
                continue;
            };
            for (op, table) in table.named_tables() {
                entries.push(entry(name.with(target), op, table));
            }
            table.finish();
        }
        root.finish();
        Some(KernelSpec { file, entries: entries.into_iter().collect::<Option<_>>()? })
    })
}

fn entry(target: Spanned<Target>, op: Spanned<String>, mut table: Table<'_>) -> Option<KernelEntry> {
    let template = table.optional("template").and_then(|v| v.text());
    let params = table.named_values().into_iter().map(|(name, value)| Some((name, param(&value)?)));
    let params: Vec<Option<_>> = params.collect();
    table.finish();
    Some(KernelEntry { target, op, template, params: params.into_iter().collect::<Option<_>>()? })
}

fn param(value: &Value<'_>) -> Option<Spanned<ParamValue>> {
    if value.is_text() {
        return Some(value.text()?.map(ParamValue::Text));
    }
    if value.is_integer() {
        return Some(value.integer(0..=*SIZE.end())?.map(ParamValue::Int));
    }
    value.wrong_type("a whole number or a name", None)
}
