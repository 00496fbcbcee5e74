//! qwen3-0.6b on sm_90a: how it is loaded, and steps as graphs or launch by launch.
//! Generated from model-specs/qwen3-0.6b; edit the TOMLs there, then `cargo build`.

use std::sync::Arc;

use tenon_core::batch::{Batch, BatchLimits};
use tenon_core::cpu::Cpu;
use tenon_core::cuda::{
    Bf16, Buckets, Device, DeviceElement, Graphs, SampledRows, StepBuffer, Turn,
};
use tenon_core::dtype::{KvDtype, KvDtypeName};
use tenon_core::model::{
    LoadOptions, Logits, Memory, Model, ModelInfo, RowSampling, SampledModel, StepError,
};
use tenon_core::weights::{Checkpoint, LoadError};

use super::sm_90a::{Choice, Resident};
use super::sm_90a_kernels::Kernels;
use super::sm_90a_memory::{Caches, PLAN, Scratch};
use super::sm_90a_weights::Weights;
use super::{INFO, MAX_POSITION_EMBEDDINGS, VOCAB_SIZE};

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

    fn any_chunking(&self) -> bool {
        true
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
