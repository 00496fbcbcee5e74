//! gpt-oss-20b on sm_90a: its weights, as they are kept there.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Device, DeviceEmbedding, DeviceExperts, DeviceLinear, DeviceLoader, DeviceVector,
};
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError};

use super::CONFIG;
use super::layers::{FULL_LAYERS, LOCAL_LAYERS};
use super::tensors::{
    EMBED_TOKENS, FULL_EXPERTS, FULL_INPUT_LAYERNORM, FULL_K_BIAS, FULL_K_PROJ,
    FULL_O_BIAS, FULL_O_PROJ, FULL_POST_ATTENTION_LAYERNORM, FULL_Q_BIAS, FULL_Q_PROJ,
    FULL_ROUTER, FULL_ROUTER_BIAS, FULL_SINKS, FULL_V_BIAS, FULL_V_PROJ, LM_HEAD,
    LOCAL_EXPERTS, LOCAL_INPUT_LAYERNORM, LOCAL_K_BIAS, LOCAL_K_PROJ, LOCAL_O_BIAS,
    LOCAL_O_PROJ, LOCAL_POST_ATTENTION_LAYERNORM, LOCAL_Q_BIAS, LOCAL_Q_PROJ,
    LOCAL_ROUTER, LOCAL_ROUTER_BIAS, LOCAL_SINKS, LOCAL_V_BIAS, LOCAL_V_PROJ, NORM,
    TENSORS,
};

/// Weights of one layer of kind `local`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Local {
    pub input_layernorm: DeviceVector<2880>,
    pub q_proj: DeviceLinear<4096, 2880>,
    pub q_bias: DeviceVector<4096>,
    pub k_proj: DeviceLinear<512, 2880>,
    pub k_bias: DeviceVector<512>,
    pub v_proj: DeviceLinear<512, 2880>,
    pub v_bias: DeviceVector<512>,
    pub sinks: DeviceVector<64>,
    pub o_proj: DeviceLinear<2880, 4096>,
    pub o_bias: DeviceVector<2880>,
    pub post_attention_layernorm: DeviceVector<2880>,
    pub router: DeviceLinear<32, 2880>,
    pub router_bias: DeviceVector<32>,
    pub experts: DeviceExperts<32, 2880, 2880>,
}

impl Local {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&LOCAL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&LOCAL_Q_PROJ, layer)?,
            q_bias: from.bias(&LOCAL_Q_BIAS, layer)?,
            k_proj: from.linear(&LOCAL_K_PROJ, layer)?,
            k_bias: from.bias(&LOCAL_K_BIAS, layer)?,
            v_proj: from.linear(&LOCAL_V_PROJ, layer)?,
            v_bias: from.bias(&LOCAL_V_BIAS, layer)?,
            sinks: from.vector(&LOCAL_SINKS, layer)?,
            o_proj: from.linear(&LOCAL_O_PROJ, layer)?,
            o_bias: from.bias(&LOCAL_O_BIAS, layer)?,
            post_attention_layernorm: from.norm(&LOCAL_POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&LOCAL_ROUTER, layer)?,
            router_bias: from.bias(&LOCAL_ROUTER_BIAS, layer)?,
            experts: from.gated_experts(&LOCAL_EXPERTS, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.q_bias.bytes()
            + self.k_proj.bytes() + self.k_bias.bytes() + self.v_proj.bytes()
            + self.v_bias.bytes() + self.sinks.bytes() + self.o_proj.bytes()
            + self.o_bias.bytes() + self.post_attention_layernorm.bytes()
            + self.router.bytes() + self.router_bias.bytes() + self.experts.bytes()
    }

    fn matrix_elements(&self) -> usize {
        [
            self.q_proj.elements_to_dequantise(),
            self.k_proj.elements_to_dequantise(),
            self.v_proj.elements_to_dequantise(),
            self.o_proj.elements_to_dequantise(),
            self.router.elements_to_dequantise(),
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
    pub input_layernorm: DeviceVector<2880>,
    pub q_proj: DeviceLinear<4096, 2880>,
    pub q_bias: DeviceVector<4096>,
    pub k_proj: DeviceLinear<512, 2880>,
    pub k_bias: DeviceVector<512>,
    pub v_proj: DeviceLinear<512, 2880>,
    pub v_bias: DeviceVector<512>,
    pub sinks: DeviceVector<64>,
    pub o_proj: DeviceLinear<2880, 4096>,
    pub o_bias: DeviceVector<2880>,
    pub post_attention_layernorm: DeviceVector<2880>,
    pub router: DeviceLinear<32, 2880>,
    pub router_bias: DeviceVector<32>,
    pub experts: DeviceExperts<32, 2880, 2880>,
}

impl Full {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&FULL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&FULL_Q_PROJ, layer)?,
            q_bias: from.bias(&FULL_Q_BIAS, layer)?,
            k_proj: from.linear(&FULL_K_PROJ, layer)?,
            k_bias: from.bias(&FULL_K_BIAS, layer)?,
            v_proj: from.linear(&FULL_V_PROJ, layer)?,
            v_bias: from.bias(&FULL_V_BIAS, layer)?,
            sinks: from.vector(&FULL_SINKS, layer)?,
            o_proj: from.linear(&FULL_O_PROJ, layer)?,
            o_bias: from.bias(&FULL_O_BIAS, layer)?,
            post_attention_layernorm: from.norm(&FULL_POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&FULL_ROUTER, layer)?,
            router_bias: from.bias(&FULL_ROUTER_BIAS, layer)?,
            experts: from.gated_experts(&FULL_EXPERTS, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.q_bias.bytes()
            + self.k_proj.bytes() + self.k_bias.bytes() + self.v_proj.bytes()
            + self.v_bias.bytes() + self.sinks.bytes() + self.o_proj.bytes()
            + self.o_bias.bytes() + self.post_attention_layernorm.bytes()
            + self.router.bytes() + self.router_bias.bytes() + self.experts.bytes()
    }

    fn matrix_elements(&self) -> usize {
        [
            self.q_proj.elements_to_dequantise(),
            self.k_proj.elements_to_dequantise(),
            self.v_proj.elements_to_dequantise(),
            self.o_proj.elements_to_dequantise(),
            self.router.elements_to_dequantise(),
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
    pub embed_tokens: DeviceEmbedding<201088, 2880>,
    pub norm: DeviceVector<2880>,
    pub lm_head: DeviceLinear<201088, 2880>,
    pub local: Box<[Local; 12]>,
    pub full: Box<[Full; 12]>,
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
            local: from.layers(&LOCAL_LAYERS, Local::load)?,
            full: from.layers(&FULL_LAYERS, Full::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
            embed_tokens,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
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
