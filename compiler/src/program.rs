//! The program of one model on one target: ops over named buffers, tensors to load, and how layers are grouped.

mod device;
mod op;
mod verify;

pub use device::{Call, DeviceOp, Dtype, FEW_ROWS, MOST_SPLITS, Operand, Part, Store, When, device_dtype, part_of_weight};
pub use op::{OpKind, Phase};
pub use verify::{Fault, FaultKind, verify};

use crate::architecture::Role;
use crate::model::{ExpertLayout, KvDtype, Mixer, Model, Rope, Target};

/// What a step computes, and everything that it needs.
#[derive(Clone, Debug)]
pub struct Program<'m> {
    /// The model that it was lowered from.
    pub model: &'m Model,
    /// Where it runs.
    pub target: Target,
    /// The ops of a step.
    pub ops: Ops,
    /// Runs of layers that share block kind and cache dtype.
    pub groups: Vec<Group>,
    /// The order of the layers.
    pub schedule: Schedule,
    /// Activations, in the order of first use.
    pub buffers: Vec<Buffer>,
    /// Tensors of the checkpoint, in the order of the model.
    pub tensors: Vec<Tensor>,
}

/// The ops of a step: before the layers, of each kind of block, after the layers.
#[derive(Clone, Debug, Default)]
pub struct Ops {
    /// Embedding and angles.
    pub prologue: Vec<Op>,
    /// One list per block kind, in the order of [`Model::kinds`].
    pub kinds: Vec<Vec<Op>>,
    /// Final norm and head.
    pub epilogue: Vec<Op>,
}

impl Ops {
    /// All ops, each once, in the order of a step.
    pub fn iter(&self) -> impl Iterator<Item = &Op> {
        self.prologue.iter().chain(self.kinds.iter().flatten()).chain(&self.epilogue)
    }
}

/// One op: what it does, and the buffers that it reads and writes.
#[derive(Clone, Debug)]
pub struct Op {
    /// A heading that stands before this op in generated code, such as the block's part and its dimensions.
    pub heading: Option<String>,
    /// What it does.
    pub kind: OpKind,
    /// Buffers that it reads, beside the ones that it writes in place.
    pub reads: Vec<Buf>,
    /// Buffers that it writes.
    pub writes: Vec<Buf>,
}

/// A buffer as ops name it. Two of one name and unlike width are two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buf {
    /// Its name.
    pub name: &'static str,
    /// Elements of a row.
    pub width: usize,
    /// What a row stands for.
    pub rows: RowsOf,
}

/// What a row of a buffer stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowsOf {
    /// A token of the step.
    Tokens,
    /// A token that wants logits.
    LogitRows,
}

/// An activation buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The field of generated scratch.
    pub field: String,
    /// What it holds.
    pub buf: Buf,
    /// Its elements.
    pub dtype: Dtype,
    /// The first and the last op that touch it, counted over [`Ops::iter`].
    pub live: (usize, usize),
}

/// Layers that share block kind and cache dtype, stored as one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The field of generated weights and caches.
    pub field: String,
    /// Index into [`Model::kinds`].
    pub kind: usize,
    /// Dtype of their cache.
    pub cache: CacheDtype,
    /// Layer indices, ascending.
    pub layers: Vec<usize>,
}

/// The dtype of a layer's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheDtype {
    /// The one chosen at load among those that the spec allows.
    Chosen,
    /// Fixed by `kv_cache_layers`.
    Fixed(KvDtype),
    /// The layer has no KV cache.
    None,
}

/// The order of the layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// One group after the other.
    Sequential,
    /// For each layer, its group and its index there.
    Pattern(Vec<(usize, usize)>),
}

/// A tensor of the checkpoint.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// What it is for.
    pub role: Role,
    /// The block kind that it belongs to; `None` for embedding, final norm and head.
    pub kind: Option<usize>,
    /// Its name in the checkpoint; `{layer}` and `{expert}` stand for indices. Experts have several.
    pub names: Vec<String>,
    /// How it is used, with its dimensions.
    pub shape: TensorShape,
    /// Which rows of the stored tensor are its own, in which order.
    pub rows: Rows,
    /// The weight counts from 1, and loading adds it.
    pub plus_one: bool,
    /// The tensor is another role's too (a tied head), and is counted there.
    pub shared: bool,
}

/// Which rows of a stored tensor a weight has, in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All, as they are stored.
    Stored,
    /// The file stores rotary pairs as neighbours, and loading puts them back into halves.
    RopePairs {
        /// Heads.
        heads: usize,
        /// Rotated elements of a head.
        rotary_dim: usize,
    },
    /// Some, one segment after the other.
    Parts(Vec<Segment>),
}

/// Rows of a tensor that is stored as `groups` groups of `group_rows` rows: `rows` of each, from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Groups.
    pub groups: usize,
    /// Rows of a group in the file.
    pub group_rows: usize,
    /// The first row of a group that is taken.
    pub first: usize,
    /// Rows that are taken of each group.
    pub rows: usize,
}

/// The experts of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertDims {
    /// Experts.
    pub experts: usize,
    /// Width outside.
    pub hidden: usize,
    /// Width inside.
    pub inner: usize,
    /// How they are stored.
    pub layout: ExpertLayout,
    /// Whether the projections have biases.
    pub bias: bool,
}

/// How a tensor is used, with its dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are the dimensions, as each line says")]
pub enum TensorShape {
    /// `[vocab, dim]`, looked up by row.
    Embedding { vocab: usize, dim: usize },
    /// `[out, in]`
    Linear { out: usize, input: usize },
    /// `[dim]`
    Norm { dim: usize },
    /// `[dim]`
    Bias { dim: usize },
    /// `[dim]`, read by an op of its own.
    Vector { dim: usize },
    /// `[dim]`, of which the op reads `-exp(a)`.
    Decay { dim: usize },
    /// `[dim, 1, kernel]`
    Conv { dim: usize, kernel: usize },
    /// `[heads * (nope + v), rank]`: from a latent to keys and values.
    LatentUp { heads: usize, nope: usize, v: usize, rank: usize },
    /// down(act(gate(x)) * up(x)) of every expert.
    GatedExperts(ExpertDims),
    /// down(act(up(x))) of every expert.
    PlainExperts(ExpertDims),
}

impl TensorShape {
    /// Number of elements.
    pub fn elements(self) -> u64 {
        match self {
            Self::Embedding { vocab, dim } => vocab as u64 * dim as u64,
            Self::Linear { out, input } => out as u64 * input as u64,
            Self::Norm { dim } | Self::Bias { dim } | Self::Vector { dim } | Self::Decay { dim } => dim as u64,
            Self::Conv { dim, kernel } => dim as u64 * kernel as u64,
            Self::LatentUp { heads, nope, v, rank } => (heads * (nope + v)) as u64 * rank as u64,
            Self::GatedExperts(e) => e.elements(3, 2),
            Self::PlainExperts(e) => e.elements(2, 1),
        }
    }
}

impl ExpertDims {
    /// Elements of all experts, each with so many matrices and so many biases of the inner width.
    const fn elements(self, matrices: u64, inner_biases: u64) -> u64 {
        let (hidden, inner) = (self.hidden as u64, self.inner as u64);
        let bias = if self.bias { inner_biases * inner + hidden } else { 0 };
        self.experts as u64 * (matrices * hidden * inner + bias)
    }
}

impl Program<'_> {
    /// Number of parameters: every tensor once, a tied head not again. Buffers that transformers does not count, the routers'
    /// correction biases, are left out.
    pub fn parameters(&self) -> u64 {
        let counted = |t: &&Tensor| !t.shared && t.role != Role::CorrectionBias;
        self.tensors.iter().filter(counted).map(|t| t.shape.elements() * self.copies(t)).sum()
    }

    /// How many layers have this tensor; 1 outside the layers.
    pub fn copies(&self, tensor: &Tensor) -> u64 {
        match tensor.kind {
            None => 1,
            Some(kind) => self.model.pattern.iter().filter(|&&k| k == kind).count() as u64,
        }
    }

    /// Elements of KV cache per token at each dtype: those of chosen dtype, then fixed ones.
    pub fn kv_elements(&self) -> Vec<(CacheDtype, u64)> {
        let mut sums: Vec<(CacheDtype, u64)> = Vec::new();
        for group in self.groups.iter().filter(|g| g.cache != CacheDtype::None) {
            let per_layer = match &self.model.kinds[group.kind].mixer {
                Some((_, Mixer::Gqa(gqa))) => 2 * gqa.kv_dim(),
                Some((_, Mixer::Mla(mla))) => mla.latent_dim(),
                _ => continue,
            };
            let elements = per_layer as u64 * group.layers.len() as u64;
            match sums.iter_mut().find(|(dtype, _)| *dtype == group.cache) {
                Some((_, sum)) => *sum += elements,
                None => sums.push((group.cache, elements)),
            }
        }
        sums
    }

    /// Bytes of KV cache per token when the chosen dtype is `dtype`.
    pub fn kv_bytes_per_token(&self, dtype: KvDtype) -> u64 {
        self.kv_elements()
            .into_iter()
            .map(|(of, elements)| {
                elements
                    * match of {
                        CacheDtype::Fixed(fixed) => fixed.bytes(),
                        CacheDtype::Chosen => dtype.bytes(),
                        CacheDtype::None => 0,
                    }
            })
            .sum()
    }

    /// Elements of recurrent state of one sequence, all f32: for each group, its layers, those of one layer's convolution, and
    /// those of one layer's recurrence, whose heads are kept in whole vectors of 8.
    pub fn state_elements(&self) -> Vec<(&Group, u64, u64)> {
        let of = |group: &Group| match self.model.kinds[group.kind].mixer.as_ref()?.1 {
            Mixer::Mamba2(m) => Some(((m.conv_kernel - 1) * m.conv_dim(), m.heads * m.head_dim.next_multiple_of(8) * m.state)),
            Mixer::GatedDeltaNet(d) => {
                Some(((d.conv_kernel - 1) * d.conv_dim(), d.value_heads * d.key_dim * d.value_dim.next_multiple_of(8)))
            }
            Mixer::Gqa(_) | Mixer::Mla(_) => None,
        };
        self.groups.iter().filter_map(|g| of(g).map(|(conv, state)| (g, conv as u64, state as u64))).collect()
    }

    /// Whether any layer keeps a state per sequence.
    pub fn is_recurrent(&self) -> bool {
        !self.state_elements().is_empty()
    }

    /// Whether a step of one token for each sequence can run as the captured step of its size: not where such tokens are computed in passes over
    /// their contexts, whose number a graph would fix.
    pub fn is_captured(&self) -> bool {
        !self.ops.iter().any(|op| matches!(&op.kind, OpKind::Device(op) if op.call == Call::Expand(Phase::Decode)))
    }

    /// Bytes of recurrent state of one sequence, and of one snapshot of it.
    pub fn state_bytes_per_slot(&self) -> u64 {
        self.state_elements().iter().map(|(group, conv, state)| 4 * (conv + state) * group.layers.len() as u64).sum()
    }

    /// The buffer that an op names.
    pub fn field(&self, buf: &Buf) -> &str {
        &self.buffers.iter().find(|b| b.buf == *buf).expect("every buffer of an op is listed").field
    }
}

/// The name of a mixer's or feed-forward's constant in generated code: `HEAD_DIM`, or `LOCAL_HEAD_DIM` where the model has
/// several of its sort.
pub fn constant_name(owner: &str, several: bool, key: &str) -> String {
    let key = key.to_ascii_uppercase();
    if several { format!("{}_{key}", crate::lower::identifier(owner).to_ascii_uppercase()) } else { key }
}

/// The field of generated scratch that holds the angles of a rotation. Mixers with the same rotation share it.
pub fn angles_field(ropes: &[(String, Rope)], rope: &Rope) -> String {
    let distinct = ropes.iter().enumerate().find(|(_, (_, r))| r == rope).expect("every rotation is listed");
    if distinct.0 == 0 { "angles".to_owned() } else { format!("angles_{}", crate::lower::identifier(&ropes[distinct.0].0)) }
}
