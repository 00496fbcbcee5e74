//! The program of one model on one target: ops over named buffers, tensors to load, and how layers are grouped.

use tenon_formats::StorageFormat;

use crate::architecture::Role;
use crate::model::{Activation, KvDtype, Model, ParamSet, Requirement, Rope, Target};

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

/// What an op does. Dimensions are in elements; weights are named by their role.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields are the dimensions of the op, as its line says")]
pub enum OpKind {
    /// Rows of the embedding.
    Embedding { weight: Role, vocab: usize, dim: usize },
    /// x *= factor
    Scale { dim: usize },
    /// Cosines and sines of the batch's positions for one rotation.
    RopeAngles { rope: String, rotary_dim: usize },
    /// x / sqrt(mean(x^2) + eps) * weight
    RmsNorm { weight: Role, dim: usize },
    /// x += norm(y), the second norm of a sandwich.
    RmsNormAdd { weight: Role, dim: usize },
    /// The norm over every `head_dim` elements, in place.
    HeadNorm { weight: Role, dim: usize, head_dim: usize },
    /// y = W x, or y += W x
    Linear { weight: Role, out: usize, input: usize, accumulate: bool },
    /// x += b
    AddBias { weight: Role, dim: usize },
    /// Rotates the first `rotary_dim` elements of every head, in place.
    Rope { rope: String, dim: usize, head_dim: usize, rotary_dim: usize, interleaved: bool },
    /// Writes keys and values to the cache.
    KvAppend { kv_heads: usize, head_dim: usize, dtypes: Vec<KvDtype> },
    /// Causal attention over the cache; `window` is how many tokens a query sees, itself included, and the constant that says so.
    Attention {
        heads: usize,
        kv_heads: usize,
        head_dim: usize,
        dtypes: Vec<KvDtype>,
        scale: String,
        window: Option<(usize, String)>,
    },
    /// gate = act(gate) * up
    ActMul { act: Activation, dim: usize },
    /// The rows that want logits.
    GatherLogitRows { dim: usize },
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
    /// Its name in the checkpoint.
    pub name: &'static str,
    /// How it is used, with its dimensions.
    pub shape: TensorShape,
    /// `Some(rotary_dim, heads)`: the file stores rotary pairs as neighbours, and loading puts them back into halves.
    pub unpermute: Option<(usize, usize)>,
    /// The weight counts from 1, and loading adds it.
    pub plus_one: bool,
    /// The tensor is another role's too (a tied head), and is counted there.
    pub shared: bool,
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
}

impl TensorShape {
    /// Number of elements.
    pub fn elements(self) -> u64 {
        match self {
            Self::Embedding { vocab, dim } => vocab as u64 * dim as u64,
            Self::Linear { out, input } => out as u64 * input as u64,
            Self::Norm { dim } | Self::Bias { dim } => dim as u64,
        }
    }
}

impl Program<'_> {
    /// Number of parameters: every tensor once, a tied head not again.
    pub fn parameters(&self) -> u64 {
        self.tensors.iter().filter(|t| !t.shared).map(|t| t.shape.elements() * self.copies(t)).sum()
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
            let Some((_, crate::model::Mixer::Gqa(gqa))) = &self.model.kinds[group.kind].mixer else { continue };
            let elements = 2 * gqa.kv_dim() as u64 * group.layers.len() as u64;
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

    /// The buffer that an op names.
    pub fn field(&self, buf: &Buf) -> &str {
        &self.buffers.iter().find(|b| b.buf == *buf).expect("every buffer of an op is listed").field
    }
}

impl KvDtype {
    /// The spelling in specs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        }
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
        }
    }
}

impl Op {
    /// What a template must offer to run this op.
    pub fn requirement(&self, accept: &[StorageFormat]) -> Requirement {
        let int = |n: usize| ParamSet::Int(n as u64);
        let formats = || ParamSet::Names(accept.iter().map(|f| f.as_str()).collect());
        let dtypes = |d: &[KvDtype]| ParamSet::Names(d.iter().map(|d| d.as_str()).collect());
        let layout = |interleaved| ParamSet::Names(vec![if interleaved { "interleaved" } else { "halves" }]);
        let (op, params) = match &self.kind {
            OpKind::Embedding { vocab, dim, .. } => {
                ("embedding", vec![("vocab", int(*vocab)), ("dim", int(*dim)), ("format", formats())])
            }
            OpKind::RopeAngles { rotary_dim, .. } => ("rope_angles", vec![("rotary_dim", int(*rotary_dim))]),
            OpKind::Scale { dim } => ("scale", vec![("dim", int(*dim))]),
            OpKind::RmsNorm { dim, .. } => ("rms_norm", vec![("dim", int(*dim))]),
            OpKind::RmsNormAdd { dim, .. } => ("rms_norm_add", vec![("dim", int(*dim))]),
            OpKind::HeadNorm { dim, head_dim, .. } => ("head_norm", vec![("dim", int(*dim)), ("head_dim", int(*head_dim))]),
            OpKind::Linear { out, input, .. } => ("linear", vec![("out", int(*out)), ("in", int(*input)), ("format", formats())]),
            OpKind::AddBias { dim, .. } => ("add_bias", vec![("dim", int(*dim))]),
            OpKind::Rope { dim, head_dim, rotary_dim, interleaved, .. } => (
                "rope",
                vec![
                    ("dim", int(*dim)),
                    ("head_dim", int(*head_dim)),
                    ("rotary_dim", int(*rotary_dim)),
                    ("layout", layout(*interleaved)),
                ],
            ),
            OpKind::KvAppend { kv_heads, head_dim, dtypes: d } => (
                "kv_append",
                vec![("num_key_value_heads", int(*kv_heads)), ("head_dim", int(*head_dim)), ("kv_dtype", dtypes(d))],
            ),
            OpKind::Attention { heads, kv_heads, head_dim, dtypes: d, window, .. } => {
                let mut params = vec![
                    ("num_key_value_heads", int(*kv_heads)),
                    ("group", int(heads / kv_heads)),
                    ("head_dim", int(*head_dim)),
                    ("kv_dtype", dtypes(d)),
                ];
                params.extend(window.as_ref().map(|(window, _)| ("window", int(*window))));
                (if window.is_some() { "sliding_attention" } else { "attention" }, params)
            }
            OpKind::ActMul { act: Activation::Silu, dim } => ("silu_mul", vec![("dim", int(*dim))]),
            OpKind::ActMul { act: Activation::GeluTanh, dim } => ("gelu_tanh_mul", vec![("dim", int(*dim))]),
            OpKind::GatherLogitRows { dim } => ("gather_logit_rows", vec![("dim", int(*dim))]),
        };
        Requirement { op, params }
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

impl Activation {
    /// The spelling in specs and in config.json.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Silu => "silu",
            Self::GeluTanh => "gelu_pytorch_tanh",
        }
    }
}
