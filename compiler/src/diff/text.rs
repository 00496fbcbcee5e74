//! A report for people: the summary, then the files.

use std::fmt::Write as _;

use super::{
    Difference, Facts, FileChange, FileDifference, KernelChange, ModelChange, ModelChanges, Quantity, Report, TargetChanges,
    TemplateDifference, TensorChange, ValueChange,
};
use crate::diagnostic::thousands;

/// Where what is said about a name begins.
const LABEL: usize = 12;
/// Where the ratios of quantities begin.
const RATIO: usize = 52;
/// Most characters of a line of files.
const WIDTH: usize = 110;

pub(super) fn report(report: &Report, full: bool) -> String {
    let mut text = String::new();
    if let Some(specs) = &report.specs {
        let _ = writeln!(text, "specs: {} -> {}", specs.old, specs.new);
    }
    if let Some(note) = &report.note {
        let _ = writeln!(text, "note: {note}");
    }
    if report.specs.is_some() {
        summary(&report.difference, &mut text);
    }
    let _ = writeln!(text, "\nfiles: {} -> {}", report.generated.old, report.generated.new);
    files(&report.files, &mut text);
    if full {
        for file in &report.files {
            let side = |absent, side| {
                if file.change == absent { "/dev/null".to_owned() } else { format!("{side}/generated/{}", file.path) }
            };
            let (old, new) = (side(FileChange::Added, "a"), side(FileChange::Removed, "b"));
            let _ = write!(text, "\n--- {old}\n+++ {new}\n{}", file.diff.as_deref().unwrap_or_default());
        }
    }
    text
}

fn summary(difference: &Difference, text: &mut String) {
    if difference.is_empty() {
        text.push_str("\nno model and no template differs\n");
    }
    for model in &difference.models {
        match &model.change {
            ModelChange::Added(it) => {
                let _ = writeln!(text, "\n+ {}", model.name);
                facts(it, text);
            }
            ModelChange::Removed(it) => {
                let _ = writeln!(text, "\n- {}", model.name);
                facts(it, text);
            }
            ModelChange::Changed(it) => {
                let _ = writeln!(text, "\n{}", model.name);
                changes(it, text);
            }
        }
    }
    difference.templates.iter().for_each(|it| template(it, text));
}

/// Lines under one label, which stands before the first.
fn block(label: &str, lines: impl IntoIterator<Item = String>, text: &mut String) {
    for (i, line) in lines.into_iter().enumerate() {
        let label = if i == 0 { label } else { "" };
        // `+` and `-` stand in a column of their own, left of what is not marked.
        let line = if line.starts_with(['+', '-', '~']) && line[1..].starts_with(' ') { line } else { format!("  {line}") };
        let _ = writeln!(text, "{}", format!("  {label:<LABEL$}{line}").trim_end());
    }
}

fn facts(facts: &Facts, text: &mut String) {
    block("targets", [facts.targets.join(", ")], text);
    block("layers", [facts.layers.to_string()], text);
    block("parameters", [thousands(facts.parameters)], text);
    let cache = facts.cache_bytes_per_token.iter();
    block("cache", cache.map(|(dtype, bytes)| format!("{} B/token ({dtype})", thousands(*bytes))), text);
    let state = facts.state_bytes_per_sequence;
    block("state", (state > 0).then(|| format!("{} B/sequence", thousands(state))), text);
}

fn changes(changes: &ModelChanges, text: &mut String) {
    for (label, values) in [
        ("dims", &changes.dims),
        ("scales", &changes.scales),
        ("dtypes", &changes.dtypes),
        ("settings", &changes.settings),
        ("KERNEL.toml", &changes.tuning),
    ] {
        block(label, values.iter().map(value), text);
    }
    block("tensors", changes.tensors.iter().flat_map(tensor), text);
    for target in &changes.targets {
        // One target is the rule, and then its name says nothing.
        let name = if changes.targets.len() > 1 { format!(" {}", target.target) } else { String::new() };
        block(&format!("kernels{name}"), kernels(target), text);
    }
    quantities(&changes.quantities, "", text);
    for target in &changes.targets {
        let name = if changes.targets.len() > 1 { target.target } else { "" };
        quantities(&target.quantities, name, text);
    }
}

/// `key old -> new`, and with a sign where only one side has the key.
fn value(change: &ValueChange) -> String {
    let ValueChange { key, old, new } = change;
    match (old, new) {
        (Some(old), Some(new)) => match (old.split_once(" = "), new.split_once(" = ")) {
            // One formula with two values is told once.
            (Some((formula, old)), Some((same, new))) if formula == same => format!("{key} {formula}: {old} -> {new}"),
            _ => format!("{key} {old} -> {new}"),
        },
        (Some(old), None) => format!("- {key} {old}"),
        (None, new) => format!("+ {key} {}", new.as_deref().unwrap_or_default()),
    }
}

fn tensor(change: &TensorChange) -> Vec<String> {
    let roles = change.roles.join(", ");
    let layers = match (change.old_layers, change.new_layers) {
        (old, new) if old == new || old == 0 || new == 0 => format!("x{}", old.max(new)),
        (old, new) => format!("x{old} -> x{new}"),
    };
    match (&change.old, &change.new) {
        (Some(old), Some(new)) if old == new => vec![format!("{roles} {old} {layers}")],
        (Some(old), Some(new)) => vec![format!("{roles} {old} -> {new} {layers}")],
        (Some(old), None) => vec![format!("- {roles} {old} {layers}")],
        (None, new) => vec![format!("+ {roles} {} {layers}", new.as_deref().unwrap_or_default())],
    }
}

fn kernels(target: &TargetChanges) -> impl Iterator<Item = String> {
    let line = |change: &KernelChange| {
        // Templates are called after their op, mostly; the others say what they run.
        let op = if change.instance.contains(change.op) { String::new() } else { format!(" ({})", change.op) };
        let KernelChange { instance, old, new, .. } = change;
        match (old, new) {
            (0, new) => format!("+ {instance}{op} x{new}"),
            (old, 0) => format!("- {instance}{op} x{old}"),
            (old, new) => format!("~ {instance}{op} x{old} -> x{new}"),
        }
    };
    target.kernels.iter().map(line)
}

fn quantities(quantities: &[Quantity], target: &str, text: &mut String) {
    let mut last = "";
    for quantity in quantities {
        let of = quantity.of.iter().map(String::as_str).chain((!target.is_empty()).then_some(target));
        let of: Vec<&str> = of.collect();
        let of = if of.is_empty() { String::new() } else { format!(" ({})", of.join(", ")) };
        let numbers = format!("{} -> {} {}{of}", thousands(quantity.old), thousands(quantity.new), quantity.unit);
        let numbers = numbers.replace("  (", " (");
        let label = if quantity.name == last { "" } else { quantity.name };
        let line = format!("{:<RATIO$} {}", numbers.trim_end(), quantity.ratio.map(ratio).unwrap_or_default());
        block(label, [line], text);
        last = quantity.name;
    }
}

/// `x3.00`, with as many digits as it takes to tell it from 1.
pub(super) fn ratio(value: f64) -> String {
    let shown =
        (2..=9).map(|digits| format!("x{value:.digits$}")).find(|text| text.trim_start_matches("x1.").contains(|c| c != '0'));
    shown.unwrap_or_else(|| format!("x{value}"))
}

fn template(template: &TemplateDifference, text: &mut String) {
    let sign = match template.change {
        "added" => "+ ",
        "removed" => "- ",
        _ => "",
    };
    let _ = writeln!(text, "\n{sign}kernel-templates/{}", template.name);
    block("values", template.values.iter().map(value), text);
    let (old, new) = (&template.old_users, &template.new_users);
    let users = new.iter().map(|user| if old.contains(user) { user.clone() } else { format!("{user} (new)") });
    let users: Vec<String> =
        users.chain(old.iter().filter(|user| !new.contains(user)).map(|user| format!("{user} (no longer)"))).collect();
    block("runs in", [if users.is_empty() { "no model".to_owned() } else { users.join(", ") }], text);
}

/// A line per model, and the files of its folder.
fn files(files: &[FileDifference], text: &mut String) {
    if files.is_empty() {
        text.push_str("  no file differs\n");
    }
    let mut folders: Vec<(&str, Vec<String>)> = Vec::new();
    for file in files {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let (added, removed) = (file.lines.added, file.lines.removed);
        let what = match file.change {
            FileChange::Added => format!("{name} +{added} (new)"),
            FileChange::Removed => format!("{name} -{removed} (gone)"),
            FileChange::Changed => format!("{name} +{added} -{removed}"),
        };
        match folders.last_mut() {
            Some((known, list)) if *known == folder => list.push(what),
            _ => folders.push((folder, vec![what])),
        }
    }
    for (folder, list) in folders {
        let start = format!("  generated/{folder}/  ");
        let mut line = start.clone();
        for (i, file) in list.iter().enumerate() {
            if i > 0 && line.len() + file.len() > WIDTH {
                let _ = writeln!(text, "{}", line.trim_end());
                line = " ".repeat(start.len());
            }
            line.push_str(file);
            line.push_str(if i + 1 < list.len() { ", " } else { "" });
        }
        let _ = writeln!(text, "{line}");
    }
}
