//! llama-3.1-8b on sm_90a: its weights, as they are kept there.
//! Generated from model-specs/llama-3.1-8b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Device, DeviceEmbedding, DeviceLinear, DeviceLoader, DeviceVector,
};
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError};

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
    pub input_layernorm: DeviceVector<4096>,
    pub q_proj: DeviceLinear<4096, 4096>,
    pub k_proj: DeviceLinear<1024, 4096>,
    pub v_proj: DeviceLinear<1024, 4096>,
    pub o_proj: DeviceLinear<4096, 4096>,
    pub post_attention_layernorm: DeviceVector<4096>,
    pub gate_proj: DeviceLinear<14336, 4096>,
    pub up_proj: DeviceLinear<14336, 4096>,
    pub down_proj: DeviceLinear<4096, 14336>,
}

impl Block {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
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

    fn matrix_elements(&self) -> usize {
        [
            self.q_proj.elements_to_dequantise(),
            self.k_proj.elements_to_dequantise(),
            self.v_proj.elements_to_dequantise(),
            self.o_proj.elements_to_dequantise(),
            self.gate_proj.elements_to_dequantise(),
            self.up_proj.elements_to_dequantise(),
            self.down_proj.elements_to_dequantise(),
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
    pub embed_tokens: DeviceEmbedding<128256, 4096>,
    pub norm: DeviceVector<4096>,
    pub lm_head: DeviceLinear<128256, 4096>,
    pub block: Box<[Block; 32]>,
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
