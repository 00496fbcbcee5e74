//! smollm2-135m-instruct on sm_90a: one step over a batch, layer by layer.
//! Generated from model-specs/smollm2-135m-instruct; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits, SequenceSpan};
use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Bf16, Buckets, CudaError, Device, DeviceElement, DevicePagedKv, Graphs, Run,
    SampledRows, StepBuffer, StepDims, Turn,
};
use tenon_core::dtype::{KvDtype, KvDtypeName};
use tenon_core::layers::try_each_layer;
use tenon_core::model::{
    LoadOptions, Logits, Memory, Model, ModelInfo, RowSampling, SampledModel, StepError,
};
use tenon_core::weights::{Checkpoint, LoadError};

use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, PLAN, Scratch};
use super::sm_90a_weights::{Block, Weights};
use super::{INFO, MAX_POSITION_EMBEDDINGS, RMS_NORM_EPS, SOFTMAX_SCALE, VOCAB_SIZE};

/// Layers 0..30: attention, then mlp.
fn block<D: KvDtype + DeviceElement>(
    k: &mut Kernels<D>,
    w: &Block,
    kv: &mut DevicePagedKv<D, 3, 64>,
    s: &mut Scratch,
    run: &Run<'_>,
) -> Result<(), CudaError> {
    // -- attention: gqa, 9 query heads over 3 key-value heads, head_dim 64
    k.rms_norm.launch(run, &s.x, &w.input_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 576]
    k.matmul.store(run, &w.q_proj, &s.h, &mut s.q)?; // [tokens, 576]
    k.matmul.store(run, &w.k_proj, &s.h, &mut s.k)?; // [tokens, 192]
    k.matmul.store(run, &w.v_proj, &s.h, &mut s.v)?; // [tokens, 192]
    k.rope_append.launch::<9, _, _, _, _>(run, &mut s.q, &s.k, &s.v, None, None, RMS_NORM_EPS, &s.angles, kv)?; // 64 of 64 rotated, 2 x [3, 64] per token
    k.attention_prefill.launch::<_, _, 9>(run, &s.q, kv, None, &mut s.attn, SOFTMAX_SCALE.value(), 0, 0.0)?; // [tokens, 9 x 64], spans of several tokens
    k.attention_decode.launch::<_, _, 9>(run, &s.q, kv, None, &mut s.attn, SOFTMAX_SCALE.value(), 0, 0.0, &mut s.attention_parts, &mut s.attention_counters, run.splits(3))?; // [tokens, 9 x 64], spans of one token
    k.matmul.add(run, &w.o_proj, &s.attn, &mut s.x)?; // x += [tokens, 576]

    // -- mlp: gated_mlp, silu, 576 -> 1536 -> 576
    k.rms_norm.launch(run, &s.x, &w.post_attention_layernorm, RMS_NORM_EPS, &mut s.h)?; // [tokens, 576]
    k.matmul.gated(run, &k.linear_gated, &k.act_mul, &w.gate_proj, &w.up_proj, &s.h, &mut s.gate, &mut s.up)?; // silu(gate) * up, [tokens, 1536]
    k.matmul.add(run, &w.down_proj, &s.gate, &mut s.x)?; // x += [tokens, 576]
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
        k.embedding.launch(run, &w.embed_tokens, &mut s.x)?; // [tokens, 576]
        k.rope_angles.launch::<64>(run, s.angles.compute(run.rows()))?; // cosines and sines, [tokens, 32] each
        try_each_layer(&w.block, &mut caches.block, |w, kv| block(k, w, kv, s, run))?;
        if dims.logit_rows == 0 {
            return Ok(());
        }

        // -- head: 49152 tokens, tied to the embedding
        k.gather_logit_rows.launch(run, &s.x, &mut s.last)?; // [logit rows, 576]
        let head = &run.over_logit_rows();
        k.rms_norm.launch(head, &s.last, &w.norm, RMS_NORM_EPS, &mut s.last_h)?; // [logit rows, 576]
        k.matmul.store_f32(head, &w.lm_head, &s.last_h, &mut s.logits)?; // [logit rows, 49152]
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
            per_token: weights.bytes(),
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
