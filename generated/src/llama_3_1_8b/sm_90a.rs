//! llama-3.1-8b on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/llama-3.1-8b; edit the TOMLs there, then `cargo build`.

use tenon_core::batch::SequenceSpan;
use tenon_core::cuda::{
    CudaError, DeviceElement, DevicePagedKv, Run, SampledRows, StepBuffer, StepDims,
};
use tenon_core::dtype::KvDtype;
use tenon_core::layers::try_each_layer;

use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, Scratch};
use super::sm_90a_weights::{Block, Weights};
use super::{RMS_NORM_EPS, SOFTMAX_SCALE};

/// Layers 0..32: attention, then mlp.
fn block<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Block,
    kv: &mut DevicePagedKv<D, 8, 128>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: gqa, 32 query heads over 8 key-value heads, head_dim 128
    k.rms_norm.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 4096]
    k.matmul.store(run, &w.q_proj, &s.h, &mut s.q)?; // [tokens, 4096]
    k.matmul.store(run, &w.k_proj, &s.h, &mut s.k)?; // [tokens, 1024]
    k.matmul.store(run, &w.v_proj, &s.h, &mut s.v)?; // [tokens, 1024]
    k.rope_append.launch::<32, _, _, _, _>(run, &mut s.q, &s.k, &s.v, None, None, RMS_NORM_EPS, &s.angles, kv)?; // 128 of 128 rotated, 2 x [8, 128] per token
    k.attention_prefill.launch::<_, _, 32>(run, &s.q, kv, None, &mut s.attn, SOFTMAX_SCALE.value(), 0, 0.0)?; // [tokens, 32 x 128], spans of several tokens
    k.attention_decode.launch::<_, _, 32>(run, &s.q, kv, None, &mut s.attn, SOFTMAX_SCALE.value(), 0, 0.0, &mut s.attention_parts, &mut s.attention_counters, run.splits(8))?; // [tokens, 32 x 128], spans of one token
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 4096]

    // -- mlp: gated_mlp, silu, 4096 -> 14336 -> 4096
    k.rms_norm.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 4096]
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.gate_proj, &w.up_proj, &s.h, &mut s.gate, &mut s.up)?; // silu(gate) * up, [tokens, 14336]
    k.matmul.add(run, &w.down_proj, &s.gate, &mut s.x)?; // x += [tokens, 4096]
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
        k.rope_angles.launch::<128>(run, s.angles.compute(run.rows()))?; // cosines and sines, [tokens, 64] each
        try_each_layer(&w.block, &mut caches.block, |w, kv| block(k, w, kv, s, run))?;
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 128256 tokens
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 4096]
        let head = &run.over_logit_rows();
        k.rms_norm.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 4096]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 128256]
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
