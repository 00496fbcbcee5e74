//! qwen3.5-122b-a10b on sm_90a: its weights, as they are kept there.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Device, DeviceConv, DeviceEmbedding, DeviceExperts, DeviceLinear, DeviceLoader,
    DeviceVector,
};
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError};

use super::CONFIG;
use super::layers::{BLOCK_LINEAR_LAYERS, FULL_LAYERS};
use super::tensors::{
    BLOCK_LINEAR_A_LOG, BLOCK_LINEAR_CONV1D, BLOCK_LINEAR_DT_BIAS, BLOCK_LINEAR_EXPERTS,
    BLOCK_LINEAR_GATED_NORM, BLOCK_LINEAR_INPUT_LAYERNORM, BLOCK_LINEAR_IN_PROJ_A,
    BLOCK_LINEAR_IN_PROJ_B, BLOCK_LINEAR_IN_PROJ_QKV, BLOCK_LINEAR_IN_PROJ_Z,
    BLOCK_LINEAR_OUT_PROJ, BLOCK_LINEAR_POST_ATTENTION_LAYERNORM, BLOCK_LINEAR_ROUTER,
    BLOCK_LINEAR_SHARED_DOWN_PROJ, BLOCK_LINEAR_SHARED_EXPERT_GATE,
    BLOCK_LINEAR_SHARED_GATE_PROJ, BLOCK_LINEAR_SHARED_UP_PROJ, EMBED_TOKENS,
    FULL_EXPERTS, FULL_INPUT_LAYERNORM, FULL_K_NORM, FULL_K_PROJ, FULL_O_PROJ,
    FULL_POST_ATTENTION_LAYERNORM, FULL_Q_GATE, FULL_Q_NORM, FULL_Q_PROJ, FULL_ROUTER,
    FULL_SHARED_DOWN_PROJ, FULL_SHARED_EXPERT_GATE, FULL_SHARED_GATE_PROJ,
    FULL_SHARED_UP_PROJ, FULL_V_PROJ, LM_HEAD, NORM, TENSORS,
};

/// Weights of one layer of kind `linear`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct BlockLinear {
    pub input_layernorm: DeviceVector<3072>,
    pub in_proj_qkv: DeviceLinear<12288, 3072>,
    pub in_proj_z: DeviceLinear<8192, 3072>,
    pub in_proj_b: DeviceLinear<64, 3072>,
    pub in_proj_a: DeviceLinear<64, 3072>,
    pub conv1d: DeviceConv<12288, 4>,
    pub a_log: DeviceVector<64>,
    pub dt_bias: DeviceVector<64>,
    pub gated_norm: DeviceVector<128>,
    pub out_proj: DeviceLinear<3072, 8192>,
    pub post_attention_layernorm: DeviceVector<3072>,
    pub router: DeviceLinear<256, 3072>,
    pub experts: DeviceExperts<256, 3072, 1024>,
    pub shared_gate_proj: DeviceLinear<1024, 3072>,
    pub shared_up_proj: DeviceLinear<1024, 3072>,
    pub shared_down_proj: DeviceLinear<3072, 1024>,
    pub shared_expert_gate: DeviceLinear<1, 3072>,
}

impl BlockLinear {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&BLOCK_LINEAR_INPUT_LAYERNORM, layer)?,
            in_proj_qkv: from.linear(&BLOCK_LINEAR_IN_PROJ_QKV, layer)?,
            in_proj_z: from.linear(&BLOCK_LINEAR_IN_PROJ_Z, layer)?,
            in_proj_b: from.linear(&BLOCK_LINEAR_IN_PROJ_B, layer)?,
            in_proj_a: from.linear(&BLOCK_LINEAR_IN_PROJ_A, layer)?,
            conv1d: from.conv(&BLOCK_LINEAR_CONV1D, layer)?,
            a_log: from.decay(&BLOCK_LINEAR_A_LOG, layer)?,
            dt_bias: from.vector(&BLOCK_LINEAR_DT_BIAS, layer)?,
            gated_norm: from.norm(&BLOCK_LINEAR_GATED_NORM, layer)?,
            out_proj: from.linear(&BLOCK_LINEAR_OUT_PROJ, layer)?,
            post_attention_layernorm: from
                .norm(&BLOCK_LINEAR_POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&BLOCK_LINEAR_ROUTER, layer)?,
            experts: from.gated_experts(&BLOCK_LINEAR_EXPERTS, layer)?,
            shared_gate_proj: from.linear(&BLOCK_LINEAR_SHARED_GATE_PROJ, layer)?,
            shared_up_proj: from.linear(&BLOCK_LINEAR_SHARED_UP_PROJ, layer)?,
            shared_down_proj: from.linear(&BLOCK_LINEAR_SHARED_DOWN_PROJ, layer)?,
            shared_expert_gate: from.linear(&BLOCK_LINEAR_SHARED_EXPERT_GATE, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.in_proj_qkv.bytes() + self.in_proj_z.bytes()
            + self.in_proj_b.bytes() + self.in_proj_a.bytes() + self.conv1d.bytes()
            + self.a_log.bytes() + self.dt_bias.bytes() + self.gated_norm.bytes()
            + self.out_proj.bytes() + self.post_attention_layernorm.bytes()
            + self.router.bytes() + self.experts.bytes() + self.shared_gate_proj.bytes()
            + self.shared_up_proj.bytes() + self.shared_down_proj.bytes()
            + self.shared_expert_gate.bytes()
    }

    fn matrix_elements(&self) -> usize {
        [
            self.in_proj_qkv.elements_to_dequantise(),
            self.in_proj_z.elements_to_dequantise(),
            self.in_proj_b.elements_to_dequantise(),
            self.in_proj_a.elements_to_dequantise(),
            self.out_proj.elements_to_dequantise(),
            self.router.elements_to_dequantise(),
            self.shared_gate_proj.elements_to_dequantise(),
            self.shared_up_proj.elements_to_dequantise(),
            self.shared_down_proj.elements_to_dequantise(),
            self.shared_expert_gate.elements_to_dequantise(),
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
    pub input_layernorm: DeviceVector<3072>,
    pub q_proj: DeviceLinear<8192, 3072>,
    pub q_gate: DeviceLinear<8192, 3072>,
    pub k_proj: DeviceLinear<512, 3072>,
    pub v_proj: DeviceLinear<512, 3072>,
    pub q_norm: DeviceVector<256>,
    pub k_norm: DeviceVector<256>,
    pub o_proj: DeviceLinear<3072, 8192>,
    pub post_attention_layernorm: DeviceVector<3072>,
    pub router: DeviceLinear<256, 3072>,
    pub experts: DeviceExperts<256, 3072, 1024>,
    pub shared_gate_proj: DeviceLinear<1024, 3072>,
    pub shared_up_proj: DeviceLinear<1024, 3072>,
    pub shared_down_proj: DeviceLinear<3072, 1024>,
    pub shared_expert_gate: DeviceLinear<1, 3072>,
}

impl Full {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            input_layernorm: from.norm(&FULL_INPUT_LAYERNORM, layer)?,
            q_proj: from.linear(&FULL_Q_PROJ, layer)?,
            q_gate: from.linear(&FULL_Q_GATE, layer)?,
            k_proj: from.linear(&FULL_K_PROJ, layer)?,
            v_proj: from.linear(&FULL_V_PROJ, layer)?,
            q_norm: from.norm(&FULL_Q_NORM, layer)?,
            k_norm: from.norm(&FULL_K_NORM, layer)?,
            o_proj: from.linear(&FULL_O_PROJ, layer)?,
            post_attention_layernorm: from.norm(&FULL_POST_ATTENTION_LAYERNORM, layer)?,
            router: from.linear(&FULL_ROUTER, layer)?,
            experts: from.gated_experts(&FULL_EXPERTS, layer)?,
            shared_gate_proj: from.linear(&FULL_SHARED_GATE_PROJ, layer)?,
            shared_up_proj: from.linear(&FULL_SHARED_UP_PROJ, layer)?,
            shared_down_proj: from.linear(&FULL_SHARED_DOWN_PROJ, layer)?,
            shared_expert_gate: from.linear(&FULL_SHARED_EXPERT_GATE, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.input_layernorm.bytes() + self.q_proj.bytes() + self.q_gate.bytes()
            + self.k_proj.bytes() + self.v_proj.bytes() + self.q_norm.bytes()
            + self.k_norm.bytes() + self.o_proj.bytes()
            + self.post_attention_layernorm.bytes() + self.router.bytes()
            + self.experts.bytes() + self.shared_gate_proj.bytes()
            + self.shared_up_proj.bytes() + self.shared_down_proj.bytes()
            + self.shared_expert_gate.bytes()
    }

    fn matrix_elements(&self) -> usize {
        [
            self.q_proj.elements_to_dequantise(),
            self.q_gate.elements_to_dequantise(),
            self.k_proj.elements_to_dequantise(),
            self.v_proj.elements_to_dequantise(),
            self.o_proj.elements_to_dequantise(),
            self.router.elements_to_dequantise(),
            self.shared_gate_proj.elements_to_dequantise(),
            self.shared_up_proj.elements_to_dequantise(),
            self.shared_down_proj.elements_to_dequantise(),
            self.shared_expert_gate.elements_to_dequantise(),
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
    pub embed_tokens: DeviceEmbedding<248320, 3072>,
    pub norm: DeviceVector<3072>,
    pub lm_head: DeviceLinear<248320, 3072>,
    pub block_linear: Box<[BlockLinear; 36]>,
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
            block_linear: from.layers(&BLOCK_LINEAR_LAYERS, BlockLinear::load)?,
            full: from.layers(&FULL_LAYERS, Full::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
            embed_tokens,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
            + self.block_linear.iter().map(BlockLinear::bytes).sum::<usize>()
            + self.full.iter().map(Full::bytes).sum::<usize>()
    }

    /// Elements of the largest weight that a product of many rows needs as bf16 and that is stored otherwise.
    pub fn matrix_elements(&self) -> usize {
        [
            self.lm_head.elements_to_dequantise(),
            self
                .block_linear
                .iter()
                .map(BlockLinear::matrix_elements)
                .max()
                .unwrap_or(0),
            self.full.iter().map(Full::matrix_elements).max().unwrap_or(0),
        ]
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}
