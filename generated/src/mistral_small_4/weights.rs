//! mistral-small-4: the tensors of its checkpoint, and the weights as they are kept.
//! Generated from model-specs/mistral-small-4; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::layers::layer_range;
use tenon_core::linear::{Embedding, LatentUp, Linear, Norm};
use tenon_core::moe::GatedExperts;
use tenon_core::weights::{
    Checkpoint, CheckpointKind, EmbeddingSpec, GatedExpertNames, GatedExpertsSpec,
    LatentUpSpec, LinearSpec, LoadError, Loader, NormSpec, StorageFormat, TensorCheck,
};

use super::CONFIG;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Fp8E4m3,
    StorageFormat::Bf16,
    StorageFormat::F32,
];

/// Layers that are `block`.
pub const BLOCK_LAYERS: [usize; 36] = layer_range(0);

const EMBED_TOKENS: EmbeddingSpec<131072, 4096> = EmbeddingSpec::new("language_model.model.embed_tokens.weight", ACCEPT);
const INPUT_LAYERNORM: NormSpec<4096> = NormSpec::new("language_model.model.layers.{layer}.input_layernorm.weight", ACCEPT);
const Q_A_PROJ: LinearSpec<1024, 4096> = LinearSpec::new("language_model.model.layers.{layer}.self_attn.q_a_proj.weight", ACCEPT);
const Q_A_LAYERNORM: NormSpec<1024> = NormSpec::new("language_model.model.layers.{layer}.self_attn.q_a_layernorm.weight", ACCEPT);
const Q_B_PROJ: LinearSpec<4096, 1024> = LinearSpec::new("language_model.model.layers.{layer}.self_attn.q_b_proj.weight", ACCEPT);
const KV_A_PROJ: LinearSpec<320, 4096> = LinearSpec::new("language_model.model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight", ACCEPT);
const KV_A_LAYERNORM: NormSpec<256> = NormSpec::new("language_model.model.layers.{layer}.self_attn.kv_a_layernorm.weight", ACCEPT);
const KV_B_PROJ: LatentUpSpec<32, 64, 128, 256> = LatentUpSpec::new("language_model.model.layers.{layer}.self_attn.kv_b_proj.weight", ACCEPT);
const O_PROJ: LinearSpec<4096, 4096> = LinearSpec::new("language_model.model.layers.{layer}.self_attn.o_proj.weight", ACCEPT);
const POST_ATTENTION_LAYERNORM: NormSpec<4096> = NormSpec::new("language_model.model.layers.{layer}.post_attention_layernorm.weight", ACCEPT);
const ROUTER: LinearSpec<128, 4096> = LinearSpec::new("language_model.model.layers.{layer}.mlp.gate.weight", ACCEPT);
const EXPERTS: GatedExpertsSpec<128, 4096, 2048> = GatedExpertsSpec::new(GatedExpertNames::Stacked { gate_up: "language_model.model.layers.{layer}.mlp.experts.gate_up_proj", down: "language_model.model.layers.{layer}.mlp.experts.down_proj" }, ACCEPT);
const SHARED_GATE_PROJ: LinearSpec<2048, 4096> = LinearSpec::new("language_model.model.layers.{layer}.mlp.shared_experts.gate_proj.weight", ACCEPT);
const SHARED_UP_PROJ: LinearSpec<2048, 4096> = LinearSpec::new("language_model.model.layers.{layer}.mlp.shared_experts.up_proj.weight", ACCEPT);
const SHARED_DOWN_PROJ: LinearSpec<4096, 2048> = LinearSpec::new("language_model.model.layers.{layer}.mlp.shared_experts.down_proj.weight", ACCEPT);
const NORM: NormSpec<4096> = NormSpec::new("language_model.model.norm.weight", ACCEPT);
const LM_HEAD: LinearSpec<131072, 4096> = LinearSpec::new("language_model.lm_head.weight", ACCEPT);

/// Every tensor that the checkpoint must hold.
pub const TENSORS: [TensorCheck; 19] = [
    EMBED_TOKENS.once(),
    INPUT_LAYERNORM.per_layer(&BLOCK_LAYERS),
    Q_A_PROJ.per_layer(&BLOCK_LAYERS),
    Q_A_LAYERNORM.per_layer(&BLOCK_LAYERS),
    Q_B_PROJ.per_layer(&BLOCK_LAYERS),
    KV_A_PROJ.per_layer(&BLOCK_LAYERS),
    KV_A_LAYERNORM.per_layer(&BLOCK_LAYERS),
    KV_B_PROJ.per_layer(&BLOCK_LAYERS),
    O_PROJ.per_layer(&BLOCK_LAYERS),
    POST_ATTENTION_LAYERNORM.per_layer(&BLOCK_LAYERS),
    ROUTER.per_layer(&BLOCK_LAYERS),
    EXPERTS.per_layer(&BLOCK_LAYERS),
    SHARED_GATE_PROJ.per_layer(&BLOCK_LAYERS),
    SHARED_UP_PROJ.per_layer(&BLOCK_LAYERS),
    SHARED_DOWN_PROJ.per_layer(&BLOCK_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
    TensorCheck::ignored("vision_tower.*", "the vision part is not compiled"),
    TensorCheck::ignored("multi_modal_projector.*", "the vision part is not compiled"),
];

/// Weights of one layer of kind `block`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Block {
    pub input_layernorm: Norm<4096>,
    pub q_a_proj: Linear<1024, 4096>,
    pub q_a_layernorm: Norm<1024>,
    pub q_b_proj: Linear<4096, 1024>,
    pub kv_a_proj: Linear<320, 4096>,
    pub kv_a_layernorm: Norm<256>,
    pub kv_b_proj: LatentUp<32, 64, 128, 256>,
    pub o_proj: Linear<4096, 4096>,
    pub post_attention_layernorm: Norm<4096>,
    pub router: Linear<128, 4096>,
    pub experts: GatedExperts<128, 4096, 2048>,
    pub shared_gate_proj: Linear<2048, 4096>,
    pub shared_up_proj: Linear<2048, 4096>,
    pub shared_down_proj: Linear<4096, 2048>,
}

impl Block {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&INPUT_LAYERNORM, layer)?,
            q_a_proj: from.linear(&Q_A_PROJ, layer)?,
            q_a_layernorm: from.norm(&Q_A_LAYERNORM, layer)?,
            q_b_proj: from.linear(&Q_B_PROJ, layer)?,
            kv_a_proj: from.linear(&KV_A_PROJ, layer)?,
            kv_a_layernorm: from.norm(&KV_A_LAYERNORM, layer)?,
            kv_b_proj: from.latent_up(&KV_B_PROJ, layer)?,
            o_proj: from.linear(&O_PROJ, layer)?,
            post_attention_layernorm: from.norm(&POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&ROUTER, layer)?,
            experts: from.gated_experts(&EXPERTS, layer)?,
            shared_gate_proj: from.linear(&SHARED_GATE_PROJ, layer)?,
            shared_up_proj: from.linear(&SHARED_UP_PROJ, layer)?,
            shared_down_proj: from.linear(&SHARED_DOWN_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_a_proj.bytes() + self.q_a_layernorm.bytes()
            + self.q_b_proj.bytes() + self.kv_a_proj.bytes()
            + self.kv_a_layernorm.bytes() + self.kv_b_proj.bytes() + self.o_proj.bytes()
            + self.post_attention_layernorm.bytes() + self.router.bytes()
            + self.experts.bytes() + self.shared_gate_proj.bytes()
            + self.shared_up_proj.bytes() + self.shared_down_proj.bytes()
    }
}

/// All weights.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Weights {
    pub embed_tokens: Embedding<131072, 4096>,
    pub block: Box<[Block; 36]>,
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
            block: from.layers(&BLOCK_LAYERS, Block::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
            + self.block.iter().map(Block::bytes).sum::<usize>()
    }
}
