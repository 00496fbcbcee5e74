//! qwen3-0.6b: its weights, as they are kept.
//! Generated from model-specs/qwen3-0.6b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::linear::{Embedding, Linear, Norm};
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError, Loader};

use super::CONFIG;
use super::layers::BLOCK_LAYERS;
use super::tensors::{
    DOWN_PROJ, EMBED_TOKENS, GATE_PROJ, INPUT_LAYERNORM, K_NORM, K_PROJ, LM_HEAD, NORM,
    O_PROJ, POST_ATTENTION_LAYERNORM, Q_NORM, Q_PROJ, TENSORS, UP_PROJ, V_PROJ,
};

/// Weights of one layer of kind `block`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Block {
    pub input_layernorm: Norm<1024>,
    pub q_proj: Linear<2048, 1024>,
    pub k_proj: Linear<1024, 1024>,
    pub v_proj: Linear<1024, 1024>,
    pub q_norm: Norm<128>,
    pub k_norm: Norm<128>,
    pub o_proj: Linear<1024, 2048>,
    pub post_attention_layernorm: Norm<1024>,
    pub gate_proj: Linear<3072, 1024>,
    pub up_proj: Linear<3072, 1024>,
    pub down_proj: Linear<1024, 3072>,
}

impl Block {
    fn load(from: &Loader, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&Q_PROJ, layer)?,
            k_proj: from.linear(&K_PROJ, layer)?,
            v_proj: from.linear(&V_PROJ, layer)?,
            q_norm: from.norm(&Q_NORM, layer)?,
            k_norm: from.norm(&K_NORM, layer)?,
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
            + self.v_proj.bytes() + self.q_norm.bytes() + self.k_norm.bytes()
            + self.o_proj.bytes() + self.post_attention_layernorm.bytes()
            + self.gate_proj.bytes() + self.up_proj.bytes() + self.down_proj.bytes()
    }
}

/// All weights.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Weights {
    pub embed_tokens: Embedding<151936, 1024>,
    pub block: Box<[Block; 28]>,
    pub norm: Norm<1024>,
    pub lm_head: Linear<151936, 1024>,
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
