//! `dim-literal`: arrays in the CUDA code of a template whose size is a number and no parameter.
//!
//! The code is not compiled here, and need not be: every array must say what its size stands for, so a size without a name is wrong
//! whatever the rest of the code says. Names that the template's own code gives to numbers are seen through; those of
//! `kernel-templates/include/`, which the hardware decides, are not, because that folder belongs to no template.

pub(super) mod scan;

use self::scan::{Array, Constant, Size};
use super::fit::{self, Asked};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, quoted};
use crate::source::{FileId, SourceMap, Span};
use crate::spec::{ParamRule, TemplateSpec};

/// A number up to this is what one instruction works on: the registers of a matrix fragment, the elements of 16 bytes. No dimension of a
/// model is as small.
const MOST_OF_AN_INSTRUCTION: u64 = 16;

/// Checks the code that stands beside one TEMPLATE.toml.
pub(super) fn check(template: &TemplateSpec, sources: &SourceMap, diags: &mut Diagnostics) {
    let scanned: Vec<(FileId, scan::Code<'_>)> =
        template.code.iter().map(|file| (*file, scan::code(&sources.file(*file).text))).collect();
    let constants: Vec<(FileId, &Constant<'_>)> =
        scanned.iter().flat_map(|(file, code)| code.constants.iter().map(|constant| (*file, constant))).collect();
    for (file, code) in &scanned {
        for array in &code.arrays {
            diags.extend(array.sizes.iter().filter_map(|size| literal(template, *file, array, size, &constants)));
        }
    }
}

/// What is wrong with one size, where it stands for a number only.
fn literal(
    template: &TemplateSpec,
    file: FileId,
    array: &Array<'_>,
    size: &Size<'_>,
    constants: &[(FileId, &Constant<'_>)],
) -> Option<Diagnostic> {
    let mut through: Vec<(FileId, &Constant<'_>)> = Vec::new();
    let mut names: Vec<&str> = size.names.clone();
    while let Some(name) = names.pop() {
        // A name that no constant of the template explains is a parameter, or comes from elsewhere.
        let constant = constants.iter().find(|(_, constant)| constant.name == name)?;
        if through.iter().all(|(_, known)| known.name != name) {
            through.push(*constant);
            names.extend(&constant.1.names);
        }
    }
    let number = match through.as_slice() {
        [] => size.value,
        [(_, constant)] => constant.value,
        _ => None,
    };
    if number.is_some_and(|number| number <= MOST_OF_AN_INSTRUCTION) {
        return None;
    }
    let place = |file, range| Span { file, range };
    let message = format!("the size of `{}` in `{}` is a number, and no parameter of the template", array.name, template.name);
    let mut diagnostic =
        Diagnostic::new(Id::DimLiteral, message).label(&place(file, size.range.clone()), "the same number for every model");
    for (file, constant) in &through {
        diagnostic = diagnostic.context(&place(*file, constant.range.clone()), format!("`{}` is a number", constant.name));
    }
    // Which parameter the number may stand for: one that has it among few values. Almost any number fits a rule without an upper end.
    let numbers = template.params.iter().filter(|(_, rule)| rule.value.one_of.is_none());
    let value = match through.as_slice() {
        [] => size.value,
        [(_, constant)] => constant.value,
        _ => None,
    };
    let is_meant = |rule: &ParamRule| match (value, &rule.tunable) {
        (Some(value), Some(tunable)) => tunable.iter().any(|choice| choice.value == value),
        (Some(value), None) => rule.max.is_some() && fit::allows(rule, Asked::Number(value)),
        (None, _) => false,
    };
    let meant: Vec<_> = numbers.clone().filter(|(_, rule)| is_meant(&rule.value)).collect();
    for (name, rule) in &meant {
        let shown = value.map_or_else(String::new, |value| value.to_string());
        diagnostic = diagnostic.context(&rule.span, format!("`{}` can be {shown}, and others", name.value));
    }
    if meant.is_empty() {
        diagnostic = diagnostic.context(&template.op.span, "sizes of this kernel follow from its parameters");
    }
    let names: Vec<&str> = numbers.map(|(name, _)| name.value.as_str()).collect();
    let of = match names.as_slice() {
        [] => String::new(),
        names => format!(" ({})", quoted(names)),
    };
    Some(diagnostic.help(format!(
        "write what it stands for: a parameter of the template{of}, or a constant of kernel-templates/include/ if it is the hardware's"
    )))
}
