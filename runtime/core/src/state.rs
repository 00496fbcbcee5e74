//! The state of recurrent layers: what a sequence keeps between steps, and copies of it.
//!
//! Each recurrent layer has two pools. The [`StatePool`] holds one entry per running sequence, addressed by [`StateSlot`]; kernels read
//! and write it. The [`SnapshotPool`] holds entries that were saved, addressed by [`SnapshotId`]; nothing but `save` and `restore`
//! touches it. An entry is the last `KERNEL - 1` inputs of the convolution and the recurrent state of each head, all f32.
//!
//! A slot that was used before need not be cleared: a span that starts at position 0 starts from zero whatever the slot holds.

use crate::batch::{SnapshotId, StateSlot};

/// Columns of a head's state are stored in whole vectors of this many.
const LANES: usize = 8;

/// Entries of one size: convolution windows `[entry][KERNEL - 1][CONV_DIM]` and states `[entry][head][row][column]`, where columns
/// are rounded up to a multiple of 8.
struct Entries {
    windows: Vec<f32>,
    states: Vec<f32>,
    count: usize,
}

/// Elements of one entry.
#[derive(Clone, Copy)]
struct EntrySize {
    window: usize,
    state: usize,
}

impl EntrySize {
    const fn bytes(self) -> usize {
        (self.window + self.state) * size_of::<f32>()
    }
}

impl Entries {
    fn new(count: usize, size: EntrySize) -> Self {
        let zeros = |elements: usize| {
            let all = count.checked_mul(elements);
            vec![0.0; all.unwrap_or_else(|| panic!("{count} states of {} bytes do not fit in memory", size.bytes()))]
        };
        Self { windows: zeros(size.window), states: zeros(size.state), count }
    }

    fn bytes(&self) -> usize {
        (self.windows.len() + self.states.len()) * size_of::<f32>()
    }

    /// Copies entry `from` of another pool with entries of the same size to entry `to`.
    fn copy(&mut self, to: usize, other: &Self, from: usize) {
        copy(&mut self.windows, self.count, to, &other.windows, other.count, from);
        copy(&mut self.states, self.count, to, &other.states, other.count, from);
    }
}

fn copy(into: &mut [f32], count: usize, to: usize, out_of: &[f32], other_count: usize, from: usize) {
    let size = into.len() / count;
    debug_assert_eq!(size, out_of.len() / other_count, "entries of two pools of a layer have one size");
    into[to * size..][..size].copy_from_slice(&out_of[from * size..][..size]);
}

/// The states of the sequences that run.
pub struct StatePool(Entries);

/// States that were saved.
pub struct SnapshotPool(Entries);

impl StatePool {
    /// Convolution windows, `[slot][KERNEL - 1][CONV_DIM]`, the oldest input first.
    pub fn windows(&mut self) -> &mut [f32] {
        &mut self.0.windows
    }

    /// Recurrent states, `[slot][head][row][column]`.
    pub fn states(&mut self) -> &mut [f32] {
        &mut self.0.states
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.0.count
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn slot(&self, slot: StateSlot) -> usize {
        let index = slot.0 as usize;
        assert!(index < self.0.count, "state slot {index} does not exist: the pool has {}", self.0.count);
        index
    }
}

impl SnapshotPool {
    /// Number of snapshots.
    pub fn snapshots(&self) -> usize {
        self.0.count
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn entry(&self, snapshot: SnapshotId) -> usize {
        let index = snapshot.0 as usize;
        assert!(index < self.0.count, "snapshot {index} does not exist: the pool has {}", self.0.count);
        index
    }
}

mod sealed {
    pub trait Sealed {
        /// The running states.
        fn pool(&mut self) -> &mut super::StatePool;
    }
}

/// A recurrent layer's state, whichever kind, with a convolution window of `CONV_DIM` channels and `KERNEL - 1` inputs.
pub trait RecurrentState<const CONV_DIM: usize, const KERNEL: usize>: sealed::Sealed {}

/// Defines the state of one kind of layer.
macro_rules! recurrent_state {
    ($(#[$doc:meta])* $name:ident<$heads:ident, $rows:ident, $columns:ident>, dims $($dim:ident),+) => {
        $(#[$doc])*
        pub struct $name<$(const $dim: usize,)+ const CONV_DIM: usize, const KERNEL: usize> {
            live: StatePool,
            saved: SnapshotPool,
        }

        impl<$(const $dim: usize,)+ const CONV_DIM: usize, const KERNEL: usize> $name<$($dim,)+ CONV_DIM, KERNEL> {
            const ENTRY: EntrySize = {
                assert!($heads > 0 && $rows > 0 && $columns > 0, "a state has at least one element");
                assert!(CONV_DIM > 0 && KERNEL > 1, "a convolution has at least one channel and two taps");
                EntrySize {
                    window: (KERNEL - 1) * CONV_DIM,
                    state: $heads * $rows * $columns.next_multiple_of(LANES),
                }
            };

            /// Bytes of one slot, and of one snapshot.
            pub const ENTRY_BYTES: usize = Self::ENTRY.bytes();

            /// A pool of `slots` states of running sequences and one of `snapshots` saved ones.
            ///
            /// # Panics
            /// If they do not fit in an address space.
            pub fn new(slots: usize, snapshots: usize) -> Self {
                let entries = |count| Entries::new(count, Self::ENTRY);
                Self { live: StatePool(entries(slots)), saved: SnapshotPool(entries(snapshots)) }
            }

            /// Bytes of the states of running sequences: `slots` times [`Self::ENTRY_BYTES`].
            pub fn bytes(&self) -> usize {
                self.live.bytes()
            }

            /// Bytes of the saved states: `snapshots` times [`Self::ENTRY_BYTES`].
            pub fn snapshot_bytes(&self) -> usize {
                self.saved.bytes()
            }

            /// Copies the state of a running sequence to a snapshot.
            ///
            /// # Panics
            /// If one of the two does not exist.
            pub fn save(&mut self, slot: StateSlot, snapshot: SnapshotId) {
                let (from, to) = (self.live.slot(slot), self.saved.entry(snapshot));
                self.saved.0.copy(to, &self.live.0, from);
            }

            /// Copies a snapshot to the slot of a sequence, which continues at the position where the snapshot was taken.
            ///
            /// # Panics
            /// If one of the two does not exist.
            pub fn restore(&mut self, snapshot: SnapshotId, slot: StateSlot) {
                let (from, to) = (self.saved.entry(snapshot), self.live.slot(slot));
                self.live.0.copy(to, &self.saved.0, from);
            }

            /// The running states.
            pub fn live(&mut self) -> &mut StatePool {
                &mut self.live
            }

            /// Sets every element, as pools that were used before.
            #[cfg(test)]
            pub(crate) fn fill(&mut self, value: f32) {
                for entries in [&mut self.live.0, &mut self.saved.0] {
                    entries.windows.fill(value);
                    entries.states.fill(value);
                }
            }
        }

        impl<$(const $dim: usize,)+ const CONV_DIM: usize, const KERNEL: usize> sealed::Sealed
            for $name<$($dim,)+ CONV_DIM, KERNEL>
        {
            fn pool(&mut self) -> &mut StatePool {
                &mut self.live
            }
        }

        impl<$(const $dim: usize,)+ const CONV_DIM: usize, const KERNEL: usize> RecurrentState<CONV_DIM, KERNEL>
            for $name<$($dim,)+ CONV_DIM, KERNEL>
        {
        }

        impl<$(const $dim: usize,)+ const CONV_DIM: usize, const KERNEL: usize> std::fmt::Debug
            for $name<$($dim,)+ CONV_DIM, KERNEL>
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let (slots, snapshots, bytes) = (self.live.slots(), self.saved.snapshots(), Self::ENTRY_BYTES);
                write!(f, "{}({slots} slots, {snapshots} snapshots of {bytes} bytes)", stringify!($name))
            }
        }
    };
}

recurrent_state! {
    /// The state of one Mamba2 layer: for each head a matrix `[STATE][HEAD_DIM]`, and the convolution window.
    ///
    /// A slot is `4 * (HEADS * STATE * ceil8(HEAD_DIM) + (KERNEL - 1) * CONV_DIM)` bytes, with `ceil8` rounding up to a multiple of 8.
    Mamba2State<HEADS, STATE, HEAD_DIM>, dims HEADS, HEAD_DIM, STATE
}

recurrent_state! {
    /// The state of one gated delta net layer: for each value head a matrix `[KEY_DIM][VALUE_DIM]`, and the convolution window.
    ///
    /// A slot is `4 * (VALUE_HEADS * KEY_DIM * ceil8(VALUE_DIM) + (KERNEL - 1) * CONV_DIM)` bytes, with `ceil8` rounding up to a
    /// multiple of 8.
    DeltaState<VALUE_HEADS, KEY_DIM, VALUE_DIM>, dims VALUE_HEADS, KEY_DIM, VALUE_DIM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_its_size() {
        // 8 slots of a layer of the known figure, with the 3 inputs that a window of 4 taps keeps.
        type Layer = Mamba2State<64, 128, 128, 12_288, 4>;
        assert_eq!(Layer::ENTRY_BYTES, 4 * (64 * 128 * 128 + 3 * 12_288));
        let state = Mamba2State::<2, 12, 5, 40, 3>::new(3, 2);
        assert_eq!(state.bytes(), 3 * 4 * (2 * 5 * 16 + 2 * 40));
        assert_eq!(state.snapshot_bytes(), 2 * 4 * (2 * 5 * 16 + 2 * 40));
        assert_eq!(format!("{state:?}"), "Mamba2State(3 slots, 2 snapshots of 960 bytes)");
        let state = DeltaState::<4, 6, 8, 10, 2>::new(1, 0);
        assert_eq!((state.bytes(), state.snapshot_bytes()), (4 * (4 * 6 * 8 + 10), 0));
    }

    #[test]
    fn a_snapshot_is_a_copy_of_one_slot() {
        let mut state = DeltaState::<1, 1, 8, 2, 3>::new(3, 2);
        let number = |pool: &mut StatePool| {
            for (i, x) in pool.states().iter_mut().enumerate() {
                *x = i as f32;
            }
            for (i, x) in pool.windows().iter_mut().enumerate() {
                *x = 100.0 + i as f32;
            }
        };
        number(state.live());
        state.save(StateSlot(1), SnapshotId(1));
        state.live().states().fill(-1.0);
        state.live().windows().fill(-2.0);
        state.restore(SnapshotId(1), StateSlot(2));
        let expected: Vec<f32> = [-1.0; 16].into_iter().chain((8..16).map(|i| i as f32)).collect();
        assert_eq!(state.live().states(), expected);
        assert_eq!(state.live().windows(), [-2.0, -2.0, -2.0, -2.0, -2.0, -2.0, -2.0, -2.0, 104.0, 105.0, 106.0, 107.0]);
        // The snapshot stays, and the other one was not touched.
        state.restore(SnapshotId(1), StateSlot(0));
        state.restore(SnapshotId(0), StateSlot(2));
        assert_eq!(state.live().states()[..8], expected[16..]);
        assert_eq!(state.live().states()[16..], [0.0; 8]);
    }

    #[test]
    #[should_panic(expected = "state slot 3 does not exist: the pool has 3")]
    fn refuses_a_slot_that_does_not_exist() {
        DeltaState::<1, 1, 8, 2, 3>::new(3, 2).restore(SnapshotId(1), StateSlot(3));
    }

    #[test]
    #[should_panic(expected = "snapshot 2 does not exist: the pool has 2")]
    fn refuses_a_snapshot_that_does_not_exist() {
        DeltaState::<1, 1, 8, 2, 3>::new(3, 2).save(StateSlot(1), SnapshotId(2));
    }
}
