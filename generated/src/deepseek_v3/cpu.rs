//! deepseek-v3 on the CPU: one step over a batch, layer by layer.
//! Generated from model-specs/deepseek-v3; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits};
use tenon_core::cache::LatentCache;
use tenon_core::cpu::{
    Absorbed, Cpu, Expanded, add, gather_logit_rows, latent_norm, mla_decode,
    mla_prefill, rms_norm, rope_tail, route_biased, silu_mul,
};
use tenon_core::dtype::{Bf16, F32, KvDtype, KvDtypeName};
use tenon_core::layers::each_layer;
use tenon_core::model::{LoadOptions, Logits, Memory, Model, ModelInfo, StepError};
use tenon_core::moe::Silu;
use tenon_core::weights::{Checkpoint, LoadError};

use super::cpu_memory::{Caches, Scratch, WORKSPACE};
use super::weights::{Dense, Sparse, Weights};
use super::{
    EXPERTS_ROUTER, INFO, LATENT_RMS_NORM_EPS, MAX_POSITION_EMBEDDINGS, RMS_NORM_EPS,
    SOFTMAX_SCALE, VOCAB_SIZE,
};

/// `tile` of `cpu_linear`; KERNEL.toml tunes it.
const TILE: usize = 6;

/// Layers 0..3: attention, then mlp.
fn dense<D: KvDtype>(
    w: &Dense,
    kv: &mut LatentCache<D, 512, 64>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- attention: mla, 128 heads, latent 512 + 64 rotated, keys 128 + 64, values 128; prefill expanded, decode absorbed
    rms_norm(cpu, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 7168]
    w.q_a_proj.forward::<TILE>(cpu, &s.h, &mut s.q_a); // [tokens, 1536]
    rms_norm(cpu, &s.q_a, &w.q_a_layernorm, LATENT_RMS_NORM_EPS, &mut s.q_a_h); // [tokens, 1536]
    w.q_b_proj.forward::<TILE>(cpu, &s.q_a_h, &mut s.q); // [tokens, 24576]
    w.kv_a_proj.forward::<TILE>(cpu, &s.h, &mut s.latent); // [tokens, 576]
    latent_norm(cpu, &mut s.latent, &w.kv_a_layernorm, LATENT_RMS_NORM_EPS); // the first 512 of 576
    rope_tail::<192, _, _, _>(cpu, &mut s.q, &s.angles); // the last 64 of 192, 128 heads
    rope_tail::<576, _, _, _>(cpu, &mut s.latent, &s.angles); // the last 64 of 576, 1 heads
    kv.append(cpu, &s.latent, batch); // [512 + 64] per token
    mla_prefill::<Expanded, _, _, _, _, _, _, _, _>(cpu, &s.q, kv, &w.kv_b_proj, SOFTMAX_SCALE, batch, &mut s.attn); // [tokens, 128 x 128], spans of several tokens
    mla_decode::<Absorbed, _, _, _, _, _, _, _, _>(cpu, &s.q, kv, &w.kv_b_proj, SOFTMAX_SCALE, batch, &mut s.attn); // [tokens, 128 x 128], spans of one token
    w.o_proj.forward_add::<TILE>(cpu, &s.attn, &mut s.x); // x += [tokens, 7168]

    // -- mlp: gated_mlp, silu, 7168 -> 18432 -> 7168
    rms_norm(cpu, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 7168]
    w.gate_proj.forward::<TILE>(cpu, &s.h, &mut s.gate); // [tokens, 18432]
    w.up_proj.forward::<TILE>(cpu, &s.h, &mut s.up); // [tokens, 18432]
    silu_mul(cpu, &mut s.gate, &s.up); // silu(gate) * up, [tokens, 18432]
    w.down_proj.forward_add::<TILE>(cpu, &s.gate, &mut s.x); // x += [tokens, 7168]
}

/// Layers 3..61: attention, then experts.
fn sparse<D: KvDtype>(
    w: &Sparse,
    kv: &mut LatentCache<D, 512, 64>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- attention: mla, 128 heads, latent 512 + 64 rotated, keys 128 + 64, values 128; prefill expanded, decode absorbed
    rms_norm(cpu, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 7168]
    w.q_a_proj.forward::<TILE>(cpu, &s.h, &mut s.q_a); // [tokens, 1536]
    rms_norm(cpu, &s.q_a, &w.q_a_layernorm, LATENT_RMS_NORM_EPS, &mut s.q_a_h); // [tokens, 1536]
    w.q_b_proj.forward::<TILE>(cpu, &s.q_a_h, &mut s.q); // [tokens, 24576]
    w.kv_a_proj.forward::<TILE>(cpu, &s.h, &mut s.latent); // [tokens, 576]
    latent_norm(cpu, &mut s.latent, &w.kv_a_layernorm, LATENT_RMS_NORM_EPS); // the first 512 of 576
    rope_tail::<192, _, _, _>(cpu, &mut s.q, &s.angles); // the last 64 of 192, 128 heads
    rope_tail::<576, _, _, _>(cpu, &mut s.latent, &s.angles); // the last 64 of 576, 1 heads
    kv.append(cpu, &s.latent, batch); // [512 + 64] per token
    mla_prefill::<Expanded, _, _, _, _, _, _, _, _>(cpu, &s.q, kv, &w.kv_b_proj, SOFTMAX_SCALE, batch, &mut s.attn); // [tokens, 128 x 128], spans of several tokens
    mla_decode::<Absorbed, _, _, _, _, _, _, _, _>(cpu, &s.q, kv, &w.kv_b_proj, SOFTMAX_SCALE, batch, &mut s.attn); // [tokens, 128 x 128], spans of one token
    w.o_proj.forward_add::<TILE>(cpu, &s.attn, &mut s.x); // x += [tokens, 7168]

    // -- experts: moe, 8 of 256 experts x 2048, shared 2048, silu
    rms_norm(cpu, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 7168]
    w.router.forward::<TILE>(cpu, &s.h, &mut s.router); // [tokens, 256]
    route_biased(
        cpu,
        &s.router,
        EXPERTS_ROUTER,
        &w.e_score_correction_bias,
        &mut s.routes,
    ); // 8 of 256 experts per token
    w.experts
        .forward::<TILE, Silu, _>(cpu, &s.h, &s.routes, &mut s.expert_rows, &mut s.o); // [tokens, 7168], the weighted sum of each token's experts
    w.shared_gate_proj.forward::<TILE>(cpu, &s.h, &mut s.gate_2048); // [tokens, 2048]
    w.shared_up_proj.forward::<TILE>(cpu, &s.h, &mut s.up_2048); // [tokens, 2048]
    silu_mul(cpu, &mut s.gate_2048, &s.up_2048); // silu(gate) * up, [tokens, 2048]
    w.shared_down_proj.forward_add::<TILE>(cpu, &s.gate_2048, &mut s.o); // o += [tokens, 7168]
    add(&mut s.x, &s.o); // x += [tokens, 7168]
}

impl<D: KvDtype> Model for OnCpu<D> {
    fn info(&self) -> &'static ModelInfo {
        &INFO
    }

    fn limits(&self) -> BatchLimits {
        self.limits
    }

    fn memory(&self) -> Memory {
        self.memory
    }

    fn step(&mut self, batch: &Batch, logits: &mut Logits) -> Result<(), StepError> {
        StepError::check(&self.limits, batch)?;
        let Self { weights: w, caches, scratch: s, cpu, .. } = self;
        w.embed_tokens.lookup(cpu, batch, &mut s.x); // [tokens, 7168]
        s.angles.fill(batch); // cosines and sines, [tokens, 32] each
        each_layer(&w.dense, &mut caches.dense, |w, kv| dense(w, kv, s, batch, cpu));
        each_layer(&w.sparse, &mut caches.sparse, |w, kv| sparse(w, kv, s, batch, cpu));

        // -- head: 129280 tokens
        gather_logit_rows(&s.x, batch, &mut s.last); // [logit rows, 7168]
        rms_norm(cpu, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h); // [logit rows, 7168]
        w.lm_head.forward::<TILE>(cpu, &s.last_h, &mut s.logits); // [logit rows, 129280]
        logits.write(&s.logits);
        Ok(())
    }
}

/// The model on the CPU, with a cache of dtype `D`.
struct OnCpu<D: KvDtype> {
    weights: Weights,
    caches: Caches<D>,
    scratch: Scratch,
    cpu: Cpu,
    limits: BatchLimits,
    memory: Memory,
}

impl<D: KvDtype> OnCpu<D> {
    fn new(
        checkpoint: &Arc<Checkpoint>,
        options: &LoadOptions,
    ) -> Result<Self, LoadError> {
        let limits = options.limits(VOCAB_SIZE, MAX_POSITION_EMBEDDINGS, 0)?;
        let cpu = Cpu::new(options.threads, options.isa)?;
        let weights = Weights::load(checkpoint, &cpu)?;
        let caches = Caches::new(&limits);
        let scratch = Scratch::new(&limits);
        let memory = Memory {
            weights: weights.bytes(),
            per_token: weights.bytes() - weights.embed_tokens.bytes(),
            cache: caches.bytes(),
            state: 0,
            snapshots: 0,
            scratch: scratch.bytes(),
            rooms: WORKSPACE.rooms(limits.max_tokens as u64, options.threads as u64)
                as usize,
        };
        Ok(Self {
            weights,
            caches,
            scratch,
            cpu,
            limits,
            memory,
        })
    }
}

/// Loads the model onto the CPU, with one of [`KV_CACHE_DTYPES`](super::KV_CACHE_DTYPES).
pub fn load(
    checkpoint: &Arc<Checkpoint>,
    options: &LoadOptions,
) -> Result<Box<dyn Model>, LoadError> {
    match options.kv_cache_dtype {
        KvDtypeName::Bf16 => Ok(Box::new(OnCpu::<Bf16>::new(checkpoint, options)?)),
        KvDtypeName::F32 => Ok(Box::new(OnCpu::<F32>::new(checkpoint, options)?)),
        other => Err(LoadError::kv_cache_dtype(&INFO, other)),
    }
}
