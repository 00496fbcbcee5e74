//! A model of a device whose every step must have launched kernels there: one that computes on the host would agree with the host.

use std::sync::{Arc, Mutex, PoisonError};

use tenon_core::batch::{Batch, BatchLimits, SnapshotId, StateSlot};
use tenon_core::cuda::Device;
use tenon_core::model::{Logits, Memory, Model, ModelInfo, RowSampling, SampledModel, StateError, StepError};

use crate::judge::StepLaunches;

/// The model, and who is told what each of its steps launched.
pub struct Launched {
    model: Box<dyn Model>,
    device: Arc<Device>,
    seen: Arc<Mutex<StepLaunches>>,
}

impl Launched {
    /// From now on `seen` is told of every step of `model`, which is loaded onto `device`.
    pub fn new(model: Box<dyn Model>, device: &Arc<Device>, seen: &Arc<Mutex<StepLaunches>>) -> Self {
        Self { model, device: Arc::clone(device), seen: Arc::clone(seen) }
    }

    fn counted<R>(&mut self, step: impl FnOnce(&mut dyn Model) -> Result<R, StepError>) -> Result<R, StepError> {
        let before = self.device.launches();
        let result = step(self.model.as_mut())?;
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).see(self.device.launches() - before);
        Ok(result)
    }
}

impl Model for Launched {
    fn info(&self) -> &'static ModelInfo {
        self.model.info()
    }

    fn limits(&self) -> BatchLimits {
        self.model.limits()
    }

    fn memory(&self) -> Memory {
        self.model.memory()
    }

    fn step(&mut self, batch: &Batch, logits: &mut Logits) -> Result<(), StepError> {
        self.counted(|model| model.step(batch, logits))
    }

    fn sampled(&mut self) -> Option<&mut dyn SampledModel> {
        if self.model.sampled().is_some() { Some(self) } else { None }
    }

    fn save_state(&mut self, slot: StateSlot, snapshot: SnapshotId) -> Result<(), StateError> {
        self.model.save_state(slot, snapshot)
    }

    fn restore_state(&mut self, snapshot: SnapshotId, slot: StateSlot) -> Result<(), StateError> {
        self.model.restore_state(snapshot, slot)
    }
}

impl SampledModel for Launched {
    fn step_sampled(&mut self, batch: &Batch, rows: &[RowSampling], chosen: &mut Vec<Option<u32>>) -> Result<(), StepError> {
        self.counted(|model| {
            let model = model.sampled().expect("whoever chooses tokens was asked whether it does");
            model.step_sampled(batch, rows, chosen)
        })
    }
}
