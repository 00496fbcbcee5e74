//! gpt-oss-20b on the CPU: one step over a batch, layer by layer.
//! Generated from model-specs/gpt-oss-20b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits};
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{
    Cpu, add, add_bias, gather_logit_rows, rms_norm, rope, route, sink_attention,
};
use tenon_core::dtype::{Bf16, F32, KvDtype, KvDtypeName};
use tenon_core::model::{LoadOptions, Logits, Memory, Model, ModelInfo, StepError};
use tenon_core::weights::{Checkpoint, LoadError};

use super::cpu_memory::{Caches, Scratch, WORKSPACE};
use super::layers::{Kind, PATTERN};
use super::weights::{Full, Local, Weights};
use super::{
    FULL_SOFTMAX_SCALE, INFO, LOCAL_SLIDING_WINDOW, LOCAL_SOFTMAX_SCALE,
    MAX_POSITION_EMBEDDINGS, RMS_NORM_EPS, ROUTER, SWIGLU_ALPHA, SWIGLU_LIMIT, VOCAB_SIZE,
};

/// `tile` of `cpu_linear`; KERNEL.toml tunes it.
const TILE: usize = 6;
/// `tile_q` of `cpu_sink_attention`; KERNEL.toml tunes it.
const TILE_Q: usize = 16;

/// 12 of 24 layers: local, then experts.
fn local<D: KvDtype>(
    w: &Local,
    kv: &mut PagedKv<D, 8, 64>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- local: gqa, 64 query heads over 8 key-value heads, head_dim 64, window 128, sinks
    rms_norm(cpu, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 2880]
    w.q_proj.forward::<TILE>(cpu, &s.h, &mut s.q); // [tokens, 4096]
    add_bias(&mut s.q, &w.q_bias); // += [4096]
    w.k_proj.forward::<TILE>(cpu, &s.h, &mut s.k); // [tokens, 512]
    add_bias(&mut s.k, &w.k_bias); // += [512]
    w.v_proj.forward::<TILE>(cpu, &s.h, &mut s.v); // [tokens, 512]
    add_bias(&mut s.v, &w.v_bias); // += [512]
    rope::<64, _, _, _>(cpu, &mut s.q, &s.angles); // 64 of 64, 64 heads
    rope::<64, _, _, _>(cpu, &mut s.k, &s.angles); // 64 of 64, 8 heads
    kv.append(cpu, &s.k, &s.v, batch); // 2 x [8, 64] per token
    sink_attention::<TILE_Q, 64, _, _, _, _>(
        cpu,
        &s.q,
        kv,
        LOCAL_SOFTMAX_SCALE,
        &w.sinks,
        Some(LOCAL_SLIDING_WINDOW),
        batch,
        &mut s.attn,
    ); // [tokens, 64 x 64]
    w.o_proj.forward_add::<TILE>(cpu, &s.attn, &mut s.x); // x += [tokens, 2880]
    add_bias(&mut s.x, &w.o_bias); // += [2880]

    // -- experts: moe, 4 of 32 experts x 2880, clamped swiglu
    rms_norm(cpu, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 2880]
    w.router.forward::<TILE>(cpu, &s.h, &mut s.router); // [tokens, 32]
    add_bias(&mut s.router, &w.router_bias); // += [32]
    route(cpu, &s.router, ROUTER, &mut s.routes); // 4 of 32 experts per token
    w.experts
        .forward_clamped::<TILE, _>(
            cpu,
            &s.h,
            &s.routes,
            SWIGLU_LIMIT,
            SWIGLU_ALPHA,
            &mut s.expert_rows,
            &mut s.o,
        ); // [tokens, 2880], the weighted sum of each token's experts
    add(&mut s.x, &s.o); // x += [tokens, 2880]
}

/// 12 of 24 layers: full, then experts.
fn full<D: KvDtype>(
    w: &Full,
    kv: &mut PagedKv<D, 8, 64>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- full: gqa, 64 query heads over 8 key-value heads, head_dim 64, sinks
    rms_norm(cpu, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 2880]
    w.q_proj.forward::<TILE>(cpu, &s.h, &mut s.q); // [tokens, 4096]
    add_bias(&mut s.q, &w.q_bias); // += [4096]
    w.k_proj.forward::<TILE>(cpu, &s.h, &mut s.k); // [tokens, 512]
    add_bias(&mut s.k, &w.k_bias); // += [512]
    w.v_proj.forward::<TILE>(cpu, &s.h, &mut s.v); // [tokens, 512]
    add_bias(&mut s.v, &w.v_bias); // += [512]
    rope::<64, _, _, _>(cpu, &mut s.q, &s.angles); // 64 of 64, 64 heads
    rope::<64, _, _, _>(cpu, &mut s.k, &s.angles); // 64 of 64, 8 heads
    kv.append(cpu, &s.k, &s.v, batch); // 2 x [8, 64] per token
    sink_attention::<TILE_Q, 64, _, _, _, _>(cpu, &s.q, kv, FULL_SOFTMAX_SCALE, &w.sinks, None, batch, &mut s.attn); // [tokens, 64 x 64]
    w.o_proj.forward_add::<TILE>(cpu, &s.attn, &mut s.x); // x += [tokens, 2880]
    add_bias(&mut s.x, &w.o_bias); // += [2880]

    // -- experts: moe, 4 of 32 experts x 2880, clamped swiglu
    rms_norm(cpu, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 2880]
    w.router.forward::<TILE>(cpu, &s.h, &mut s.router); // [tokens, 32]
    add_bias(&mut s.router, &w.router_bias); // += [32]
    route(cpu, &s.router, ROUTER, &mut s.routes); // 4 of 32 experts per token
    w.experts
        .forward_clamped::<TILE, _>(
            cpu,
            &s.h,
            &s.routes,
            SWIGLU_LIMIT,
            SWIGLU_ALPHA,
            &mut s.expert_rows,
            &mut s.o,
        ); // [tokens, 2880], the weighted sum of each token's experts
    add(&mut s.x, &s.o); // x += [tokens, 2880]
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

    fn any_chunking(&self) -> bool {
        true
    }

    fn step(&mut self, batch: &Batch, logits: &mut Logits) -> Result<(), StepError> {
        StepError::check(&self.limits, batch)?;
        let Self { weights: w, caches, scratch: s, cpu, .. } = self;
        w.embed_tokens.lookup(cpu, batch, &mut s.x); // [tokens, 2880]
        s.angles.fill(batch); // cosines and sines, [tokens, 32] each
        for (kind, i) in PATTERN {
            match kind {
                Kind::Local => local(&w.local[i], &mut caches.local[i], s, batch, cpu),
                Kind::Full => full(&w.full[i], &mut caches.full[i], s, batch, cpu),
            }
        }

        // -- head: 201088 tokens
        gather_logit_rows(&s.x, batch, &mut s.last); // [logit rows, 2880]
        rms_norm(cpu, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h); // [logit rows, 2880]
        w.lm_head.forward::<TILE>(cpu, &s.last_h, &mut s.logits); // [logit rows, 201088]
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
