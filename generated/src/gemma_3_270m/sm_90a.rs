//! gemma-3-270m on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

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
    EMBEDDING_SCALE, FULL_SOFTMAX_SCALE, LOCAL_SLIDING_WINDOW, LOCAL_SOFTMAX_SCALE,
    RMS_NORM_EPS,
};

/// Layers 0..5, 6..11, 12..17: local, then mlp.
fn local<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Local,
    kv: &mut DevicePagedKv<D, 1, 256>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- local: gqa, 4 query heads over 1 key-value heads, head_dim 256, normalised q and k, window 512
    k.rms_norm.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 640]
    k.matmul.store(run, &w.q_proj, &s.h, &mut s.q)?; // [tokens, 1024]
    k.matmul.store(run, &w.k_proj, &s.h, &mut s.k)?; // [tokens, 256]
    k.matmul.store(run, &w.v_proj, &s.h, &mut s.v)?; // [tokens, 256]
    k.rope_append.launch::<4, _, _, _, _>(run, &mut s.q, &s.k, &s.v, Some(&w.q_norm), Some(&w.k_norm), RMS_NORM_EPS, &s.angles, kv)?; // norms, 256 of 256 rotated, 2 x [1, 256] per token
    k.attention_prefill.launch::<_, _, 4>(run, &s.q, kv, None, &mut s.attn, LOCAL_SOFTMAX_SCALE.value(), LOCAL_SLIDING_WINDOW, 0.0)?; // [tokens, 4 x 256], spans of several tokens
    k.attention_decode.launch::<_, _, 4>(run, &s.q, kv, None, &mut s.attn, LOCAL_SOFTMAX_SCALE.value(), LOCAL_SLIDING_WINDOW, 0.0, &mut s.attention_parts, &mut s.attention_counters, run.splits(1))?; // [tokens, 4 x 256], spans of one token
    k.matmul.store_f32(run, &w.o_proj, &s.attn, &mut s.o)?; // [tokens, 640]

    // -- mlp: gated_mlp, gelu_pytorch_tanh, 640 -> 2048 -> 640
    k.rms_norm_add_norm.launch(run, &s.o, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.x, &w.pre_feedforward_layernorm, &mut s.h)?; // x += [tokens, 640], and its norm
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.gate_proj, &w.up_proj, &s.h, &mut s.gate, &mut s.up)?; // gelu_pytorch_tanh(gate) * up, [tokens, 2048]
    k.matmul.store_f32(run, &w.down_proj, &s.gate, &mut s.o)?; // [tokens, 640]
    k.rms_norm_add.launch(run, &s.o, &w.post_feedforward_layernorm, RMS_NORM_EPS, &mut s.x)?; // x += [tokens, 640]
    Ok(())
}

/// Layers 5, 11, 17: full, then mlp.
fn full<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Full,
    kv: &mut DevicePagedKv<D, 1, 256>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- full: gqa, 4 query heads over 1 key-value heads, head_dim 256, normalised q and k
    k.rms_norm.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 640]
    k.matmul.store(run, &w.q_proj, &s.h, &mut s.q)?; // [tokens, 1024]
    k.matmul.store(run, &w.k_proj, &s.h, &mut s.k)?; // [tokens, 256]
    k.matmul.store(run, &w.v_proj, &s.h, &mut s.v)?; // [tokens, 256]
    k.rope_append.launch::<4, _, _, _, _>(run, &mut s.q, &s.k, &s.v, Some(&w.q_norm), Some(&w.k_norm), RMS_NORM_EPS, &s.angles_full, kv)?; // norms, 256 of 256 rotated, 2 x [1, 256] per token
    k.attention_prefill.launch::<_, _, 4>(run, &s.q, kv, None, &mut s.attn, FULL_SOFTMAX_SCALE.value(), 0, 0.0)?; // [tokens, 4 x 256], spans of several tokens
    k.attention_decode.launch::<_, _, 4>(run, &s.q, kv, None, &mut s.attn, FULL_SOFTMAX_SCALE.value(), 0, 0.0, &mut s.attention_parts, &mut s.attention_counters, run.splits(1))?; // [tokens, 4 x 256], spans of one token
    k.matmul.store_f32(run, &w.o_proj, &s.attn, &mut s.o)?; // [tokens, 640]

    // -- mlp: gated_mlp, gelu_pytorch_tanh, 640 -> 2048 -> 640
    k.rms_norm_add_norm.launch(run, &s.o, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.x, &w.pre_feedforward_layernorm, &mut s.h)?; // x += [tokens, 640], and its norm
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.gate_proj, &w.up_proj, &s.h, &mut s.gate, &mut s.up)?; // gelu_pytorch_tanh(gate) * up, [tokens, 2048]
    k.matmul.store_f32(run, &w.down_proj, &s.gate, &mut s.o)?; // [tokens, 640]
    k.rms_norm_add.launch(run, &s.o, &w.post_feedforward_layernorm, RMS_NORM_EPS, &mut s.x)?; // x += [tokens, 640]
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
        k.embedding.launch(run, &w.embed_tokens, &mut s.x)?; // [tokens, 640]
        k.scale.launch(run, &mut s.x, EMBEDDING_SCALE)?; // [tokens, 640]
        k.rope_angles.launch::<256>(run, s.angles.compute(run.rows()))?; // cosines and sines, [tokens, 128] each
        k.rope_angles.launch::<256>(run, s.angles_full.compute(run.rows()))?; // cosines and sines, [tokens, 128] each
        for (kind, i) in PATTERN {
            match kind {
                Kind::Local => local(k, &w.local[i], &mut caches.local[i], s, run)?,
                Kind::Full => full(k, &w.full[i], &mut caches.full[i], s, run)?,
            }
        }
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 262144 tokens, tied to the embedding
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 640]
        let head = &run.over_logit_rows();
        k.rms_norm.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 640]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 262144]
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
