//! qwen3.5-122b-a10b on the CPU: one step over a batch, layer by layer.
//! Generated from model-specs/qwen3.5-122b-a10b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits, SnapshotId, StateSlot};
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{
    Cpu, add, attention, causal_conv, delta_decode, delta_prefill, gated_head_norm,
    gather_logit_rows, head_norm, rms_norm, rope, route, sigmoid_gate_add, sigmoid_mul,
    silu_mul,
};
use tenon_core::dtype::{Bf16, F32, KvDtype, KvDtypeName};
use tenon_core::model::{
    LoadOptions, Logits, Memory, Model, ModelInfo, StateError, StepError,
};
use tenon_core::moe::Silu;
use tenon_core::state::DeltaState;
use tenon_core::weights::{Checkpoint, LoadError};

use super::cpu_memory::{Caches, Scratch, WORKSPACE};
use super::layers::{Kind, PATTERN};
use super::weights::{BlockLinear, Full, Weights};
use super::{
    ATTENTION_SOFTMAX_SCALE, INFO, MAX_POSITION_EMBEDDINGS, RMS_NORM_EPS, ROUTER,
    VOCAB_SIZE,
};

/// `tile` of `cpu_linear`; KERNEL.toml tunes it.
const TILE: usize = 6;
/// `chunk` of `cpu_delta_prefill`; KERNEL.toml tunes it.
const CHUNK: usize = 64;
/// `tile_q` of `cpu_attention`; KERNEL.toml tunes it.
const TILE_Q: usize = 16;

/// 36 of 48 layers: delta_net, then experts.
fn block_linear(
    w: &BlockLinear,
    state: &mut DeltaState<64, 128, 128, 12288, 4>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- delta_net: gated_delta_net, 16 key heads x 128, 64 value heads x 128, conv 4
    rms_norm(cpu, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 3072]
    w.in_proj_qkv.forward::<TILE>(cpu, &s.h, &mut s.qkv); // [tokens, 12288]
    w.in_proj_z.forward::<TILE>(cpu, &s.h, &mut s.z); // [tokens, 8192]
    w.in_proj_b.forward::<TILE>(cpu, &s.h, &mut s.b); // [tokens, 64]
    w.in_proj_a.forward::<TILE>(cpu, &s.h, &mut s.a); // [tokens, 64]
    causal_conv(cpu, &mut s.qkv, &w.conv1d, state, batch); // silu(conv over 4 tokens), [tokens, 12288]
    delta_prefill::<CHUNK, 16, 64, 128, 128, _, _, _>(cpu, &s.qkv, &s.a, &s.b, &w.a_log, &w.dt_bias, state, batch, &mut s.y); // [tokens, 64 x 128], spans of several tokens
    delta_decode::<16, 64, 128, 128, _, _, _>(cpu, &s.qkv, &s.a, &s.b, &w.a_log, &w.dt_bias, state, batch, &mut s.y); // [tokens, 64 x 128], spans of one token
    gated_head_norm(cpu, &mut s.y, &s.z, &w.gated_norm, RMS_NORM_EPS); // norm(y) * silu(z), each of 64 heads of 128
    w.out_proj.forward_add::<TILE>(cpu, &s.y, &mut s.x); // x += [tokens, 3072]

    // -- experts: moe, 8 of 256 experts x 1024, shared 1024 with gate, silu
    rms_norm(cpu, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 3072]
    w.router.forward::<TILE>(cpu, &s.h, &mut s.router); // [tokens, 256]
    route(cpu, &s.router, ROUTER, &mut s.routes); // 8 of 256 experts per token
    w.experts
        .forward::<TILE, Silu, _>(cpu, &s.h, &s.routes, &mut s.expert_rows, &mut s.o); // [tokens, 3072], the weighted sum of each token's experts
    w.shared_gate_proj.forward::<TILE>(cpu, &s.h, &mut s.gate); // [tokens, 1024]
    w.shared_up_proj.forward::<TILE>(cpu, &s.h, &mut s.up); // [tokens, 1024]
    silu_mul(cpu, &mut s.gate, &s.up); // silu(gate) * up, [tokens, 1024]
    w.shared_down_proj.forward::<TILE>(cpu, &s.gate, &mut s.shared); // [tokens, 3072]
    w.shared_expert_gate.forward::<TILE>(cpu, &s.h, &mut s.shared_gate); // [tokens, 1]
    sigmoid_gate_add(&mut s.o, &s.shared_gate, &s.shared); // o += sigmoid(shared_gate) * [tokens, 3072]
    add(&mut s.x, &s.o); // x += [tokens, 3072]
}

/// 12 of 48 layers: attention, then experts.
fn full<D: KvDtype>(
    w: &Full,
    kv: &mut PagedKv<D, 2, 256>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- attention: gqa, 32 query heads over 2 key-value heads, head_dim 256, normalised q and k, gated output
    rms_norm(cpu, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 3072]
    w.q_proj.forward::<TILE>(cpu, &s.h, &mut s.q); // [tokens, 8192]
    w.q_gate.forward::<TILE>(cpu, &s.h, &mut s.attn_gate); // [tokens, 8192]
    w.k_proj.forward::<TILE>(cpu, &s.h, &mut s.k); // [tokens, 512]
    w.v_proj.forward::<TILE>(cpu, &s.h, &mut s.v); // [tokens, 512]
    head_norm(cpu, &mut s.q, &w.q_norm, RMS_NORM_EPS); // each of 32 heads of 256
    head_norm(cpu, &mut s.k, &w.k_norm, RMS_NORM_EPS); // each of 2 heads of 256
    rope::<256, _, _, _>(cpu, &mut s.q, &s.angles); // 64 of 256, 32 heads
    rope::<256, _, _, _>(cpu, &mut s.k, &s.angles); // 64 of 256, 2 heads
    kv.append(cpu, &s.k, &s.v, batch); // 2 x [2, 256] per token
    attention::<TILE_Q, 32, _, _, _, _>(cpu, &s.q, kv, ATTENTION_SOFTMAX_SCALE, batch, &mut s.attn); // [tokens, 32 x 256]
    sigmoid_mul(cpu, &mut s.attn, &s.attn_gate); // attn * sigmoid(attn_gate), [tokens, 8192]
    w.o_proj.forward_add::<TILE>(cpu, &s.attn, &mut s.x); // x += [tokens, 3072]

    // -- experts: moe, 8 of 256 experts x 1024, shared 1024 with gate, silu
    rms_norm(cpu, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h); // [tokens, 3072]
    w.router.forward::<TILE>(cpu, &s.h, &mut s.router); // [tokens, 256]
    route(cpu, &s.router, ROUTER, &mut s.routes); // 8 of 256 experts per token
    w.experts
        .forward::<TILE, Silu, _>(cpu, &s.h, &s.routes, &mut s.expert_rows, &mut s.o); // [tokens, 3072], the weighted sum of each token's experts
    w.shared_gate_proj.forward::<TILE>(cpu, &s.h, &mut s.gate); // [tokens, 1024]
    w.shared_up_proj.forward::<TILE>(cpu, &s.h, &mut s.up); // [tokens, 1024]
    silu_mul(cpu, &mut s.gate, &s.up); // silu(gate) * up, [tokens, 1024]
    w.shared_down_proj.forward::<TILE>(cpu, &s.gate, &mut s.shared); // [tokens, 3072]
    w.shared_expert_gate.forward::<TILE>(cpu, &s.h, &mut s.shared_gate); // [tokens, 1]
    sigmoid_gate_add(&mut s.o, &s.shared_gate, &s.shared); // o += sigmoid(shared_gate) * [tokens, 3072]
    add(&mut s.x, &s.o); // x += [tokens, 3072]
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
        w.embed_tokens.lookup(cpu, batch, &mut s.x); // [tokens, 3072]
        s.angles.fill(batch); // cosines and sines, [tokens, 32] each
        for (kind, i) in PATTERN {
            match kind {
                Kind::BlockLinear => {
                    block_linear(
                        &w.block_linear[i],
                        &mut caches.block_linear[i],
                        s,
                        batch,
                        cpu,
                    )
                }
                Kind::Full => full(&w.full[i], &mut caches.full[i], s, batch, cpu),
            }
        }

        // -- head: 248320 tokens
        gather_logit_rows(&s.x, batch, &mut s.last); // [logit rows, 3072]
        rms_norm(cpu, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h); // [logit rows, 3072]
        w.lm_head.forward::<TILE>(cpu, &s.last_h, &mut s.logits); // [logit rows, 248320]
        logits.write(&s.logits);
        Ok(())
    }

    fn save_state(
        &mut self,
        slot: StateSlot,
        snapshot: SnapshotId,
    ) -> Result<(), StateError> {
        StateError::check(&self.limits, self.snapshots, slot, snapshot)?;
        self.caches.save(slot, snapshot);
        Ok(())
    }

    fn restore_state(
        &mut self,
        snapshot: SnapshotId,
        slot: StateSlot,
    ) -> Result<(), StateError> {
        StateError::check(&self.limits, self.snapshots, slot, snapshot)?;
        self.caches.restore(snapshot, slot);
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
    snapshots: usize,
}

impl<D: KvDtype> OnCpu<D> {
    fn new(
        checkpoint: &Arc<Checkpoint>,
        options: &LoadOptions,
    ) -> Result<Self, LoadError> {
        let limits = options.recurrent_limits(VOCAB_SIZE, MAX_POSITION_EMBEDDINGS)?;
        let cpu = Cpu::new(options.threads, options.isa)?;
        let weights = Weights::load(checkpoint, &cpu)?;
        let caches = Caches::new(&limits, options.snapshots);
        let scratch = Scratch::new(&limits);
        let memory = Memory {
            weights: weights.bytes(),
            per_token: weights.bytes() - weights.embed_tokens.bytes(),
            cache: caches.bytes(),
            state: caches.state_bytes(),
            snapshots: caches.snapshot_bytes(),
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
            snapshots: options.snapshots,
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
