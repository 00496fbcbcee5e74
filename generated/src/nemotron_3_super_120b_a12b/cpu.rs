//! nemotron-3-super-120b-a12b on the CPU: one step over a batch, layer by layer.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits, SnapshotId, StateSlot};
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{
    Cpu, add, attention, causal_conv_bias, gated_group_norm, gather_logit_rows,
    mamba2_scan, mamba2_update, relu2, rms_norm, route_biased,
};
use tenon_core::dtype::{Bf16, F32, KvDtype, KvDtypeName};
use tenon_core::model::{
    LoadOptions, Logits, Memory, Model, ModelInfo, StateError, StepError,
};
use tenon_core::moe::Relu2;
use tenon_core::state::Mamba2State;
use tenon_core::weights::{Checkpoint, LoadError};

use super::cpu_memory::{Caches, Scratch, WORKSPACE};
use super::layers::{Kind, PATTERN};
use super::weights::{BlockAttention, Experts, Mamba, Weights};
use super::{
    ATTENTION_SOFTMAX_SCALE, INFO, MAMBA_TIME_STEP_MIN, MAX_POSITION_EMBEDDINGS,
    RMS_NORM_EPS, ROUTER, VOCAB_SIZE,
};

/// `tile` of `cpu_linear`; KERNEL.toml tunes it.
const TILE: usize = 6;
/// `tile_q` of `cpu_attention`; KERNEL.toml tunes it.
const TILE_Q: usize = 16;

/// 40 of 88 layers: mamba.
fn mamba(
    w: &Mamba,
    state: &mut Mamba2State<128, 64, 128, 10240, 4>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- mamba: mamba2, 128 heads x 64, state 128, 8 groups, conv 4, chunks of 128
    rms_norm(cpu, &s.x, &w.norm, RMS_NORM_EPS, &mut s.h); // [tokens, 4096]
    w.in_proj_z.forward::<TILE>(cpu, &s.h, &mut s.z); // [tokens, 8192]
    w.in_proj_xbc.forward::<TILE>(cpu, &s.h, &mut s.xbc); // [tokens, 10240]
    w.in_proj_dt.forward::<TILE>(cpu, &s.h, &mut s.dt); // [tokens, 128]
    causal_conv_bias(cpu, &mut s.xbc, &w.conv1d, &w.conv1d_bias, state, batch); // silu(conv over 4 tokens), [tokens, 10240]
    mamba2_scan::<128, 128, 64, 128, 8, _, _, _>(
        cpu,
        &s.xbc,
        &s.dt,
        &w.a_log,
        &w.d,
        &w.dt_bias,
        MAMBA_TIME_STEP_MIN,
        state,
        batch,
        &mut s.y,
    ); // [tokens, 128 x 64], spans of several tokens
    mamba2_update::<128, 64, 128, 8, _, _, _>(
        cpu,
        &s.xbc,
        &s.dt,
        &w.a_log,
        &w.d,
        &w.dt_bias,
        MAMBA_TIME_STEP_MIN,
        state,
        batch,
        &mut s.y,
    ); // [tokens, 128 x 64], spans of one token
    gated_group_norm::<8, _>(cpu, &mut s.y, &s.z, &w.gated_norm, RMS_NORM_EPS); // norm(y * silu(z)) in 8 groups of 1024
    w.out_proj.forward_add::<TILE>(cpu, &s.y, &mut s.x); // x += [tokens, 4096]
}

/// 40 of 88 layers: experts.
fn experts(w: &Experts, s: &mut Scratch, cpu: &Cpu) {
    // -- experts: moe, 22 of 512 experts x 2688 in latent 1024, shared 5376, relu2
    rms_norm(cpu, &s.x, &w.norm, RMS_NORM_EPS, &mut s.h); // [tokens, 4096]
    w.router.forward::<TILE>(cpu, &s.h, &mut s.router); // [tokens, 512]
    route_biased(cpu, &s.router, ROUTER, &w.e_score_correction_bias, &mut s.routes); // 22 of 512 experts per token
    w.fc1_latent_proj.forward::<TILE>(cpu, &s.h, &mut s.expert_h); // [tokens, 1024]
    w.experts
        .forward::<TILE, Relu2, _>(cpu, &s.expert_h, &s.routes, &mut s.expert_rows, &mut s.expert_o); // [tokens, 1024], the weighted sum of each token's experts
    w.fc2_latent_proj.forward::<TILE>(cpu, &s.expert_o, &mut s.o); // [tokens, 4096]
    w.shared_up_proj.forward::<TILE>(cpu, &s.h, &mut s.up); // [tokens, 5376]
    relu2(cpu, &mut s.up); // relu2, [tokens, 5376]
    w.shared_down_proj.forward_add::<TILE>(cpu, &s.up, &mut s.o); // o += [tokens, 4096]
    add(&mut s.x, &s.o); // x += [tokens, 4096]
}

/// Layers 7, 16, 25, 36, 47, 58, 69, 78: attention.
fn block_attention<D: KvDtype>(
    w: &BlockAttention,
    kv: &mut PagedKv<D, 2, 128>,
    s: &mut Scratch,
    batch: &Batch,
    cpu: &Cpu,
) {
    // -- attention: gqa, 32 query heads over 2 key-value heads, head_dim 128, no rotation
    rms_norm(cpu, &s.x, &w.norm, RMS_NORM_EPS, &mut s.h); // [tokens, 4096]
    w.q_proj.forward::<TILE>(cpu, &s.h, &mut s.q); // [tokens, 4096]
    w.k_proj.forward::<TILE>(cpu, &s.h, &mut s.k); // [tokens, 256]
    w.v_proj.forward::<TILE>(cpu, &s.h, &mut s.v); // [tokens, 256]
    kv.append(cpu, &s.k, &s.v, batch); // 2 x [2, 128] per token
    attention::<TILE_Q, 32, _, _, _, _>(cpu, &s.q, kv, ATTENTION_SOFTMAX_SCALE, batch, &mut s.attn); // [tokens, 32 x 128]
    w.o_proj.forward_add::<TILE>(cpu, &s.attn, &mut s.x); // x += [tokens, 4096]
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
        w.embed_tokens.lookup(cpu, batch, &mut s.x); // [tokens, 4096]
        for (kind, i) in PATTERN {
            match kind {
                Kind::Mamba => mamba(&w.mamba[i], &mut caches.mamba[i], s, batch, cpu),
                Kind::Experts => experts(&w.experts[i], s, cpu),
                Kind::BlockAttention => {
                    block_attention(
                        &w.block_attention[i],
                        &mut caches.block_attention[i],
                        s,
                        batch,
                        cpu,
                    )
                }
            }
        }

        // -- head: 131072 tokens
        gather_logit_rows(&s.x, batch, &mut s.last); // [logit rows, 4096]
        rms_norm(cpu, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h); // [logit rows, 4096]
        w.lm_head.forward::<TILE>(cpu, &s.last_h, &mut s.logits); // [logit rows, 131072]
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
