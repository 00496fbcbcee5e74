//! qwen3-0.6b on the CPU: one step over a batch, layer by layer.
//! Generated from model-specs/qwen3-0.6b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits};
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{
    Cpu, attention, gather_logit_rows, head_norm, rms_norm, rope, silu_mul,
};
use tenon_core::dtype::{Bf16, F32, KvDtype, KvDtypeName};
use tenon_core::layers::each_layer;
use tenon_core::model::{LoadOptions, Logits, Memory, Model, ModelInfo, StepError};
use tenon_core::weights::{Checkpoint, LoadError};

use super::cpu_memory::{Caches, Scratch, WORKSPACE};
use super::weights::{Block, Weights};
use super::{INFO, MAX_POSITION_EMBEDDINGS, RMS_NORM_EPS, SOFTMAX_SCALE, VOCAB_SIZE};

/// `tile` of `cpu_linear`; KERNEL.toml tunes it.
const TILE: usize = 6;
/// `tile_q` of `cpu_attention`; KERNEL.toml tunes it.
const TILE_Q: usize = 16;

/// Layers 0..28: attention, then mlp.
fn block<D: KvDtype>(
    w: &Block,
    kv: &mut PagedKv<D, 8, 128>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- attention: gqa, 16 query heads over 8 key-value heads, head_dim 128, normalised q and k
    rms_norm(cpu, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 1024]
    w.q_proj.forward::<TILE>(cpu, &s.h, &mut s.q); // [tokens, 2048]
    w.k_proj.forward::<TILE>(cpu, &s.h, &mut s.k); // [tokens, 1024]
    w.v_proj.forward::<TILE>(cpu, &s.h, &mut s.v); // [tokens, 1024]
    head_norm(cpu, &mut s.q, &w.q_norm, RMS_NORM_EPS); // each of 16 heads of 128
    head_norm(cpu, &mut s.k, &w.k_norm, RMS_NORM_EPS); // each of 8 heads of 128
    rope::<128, _, _, _>(cpu, &mut s.q, &s.angles); // 128 of 128, 16 heads
    rope::<128, _, _, _>(cpu, &mut s.k, &s.angles); // 128 of 128, 8 heads
    kv.append(cpu, &s.k, &s.v, batch); // 2 x [8, 128] per token
    attention::<TILE_Q, 16, _, _, _, _>(cpu, &s.q, kv, SOFTMAX_SCALE, batch, &mut s.attn); // [tokens, 16 x 128]
    w.o_proj.forward_add::<TILE>(cpu, &s.attn, &mut s.x); // x += [tokens, 1024]

    // -- mlp: gated_mlp, silu, 1024 -> 3072 -> 1024
    rms_norm(cpu, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 1024]
    w.gate_proj.forward::<TILE>(cpu, &s.h, &mut s.gate); // [tokens, 3072]
    w.up_proj.forward::<TILE>(cpu, &s.h, &mut s.up); // [tokens, 3072]
    silu_mul(cpu, &mut s.gate, &s.up); // silu(gate) * up, [tokens, 3072]
    w.down_proj.forward_add::<TILE>(cpu, &s.gate, &mut s.x); // x += [tokens, 1024]
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
        w.embed_tokens.lookup(cpu, batch, &mut s.x); // [tokens, 1024]
        s.angles.fill(batch); // cosines and sines, [tokens, 64] each
        each_layer(&w.block, &mut caches.block, |w, kv| block(w, kv, s, batch, cpu));

        // -- head: 151936 tokens, tied to the embedding
        gather_logit_rows(&s.x, batch, &mut s.last); // [logit rows, 1024]
        rms_norm(cpu, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h); // [logit rows, 1024]
        w.lm_head.forward::<TILE>(cpu, &s.last_h, &mut s.logits); // [logit rows, 151936]
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
