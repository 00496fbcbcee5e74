//! nemotron-3-super-120b-a12b on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

use tenon_core::batch::SequenceSpan;
use tenon_core::cuda::{
    Arg, CudaError, DeviceElement, DeviceMamba2State, DevicePagedKv, Run, SampledRows,
    StepBuffer, StepDims,
};
use tenon_core::dtype::KvDtype;

use super::layers::{Kind, PATTERN};
use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, Scratch};
use super::sm_90a_weights::{BlockAttention, Experts, Mamba, Weights};
use super::{ATTENTION_SOFTMAX_SCALE, MAMBA_TIME_STEP_MIN, RMS_NORM_EPS, ROUTER};

/// 40 of 88 layers: mamba.
fn mamba<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Mamba,
    state: &mut DeviceMamba2State<128, 64, 128, 10240, 4>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- mamba: mamba2, 128 heads x 64, state 128, 8 groups, conv 4, chunks of 128
    k.rms_norm.launch(run, &s.x, &w.norm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 4096]
    k.matmul.store(run, &w.in_proj_z, &s.h, &mut s.z)?; // [tokens, 8192]
    k.matmul.store(run, &w.in_proj_xbc, &s.h, &mut s.xbc)?; // [tokens, 10240]
    k.matmul.store_f32(run, &w.in_proj_dt, &s.h, &mut s.dt)?; // [tokens, 128]
    k.causal_conv_prefill.launch(run, &s.xbc, w.conv1d.arg(), Some(&w.conv1d_bias), state.windows_mut(), &mut s.xbc_conv)?; // silu(conv over 4 tokens), [tokens, 10240], spans of several tokens
    k.causal_conv_decode.launch(run, &s.xbc, w.conv1d.arg(), Some(&w.conv1d_bias), state.windows_mut(), &mut s.xbc_conv)?; // silu(conv over 4 tokens), [tokens, 10240], spans of one token
    k.mamba2_scan.launch::<_, 8, _, _>(run, &s.xbc_conv, &s.dt, &w.a_log, &w.d, &w.dt_bias, MAMBA_TIME_STEP_MIN, state.states_mut(), &mut s.y)?; // [tokens, 128 x 64], spans of several tokens
    k.mamba2_update.launch::<_, 8, _, _>(run, &s.xbc_conv, &s.dt, &w.a_log, &w.d, &w.dt_bias, MAMBA_TIME_STEP_MIN, state.states_mut(), &mut s.y)?; // [tokens, 128 x 64], spans of one token
    k.gated_group_norm.launch(run, &mut s.y, &s.z, &w.gated_norm, RMS_NORM_EPS)?; // norm(y * silu(z)) in 8 groups of 1024
    k.matmul.add(run, &w.out_proj, &s.y, &mut s.x)?; // x += [tokens, 4096]
    Ok(())
}

/// 40 of 88 layers: experts.
fn experts<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Experts,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- experts: moe, 22 of 512 experts x 2688 in latent 1024, shared 5376, relu2
    k.rms_norm.launch(run, &s.x, &w.norm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 4096]
    k.matmul.store_f32(run, &w.router, &s.h, &mut s.router)?; // [tokens, 512]
    k.route.launch(run, &s.router, Some(&w.e_score_correction_bias), &mut s.route_ids, &mut s.route_weights, ROUTER.scores_code(), ROUTER.group_count(), ROUTER.chosen_groups(), ROUTER.group_score_code(), ROUTER.normalise_code(), ROUTER.scaling())?; // 22 of 512 experts per token
    k.matmul.store(run, &w.fc1_latent_proj, &s.h, &mut s.expert_h)?; // [tokens, 1024]
    if run.is_few() {
        k.experts_up_few.launch::<_, 2688, 512, _>(run, &s.expert_h, w.experts.up(), Arg::null(), Arg::null(), &s.route_ids, &mut s.expert_inner, 0.0, 0.0)?; // relu2, [pairs, 2688]
        k.experts_down_few.launch::<1024, 2688, 512, _>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.route_ids, &mut s.expert_parts)?; // [pairs, 1024]
        k.experts_sum_f32_bf16.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.expert_o)?; // [tokens, 1024], the weighted sum of each token's experts
    } else {
        k.expert_tiles.launch(run, &s.route_ids, &mut s.expert_order, &mut s.expert_offsets, &mut s.expert_tiles)?; // pairs by expert
        k.experts_up_many.launch::<_, 2688, 512, 22>(run, &s.expert_h, w.experts.up(), Arg::null(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_inner, 0.0, 0.0)?; // relu2, [pairs, 2688]
        k.experts_down_many.launch::<1024, 2688, 512, 22>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_parts)?; // [pairs, 1024]
        k.experts_sum_bf16_bf16.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.expert_o)?; // [tokens, 1024], the weighted sum of each token's experts
    }
    k.matmul.store_f32(run, &w.fc2_latent_proj, &s.expert_o, &mut s.o)?; // [tokens, 4096]
    k.matmul.store(run, &w.shared_up_proj, &s.h, &mut s.up)?; // [tokens, 5376]
    k.act.launch(run, &mut s.up)?; // relu2, [tokens, 5376]
    k.matmul.add(run, &w.shared_down_proj, &s.up, &mut s.o)?; // o += [tokens, 4096]
    k.add.launch(run, &mut s.x, &s.o)?; // x += [tokens, 4096]
    Ok(())
}

/// Layers 7, 16, 25, 36, 47, 58, 69, 78: attention.
fn block_attention<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &BlockAttention,
    kv: &mut DevicePagedKv<D, 2, 128>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: gqa, 32 query heads over 2 key-value heads, head_dim 128, no rotation
    k.rms_norm.launch(run, &s.x, &w.norm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 4096]
    k.matmul.store(run, &w.q_proj, &s.h, &mut s.q)?; // [tokens, 4096]
    k.matmul.store(run, &w.k_proj, &s.h, &mut s.k)?; // [tokens, 256]
    k.matmul.store(run, &w.v_proj, &s.h, &mut s.v)?; // [tokens, 256]
    k.kv_append.launch(run, &s.k, &s.v, kv)?; // 2 x [2, 128] per token
    k.attention_prefill.launch::<_, _, 32>(run, &s.q, kv, None, &mut s.attn, ATTENTION_SOFTMAX_SCALE.value(), 0, 0.0)?; // [tokens, 32 x 128], spans of several tokens
    k.attention_decode.launch::<_, _, 32>(run, &s.q, kv, None, &mut s.attn, ATTENTION_SOFTMAX_SCALE.value(), 0, 0.0, &mut s.attention_parts, &mut s.attention_counters, run.splits(2))?; // [tokens, 32 x 128], spans of one token
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 4096]
    Ok(())
}

/// What lies on the device.
pub struct Resident<D: KvDtype + DeviceElement> {
    pub weights: Weights,
    pub caches: Caches<D>,
    pub scratch: Scratch,
    pub kernels: Kernels<D>,
    pub step: StepBuffer,
    pub sampled: SampledRows,
}

/// What a step ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Rows of logits.
    Logits,
    /// The most likely token of each row.
    Greedy,
    /// A token of each row, as the row says.
    Sampled,
}

impl<D: KvDtype + DeviceElement> Resident<D> {
    /// Launches a step over the tokens that the step buffer was filled with.
    pub fn launch(
        &mut self,
        dims: StepDims,
        spans: &[SequenceSpan],
        choice: Choice,
    ) -> Result<(), CudaError> {
        let Self { weights: w, caches, scratch: s, kernels: k, step, sampled } = self;
        let run = &Run::new(step, dims, spans);
        k.embedding.launch(run, &w.embed_tokens, &mut s.x)?; // [tokens, 4096]
        for (kind, i) in PATTERN {
            match kind {
                Kind::Mamba => mamba(k, &w.mamba[i], &mut caches.mamba[i], s, run)?,
                Kind::Experts => experts(k, &w.experts[i], s, run)?,
                Kind::BlockAttention => {
                    block_attention(
                        k,
                        &w.block_attention[i],
                        &mut caches.block_attention[i],
                        s,
                        run,
                    )?
                }
            }
        }
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 131072 tokens
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 4096]
        let head = &run.over_logit_rows();
        k.rms_norm.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 4096]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 131072]
        match choice {
            Choice::Logits => {}
            Choice::Greedy => {
                k.argmax.launch(head, &s.logits, sampled.ids_mut(head.rows()))?;
            }
            Choice::Sampled => {
                let [temperature, top_k, top_p, random, ids] = sampled
                    .args_mut(head.rows());
                k.sample.launch(head, &s.logits, temperature, top_k, top_p, random, ids)?;
            }
        }
        Ok(())
    }
}
