//! llama-3.1-8b: its weights, as they are kept.
//! Generated from model-specs/llama-3.1-8b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::linear::{Embedding, Linear, Norm};
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError, Loader};

use super::CONFIG;
use super::layers::BLOCK_LAYERS;
use super::tensors::{
    DOWN_PROJ, EMBED_TOKENS, GATE_PROJ, INPUT_LAYERNORM, K_PROJ, LM_HEAD, NORM, O_PROJ,
    POST_ATTENTION_LAYERNORM, Q_PROJ, TENSORS, UP_PROJ, V_PROJ,
};

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
