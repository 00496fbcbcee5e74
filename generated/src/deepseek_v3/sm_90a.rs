//! deepseek-v3 on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/deepseek-v3; edit the TOMLs there, then `cargo build`.

use tenon_core::batch::SequenceSpan;
use tenon_core::cuda::{
    Arg, CudaError, DeviceElement, DeviceLatentCache, Phase, Run, SampledRows,
    StepBuffer, StepDims,
};
use tenon_core::dtype::KvDtype;
use tenon_core::layers::try_each_layer;

use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, EXPANDED_ROWS, Scratch};
use super::sm_90a_weights::{Dense, Sparse, Weights};
use super::{EXPERTS_ROUTER, LATENT_RMS_NORM_EPS, RMS_NORM_EPS, SOFTMAX_SCALE};

/// Layers 0..3: attention, then mlp.
fn dense<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Dense,
    kv: &mut DeviceLatentCache<D, 512, 64>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: mla, 128 heads, latent 512 + 64 rotated, keys 128 + 64, values 128; prefill expanded, decode absorbed
    k.rms_norm_f32_d7168.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 7168]
    k.matmul.store(run, &w.q_a_proj, &s.h, &mut s.q_a)?; // [tokens, 1536]
    k.rms_norm_bf16_d1536.launch(run, &s.q_a, &w.q_a_layernorm, LATENT_RMS_NORM_EPS, &mut s.q_a_h)?; // [tokens, 1536]
    k.matmul.store(run, &w.q_b_proj, &s.q_a_h, &mut s.q)?; // [tokens, 24576]
    k.matmul.store(run, &w.kv_a_proj, &s.h, &mut s.latent)?; // [tokens, 576]
    k.rope_tail.launch(run, &mut s.q, &s.angles)?; // the last 64 of 192, 128 heads
    k.latent_append.launch(run, &s.latent, &w.kv_a_layernorm, LATENT_RMS_NORM_EPS, &s.angles, kv)?; // norm of 512, rotation of 64, [512 + 64] per token
    for pass in run.passes(Phase::Prefill, 128, EXPANDED_ROWS) {
        k.mla_expand.launch(run, kv, w.kv_b_proj.keys(), w.kv_b_proj.values(), &mut s.expanded_keys, &mut s.expanded_values, pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // keys and values of the pass
        k.mla_prefill_expanded.launch::<128, _, _>(run, &s.q, &s.expanded_keys, &s.expanded_values, &mut s.attn, SOFTMAX_SCALE.value(), pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // [tokens, 128 x 128], spans of several tokens
    }
    k.mla_absorb.launch::<128, _, _>(run, &s.q, w.kv_b_proj.keys(), &mut s.q_latent)?; // [tokens, 128 x (512 + 64)]
    k.mla_decode.launch::<128, _, _>(run, &s.q_latent, kv, &mut s.o_latent, SOFTMAX_SCALE.value(), &mut s.latent_parts, run.splits(2))?; // [tokens, 128 x 512] in parts, spans of one token
    k.mla_combine.launch::<128, _>(run, &s.latent_parts, &mut s.o_latent, run.splits(2))?; // [tokens, 128 x 512]
    k.mla_up.launch::<128, _, _>(run, &s.o_latent, w.kv_b_proj.values(), &mut s.attn)?; // [tokens, 128 x 128]
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 7168]

    // -- mlp: gated_mlp, silu, 7168 -> 18432 -> 7168
    k.rms_norm_f32_d7168.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 7168]
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.gate_proj, &w.up_proj, &s.h, &mut s.gate, &mut s.up)?; // silu(gate) * up, [tokens, 18432]
    k.matmul.add(run, &w.down_proj, &s.gate, &mut s.x)?; // x += [tokens, 7168]
    Ok(())
}

/// Layers 3..61: attention, then experts.
fn sparse<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Sparse,
    kv: &mut DeviceLatentCache<D, 512, 64>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: mla, 128 heads, latent 512 + 64 rotated, keys 128 + 64, values 128; prefill expanded, decode absorbed
    k.rms_norm_f32_d7168.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 7168]
    k.matmul.store(run, &w.q_a_proj, &s.h, &mut s.q_a)?; // [tokens, 1536]
    k.rms_norm_bf16_d1536.launch(run, &s.q_a, &w.q_a_layernorm, LATENT_RMS_NORM_EPS, &mut s.q_a_h)?; // [tokens, 1536]
    k.matmul.store(run, &w.q_b_proj, &s.q_a_h, &mut s.q)?; // [tokens, 24576]
    k.matmul.store(run, &w.kv_a_proj, &s.h, &mut s.latent)?; // [tokens, 576]
    k.rope_tail.launch(run, &mut s.q, &s.angles)?; // the last 64 of 192, 128 heads
    k.latent_append.launch(run, &s.latent, &w.kv_a_layernorm, LATENT_RMS_NORM_EPS, &s.angles, kv)?; // norm of 512, rotation of 64, [512 + 64] per token
    for pass in run.passes(Phase::Prefill, 128, EXPANDED_ROWS) {
        k.mla_expand.launch(run, kv, w.kv_b_proj.keys(), w.kv_b_proj.values(), &mut s.expanded_keys, &mut s.expanded_values, pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // keys and values of the pass
        k.mla_prefill_expanded.launch::<128, _, _>(run, &s.q, &s.expanded_keys, &s.expanded_values, &mut s.attn, SOFTMAX_SCALE.value(), pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // [tokens, 128 x 128], spans of several tokens
    }
    k.mla_absorb.launch::<128, _, _>(run, &s.q, w.kv_b_proj.keys(), &mut s.q_latent)?; // [tokens, 128 x (512 + 64)]
    k.mla_decode.launch::<128, _, _>(run, &s.q_latent, kv, &mut s.o_latent, SOFTMAX_SCALE.value(), &mut s.latent_parts, run.splits(2))?; // [tokens, 128 x 512] in parts, spans of one token
    k.mla_combine.launch::<128, _>(run, &s.latent_parts, &mut s.o_latent, run.splits(2))?; // [tokens, 128 x 512]
    k.mla_up.launch::<128, _, _>(run, &s.o_latent, w.kv_b_proj.values(), &mut s.attn)?; // [tokens, 128 x 128]
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 7168]

    // -- experts: moe, 8 of 256 experts x 2048, shared 2048, silu
    k.rms_norm_f32_d7168.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 7168]
    k.matmul.store_f32(run, &w.router, &s.h, &mut s.router)?; // [tokens, 256]
    k.route.launch(run, &s.router, Some(&w.e_score_correction_bias), &mut s.route_ids, &mut s.route_weights, EXPERTS_ROUTER.scores_code(), EXPERTS_ROUTER.group_count(), EXPERTS_ROUTER.chosen_groups(), EXPERTS_ROUTER.group_score_code(), EXPERTS_ROUTER.normalise_code(), EXPERTS_ROUTER.scaling())?; // 8 of 256 experts per token
    if run.is_few() {
        k.experts_up_few.launch::<_, 2048, 256, _>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.route_ids, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 2048]
        k.experts_down_few.launch::<7168, 2048, 256, _>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.route_ids, &mut s.expert_parts)?; // [pairs, 7168]
        k.experts_sum_f32_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 7168], the weighted sum of each token's experts
    } else {
        k.expert_tiles.launch(run, &s.route_ids, &mut s.expert_order, &mut s.expert_offsets, &mut s.expert_tiles)?; // pairs by expert
        k.experts_up_many.launch::<_, 2048, 256, 8>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 2048]
        k.experts_down_many.launch::<7168, 2048, 256, 8>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_parts)?; // [pairs, 7168]
        k.experts_sum_bf16_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 7168], the weighted sum of each token's experts
    }
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.shared_gate_proj, &w.shared_up_proj, &s.h, &mut s.gate_2048, &mut s.up_2048)?; // silu(gate) * up, [tokens, 2048]
    k.matmul.add(run, &w.shared_down_proj, &s.gate_2048, &mut s.o)?; // o += [tokens, 7168]
    k.add.launch(run, &mut s.x, &s.o)?; // x += [tokens, 7168]
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
        k.embedding.launch(run, &w.embed_tokens, &mut s.x)?; // [tokens, 7168]
        k.rope_angles.launch::<64>(run, s.angles.compute(run.rows()))?; // cosines and sines, [tokens, 32] each
        try_each_layer(&w.dense, &mut caches.dense, |w, kv| dense(k, w, kv, s, run))?;
        try_each_layer(&w.sparse, &mut caches.sparse, |w, kv| sparse(k, w, kv, s, run))?;
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 129280 tokens
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 7168]
        let head = &run.over_logit_rows();
        k.rms_norm_f32_d7168.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 7168]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 129280]
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
