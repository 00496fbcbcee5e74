//! bard-mla on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/bard-mla; edit the TOMLs there, then `cargo build`.

use tenon_core::batch::SequenceSpan;
use tenon_core::cuda::{
    Arg, CudaError, DeviceElement, DeviceLatentCache, Phase, Run, SampledRows,
    StepBuffer, StepDims,
};
use tenon_core::dtype::KvDtype;
use tenon_core::layers::try_each_layer;

use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, EXPANDED_ROWS, Scratch};
use super::sm_90a_weights::{Block, Weights};
use super::{LATENT_RMS_NORM_EPS, QUERY_SCALE, RMS_NORM_EPS, ROUTER, SOFTMAX_SCALE};

/// Layers 0..6: attention, then experts.
fn block<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Block,
    kv: &mut DeviceLatentCache<D, 64, 32>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: mla, 4 heads, latent 64 + 32 rotated, keys 32 + 32, values 32; prefill expanded, decode absorbed
    k.rms_norm_f32_d192.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 192]
    k.matmul.store(run, &w.q_a_proj, &s.h, &mut s.q_a)?; // [tokens, 96]
    k.rms_norm_bf16_d96.launch(run, &s.q_a, &w.q_a_layernorm, LATENT_RMS_NORM_EPS, &mut s.q_a_h)?; // [tokens, 96]
    k.matmul.store(run, &w.q_b_proj, &s.q_a_h, &mut s.q)?; // [tokens, 256]
    k.matmul.store(run, &w.kv_a_proj, &s.h, &mut s.latent)?; // [tokens, 96]
    k.rope_tail.launch(run, &mut s.q, &s.angles)?; // the last 32 of 64, 4 heads
    k.query_scale.launch(run, &mut s.q, QUERY_SCALE.beta(), QUERY_SCALE.original())?; // grows with the position
    k.latent_append.launch(run, &s.latent, &w.kv_a_layernorm, LATENT_RMS_NORM_EPS, &s.angles, kv)?; // norm of 64, rotation of 32, [64 + 32] per token
    for pass in run.passes(Phase::Prefill, 4, EXPANDED_ROWS) {
        k.mla_expand.launch(run, kv, w.kv_b_proj.keys(), w.kv_b_proj.values(), &mut s.expanded_keys, &mut s.expanded_values, pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // keys and values of the pass
        k.mla_prefill_expanded.launch::<4, _, _>(run, &s.q, &s.expanded_keys, &s.expanded_values, &mut s.attn, SOFTMAX_SCALE.value(), pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // [tokens, 4 x 32], spans of several tokens
    }
    k.mla_absorb.launch::<4, _, _>(run, &s.q, w.kv_b_proj.keys(), &mut s.q_latent)?; // [tokens, 4 x (64 + 32)]
    k.mla_decode.launch::<4, _, _>(run, &s.q_latent, kv, &mut s.o_latent, SOFTMAX_SCALE.value(), &mut s.latent_parts, run.splits(1))?; // [tokens, 4 x 64] in parts, spans of one token
    k.mla_combine.launch::<4, _>(run, &s.latent_parts, &mut s.o_latent, run.splits(1))?; // [tokens, 4 x 64]
    k.mla_up.launch::<4, _, _>(run, &s.o_latent, w.kv_b_proj.values(), &mut s.attn)?; // [tokens, 4 x 32]
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 192]

    // -- experts: moe, 2 of 4 experts x 96, shared 96, silu
    k.rms_norm_f32_d192.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 192]
    k.matmul.store_f32(run, &w.router, &s.h, &mut s.router)?; // [tokens, 4]
    k.route.launch(run, &s.router, None, &mut s.route_ids, &mut s.route_weights, ROUTER.scores_code(), ROUTER.group_count(), ROUTER.chosen_groups(), ROUTER.group_score_code(), ROUTER.normalise_code(), ROUTER.scaling())?; // 2 of 4 experts per token
    if run.is_few() {
        k.experts_up_few.launch::<_, 96, 4, _>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.route_ids, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 96]
        k.experts_down_few.launch::<192, 96, 4, _>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.route_ids, &mut s.expert_parts)?; // [pairs, 192]
        k.experts_sum_f32_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 192], the weighted sum of each token's experts
    } else {
        k.expert_tiles.launch(run, &s.route_ids, &mut s.expert_order, &mut s.expert_offsets, &mut s.expert_tiles)?; // pairs by expert
        k.experts_up_many.launch::<_, 96, 4, 2>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 96]
        k.experts_down_many.launch::<192, 96, 4, 2>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_parts)?; // [pairs, 192]
        k.experts_sum_bf16_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 192], the weighted sum of each token's experts
    }
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.shared_gate_proj, &w.shared_up_proj, &s.h, &mut s.gate, &mut s.up)?; // silu(gate) * up, [tokens, 96]
    k.matmul.add(run, &w.shared_down_proj, &s.gate, &mut s.o)?; // o += [tokens, 192]
    k.add.launch(run, &mut s.x, &s.o)?; // x += [tokens, 192]
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
        k.embedding.launch(run, &w.embed_tokens, &mut s.x)?; // [tokens, 192]
        k.rope_angles.launch::<32>(run, s.angles.compute(run.rows()))?; // cosines and sines, [tokens, 16] each
        try_each_layer(&w.block, &mut caches.block, |w, kv| block(k, w, kv, s, run))?;
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 1024 tokens
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 192]
        let head = &run.over_logit_rows();
        k.rms_norm_f32_d192.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 192]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 1024]
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
