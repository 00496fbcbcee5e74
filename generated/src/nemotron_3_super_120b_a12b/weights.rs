//! nemotron-3-super-120b-a12b: the tensors of its checkpoint, and the weights as they are kept.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::linear::{Bias, Conv, Decay, Embedding, Linear, Norm, Vector};
use tenon_core::moe::PlainExperts;
use tenon_core::weights::{
    BiasSpec, Checkpoint, CheckpointKind, ConvSpec, DecaySpec, EmbeddingSpec, LinearSpec,
    LoadError, Loader, NormSpec, PlainExpertNames, PlainExpertsSpec, RowOrder, Segment,
    StorageFormat, TensorCheck, VectorSpec,
};

use super::CONFIG;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Bf16,
    StorageFormat::F16,
    StorageFormat::F32,
];

/// Layers that are `mamba`.
pub const MAMBA_LAYERS: [usize; 40] = [
    0, 2, 4, 6, 9, 11, 13, 15, 18, 20, 22, 24, 27, 29, 31, 33, 35, 38, 40, 42, 44, 46,
    49, 51, 53, 55, 57, 60, 62, 64, 66, 68, 71, 73, 75, 77, 80, 82, 84, 86,
];
/// Layers that are `experts`.
pub const EXPERTS_LAYERS: [usize; 40] = [
    1, 3, 5, 8, 10, 12, 14, 17, 19, 21, 23, 26, 28, 30, 32, 34, 37, 39, 41, 43, 45, 48,
    50, 52, 54, 56, 59, 61, 63, 65, 67, 70, 72, 74, 76, 79, 81, 83, 85, 87,
];
/// Layers that are `block_attention`.
pub const BLOCK_ATTENTION_LAYERS: [usize; 8] = [7, 16, 25, 36, 47, 58, 69, 78];

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `mamba`
    Mamba,
    /// `experts`
    Experts,
    /// `block_attention`
    BlockAttention,
}
/// For each layer, what it is and its index among its kind.
pub const PATTERN: [(Kind, usize); 88] = [
    (Kind::Mamba, 0),
    (Kind::Experts, 0),
    (Kind::Mamba, 1),
    (Kind::Experts, 1),
    (Kind::Mamba, 2),
    (Kind::Experts, 2),
    (Kind::Mamba, 3),
    (Kind::BlockAttention, 0),
    (Kind::Experts, 3),
    (Kind::Mamba, 4),
    (Kind::Experts, 4),
    (Kind::Mamba, 5),
    (Kind::Experts, 5),
    (Kind::Mamba, 6),
    (Kind::Experts, 6),
    (Kind::Mamba, 7),
    (Kind::BlockAttention, 1),
    (Kind::Experts, 7),
    (Kind::Mamba, 8),
    (Kind::Experts, 8),
    (Kind::Mamba, 9),
    (Kind::Experts, 9),
    (Kind::Mamba, 10),
    (Kind::Experts, 10),
    (Kind::Mamba, 11),
    (Kind::BlockAttention, 2),
    (Kind::Experts, 11),
    (Kind::Mamba, 12),
    (Kind::Experts, 12),
    (Kind::Mamba, 13),
    (Kind::Experts, 13),
    (Kind::Mamba, 14),
    (Kind::Experts, 14),
    (Kind::Mamba, 15),
    (Kind::Experts, 15),
    (Kind::Mamba, 16),
    (Kind::BlockAttention, 3),
    (Kind::Experts, 16),
    (Kind::Mamba, 17),
    (Kind::Experts, 17),
    (Kind::Mamba, 18),
    (Kind::Experts, 18),
    (Kind::Mamba, 19),
    (Kind::Experts, 19),
    (Kind::Mamba, 20),
    (Kind::Experts, 20),
    (Kind::Mamba, 21),
    (Kind::BlockAttention, 4),
    (Kind::Experts, 21),
    (Kind::Mamba, 22),
    (Kind::Experts, 22),
    (Kind::Mamba, 23),
    (Kind::Experts, 23),
    (Kind::Mamba, 24),
    (Kind::Experts, 24),
    (Kind::Mamba, 25),
    (Kind::Experts, 25),
    (Kind::Mamba, 26),
    (Kind::BlockAttention, 5),
    (Kind::Experts, 26),
    (Kind::Mamba, 27),
    (Kind::Experts, 27),
    (Kind::Mamba, 28),
    (Kind::Experts, 28),
    (Kind::Mamba, 29),
    (Kind::Experts, 29),
    (Kind::Mamba, 30),
    (Kind::Experts, 30),
    (Kind::Mamba, 31),
    (Kind::BlockAttention, 6),
    (Kind::Experts, 31),
    (Kind::Mamba, 32),
    (Kind::Experts, 32),
    (Kind::Mamba, 33),
    (Kind::Experts, 33),
    (Kind::Mamba, 34),
    (Kind::Experts, 34),
    (Kind::Mamba, 35),
    (Kind::BlockAttention, 7),
    (Kind::Experts, 35),
    (Kind::Mamba, 36),
    (Kind::Experts, 36),
    (Kind::Mamba, 37),
    (Kind::Experts, 37),
    (Kind::Mamba, 38),
    (Kind::Experts, 38),
    (Kind::Mamba, 39),
    (Kind::Experts, 39),
];

const EMBED_TOKENS: EmbeddingSpec<131072, 4096> = EmbeddingSpec::new("backbone.embeddings.weight", ACCEPT);
const MAMBA_NORM: NormSpec<4096> = NormSpec::new("backbone.layers.{layer}.norm.weight", ACCEPT);
const MAMBA_IN_PROJ_Z: LinearSpec<8192, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.in_proj.weight", ACCEPT).rows(RowOrder::Parts(&[ Segment { groups: 1, group_rows: 18560, first: 0, rows: 8192 }, ]));
const MAMBA_IN_PROJ_XBC: LinearSpec<10240, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.in_proj.weight", ACCEPT).rows(RowOrder::Parts(&[ Segment { groups: 1, group_rows: 18560, first: 8192, rows: 10240 }, ]));
const MAMBA_IN_PROJ_DT: LinearSpec<128, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.in_proj.weight", ACCEPT).rows(RowOrder::Parts(&[ Segment { groups: 1, group_rows: 18560, first: 18432, rows: 128 }, ]));
const MAMBA_CONV1D: ConvSpec<10240, 4> = ConvSpec::new("backbone.layers.{layer}.mixer.conv1d.weight", ACCEPT);
const MAMBA_CONV1D_BIAS: BiasSpec<10240> = BiasSpec::new("backbone.layers.{layer}.mixer.conv1d.bias", ACCEPT);
const MAMBA_A_LOG: DecaySpec<128> = DecaySpec::new("backbone.layers.{layer}.mixer.A_log", ACCEPT);
const MAMBA_D: VectorSpec<128> = VectorSpec::new("backbone.layers.{layer}.mixer.D", ACCEPT);
const MAMBA_DT_BIAS: VectorSpec<128> = VectorSpec::new("backbone.layers.{layer}.mixer.dt_bias", ACCEPT);
const MAMBA_GATED_NORM: NormSpec<8192> = NormSpec::new("backbone.layers.{layer}.mixer.norm.weight", ACCEPT);
const MAMBA_OUT_PROJ: LinearSpec<4096, 8192> = LinearSpec::new("backbone.layers.{layer}.mixer.out_proj.weight", ACCEPT);
const EXPERTS_NORM: NormSpec<4096> = NormSpec::new("backbone.layers.{layer}.norm.weight", ACCEPT);
const EXPERTS_ROUTER: LinearSpec<512, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.gate.weight", ACCEPT);
const EXPERTS_E_SCORE_CORRECTION_BIAS: VectorSpec<512> = VectorSpec::new("backbone.layers.{layer}.mixer.gate.e_score_correction_bias", ACCEPT);
const EXPERTS_FC1_LATENT_PROJ: LinearSpec<1024, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.fc1_latent_proj.weight", ACCEPT);
const EXPERTS_FC2_LATENT_PROJ: LinearSpec<4096, 1024> = LinearSpec::new("backbone.layers.{layer}.mixer.fc2_latent_proj.weight", ACCEPT);
const EXPERTS_EXPERTS: PlainExpertsSpec<512, 1024, 2688> = PlainExpertsSpec::new(PlainExpertNames::Each { up: "backbone.layers.{layer}.mixer.experts.{expert}.up_proj.weight", down: "backbone.layers.{layer}.mixer.experts.{expert}.down_proj.weight" }, ACCEPT);
const EXPERTS_SHARED_UP_PROJ: LinearSpec<5376, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.shared_experts.up_proj.weight", ACCEPT);
const EXPERTS_SHARED_DOWN_PROJ: LinearSpec<4096, 5376> = LinearSpec::new("backbone.layers.{layer}.mixer.shared_experts.down_proj.weight", ACCEPT);
const BLOCK_ATTENTION_NORM: NormSpec<4096> = NormSpec::new("backbone.layers.{layer}.norm.weight", ACCEPT);
const BLOCK_ATTENTION_Q_PROJ: LinearSpec<4096, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.q_proj.weight", ACCEPT);
const BLOCK_ATTENTION_K_PROJ: LinearSpec<256, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.k_proj.weight", ACCEPT);
const BLOCK_ATTENTION_V_PROJ: LinearSpec<256, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.v_proj.weight", ACCEPT);
const BLOCK_ATTENTION_O_PROJ: LinearSpec<4096, 4096> = LinearSpec::new("backbone.layers.{layer}.mixer.o_proj.weight", ACCEPT);
const NORM: NormSpec<4096> = NormSpec::new("backbone.norm_f.weight", ACCEPT);
const LM_HEAD: LinearSpec<131072, 4096> = LinearSpec::new("lm_head.weight", ACCEPT);

/// Every tensor that the checkpoint must hold.
pub const TENSORS: [TensorCheck; 28] = [
    EMBED_TOKENS.once(),
    MAMBA_NORM.per_layer(&MAMBA_LAYERS),
    MAMBA_IN_PROJ_Z.per_layer(&MAMBA_LAYERS),
    MAMBA_IN_PROJ_XBC.per_layer(&MAMBA_LAYERS),
    MAMBA_IN_PROJ_DT.per_layer(&MAMBA_LAYERS),
    MAMBA_CONV1D.per_layer(&MAMBA_LAYERS),
    MAMBA_CONV1D_BIAS.per_layer(&MAMBA_LAYERS),
    MAMBA_A_LOG.per_layer(&MAMBA_LAYERS),
    MAMBA_D.per_layer(&MAMBA_LAYERS),
    MAMBA_DT_BIAS.per_layer(&MAMBA_LAYERS),
    MAMBA_GATED_NORM.per_layer(&MAMBA_LAYERS),
    MAMBA_OUT_PROJ.per_layer(&MAMBA_LAYERS),
    EXPERTS_NORM.per_layer(&EXPERTS_LAYERS),
    EXPERTS_ROUTER.per_layer(&EXPERTS_LAYERS),
    EXPERTS_E_SCORE_CORRECTION_BIAS.per_layer(&EXPERTS_LAYERS),
    EXPERTS_FC1_LATENT_PROJ.per_layer(&EXPERTS_LAYERS),
    EXPERTS_FC2_LATENT_PROJ.per_layer(&EXPERTS_LAYERS),
    EXPERTS_EXPERTS.per_layer(&EXPERTS_LAYERS),
    EXPERTS_SHARED_UP_PROJ.per_layer(&EXPERTS_LAYERS),
    EXPERTS_SHARED_DOWN_PROJ.per_layer(&EXPERTS_LAYERS),
    BLOCK_ATTENTION_NORM.per_layer(&BLOCK_ATTENTION_LAYERS),
    BLOCK_ATTENTION_Q_PROJ.per_layer(&BLOCK_ATTENTION_LAYERS),
    BLOCK_ATTENTION_K_PROJ.per_layer(&BLOCK_ATTENTION_LAYERS),
    BLOCK_ATTENTION_V_PROJ.per_layer(&BLOCK_ATTENTION_LAYERS),
    BLOCK_ATTENTION_O_PROJ.per_layer(&BLOCK_ATTENTION_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
    TensorCheck::ignored("mtp.*", "speculation heads are not used"),
];

/// Weights of one layer of kind `mamba`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Mamba {
    pub norm: Norm<4096>,
    pub in_proj_z: Linear<8192, 4096>,
    pub in_proj_xbc: Linear<10240, 4096>,
    pub in_proj_dt: Linear<128, 4096>,
    pub conv1d: Conv<10240, 4>,
    pub conv1d_bias: Bias<10240>,
    pub a_log: Decay<128>,
    pub d: Vector<128>,
    pub dt_bias: Vector<128>,
    pub gated_norm: Norm<8192>,
    pub out_proj: Linear<4096, 8192>,
}

impl Mamba {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            norm: from.norm(&MAMBA_NORM, layer)?,
            in_proj_z: from.linear(&MAMBA_IN_PROJ_Z, layer)?,
            in_proj_xbc: from.linear(&MAMBA_IN_PROJ_XBC, layer)?,
            in_proj_dt: from.linear(&MAMBA_IN_PROJ_DT, layer)?,
            conv1d: from.conv(&MAMBA_CONV1D, layer)?,
            conv1d_bias: from.bias(&MAMBA_CONV1D_BIAS, layer)?,
            a_log: from.decay(&MAMBA_A_LOG, layer)?,
            d: from.vector(&MAMBA_D, layer)?,
            dt_bias: from.vector(&MAMBA_DT_BIAS, layer)?,
            gated_norm: from.norm(&MAMBA_GATED_NORM, layer)?,
            out_proj: from.linear(&MAMBA_OUT_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.norm.bytes() + self.in_proj_z.bytes() + self.in_proj_xbc.bytes()
            + self.in_proj_dt.bytes() + self.conv1d.bytes() + self.conv1d_bias.bytes()
            + self.a_log.bytes() + self.d.bytes() + self.dt_bias.bytes()
            + self.gated_norm.bytes() + self.out_proj.bytes()
    }
}

/// Weights of one layer of kind `experts`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Experts {
    pub norm: Norm<4096>,
    pub router: Linear<512, 4096>,
    pub e_score_correction_bias: Vector<512>,
    pub fc1_latent_proj: Linear<1024, 4096>,
    pub fc2_latent_proj: Linear<4096, 1024>,
    pub experts: PlainExperts<512, 1024, 2688>,
    pub shared_up_proj: Linear<5376, 4096>,
    pub shared_down_proj: Linear<4096, 5376>,
}

impl Experts {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            norm: from.norm(&EXPERTS_NORM, layer)?,
            router: from.linear(&EXPERTS_ROUTER, layer)?,
            e_score_correction_bias: from
                .vector(&EXPERTS_E_SCORE_CORRECTION_BIAS, layer)?,
            fc1_latent_proj: from.linear(&EXPERTS_FC1_LATENT_PROJ, layer)?,
            fc2_latent_proj: from.linear(&EXPERTS_FC2_LATENT_PROJ, layer)?,
            experts: from.plain_experts(&EXPERTS_EXPERTS, layer)?,
            shared_up_proj: from.linear(&EXPERTS_SHARED_UP_PROJ, layer)?,
            shared_down_proj: from.linear(&EXPERTS_SHARED_DOWN_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.norm.bytes() + self.router.bytes() + self.e_score_correction_bias.bytes()
            + self.fc1_latent_proj.bytes() + self.fc2_latent_proj.bytes()
            + self.experts.bytes() + self.shared_up_proj.bytes()
            + self.shared_down_proj.bytes()
    }
}

/// Weights of one layer of kind `attention`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct BlockAttention {
    pub norm: Norm<4096>,
    pub q_proj: Linear<4096, 4096>,
    pub k_proj: Linear<256, 4096>,
    pub v_proj: Linear<256, 4096>,
    pub o_proj: Linear<4096, 4096>,
}

impl BlockAttention {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            norm: from.norm(&BLOCK_ATTENTION_NORM, layer)?,
            q_proj: from.linear(&BLOCK_ATTENTION_Q_PROJ, layer)?,
            k_proj: from.linear(&BLOCK_ATTENTION_K_PROJ, layer)?,
            v_proj: from.linear(&BLOCK_ATTENTION_V_PROJ, layer)?,
            o_proj: from.linear(&BLOCK_ATTENTION_O_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.norm.bytes() + self.q_proj.bytes() + self.k_proj.bytes()
            + self.v_proj.bytes() + self.o_proj.bytes()
    }
}

/// All weights.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Weights {
    pub embed_tokens: Embedding<131072, 4096>,
    pub mamba: Box<[Mamba; 40]>,
    pub experts: Box<[Experts; 40]>,
    pub block_attention: Box<[BlockAttention; 8]>,
    pub norm: Norm<4096>,
    pub lm_head: Linear<131072, 4096>,
}

impl Weights {
    /// Compares the checkpoint with the spec, everything at once, then loads it.
    pub fn load(checkpoint: &Arc<Checkpoint>, cpu: &Cpu) -> Result<Self, LoadError> {
        checkpoint.require(CheckpointKind::Hf)?;
        let from = Loader::new(checkpoint, cpu, &TENSORS, &CONFIG)?;
        Ok(Self {
            embed_tokens: from.embedding(&EMBED_TOKENS)?,
            mamba: from.layers(&MAMBA_LAYERS, Mamba::load)?,
            experts: from.layers(&EXPERTS_LAYERS, Experts::load)?,
            block_attention: from.layers(&BLOCK_ATTENTION_LAYERS, BlockAttention::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
            + self.mamba.iter().map(Mamba::bytes).sum::<usize>()
            + self.experts.iter().map(Experts::bytes).sum::<usize>()
            + self.block_attention.iter().map(BlockAttention::bytes).sum::<usize>()
    }
}
