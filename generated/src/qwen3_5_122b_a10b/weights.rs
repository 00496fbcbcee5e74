//! qwen3.5-122b-a10b: the tensors of its checkpoint, and the weights as they are kept.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::linear::{Conv, Decay, Embedding, Linear, Norm, Vector};
use tenon_core::moe::GatedExperts;
use tenon_core::weights::{
    Checkpoint, CheckpointKind, ConvSpec, DecaySpec, EmbeddingSpec, GatedExpertNames,
    GatedExpertsSpec, LinearSpec, LoadError, Loader, NormSpec, RowOrder, Segment,
    StorageFormat, TensorCheck, VectorSpec,
};

use super::CONFIG;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Bf16,
    StorageFormat::F16,
    StorageFormat::F32,
];

/// Layers that are `block_linear`.
pub const BLOCK_LINEAR_LAYERS: [usize; 36] = [
    0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29,
    30, 32, 33, 34, 36, 37, 38, 40, 41, 42, 44, 45, 46,
];
/// Layers that are `full`.
pub const FULL_LAYERS: [usize; 12] = [3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47];

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `block_linear`
    BlockLinear,
    /// `full`
    Full,
}
/// For each layer, what it is and its index among its kind.
pub const PATTERN: [(Kind, usize); 48] = [
    (Kind::BlockLinear, 0),
    (Kind::BlockLinear, 1),
    (Kind::BlockLinear, 2),
    (Kind::Full, 0),
    (Kind::BlockLinear, 3),
    (Kind::BlockLinear, 4),
    (Kind::BlockLinear, 5),
    (Kind::Full, 1),
    (Kind::BlockLinear, 6),
    (Kind::BlockLinear, 7),
    (Kind::BlockLinear, 8),
    (Kind::Full, 2),
    (Kind::BlockLinear, 9),
    (Kind::BlockLinear, 10),
    (Kind::BlockLinear, 11),
    (Kind::Full, 3),
    (Kind::BlockLinear, 12),
    (Kind::BlockLinear, 13),
    (Kind::BlockLinear, 14),
    (Kind::Full, 4),
    (Kind::BlockLinear, 15),
    (Kind::BlockLinear, 16),
    (Kind::BlockLinear, 17),
    (Kind::Full, 5),
    (Kind::BlockLinear, 18),
    (Kind::BlockLinear, 19),
    (Kind::BlockLinear, 20),
    (Kind::Full, 6),
    (Kind::BlockLinear, 21),
    (Kind::BlockLinear, 22),
    (Kind::BlockLinear, 23),
    (Kind::Full, 7),
    (Kind::BlockLinear, 24),
    (Kind::BlockLinear, 25),
    (Kind::BlockLinear, 26),
    (Kind::Full, 8),
    (Kind::BlockLinear, 27),
    (Kind::BlockLinear, 28),
    (Kind::BlockLinear, 29),
    (Kind::Full, 9),
    (Kind::BlockLinear, 30),
    (Kind::BlockLinear, 31),
    (Kind::BlockLinear, 32),
    (Kind::Full, 10),
    (Kind::BlockLinear, 33),
    (Kind::BlockLinear, 34),
    (Kind::BlockLinear, 35),
    (Kind::Full, 11),
];

const EMBED_TOKENS: EmbeddingSpec<248320, 3072> = EmbeddingSpec::new("model.language_model.embed_tokens.weight", ACCEPT);
const BLOCK_LINEAR_INPUT_LAYERNORM: NormSpec<3072> = NormSpec::new("model.language_model.layers.{layer}.input_layernorm.weight", ACCEPT).plus_one();
const BLOCK_LINEAR_IN_PROJ_QKV: LinearSpec<12288, 3072> = LinearSpec::new("model.language_model.layers.{layer}.linear_attn.in_proj_qkv.weight", ACCEPT);
const BLOCK_LINEAR_IN_PROJ_Z: LinearSpec<8192, 3072> = LinearSpec::new("model.language_model.layers.{layer}.linear_attn.in_proj_z.weight", ACCEPT);
const BLOCK_LINEAR_IN_PROJ_B: LinearSpec<64, 3072> = LinearSpec::new("model.language_model.layers.{layer}.linear_attn.in_proj_b.weight", ACCEPT);
const BLOCK_LINEAR_IN_PROJ_A: LinearSpec<64, 3072> = LinearSpec::new("model.language_model.layers.{layer}.linear_attn.in_proj_a.weight", ACCEPT);
const BLOCK_LINEAR_CONV1D: ConvSpec<12288, 4> = ConvSpec::new("model.language_model.layers.{layer}.linear_attn.conv1d.weight", ACCEPT);
const BLOCK_LINEAR_A_LOG: DecaySpec<64> = DecaySpec::new("model.language_model.layers.{layer}.linear_attn.A_log", ACCEPT);
const BLOCK_LINEAR_DT_BIAS: VectorSpec<64> = VectorSpec::new("model.language_model.layers.{layer}.linear_attn.dt_bias", ACCEPT);
const BLOCK_LINEAR_GATED_NORM: NormSpec<128> = NormSpec::new("model.language_model.layers.{layer}.linear_attn.norm.weight", ACCEPT);
const BLOCK_LINEAR_OUT_PROJ: LinearSpec<3072, 8192> = LinearSpec::new("model.language_model.layers.{layer}.linear_attn.out_proj.weight", ACCEPT);
const BLOCK_LINEAR_POST_ATTENTION_LAYERNORM: NormSpec<3072> = NormSpec::new("model.language_model.layers.{layer}.post_attention_layernorm.weight", ACCEPT).plus_one();
const BLOCK_LINEAR_ROUTER: LinearSpec<256, 3072> = LinearSpec::new("model.language_model.layers.{layer}.mlp.gate.weight", ACCEPT);
const BLOCK_LINEAR_EXPERTS: GatedExpertsSpec<256, 3072, 1024> = GatedExpertsSpec::new(GatedExpertNames::Stacked { gate_up: "model.language_model.layers.{layer}.mlp.experts.gate_up_proj", down: "model.language_model.layers.{layer}.mlp.experts.down_proj" }, ACCEPT);
const BLOCK_LINEAR_SHARED_GATE_PROJ: LinearSpec<1024, 3072> = LinearSpec::new("model.language_model.layers.{layer}.mlp.shared_expert.gate_proj.weight", ACCEPT);
const BLOCK_LINEAR_SHARED_UP_PROJ: LinearSpec<1024, 3072> = LinearSpec::new("model.language_model.layers.{layer}.mlp.shared_expert.up_proj.weight", ACCEPT);
const BLOCK_LINEAR_SHARED_DOWN_PROJ: LinearSpec<3072, 1024> = LinearSpec::new("model.language_model.layers.{layer}.mlp.shared_expert.down_proj.weight", ACCEPT);
const BLOCK_LINEAR_SHARED_EXPERT_GATE: LinearSpec<1, 3072> = LinearSpec::new("model.language_model.layers.{layer}.mlp.shared_expert_gate.weight", ACCEPT);
const FULL_INPUT_LAYERNORM: NormSpec<3072> = NormSpec::new("model.language_model.layers.{layer}.input_layernorm.weight", ACCEPT).plus_one();
const FULL_Q_PROJ: LinearSpec<8192, 3072> = LinearSpec::new("model.language_model.layers.{layer}.self_attn.q_proj.weight", ACCEPT).rows(RowOrder::Parts(&[ Segment { groups: 32, group_rows: 512, first: 0, rows: 256 }, ]));
const FULL_Q_GATE: LinearSpec<8192, 3072> = LinearSpec::new("model.language_model.layers.{layer}.self_attn.q_proj.weight", ACCEPT).rows(RowOrder::Parts(&[ Segment { groups: 32, group_rows: 512, first: 256, rows: 256 }, ]));
const FULL_K_PROJ: LinearSpec<512, 3072> = LinearSpec::new("model.language_model.layers.{layer}.self_attn.k_proj.weight", ACCEPT);
const FULL_V_PROJ: LinearSpec<512, 3072> = LinearSpec::new("model.language_model.layers.{layer}.self_attn.v_proj.weight", ACCEPT);
const FULL_Q_NORM: NormSpec<256> = NormSpec::new("model.language_model.layers.{layer}.self_attn.q_norm.weight", ACCEPT).plus_one();
const FULL_K_NORM: NormSpec<256> = NormSpec::new("model.language_model.layers.{layer}.self_attn.k_norm.weight", ACCEPT).plus_one();
const FULL_O_PROJ: LinearSpec<3072, 8192> = LinearSpec::new("model.language_model.layers.{layer}.self_attn.o_proj.weight", ACCEPT);
const FULL_POST_ATTENTION_LAYERNORM: NormSpec<3072> = NormSpec::new("model.language_model.layers.{layer}.post_attention_layernorm.weight", ACCEPT).plus_one();
const FULL_ROUTER: LinearSpec<256, 3072> = LinearSpec::new("model.language_model.layers.{layer}.mlp.gate.weight", ACCEPT);
const FULL_EXPERTS: GatedExpertsSpec<256, 3072, 1024> = GatedExpertsSpec::new(GatedExpertNames::Stacked { gate_up: "model.language_model.layers.{layer}.mlp.experts.gate_up_proj", down: "model.language_model.layers.{layer}.mlp.experts.down_proj" }, ACCEPT);
const FULL_SHARED_GATE_PROJ: LinearSpec<1024, 3072> = LinearSpec::new("model.language_model.layers.{layer}.mlp.shared_expert.gate_proj.weight", ACCEPT);
const FULL_SHARED_UP_PROJ: LinearSpec<1024, 3072> = LinearSpec::new("model.language_model.layers.{layer}.mlp.shared_expert.up_proj.weight", ACCEPT);
const FULL_SHARED_DOWN_PROJ: LinearSpec<3072, 1024> = LinearSpec::new("model.language_model.layers.{layer}.mlp.shared_expert.down_proj.weight", ACCEPT);
const FULL_SHARED_EXPERT_GATE: LinearSpec<1, 3072> = LinearSpec::new("model.language_model.layers.{layer}.mlp.shared_expert_gate.weight", ACCEPT);
const NORM: NormSpec<3072> = NormSpec::new("model.language_model.norm.weight", ACCEPT).plus_one();
const LM_HEAD: LinearSpec<248320, 3072> = LinearSpec::new("model.language_lm_head.weight", ACCEPT);

/// Every tensor that the checkpoint must hold.
pub const TENSORS: [TensorCheck; 37] = [
    EMBED_TOKENS.once(),
    BLOCK_LINEAR_INPUT_LAYERNORM.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_IN_PROJ_QKV.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_IN_PROJ_Z.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_IN_PROJ_B.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_IN_PROJ_A.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_CONV1D.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_A_LOG.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_DT_BIAS.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_GATED_NORM.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_OUT_PROJ.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_POST_ATTENTION_LAYERNORM.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_ROUTER.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_EXPERTS.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_SHARED_GATE_PROJ.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_SHARED_UP_PROJ.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_SHARED_DOWN_PROJ.per_layer(&BLOCK_LINEAR_LAYERS),
    BLOCK_LINEAR_SHARED_EXPERT_GATE.per_layer(&BLOCK_LINEAR_LAYERS),
    FULL_INPUT_LAYERNORM.per_layer(&FULL_LAYERS),
    FULL_Q_PROJ.per_layer(&FULL_LAYERS),
    FULL_Q_GATE.per_layer(&FULL_LAYERS),
    FULL_K_PROJ.per_layer(&FULL_LAYERS),
    FULL_V_PROJ.per_layer(&FULL_LAYERS),
    FULL_Q_NORM.per_layer(&FULL_LAYERS),
    FULL_K_NORM.per_layer(&FULL_LAYERS),
    FULL_O_PROJ.per_layer(&FULL_LAYERS),
    FULL_POST_ATTENTION_LAYERNORM.per_layer(&FULL_LAYERS),
    FULL_ROUTER.per_layer(&FULL_LAYERS),
    FULL_EXPERTS.per_layer(&FULL_LAYERS),
    FULL_SHARED_GATE_PROJ.per_layer(&FULL_LAYERS),
    FULL_SHARED_UP_PROJ.per_layer(&FULL_LAYERS),
    FULL_SHARED_DOWN_PROJ.per_layer(&FULL_LAYERS),
    FULL_SHARED_EXPERT_GATE.per_layer(&FULL_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
    TensorCheck::ignored("model.visual.*", "the vision part is not compiled"),
    TensorCheck::ignored("mtp.*", "speculation heads are not used"),
];

/// Weights of one layer of kind `linear`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct BlockLinear {
    pub input_layernorm: Norm<3072>,
    pub in_proj_qkv: Linear<12288, 3072>,
    pub in_proj_z: Linear<8192, 3072>,
    pub in_proj_b: Linear<64, 3072>,
    pub in_proj_a: Linear<64, 3072>,
    pub conv1d: Conv<12288, 4>,
    pub a_log: Decay<64>,
    pub dt_bias: Vector<64>,
    pub gated_norm: Norm<128>,
    pub out_proj: Linear<3072, 8192>,
    pub post_attention_layernorm: Norm<3072>,
    pub router: Linear<256, 3072>,
    pub experts: GatedExperts<256, 3072, 1024>,
    pub shared_gate_proj: Linear<1024, 3072>,
    pub shared_up_proj: Linear<1024, 3072>,
    pub shared_down_proj: Linear<3072, 1024>,
    pub shared_expert_gate: Linear<1, 3072>,
}

impl BlockLinear {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&BLOCK_LINEAR_INPUT_LAYERNORM, layer)?,
            in_proj_qkv: from.linear(&BLOCK_LINEAR_IN_PROJ_QKV, layer)?,
            in_proj_z: from.linear(&BLOCK_LINEAR_IN_PROJ_Z, layer)?,
            in_proj_b: from.linear(&BLOCK_LINEAR_IN_PROJ_B, layer)?,
            in_proj_a: from.linear(&BLOCK_LINEAR_IN_PROJ_A, layer)?,
            conv1d: from.conv(&BLOCK_LINEAR_CONV1D, layer)?,
            a_log: from.decay(&BLOCK_LINEAR_A_LOG, layer)?,
            dt_bias: from.vector(&BLOCK_LINEAR_DT_BIAS, layer)?,
            gated_norm: from.norm(&BLOCK_LINEAR_GATED_NORM, layer)?,
            out_proj: from.linear(&BLOCK_LINEAR_OUT_PROJ, layer)?,
            post_attention_layernorm: from
                .norm(&BLOCK_LINEAR_POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&BLOCK_LINEAR_ROUTER, layer)?,
            experts: from.gated_experts(&BLOCK_LINEAR_EXPERTS, layer)?,
            shared_gate_proj: from.linear(&BLOCK_LINEAR_SHARED_GATE_PROJ, layer)?,
            shared_up_proj: from.linear(&BLOCK_LINEAR_SHARED_UP_PROJ, layer)?,
            shared_down_proj: from.linear(&BLOCK_LINEAR_SHARED_DOWN_PROJ, layer)?,
            shared_expert_gate: from.linear(&BLOCK_LINEAR_SHARED_EXPERT_GATE, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.in_proj_qkv.bytes() + self.in_proj_z.bytes()
            + self.in_proj_b.bytes() + self.in_proj_a.bytes() + self.conv1d.bytes()
            + self.a_log.bytes() + self.dt_bias.bytes() + self.gated_norm.bytes()
            + self.out_proj.bytes() + self.post_attention_layernorm.bytes()
            + self.router.bytes() + self.experts.bytes() + self.shared_gate_proj.bytes()
            + self.shared_up_proj.bytes() + self.shared_down_proj.bytes()
            + self.shared_expert_gate.bytes()
    }
}

/// Weights of one layer of kind `full`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Full {
    pub input_layernorm: Norm<3072>,
    pub q_proj: Linear<8192, 3072>,
    pub q_gate: Linear<8192, 3072>,
    pub k_proj: Linear<512, 3072>,
    pub v_proj: Linear<512, 3072>,
    pub q_norm: Norm<256>,
    pub k_norm: Norm<256>,
    pub o_proj: Linear<3072, 8192>,
    pub post_attention_layernorm: Norm<3072>,
    pub router: Linear<256, 3072>,
    pub experts: GatedExperts<256, 3072, 1024>,
    pub shared_gate_proj: Linear<1024, 3072>,
    pub shared_up_proj: Linear<1024, 3072>,
    pub shared_down_proj: Linear<3072, 1024>,
    pub shared_expert_gate: Linear<1, 3072>,
}

impl Full {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&FULL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&FULL_Q_PROJ, layer)?,
            q_gate: from.linear(&FULL_Q_GATE, layer)?,
            k_proj: from.linear(&FULL_K_PROJ, layer)?,
            v_proj: from.linear(&FULL_V_PROJ, layer)?,
            q_norm: from.norm(&FULL_Q_NORM, layer)?,
            k_norm: from.norm(&FULL_K_NORM, layer)?,
            o_proj: from.linear(&FULL_O_PROJ, layer)?,
            post_attention_layernorm: from.norm(&FULL_POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&FULL_ROUTER, layer)?,
            experts: from.gated_experts(&FULL_EXPERTS, layer)?,
            shared_gate_proj: from.linear(&FULL_SHARED_GATE_PROJ, layer)?,
            shared_up_proj: from.linear(&FULL_SHARED_UP_PROJ, layer)?,
            shared_down_proj: from.linear(&FULL_SHARED_DOWN_PROJ, layer)?,
            shared_expert_gate: from.linear(&FULL_SHARED_EXPERT_GATE, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.q_gate.bytes()
            + self.k_proj.bytes() + self.v_proj.bytes() + self.q_norm.bytes()
            + self.k_norm.bytes() + self.o_proj.bytes()
            + self.post_attention_layernorm.bytes() + self.router.bytes()
            + self.experts.bytes() + self.shared_gate_proj.bytes()
            + self.shared_up_proj.bytes() + self.shared_down_proj.bytes()
            + self.shared_expert_gate.bytes()
    }
}

/// All weights.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Weights {
    pub embed_tokens: Embedding<248320, 3072>,
    pub block_linear: Box<[BlockLinear; 36]>,
    pub full: Box<[Full; 12]>,
    pub norm: Norm<3072>,
    pub lm_head: Linear<248320, 3072>,
}

impl Weights {
    /// Compares the checkpoint with the spec, everything at once, then loads it.
    pub fn load(checkpoint: &Arc<Checkpoint>, cpu: &Cpu) -> Result<Self, LoadError> {
        checkpoint.require(CheckpointKind::Hf)?;
        let from = Loader::new(checkpoint, cpu, &TENSORS, &CONFIG)?;
        Ok(Self {
            embed_tokens: from.embedding(&EMBED_TOKENS)?,
            block_linear: from.layers(&BLOCK_LINEAR_LAYERS, BlockLinear::load)?,
            full: from.layers(&FULL_LAYERS, Full::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
            + self.block_linear.iter().map(BlockLinear::bytes).sum::<usize>()
            + self.full.iter().map(Full::bytes).sum::<usize>()
    }
}
