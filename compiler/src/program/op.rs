//! What ops do, and what each asks of a kernel.

use tenon_formats::StorageFormat;

use super::{DeviceOp, Op};
use crate::architecture::Role;
use crate::model::{Activation, KvDtype, MlaForm, ParamSet, Requirement};

/// Which spans of a batch an op computes. Spans of one token take another form than longer ones where that is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Spans of several tokens.
    Prefill,
    /// Spans of one token.
    Decode,
}

/// What an op does. Dimensions are in elements; weights are named by their role, constants by their name in generated code.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields are the dimensions of the op, as its line says")]
pub enum OpKind {
    /// Rows of the embedding.
    Embedding { weight: Role, vocab: usize, dim: usize },
    /// x *= factor
    Scale { dim: usize, factor: &'static str },
    /// Cosines and sines of the batch's positions for one rotation.
    RopeAngles { rope: String, rotary_dim: usize },
    /// x / sqrt(mean(x^2) + eps) * weight
    RmsNorm { weight: Role, dim: usize, eps: String },
    /// x += norm(y), the second norm of a sandwich.
    RmsNormAdd { weight: Role, dim: usize },
    /// The norm over every `head_dim` elements, in place.
    HeadNorm { weight: Role, dim: usize, head_dim: usize },
    /// Rows of f32 as rows of int8.
    Quantise { dim: usize },
    /// y = W x, or y += W x, where x is f32 or int8.
    Linear { weight: Role, out: usize, input: usize, accumulate: bool, int8: bool },
    /// x += b
    AddBias { weight: Role, dim: usize },
    /// Rotates the first (or, in latent attention, the last) `rotary_dim` elements of every head, in place.
    Rope { rope: String, dim: usize, head_dim: usize, rotary_dim: usize, interleaved: bool, tail: bool },
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
        soft_cap: Option<String>,
        sinks: bool,
    },
    /// x *= sigmoid(gate)
    SigmoidMul { dim: usize },
    /// The norm over the first `rank` elements of a row, in place.
    LatentNorm { weight: Role, dim: usize, rank: usize, eps: String },
    /// q *= 1 + beta ln(1 + floor(position / original))
    QueryScale { dim: usize, factor: String },
    /// Writes latents to the cache.
    LatentAppend { rank: usize, rope_dim: usize, dtypes: Vec<KvDtype> },
    /// Causal latent attention over the cache.
    Mla {
        phase: Phase,
        form: MlaForm,
        heads: usize,
        nope: usize,
        rope_dim: usize,
        v: usize,
        rank: usize,
        dtypes: Vec<KvDtype>,
        scale: String,
    },
    /// Depthwise convolution over the last `kernel` tokens, then silu, in place.
    CausalConv { dim: usize, kernel: usize, bias: bool },
    /// The recurrence of Mamba2.
    Mamba2 { phase: Phase, heads: usize, head_dim: usize, state: usize, groups: usize, chunk: usize, time_step_min: String },
    /// norm(y silu(z)) in each group of channels, in place.
    GatedGroupNorm { weight: Role, dim: usize, groups: usize },
    /// The gated delta rule.
    Delta { phase: Phase, key_heads: usize, key_dim: usize, value_heads: usize, value_dim: usize },
    /// norm(y) silu(z) in each head, in place.
    GatedHeadNorm { weight: Role, dim: usize, head_dim: usize },
    /// x = act(x)
    Act { act: Activation, dim: usize },
    /// gate = act(gate) * up
    ActMul { act: Activation, dim: usize },
    /// The experts of each token and their weights.
    Route { routes: String, router: String, experts: usize, top_k: usize, biased: bool },
    /// The sum of each token's experts; `limit` and `alpha` are the constants of a clamped swiglu.
    Experts {
        routes: String,
        rows: String,
        experts: usize,
        top_k: usize,
        hidden: usize,
        inner: usize,
        act: Activation,
        gated: bool,
        clamp: Option<(String, String)>,
    },
    /// o += sigmoid(g) * shared, where g is one number per row.
    SigmoidGateAdd { dim: usize },
    /// x += o
    Add { dim: usize },
    /// x += factor * o
    AddScaled { dim: usize, factor: &'static str },
    /// The rows that want logits.
    GatherLogitRows { dim: usize },
    /// x = cap tanh(x / cap)
    SoftCap { dim: usize, cap: &'static str },
    /// A launch on a device.
    Device(Box<DeviceOp>),
}

impl OpKind {
    /// The weight that it reads, where it reads one.
    pub fn weight(&self) -> Option<Role> {
        Some(match self {
            Self::Device(op) => return op.weight,
            Self::Embedding { weight, .. }
            | Self::RmsNorm { weight, .. }
            | Self::RmsNormAdd { weight, .. }
            | Self::HeadNorm { weight, .. }
            | Self::Linear { weight, .. }
            | Self::AddBias { weight, .. }
            | Self::LatentNorm { weight, .. }
            | Self::GatedGroupNorm { weight, .. }
            | Self::GatedHeadNorm { weight, .. } => *weight,
            _ => return None,
        })
    }

    /// The spans that it computes; `None` where it computes all.
    pub fn phase(&self) -> Option<Phase> {
        match self {
            Self::Device(op) => op.phase,
            Self::Mla { phase, .. } | Self::Mamba2 { phase, .. } | Self::Delta { phase, .. } => Some(*phase),
            _ => None,
        }
    }

    /// Whether it changes what it writes (an op of a device: what it writes first), which must then hold something already.
    pub fn is_in_place(&self) -> bool {
        match self {
            Self::Device(op) => op.in_place,
            Self::Scale { .. }
            | Self::RmsNormAdd { .. }
            | Self::HeadNorm { .. }
            | Self::Linear { accumulate: true, .. }
            | Self::AddBias { .. }
            | Self::Rope { .. }
            | Self::SigmoidMul { .. }
            | Self::LatentNorm { .. }
            | Self::QueryScale { .. }
            | Self::CausalConv { .. }
            | Self::GatedGroupNorm { .. }
            | Self::GatedHeadNorm { .. }
            | Self::Act { .. }
            | Self::ActMul { .. }
            | Self::SigmoidGateAdd { .. }
            | Self::Add { .. }
            | Self::AddScaled { .. }
            | Self::SoftCap { .. } => true,
            Self::Embedding { .. }
            | Self::RopeAngles { .. }
            | Self::RmsNorm { .. }
            | Self::Quantise { .. }
            | Self::Linear { accumulate: false, .. }
            | Self::KvAppend { .. }
            | Self::Attention { .. }
            | Self::LatentAppend { .. }
            | Self::Mla { .. }
            | Self::Mamba2 { .. }
            | Self::Delta { .. }
            | Self::Route { .. }
            | Self::Experts { .. }
            | Self::GatherLogitRows { .. } => false,
        }
    }
}

impl Op {
    /// What a template must offer to run this op.
    pub fn requirement(&self, accept: &[StorageFormat]) -> Requirement {
        let int = |n: usize| ParamSet::Int(n as u64);
        let formats = || ParamSet::Names(accept.iter().map(|f| f.as_str()).collect());
        if let OpKind::Device(op) = &self.kind {
            let params = op.params.iter().map(|(name, set)| match set {
                // What is stored as bf16 is not made so.
                ParamSet::Names(_) if *name == "format" && op.op == "dequantise" => {
                    let others = accept.iter().filter(|f| **f != StorageFormat::Bf16);
                    (*name, ParamSet::Names(others.map(|f| f.as_str()).collect()))
                }
                ParamSet::Names(_) if *name == "format" => (*name, formats()),
                _ => (*name, set.clone()),
            });
            return Requirement { op: op.op, params: params.collect() };
        }
        let dtypes = |d: &[KvDtype]| ParamSet::Names(d.iter().map(|d| d.as_str()).collect());
        let name = |name: &'static str| ParamSet::Names(vec![name]);
        let layout = |interleaved| name(if interleaved { "interleaved" } else { "halves" });
        let (op, params) = match &self.kind {
            OpKind::Embedding { vocab, dim, .. } => {
                // Formats with scales in tensors of their own are those of projections; no checkpoint has such an embedding.
                let apart = [StorageFormat::Fp8E4m3, StorageFormat::Nvfp4, StorageFormat::Mxfp4];
                let formats = accept.iter().filter(|f| !apart.contains(f)).map(|f| f.as_str()).collect();
                ("embedding", vec![("vocab", int(*vocab)), ("dim", int(*dim)), ("format", ParamSet::Names(formats))])
            }
            OpKind::RopeAngles { rotary_dim, .. } => ("rope_angles", vec![("rotary_dim", int(*rotary_dim))]),
            OpKind::Scale { dim, .. } => ("scale", vec![("dim", int(*dim))]),
            OpKind::RmsNorm { dim, .. } => ("rms_norm", vec![("dim", int(*dim))]),
            OpKind::RmsNormAdd { dim, .. } => ("rms_norm_add", vec![("dim", int(*dim))]),
            OpKind::HeadNorm { dim, head_dim, .. } => ("head_norm", vec![("dim", int(*dim)), ("head_dim", int(*head_dim))]),
            OpKind::Quantise { dim } => ("quantise", vec![("dim", int(*dim))]),
            OpKind::Linear { out, input, int8, .. } => {
                let params = vec![("out", int(*out)), ("in", int(*input)), ("format", formats())];
                (if *int8 { "linear_int8" } else { "linear" }, params)
            }
            OpKind::AddBias { dim, .. } => ("add_bias", vec![("dim", int(*dim))]),
            OpKind::Rope { dim, head_dim, rotary_dim, interleaved, tail, .. } => (
                if *tail { "rope_tail" } else { "rope" },
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
            OpKind::Attention { heads, kv_heads, head_dim, dtypes: d, window, soft_cap, sinks, .. } => {
                let mut params = vec![
                    ("num_key_value_heads", int(*kv_heads)),
                    ("group", int(heads / kv_heads)),
                    ("head_dim", int(*head_dim)),
                    ("kv_dtype", dtypes(d)),
                ];
                let op = match (soft_cap, sinks, window) {
                    (Some(_), _, _) => "softcap_attention",
                    (None, true, _) => "sink_attention",
                    (None, false, Some((window, _))) => {
                        params.push(("window", int(*window)));
                        "sliding_attention"
                    }
                    (None, false, None) => "attention",
                };
                (op, params)
            }
            OpKind::SigmoidMul { dim } => ("sigmoid_mul", vec![("dim", int(*dim))]),
            OpKind::LatentNorm { dim, rank, .. } => ("latent_norm", vec![("dim", int(*dim)), ("kv_lora_rank", int(*rank))]),
            OpKind::QueryScale { dim, .. } => ("query_scale", vec![("dim", int(*dim))]),
            OpKind::LatentAppend { rank, rope_dim, dtypes: d } => (
                "latent_append",
                vec![("kv_lora_rank", int(*rank)), ("qk_rope_head_dim", int(*rope_dim)), ("kv_dtype", dtypes(d))],
            ),
            OpKind::Mla { phase, form, heads, nope, rope_dim, v, rank, dtypes: d, .. } => (
                match phase {
                    Phase::Prefill => "mla_prefill",
                    Phase::Decode => "mla_decode",
                },
                vec![
                    ("num_attention_heads", int(*heads)),
                    ("qk_nope_head_dim", int(*nope)),
                    ("qk_rope_head_dim", int(*rope_dim)),
                    ("v_head_dim", int(*v)),
                    ("kv_lora_rank", int(*rank)),
                    // Of the projection that it reads.
                    ("format", formats()),
                    ("form", name(form.as_str())),
                    ("kv_dtype", dtypes(d)),
                ],
            ),
            OpKind::CausalConv { dim, kernel, bias } => {
                (if *bias { "causal_conv_bias" } else { "causal_conv" }, vec![("dim", int(*dim)), ("conv_kernel", int(*kernel))])
            }
            OpKind::Mamba2 { phase, heads, head_dim, state, groups, chunk, .. } => {
                let mut params =
                    vec![("heads", int(*heads)), ("head_dim", int(*head_dim)), ("state", int(*state)), ("groups", int(*groups))];
                let op = match phase {
                    Phase::Prefill => {
                        params.push(("chunk", int(*chunk)));
                        "mamba2_scan"
                    }
                    Phase::Decode => "mamba2_update",
                };
                (op, params)
            }
            OpKind::GatedGroupNorm { dim, groups, .. } => {
                ("gated_group_norm", vec![("dim", int(*dim)), ("groups", int(*groups))])
            }
            OpKind::Delta { phase, key_heads, key_dim, value_heads, value_dim } => (
                match phase {
                    Phase::Prefill => "delta_prefill",
                    Phase::Decode => "delta_decode",
                },
                vec![
                    ("key_heads", int(*key_heads)),
                    ("key_dim", int(*key_dim)),
                    ("value_heads", int(*value_heads)),
                    ("value_dim", int(*value_dim)),
                ],
            ),
            OpKind::GatedHeadNorm { dim, head_dim, .. } => {
                ("gated_head_norm", vec![("dim", int(*dim)), ("head_dim", int(*head_dim))])
            }
            OpKind::Act { act, dim } => (act.op(), vec![("dim", int(*dim))]),
            OpKind::ActMul { act, dim } => (act.mul_op(), vec![("dim", int(*dim))]),
            OpKind::Route { experts, top_k, biased, .. } => {
                (if *biased { "route_biased" } else { "route" }, vec![("experts", int(*experts)), ("top_k", int(*top_k))])
            }
            OpKind::Experts { experts, top_k, hidden, inner, act, gated, clamp, .. } => (
                match (gated, clamp) {
                    (true, Some(_)) => "clamped_experts",
                    (true, None) => "gated_experts",
                    (false, _) => "plain_experts",
                },
                vec![
                    ("experts", int(*experts)),
                    ("top_k", int(*top_k)),
                    ("dim", int(*hidden)),
                    ("intermediate_size", int(*inner)),
                    ("act", name(act.as_str())),
                    ("format", formats()),
                ],
            ),
            OpKind::SigmoidGateAdd { dim } => ("sigmoid_gate_add", vec![("dim", int(*dim))]),
            OpKind::Add { dim } => ("add", vec![("dim", int(*dim))]),
            OpKind::AddScaled { dim, .. } => ("add_scaled", vec![("dim", int(*dim))]),
            OpKind::GatherLogitRows { dim } => ("gather_logit_rows", vec![("dim", int(*dim))]),
            OpKind::SoftCap { dim, .. } => ("soft_cap", vec![("dim", int(*dim))]),
            OpKind::Device(_) => unreachable!("an op of a device says what it asks"),
        };
        Requirement { op, params }
    }
}

impl KvDtype {
    /// The spelling in specs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::Fp8E4m3 => "fp8_e4m3",
        }
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
            Self::Fp8E4m3 => 1,
        }
    }
}

impl MlaForm {
    /// The spelling in KERNEL.toml.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expanded => "expanded",
            Self::Absorbed => "absorbed",
        }
    }
}

impl Activation {
    /// The spelling in specs and in config.json.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Silu => "silu",
            Self::GeluTanh => "gelu_pytorch_tanh",
            Self::Gelu => "gelu",
            Self::Relu2 => "relu2",
        }
    }

    /// The op that applies it in place.
    const fn op(self) -> &'static str {
        match self {
            Self::Silu => "silu",
            Self::GeluTanh => "gelu_tanh",
            Self::Gelu => "gelu",
            Self::Relu2 => "relu2",
        }
    }

    /// The op that applies it to a gate and multiplies.
    const fn mul_op(self) -> &'static str {
        match self {
            Self::Silu => "silu_mul",
            Self::GeluTanh => "gelu_tanh_mul",
            Self::Gelu => "gelu_mul",
            Self::Relu2 => "relu2_mul",
        }
    }
}
