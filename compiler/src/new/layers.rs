//! Which layer has which mixer and which feed-forward, and how blocks are called.

use serde_json::Value;

use super::ask::Ask;
use super::class::{Attention, Class};
use super::description::{Block, LayersPart, Noted};

/// More layers than any list of them has; the number that MODEL.toml may state.
const MOST_LAYERS: u64 = 65_536;

/// What mixes tokens in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixerKind {
    /// Attention that sees everything.
    Full,
    /// Attention that sees a window.
    Sliding,
    /// A state space.
    Mamba2,
    /// A delta rule.
    DeltaNet,
}

/// What transforms each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FfnKind {
    /// One MLP.
    Dense,
    /// Experts.
    Sparse,
}

/// A layer.
type Kind = (Option<MixerKind>, Option<FfnKind>);

/// The layers, and the kinds in the order of their first layer, under the names of their tables.
#[derive(Debug)]
pub struct Layers {
    /// `[layers]`
    pub part: LayersPart,
    /// Tables of mixers.
    pub mixers: Vec<(&'static str, MixerKind)>,
    /// Tables of feed-forwards.
    pub ffns: Vec<(&'static str, FfnKind)>,
}

/// Reads them off the config. `None` has been refused.
pub fn layers(ask: &Ask<'_>, class: &Class) -> Option<Layers> {
    let num_hidden_layers = ask.int("num_hidden_layers");
    let count = match num_hidden_layers.value {
        Some(count @ 1..=MOST_LAYERS) => count as usize,
        Some(_) => {
            ask.refuse("num_hidden_layers", format!("it must be 1 to {MOST_LAYERS}"));
            return None;
        }
        None => {
            ask.refuse("num_hidden_layers", "it is missing, and all else follows from it");
            return None;
        }
    };
    let nemotron = ask.config.model_type() == "nemotron_h";
    let (types, mut note) = types(ask, class, count)?;
    let mlps = mlp_types(ask, count)?;
    let mut kinds: Vec<Kind> = Vec::with_capacity(count);
    for (layer_type, mlp) in types.iter().zip(mlps) {
        let mixer = match layer_type.as_str() {
            "full_attention" => MixerKind::Full,
            "sliding_attention" => MixerKind::Sliding,
            "linear_attention" if nemotron => MixerKind::Mamba2,
            "linear_attention" => MixerKind::DeltaNet,
            "moe" if nemotron => {
                kinds.push((None, Some(FfnKind::Sparse)));
                continue;
            }
            "mlp" if nemotron => {
                kinds.push((None, Some(FfnKind::Dense)));
                continue;
            }
            other => {
                ask.refuse("layer_types", format!("layers of the type `{}` are not supported", super::ask::short(other)));
                return None;
            }
        };
        kinds.push((Some(mixer), (!nemotron).then_some(mlp)));
    }
    let names = Names::of(&kinds, nemotron);
    let (mut blocks, mut mixers, mut ffns) = (Vec::new(), Vec::new(), Vec::new());
    for &(mixer, ffn) in &kinds {
        let block = Block { mixer: mixer.map(|m| names.mixer(m)), ffn: ffn.map(|f| names.ffn(f)), norm: class.norm };
        add(&mut blocks, names.block((mixer, ffn)), block);
        if let Some(kind) = mixer {
            add(&mut mixers, names.mixer(kind), kind);
        }
        if let Some(kind) = ffn {
            add(&mut ffns, names.ffn(kind), kind);
        }
    }
    let all: Vec<&'static str> = kinds.iter().map(|&kind| names.block(kind)).collect();
    if blocks.len() == 1 {
        note = None;
    }
    let pattern = Noted { value: Some(shortest(&all)), note };
    Some(Layers { part: LayersPart { num_hidden_layers, pattern, blocks }, mixers, ffns })
}

fn add<T>(tables: &mut Vec<(&'static str, T)>, name: &'static str, table: T) {
    if !tables.iter().any(|(known, _)| *known == name) {
        tables.push((name, table));
    }
}

/// The type of each layer, and a comment where the checkpoint does not list them.
fn types(ask: &Ask<'_>, class: &Class, count: usize) -> Option<(Vec<String>, Option<String>)> {
    // A class without windows and states has no such key; a file may still have one that says so.
    let Some(found) = ask.get("layer_types") else {
        if ask.is_on("use_sliding_window") {
            ask.refuse("use_sliding_window", "it is true, and layer_types does not say in which layers");
            return None;
        }
        if class.attention != Attention::Mla {
            ask.refuse("layer_types", "it is missing, and nothing else says what each layer is");
            return None;
        }
        return Some((vec!["full_attention".to_owned(); count], None));
    };
    Some((each(ask, "layer_types", &found.value, count)?, super::ask::note(&found.origin)))
}

fn mlp_types(ask: &Ask<'_>, count: usize) -> Option<Vec<FfnKind>> {
    let Some(found) = ask.get("mlp_layer_types") else { return Some(vec![FfnKind::Dense; count]) };
    let names = each(ask, "mlp_layer_types", &found.value, count)?;
    let kind = |name: &String| match name.as_str() {
        "dense" => Some(FfnKind::Dense),
        "sparse" => Some(FfnKind::Sparse),
        _ => None,
    };
    let kinds: Option<Vec<FfnKind>> = names.iter().map(kind).collect();
    if kinds.is_none() {
        ask.refuse("mlp_layer_types", "each must be dense or sparse");
    }
    kinds
}

/// A name for each layer, from one for all or a list.
fn each(ask: &Ask<'_>, key: &str, value: &Value, count: usize) -> Option<Vec<String>> {
    let names: Option<Vec<String>> = match value {
        Value::String(one) => Some(vec![one.clone(); count]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let names = names.filter(|names| names.len() == count);
    if names.is_none() {
        ask.refuse(key, format!("it must have a name for each of the {count} layers"));
    }
    names
}

/// The shortest list that repeats to this one.
fn shortest(all: &[&'static str]) -> Vec<&'static str> {
    let repeats = |length: usize| all.len().is_multiple_of(length) && all.chunks(length).all(|part| part == &all[..length]);
    let length = (1..all.len()).find(|&length| repeats(length)).unwrap_or(all.len());
    all[..length].to_vec()
}

/// How tables are called: after what tells them apart.
struct Names {
    nemotron: bool,
    windows: bool,
    states: bool,
    mixers_differ: bool,
    ffns_differ: bool,
}

impl Names {
    fn of(kinds: &[Kind], nemotron: bool) -> Self {
        let has = |mixer| kinds.iter().any(|kind| kind.0 == Some(mixer));
        Self {
            nemotron,
            windows: has(MixerKind::Sliding) && has(MixerKind::Full),
            states: has(MixerKind::DeltaNet),
            mixers_differ: kinds.iter().any(|kind| kind.0 != kinds[0].0),
            ffns_differ: kinds.iter().any(|kind| kind.1 != kinds[0].1),
        }
    }

    fn mixer(&self, kind: MixerKind) -> &'static str {
        match kind {
            MixerKind::Sliding if self.windows => "local",
            MixerKind::Full if self.windows => "full",
            MixerKind::Full | MixerKind::Sliding => "attention",
            MixerKind::Mamba2 => "mamba",
            MixerKind::DeltaNet => "delta_net",
        }
    }

    fn ffn(&self, kind: FfnKind) -> &'static str {
        match kind {
            FfnKind::Dense => "mlp",
            FfnKind::Sparse => "experts",
        }
    }

    fn block(&self, (mixer, ffn): Kind) -> &'static str {
        if self.nemotron {
            return mixer.map_or_else(|| ffn.map_or("block", |f| self.ffn(f)), |m| self.mixer(m));
        }
        let dense = ffn == Some(FfnKind::Dense);
        let mixer = match mixer {
            Some(MixerKind::Sliding) if self.windows => Some("local"),
            Some(MixerKind::Full) if self.windows || self.states => Some("full"),
            Some(MixerKind::DeltaNet) => Some("linear"),
            _ => None,
        };
        match (self.mixers_differ, self.ffns_differ) {
            (false, false) => "block",
            (true, false) => mixer.unwrap_or("block"),
            (false, true) => {
                if dense {
                    "dense"
                } else {
                    "sparse"
                }
            }
            (true, true) => match (mixer, dense) {
                (Some("local"), true) => "local_dense",
                (Some("local"), false) => "local_sparse",
                (Some("linear"), true) => "linear_dense",
                (Some("linear"), false) => "linear_sparse",
                (_, true) => "full_dense",
                (_, false) => "full_sparse",
            },
        }
    }
}
