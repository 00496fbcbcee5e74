//! Blocks and the order in which layers use them.

use super::{attention, size};
use crate::diagnostic::{Diagnostic, Diagnostics, Id, did_you_mean, quoted};
use crate::model::{BlockKind, Ffn};
use crate::source::Spanned;
use crate::spec::{FfnSpec, ModelSpec};

/// Resolves the pattern into block kinds (in the order of first use) and one index per layer.
pub fn kinds(spec: &ModelSpec, diags: &mut Diagnostics) -> Option<(Vec<BlockKind>, Vec<usize>)> {
    let before = diags.len();
    let pattern = pattern(spec, diags);

    for (name, block) in &spec.layers.blocks {
        if block.mixer.is_none() && block.ffn.is_none() {
            diags.push(
                Diagnostic::new(Id::EmptyBlock, format!("block `{}` does nothing", name.value))
                    .label(&name.span, "neither `mixer` nor `ffn`")
                    .help("name a [mixer.*], an [ffn.*], or both"),
            );
        }
    }
    unused(spec, diags);

    let mut kinds = Vec::new();
    let mut index = Vec::new();
    for name in &pattern {
        if let Some(at) = kinds.iter().position(|k: &BlockKind| k.name == name.value) {
            index.push(at);
            continue;
        }
        let Some((_, block)) = spec.layers.blocks.iter().find(|(n, _)| n.value == name.value) else { continue };
        let mixer = block.mixer.as_ref().and_then(|m| {
            let (_, found) = resolve("mixer", m, &spec.mixers, diags)?;
            Some((m.value.clone(), attention::mixer(spec, found, layers_using(spec, &pattern, &m.value), diags)?))
        });
        let ffn = block.ffn.as_ref().and_then(|f| {
            let (_, found) = resolve("ffn", f, &spec.ffns, diags)?;
            Some((f.value.clone(), ffn(found)))
        });
        kinds.push(BlockKind { name: name.value.clone(), mixer, ffn, norm: *block.norm });
        index.push(kinds.len() - 1);
    }
    (diags.len() == before).then_some((kinds, index))
}

fn ffn(spec: &FfnSpec) -> Ffn {
    match spec {
        FfnSpec::GatedMlp { intermediate_size, hidden_act, mlp_bias } => {
            Ffn::GatedMlp { intermediate_size: size(intermediate_size), act: **hidden_act, bias: **mlp_bias }
        }
    }
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
            diags.push(
                Diagnostic::new(Id::UnknownReference, format!("no block is named `{}`", name.value))
                    .label(&name.span, format!("there is no [layers.{}]", name.value))
                    .help(suggestion(&name.value, &names, "layers")),
            );
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
        let (below, above) = (count - count % given.len(), count - count % given.len() + given.len());
        let legal = if below == 0 { format!("{above}") } else { format!("{below} or {above}") };
        diags.push(
            Diagnostic::new(Id::LayerPattern, format!("a pattern of {} does not fill {count} layers", given.len()))
                .label(&layers.pattern.span, format!("{} blocks, repeated", given.len()))
                .context(
                    &layers.num_hidden_layers.span,
                    format!("{count} = {} x {} + {}", count / given.len(), given.len(), count % given.len()),
                )
                .help(format!("num_hidden_layers = {legal} would fit; or write out all {count} blocks")),
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
    name: &Spanned<String>,
    defined: &'s [(Spanned<String>, T)],
    diags: &mut Diagnostics,
) -> Option<(&'s Spanned<String>, &'s T)> {
    if let Some((key, found)) = defined.iter().find(|(n, _)| n.value == name.value) {
        return Some((key, found));
    }
    let names: Vec<&str> = defined.iter().map(|(n, _)| n.value.as_str()).collect();
    diags.push(
        Diagnostic::new(Id::UnknownReference, format!("no {table} is named `{}`", name.value))
            .label(&name.span, format!("there is no [{table}.{}]", name.value))
            .help(suggestion(&name.value, &names, table)),
    );
    None
}

fn suggestion(name: &str, names: &[&str], table: &str) -> String {
    if names.is_empty() {
        return format!("add a [{table}.{name}] table");
    }
    did_you_mean(name, names.iter().copied()).unwrap_or_else(|| format!("defined: {}", quoted(names.iter().copied())))
}

/// Tables that nothing refers to: what they say would silently not happen.
fn unused(spec: &ModelSpec, diags: &mut Diagnostics) {
    let used_block = |name: &str| spec.layers.pattern.iter().any(|p| p.value == name);
    let used_mixer = |name: &str| spec.layers.blocks.iter().any(|(_, b)| b.mixer.as_ref().is_some_and(|m| m.value == name));
    let used_ffn = |name: &str| spec.layers.blocks.iter().any(|(_, b)| b.ffn.as_ref().is_some_and(|f| f.value == name));
    let blocks = spec.layers.blocks.iter().map(|(n, _)| (n, "layers", used_block(&n.value), "no `pattern` names it"));
    let mixers = spec.mixers.iter().map(|(n, _)| (n, "mixer", used_mixer(&n.value), "no block uses it"));
    let ffns = spec.ffns.iter().map(|(n, _)| (n, "ffn", used_ffn(&n.value), "no block uses it"));
    for (name, table, used, why) in blocks.chain(mixers).chain(ffns) {
        if !used {
            diags.push(
                Diagnostic::new(Id::UnusedDefinition, format!("[{table}.{}] is never used", name.value))
                    .label(&name.span, why)
                    .help("use it, or delete the table"),
            );
        }
    }
}
