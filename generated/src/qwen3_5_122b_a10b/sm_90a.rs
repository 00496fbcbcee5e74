//! qwen3.5-122b-a10b on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

use tenon_core::batch::SequenceSpan;
use tenon_core::cuda::{
    Arg, CudaError, DeviceDeltaState, DeviceElement, DevicePagedKv, Run, SampledRows,
    StepBuffer, StepDims,
};
use tenon_core::dtype::KvDtype;

use super::layers::{Kind, PATTERN};
use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, Scratch};
use super::sm_90a_weights::{BlockLinear, Full, Weights};
use super::{ATTENTION_SOFTMAX_SCALE, RMS_NORM_EPS, ROUTER};

/// 36 of 48 layers: delta_net, then experts.
fn block_linear<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &BlockLinear,
    state: &mut DeviceDeltaState<64, 128, 128, 12288, 4>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- delta_net: gated_delta_net, 16 key heads x 128, 64 value heads x 128, conv 4
    k.rms_norm.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 3072]
    k.matmul.store(run, &w.in_proj_qkv, &s.h, &mut s.qkv)?; // [tokens, 12288]
    k.matmul.store(run, &w.in_proj_z, &s.h, &mut s.z)?; // [tokens, 8192]
    k.matmul.store_f32(run, &w.in_proj_b, &s.h, &mut s.b)?; // [tokens, 64]
    k.matmul.store_f32(run, &w.in_proj_a, &s.h, &mut s.a)?; // [tokens, 64]
    k.causal_conv_prefill.launch(run, &s.qkv, w.conv1d.arg(), None, state.windows_mut(), &mut s.qkv_conv)?; // silu(conv over 4 tokens), [tokens, 12288], spans of several tokens
    k.causal_conv_decode.launch(run, &s.qkv, w.conv1d.arg(), None, state.windows_mut(), &mut s.qkv_conv)?; // silu(conv over 4 tokens), [tokens, 12288], spans of one token
    k.delta_prefill.launch::<16, _, _, _>(run, &s.qkv_conv, &s.a, &s.b, &w.a_log, &w.dt_bias, state.states_mut(), &mut s.y)?; // [tokens, 64 x 128], spans of several tokens
    k.delta_decode.launch::<16, _, _, _>(run, &s.qkv_conv, &s.a, &s.b, &w.a_log, &w.dt_bias, state.states_mut(), &mut s.y)?; // [tokens, 64 x 128], spans of one token
    k.gated_head_norm.launch(run, &mut s.y, &s.z, &w.gated_norm, RMS_NORM_EPS)?; // norm(y) * silu(z), each of 64 heads of 128
    k.matmul.add(run, &w.out_proj, &s.y, &mut s.x)?; // x += [tokens, 3072]

    // -- experts: moe, 8 of 256 experts x 1024, shared 1024 with gate, silu
    k.rms_norm.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 3072]
    k.matmul.store_f32(run, &w.router, &s.h, &mut s.router)?; // [tokens, 256]
    k.route.launch(run, &s.router, None, &mut s.route_ids, &mut s.route_weights, ROUTER.scores_code(), ROUTER.group_count(), ROUTER.chosen_groups(), ROUTER.group_score_code(), ROUTER.normalise_code(), ROUTER.scaling())?; // 8 of 256 experts per token
    if run.is_few() {
        k.experts_up_few.launch::<_, 1024, 256, _>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.route_ids, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 1024]
        k.experts_down_few.launch::<3072, 1024, 256, _>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.route_ids, &mut s.expert_parts)?; // [pairs, 3072]
        k.experts_sum_f32_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 3072], the weighted sum of each token's experts
    } else {
        k.expert_tiles.launch(run, &s.route_ids, &mut s.expert_order, &mut s.expert_offsets, &mut s.expert_tiles)?; // pairs by expert
        k.experts_up_many.launch::<_, 1024, 256, 8>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 1024]
        k.experts_down_many.launch::<3072, 1024, 256, 8>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_parts)?; // [pairs, 3072]
        k.experts_sum_bf16_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 3072], the weighted sum of each token's experts
    }
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.shared_gate_proj, &w.shared_up_proj, &s.h, &mut s.gate, &mut s.up)?; // silu(gate) * up, [tokens, 1024]
    k.matmul.store_f32(run, &w.shared_down_proj, &s.gate, &mut s.shared)?; // [tokens, 3072]
    k.matmul.store_f32(run, &w.shared_expert_gate, &s.h, &mut s.shared_gate)?; // [tokens, 1]
    k.sigmoid_gate_add.launch(run, &mut s.o, &s.shared_gate, &s.shared)?; // o += sigmoid(shared_gate) * [tokens, 3072]
    k.add.launch(run, &mut s.x, &s.o)?; // x += [tokens, 3072]
    Ok(())
}

/// 12 of 48 layers: attention, then experts.
fn full<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Full,
    kv: &mut DevicePagedKv<D, 2, 256>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: gqa, 32 query heads over 2 key-value heads, head_dim 256, normalised q and k, gated output
    k.rms_norm.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 3072]
    k.matmul.store(run, &w.q_proj, &s.h, &mut s.q)?; // [tokens, 8192]
    k.matmul.store(run, &w.q_gate, &s.h, &mut s.attn_gate)?; // [tokens, 8192]
    k.matmul.store(run, &w.k_proj, &s.h, &mut s.k)?; // [tokens, 512]
    k.matmul.store(run, &w.v_proj, &s.h, &mut s.v)?; // [tokens, 512]
    k.rope_append.launch::<32, _, _, _, _>(run, &mut s.q, &s.k, &s.v, Some(&w.q_norm), Some(&w.k_norm), RMS_NORM_EPS, &s.angles, kv)?; // norms, 64 of 256 rotated, 2 x [2, 256] per token
    k.attention_prefill.launch::<_, _, 32>(run, &s.q, kv, None, &mut s.attn, ATTENTION_SOFTMAX_SCALE.value(), 0, 0.0)?; // [tokens, 32 x 256], spans of several tokens
    k.attention_decode.launch::<_, _, 32>(run, &s.q, kv, None, &mut s.attn, ATTENTION_SOFTMAX_SCALE.value(), 0, 0.0, &mut s.attention_parts, &mut s.attention_counters, run.splits(2))?; // [tokens, 32 x 256], spans of one token
    k.sigmoid_mul.launch(run, &mut s.attn, &s.attn_gate)?; // attn * sigmoid(attn_gate), [tokens, 8192]
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 3072]

    // -- experts: moe, 8 of 256 experts x 1024, shared 1024 with gate, silu
    k.rms_norm.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 3072]
    k.matmul.store_f32(run, &w.router, &s.h, &mut s.router)?; // [tokens, 256]
    k.route.launch(run, &s.router, None, &mut s.route_ids, &mut s.route_weights, ROUTER.scores_code(), ROUTER.group_count(), ROUTER.chosen_groups(), ROUTER.group_score_code(), ROUTER.normalise_code(), ROUTER.scaling())?; // 8 of 256 experts per token
    if run.is_few() {
        k.experts_up_few.launch::<_, 1024, 256, _>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.route_ids, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 1024]
        k.experts_down_few.launch::<3072, 1024, 256, _>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.route_ids, &mut s.expert_parts)?; // [pairs, 3072]
        k.experts_sum_f32_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 3072], the weighted sum of each token's experts
    } else {
        k.expert_tiles.launch(run, &s.route_ids, &mut s.expert_order, &mut s.expert_offsets, &mut s.expert_tiles)?; // pairs by expert
        k.experts_up_many.launch::<_, 1024, 256, 8>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 1024]
        k.experts_down_many.launch::<3072, 1024, 256, 8>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_parts)?; // [pairs, 3072]
        k.experts_sum_bf16_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 3072], the weighted sum of each token's experts
    }
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.shared_gate_proj, &w.shared_up_proj, &s.h, &mut s.gate, &mut s.up)?; // silu(gate) * up, [tokens, 1024]
    k.matmul.store_f32(run, &w.shared_down_proj, &s.gate, &mut s.shared)?; // [tokens, 3072]
    k.matmul.store_f32(run, &w.shared_expert_gate, &s.h, &mut s.shared_gate)?; // [tokens, 1]
    k.sigmoid_gate_add.launch(run, &mut s.o, &s.shared_gate, &s.shared)?; // o += sigmoid(shared_gate) * [tokens, 3072]
    k.add.launch(run, &mut s.x, &s.o)?; // x += [tokens, 3072]
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
        k.embedding.launch(run, &w.embed_tokens, &mut s.x)?; // [tokens, 3072]
        k.rope_angles.launch::<64>(run, s.angles.compute(run.rows()))?; // cosines and sines, [tokens, 32] each
        for (kind, i) in PATTERN {
            match kind {
                Kind::BlockLinear => {
                    block_linear(
                        k,
                        &w.block_linear[i],
                        &mut caches.block_linear[i],
                        s,
                        run,
                    )?
                }
                Kind::Full => full(k, &w.full[i], &mut caches.full[i], s, run)?,
            }
        }
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 248320 tokens
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 3072]
        let head = &run.over_logit_rows();
        k.rms_norm.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 3072]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 248320]
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
