//! gemma-3-270m on sm_90a: its weights, as they are kept there.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Device, DeviceEmbedding, DeviceLinear, DeviceLoader, DeviceVector,
};
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError};

use super::CONFIG;
use super::layers::{FULL_LAYERS, LOCAL_LAYERS};
use super::tensors::{
    EMBED_TOKENS, FULL_DOWN_PROJ, FULL_GATE_PROJ, FULL_INPUT_LAYERNORM, FULL_K_NORM,
    FULL_K_PROJ, FULL_O_PROJ, FULL_POST_ATTENTION_LAYERNORM,
    FULL_POST_FEEDFORWARD_LAYERNORM, FULL_PRE_FEEDFORWARD_LAYERNORM, FULL_Q_NORM,
    FULL_Q_PROJ, FULL_UP_PROJ, FULL_V_PROJ, LOCAL_DOWN_PROJ, LOCAL_GATE_PROJ,
    LOCAL_INPUT_LAYERNORM, LOCAL_K_NORM, LOCAL_K_PROJ, LOCAL_O_PROJ,
    LOCAL_POST_ATTENTION_LAYERNORM, LOCAL_POST_FEEDFORWARD_LAYERNORM,
    LOCAL_PRE_FEEDFORWARD_LAYERNORM, LOCAL_Q_NORM, LOCAL_Q_PROJ, LOCAL_UP_PROJ,
    LOCAL_V_PROJ, NORM, TENSORS,
};

/// Weights of one layer of kind `local`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Local {
    pub input_layernorm: DeviceVector<640>,
    pub q_proj: DeviceLinear<1024, 640>,
    pub k_proj: DeviceLinear<256, 640>,
    pub v_proj: DeviceLinear<256, 640>,
    pub q_norm: DeviceVector<256>,
    pub k_norm: DeviceVector<256>,
    pub o_proj: DeviceLinear<640, 1024>,
    pub post_attention_layernorm: DeviceVector<640>,
    pub pre_feedforward_layernorm: DeviceVector<640>,
    pub gate_proj: DeviceLinear<2048, 640>,
    pub up_proj: DeviceLinear<2048, 640>,
    pub down_proj: DeviceLinear<640, 2048>,
    pub post_feedforward_layernorm: DeviceVector<640>,
}

impl Local {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&LOCAL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&LOCAL_Q_PROJ, layer)?,
            k_proj: from.linear(&LOCAL_K_PROJ, layer)?,
            v_proj: from.linear(&LOCAL_V_PROJ, layer)?,
            q_norm: from.norm(&LOCAL_Q_NORM, layer)?,
            k_norm: from.norm(&LOCAL_K_NORM, layer)?,
            o_proj: from.linear(&LOCAL_O_PROJ, layer)?,
            post_attention_layernorm: from.norm(&LOCAL_POST_ATTENTION_LAYERNORM, layer)?,
            pre_feedforward_layernorm: from
                .norm(&LOCAL_PRE_FEEDFORWARD_LAYERNORM, layer)?,
            gate_proj: from.linear(&LOCAL_GATE_PROJ, layer)?,
            up_proj: from.linear(&LOCAL_UP_PROJ, layer)?,
            down_proj: from.linear(&LOCAL_DOWN_PROJ, layer)?,
            post_feedforward_layernorm: from
                .norm(&LOCAL_POST_FEEDFORWARD_LAYERNORM, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.k_proj.bytes()
            + self.v_proj.bytes() + self.q_norm.bytes() + self.k_norm.bytes()
            + self.o_proj.bytes() + self.post_attention_layernorm.bytes()
            + self.pre_feedforward_layernorm.bytes() + self.gate_proj.bytes()
            + self.up_proj.bytes() + self.down_proj.bytes()
            + self.post_feedforward_layernorm.bytes()
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

/// Weights of one layer of kind `full`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Full {
    pub input_layernorm: DeviceVector<640>,
    pub q_proj: DeviceLinear<1024, 640>,
    pub k_proj: DeviceLinear<256, 640>,
    pub v_proj: DeviceLinear<256, 640>,
    pub q_norm: DeviceVector<256>,
    pub k_norm: DeviceVector<256>,
    pub o_proj: DeviceLinear<640, 1024>,
    pub post_attention_layernorm: DeviceVector<640>,
    pub pre_feedforward_layernorm: DeviceVector<640>,
    pub gate_proj: DeviceLinear<2048, 640>,
    pub up_proj: DeviceLinear<2048, 640>,
    pub down_proj: DeviceLinear<640, 2048>,
    pub post_feedforward_layernorm: DeviceVector<640>,
}

impl Full {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&FULL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&FULL_Q_PROJ, layer)?,
            k_proj: from.linear(&FULL_K_PROJ, layer)?,
            v_proj: from.linear(&FULL_V_PROJ, layer)?,
            q_norm: from.norm(&FULL_Q_NORM, layer)?,
            k_norm: from.norm(&FULL_K_NORM, layer)?,
            o_proj: from.linear(&FULL_O_PROJ, layer)?,
            post_attention_layernorm: from.norm(&FULL_POST_ATTENTION_LAYERNORM, layer)?,
            pre_feedforward_layernorm: from
                .norm(&FULL_PRE_FEEDFORWARD_LAYERNORM, layer)?,
            gate_proj: from.linear(&FULL_GATE_PROJ, layer)?,
            up_proj: from.linear(&FULL_UP_PROJ, layer)?,
            down_proj: from.linear(&FULL_DOWN_PROJ, layer)?,
            post_feedforward_layernorm: from
                .norm(&FULL_POST_FEEDFORWARD_LAYERNORM, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.k_proj.bytes()
            + self.v_proj.bytes() + self.q_norm.bytes() + self.k_norm.bytes()
            + self.o_proj.bytes() + self.post_attention_layernorm.bytes()
            + self.pre_feedforward_layernorm.bytes() + self.gate_proj.bytes()
            + self.up_proj.bytes() + self.down_proj.bytes()
            + self.post_feedforward_layernorm.bytes()
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
    pub embed_tokens: DeviceEmbedding<262144, 640>,
    pub norm: DeviceVector<640>,
    pub lm_head: DeviceLinear<262144, 640>,
    pub local: Box<[Local; 15]>,
    pub full: Box<[Full; 3]>,
}

impl Weights {
    /// Compares the checkpoint with the spec, everything at once, then loads it onto the device.
    pub fn load(
        checkpoint: &Arc<Checkpoint>,
        cpu: &Cpu,
        device: &Arc<Device>,
    ) -> Result<Self, LoadError> {
        checkpoint.require(CheckpointKind::Gguf)?;
        let from = DeviceLoader::new(checkpoint, cpu, device, &TENSORS, &CONFIG)?;
        let embed_tokens = from.embedding(&EMBED_TOKENS)?;
        Ok(Self {
            local: from.layers(&LOCAL_LAYERS, Local::load)?,
            full: from.layers(&FULL_LAYERS, Full::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: embed_tokens.tied(),
            embed_tokens,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes()
            + self.local.iter().map(Local::bytes).sum::<usize>()
            + self.full.iter().map(Full::bytes).sum::<usize>()
    }

    /// Elements of the largest weight that a product of many rows needs as bf16 and that is stored otherwise.
    pub fn matrix_elements(&self) -> usize {
        [
            self.lm_head.elements_to_dequantise(),
            self.local.iter().map(Local::matrix_elements).max().unwrap_or(0),
            self.full.iter().map(Full::matrix_elements).max().unwrap_or(0),
        ]
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}
