//! mistral-small-4-nvfp4 on sm_90a: the kernels of its step.
//! Generated from model-specs/mistral-small-4-nvfp4; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::cuda::{
    Bf16, CudaError, Device, DeviceElement, DeviceWorkspace, F32, Gemm,
};
use tenon_core::dtype::KvDtype;

use super::super::kernels::{
    ActMul, Add, Argmax, Dequantise, Embedding, ExpertTiles, ExpertsDownFew,
    ExpertsDownMany, ExpertsSum, ExpertsUpFew, ExpertsUpMany, GatherLogitRows,
    LatentAppend, Linear, LinearGated, Matmul, MlaAbsorb, MlaCombine, MlaDecode,
    MlaExpand, MlaPrefillExpanded, MlaUp, QueryScale, RmsNorm, RopeAngles, RopeTail,
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
    pub rms_norm_f32_d4096: RmsNorm<F32, 4096>,
    /// x / sqrt(mean(x^2) + eps) * weight, row by row.
    pub rms_norm_bf16_d1024: RmsNorm<Bf16, 1024>,
    /// Rotates the last elements of every head, in place.
    pub rope_tail: RopeTail<128, 64>,
    /// q *= 1 + beta ln(1 + floor(position / original)), in place.
    pub query_scale: QueryScale,
    /// Norms latents, rotates their last elements, and writes both to the paged cache.
    pub latent_append: LatentAppend<256, 64, D>,
    /// Keys and values of every head from the latents of whole contexts: [K c, rotated part] and V c.
    pub mla_expand: MlaExpand<D, 64, 64, 128, 256>,
    /// Latent attention in expanded form: causal attention over keys and values that mla_expand has made.
    pub mla_prefill_expanded: MlaPrefillExpanded<64, 64, 128>,
    /// Queries of latent attention move into the space of latents, K^T q per head; the rotated part stays as it is.
    pub mla_absorb: MlaAbsorb<64, 64, 256>,
    /// Latent attention of spans of one token in absorbed form, the context in parts.
    pub mla_decode: MlaDecode<D, 256, 64>,
    /// The parts that mla_decode left of each context become one output.
    pub mla_combine: MlaCombine<256>,
    /// What latent attention gathered becomes the output of each head, V o.
    pub mla_up: MlaUp<256, 128>,
    /// The experts of each token and their weights.
    pub route: Route<128>,
    /// The first products of experts and what stands between the products, for 16 tokens at most.
    pub experts_up_few: ExpertsUpFew,
    /// The last product of experts, for 16 tokens at most.
    pub experts_down_few: ExpertsDownFew,
    /// For each token the sum of its experts' rows by weight, in the order of the routes.
    pub experts_sum_f32_f32: ExpertsSum<F32, F32>,
    /// The pairs of tokens and experts sorted by expert, and tiles of at most 128 of one expert.
    pub expert_tiles: ExpertTiles<128>,
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
                        &instances::LINEAR_NVFP4_R1,
                        &instances::LINEAR_NVFP4_R16,
                        &instances::LINEAR_NVFP4_R2,
                        &instances::LINEAR_NVFP4_R4,
                        &instances::LINEAR_NVFP4_R8,
                    ],
                )?,
                Gemm::new(device)?,
                Some(Dequantise::load(device, &[&instances::DEQUANTISE_NVFP4])?),
                DeviceWorkspace::new(device, matrix_elements)?,
            ),
            embedding: Embedding::load(
                device,
                &[&instances::EMBEDDING_BF16, &instances::EMBEDDING_NVFP4],
            )?,
            rope_angles: RopeAngles::load(device, &[&instances::ROPE_ANGLES])?,
            rms_norm_f32_d4096: RmsNorm::load(
                device,
                &[&instances::RMS_NORM_F32_D4096],
            )?,
            rms_norm_bf16_d1024: RmsNorm::load(
                device,
                &[&instances::RMS_NORM_BF16_D1024],
            )?,
            rope_tail: RopeTail::load(
                device,
                &[&instances::ROPE_TAIL_HD128_RD64_INTERLEAVED],
            )?,
            query_scale: QueryScale::load(device, &[&instances::QUERY_SCALE])?,
            latent_append: LatentAppend::load(
                device,
                &[&instances::LATENT_APPEND_KLR256_QRHD64_INTERLEAVED_BF16],
            )?,
            mla_expand: MlaExpand::load(
                device,
                &[&instances::MLA_EXPAND_BF16_QNHD64_QRHD64_VHD128_KLR256_PREFILL],
            )?,
            mla_prefill_expanded: MlaPrefillExpanded::load(
                device,
                &[&instances::MLA_PREFILL_EXPANDED_QNHD64_QRHD64_VHD128_PREFILL],
            )?,
            mla_absorb: MlaAbsorb::load(
                device,
                &[&instances::MLA_ABSORB_QNHD64_QRHD64_KLR256_DECODE],
            )?,
            mla_decode: MlaDecode::load(
                device,
                &[&instances::MLA_DECODE_BF16_KLR256_QRHD64],
            )?,
            mla_combine: MlaCombine::load(device, &[&instances::MLA_COMBINE_KLR256])?,
            mla_up: MlaUp::load(device, &[&instances::MLA_UP_KLR256_VHD128_DECODE])?,
            route: Route::load(device, &[&instances::ROUTE_E128])?,
            experts_up_few: ExpertsUpFew::load(
                device,
                &[
                    &instances::EXPERTS_UP_FEW_BF16_GATED_SILU,
                    &instances::EXPERTS_UP_FEW_NVFP4_GATED_SILU,
                ],
            )?,
            experts_down_few: ExpertsDownFew::load(
                device,
                &[&instances::EXPERTS_DOWN_FEW_BF16, &instances::EXPERTS_DOWN_FEW_NVFP4],
            )?,
            experts_sum_f32_f32: ExpertsSum::load(
                device,
                &[&instances::EXPERTS_SUM_F32_F32],
            )?,
            expert_tiles: ExpertTiles::load(device, &[&instances::EXPERT_TILES_E128])?,
            experts_up_many: ExpertsUpMany::load(
                device,
                &[
                    &instances::EXPERTS_UP_MANY_BF16_GATED_SILU,
                    &instances::EXPERTS_UP_MANY_NVFP4_GATED_SILU,
                ],
            )?,
            experts_down_many: ExpertsDownMany::load(
                device,
                &[
                    &instances::EXPERTS_DOWN_MANY_BF16,
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
                    &instances::LINEAR_GATED_NVFP4_R16_SILU,
                    &instances::LINEAR_GATED_NVFP4_R1_SILU,
                    &instances::LINEAR_GATED_NVFP4_R2_SILU,
                    &instances::LINEAR_GATED_NVFP4_R4_SILU,
                    &instances::LINEAR_GATED_NVFP4_R8_SILU,
                ],
            )?,
            act_mul: ActMul::load(device, &[&instances::ACT_MUL_SILU])?,
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
