//! gemma-3-270m on sm_90a: the kernels of its step.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{CudaError, Device, DeviceElement, DeviceWorkspace, F32, Gemm};
use tenon_core::dtype::KvDtype;

use super::super::kernels::{
    ActMul, Argmax, AttentionDecode, AttentionPrefill, Dequantise, Embedding,
    GatherLogitRows, Linear, LinearGated, Matmul, RmsNorm, RmsNormAdd, RmsNormAddNorm,
    RopeAngles, RopeAppend, Sample, Scale, instances,
};

/// Every kernel of a step, with a cache of dtype `D`.
pub struct Kernels<D: KvDtype + DeviceElement> {
    /// Products of weights and rows.
    pub matmul: Matmul,
    /// Rows of the embedding, dequantised.
    pub embedding: Embedding,
    /// x *= factor.
    pub scale: Scale,
    /// Cosines and sines of the positions of a step.
    pub rope_angles: RopeAngles,
    /// x / sqrt(mean(x^2) + eps) * weight, row by row.
    pub rms_norm: RmsNorm<F32, 640>,
    /// Norms and rotates the heads of queries and keys, and writes keys and values to the paged cache.
    pub rope_append: RopeAppend<256, 256, D>,
    /// Causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap.
    pub attention_prefill: AttentionPrefill<D, 256, 4, 192, 128>,
    /// Causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up.
    pub attention_decode: AttentionDecode<D, 256, 4, 64>,
    /// x += y / sqrt(mean(y^2) + eps) * weight, then the norm of x that the next sublayer reads.
    pub rms_norm_add_norm: RmsNormAddNorm<640>,
    /// y = act(G x) * (U x) for a few rows: two products and what joins them, in one launch.
    pub linear_gated: LinearGated,
    /// gate = act(gate) * up, in place.
    pub act_mul: ActMul,
    /// x += y / sqrt(mean(y^2) + eps) * weight, row by row: the second norm of a sandwich.
    pub rms_norm_add: RmsNormAdd<640>,
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
                        &instances::LINEAR_Q4_0_R1,
                        &instances::LINEAR_Q4_0_R16,
                        &instances::LINEAR_Q4_0_R2,
                        &instances::LINEAR_Q4_0_R4,
                        &instances::LINEAR_Q4_0_R8,
                        &instances::LINEAR_Q4_1_R1,
                        &instances::LINEAR_Q4_1_R16,
                        &instances::LINEAR_Q4_1_R2,
                        &instances::LINEAR_Q4_1_R4,
                        &instances::LINEAR_Q4_1_R8,
                        &instances::LINEAR_Q4_K_R1,
                        &instances::LINEAR_Q4_K_R16,
                        &instances::LINEAR_Q4_K_R2,
                        &instances::LINEAR_Q4_K_R4,
                        &instances::LINEAR_Q4_K_R8,
                        &instances::LINEAR_Q5_0_R1,
                        &instances::LINEAR_Q5_0_R16,
                        &instances::LINEAR_Q5_0_R2,
                        &instances::LINEAR_Q5_0_R4,
                        &instances::LINEAR_Q5_0_R8,
                        &instances::LINEAR_Q5_1_R1,
                        &instances::LINEAR_Q5_1_R16,
                        &instances::LINEAR_Q5_1_R2,
                        &instances::LINEAR_Q5_1_R4,
                        &instances::LINEAR_Q5_1_R8,
                        &instances::LINEAR_Q5_K_R1,
                        &instances::LINEAR_Q5_K_R16,
                        &instances::LINEAR_Q5_K_R2,
                        &instances::LINEAR_Q5_K_R4,
                        &instances::LINEAR_Q5_K_R8,
                        &instances::LINEAR_Q6_K_R1,
                        &instances::LINEAR_Q6_K_R16,
                        &instances::LINEAR_Q6_K_R2,
                        &instances::LINEAR_Q6_K_R4,
                        &instances::LINEAR_Q6_K_R8,
                        &instances::LINEAR_Q8_0_R1,
                        &instances::LINEAR_Q8_0_R16,
                        &instances::LINEAR_Q8_0_R2,
                        &instances::LINEAR_Q8_0_R4,
                        &instances::LINEAR_Q8_0_R8,
                    ],
                )?,
                Gemm::new(device)?,
                Some(
                    Dequantise::load(
                        device,
                        &[
                            &instances::DEQUANTISE_F16,
                            &instances::DEQUANTISE_F32,
                            &instances::DEQUANTISE_Q4_0,
                            &instances::DEQUANTISE_Q4_1,
                            &instances::DEQUANTISE_Q4_K,
                            &instances::DEQUANTISE_Q5_0,
                            &instances::DEQUANTISE_Q5_1,
                            &instances::DEQUANTISE_Q5_K,
                            &instances::DEQUANTISE_Q6_K,
                            &instances::DEQUANTISE_Q8_0,
                        ],
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
                    &instances::EMBEDDING_Q4_0,
                    &instances::EMBEDDING_Q4_1,
                    &instances::EMBEDDING_Q4_K,
                    &instances::EMBEDDING_Q5_0,
                    &instances::EMBEDDING_Q5_1,
                    &instances::EMBEDDING_Q5_K,
                    &instances::EMBEDDING_Q6_K,
                    &instances::EMBEDDING_Q8_0,
                ],
            )?,
            scale: Scale::load(device, &[&instances::SCALE])?,
            rope_angles: RopeAngles::load(device, &[&instances::ROPE_ANGLES])?,
            rms_norm: RmsNorm::load(device, &[&instances::RMS_NORM_F32_D640])?,
            rope_append: RopeAppend::load(
                device,
                &[&instances::ROPE_APPEND_HD256_RD256_HALVES_QK_BF16],
            )?,
            attention_prefill: AttentionPrefill::load(
                device,
                &[&instances::ATTENTION_PREFILL_BF16_HD256_G4_TQ192_TK128],
            )?,
            attention_decode: AttentionDecode::load(
                device,
                &[&instances::ATTENTION_DECODE_BF16_HD256_G4_TK64],
            )?,
            rms_norm_add_norm: RmsNormAddNorm::load(
                device,
                &[&instances::RMS_NORM_ADD_NORM_D640],
            )?,
            linear_gated: LinearGated::load(
                device,
                &[
                    &instances::LINEAR_GATED_BF16_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_BF16_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_BF16_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_BF16_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_BF16_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F16_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F16_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F16_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F16_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F16_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F32_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F32_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F32_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F32_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_F32_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_0_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_0_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_0_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_0_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_0_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_1_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_1_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_1_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_1_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_1_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_K_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_K_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_K_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_K_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q4_K_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_0_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_0_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_0_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_0_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_0_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_1_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_1_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_1_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_1_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_1_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_K_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_K_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_K_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_K_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q5_K_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q6_K_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q6_K_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q6_K_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q6_K_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q6_K_R8_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q8_0_R16_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q8_0_R1_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q8_0_R2_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q8_0_R4_GELU_PYTORCH_TANH,
                    &instances::LINEAR_GATED_Q8_0_R8_GELU_PYTORCH_TANH,
                ],
            )?,
            act_mul: ActMul::load(device, &[&instances::ACT_MUL_GELU_PYTORCH_TANH])?,
            rms_norm_add: RmsNormAdd::load(device, &[&instances::RMS_NORM_ADD_D640])?,
            gather_logit_rows: GatherLogitRows::load(
                device,
                &[&instances::GATHER_LOGIT_ROWS],
            )?,
            argmax: Argmax::load(device, &[&instances::ARGMAX])?,
            sample: Sample::load(device, &[&instances::SAMPLE])?,
        })
    }
}
