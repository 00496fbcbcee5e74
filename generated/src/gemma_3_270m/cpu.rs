//! gemma-3-270m on the CPU: one step over a batch, layer by layer.
//! Generated from model-specs/gemma-3-270m; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits};
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{
    Cpu, attention, gather_logit_rows, gelu_tanh_mul, head_norm, rms_norm, rms_norm_add,
    rope, scale, sliding_attention,
};
use tenon_core::dtype::{Bf16, F32, KvDtype, KvDtypeName};
use tenon_core::model::{LoadOptions, Logits, Memory, Model, ModelInfo, StepError};
use tenon_core::weights::{Checkpoint, LoadError};

use super::cpu_memory::{Caches, Scratch, WORKSPACE};
use super::layers::{Kind, PATTERN};
use super::weights::{Full, Local, Weights};
use super::{
    EMBEDDING_SCALE, FULL_SOFTMAX_SCALE, INFO, LOCAL_SLIDING_WINDOW, LOCAL_SOFTMAX_SCALE,
    MAX_POSITION_EMBEDDINGS, RMS_NORM_EPS, VOCAB_SIZE,
};

/// `tile` of `cpu_linear`; KERNEL.toml tunes it.
const TILE: usize = 6;
/// `tile_q` of `cpu_sliding_attention`; KERNEL.toml tunes it.
const TILE_Q: usize = 16;

/// Layers 0..5, 6..11, 12..17: local, then mlp.
fn local<D: KvDtype>(
    w: &Local,
    kv: &mut PagedKv<D, 1, 256>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- local: gqa, 4 query heads over 1 key-value heads, head_dim 256, normalised q and k, window 512
    rms_norm(cpu, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 640]
    w.q_proj.forward::<TILE>(cpu, &s.h, &mut s.q); // [tokens, 1024]
    w.k_proj.forward::<TILE>(cpu, &s.h, &mut s.k); // [tokens, 256]
    w.v_proj.forward::<TILE>(cpu, &s.h, &mut s.v); // [tokens, 256]
    head_norm(cpu, &mut s.q, &w.q_norm, RMS_NORM_EPS); // each of 4 heads of 256
    head_norm(cpu, &mut s.k, &w.k_norm, RMS_NORM_EPS); // each of 1 heads of 256
    rope::<256, _, _, _>(cpu, &mut s.q, &s.angles); // 256 of 256, 4 heads
    rope::<256, _, _, _>(cpu, &mut s.k, &s.angles); // 256 of 256, 1 heads
    kv.append(cpu, &s.k, &s.v, batch); // 2 x [1, 256] per token
    sliding_attention::<TILE_Q, 4, _, _, _, _>(cpu, &s.q, kv, LOCAL_SOFTMAX_SCALE, LOCAL_SLIDING_WINDOW, batch, &mut s.attn); // [tokens, 4 x 256]
    w.o_proj.forward::<TILE>(cpu, &s.attn, &mut s.o); // [tokens, 640]
    rms_norm_add(cpu, &s.o, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.x); // x += [tokens, 640]

    // -- mlp: gated_mlp, gelu_pytorch_tanh, 640 -> 2048 -> 640
    rms_norm(cpu, &s.x, &w.pre_feedforward_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 640]
    w.gate_proj.forward::<TILE>(cpu, &s.h, &mut s.gate); // [tokens, 2048]
    w.up_proj.forward::<TILE>(cpu, &s.h, &mut s.up); // [tokens, 2048]
    gelu_tanh_mul(cpu, &mut s.gate, &s.up); // gelu(gate) * up, [tokens, 2048]
    w.down_proj.forward::<TILE>(cpu, &s.gate, &mut s.o); // [tokens, 640]
    rms_norm_add(cpu, &s.o, &w.post_feedforward_layernorm, RMS_NORM_EPS, &mut s.x); // x += [tokens, 640]
}

/// Layers 5, 11, 17: full, then mlp.
fn full<D: KvDtype>(
    w: &Full,
    kv: &mut PagedKv<D, 1, 256>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- full: gqa, 4 query heads over 1 key-value heads, head_dim 256, normalised q and k
    rms_norm(cpu, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 640]
    w.q_proj.forward::<TILE>(cpu, &s.h, &mut s.q); // [tokens, 1024]
    w.k_proj.forward::<TILE>(cpu, &s.h, &mut s.k); // [tokens, 256]
    w.v_proj.forward::<TILE>(cpu, &s.h, &mut s.v); // [tokens, 256]
    head_norm(cpu, &mut s.q, &w.q_norm, RMS_NORM_EPS); // each of 4 heads of 256
    head_norm(cpu, &mut s.k, &w.k_norm, RMS_NORM_EPS); // each of 1 heads of 256
    rope::<256, _, _, _>(cpu, &mut s.q, &s.angles_full); // 256 of 256, 4 heads
    rope::<256, _, _, _>(cpu, &mut s.k, &s.angles_full); // 256 of 256, 1 heads
    kv.append(cpu, &s.k, &s.v, batch); // 2 x [1, 256] per token
    attention::<TILE_Q, 4, _, _, _, _>(cpu, &s.q, kv, FULL_SOFTMAX_SCALE, batch, &mut s.attn); // [tokens, 4 x 256]
    w.o_proj.forward::<TILE>(cpu, &s.attn, &mut s.o); // [tokens, 640]
    rms_norm_add(cpu, &s.o, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.x); // x += [tokens, 640]

    // -- mlp: gated_mlp, gelu_pytorch_tanh, 640 -> 2048 -> 640
    rms_norm(cpu, &s.x, &w.pre_feedforward_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 640]
    w.gate_proj.forward::<TILE>(cpu, &s.h, &mut s.gate); // [tokens, 2048]
    w.up_proj.forward::<TILE>(cpu, &s.h, &mut s.up); // [tokens, 2048]
    gelu_tanh_mul(cpu, &mut s.gate, &s.up); // gelu(gate) * up, [tokens, 2048]
    w.down_proj.forward::<TILE>(cpu, &s.gate, &mut s.o); // [tokens, 640]
    rms_norm_add(cpu, &s.o, &w.post_feedforward_layernorm, RMS_NORM_EPS, &mut s.x); // x += [tokens, 640]
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
        w.embed_tokens.lookup(cpu, batch, &mut s.x); // [tokens, 640]
        scale(&mut s.x, EMBEDDING_SCALE); // [tokens, 640]
        s.angles.fill(batch); // cosines and sines, [tokens, 128] each
        s.angles_full.fill(batch); // cosines and sines, [tokens, 128] each
        for (kind, i) in PATTERN {
            match kind {
                Kind::Local => local(&w.local[i], &mut caches.local[i], s, batch, cpu),
                Kind::Full => full(&w.full[i], &mut caches.full[i], s, batch, cpu),
            }
        }

        // -- head: 262144 tokens, tied to the embedding
        gather_logit_rows(&s.x, batch, &mut s.last); // [logit rows, 640]
        rms_norm(cpu, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h); // [logit rows, 640]
        w.lm_head.forward::<TILE>(cpu, &s.last_h, &mut s.logits); // [logit rows, 262144]
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
        KvDtypeName::F32 => Ok(Box::new(OnCpu::<F32>::new(checkpoint, options)?)),
        KvDtypeName::Bf16 => Ok(Box::new(OnCpu::<Bf16>::new(checkpoint, options)?)),
        other => Err(LoadError::kv_cache_dtype(&INFO, other)),
    }
}
