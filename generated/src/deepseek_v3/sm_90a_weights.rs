//! deepseek-v3 on sm_90a: its weights, as they are kept there.
//! Generated from model-specs/deepseek-v3; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Device, DeviceEmbedding, DeviceExperts, DeviceLatentUp, DeviceLinear, DeviceLoader,
    DeviceVector,
};
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError};

use super::CONFIG;
use super::layers::{DENSE_LAYERS, SPARSE_LAYERS};
use super::tensors::{
    DENSE_DOWN_PROJ, DENSE_GATE_PROJ, DENSE_INPUT_LAYERNORM, DENSE_KV_A_LAYERNORM,
    DENSE_KV_A_PROJ, DENSE_KV_B_PROJ, DENSE_O_PROJ, DENSE_POST_ATTENTION_LAYERNORM,
    DENSE_Q_A_LAYERNORM, DENSE_Q_A_PROJ, DENSE_Q_B_PROJ, DENSE_UP_PROJ, EMBED_TOKENS,
    LM_HEAD, NORM, SPARSE_EXPERTS, SPARSE_E_SCORE_CORRECTION_BIAS,
    SPARSE_INPUT_LAYERNORM, SPARSE_KV_A_LAYERNORM, SPARSE_KV_A_PROJ, SPARSE_KV_B_PROJ,
    SPARSE_O_PROJ, SPARSE_POST_ATTENTION_LAYERNORM, SPARSE_Q_A_LAYERNORM,
    SPARSE_Q_A_PROJ, SPARSE_Q_B_PROJ, SPARSE_ROUTER, SPARSE_SHARED_DOWN_PROJ,
    SPARSE_SHARED_GATE_PROJ, SPARSE_SHARED_UP_PROJ, TENSORS,
};

/// Weights of one layer of kind `dense`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Dense {
    pub input_layernorm: DeviceVector<7168>,
    pub q_a_proj: DeviceLinear<1536, 7168>,
    pub q_a_layernorm: DeviceVector<1536>,
    pub q_b_proj: DeviceLinear<24576, 1536>,
    pub kv_a_proj: DeviceLinear<576, 7168>,
    pub kv_a_layernorm: DeviceVector<512>,
    pub kv_b_proj: DeviceLatentUp<128, 128, 128, 512>,
    pub o_proj: DeviceLinear<7168, 16384>,
    pub post_attention_layernorm: DeviceVector<7168>,
    pub gate_proj: DeviceLinear<18432, 7168>,
    pub up_proj: DeviceLinear<18432, 7168>,
    pub down_proj: DeviceLinear<7168, 18432>,
}

impl Dense {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
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

    fn matrix_elements(&self) -> usize {
        [
            self.q_a_proj.elements_to_dequantise(),
            self.q_b_proj.elements_to_dequantise(),
            self.kv_a_proj.elements_to_dequantise(),
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

/// Weights of one layer of kind `sparse`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Sparse {
    pub input_layernorm: DeviceVector<7168>,
    pub q_a_proj: DeviceLinear<1536, 7168>,
    pub q_a_layernorm: DeviceVector<1536>,
    pub q_b_proj: DeviceLinear<24576, 1536>,
    pub kv_a_proj: DeviceLinear<576, 7168>,
    pub kv_a_layernorm: DeviceVector<512>,
    pub kv_b_proj: DeviceLatentUp<128, 128, 128, 512>,
    pub o_proj: DeviceLinear<7168, 16384>,
    pub post_attention_layernorm: DeviceVector<7168>,
    pub router: DeviceLinear<256, 7168>,
    pub e_score_correction_bias: DeviceVector<256>,
    pub experts: DeviceExperts<256, 7168, 2048>,
    pub shared_gate_proj: DeviceLinear<2048, 7168>,
    pub shared_up_proj: DeviceLinear<2048, 7168>,
    pub shared_down_proj: DeviceLinear<7168, 2048>,
}

impl Sparse {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
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
    pub embed_tokens: DeviceEmbedding<129280, 7168>,
    pub norm: DeviceVector<7168>,
    pub lm_head: DeviceLinear<129280, 7168>,
    pub dense: Box<[Dense; 3]>,
    pub sparse: Box<[Sparse; 58]>,
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
            dense: from.layers(&DENSE_LAYERS, Dense::load)?,
            sparse: from.layers(&SPARSE_LAYERS, Sparse::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
            embed_tokens,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
            + self.dense.iter().map(Dense::bytes).sum::<usize>()
            + self.sparse.iter().map(Sparse::bytes).sum::<usize>()
    }

    /// Elements of the largest weight that a product of many rows needs as bf16 and that is stored otherwise.
    pub fn matrix_elements(&self) -> usize {
        [
            self.lm_head.elements_to_dequantise(),
            self.dense.iter().map(Dense::matrix_elements).max().unwrap_or(0),
            self.sparse.iter().map(Sparse::matrix_elements).max().unwrap_or(0),
        ]
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}
