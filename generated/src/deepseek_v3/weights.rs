//! deepseek-v3: the tensors of its checkpoint, and the weights as they are kept.
//! Generated from model-specs/deepseek-v3; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::layers::layer_range;
use tenon_core::linear::{Embedding, LatentUp, Linear, Norm, Vector};
use tenon_core::moe::GatedExperts;
use tenon_core::weights::{
    Checkpoint, CheckpointKind, EmbeddingSpec, GatedExpertNames, GatedExpertsSpec,
    LatentUpSpec, LinearSpec, LoadError, Loader, NormSpec, StorageFormat, TensorCheck,
    VectorSpec,
};

use super::CONFIG;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Fp8E4m3,
    StorageFormat::Bf16,
    StorageFormat::F32,
];

/// Layers that are `dense`.
pub const DENSE_LAYERS: [usize; 3] = layer_range(0);
/// Layers that are `sparse`.
pub const SPARSE_LAYERS: [usize; 58] = layer_range(3);

const EMBED_TOKENS: EmbeddingSpec<129280, 7168> = EmbeddingSpec::new("model.embed_tokens.weight", ACCEPT);
const DENSE_INPUT_LAYERNORM: NormSpec<7168> = NormSpec::new("model.layers.{layer}.input_layernorm.weight", ACCEPT);
const DENSE_Q_A_PROJ: LinearSpec<1536, 7168> = LinearSpec::new("model.layers.{layer}.self_attn.q_a_proj.weight", ACCEPT);
const DENSE_Q_A_LAYERNORM: NormSpec<1536> = NormSpec::new("model.layers.{layer}.self_attn.q_a_layernorm.weight", ACCEPT);
const DENSE_Q_B_PROJ: LinearSpec<24576, 1536> = LinearSpec::new("model.layers.{layer}.self_attn.q_b_proj.weight", ACCEPT);
const DENSE_KV_A_PROJ: LinearSpec<576, 7168> = LinearSpec::new("model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight", ACCEPT);
const DENSE_KV_A_LAYERNORM: NormSpec<512> = NormSpec::new("model.layers.{layer}.self_attn.kv_a_layernorm.weight", ACCEPT);
const DENSE_KV_B_PROJ: LatentUpSpec<128, 128, 128, 512> = LatentUpSpec::new("model.layers.{layer}.self_attn.kv_b_proj.weight", ACCEPT);
const DENSE_O_PROJ: LinearSpec<7168, 16384> = LinearSpec::new("model.layers.{layer}.self_attn.o_proj.weight", ACCEPT);
const DENSE_POST_ATTENTION_LAYERNORM: NormSpec<7168> = NormSpec::new("model.layers.{layer}.post_attention_layernorm.weight", ACCEPT);
const DENSE_GATE_PROJ: LinearSpec<18432, 7168> = LinearSpec::new("model.layers.{layer}.mlp.gate_proj.weight", ACCEPT);
const DENSE_UP_PROJ: LinearSpec<18432, 7168> = LinearSpec::new("model.layers.{layer}.mlp.up_proj.weight", ACCEPT);
const DENSE_DOWN_PROJ: LinearSpec<7168, 18432> = LinearSpec::new("model.layers.{layer}.mlp.down_proj.weight", ACCEPT);
const SPARSE_INPUT_LAYERNORM: NormSpec<7168> = NormSpec::new("model.layers.{layer}.input_layernorm.weight", ACCEPT);
const SPARSE_Q_A_PROJ: LinearSpec<1536, 7168> = LinearSpec::new("model.layers.{layer}.self_attn.q_a_proj.weight", ACCEPT);
const SPARSE_Q_A_LAYERNORM: NormSpec<1536> = NormSpec::new("model.layers.{layer}.self_attn.q_a_layernorm.weight", ACCEPT);
const SPARSE_Q_B_PROJ: LinearSpec<24576, 1536> = LinearSpec::new("model.layers.{layer}.self_attn.q_b_proj.weight", ACCEPT);
const SPARSE_KV_A_PROJ: LinearSpec<576, 7168> = LinearSpec::new("model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight", ACCEPT);
const SPARSE_KV_A_LAYERNORM: NormSpec<512> = NormSpec::new("model.layers.{layer}.self_attn.kv_a_layernorm.weight", ACCEPT);
const SPARSE_KV_B_PROJ: LatentUpSpec<128, 128, 128, 512> = LatentUpSpec::new("model.layers.{layer}.self_attn.kv_b_proj.weight", ACCEPT);
const SPARSE_O_PROJ: LinearSpec<7168, 16384> = LinearSpec::new("model.layers.{layer}.self_attn.o_proj.weight", ACCEPT);
const SPARSE_POST_ATTENTION_LAYERNORM: NormSpec<7168> = NormSpec::new("model.layers.{layer}.post_attention_layernorm.weight", ACCEPT);
const SPARSE_ROUTER: LinearSpec<256, 7168> = LinearSpec::new("model.layers.{layer}.mlp.gate.weight", ACCEPT);
const SPARSE_E_SCORE_CORRECTION_BIAS: VectorSpec<256> = VectorSpec::new("model.layers.{layer}.mlp.gate.e_score_correction_bias", ACCEPT);
const SPARSE_EXPERTS: GatedExpertsSpec<256, 7168, 2048> = GatedExpertsSpec::new(GatedExpertNames::Each { gate: "model.layers.{layer}.mlp.experts.{expert}.gate_proj.weight", up: "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight", down: "model.layers.{layer}.mlp.experts.{expert}.down_proj.weight" }, ACCEPT);
const SPARSE_SHARED_GATE_PROJ: LinearSpec<2048, 7168> = LinearSpec::new("model.layers.{layer}.mlp.shared_experts.gate_proj.weight", ACCEPT);
const SPARSE_SHARED_UP_PROJ: LinearSpec<2048, 7168> = LinearSpec::new("model.layers.{layer}.mlp.shared_experts.up_proj.weight", ACCEPT);
const SPARSE_SHARED_DOWN_PROJ: LinearSpec<7168, 2048> = LinearSpec::new("model.layers.{layer}.mlp.shared_experts.down_proj.weight", ACCEPT);
const NORM: NormSpec<7168> = NormSpec::new("model.norm.weight", ACCEPT);
const LM_HEAD: LinearSpec<129280, 7168> = LinearSpec::new("lm_head.weight", ACCEPT);

/// Every tensor that the checkpoint must hold.
pub const TENSORS: [TensorCheck; 31] = [
    EMBED_TOKENS.once(),
    DENSE_INPUT_LAYERNORM.per_layer(&DENSE_LAYERS),
    DENSE_Q_A_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_Q_A_LAYERNORM.per_layer(&DENSE_LAYERS),
    DENSE_Q_B_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_KV_A_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_KV_A_LAYERNORM.per_layer(&DENSE_LAYERS),
    DENSE_KV_B_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_O_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_POST_ATTENTION_LAYERNORM.per_layer(&DENSE_LAYERS),
    DENSE_GATE_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_UP_PROJ.per_layer(&DENSE_LAYERS),
    DENSE_DOWN_PROJ.per_layer(&DENSE_LAYERS),
    SPARSE_INPUT_LAYERNORM.per_layer(&SPARSE_LAYERS),
    SPARSE_Q_A_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_Q_A_LAYERNORM.per_layer(&SPARSE_LAYERS),
    SPARSE_Q_B_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_KV_A_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_KV_A_LAYERNORM.per_layer(&SPARSE_LAYERS),
    SPARSE_KV_B_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_O_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_POST_ATTENTION_LAYERNORM.per_layer(&SPARSE_LAYERS),
    SPARSE_ROUTER.per_layer(&SPARSE_LAYERS),
    SPARSE_E_SCORE_CORRECTION_BIAS.per_layer(&SPARSE_LAYERS),
    SPARSE_EXPERTS.per_layer(&SPARSE_LAYERS),
    SPARSE_SHARED_GATE_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_SHARED_UP_PROJ.per_layer(&SPARSE_LAYERS),
    SPARSE_SHARED_DOWN_PROJ.per_layer(&SPARSE_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
    TensorCheck::ignored("model.layers.61.*", "speculation heads are not used"),
];

/// Weights of one layer of kind `dense`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Dense {
    pub input_layernorm: Norm<7168>,
    pub q_a_proj: Linear<1536, 7168>,
    pub q_a_layernorm: Norm<1536>,
    pub q_b_proj: Linear<24576, 1536>,
    pub kv_a_proj: Linear<576, 7168>,
    pub kv_a_layernorm: Norm<512>,
    pub kv_b_proj: LatentUp<128, 128, 128, 512>,
    pub o_proj: Linear<7168, 16384>,
    pub post_attention_layernorm: Norm<7168>,
    pub gate_proj: Linear<18432, 7168>,
    pub up_proj: Linear<18432, 7168>,
    pub down_proj: Linear<7168, 18432>,
}

impl Dense {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&DENSE_INPUT_LAYERNORM, layer)?,
            q_a_proj: from.linear(&DENSE_Q_A_PROJ, layer)?,
            q_a_layernorm: from.norm(&DENSE_Q_A_LAYERNORM, layer)?,
            q_b_proj: from.linear(&DENSE_Q_B_PROJ, layer)?,
            kv_a_proj: from.linear(&DENSE_KV_A_PROJ, layer)?,
            kv_a_layernorm: from.norm(&DENSE_KV_A_LAYERNORM, layer)?,
            kv_b_proj: from.latent_up(&DENSE_KV_B_PROJ, layer)?,
            o_proj: from.linear(&DENSE_O_PROJ, layer)?,
            post_attention_layernorm: from.norm(&DENSE_POST_ATTENTION_LAYERNORM, layer)?,
            gate_proj: from.linear(&DENSE_GATE_PROJ, layer)?,
            up_proj: from.linear(&DENSE_UP_PROJ, layer)?,
            down_proj: from.linear(&DENSE_DOWN_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_a_proj.bytes() + self.q_a_layernorm.bytes()
            + self.q_b_proj.bytes() + self.kv_a_proj.bytes()
            + self.kv_a_layernorm.bytes() + self.kv_b_proj.bytes() + self.o_proj.bytes()
            + self.post_attention_layernorm.bytes() + self.gate_proj.bytes()
            + self.up_proj.bytes() + self.down_proj.bytes()
    }
}

/// Weights of one layer of kind `sparse`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Sparse {
    pub input_layernorm: Norm<7168>,
    pub q_a_proj: Linear<1536, 7168>,
    pub q_a_layernorm: Norm<1536>,
    pub q_b_proj: Linear<24576, 1536>,
    pub kv_a_proj: Linear<576, 7168>,
    pub kv_a_layernorm: Norm<512>,
    pub kv_b_proj: LatentUp<128, 128, 128, 512>,
    pub o_proj: Linear<7168, 16384>,
    pub post_attention_layernorm: Norm<7168>,
    pub router: Linear<256, 7168>,
    pub e_score_correction_bias: Vector<256>,
    pub experts: GatedExperts<256, 7168, 2048>,
    pub shared_gate_proj: Linear<2048, 7168>,
    pub shared_up_proj: Linear<2048, 7168>,
    pub shared_down_proj: Linear<7168, 2048>,
}

impl Sparse {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&SPARSE_INPUT_LAYERNORM, layer)?,
            q_a_proj: from.linear(&SPARSE_Q_A_PROJ, layer)?,
            q_a_layernorm: from.norm(&SPARSE_Q_A_LAYERNORM, layer)?,
            q_b_proj: from.linear(&SPARSE_Q_B_PROJ, layer)?,
            kv_a_proj: from.linear(&SPARSE_KV_A_PROJ, layer)?,
            kv_a_layernorm: from.norm(&SPARSE_KV_A_LAYERNORM, layer)?,
            kv_b_proj: from.latent_up(&SPARSE_KV_B_PROJ, layer)?,
            o_proj: from.linear(&SPARSE_O_PROJ, layer)?,
            post_attention_layernorm: from
                .norm(&SPARSE_POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&SPARSE_ROUTER, layer)?,
            e_score_correction_bias: from
                .vector(&SPARSE_E_SCORE_CORRECTION_BIAS, layer)?,
            experts: from.gated_experts(&SPARSE_EXPERTS, layer)?,
            shared_gate_proj: from.linear(&SPARSE_SHARED_GATE_PROJ, layer)?,
            shared_up_proj: from.linear(&SPARSE_SHARED_UP_PROJ, layer)?,
            shared_down_proj: from.linear(&SPARSE_SHARED_DOWN_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_a_proj.bytes() + self.q_a_layernorm.bytes()
            + self.q_b_proj.bytes() + self.kv_a_proj.bytes()
            + self.kv_a_layernorm.bytes() + self.kv_b_proj.bytes() + self.o_proj.bytes()
            + self.post_attention_layernorm.bytes() + self.router.bytes()
            + self.e_score_correction_bias.bytes() + self.experts.bytes()
            + self.shared_gate_proj.bytes() + self.shared_up_proj.bytes()
            + self.shared_down_proj.bytes()
    }
}

/// All weights.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Weights {
    pub embed_tokens: Embedding<129280, 7168>,
    pub dense: Box<[Dense; 3]>,
    pub sparse: Box<[Sparse; 58]>,
    pub norm: Norm<7168>,
    pub lm_head: Linear<129280, 7168>,
}

impl Weights {
    /// Compares the checkpoint with the spec, everything at once, then loads it.
    pub fn load(checkpoint: &Arc<Checkpoint>, cpu: &Cpu) -> Result<Self, LoadError> {
        checkpoint.require(CheckpointKind::Hf)?;
        let from = Loader::new(checkpoint, cpu, &TENSORS, &CONFIG)?;
        Ok(Self {
            embed_tokens: from.embedding(&EMBED_TOKENS)?,
            dense: from.layers(&DENSE_LAYERS, Dense::load)?,
            sparse: from.layers(&SPARSE_LAYERS, Sparse::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
            + self.dense.iter().map(Dense::bytes).sum::<usize>()
            + self.sparse.iter().map(Sparse::bytes).sum::<usize>()
    }
}
