//! Why a step or a copy of a state was refused.

use crate::batch::{Batch, BatchLimits, SnapshotId, StateSlot};
#[cfg(feature = "cuda")]
use crate::cuda::CudaError;

/// Why a recurrent state was not saved or restored; nothing was written.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StateError {
    /// No layer is recurrent.
    #[error("the model keeps no recurrent state")]
    Stateless,
    /// The device did not make the copy.
    #[cfg(feature = "cuda")]
    #[error("the device failed while it copied a recurrent state ({call})")]
    Device {
        /// The call that failed.
        call: &'static str,
    },
    /// No such slot.
    #[error("state slot {slot} does not exist: the pool has {slots}")]
    Slot {
        /// What was asked for.
        slot: u32,
        /// What there is.
        slots: usize,
    },
    /// No such snapshot.
    #[error("snapshot {snapshot} does not exist: the pool has {snapshots}")]
    Snapshot {
        /// What was asked for.
        snapshot: u32,
        /// What there is.
        snapshots: usize,
    },
}

#[cfg(feature = "cuda")]
impl From<CudaError> for StateError {
    fn from(error: CudaError) -> Self {
        Self::Device { call: if let CudaError::Call { call, .. } = error { call } else { "copy" } }
    }
}

impl StateError {
    /// Checks ids against a model's pools. Called by generated code before anything is written.
    pub fn check(limits: &BatchLimits, snapshots: usize, slot: StateSlot, snapshot: SnapshotId) -> Result<(), Self> {
        if slot.0 as usize >= limits.state_slots {
            return Err(Self::Slot { slot: slot.0, slots: limits.state_slots });
        }
        if snapshot.0 as usize >= snapshots {
            return Err(Self::Snapshot { snapshot: snapshot.0, snapshots });
        }
        Ok(())
    }
}

/// Why a step was refused. Nothing was written, unless a device failed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StepError {
    /// The batch was built for other limits than this model has.
    #[error("the batch was built for {batch}, and this model has {model}")]
    Limits {
        /// What the batch was built for.
        batch: String,
        /// What the model has.
        model: String,
    },
    /// There is nothing to compute.
    #[error("the batch has no tokens")]
    Empty,
    /// More sequences than this model takes in one step.
    #[error("{sequences} sequences in one step, and the limit is {limit}")]
    TooManySequences {
        /// Sequences of the batch.
        sequences: usize,
        /// The limit.
        limit: usize,
    },
    /// The device refused or broke a step that had begun: caches that it wrote are not to be used.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Device(#[from] CudaError),
}

impl StepError {
    /// Checks that a batch was built for a model with these limits. Called by generated code before anything is written.
    pub fn check(limits: &BatchLimits, batch: &Batch) -> Result<(), Self> {
        if batch.limits() != *limits {
            return Err(Self::Limits { batch: batch.limits().to_string(), model: limits.to_string() });
        }
        if batch.is_empty() { Err(Self::Empty) } else { Ok(()) }
    }
}
