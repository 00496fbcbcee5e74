//! llama-3.1-8b: the tensors of its checkpoint, and the weights as they are kept.
//! Generated from model-specs/llama-3.1-8b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::layers::layer_range;
use tenon_core::linear::{Embedding, Linear, Norm};
use tenon_core::weights::{
    Checkpoint, CheckpointKind, EmbeddingSpec, LinearSpec, LoadError, Loader, NormSpec,
    StorageFormat, TensorCheck,
};

use super::CONFIG;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Bf16,
    StorageFormat::F16,
    StorageFormat::F32,
];

/// Layers that are `block`.
pub const BLOCK_LAYERS: [usize; 32] = layer_range(0);

const EMBED_TOKENS: EmbeddingSpec<128256, 4096> = EmbeddingSpec::new("model.embed_tokens.weight", ACCEPT);
const INPUT_LAYERNORM: NormSpec<4096> = NormSpec::new("model.layers.{layer}.input_layernorm.weight", ACCEPT);
const Q_PROJ: LinearSpec<4096, 4096> = LinearSpec::new("model.layers.{layer}.self_attn.q_proj.weight", ACCEPT);
const K_PROJ: LinearSpec<1024, 4096> = LinearSpec::new("model.layers.{layer}.self_attn.k_proj.weight", ACCEPT);
const V_PROJ: LinearSpec<1024, 4096> = LinearSpec::new("model.layers.{layer}.self_attn.v_proj.weight", ACCEPT);
const O_PROJ: LinearSpec<4096, 4096> = LinearSpec::new("model.layers.{layer}.self_attn.o_proj.weight", ACCEPT);
const POST_ATTENTION_LAYERNORM: NormSpec<4096> = NormSpec::new("model.layers.{layer}.post_attention_layernorm.weight", ACCEPT);
const GATE_PROJ: LinearSpec<14336, 4096> = LinearSpec::new("model.layers.{layer}.mlp.gate_proj.weight", ACCEPT);
const UP_PROJ: LinearSpec<14336, 4096> = LinearSpec::new("model.layers.{layer}.mlp.up_proj.weight", ACCEPT);
const DOWN_PROJ: LinearSpec<4096, 14336> = LinearSpec::new("model.layers.{layer}.mlp.down_proj.weight", ACCEPT);
const NORM: NormSpec<4096> = NormSpec::new("model.norm.weight", ACCEPT);
const LM_HEAD: LinearSpec<128256, 4096> = LinearSpec::new("lm_head.weight", ACCEPT);

/// Every tensor that the checkpoint must hold.
pub const TENSORS: [TensorCheck; 12] = [
    EMBED_TOKENS.once(),
    INPUT_LAYERNORM.per_layer(&BLOCK_LAYERS),
    Q_PROJ.per_layer(&BLOCK_LAYERS),
    K_PROJ.per_layer(&BLOCK_LAYERS),
    V_PROJ.per_layer(&BLOCK_LAYERS),
    O_PROJ.per_layer(&BLOCK_LAYERS),
    POST_ATTENTION_LAYERNORM.per_layer(&BLOCK_LAYERS),
    GATE_PROJ.per_layer(&BLOCK_LAYERS),
    UP_PROJ.per_layer(&BLOCK_LAYERS),
    DOWN_PROJ.per_layer(&BLOCK_LAYERS),
    NORM.once(),
    LM_HEAD.once(),
];

/// Weights of one layer of kind `block`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Block {
    pub input_layernorm: Norm<4096>,
    pub q_proj: Linear<4096, 4096>,
    pub k_proj: Linear<1024, 4096>,
    pub v_proj: Linear<1024, 4096>,
    pub o_proj: Linear<4096, 4096>,
    pub post_attention_layernorm: Norm<4096>,
    pub gate_proj: Linear<14336, 4096>,
    pub up_proj: Linear<14336, 4096>,
    pub down_proj: Linear<4096, 14336>,
}

impl Block {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&Q_PROJ, layer)?,
            k_proj: from.linear(&K_PROJ, layer)?,
            v_proj: from.linear(&V_PROJ, layer)?,
            o_proj: from.linear(&O_PROJ, layer)?,
            post_attention_layernorm: from.norm(&POST_ATTENTION_LAYERNORM, layer)?,
            gate_proj: from.linear(&GATE_PROJ, layer)?,
            up_proj: from.linear(&UP_PROJ, layer)?,
            down_proj: from.linear(&DOWN_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.k_proj.bytes()
            + self.v_proj.bytes() + self.o_proj.bytes()
            + self.post_attention_layernorm.bytes() + self.gate_proj.bytes()
            + self.up_proj.bytes() + self.down_proj.bytes()
    }
}

/// All weights.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Weights {
    pub embed_tokens: Embedding<128256, 4096>,
    pub block: Box<[Block; 32]>,
    pub norm: Norm<4096>,
    pub lm_head: Linear<128256, 4096>,
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
