//! qwen3.5-122b-a10b on sm_90a: the kernels of its step.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Bf16, CudaError, Device, DeviceElement, DeviceWorkspace, F32, Gemm,
};
use tenon_core::dtype::KvDtype;

use super::super::kernels::{
    ActMul, Add, Argmax, AttentionDecode, AttentionPrefill, CausalConvDecode,
    CausalConvPrefill, DeltaDecode, DeltaPrefill, Dequantise, Embedding, ExpertTiles,
    ExpertsDownFew, ExpertsDownMany, ExpertsSum, ExpertsUpFew, ExpertsUpMany,
    GatedHeadNorm, GatherLogitRows, Linear, LinearGated, Matmul, RmsNorm, RopeAngles,
    RopeAppend, Route, Sample, SigmoidGateAdd, SigmoidMul, instances,
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
    pub rms_norm: RmsNorm<F32, 3072>,
    /// Depthwise causal convolution, bias and silu over spans of several tokens; the last inputs stay in the state.
    pub causal_conv_prefill: CausalConvPrefill<4>,
    /// Depthwise causal convolution, bias and silu over spans of one token; the last inputs stay in the state.
    pub causal_conv_decode: CausalConvDecode<4>,
    /// The gated delta rule over spans of several tokens, in chunks (arXiv 2412.06464, section 3.3).
    pub delta_prefill: DeltaPrefill<128, 128, 64>,
    /// The gated delta rule over spans of one token: S = exp(g) S, S = S + beta (v - S k) k^T, y = S q.
    pub delta_decode: DeltaDecode<128, 128>,
    /// RMS norm of each head, times silu(z), in place.
    pub gated_head_norm: GatedHeadNorm<128>,
    /// The experts of each token and their weights.
    pub route: Route<256>,
    /// The first products of experts and what stands between the products, for 16 tokens at most.
    pub experts_up_few: ExpertsUpFew,
    /// The last product of experts, for 16 tokens at most.
    pub experts_down_few: ExpertsDownFew,
    /// For each token the sum of its experts' rows by weight, in the order of the routes.
    pub experts_sum_f32_f32: ExpertsSum<F32, F32>,
    /// The pairs of tokens and experts sorted by expert, and tiles of at most 128 of one expert.
    pub expert_tiles: ExpertTiles<256>,
    /// The first products of experts and what stands between the products, for many tokens: tiles of the pairs sorted by expert.
    pub experts_up_many: ExpertsUpMany,
    /// The last product of experts, for many tokens: tiles of the pairs sorted by expert.
    pub experts_down_many: ExpertsDownMany,
    /// For each token the sum of its experts' rows by weight, in the order of the routes.
    pub experts_sum_bf16_f32: ExpertsSum<Bf16, F32>,
    /// y = act(G x) * (U x) for a few rows: two products and what joins them, in one launch.
    pub linear_gated: LinearGated,
    /// gate = act(gate) * up, in place.
    pub act_mul: ActMul,
    /// x += sigmoid(gate) * y, with one gate per row.
    pub sigmoid_gate_add: SigmoidGateAdd,
    /// x += y.
    pub add: Add,
    /// Norms and rotates the heads of queries and keys, and writes keys and values to the paged cache.
    pub rope_append: RopeAppend<256, 64, D>,
    /// Causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap.
    pub attention_prefill: AttentionPrefill<D, 256, 16, 192, 128>,
    /// Causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up.
    pub attention_decode: AttentionDecode<D, 256, 16, 64>,
    /// x *= sigmoid(gate), in place.
    pub sigmoid_mul: SigmoidMul,
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
                        &instances::LINEAR_NVFP4_R1,
                        &instances::LINEAR_NVFP4_R16,
                        &instances::LINEAR_NVFP4_R2,
                        &instances::LINEAR_NVFP4_R4,
                        &instances::LINEAR_NVFP4_R8,
                    ],
                )?,
                Gemm::new(device)?,
                Some(
                    Dequantise::load(
                        device,
                        &[
                            &instances::DEQUANTISE_F16,
                            &instances::DEQUANTISE_F32,
                            &instances::DEQUANTISE_NVFP4,
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
                    &instances::EMBEDDING_NVFP4,
                ],
            )?,
            rope_angles: RopeAngles::load(device, &[&instances::ROPE_ANGLES])?,
            rms_norm: RmsNorm::load(device, &[&instances::RMS_NORM_F32_D3072])?,
            causal_conv_prefill: CausalConvPrefill::load(
                device,
                &[&instances::CAUSAL_CONV_PREFILL_CK4],
            )?,
            causal_conv_decode: CausalConvDecode::load(
                device,
                &[&instances::CAUSAL_CONV_DECODE_CK4],
            )?,
            delta_prefill: DeltaPrefill::load(
                device,
                &[&instances::DELTA_PREFILL_KD128_VD128_C64],
            )?,
            delta_decode: DeltaDecode::load(
                device,
                &[&instances::DELTA_DECODE_KD128_VD128],
            )?,
            gated_head_norm: GatedHeadNorm::load(
                device,
                &[&instances::GATED_HEAD_NORM_HD128],
            )?,
            route: Route::load(device, &[&instances::ROUTE_E256])?,
            experts_up_few: ExpertsUpFew::load(
                device,
                &[
                    &instances::EXPERTS_UP_FEW_BF16_GATED_SILU,
                    &instances::EXPERTS_UP_FEW_F16_GATED_SILU,
                    &instances::EXPERTS_UP_FEW_F32_GATED_SILU,
                    &instances::EXPERTS_UP_FEW_NVFP4_GATED_SILU,
                ],
            )?,
            experts_down_few: ExpertsDownFew::load(
                device,
                &[
                    &instances::EXPERTS_DOWN_FEW_BF16,
                    &instances::EXPERTS_DOWN_FEW_F16,
                    &instances::EXPERTS_DOWN_FEW_F32,
                    &instances::EXPERTS_DOWN_FEW_NVFP4,
                ],
            )?,
            experts_sum_f32_f32: ExpertsSum::load(
                device,
                &[&instances::EXPERTS_SUM_F32_F32],
            )?,
            expert_tiles: ExpertTiles::load(device, &[&instances::EXPERT_TILES_E256])?,
            experts_up_many: ExpertsUpMany::load(
                device,
                &[
                    &instances::EXPERTS_UP_MANY_BF16_GATED_SILU,
                    &instances::EXPERTS_UP_MANY_F16_GATED_SILU,
                    &instances::EXPERTS_UP_MANY_F32_GATED_SILU,
                    &instances::EXPERTS_UP_MANY_NVFP4_GATED_SILU,
                ],
            )?,
            experts_down_many: ExpertsDownMany::load(
                device,
                &[
                    &instances::EXPERTS_DOWN_MANY_BF16,
                    &instances::EXPERTS_DOWN_MANY_F16,
                    &instances::EXPERTS_DOWN_MANY_F32,
                    &instances::EXPERTS_DOWN_MANY_NVFP4,
                ],
            )?,
            experts_sum_bf16_f32: ExpertsSum::load(
                device,
                &[&instances::EXPERTS_SUM_BF16_F32],
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
                    &instances::LINEAR_GATED_NVFP4_R16_SILU,
                    &instances::LINEAR_GATED_NVFP4_R1_SILU,
                    &instances::LINEAR_GATED_NVFP4_R2_SILU,
                    &instances::LINEAR_GATED_NVFP4_R4_SILU,
                    &instances::LINEAR_GATED_NVFP4_R8_SILU,
                ],
            )?,
            act_mul: ActMul::load(device, &[&instances::ACT_MUL_SILU])?,
            sigmoid_gate_add: SigmoidGateAdd::load(
                device,
                &[&instances::SIGMOID_GATE_ADD],
            )?,
            add: Add::load(device, &[&instances::ADD])?,
            rope_append: RopeAppend::load(
                device,
                &[&instances::ROPE_APPEND_HD256_RD64_HALVES_QK_BF16],
            )?,
            attention_prefill: AttentionPrefill::load(
                device,
                &[&instances::ATTENTION_PREFILL_BF16_HD256_G16_TQ192_TK128],
            )?,
            attention_decode: AttentionDecode::load(
                device,
                &[&instances::ATTENTION_DECODE_BF16_HD256_G16_TK64],
            )?,
            sigmoid_mul: SigmoidMul::load(device, &[&instances::SIGMOID_MUL])?,
            gather_logit_rows: GatherLogitRows::load(
                device,
                &[&instances::GATHER_LOGIT_ROWS],
            )?,
            argmax: Argmax::load(device, &[&instances::ARGMAX])?,
            sample: Sample::load(device, &[&instances::SAMPLE])?,
        })
    }
}
