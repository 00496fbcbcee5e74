//! TEMPLATE.toml: what one kernel can do.

use super::{SIZE, TARGETS, whereabouts};
use crate::diagnostic::{Diagnostics, Id};
use crate::expr::{Expr, ExprKind};
use crate::reader::{Table, Value, Vocabulary, read_file};
use crate::source::{FileId, Source, Spanned};
use crate::spec::{ArgSpec, CostSpec, IndexWidth, LaunchSpec, NumericsSpec, ParamRule, ParamTime, TemplateSpec};

const TIMES: Vocabulary<ParamTime> =
    Vocabulary { names: &[("launch", ParamTime::Launch)], not_yet: &[], not_yet_id: Id::UnknownValue };

/// Reads one TEMPLATE.toml.
pub(super) fn read(file: FileId, source: &Source, folder: &str, diags: &mut Diagnostics) -> Option<TemplateSpec> {
    read_file(file, source, whereabouts::of, diags, |mut root| {
        let op = root.required("op").and_then(|v| v.text());
        let target = root.required("target").and_then(|v| v.choice(&TARGETS));
        let rust = root.optional("rust").and_then(|v| v.text());
        let max_spill_bytes = root.optional("max_spill_bytes").and_then(|v| v.integer(SIZE));
        let priority = root.optional("priority").and_then(|v| v.integer(0..=1000));
        let params = params(root.table("params"));
        // An absent table is fine, and one with errors has reported them: then the file is refused.
        let launch = root.optional_table("launch").and_then(launch);
        let args: Vec<Option<ArgSpec>> = root.tables("arg").into_iter().map(arg).collect();
        let numerics = numerics(root.table("numerics"));
        let cost = cost(root.table("cost"));
        root.finish();
        Some(TemplateSpec {
            file,
            name: folder.to_owned(),
            op: op?,
            target: target?,
            rust,
            max_spill_bytes,
            priority,
            params: params?,
            launch,
            args: args.into_iter().collect::<Option<_>>()?,
            code: Vec::new(),
            about: about(&source.text),
            source: None,
            numerics: numerics?,
            cost: cost?,
        })
    })
}

/// The comment that opens a file, up to its first full stop.
fn about(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect::<Vec<_>>().join(" ");
    comment.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
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
        at: table.optional("at").and_then(|v| v.choice(&TIMES)),
        bucket: table.optional("bucket").and_then(|v| v.set(|n| n.integer(SIZE))),
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

fn launch(mut table: Table<'_>) -> Option<LaunchSpec> {
    let header = table.header().clone();
    let axes = |value: Value<'_>| value.list(|axis| size(axis));
    let grid = table.required("grid").and_then(axes);
    let block = table.required("block").and_then(axes);
    let shared_bytes = table.required("shared_bytes").and_then(|v| size(&v));
    let overlaps = table.required("overlaps").and_then(|v| v.boolean());
    table.finish();
    Some(LaunchSpec { header, grid: grid?, block: block?, shared_bytes: shared_bytes?, overlaps: overlaps? })
}

fn arg(mut table: Table<'_>) -> Option<ArgSpec> {
    let name = table.required("name").and_then(|v| v.text_that("the name of a parameter in C++ and Rust", is_identifier));
    let ty = table.required("type").and_then(|v| v.text());
    let shape = table.optional("shape").and_then(|v| v.list(|dim| size(dim)));
    let optional = table.optional("optional").and_then(|v| v.boolean());
    let index = table.optional("index").and_then(|v| index(&v));
    table.finish();
    Some(ArgSpec { name: name?, ty: ty?, shape, optional, index })
}

fn index(value: &Value<'_>) -> Option<Spanned<IndexWidth>> {
    let bits = value.integer(0..=*SIZE.end())?;
    match bits.value {
        32 => Some(bits.with(IndexWidth::Bits32)),
        64 => Some(bits.with(IndexWidth::Bits64)),
        _ => value.out_of_range("must be 32 or 64: the bits of an index"),
    }
}

fn is_identifier(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// A whole number, or an expression in a string.
fn size(value: &Value<'_>) -> Option<Spanned<Expr>> {
    if value.is_text() {
        return value.expression();
    }
    if value.is_integer() {
        let number = value.integer(0..=*SIZE.end())?;
        return Some(number.with(Expr { kind: ExprKind::Int(number.value), range: number.span.range.clone() }));
    }
    value.wrong_type("a whole number, or an expression in quotes", None)
}
