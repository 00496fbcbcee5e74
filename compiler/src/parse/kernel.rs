//! KERNEL.toml: how each target runs a model.

use super::{SIZE, TARGETS, whereabouts};
use crate::diagnostic::{Diagnostics, Id};
use crate::reader::{Table, Value, Vocabulary, read_file};
use crate::source::{FileId, Source, Spanned};
use crate::spec::{Activations, ActivationsEntry, KernelEntry, KernelSpec, LimitsEntry, MlaEntry, MlaForm, ParamValue, Target};

const MLA_FORMS: Vocabulary<MlaForm> = Vocabulary {
    names: &[("expanded", MlaForm::Expanded), ("absorbed", MlaForm::Absorbed)],
    not_yet: &[],
    not_yet_id: Id::UnknownValue,
};

const ACTIVATIONS: Vocabulary<Activations> =
    Vocabulary { names: &[("f32", Activations::F32), ("int8", Activations::Int8)], not_yet: &[], not_yet_id: Id::UnknownValue };

/// Reads one KERNEL.toml.
pub(super) fn read(file: FileId, source: &Source, diags: &mut Diagnostics) -> Option<KernelSpec> {
    read_file(file, source, whereabouts::of, diags, |mut root| {
        let (mut entries, mut forms, mut all_limits, mut activations) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (name, mut table) in root.named_tables() {
            let Some(target) = TARGETS.meaning(&name) else {
                table.report(TARGETS.refuse(&name, "a target", &name.span, false));
                table.abandon();
                continue;
            };
            if let Some(dtype) = table.optional("activations").and_then(|v| v.choice(&ACTIVATIONS)) {
                activations.push(ActivationsEntry { target: name.clone().with(target), dtype });
            }
            for (op, table) in table.named_tables() {
                match op.as_str() {
                    "mla" => forms.push(mla(name.with(target), table)),
                    "limits" => all_limits.push(limits(name.with(target), table)),
                    _ => entries.push(entry(name.with(target), op, table)),
                }
            }
            table.finish();
        }
        root.finish();
        Some(KernelSpec {
            file,
            entries: entries.into_iter().collect::<Option<_>>()?,
            mla: forms,
            limits: all_limits,
            activations,
        })
    })
}

/// What is wrong with a form has been reported, and then the file is refused.
fn mla(target: Spanned<Target>, mut table: Table<'_>) -> MlaEntry {
    let header = table.header().clone();
    let prefill = table.optional("prefill").and_then(|v| v.choice(&MLA_FORMS));
    let decode = table.optional("decode").and_then(|v| v.choice(&MLA_FORMS));
    table.finish();
    MlaEntry { target, header, prefill, decode }
}

/// As [`mla`].
fn limits(target: Spanned<Target>, mut table: Table<'_>) -> LimitsEntry {
    let header = table.header().clone();
    let mut limit = |key| table.optional(key).and_then(|v| v.integer(SIZE));
    let (step_tokens, sequences) = (limit("step_tokens"), limit("sequences"));
    let (page_size, pages) = (limit("page_size"), limit("pages"));
    table.finish();
    LimitsEntry { target, header, step_tokens, sequences, page_size, pages }
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
