//! `[weights]`, from the names and types of tensors where they are to be seen.

use std::collections::BTreeMap;

use super::ask::{Ask, SPECULATION, VISION, short};
use super::class::Class;
use super::description::{Format, Noted, WeightsPart};
use super::{Checkpoint, Tensor};
use tenon_formats::Origin;

/// Where parts of a checkpoint stand that read images and sound.
const VISION_PARTS: [&str; 12] = [
    "vision_tower",
    "model.vision_tower",
    "multi_modal_projector",
    "model.multi_modal_projector",
    "visual",
    "model.visual",
    "vision_encoder",
    "vision_language_adapter",
    "patch_merger",
    "pre_mm_projector_norm",
    "audio_tower",
    "model.audio_tower",
];
/// What stands beside quantised elements: no storage format of its own.
const SCALES: [&str; 7] = ["_scales", ".scales", "_scale", "_scale_2", "_scale_inv", "qscale_weight", "qscale_act"];
/// Scales for a cache in fp8, of tensors and not of elements; a cache here has none.
const CACHE_SCALES: [&str; 4] = [".k_scale", ".v_scale", ".k_proj.output_scale", ".v_proj.output_scale"];
const CACHE: &str = "it scales what a cache in fp8 holds, and caches here are not scaled";
/// Where the layers of the text may stand, beside the places of the class.
const PLACES: [&str; 5] =
    ["model.layers", "language_model.model.layers", "model.language_model.layers", "layers", "backbone.layers"];
const NOT_SEEN: &str = "no tensor was seen: checkpoints like this one have it so";

/// The table.
pub fn weights(ask: &Ask<'_>, class: &Class, checkpoint: &Checkpoint, layers: u64, experts: bool) -> WeightsPart {
    match (&checkpoint.tensors, checkpoint.format) {
        (None, format) => unseen(ask, class, format, layers, experts),
        (Some(tensors), Format::Gguf) => WeightsPart { accept: accept(ask, tensors.iter().collect()), ..WeightsPart::default() },
        (Some(tensors), format) => seen(ask, class, format, tensors, layers),
    }
}

/// By the config alone.
fn unseen(ask: &Ask<'_>, class: &Class, format: Format, layers: u64, experts: bool) -> WeightsPart {
    let stated = |v: &tenon_formats::ConfigValue| matches!(&v.origin, Origin::Stated(path) if path.starts_with("text_config."));
    let wrapped = format == Format::Hf && ask.config.keys().any(|(_, value)| stated(value));
    let guess = |value: &str| Noted { value: Some(value.to_owned()), note: Some(NOT_SEEN.to_owned()) };
    let mut part = WeightsPart { accept: ask.storage(), ..WeightsPart::default() };
    if wrapped && class.wrapped_layers != class.layers {
        part.names = Some(guess(&format!("{}.{{layer}}", class.wrapped_layers)));
    }
    if wrapped && experts && class.wrapped_experts != class.experts {
        part.experts = Some(Noted { value: Some(class.wrapped_experts), note: Some(NOT_SEEN.to_owned()) });
    }
    let vision: &[&str] = match format {
        Format::Mistral if ask.config.get("vision_encoder").is_some() => &VISION_PARTS[6..10],
        Format::Hf if wrapped && class.wrapped_layers.starts_with("model.") => &["model.visual"],
        Format::Hf if wrapped => &["vision_tower", "multi_modal_projector"],
        _ => &[],
    };
    part.ignore.extend(vision.iter().map(|name| (format!("{name}.*"), Noted::sure(VISION))));
    let heads = ["num_nextn_predict_layers", "mtp_num_hidden_layers"].iter().find_map(|key| ask.config.int(key)).unwrap_or(0);
    // One entry for all of them where they stand apart from the layers.
    let entries = if class.speculation.contains("{next}") { heads.min(16) } else { heads.min(1) };
    for next in 0..entries {
        let name = class.speculation.replace("{next}", &(layers + next).to_string());
        part.ignore.push((name, Noted::sure(SPECULATION)));
    }
    part
}

/// By the tensors.
fn seen(ask: &Ask<'_>, class: &Class, format: Format, tensors: &[Tensor], layers: u64) -> WeightsPart {
    let own = if format == Format::Mistral { "layers" } else { class.layers };
    let places = [own, class.wrapped_layers].into_iter().chain(PLACES);
    let has = |place: &&str| tensors.iter().any(|t| layer_of(&t.name, place).is_some());
    let Some(place) = places.into_iter().find(has) else {
        ask.refuse(own, "no tensor of a layer has this beginning, and no other that is known");
        return WeightsPart::default();
    };
    let mut ignore: BTreeMap<String, Noted<&'static str>> = BTreeMap::new();
    let mut used = Vec::new();
    for tensor in tensors {
        match fate(&tensor.name, place, layers) {
            Fate::Used => used.push(tensor),
            Fate::Ignored(name, reason) => _ = ignore.insert(name, reason),
        }
    }
    let head = used.iter().find(|t| is_head(&t.name, place)).map(|t| t.name.clone());
    match (ask.config.bool("tie_word_embeddings"), head) {
        (Some(true), Some(head)) => {
            used.retain(|t| t.name != head);
            ignore.insert(head, Noted::sure("the head is tied to the embedding"));
        }
        (Some(false), None) => ask.refuse("tie_word_embeddings", "it is false, and there is no tensor of a head of its own"),
        _ => {}
    }
    let sinks = used.iter().any(|t| t.name.ends_with(".sinks"));
    if sinks != (ask.config.bool("attention_sinks") == Some(true)) {
        let found = if sinks { "there are tensors of attention sinks, which" } else { "there are none, and attention sinks" };
        ask.refuse("self_attn.sinks", format!("{found} this model_type {}", if sinks { "does not have" } else { "has" }));
    }
    let own_experts = if format == Format::Mistral { "each" } else { class.experts };
    let experts = layout(ask, class, &used).filter(|layout| *layout != own_experts);
    WeightsPart {
        accept: accept(ask, used),
        names: (place != own).then(|| Noted::sure(format!("{place}.{{layer}}"))),
        experts: experts.map(Noted::sure),
        ignore: ignore.into_iter().collect(),
    }
}

/// The layer of a tensor that stands at a place of layers.
fn layer_of(name: &str, place: &str) -> Option<u64> {
    name.strip_prefix(place)?.strip_prefix('.')?.split_once('.')?.0.parse().ok()
}

enum Fate {
    Used,
    Ignored(String, Noted<&'static str>),
}

fn fate(name: &str, place: &str, layers: u64) -> Fate {
    if let Some(layer) = layer_of(name, place) {
        if layer < layers && CACHE_SCALES.iter().any(|end| name.ends_with(end)) {
            let end = name.strip_prefix(&format!("{place}.{layer}.")).unwrap_or_default();
            return Fate::Ignored(format!("{place}.{{layer}}.{end}"), Noted::sure(CACHE));
        }
        if layer < layers {
            return Fate::Used;
        }
        return Fate::Ignored(format!("{place}.{layer}.*"), Noted::sure(SPECULATION));
    }
    let below = |part: &str| name.strip_prefix(part).is_some_and(|rest| rest.starts_with('.'));
    if let Some(part) = VISION_PARTS.iter().find(|part| below(part)) {
        return Fate::Ignored(format!("{part}.*"), Noted::sure(VISION));
    }
    if below("mtp") {
        return Fate::Ignored("mtp.*".to_owned(), Noted::sure(SPECULATION));
    }
    // `model` of `model.layers`; nothing of `layers`.
    let base = place.strip_suffix("layers").unwrap_or_default();
    let around = ["embed_tokens", "embeddings", "tok_embeddings", "norm", "norm_f"];
    let inner = name.strip_prefix(base).unwrap_or_default();
    if is_head(name, place) || around.iter().any(|part| inner.strip_prefix(part).is_some_and(|rest| rest.starts_with('.'))) {
        return Fate::Used;
    }
    let parts: Vec<&str> = name.split('.').collect();
    let length = if base.split('.').next() == parts.first().copied() { 2 } else { 1 };
    let (name, all) = match parts.get(..length) {
        Some(start) if start.len() < parts.len() => (format!("{}.*", start.join(".")), "these are"),
        _ => (name.to_owned(), "this is"),
    };
    Fate::Ignored(name, Noted::todo(format!("say what {all} and why the model does not need it")))
}

fn is_head(name: &str, place: &str) -> bool {
    // The head stands beside what holds embeddings and layers.
    let head = match (place, place.strip_suffix(".model.layers")) {
        ("layers", _) => "output".to_owned(),
        (_, Some(outer)) => format!("{outer}.lm_head"),
        _ => "lm_head".to_owned(),
    };
    name.strip_prefix(head.as_str()).is_some_and(|rest| rest.starts_with('.'))
}

/// How experts lie, where there are any.
fn layout(ask: &Ask<'_>, class: &Class, used: &[&Tensor]) -> Option<&'static str> {
    if used.iter().any(|t| t.name.contains(".experts.0.")) {
        return Some("each");
    }
    let is_stack = |t: &&&Tensor| t.name.contains(".experts.") && t.name.contains("up_proj");
    let stacked = used.iter().filter(is_stack).find(|t| !is_scale(&t.name))?;
    let hidden = ask.config.int("hidden_size").map(|hidden| hidden as usize);
    // Two elements of four bits stand in a byte.
    let halves = if stacked.format.as_deref() == Some("u8") { 2 } else { 1 };
    match stacked.shape.as_deref() {
        _ if class.experts == "transposed" => Some("transposed"),
        Some(&[_, out, last]) if out != halves * last && Some(out) == hidden => Some("transposed"),
        _ => Some("stacked"),
    }
}

/// The storage formats of tensors, those of few bits first. What cannot be read is refused, once for each format.
fn accept(ask: &Ask<'_>, used: Vec<&Tensor>) -> Vec<String> {
    if used.iter().all(|t| t.format.is_none()) {
        return ask.storage();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unknown: BTreeMap<&str, &str> = BTreeMap::new();
    for tensor in &used {
        let (Some(format), name) = (tensor.format.as_deref(), tensor.name.as_str()) else { continue };
        if is_scale(name) {
            continue;
        }
        let twin = || {
            let of = |t: &&Tensor, end| t.name.strip_suffix(end) == Some(name);
            used.iter().any(|t| of(t, "_scale_2") || of(t, "_weight_scale_2"))
        };
        let format = match format {
            "f8_e4m3" => "fp8_e4m3",
            "u8" if name.ends_with("_blocks") => "mxfp4",
            "u8" if name.ends_with("_packed") || twin() => "nvfp4",
            other if readable(other) => other,
            other => {
                unknown.entry(other).or_insert(name);
                continue;
            }
        };
        *counts.entry(format).or_default() += 1;
    }
    for (format, name) in unknown {
        ask.refuse(name, format!("it is stored as {}, which is not supported", short(format)));
    }
    let plain = ["bf16", "f16", "f32"];
    let mut packed: Vec<(&str, usize)> = counts.iter().map(|(f, n)| (*f, *n)).filter(|(f, _)| !plain.contains(f)).collect();
    packed.sort_by_key(|&(format, count)| (std::cmp::Reverse(count), format));
    let seen = plain.into_iter().filter(|format| *format == "f32" || counts.contains_key(format));
    packed.into_iter().map(|(format, _)| format).chain(seen).map(str::to_owned).collect()
}

fn is_scale(name: &str) -> bool {
    SCALES.iter().any(|end| name.ends_with(end))
}

fn readable(format: &str) -> bool {
    tenon_formats::StorageFormat::ALL.iter().any(|known| known.as_str() == format)
}
