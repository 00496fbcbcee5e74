//! A snapshot's id where a state slot belongs: a saved state would be run on, and a running one overwritten.

use tenon_core::batch::{SnapshotId, StateSlot};
use tenon_core::state::DeltaState;

fn go_on(state: &mut DeltaState<4, 16, 16, 128, 4>, slot: StateSlot, snapshot: SnapshotId) {
    state.restore(slot, snapshot);
}

fn main() {}
