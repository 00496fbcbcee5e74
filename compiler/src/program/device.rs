//! Ops of a device that launches kernels: which op of the templates each is, and what its arguments are, by their names.
//!
//! An op here is data, where those of the CPU are variants of [`OpKind`](super::OpKind): a kernel is called through its TEMPLATE.toml, which
//! lists its arguments by name, and an op has a value for every name.

use super::{Buf, Phase};
use crate::architecture::Role;
use crate::model::ParamSet;

/// One launch of a step, or one product of the matrix library.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceOp {
    /// The op that templates name.
    pub op: &'static str,
    /// What it asks of a template, the numbers that are passed at launch included.
    pub params: Vec<(&'static str, ParamSet)>,
    /// Its arguments, by the names that templates give them.
    pub operands: Vec<(&'static str, Operand)>,
    /// Parameters that are chosen with each launch, and the most that each can be.
    pub chosen: Vec<(&'static str, u64)>,
    /// Which part of the model it belongs to.
    pub part: Part,
    /// The weight that names it in a plan.
    pub weight: Option<Role>,
    /// The spans that it computes; `None` where it computes all.
    pub phase: Option<Phase>,
    /// With how many rows it runs.
    pub when: When,
    /// It changes what it writes, which must then hold something already.
    pub in_place: bool,
    /// What it reads and writes beside buffers of rows: caches, states, and what kernels hand on to each other.
    pub reads: Vec<String>,
    /// See `reads`.
    pub writes: Vec<String>,
    /// How generated code calls it.
    pub call: Call,
    /// What it computes, as a comment says it.
    pub shape: String,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A buffer of rows.
    Buf(Buf),
    /// A weight of the layer, or a part of it: `(KvBProj, "w_k")` is the field `w_k`.
    Weight(Role, &'static str),
    /// No memory: the model has no such weight.
    Nothing,
    /// The cache of the layer.
    Cache,
    /// A field of the recurrent state of the layer.
    State(&'static str),
    /// Memory that kernels work in, which no other op reads; a field of the scratch.
    Work(&'static str),
    /// A field of the scratch that belongs to a rotation, such as its cosines.
    Rotation(String, &'static str),
    /// A number, as generated code writes it.
    Value(String),
}

/// Which part of a model an op belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A mixer.
    Mixer,
    /// A feed-forward.
    Ffn,
    /// A rotation of this many elements.
    Rotation(usize),
    /// The model itself.
    Model,
}

/// With how many rows an op runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// With any number.
    Always,
    /// With at most [`FEW_ROWS`]: the weights are read once, at the speed of memory.
    Few,
    /// With more.
    Many,
}

/// Rows up to which products with weights are kernels of their own, and not products of the matrix library.
pub const FEW_ROWS: usize = 16;

/// In how many parts a kernel takes a context, at most.
pub const MOST_SPLITS: usize = 64;

/// How generated code calls an op.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// By a launch with its operands.
    Launch,
    /// As the matrix product of a weight and rows: `linear` for few rows, the matrix library for more.
    Linear(Store),
    /// As two products and an activation: `linear_gated` for few rows, else one after the other.
    Gated,
    /// For every pass over the spans and heads whose expanded keys and values find room, together with the next op.
    Expand(Phase),
    /// In the pass of the op before.
    InPass,
    /// By the call of an op before: it is one of the kernels that this one chooses among.
    Within,
}

/// What becomes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// It is written in the dtype of the buffer.
    Write,
    /// It is added to the f32 that stand there.
    Add,
}

/// The dtype of a buffer of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// 32-bit floats.
    F32,
    /// bfloat16.
    Bf16,
    /// 32-bit integers.
    I32,
    /// Blocks of 8-bit quants with their scales, on the CPU.
    Int8,
}

impl Dtype {
    /// The spelling in plans and templates.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::I32 => "i32",
            Self::Int8 => "int8",
        }
    }

    /// Bytes of a row.
    pub const fn row_bytes(self, width: usize) -> u64 {
        match self {
            Self::F32 | Self::I32 => 4 * width as u64,
            Self::Bf16 => 2 * width as u64,
            Self::Int8 => INT8_BLOCK_BYTES * width.div_ceil(INT8_BLOCK) as u64,
        }
    }
}

/// Elements of int8 that share a scale, as `tenon_core::linear::Int8Rows` has them.
const INT8_BLOCK: usize = 32;
/// Bytes of so many: the scale, the sum of the quants and those of both halves in f32, and the quants.
const INT8_BLOCK_BYTES: u64 = 48;

/// The dtype of a buffer on a device: bf16 is what products read and what attention works on; f32 is what is summed over many ops or
/// decides something.
pub fn device_dtype(buffer: &str) -> Dtype {
    match buffer {
        "x" | "last" | "logits" | "router" | "o" | "shared" | "shared_gate" | "a" | "b" | "dt" | "route_weights" => Dtype::F32,
        "route_ids" => Dtype::I32,
        _ => Dtype::Bf16,
    }
}

impl DeviceOp {
    /// An op that is launched with its operands, for any number of rows.
    pub fn new(op: &'static str, part: Part) -> Self {
        Self {
            op,
            params: Vec::new(),
            operands: Vec::new(),
            chosen: Vec::new(),
            part,
            weight: None,
            phase: None,
            when: When::Always,
            in_place: false,
            reads: Vec::new(),
            writes: Vec::new(),
            call: Call::Launch,
            shape: String::new(),
        }
    }

    /// With a parameter that is a number.
    #[must_use]
    pub fn number(mut self, name: &'static str, value: usize) -> Self {
        self.params.push((name, ParamSet::Int(value as u64)));
        self
    }

    /// With a parameter that is a name.
    #[must_use]
    pub fn name(self, name: &'static str, value: &'static str) -> Self {
        self.names(name, vec![value])
    }

    /// With a parameter that is one of several names, which are all covered.
    #[must_use]
    pub fn names(mut self, name: &'static str, values: Vec<&'static str>) -> Self {
        self.params.push((name, ParamSet::Names(values)));
        self
    }

    /// With an argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, operand: Operand) -> Self {
        self.operands.push((name, operand));
        self
    }

    /// With an argument that is a number of generated code.
    #[must_use]
    pub fn value(self, name: &'static str, value: impl Into<String>) -> Self {
        self.with(name, Operand::Value(value.into()))
    }

    /// With a parameter that is chosen with each launch, by an expression of generated code that is at most `most`.
    #[must_use]
    pub fn chosen(mut self, name: &'static str, value: impl Into<String>, most: usize) -> Self {
        self.chosen.push((name, most as u64));
        self.value(name, value)
    }

    /// With a weight that names it.
    #[must_use]
    pub fn weight(mut self, name: &'static str, role: Role) -> Self {
        self.weight = self.weight.or(Some(role));
        self.with(name, Operand::Weight(role, ""))
    }

    /// With a weight, or none.
    #[must_use]
    pub fn maybe(self, name: &'static str, role: Option<Role>) -> Self {
        self.with(name, role.map_or(Operand::Nothing, |role| Operand::Weight(role, "")))
    }

    /// In place.
    #[must_use]
    pub fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }

    /// Of the spans of one phase.
    #[must_use]
    pub fn of_phase(mut self, phase: Phase) -> Self {
        self.phase = Some(phase);
        self
    }

    /// With some numbers of rows.
    #[must_use]
    pub fn when(mut self, when: When) -> Self {
        self.when = when;
        self
    }

    /// Called otherwise than by a launch.
    #[must_use]
    pub fn called(mut self, call: Call) -> Self {
        self.call = call;
        self
    }

    /// Reading something that is no buffer of rows.
    #[must_use]
    pub fn reading(mut self, what: &[&str]) -> Self {
        self.reads.extend(what.iter().map(|what| (*what).to_owned()));
        self
    }

    /// Writing something that is no buffer of rows.
    #[must_use]
    pub fn writing(mut self, what: &[&str]) -> Self {
        self.writes.extend(what.iter().map(|what| (*what).to_owned()));
        self
    }

    /// With what a comment says of it.
    #[must_use]
    pub fn shape(mut self, shape: impl Into<String>) -> Self {
        self.shape = shape.into();
        self
    }

    /// The operand of an argument.
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        self.operands.iter().find(|(known, _)| *known == name).map(|(_, operand)| operand)
    }
}

/// Which part of a model an op with this weight belongs to.
pub const fn part_of_weight(weight: Role) -> Part {
    match weight {
        Role::PostAttentionLayernorm
        | Role::PreFeedforwardLayernorm
        | Role::PostFeedforwardLayernorm
        | Role::GateProj
        | Role::UpProj
        | Role::DownProj
        | Role::GateBias
        | Role::UpBias
        | Role::DownBias
        | Role::Router
        | Role::RouterBias
        | Role::CorrectionBias
        | Role::Experts
        | Role::SharedGateProj
        | Role::SharedUpProj
        | Role::SharedDownProj
        | Role::SharedExpertGate
        | Role::LatentIn
        | Role::LatentOut => Part::Ffn,
        Role::EmbedTokens | Role::Norm | Role::LmHead => Part::Model,
        _ => Part::Mixer,
    }
}
