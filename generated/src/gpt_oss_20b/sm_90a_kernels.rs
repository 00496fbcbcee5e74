//! gpt-oss-20b on sm_90a: the kernels of its step.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Bf16, CudaError, Device, DeviceElement, DeviceWorkspace, F32, Gemm,
};
use tenon_core::dtype::KvDtype;

use super::super::kernels::{
    Add, AddBias, Argmax, AttentionDecode, AttentionPrefill, Dequantise, Embedding,
    ExpertTiles, ExpertsDownFew, ExpertsDownMany, ExpertsSum, ExpertsUpFew,
    ExpertsUpMany, GatherLogitRows, Linear, Matmul, RmsNorm, RopeAngles, RopeAppend,
    Route, Sample, instances,
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
    pub rms_norm: RmsNorm<F32, 2880>,
    /// x += bias, row by row.
    pub add_bias_bf16: AddBias<Bf16>,
    /// Norms and rotates the heads of queries and keys, and writes keys and values to the paged cache.
    pub rope_append: RopeAppend<64, 64, D>,
    /// Causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap.
    pub attention_prefill: AttentionPrefill<D, 64, 8, 192, 128>,
    /// Causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up.
    pub attention_decode: AttentionDecode<D, 64, 8, 64>,
    /// x += bias, row by row.
    pub add_bias_f32: AddBias<F32>,
    /// The experts of each token and their weights.
    pub route: Route<32>,
    /// The first products of experts and what stands between the products, for 16 tokens at most.
    pub experts_up_few: ExpertsUpFew,
    /// The last product of experts, for 16 tokens at most.
    pub experts_down_few: ExpertsDownFew,
    /// For each token the sum of its experts' rows by weight, in the order of the routes.
    pub experts_sum_f32_f32: ExpertsSum<F32, F32>,
    /// The pairs of tokens and experts sorted by expert, and tiles of at most 128 of one expert.
    pub expert_tiles: ExpertTiles<32>,
    /// The first products of experts and what stands between the products, for many tokens: tiles of the pairs sorted by expert.
    pub experts_up_many: ExpertsUpMany,
    /// The last product of experts, for many tokens: tiles of the pairs sorted by expert.
    pub experts_down_many: ExpertsDownMany,
    /// For each token the sum of its experts' rows by weight, in the order of the routes.
    pub experts_sum_bf16_f32: ExpertsSum<Bf16, F32>,
    /// x += y.
    pub add: Add,
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
                        &instances::LINEAR_MXFP4_R1,
                        &instances::LINEAR_MXFP4_R16,
                        &instances::LINEAR_MXFP4_R2,
                        &instances::LINEAR_MXFP4_R4,
                        &instances::LINEAR_MXFP4_R8,
                    ],
                )?,
                Gemm::new(device)?,
                Some(Dequantise::load(device, &[&instances::DEQUANTISE_MXFP4])?),
                DeviceWorkspace::new(device, matrix_elements)?,
            ),
            embedding: Embedding::load(
                device,
                &[&instances::EMBEDDING_BF16, &instances::EMBEDDING_MXFP4],
            )?,
            rope_angles: RopeAngles::load(device, &[&instances::ROPE_ANGLES])?,
            rms_norm: RmsNorm::load(device, &[&instances::RMS_NORM_F32_D2880])?,
            add_bias_bf16: AddBias::load(device, &[&instances::ADD_BIAS_BF16])?,
            rope_append: RopeAppend::load(
                device,
                &[&instances::ROPE_APPEND_HD64_RD64_HALVES_NONE_BF16],
            )?,
            attention_prefill: AttentionPrefill::load(
                device,
                &[&instances::ATTENTION_PREFILL_BF16_HD64_G8_TQ192_TK128],
            )?,
            attention_decode: AttentionDecode::load(
                device,
                &[&instances::ATTENTION_DECODE_BF16_HD64_G8_TK64],
            )?,
            add_bias_f32: AddBias::load(device, &[&instances::ADD_BIAS_F32])?,
            route: Route::load(device, &[&instances::ROUTE_E32])?,
            experts_up_few: ExpertsUpFew::load(
                device,
                &[
                    &instances::EXPERTS_UP_FEW_BF16_CLAMPED_SILU,
                    &instances::EXPERTS_UP_FEW_MXFP4_CLAMPED_SILU,
                ],
            )?,
            experts_down_few: ExpertsDownFew::load(
                device,
                &[&instances::EXPERTS_DOWN_FEW_BF16, &instances::EXPERTS_DOWN_FEW_MXFP4],
            )?,
            experts_sum_f32_f32: ExpertsSum::load(
                device,
                &[&instances::EXPERTS_SUM_F32_F32],
            )?,
            expert_tiles: ExpertTiles::load(device, &[&instances::EXPERT_TILES_E32])?,
            experts_up_many: ExpertsUpMany::load(
                device,
                &[
                    &instances::EXPERTS_UP_MANY_BF16_CLAMPED_SILU,
                    &instances::EXPERTS_UP_MANY_MXFP4_CLAMPED_SILU,
                ],
            )?,
            experts_down_many: ExpertsDownMany::load(
                device,
                &[
                    &instances::EXPERTS_DOWN_MANY_BF16,
                    &instances::EXPERTS_DOWN_MANY_MXFP4,
                ],
            )?,
            experts_sum_bf16_f32: ExpertsSum::load(
                device,
                &[&instances::EXPERTS_SUM_BF16_F32],
            )?,
            add: Add::load(device, &[&instances::ADD])?,
            gather_logit_rows: GatherLogitRows::load(
                device,
                &[&instances::GATHER_LOGIT_ROWS],
            )?,
            argmax: Argmax::load(device, &[&instances::ARGMAX])?,
            sample: Sample::load(device, &[&instances::SAMPLE])?,
        })
    }
}
