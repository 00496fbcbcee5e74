//! qwen3-0.6b on sm_90a: the kernels of its step.
//! Generated from model-specs/qwen3-0.6b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{CudaError, Device, DeviceElement, DeviceWorkspace, F32, Gemm};
use tenon_core::dtype::KvDtype;

use super::super::kernels::{
    ActMul, Argmax, AttentionDecode, AttentionPrefill, Dequantise, Embedding,
    GatherLogitRows, Linear, LinearGated, Matmul, RmsNorm, RopeAngles, RopeAppend,
    Sample, instances,
};

/// Every kernel of a step, with a cache of dtype `D`.
pub struct Kernels<D: KvDtype + DeviceElement> {
    /// Products of weights and rows.
    pub matmul: Matmul,
    /// Rows of the embedding, dequantised.
    pub embedding: Embedding,
    /// Cosines and sines of the positions of a step.
    pub rope_angles: RopeAngles,
    /// x / sqrt(mean(x^2) + eps) * weight, row by row.
    pub rms_norm: RmsNorm<F32, 1024>,
    /// Norms and rotates the heads of queries and keys, and writes keys and values to the paged cache.
    pub rope_append: RopeAppend<128, 128, D>,
    /// Causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap.
    pub attention_prefill: AttentionPrefill<D, 128, 2, 192, 128>,
    /// Causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up.
    pub attention_decode: AttentionDecode<D, 128, 2, 64>,
    /// y = act(G x) * (U x) for a few rows: two products and what joins them, in one launch.
    pub linear_gated: LinearGated,
    /// gate = act(gate) * up, in place.
    pub act_mul: ActMul,
    /// The rows that want logits.
    pub gather_logit_rows: GatherLogitRows,
    /// The token with the largest logit, the lowest of equals.
    pub argmax: Argmax,
    /// A token drawn from the softmax of each row: temperature, then top_k, then top_p.
    pub sample: Sample,
}

impl<D: KvDtype + DeviceElement> Kernels<D> {
    /// Loads them. The largest weight that is not stored as bf16 has so many elements.
    pub fn load(
        device: &Arc<Device>,
        matrix_elements: usize,
    ) -> Result<Self, CudaError> {
        Ok(Self {
            matmul: Matmul::new(
                Linear::load(
                    device,
                    &[
                        &instances::LINEAR_BF16_R1,
                        &instances::LINEAR_BF16_R16,
                        &instances::LINEAR_BF16_R2,
                        &instances::LINEAR_BF16_R4,
                        &instances::LINEAR_BF16_R8,
                        &instances::LINEAR_F16_R1,
                        &instances::LINEAR_F16_R16,
                        &instances::LINEAR_F16_R2,
                        &instances::LINEAR_F16_R4,
                        &instances::LINEAR_F16_R8,
                        &instances::LINEAR_F32_R1,
                        &instances::LINEAR_F32_R16,
                        &instances::LINEAR_F32_R2,
                        &instances::LINEAR_F32_R4,
                        &instances::LINEAR_F32_R8,
                    ],
                )?,
                Gemm::new(device)?,
                Some(
                    Dequantise::load(
                        device,
                        &[&instances::DEQUANTISE_F16, &instances::DEQUANTISE_F32],
                    )?,
                ),
                DeviceWorkspace::new(device, matrix_elements)?,
            ),
            embedding: Embedding::load(
                device,
                &[
                    &instances::EMBEDDING_BF16,
                    &instances::EMBEDDING_F16,
                    &instances::EMBEDDING_F32,
                ],
            )?,
            rope_angles: RopeAngles::load(device, &[&instances::ROPE_ANGLES])?,
            rms_norm: RmsNorm::load(device, &[&instances::RMS_NORM_F32_D1024])?,
            rope_append: RopeAppend::load(
                device,
                &[&instances::ROPE_APPEND_HD128_RD128_HALVES_QK_BF16],
            )?,
            attention_prefill: AttentionPrefill::load(
                device,
                &[&instances::ATTENTION_PREFILL_BF16_HD128_G2_TQ192_TK128],
            )?,
            attention_decode: AttentionDecode::load(
                device,
                &[&instances::ATTENTION_DECODE_BF16_HD128_G2_TK64],
            )?,
            linear_gated: LinearGated::load(
                device,
                &[
                    &instances::LINEAR_GATED_BF16_R16_SILU,
                    &instances::LINEAR_GATED_BF16_R1_SILU,
                    &instances::LINEAR_GATED_BF16_R2_SILU,
                    &instances::LINEAR_GATED_BF16_R4_SILU,
                    &instances::LINEAR_GATED_BF16_R8_SILU,
                    &instances::LINEAR_GATED_F16_R16_SILU,
                    &instances::LINEAR_GATED_F16_R1_SILU,
                    &instances::LINEAR_GATED_F16_R2_SILU,
                    &instances::LINEAR_GATED_F16_R4_SILU,
                    &instances::LINEAR_GATED_F16_R8_SILU,
                    &instances::LINEAR_GATED_F32_R16_SILU,
                    &instances::LINEAR_GATED_F32_R1_SILU,
                    &instances::LINEAR_GATED_F32_R2_SILU,
                    &instances::LINEAR_GATED_F32_R4_SILU,
                    &instances::LINEAR_GATED_F32_R8_SILU,
                ],
            )?,
            act_mul: ActMul::load(device, &[&instances::ACT_MUL_SILU])?,
            gather_logit_rows: GatherLogitRows::load(
                device,
                &[&instances::GATHER_LOGIT_ROWS],
            )?,
            argmax: Argmax::load(device, &[&instances::ARGMAX])?,
            sample: Sample::load(device, &[&instances::SAMPLE])?,
        })
    }
}
