//! nemotron-3-super-120b-a12b on sm_90a: its weights, as they are kept there.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Device, DeviceConv, DeviceEmbedding, DeviceExperts, DeviceLinear, DeviceLoader,
    DeviceVector,
};
use tenon_core::weights::{Checkpoint, CheckpointKind, LoadError};

use super::CONFIG;
use super::layers::{BLOCK_ATTENTION_LAYERS, EXPERTS_LAYERS, MAMBA_LAYERS};
use super::tensors::{
    BLOCK_ATTENTION_K_PROJ, BLOCK_ATTENTION_NORM, BLOCK_ATTENTION_O_PROJ,
    BLOCK_ATTENTION_Q_PROJ, BLOCK_ATTENTION_V_PROJ, EMBED_TOKENS, EXPERTS_EXPERTS,
    EXPERTS_E_SCORE_CORRECTION_BIAS, EXPERTS_FC1_LATENT_PROJ, EXPERTS_FC2_LATENT_PROJ,
    EXPERTS_NORM, EXPERTS_ROUTER, EXPERTS_SHARED_DOWN_PROJ, EXPERTS_SHARED_UP_PROJ,
    LM_HEAD, MAMBA_A_LOG, MAMBA_CONV1D, MAMBA_CONV1D_BIAS, MAMBA_D, MAMBA_DT_BIAS,
    MAMBA_GATED_NORM, MAMBA_IN_PROJ_DT, MAMBA_IN_PROJ_XBC, MAMBA_IN_PROJ_Z, MAMBA_NORM,
    MAMBA_OUT_PROJ, NORM, TENSORS,
};

/// Weights of one layer of kind `mamba`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Mamba {
    pub norm: DeviceVector<4096>,
    pub in_proj_z: DeviceLinear<8192, 4096>,
    pub in_proj_xbc: DeviceLinear<10240, 4096>,
    pub in_proj_dt: DeviceLinear<128, 4096>,
    pub conv1d: DeviceConv<10240, 4>,
    pub conv1d_bias: DeviceVector<10240>,
    pub a_log: DeviceVector<128>,
    pub d: DeviceVector<128>,
    pub dt_bias: DeviceVector<128>,
    pub gated_norm: DeviceVector<8192>,
    pub out_proj: DeviceLinear<4096, 8192>,
}

impl Mamba {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            norm: from.norm(&MAMBA_NORM, layer)?,
            in_proj_z: from.linear(&MAMBA_IN_PROJ_Z, layer)?,
            in_proj_xbc: from.linear(&MAMBA_IN_PROJ_XBC, layer)?,
            in_proj_dt: from.linear(&MAMBA_IN_PROJ_DT, layer)?,
            conv1d: from.conv(&MAMBA_CONV1D, layer)?,
            conv1d_bias: from.bias(&MAMBA_CONV1D_BIAS, layer)?,
            a_log: from.decay(&MAMBA_A_LOG, layer)?,
            d: from.vector(&MAMBA_D, layer)?,
            dt_bias: from.vector(&MAMBA_DT_BIAS, layer)?,
            gated_norm: from.norm(&MAMBA_GATED_NORM, layer)?,
            out_proj: from.linear(&MAMBA_OUT_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.norm.bytes() + self.in_proj_z.bytes() + self.in_proj_xbc.bytes()
            + self.in_proj_dt.bytes() + self.conv1d.bytes() + self.conv1d_bias.bytes()
            + self.a_log.bytes() + self.d.bytes() + self.dt_bias.bytes()
            + self.gated_norm.bytes() + self.out_proj.bytes()
    }

    fn matrix_elements(&self) -> usize {
        [
            self.in_proj_z.elements_to_dequantise(),
            self.in_proj_xbc.elements_to_dequantise(),
            self.in_proj_dt.elements_to_dequantise(),
            self.out_proj.elements_to_dequantise(),
        ]
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}

/// Weights of one layer of kind `experts`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct Experts {
    pub norm: DeviceVector<4096>,
    pub router: DeviceLinear<512, 4096>,
    pub e_score_correction_bias: DeviceVector<512>,
    pub fc1_latent_proj: DeviceLinear<1024, 4096>,
    pub fc2_latent_proj: DeviceLinear<4096, 1024>,
    pub experts: DeviceExperts<512, 1024, 2688>,
    pub shared_up_proj: DeviceLinear<5376, 4096>,
    pub shared_down_proj: DeviceLinear<4096, 5376>,
}

impl Experts {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            norm: from.norm(&EXPERTS_NORM, layer)?,
            router: from.linear(&EXPERTS_ROUTER, layer)?,
            e_score_correction_bias: from
                .vector(&EXPERTS_E_SCORE_CORRECTION_BIAS, layer)?,
            fc1_latent_proj: from.linear(&EXPERTS_FC1_LATENT_PROJ, layer)?,
            fc2_latent_proj: from.linear(&EXPERTS_FC2_LATENT_PROJ, layer)?,
            experts: from.plain_experts(&EXPERTS_EXPERTS, layer)?,
            shared_up_proj: from.linear(&EXPERTS_SHARED_UP_PROJ, layer)?,
            shared_down_proj: from.linear(&EXPERTS_SHARED_DOWN_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.norm.bytes() + self.router.bytes() + self.e_score_correction_bias.bytes()
            + self.fc1_latent_proj.bytes() + self.fc2_latent_proj.bytes()
            + self.experts.bytes() + self.shared_up_proj.bytes()
            + self.shared_down_proj.bytes()
    }

    fn matrix_elements(&self) -> usize {
        [
            self.router.elements_to_dequantise(),
            self.fc1_latent_proj.elements_to_dequantise(),
            self.fc2_latent_proj.elements_to_dequantise(),
            self.shared_up_proj.elements_to_dequantise(),
            self.shared_down_proj.elements_to_dequantise(),
        ]
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}

/// Weights of one layer of kind `attention`.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the tensors of the checkpoint")]
pub struct BlockAttention {
    pub norm: DeviceVector<4096>,
    pub q_proj: DeviceLinear<4096, 4096>,
    pub k_proj: DeviceLinear<256, 4096>,
    pub v_proj: DeviceLinear<256, 4096>,
    pub o_proj: DeviceLinear<4096, 4096>,
}

impl BlockAttention {
    fn load(from: &DeviceLoader<'_>, layer: usize) -> Result<Self, LoadError> {
        Ok(Self {
            norm: from.norm(&BLOCK_ATTENTION_NORM, layer)?,
            q_proj: from.linear(&BLOCK_ATTENTION_Q_PROJ, layer)?,
            k_proj: from.linear(&BLOCK_ATTENTION_K_PROJ, layer)?,
            v_proj: from.linear(&BLOCK_ATTENTION_V_PROJ, layer)?,
            o_proj: from.linear(&BLOCK_ATTENTION_O_PROJ, layer)?,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.norm.bytes() + self.q_proj.bytes() + self.k_proj.bytes()
            + self.v_proj.bytes() + self.o_proj.bytes()
    }

    fn matrix_elements(&self) -> usize {
        [
            self.q_proj.elements_to_dequantise(),
            self.k_proj.elements_to_dequantise(),
            self.v_proj.elements_to_dequantise(),
            self.o_proj.elements_to_dequantise(),
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
    pub embed_tokens: DeviceEmbedding<131072, 4096>,
    pub norm: DeviceVector<4096>,
    pub lm_head: DeviceLinear<131072, 4096>,
    pub mamba: Box<[Mamba; 40]>,
    pub experts: Box<[Experts; 40]>,
    pub block_attention: Box<[BlockAttention; 8]>,
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
            mamba: from.layers(&MAMBA_LAYERS, Mamba::load)?,
            experts: from.layers(&EXPERTS_LAYERS, Experts::load)?,
            block_attention: from.layers(&BLOCK_ATTENTION_LAYERS, BlockAttention::load)?,
            norm: from.norm(&NORM, 0)?,
            lm_head: from.linear(&LM_HEAD, 0)?,
            embed_tokens,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.embed_tokens.bytes() + self.norm.bytes() + self.lm_head.bytes()
            + self.mamba.iter().map(Mamba::bytes).sum::<usize>()
            + self.experts.iter().map(Experts::bytes).sum::<usize>()
            + self.block_attention.iter().map(BlockAttention::bytes).sum::<usize>()
    }

    /// Elements of the largest weight that a product of many rows needs as bf16 and that is stored otherwise.
    pub fn matrix_elements(&self) -> usize {
        [
            self.lm_head.elements_to_dequantise(),
            self.mamba.iter().map(Mamba::matrix_elements).max().unwrap_or(0),
            self.experts.iter().map(Experts::matrix_elements).max().unwrap_or(0),
            self
                .block_attention
                .iter()
                .map(BlockAttention::matrix_elements)
                .max()
                .unwrap_or(0),
        ]
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}
