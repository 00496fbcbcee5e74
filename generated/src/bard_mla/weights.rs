//! bard-mla: its weights, as they are kept.
//! Generated from model-specs/bard-mla; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::linear::{Embedding, LatentUp, Linear, Norm};
use tenon_core::moe::GatedExperts;
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError, Loader};

use super::CONFIG;
use super::layers::BLOCK_LAYERS;
use super::tensors::{
    EMBED_TOKENS, EXPERTS, INPUT_LAYERNORM, KV_A_LAYERNORM, KV_A_PROJ, KV_B_PROJ,
    LM_HEAD, NORM, O_PROJ, POST_ATTENTION_LAYERNORM, Q_A_LAYERNORM, Q_A_PROJ, Q_B_PROJ,
    ROUTER, SHARED_DOWN_PROJ, SHARED_GATE_PROJ, SHARED_UP_PROJ, TENSORS,
};

/// Weights of one layer of kind `block`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Block {
    pub input_layernorm: Norm<192>,
    pub q_a_proj: Linear<96, 192>,
    pub q_a_layernorm: Norm<96>,
    pub q_b_proj: Linear<256, 96>,
    pub kv_a_proj: Linear<96, 192>,
    pub kv_a_layernorm: Norm<64>,
    pub kv_b_proj: LatentUp<4, 32, 32, 64>,
    pub o_proj: Linear<192, 128>,
    pub post_attention_layernorm: Norm<192>,
    pub router: Linear<4, 192>,
    pub experts: GatedExperts<4, 192, 96>,
    pub shared_gate_proj: Linear<96, 192>,
    pub shared_up_proj: Linear<96, 192>,
    pub shared_down_proj: Linear<192, 96>,
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
    pub embed_tokens: Embedding<1024, 192>,
    pub block: Box<[Block; 6]>,
    pub norm: Norm<192>,
    pub lm_head: Linear<1024, 192>,
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
