//! Blocks and the order in which layers use them.

use super::{experts, mixer, size, suggest_text};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, quoted};
use crate::model::BlockKind;
use crate::source::Spanned;
use crate::spec::{BlockSpec, ModelSpec};

/// Resolves the pattern into block kinds (in the order of first use) and one index per layer.
pub fn kinds(spec: &ModelSpec, diags: &mut Diagnostics) -> Option<(Vec<BlockKind>, Vec<usize>)> {
    let before = diags.len();
    let pattern = pattern(spec, diags);

    for (name, block) in &spec.layers.blocks {
        if block.mixer.is_none() && block.ffn.is_none() {
            diags.push(
                Diagnostic::new(Id::EmptyBlock, format!("block `{}` does nothing", name.value))
                    .label(&name.span, "neither `mixer` nor `ffn`")
                    .help("name a `[mixer.*]`, an `[ffn.*]`, or both"),
            );
        }
    }

    let mut kinds = Vec::new();
    let mut index = Vec::new();
    for name in &pattern {
        if let Some(at) = kinds.iter().position(|k: &BlockKind| k.name == name.value) {
            index.push(at);
            continue;
        }
        let Some((_, block)) = spec.layers.blocks.iter().find(|(n, _)| n.value == name.value) else { continue };
        let mixer = block.mixer.as_ref().and_then(|m| {
            let (_, found) = resolve("mixer", "mixer", m, &spec.mixers, diags)?;
            Some((m.value.clone(), mixer::mixer(spec, found, layers_using(spec, &pattern, &m.value), diags)?))
        });
        let ffn = block.ffn.as_ref().and_then(|f| {
            let (name, found) = resolve("ffn", "feed-forward", f, &spec.ffns, diags)?;
            Some((f.value.clone(), experts::ffn(name, found, diags)?))
        });
        kinds.push(BlockKind { name: name.value.clone(), mixer, ffn, norm: *block.norm });
        index.push(kinds.len() - 1);
    }
    unused(spec, diags);
    (diags.len() == before).then_some((kinds, index))
}

/// One block name per layer.
fn pattern(spec: &ModelSpec, diags: &mut Diagnostics) -> Vec<Spanned<String>> {
    let layers = &spec.layers;
    let (given, count) = (&layers.pattern.value, size(&layers.num_hidden_layers));
    let mut known = true;
    for name in given {
        if !layers.blocks.iter().any(|(n, _)| n.value == name.value) {
            known = false;
            let names: Vec<&str> = layers.blocks.iter().map(|(n, _)| n.value.as_str()).collect();
            diags.push(unresolved("layers", "block", name, &names));
        }
    }
    if given.is_empty() {
        diags.push(
            Diagnostic::new(Id::LayerPattern, "the pattern names no block")
                .label(&layers.pattern.span, "an empty list")
                .help("name the blocks in the order of the layers; the list is repeated to the layer count"),
        );
        return Vec::new();
    }
    if !known {
        return Vec::new();
    }
    if !count.is_multiple_of(given.len()) {
        let (length, rest) = (given.len(), count % given.len());
        let (message, why, help) = if count < length {
            let message = format!("a pattern of {length} is longer than {count} layers");
            (message, format!("{count} layers"), format!("write one block per layer, or `num_hidden_layers = {length}`"))
        } else {
            let (below, above) = (count - rest, count - rest + length);
            let help = format!("`num_hidden_layers = {below}` or {above} would fit; or write out all {count} blocks");
            let why = format!("{count} = {} x {length} + {rest}", count / length);
            (format!("a pattern of {length} does not fill {count} layers"), why, help)
        };
        diags.push(
            Diagnostic::new(Id::LayerPattern, message)
                .label(&layers.pattern.span, format!("{length} blocks"))
                .context(&layers.num_hidden_layers.span, why)
                .help(help),
        );
        return Vec::new();
    }
    (0..count).map(|i| given[i % given.len()].clone()).collect()
}

fn layers_using(spec: &ModelSpec, pattern: &[Spanned<String>], mixer: &str) -> usize {
    let uses = |block: &str| {
        let found = spec.layers.blocks.iter().find(|(n, _)| n.value == block);
        found.is_some_and(|(_, b)| b.mixer.as_ref().is_some_and(|m| m.value == mixer))
    };
    pattern.iter().filter(|name| uses(&name.value)).count()
}

fn resolve<'s, T>(
    table: &str,
    what: &str,
    name: &Spanned<String>,
    defined: &'s [(Spanned<String>, T)],
    diags: &mut Diagnostics,
) -> Option<(&'s Spanned<String>, &'s T)> {
    if let Some((key, found)) = defined.iter().find(|(n, _)| n.value == name.value) {
        return Some((key, found));
    }
    let names: Vec<&str> = defined.iter().map(|(n, _)| n.value.as_str()).collect();
    diags.push(unresolved(table, what, name, &names));
    None
}

fn unresolved(table: &str, what: &str, name: &Spanned<String>, defined: &[&str]) -> Diagnostic {
    let diagnostic = Diagnostic::new(Id::UnknownReference, format!("no {what} is named `{}`", name.value))
        .label(&name.span, format!("there is no `[{table}.{}]`", name.value));
    suggest_text(diagnostic, name, defined, || match defined {
        [] => format!("add a `[{table}.{}]` table", name.value),
        _ => format!("defined: {}; or add a `[{table}.{}]` table", quoted(defined), name.value),
    })
}

/// Tables that nothing refers to: what they say would silently not happen. Where a reference of the same sort is dangling, it
/// may have meant the table, and is enough said.
fn unused(spec: &ModelSpec, diags: &mut Diagnostics) {
    let pattern: Vec<&str> = spec.layers.pattern.iter().map(|p| p.value.as_str()).collect();
    let blocks: Vec<&BlockSpec> = spec.layers.blocks.iter().map(|(_, block)| block).collect();
    let mixers: Vec<&str> = blocks.iter().filter_map(|b| b.mixer.as_ref()).map(|m| m.value.as_str()).collect();
    let ffns: Vec<&str> = blocks.iter().filter_map(|b| b.ffn.as_ref()).map(|f| f.value.as_str()).collect();
    let mut report = |table: &str, names: Vec<&Spanned<String>>, used: &[&str], why: &str| {
        if !used.iter().all(|u| names.iter().any(|n| n.value == *u)) {
            return;
        }
        for name in names.into_iter().filter(|n| !used.contains(&n.value.as_str())) {
            diags.push(
                Diagnostic::new(Id::UnusedDefinition, format!("`[{table}.{}]` is never used", name.value))
                    .label(&name.span, why)
                    .help("use it, or delete the table"),
            );
        }
    };
    if !pattern.is_empty() {
        report("layers", spec.layers.blocks.iter().map(|(n, _)| n).collect(), &pattern, "no `pattern` names it");
    }
    report("mixer", spec.mixers.iter().map(|(n, _)| n).collect(), &mixers, "no block uses it");
    report("ffn", spec.ffns.iter().map(|(n, _)| n).collect(), &ffns, "no block uses it");
}
