//! gpt-oss-20b on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

use tenon_core::batch::SequenceSpan;
use tenon_core::cuda::{
    CudaError, DeviceElement, DevicePagedKv, Run, SampledRows, StepBuffer, StepDims,
};
use tenon_core::dtype::KvDtype;

use super::layers::{Kind, PATTERN};
use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, Scratch};
use super::sm_90a_weights::{Full, Local, Weights};
use super::{
    FULL_SOFTMAX_SCALE, LOCAL_SLIDING_WINDOW, LOCAL_SOFTMAX_SCALE, RMS_NORM_EPS, ROUTER,
    SWIGLU_ALPHA, SWIGLU_LIMIT,
};

/// 12 of 24 layers: local, then experts.
fn local<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Local,
    kv: &mut DevicePagedKv<D, 8, 64>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- local: gqa, 64 query heads over 8 key-value heads, head_dim 64, window 128, sinks
    k.rms_norm.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 2880]
    k.matmul.store(run, &w.q_proj, &s.h, &mut s.q)?; // [tokens, 4096]
    k.add_bias_bf16.launch(run, &mut s.q, &w.q_bias)?; // += [4096]
    k.matmul.store(run, &w.k_proj, &s.h, &mut s.k)?; // [tokens, 512]
    k.add_bias_bf16.launch(run, &mut s.k, &w.k_bias)?; // += [512]
    k.matmul.store(run, &w.v_proj, &s.h, &mut s.v)?; // [tokens, 512]
    k.add_bias_bf16.launch(run, &mut s.v, &w.v_bias)?; // += [512]
    k.rope_append.launch::<64, _, _, _, _>(run, &mut s.q, &s.k, &s.v, None, None, RMS_NORM_EPS, &s.angles, kv)?; // 64 of 64 rotated, 2 x [8, 64] per token
    k.attention_prefill.launch::<_, _, 64>(run, &s.q, kv, Some(&w.sinks), &mut s.attn, LOCAL_SOFTMAX_SCALE.value(), LOCAL_SLIDING_WINDOW, 0.0)?; // [tokens, 64 x 64], spans of several tokens
    k.attention_decode.launch::<_, _, 64>(run, &s.q, kv, Some(&w.sinks), &mut s.attn, LOCAL_SOFTMAX_SCALE.value(), LOCAL_SLIDING_WINDOW, 0.0, &mut s.attention_parts, &mut s.attention_counters, run.splits(8))?; // [tokens, 64 x 64], spans of one token
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 2880]
    k.add_bias_f32.launch(run, &mut s.x, &w.o_bias)?; // += [2880]

    // -- experts: moe, 4 of 32 experts x 2880, clamped swiglu
    k.rms_norm.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 2880]
    k.matmul.store_f32(run, &w.router, &s.h, &mut s.router)?; // [tokens, 32]
    k.add_bias_f32.launch(run, &mut s.router, &w.router_bias)?; // += [32]
    k.route.launch(run, &s.router, None, &mut s.route_ids, &mut s.route_weights, ROUTER.scores_code(), ROUTER.group_count(), ROUTER.chosen_groups(), ROUTER.group_score_code(), ROUTER.normalise_code(), ROUTER.scaling())?; // 4 of 32 experts per token
    if run.is_few() {
        k.experts_up_few.launch::<_, 2880, 32, _>(run, &s.h, w.experts.up(), w.experts.gate_bias(), w.experts.up_bias(), &s.route_ids, &mut s.expert_inner, SWIGLU_LIMIT, SWIGLU_ALPHA)?; // silu, [pairs, 2880]
        k.experts_down_few.launch::<2880, 2880, 32, _>(run, &s.expert_inner, w.experts.down(), w.experts.down_bias(), &s.route_ids, &mut s.expert_parts)?; // [pairs, 2880]
        k.experts_sum_f32_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 2880], the weighted sum of each token's experts
    } else {
        k.expert_tiles.launch(run, &s.route_ids, &mut s.expert_order, &mut s.expert_offsets, &mut s.expert_tiles)?; // pairs by expert
        k.experts_up_many.launch::<_, 2880, 32, 4>(run, &s.h, w.experts.up(), w.experts.gate_bias(), w.experts.up_bias(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_inner, SWIGLU_LIMIT, SWIGLU_ALPHA)?; // silu, [pairs, 2880]
        k.experts_down_many.launch::<2880, 2880, 32, 4>(run, &s.expert_inner, w.experts.down(), w.experts.down_bias(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_parts)?; // [pairs, 2880]
        k.experts_sum_bf16_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 2880], the weighted sum of each token's experts
    }
    k.add.launch(run, &mut s.x, &s.o)?; // x += [tokens, 2880]
    Ok(())
}

/// 12 of 24 layers: full, then experts.
fn full<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Full,
    kv: &mut DevicePagedKv<D, 8, 64>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- full: gqa, 64 query heads over 8 key-value heads, head_dim 64, sinks
    k.rms_norm.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 2880]
    k.matmul.store(run, &w.q_proj, &s.h, &mut s.q)?; // [tokens, 4096]
    k.add_bias_bf16.launch(run, &mut s.q, &w.q_bias)?; // += [4096]
    k.matmul.store(run, &w.k_proj, &s.h, &mut s.k)?; // [tokens, 512]
    k.add_bias_bf16.launch(run, &mut s.k, &w.k_bias)?; // += [512]
    k.matmul.store(run, &w.v_proj, &s.h, &mut s.v)?; // [tokens, 512]
    k.add_bias_bf16.launch(run, &mut s.v, &w.v_bias)?; // += [512]
    k.rope_append.launch::<64, _, _, _, _>(run, &mut s.q, &s.k, &s.v, None, None, RMS_NORM_EPS, &s.angles, kv)?; // 64 of 64 rotated, 2 x [8, 64] per token
    k.attention_prefill.launch::<_, _, 64>(run, &s.q, kv, Some(&w.sinks), &mut s.attn, FULL_SOFTMAX_SCALE.value(), 0, 0.0)?; // [tokens, 64 x 64], spans of several tokens
    k.attention_decode.launch::<_, _, 64>(run, &s.q, kv, Some(&w.sinks), &mut s.attn, FULL_SOFTMAX_SCALE.value(), 0, 0.0, &mut s.attention_parts, &mut s.attention_counters, run.splits(8))?; // [tokens, 64 x 64], spans of one token
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 2880]
    k.add_bias_f32.launch(run, &mut s.x, &w.o_bias)?; // += [2880]

    // -- experts: moe, 4 of 32 experts x 2880, clamped swiglu
    k.rms_norm.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 2880]
    k.matmul.store_f32(run, &w.router, &s.h, &mut s.router)?; // [tokens, 32]
    k.add_bias_f32.launch(run, &mut s.router, &w.router_bias)?; // += [32]
    k.route.launch(run, &s.router, None, &mut s.route_ids, &mut s.route_weights, ROUTER.scores_code(), ROUTER.group_count(), ROUTER.chosen_groups(), ROUTER.group_score_code(), ROUTER.normalise_code(), ROUTER.scaling())?; // 4 of 32 experts per token
    if run.is_few() {
        k.experts_up_few.launch::<_, 2880, 32, _>(run, &s.h, w.experts.up(), w.experts.gate_bias(), w.experts.up_bias(), &s.route_ids, &mut s.expert_inner, SWIGLU_LIMIT, SWIGLU_ALPHA)?; // silu, [pairs, 2880]
        k.experts_down_few.launch::<2880, 2880, 32, _>(run, &s.expert_inner, w.experts.down(), w.experts.down_bias(), &s.route_ids, &mut s.expert_parts)?; // [pairs, 2880]
        k.experts_sum_f32_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 2880], the weighted sum of each token's experts
    } else {
        k.expert_tiles.launch(run, &s.route_ids, &mut s.expert_order, &mut s.expert_offsets, &mut s.expert_tiles)?; // pairs by expert
        k.experts_up_many.launch::<_, 2880, 32, 4>(run, &s.h, w.experts.up(), w.experts.gate_bias(), w.experts.up_bias(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_inner, SWIGLU_LIMIT, SWIGLU_ALPHA)?; // silu, [pairs, 2880]
        k.experts_down_many.launch::<2880, 2880, 32, 4>(run, &s.expert_inner, w.experts.down(), w.experts.down_bias(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_parts)?; // [pairs, 2880]
        k.experts_sum_bf16_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 2880], the weighted sum of each token's experts
    }
    k.add.launch(run, &mut s.x, &s.o)?; // x += [tokens, 2880]
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
        k.embedding.launch(run, &w.embed_tokens, &mut s.x)?; // [tokens, 2880]
        k.rope_angles.launch::<64>(run, s.angles.compute(run.rows()))?; // cosines and sines, [tokens, 32] each
        for (kind, i) in PATTERN {
            match kind {
                Kind::Local => local(k, &w.local[i], &mut caches.local[i], s, run)?,
                Kind::Full => full(k, &w.full[i], &mut caches.full[i], s, run)?,
            }
        }
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 201088 tokens
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 2880]
        let head = &run.over_logit_rows();
        k.rms_norm.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 2880]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 201088]
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
