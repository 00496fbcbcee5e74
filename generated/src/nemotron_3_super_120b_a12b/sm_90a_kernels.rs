//! nemotron-3-super-120b-a12b on sm_90a: the kernels of its step.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Bf16, CudaError, Device, DeviceElement, DeviceWorkspace, F32, Gemm,
};
use tenon_core::dtype::KvDtype;

use super::super::kernels::{
    Act, Add, Argmax, AttentionDecode, AttentionPrefill, CausalConvDecode,
    CausalConvPrefill, Dequantise, Embedding, ExpertTiles, ExpertsDownFew,
    ExpertsDownMany, ExpertsSum, ExpertsUpFew, ExpertsUpMany, GatedGroupNorm,
    GatherLogitRows, KvAppend, Linear, Mamba2Scan, Mamba2Update, Matmul, RmsNorm, Route,
    Sample, instances,
};

/// Every kernel of a step, with a cache of dtype `D`.
pub struct Kernels<D: KvDtype + DeviceElement> {
    /// Products of weights and rows.
    pub matmul: Matmul,
    /// Rows of the embedding, dequantised.
    pub embedding: Embedding,
    /// x / sqrt(mean(x^2) + eps) * weight, row by row.
    pub rms_norm: RmsNorm<F32, 4096>,
    /// Depthwise causal convolution, bias and silu over spans of several tokens; the last inputs stay in the state.
    pub causal_conv_prefill: CausalConvPrefill<4>,
    /// Depthwise causal convolution, bias and silu over spans of one token; the last inputs stay in the state.
    pub causal_conv_decode: CausalConvDecode<4>,
    /// The recurrence of Mamba2 over spans of several tokens, in chunks (arXiv 2405.21060, section 6).
    pub mamba2_scan: Mamba2Scan<64, 128, 64>,
    /// The recurrence of Mamba2 over spans of one token: s = exp(d A) s + B d x, y = C s + D x.
    pub mamba2_update: Mamba2Update<64, 128>,
    /// RMS norm of y silu(z) in each group of channels, in place.
    pub gated_group_norm: GatedGroupNorm<8192, 8>,
    /// The experts of each token and their weights.
    pub route: Route<512>,
    /// The first products of experts and what stands between the products, for 16 tokens at most.
    pub experts_up_few: ExpertsUpFew,
    /// The last product of experts, for 16 tokens at most.
    pub experts_down_few: ExpertsDownFew,
    /// For each token the sum of its experts' rows by weight, in the order of the routes.
    pub experts_sum_f32_bf16: ExpertsSum<F32, Bf16>,
    /// The pairs of tokens and experts sorted by expert, and tiles of at most 128 of one expert.
    pub expert_tiles: ExpertTiles<512>,
    /// The first products of experts and what stands between the products, for many tokens: tiles of the pairs sorted by expert.
    pub experts_up_many: ExpertsUpMany,
    /// The last product of experts, for many tokens: tiles of the pairs sorted by expert.
    pub experts_down_many: ExpertsDownMany,
    /// For each token the sum of its experts' rows by weight, in the order of the routes.
    pub experts_sum_bf16_bf16: ExpertsSum<Bf16, Bf16>,
    /// x = act(x), in place.
    pub act: Act,
    /// x += y.
    pub add: Add,
    /// Writes keys and values to the paged cache, rounded to its dtype.
    pub kv_append: KvAppend<128, D>,
    /// Causal attention of spans of several tokens over the paged cache: tiles of query rows, with or without a window, sinks and a soft cap.
    pub attention_prefill: AttentionPrefill<D, 128, 16, 192, 128>,
    /// Causal attention of spans of one token over the paged cache, in parts of the context that the last thread block adds up.
    pub attention_decode: AttentionDecode<D, 128, 16, 64>,
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
            rms_norm: RmsNorm::load(device, &[&instances::RMS_NORM_F32_D4096])?,
            causal_conv_prefill: CausalConvPrefill::load(
                device,
                &[&instances::CAUSAL_CONV_PREFILL_CK4],
            )?,
            causal_conv_decode: CausalConvDecode::load(
                device,
                &[&instances::CAUSAL_CONV_DECODE_CK4],
            )?,
            mamba2_scan: Mamba2Scan::load(
                device,
                &[&instances::MAMBA2_SCAN_HD64_S128_C64],
            )?,
            mamba2_update: Mamba2Update::load(
                device,
                &[&instances::MAMBA2_UPDATE_HD64_S128],
            )?,
            gated_group_norm: GatedGroupNorm::load(
                device,
                &[&instances::GATED_GROUP_NORM_D8192_G8],
            )?,
            route: Route::load(device, &[&instances::ROUTE_E512])?,
            experts_up_few: ExpertsUpFew::load(
                device,
                &[
                    &instances::EXPERTS_UP_FEW_BF16_PLAIN_RELU2,
                    &instances::EXPERTS_UP_FEW_F16_PLAIN_RELU2,
                    &instances::EXPERTS_UP_FEW_F32_PLAIN_RELU2,
                    &instances::EXPERTS_UP_FEW_NVFP4_PLAIN_RELU2,
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
            experts_sum_f32_bf16: ExpertsSum::load(
                device,
                &[&instances::EXPERTS_SUM_F32_BF16],
            )?,
            expert_tiles: ExpertTiles::load(device, &[&instances::EXPERT_TILES_E512])?,
            experts_up_many: ExpertsUpMany::load(
                device,
                &[
                    &instances::EXPERTS_UP_MANY_BF16_PLAIN_RELU2,
                    &instances::EXPERTS_UP_MANY_F16_PLAIN_RELU2,
                    &instances::EXPERTS_UP_MANY_F32_PLAIN_RELU2,
                    &instances::EXPERTS_UP_MANY_NVFP4_PLAIN_RELU2,
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
            experts_sum_bf16_bf16: ExpertsSum::load(
                device,
                &[&instances::EXPERTS_SUM_BF16_BF16],
            )?,
            act: Act::load(device, &[&instances::ACT_RELU2])?,
            add: Add::load(device, &[&instances::ADD])?,
            kv_append: KvAppend::load(device, &[&instances::KV_APPEND_HD128_BF16])?,
            attention_prefill: AttentionPrefill::load(
                device,
                &[&instances::ATTENTION_PREFILL_BF16_HD128_G16_TQ192_TK128],
            )?,
            attention_decode: AttentionDecode::load(
                device,
                &[&instances::ATTENTION_DECODE_BF16_HD128_G16_TK64],
            )?,
            gather_logit_rows: GatherLogitRows::load(
                device,
                &[&instances::GATHER_LOGIT_ROWS],
            )?,
            argmax: Argmax::load(device, &[&instances::ARGMAX])?,
            sample: Sample::load(device, &[&instances::SAMPLE])?,
        })
    }
}
