//! A snapshot's id where a state slot belongs, on a device: a saved state would be run on, and a running one overwritten.
//~ found `SnapshotId`

use tenon_core::batch::{SnapshotId, StateSlot};
use tenon_core::cuda::{CudaError, DeviceMamba2State};

fn keep(state: &mut DeviceMamba2State<8, 64, 128, 768, 4>, slot: StateSlot, snapshot: SnapshotId) -> Result<(), CudaError> {
    state.save(snapshot, slot)
}

fn main() {}
