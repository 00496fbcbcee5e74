//! nemotron-3-super-120b-a12b on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/nemotron-3-super-120b-a12b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits, SequenceSpan, SnapshotId, StateSlot};
use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Arg, Bf16, Buckets, CudaError, Device, DeviceElement, DeviceMamba2State,
    DevicePagedKv, Graphs, Run, SampledRows, StepBuffer, StepDims, Turn,
};
use tenon_core::dtype::{KvDtype, KvDtypeName};
use tenon_core::model::{
    LoadOptions, Logits, Memory, Model, ModelInfo, RowSampling, SampledModel, StateError,
    StepError,
};
use tenon_core::weights::{Checkpoint, LoadError};

use super::layers::{Kind, PATTERN};
use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, PLAN, Scratch};
use super::sm_90a_weights::{BlockAttention, Experts, Mamba, Weights};
use super::{
    ATTENTION_SOFTMAX_SCALE, INFO, MAMBA_TIME_STEP_MIN, MAX_POSITION_EMBEDDINGS,
    RMS_NORM_EPS, ROUTER, VOCAB_SIZE,
};

/// 40 of 88 layers: mamba.
fn mamba<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Mamba,
    state: &mut DeviceMamba2State<128, 64, 128, 10240, 4>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- mamba: mamba2, 128 heads x 64, state 128, 8 groups, conv 4, chunks of 128
    k.rms_norm.launch(run, &s.x, &w.norm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 4096]
    k.matmul.store(run, &w.in_proj_z, &s.h, &mut s.z)?; // [tokens, 8192]
    k.matmul.store(run, &w.in_proj_xbc, &s.h, &mut s.xbc)?; // [tokens, 10240]
    k.matmul.store_f32(run, &w.in_proj_dt, &s.h, &mut s.dt)?; // [tokens, 128]
    k.causal_conv_prefill.launch(run, &s.xbc, w.conv1d.arg(), Some(&w.conv1d_bias), state.windows_mut(), &mut s.xbc_conv)?; // silu(conv over 4 tokens), [tokens, 10240], spans of several tokens
    k.causal_conv_decode.launch(run, &s.xbc, w.conv1d.arg(), Some(&w.conv1d_bias), state.windows_mut(), &mut s.xbc_conv)?; // silu(conv over 4 tokens), [tokens, 10240], spans of one token
    k.mamba2_scan.launch::<_, 8, _, _>(run, &s.xbc_conv, &s.dt, &w.a_log, &w.d, &w.dt_bias, MAMBA_TIME_STEP_MIN, state.states_mut(), &mut s.y)?; // [tokens, 128 x 64], spans of several tokens
    k.mamba2_update.launch::<_, 8, _, _>(run, &s.xbc_conv, &s.dt, &w.a_log, &w.d, &w.dt_bias, MAMBA_TIME_STEP_MIN, state.states_mut(), &mut s.y)?; // [tokens, 128 x 64], spans of one token
    k.gated_group_norm.launch(run, &mut s.y, &s.z, &w.gated_norm, RMS_NORM_EPS)?; // norm(y * silu(z)) in 8 groups of 1024
    k.matmul.add(run, &w.out_proj, &s.y, &mut s.x)?; // x += [tokens, 4096]
    Ok(())
}

/// 40 of 88 layers: experts.
fn experts<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Experts,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- experts: moe, 22 of 512 experts x 2688 in latent 1024, shared 5376, relu2
    k.rms_norm.launch(run, &s.x, &w.norm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 4096]
    k.matmul.store_f32(run, &w.router, &s.h, &mut s.router)?; // [tokens, 512]
    k.route.launch(run, &s.router, Some(&w.e_score_correction_bias), &mut s.route_ids, &mut s.route_weights, ROUTER.scores_code(), ROUTER.group_count(), ROUTER.chosen_groups(), ROUTER.group_score_code(), ROUTER.normalise_code(), ROUTER.scaling())?; // 22 of 512 experts per token
    k.matmul.store(run, &w.fc1_latent_proj, &s.h, &mut s.expert_h)?; // [tokens, 1024]
    if run.is_few() {
        k.experts_up_few.launch::<_, 2688, 512, _>(run, &s.expert_h, w.experts.up(), Arg::null(), Arg::null(), &s.route_ids, &mut s.expert_inner, 0.0, 0.0)?; // relu2, [pairs, 2688]
        k.experts_down_few.launch::<1024, 2688, 512, _>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.route_ids, &mut s.expert_parts)?; // [pairs, 1024]
        k.experts_sum_f32_bf16.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.expert_o)?; // [tokens, 1024], the weighted sum of each token's experts
    } else {
        k.expert_tiles.launch(run, &s.route_ids, &mut s.expert_order, &mut s.expert_offsets, &mut s.expert_tiles)?; // pairs by expert
        k.experts_up_many.launch::<_, 2688, 512, 22>(run, &s.expert_h, w.experts.up(), Arg::null(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_inner, 0.0, 0.0)?; // relu2, [pairs, 2688]
        k.experts_down_many.launch::<1024, 2688, 512, 22>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_parts)?; // [pairs, 1024]
        k.experts_sum_bf16_bf16.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.expert_o)?; // [tokens, 1024], the weighted sum of each token's experts
    }
    k.matmul.store_f32(run, &w.fc2_latent_proj, &s.expert_o, &mut s.o)?; // [tokens, 4096]
    k.matmul.store(run, &w.shared_up_proj, &s.h, &mut s.up)?; // [tokens, 5376]
    k.act.launch(run, &mut s.up)?; // relu2, [tokens, 5376]
    k.matmul.add(run, &w.shared_down_proj, &s.up, &mut s.o)?; // o += [tokens, 4096]
    k.add.launch(run, &mut s.x, &s.o)?; // x += [tokens, 4096]
    Ok(())
}

/// Layers 7, 16, 25, 36, 47, 58, 69, 78: attention.
fn block_attention<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &BlockAttention,
    kv: &mut DevicePagedKv<D, 2, 128>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: gqa, 32 query heads over 2 key-value heads, head_dim 128, no rotation
    k.rms_norm.launch(run, &s.x, &w.norm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 4096]
    k.matmul.store(run, &w.q_proj, &s.h, &mut s.q)?; // [tokens, 4096]
    k.matmul.store(run, &w.k_proj, &s.h, &mut s.k)?; // [tokens, 256]
    k.matmul.store(run, &w.v_proj, &s.h, &mut s.v)?; // [tokens, 256]
    k.kv_append.launch(run, &s.k, &s.v, kv)?; // 2 x [2, 128] per token
    k.attention_prefill.launch::<_, _, 32>(run, &s.q, kv, None, &mut s.attn, ATTENTION_SOFTMAX_SCALE.value(), 0, 0.0)?; // [tokens, 32 x 128], spans of several tokens
    k.attention_decode.launch::<_, _, 32>(run, &s.q, kv, None, &mut s.attn, ATTENTION_SOFTMAX_SCALE.value(), 0, 0.0, &mut s.attention_parts, &mut s.attention_counters, run.splits(2))?; // [tokens, 32 x 128], spans of one token
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 4096]
    Ok(())
}

/// What lies on the device.
struct Resident<D: KvDtype + DeviceElement> {
    weights: Weights,
    caches: Caches<D>,
    scratch: Scratch,
    kernels: Kernels<D>,
    step: StepBuffer,
    sampled: SampledRows,
}

/// What a step ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// Rows of logits.
    Logits,
    /// The most likely token of each row.
    Greedy,
    /// A token of each row, as the row says.
    Sampled,
}

impl<D: KvDtype + DeviceElement> Resident<D> {
    /// Launches a step over the tokens that the step buffer was filled with.
    fn launch(
        &mut self,
        dims: StepDims,
        spans: &[SequenceSpan],
        choice: Choice,
    ) -> Result<(), CudaError> {
        let Self { weights: w, caches, scratch: s, kernels: k, step, sampled } = self;
        let run = &Run::new(step, dims, spans);
        k.embedding.launch(run, &w.embed_tokens, &mut s.x)?; // [tokens, 4096]
        for (kind, i) in PATTERN {
            match kind {
                Kind::Mamba => mamba(k, &w.mamba[i], &mut caches.mamba[i], s, run)?,
                Kind::Experts => experts(k, &w.experts[i], s, run)?,
                Kind::BlockAttention => {
                    block_attention(
                        k,
                        &w.block_attention[i],
                        &mut caches.block_attention[i],
                        s,
                        run,
                    )?
                }
            }
        }
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 131072 tokens
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 4096]
        let head = &run.over_logit_rows();
        k.rms_norm.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 4096]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 131072]
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

impl<D: KvDtype + DeviceElement> OnSm90a<D> {
    /// Runs a step: one token for each sequence as a graph, which is captured the second time, and others launch by launch.
    fn run(&mut self, batch: &Batch, choice: Choice) -> Result<(), StepError> {
        let Self { resident, graphs, buckets, device, .. } = self;
        let bucket = buckets.of_batch(batch);
        let dims = resident.step.fill(batch, bucket)?;
        let Some(bucket) = bucket else {
            return Ok(resident.launch(dims, batch.sequences(), choice)?)
        };
        let graphs = &mut graphs[choice as usize];
        match graphs.turn(bucket) {
            Turn::Launch => resident.launch(dims, batch.sequences(), choice)?,
            Turn::Capture => {
                graphs.capture(device, bucket, || resident.launch(dims, &[], choice))?
            }
            Turn::Replay => graphs.replay(bucket)?,
        }
        Ok(())
    }
}

impl<D: KvDtype + DeviceElement> Model for OnSm90a<D> {
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
        self.run(batch, Choice::Logits)?;
        let Resident { step, scratch, .. } = &mut self.resident;
        step.finish(&scratch.logits, batch.logit_rows().len(), logits)
    }

    fn sampled(&mut self) -> Option<&mut dyn SampledModel> {
        Some(self)
    }

    fn save_state(
        &mut self,
        slot: StateSlot,
        snapshot: SnapshotId,
    ) -> Result<(), StateError> {
        StateError::check(&self.limits, self.snapshots, slot, snapshot)?;
        Ok(self.resident.caches.save(slot, snapshot)?)
    }

    fn restore_state(
        &mut self,
        snapshot: SnapshotId,
        slot: StateSlot,
    ) -> Result<(), StateError> {
        StateError::check(&self.limits, self.snapshots, slot, snapshot)?;
        Ok(self.resident.caches.restore(snapshot, slot)?)
    }
}

impl<D: KvDtype + DeviceElement> SampledModel for OnSm90a<D> {
    fn step_sampled(
        &mut self,
        batch: &Batch,
        rows: &[RowSampling],
        chosen: &mut Vec<Option<u32>>,
    ) -> Result<(), StepError> {
        StepError::check(&self.limits, batch)?;
        assert_eq!(rows.len(), batch.logit_rows().len(), "one for each row of logits");
        let is_greedy = rows.iter().all(|row| row.temperature == 0.0);
        let choice = if is_greedy { Choice::Greedy } else { Choice::Sampled };
        self.resident.sampled.write(rows)?;
        self.run(batch, choice)?;
        let Resident { step, sampled, .. } = &mut self.resident;
        step.end()?;
        *chosen = sampled.read(rows.len())?;
        Ok(())
    }
}

/// The model on a GPU, with a cache of dtype `D`.
struct OnSm90a<D: KvDtype + DeviceElement> {
    graphs: [Graphs; 3],
    buckets: Buckets,
    device: Arc<Device>,
    resident: Resident<D>,
    limits: BatchLimits,
    memory: Memory,
    snapshots: usize,
}

impl<D: KvDtype + DeviceElement> OnSm90a<D> {
    fn new(
        checkpoint: &Arc<Checkpoint>,
        device: &Arc<Device>,
        options: &LoadOptions,
    ) -> Result<Self, LoadError> {
        let limits = options.recurrent_limits(VOCAB_SIZE, MAX_POSITION_EMBEDDINGS)?;
        PLAN.check(&limits)?;
        device.require("sm_90a", (9, 0))?;
        let cpu = Cpu::new(options.threads, options.isa)?;
        let weights = Weights::load(checkpoint, &cpu, device)?;
        let kernels = Kernels::load(device, weights.matrix_elements())?;
        let caches = Caches::new(device, &limits, options.snapshots)?;
        let scratch = Scratch::new(device, &limits)?;
        let step = StepBuffer::new(device, &limits, PLAN.sequences)?;
        let sampled = SampledRows::new(device, limits.max_logit_rows)?;
        let memory = Memory {
            weights: weights.bytes(),
            per_token: weights.bytes() - weights.embed_tokens.bytes(),
            cache: caches.bytes(),
            state: caches.state_bytes(),
            snapshots: caches.snapshot_bytes(),
            scratch: scratch.bytes() + kernels.matmul.bytes() + step.bytes()
                + sampled.bytes(),
            rooms: 0,
        };
        Ok(Self {
            graphs: [Graphs::new(), Graphs::new(), Graphs::new()],
            buckets: Buckets::new(&limits, PLAN.sequences),
            device: Arc::clone(device),
            resident: Resident {
                weights,
                caches,
                scratch,
                kernels,
                step,
                sampled,
            },
            limits,
            memory,
            snapshots: options.snapshots,
        })
    }
}

/// Loads the model onto a GPU, with one of [`SM_90A_KV_CACHE_DTYPES`](super::SM_90A_KV_CACHE_DTYPES).
pub fn load(
    checkpoint: &Arc<Checkpoint>,
    device: &Arc<Device>,
    options: &LoadOptions,
) -> Result<Box<dyn Model>, LoadError> {
    match options.kv_cache_dtype {
        KvDtypeName::Bf16 => {
            Ok(Box::new(OnSm90a::<Bf16>::new(checkpoint, device, options)?))
        }
        other => Err(LoadError::kv_cache_dtype(&INFO, other)),
    }
}
