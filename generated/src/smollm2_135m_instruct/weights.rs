//! smollm2-135m-instruct: the tensors of its checkpoint, and the weights as they are kept.
//! Generated from model-specs/smollm2-135m-instruct; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::layers::layer_range;
use tenon_core::linear::{Embedding, Linear, Norm};
use tenon_core::weights::{
    Checkpoint, CheckpointKind, EmbeddingSpec, LinearSpec, LoadError, Loader, NormSpec,
    RowOrder, StorageFormat, TensorCheck,
};

use super::CONFIG;

/// Storage formats that a tensor may have.
pub const ACCEPT: &[StorageFormat] = &[
    StorageFormat::Q4_1,
    StorageFormat::Q8_0,
    StorageFormat::Q4_0,
    StorageFormat::Bf16,
    StorageFormat::F16,
    StorageFormat::F32,
];

/// Layers that are `block`.
pub const BLOCK_LAYERS: [usize; 30] = layer_range(0);

const EMBED_TOKENS: EmbeddingSpec<49152, 576> = EmbeddingSpec::new("token_embd.weight", ACCEPT);
const INPUT_LAYERNORM: NormSpec<576> = NormSpec::new("blk.{layer}.attn_norm.weight", ACCEPT);
const Q_PROJ: LinearSpec<576, 576> = LinearSpec::new("blk.{layer}.attn_q.weight", ACCEPT).rows(RowOrder::RopePairs { heads: 9, rotary_dim: 64 });
const K_PROJ: LinearSpec<192, 576> = LinearSpec::new("blk.{layer}.attn_k.weight", ACCEPT).rows(RowOrder::RopePairs { heads: 3, rotary_dim: 64 });
const V_PROJ: LinearSpec<192, 576> = LinearSpec::new("blk.{layer}.attn_v.weight", ACCEPT);
const O_PROJ: LinearSpec<576, 576> = LinearSpec::new("blk.{layer}.attn_output.weight", ACCEPT);
const POST_ATTENTION_LAYERNORM: NormSpec<576> = NormSpec::new("blk.{layer}.ffn_norm.weight", ACCEPT);
const GATE_PROJ: LinearSpec<1536, 576> = LinearSpec::new("blk.{layer}.ffn_gate.weight", ACCEPT);
const UP_PROJ: LinearSpec<1536, 576> = LinearSpec::new("blk.{layer}.ffn_up.weight", ACCEPT);
const DOWN_PROJ: LinearSpec<576, 1536> = LinearSpec::new("blk.{layer}.ffn_down.weight", ACCEPT);
const NORM: NormSpec<576> = NormSpec::new("output_norm.weight", ACCEPT);
const LM_HEAD: LinearSpec<49152, 576> = LinearSpec::new("token_embd.weight", ACCEPT);

/// Every tensor that the checkpoint must hold.
pub const TENSORS: [TensorCheck; 11] = [
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
];

/// Weights of one layer of kind `block`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Block {
    pub input_layernorm: Norm<576>,
    pub q_proj: Linear<576, 576>,
    pub k_proj: Linear<192, 576>,
    pub v_proj: Linear<192, 576>,
    pub o_proj: Linear<576, 576>,
    pub post_attention_layernorm: Norm<576>,
    pub gate_proj: Linear<1536, 576>,
    pub up_proj: Linear<1536, 576>,
    pub down_proj: Linear<576, 1536>,
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
    pub embed_tokens: Embedding<49152, 576>,
    pub block: Box<[Block; 30]>,
    pub norm: Norm<576>,
    pub lm_head: Linear<49152, 576>,
}

impl Weights {
    /// Compares the checkpoint with the spec, everything at once, then loads it.
    pub fn load(checkpoint: &Arc<Checkpoint>, cpu: &Cpu) -> Result<Self, LoadError> {
        checkpoint.require(CheckpointKind::Gguf)?;
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
