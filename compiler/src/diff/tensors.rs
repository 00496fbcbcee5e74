//! Tensors of the checkpoint that have another shape than before, or another number.

use serde::Serialize;

use crate::program::{ExpertDims, Program, Tensor, TensorShape};

/// Tensors that change in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TensorChange {
    /// What they are for, such as `k_proj`; with the name of the block where a model has several.
    pub roles: Vec<String>,
    /// The shape before, such as `[192, 576]`; `None` where they are new.
    pub old: Option<String>,
    /// The shape after; `None` where they are gone.
    pub new: Option<String>,
    /// How many layers had each before; 1 outside the layers.
    pub old_layers: u64,
    /// How many layers have each after.
    pub new_layers: u64,
}

struct Entry {
    role: String,
    shape: String,
    layers: u64,
}

fn entries(program: &Program<'_>, name_blocks: bool) -> Vec<Entry> {
    let role = |tensor: &Tensor| match tensor.kind {
        Some(kind) if name_blocks => format!("{}.{}", program.model.kinds[kind].name, tensor.role.field()),
        _ => tensor.role.field().to_owned(),
    };
    let of = |t: &Tensor| Entry { role: role(t), shape: shape(t.shape), layers: program.copies(t) };
    program.tensors.iter().filter(|t| !t.shared).map(of).collect()
}

fn shape(shape: TensorShape) -> String {
    use TensorShape as S;
    let experts = |e: ExpertDims, inward: &str| {
        let bias = if e.bias { " with biases" } else { "" };
        format!("{} x ({inward} [{}, {}], down [{}, {}]){bias}", e.experts, e.inner, e.hidden, e.hidden, e.inner)
    };
    match shape {
        S::Embedding { vocab, dim } => format!("[{vocab}, {dim}]"),
        S::Linear { out, input } => format!("[{out}, {input}]"),
        S::Norm { dim } | S::Bias { dim } | S::Vector { dim } | S::Decay { dim } => format!("[{dim}]"),
        S::Conv { dim, kernel } => format!("[{dim}, 1, {kernel}]"),
        S::LatentUp { heads, nope, v, rank } => format!("[{}, {rank}]", heads * (nope + v)),
        S::GatedExperts(e) => experts(e, "gate, up"),
        S::PlainExperts(e) => experts(e, "up"),
    }
}

/// What differs, in the order of the old model and then of the new one. A head that is tied to the embedding is no tensor.
pub(super) fn tensors(old: &Program<'_>, new: &Program<'_>) -> Vec<TensorChange> {
    let name_blocks = old.model.kinds.len() > 1 || new.model.kinds.len() > 1;
    let (old, new) = (entries(old, name_blocks), entries(new, name_blocks));
    let find = |list: &'_ [Entry], role: &str| list.iter().position(|e| e.role == role);
    let mut changes: Vec<TensorChange> = Vec::new();
    let mut add = |before: Option<&Entry>, after: Option<&Entry>| {
        let shape = |entry: Option<&Entry>| entry.map(|e| e.shape.clone());
        let layers = |entry: Option<&Entry>| entry.map_or(0, |e| e.layers);
        let Some(role) = before.or(after).map(|e| e.role.clone()) else { return };
        let change = TensorChange {
            roles: Vec::new(),
            old: shape(before),
            new: shape(after),
            old_layers: layers(before),
            new_layers: layers(after),
        };
        if change.old == change.new && change.old_layers == change.new_layers {
            return;
        }
        let same = |known: &&mut TensorChange| TensorChange { roles: Vec::new(), ..(**known).clone() } == change;
        match changes.iter_mut().find(same) {
            Some(known) => known.roles.push(role),
            None => changes.push(TensorChange { roles: vec![role], ..change }),
        }
    };
    for before in &old {
        add(Some(before), find(&new, &before.role).map(|at| &new[at]));
    }
    for after in new.iter().filter(|after| find(&old, &after.role).is_none()) {
        add(None, Some(after));
    }
    changes
}
