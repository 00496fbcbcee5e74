//! deepseek-v3 on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/deepseek-v3; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits, SequenceSpan};
use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Arg, Bf16, Buckets, CudaError, Device, DeviceElement, DeviceLatentCache, Graphs,
    Phase, Run, SampledRows, StepBuffer, StepDims, Turn,
};
use tenon_core::dtype::{KvDtype, KvDtypeName};
use tenon_core::layers::try_each_layer;
use tenon_core::model::{
    LoadOptions, Logits, Memory, Model, ModelInfo, RowSampling, SampledModel, StepError,
};
use tenon_core::weights::{Checkpoint, LoadError};

use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, EXPANDED_ROWS, PLAN, Scratch};
use super::sm_90a_weights::{Dense, Sparse, Weights};
use super::{
    EXPERTS_ROUTER, INFO, LATENT_RMS_NORM_EPS, MAX_POSITION_EMBEDDINGS, RMS_NORM_EPS,
    SOFTMAX_SCALE, VOCAB_SIZE,
};

/// Layers 0..3: attention, then mlp.
fn dense<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Dense,
    kv: &mut DeviceLatentCache<D, 512, 64>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: mla, 128 heads, latent 512 + 64 rotated, keys 128 + 64, values 128; prefill expanded, decode absorbed
    k.rms_norm_f32_d7168.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 7168]
    k.matmul.store(run, &w.q_a_proj, &s.h, &mut s.q_a)?; // [tokens, 1536]
    k.rms_norm_bf16_d1536.launch(run, &s.q_a, &w.q_a_layernorm, LATENT_RMS_NORM_EPS, &mut s.q_a_h)?; // [tokens, 1536]
    k.matmul.store(run, &w.q_b_proj, &s.q_a_h, &mut s.q)?; // [tokens, 24576]
    k.matmul.store(run, &w.kv_a_proj, &s.h, &mut s.latent)?; // [tokens, 576]
    k.rope_tail.launch(run, &mut s.q, &s.angles)?; // the last 64 of 192, 128 heads
    k.latent_append.launch(run, &s.latent, &w.kv_a_layernorm, LATENT_RMS_NORM_EPS, &s.angles, kv)?; // norm of 512, rotation of 64, [512 + 64] per token
    for pass in run.passes(Phase::Prefill, 128, EXPANDED_ROWS) {
        k.mla_expand.launch(run, kv, w.kv_b_proj.keys(), w.kv_b_proj.values(), &mut s.expanded_keys, &mut s.expanded_values, pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // keys and values of the pass
        k.mla_prefill_expanded.launch::<128, _, _>(run, &s.q, &s.expanded_keys, &s.expanded_values, &mut s.attn, SOFTMAX_SCALE.value(), pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // [tokens, 128 x 128], spans of several tokens
    }
    k.mla_absorb.launch::<128, _, _>(run, &s.q, w.kv_b_proj.keys(), &mut s.q_latent)?; // [tokens, 128 x (512 + 64)]
    k.mla_decode.launch::<128, _, _>(run, &s.q_latent, kv, &mut s.o_latent, SOFTMAX_SCALE.value(), &mut s.latent_parts, run.splits(2))?; // [tokens, 128 x 512] in parts, spans of one token
    k.mla_combine.launch::<128, _>(run, &s.latent_parts, &mut s.o_latent, run.splits(2))?; // [tokens, 128 x 512]
    k.mla_up.launch::<128, _, _>(run, &s.o_latent, w.kv_b_proj.values(), &mut s.attn)?; // [tokens, 128 x 128]
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 7168]

    // -- mlp: gated_mlp, silu, 7168 -> 18432 -> 7168
    k.rms_norm_f32_d7168.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 7168]
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.gate_proj, &w.up_proj, &s.h, &mut s.gate, &mut s.up)?; // silu(gate) * up, [tokens, 18432]
    k.matmul.add(run, &w.down_proj, &s.gate, &mut s.x)?; // x += [tokens, 7168]
    Ok(())
}

/// Layers 3..61: attention, then experts.
fn sparse<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Sparse,
    kv: &mut DeviceLatentCache<D, 512, 64>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: mla, 128 heads, latent 512 + 64 rotated, keys 128 + 64, values 128; prefill expanded, decode absorbed
    k.rms_norm_f32_d7168.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 7168]
    k.matmul.store(run, &w.q_a_proj, &s.h, &mut s.q_a)?; // [tokens, 1536]
    k.rms_norm_bf16_d1536.launch(run, &s.q_a, &w.q_a_layernorm, LATENT_RMS_NORM_EPS, &mut s.q_a_h)?; // [tokens, 1536]
    k.matmul.store(run, &w.q_b_proj, &s.q_a_h, &mut s.q)?; // [tokens, 24576]
    k.matmul.store(run, &w.kv_a_proj, &s.h, &mut s.latent)?; // [tokens, 576]
    k.rope_tail.launch(run, &mut s.q, &s.angles)?; // the last 64 of 192, 128 heads
    k.latent_append.launch(run, &s.latent, &w.kv_a_layernorm, LATENT_RMS_NORM_EPS, &s.angles, kv)?; // norm of 512, rotation of 64, [512 + 64] per token
    for pass in run.passes(Phase::Prefill, 128, EXPANDED_ROWS) {
        k.mla_expand.launch(run, kv, w.kv_b_proj.keys(), w.kv_b_proj.values(), &mut s.expanded_keys, &mut s.expanded_values, pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // keys and values of the pass
        k.mla_prefill_expanded.launch::<128, _, _>(run, &s.q, &s.expanded_keys, &s.expanded_values, &mut s.attn, SOFTMAX_SCALE.value(), pass.first_span, pass.first_head, pass.spans, pass.heads, pass.context_rows)?; // [tokens, 128 x 128], spans of several tokens
    }
    k.mla_absorb.launch::<128, _, _>(run, &s.q, w.kv_b_proj.keys(), &mut s.q_latent)?; // [tokens, 128 x (512 + 64)]
    k.mla_decode.launch::<128, _, _>(run, &s.q_latent, kv, &mut s.o_latent, SOFTMAX_SCALE.value(), &mut s.latent_parts, run.splits(2))?; // [tokens, 128 x 512] in parts, spans of one token
    k.mla_combine.launch::<128, _>(run, &s.latent_parts, &mut s.o_latent, run.splits(2))?; // [tokens, 128 x 512]
    k.mla_up.launch::<128, _, _>(run, &s.o_latent, w.kv_b_proj.values(), &mut s.attn)?; // [tokens, 128 x 128]
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 7168]

    // -- experts: moe, 8 of 256 experts x 2048, shared 2048, silu
    k.rms_norm_f32_d7168.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 7168]
    k.matmul.store_f32(run, &w.router, &s.h, &mut s.router)?; // [tokens, 256]
    k.route.launch(run, &s.router, Some(&w.e_score_correction_bias), &mut s.route_ids, &mut s.route_weights, EXPERTS_ROUTER.scores_code(), EXPERTS_ROUTER.group_count(), EXPERTS_ROUTER.chosen_groups(), EXPERTS_ROUTER.group_score_code(), EXPERTS_ROUTER.normalise_code(), EXPERTS_ROUTER.scaling())?; // 8 of 256 experts per token
    if run.is_few() {
        k.experts_up_few.launch::<_, 2048, 256, _>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.route_ids, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 2048]
        k.experts_down_few.launch::<7168, 2048, 256, _>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.route_ids, &mut s.expert_parts)?; // [pairs, 7168]
        k.experts_sum_f32_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 7168], the weighted sum of each token's experts
    } else {
        k.expert_tiles.launch(run, &s.route_ids, &mut s.expert_order, &mut s.expert_offsets, &mut s.expert_tiles)?; // pairs by expert
        k.experts_up_many.launch::<_, 2048, 256, 8>(run, &s.h, w.experts.up(), Arg::null(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_inner, 0.0, 0.0)?; // silu, [pairs, 2048]
        k.experts_down_many.launch::<7168, 2048, 256, 8>(run, &s.expert_inner, w.experts.down(), Arg::null(), &s.expert_order, &s.expert_offsets, &s.expert_tiles, &mut s.expert_parts)?; // [pairs, 7168]
        k.experts_sum_bf16_f32.launch(run, &s.route_weights, &s.route_ids, &s.expert_parts, &mut s.o)?; // [tokens, 7168], the weighted sum of each token's experts
    }
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.shared_gate_proj, &w.shared_up_proj, &s.h, &mut s.gate_2048, &mut s.up_2048)?; // silu(gate) * up, [tokens, 2048]
    k.matmul.add(run, &w.shared_down_proj, &s.gate_2048, &mut s.o)?; // o += [tokens, 7168]
    k.add.launch(run, &mut s.x, &s.o)?; // x += [tokens, 7168]
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
        k.embedding.launch(run, &w.embed_tokens, &mut s.x)?; // [tokens, 7168]
        k.rope_angles.launch::<64>(run, s.angles.compute(run.rows()))?; // cosines and sines, [tokens, 32] each
        try_each_layer(&w.dense, &mut caches.dense, |w, kv| dense(k, w, kv, s, run))?;
        try_each_layer(&w.sparse, &mut caches.sparse, |w, kv| sparse(k, w, kv, s, run))?;
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 129280 tokens
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 7168]
        let head = &run.over_logit_rows();
        k.rms_norm_f32_d7168.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 7168]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 129280]
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
}

impl<D: KvDtype + DeviceElement> OnSm90a<D> {
    fn new(
        checkpoint: &Arc<Checkpoint>,
        device: &Arc<Device>,
        options: &LoadOptions,
    ) -> Result<Self, LoadError> {
        let limits = options.limits(VOCAB_SIZE, MAX_POSITION_EMBEDDINGS, 0)?;
        PLAN.check(&limits)?;
        device.require("sm_90a", (9, 0))?;
        let cpu = Cpu::new(options.threads, options.isa)?;
        let weights = Weights::load(checkpoint, &cpu, device)?;
        let kernels = Kernels::load(device, weights.matrix_elements())?;
        let caches = Caches::new(device, &limits)?;
        let scratch = Scratch::new(device, &limits)?;
        let step = StepBuffer::new(device, &limits, PLAN.sequences)?;
        let sampled = SampledRows::new(device, limits.max_logit_rows)?;
        let memory = Memory {
            weights: weights.bytes(),
            per_token: weights.bytes() - weights.embed_tokens.bytes(),
            cache: caches.bytes(),
            state: 0,
            snapshots: 0,
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
