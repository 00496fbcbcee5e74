//! bard-mla on sm_90a: its weights, as they are kept there.
//! Generated from model-specs/bard-mla; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Device, DeviceEmbedding, DeviceExperts, DeviceLatentUp, DeviceLinear, DeviceLoader,
    DeviceVector,
};
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError};

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
    pub input_layernorm: DeviceVector<192>,
    pub q_a_proj: DeviceLinear<96, 192>,
    pub q_a_layernorm: DeviceVector<96>,
    pub q_b_proj: DeviceLinear<256, 96>,
    pub kv_a_proj: DeviceLinear<96, 192>,
    pub kv_a_layernorm: DeviceVector<64>,
    pub kv_b_proj: DeviceLatentUp<4, 32, 32, 64>,
    pub o_proj: DeviceLinear<192, 128>,
    pub post_attention_layernorm: DeviceVector<192>,
    pub router: DeviceLinear<4, 192>,
    pub experts: DeviceExperts<4, 192, 96>,
    pub shared_gate_proj: DeviceLinear<96, 192>,
    pub shared_up_proj: DeviceLinear<96, 192>,
    pub shared_down_proj: DeviceLinear<192, 96>,
}

impl Block {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
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

    fn matrix_elements(&self) -> usize {
        [
            self.q_a_proj.elements_to_dequantise(),
            self.q_b_proj.elements_to_dequantise(),
            self.kv_a_proj.elements_to_dequantise(),
            self.o_proj.elements_to_dequantise(),
            self.router.elements_to_dequantise(),
            self.shared_gate_proj.elements_to_dequantise(),
            self.shared_up_proj.elements_to_dequantise(),
            self.shared_down_proj.elements_to_dequantise(),
        ]
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}

/// All weights.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Weights {
    pub embed_tokens: DeviceEmbedding<1024, 192>,
    pub norm: DeviceVector<192>,
    pub lm_head: DeviceLinear<1024, 192>,
    pub block: Box<[Block; 6]>,
}

impl Weights {
    /// Compares the checkpoint with the spec, everything at once, then loads it onto the device.
    pub fn load(
        checkpoint: &Arc<Checkpoint>,
        cpu: &Cpu,
        device: &Arc<Device>,
    ) -> Result<Self, LoadError> {
        checkpoint.require(CheckpointKind::Hf)?;
        let from = DeviceLoader::new(checkpoint, cpu, device, &TENSORS, &CONFIG)?;
        let embed_tokens = from.embedding(&EMBED_TOKENS)?;
        Ok(Self {
            block: from.layers(&BLOCK_LAYERS, Block::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
            embed_tokens,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
            + self.block.iter().map(Block::bytes).sum::<usize>()
    }

    /// Elements of the largest weight that a product of many rows needs as bf16 and that is stored otherwise.
    pub fn matrix_elements(&self) -> usize {
        [
            self.lm_head.elements_to_dequantise(),
            self.block.iter().map(Block::matrix_elements).max().unwrap_or(0),
        ]
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}
