//! The state of recurrent layers on a device: pools of running and of saved states, as [`crate::state`] has them on the host.

use std::sync::Arc;

use super::buffer::{DeviceBuffer, F32};
use super::{Arg, CudaError, Device};
use crate::batch::{SnapshotId, StateSlot};

/// Entries of one size: convolution windows `[entry][KERNEL - 1][CONV_DIM]`, and states.
struct Entries {
    windows: DeviceBuffer<F32>,
    states: DeviceBuffer<F32>,
    count: usize,
}

impl Entries {
    fn new(device: &Arc<Device>, count: usize, window: usize, state: usize) -> Result<Self, CudaError> {
        let zeros = |elements: usize| DeviceBuffer::new(device, count.saturating_mul(elements));
        Ok(Self { windows: zeros(window)?, states: zeros(state)?, count })
    }

    fn bytes(&self) -> usize {
        self.windows.bytes() + self.states.bytes()
    }

    fn copy(&mut self, to: usize, other: &Self, from: usize, window: usize, state: usize) -> Result<(), CudaError> {
        self.windows.copy(to * window, &other.windows, from * window, window)?;
        self.states.copy(to * state, &other.states, from * state, state)
    }
}

/// The index of an entry that exists.
fn entry(what: &str, index: u32, count: usize) -> usize {
    assert!((index as usize) < count, "{what} {index} does not exist: the pool has {count}");
    index as usize
}

/// Defines the state of one kind of layer.
macro_rules! device_state {
    ($(#[$doc:meta])* $name:ident, dims $($dim:ident),+) => {
        $(#[$doc])*
        pub struct $name<$(const $dim: usize,)+ const CONV_DIM: usize, const KERNEL: usize> {
            live: Entries,
            saved: Entries,
        }

        impl<$(const $dim: usize,)+ const CONV_DIM: usize, const KERNEL: usize> $name<$($dim,)+ CONV_DIM, KERNEL> {
            const STATE_ELEMENTS: usize = {
                let product = 1 $(* $dim)+;
                assert!(product > 0, "a state has at least one element");
                product
            };
            const WINDOW: usize = {
                assert!(CONV_DIM > 0 && KERNEL > 1, "a convolution has at least one channel and two taps");
                (KERNEL - 1) * CONV_DIM
            };

            /// Bytes of one slot, and of one snapshot.
            pub const ENTRY_BYTES: usize = (Self::WINDOW + Self::STATE_ELEMENTS) * size_of::<f32>();

            /// A pool of `slots` states of running sequences and one of `snapshots` saved ones.
            ///
            /// # Errors
            /// When there is no room.
            pub fn new(device: &Arc<Device>, slots: usize, snapshots: usize) -> Result<Self, CudaError> {
                let entries = |count| Entries::new(device, count, Self::WINDOW, Self::STATE_ELEMENTS);
                Ok(Self { live: entries(slots)?, saved: entries(snapshots)? })
            }

            /// Bytes of the states of running sequences.
            pub fn bytes(&self) -> usize {
                self.live.bytes()
            }

            /// Bytes of the saved states.
            pub fn snapshot_bytes(&self) -> usize {
                self.saved.bytes()
            }

            /// Copies the state of a running sequence to a snapshot.
            ///
            /// # Errors
            /// When the device is lost.
            ///
            /// # Panics
            /// If one of the two does not exist.
            pub fn save(&mut self, slot: StateSlot, snapshot: SnapshotId) -> Result<(), CudaError> {
                let from = entry("state slot", slot.0, self.live.count);
                let to = entry("snapshot", snapshot.0, self.saved.count);
                self.saved.copy(to, &self.live, from, Self::WINDOW, Self::STATE_ELEMENTS)
            }

            /// Copies a snapshot to the slot of a sequence, which continues at the position where the snapshot was taken.
            ///
            /// # Errors
            /// When the device is lost.
            ///
            /// # Panics
            /// If one of the two does not exist.
            pub fn restore(&mut self, snapshot: SnapshotId, slot: StateSlot) -> Result<(), CudaError> {
                let from = entry("snapshot", snapshot.0, self.saved.count);
                let to = entry("state slot", slot.0, self.live.count);
                self.live.copy(to, &self.saved, from, Self::WINDOW, Self::STATE_ELEMENTS)
            }

            /// The convolution windows of running sequences, for a kernel.
            pub fn windows_mut(&mut self) -> Arg<'_> {
                self.live.windows.arg_mut()
            }

            /// The recurrent states of running sequences, for a kernel.
            pub fn states_mut(&mut self) -> Arg<'_> {
                self.live.states.arg_mut()
            }

            /// Both, for a kernel that uses windows and states.
            pub fn both_mut(&mut self) -> [Arg<'_>; 2] {
                [self.live.windows.arg_mut(), self.live.states.arg_mut()]
            }
        }

        impl<$(const $dim: usize,)+ const CONV_DIM: usize, const KERNEL: usize> std::fmt::Debug
            for $name<$($dim,)+ CONV_DIM, KERNEL>
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let (slots, snapshots, bytes) = (self.live.count, self.saved.count, Self::ENTRY_BYTES);
                write!(f, "{}({slots} slots, {snapshots} snapshots of {bytes} bytes)", stringify!($name))
            }
        }
    };
}

device_state! {
    /// The state of one Mamba2 layer: `[slots][HEADS][HEAD_DIM][STATE]`, and the convolution window, all f32.
    DeviceMamba2State, dims HEADS, HEAD_DIM, STATE
}

device_state! {
    /// The state of one gated delta net layer: `[slots][VALUE_HEADS][VALUE_DIM][KEY_DIM]`, and the convolution window, all f32.
    DeviceDeltaState, dims VALUE_HEADS, KEY_DIM, VALUE_DIM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_its_size() {
        // No rounding up to vectors, unlike on the host.
        assert_eq!(DeviceMamba2State::<2, 12, 5, 40, 3>::ENTRY_BYTES, 4 * (2 * 12 * 5 + 2 * 40));
        assert_eq!(DeviceDeltaState::<4, 6, 7, 10, 2>::ENTRY_BYTES, 4 * (4 * 6 * 7 + 10));
    }

    #[test]
    #[should_panic(expected = "state slot 3 does not exist: the pool has 3")]
    fn refuses_an_entry_that_does_not_exist() {
        entry("state slot", 3, 3);
    }
}
