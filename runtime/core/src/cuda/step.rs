//! `StepBuffer`: the tokens of one step on the device, where every kernel of the step finds them.

mod host;

use std::sync::Arc;

use self::host::{Layout, fill_arrays, fill_table};
use super::bucket::{Buckets, StepDims};
use super::buffer::{DeviceElement, F32};
use super::driver::{Memory, Pinned, PitchedRows};
use super::{Arg, CudaError, Device, DeviceRows};
use crate::batch::{Batch, BatchLimits};
use crate::model::{Logits, StepError};

/// The error word stands before the arrays, alone in what the device reads at once.
const ARRAYS_AT: usize = 64;
/// Bytes of each of the two buffers through which logits come back.
const ROOM: usize = 4 << 20;

/// The arrays of a `Step` (`step.cuh`) on the host and on the device, and the way back of a step's results.
pub struct StepBuffer {
    limits: BatchLimits,
    max_sequences: usize,
    /// Entries of a row of the page table.
    stride: usize,
    /// Where the page table begins in `device`, in bytes. Its place never changes.
    table_at: usize,
    /// Where the arrays lie: a matter of the step, or of its bucket.
    layout: Layout,
    arrays: Pinned,
    table: Pinned,
    device: Memory,
    error: Pinned,
    room: [Pinned; 2],
}

impl StepBuffer {
    /// For steps of at most `max_sequences` sequences under these limits.
    ///
    /// # Errors
    /// When there is no room.
    ///
    /// # Panics
    /// If a limit does not fit into 32 bits.
    pub fn new(device: &Arc<Device>, limits: &BatchLimits, max_sequences: usize) -> Result<Self, CudaError> {
        for limit in [limits.vocab_size, limits.max_positions, limits.pages, limits.state_slots, limits.max_tokens] {
            assert!(i32::try_from(limit).is_ok(), "a limit of {limit} does not fit into 32 bits");
        }
        let max_sequences = max_sequences.min(limits.max_tokens);
        let stride = limits.max_positions.div_ceil(limits.page_size);
        let largest = Layout { rows: limits.max_tokens, sequences: max_sequences, logit_rows: limits.max_logit_rows };
        let table_at = ARRAYS_AT + largest.bytes().next_multiple_of(ARRAYS_AT);
        let table_bytes = max_sequences * stride * size_of::<i32>();
        let context = device.context();
        let pinned = |bytes| Pinned::new(context, bytes);
        Ok(Self {
            limits: *limits,
            max_sequences,
            stride,
            table_at,
            layout: largest,
            arrays: pinned(largest.bytes())?,
            table: pinned(table_bytes)?,
            device: Memory::zeroed(context, table_at + table_bytes)?,
            error: pinned(size_of::<u32>())?,
            room: [pinned(ROOM)?, pinned(ROOM)?],
        })
    }

    /// Bytes held on the device.
    pub fn bytes(&self) -> usize {
        self.device.bytes()
    }

    /// The sizes of steps that may run as captured graphs.
    pub fn buckets(&self) -> Buckets {
        Buckets::new(&self.limits, self.max_sequences)
    }

    /// Starts a step: copies what `batch` says to the device. With a bucket, of which [`Buckets::of_batch`]
    /// knows that it fits, rows and sequences are padded to it, and everything lies where the step's graph reads it.
    ///
    /// # Errors
    /// When there are more sequences than this was made for, or the device refuses.
    ///
    /// # Panics
    /// If the batch was built for other limits, or does not fit the bucket.
    pub fn fill(&mut self, batch: &Batch, bucket: Option<usize>) -> Result<StepDims, StepError> {
        assert_eq!(batch.limits(), self.limits, "the batch was built for another model");
        let sequences = batch.sequences().len();
        if sequences > self.max_sequences {
            return Err(StepError::TooManySequences { sequences, limit: self.max_sequences });
        }
        assert!(bucket.is_none_or(|size| self.buckets().of(size) == Some(size)), "a bucket of {bucket:?} rows");
        let dims = StepDims::of_batch(batch, bucket);
        self.layout = Layout { rows: dims.rows, sequences: dims.sequences, logit_rows: dims.logit_rows };
        fill_arrays(batch, self.layout, self.arrays.bytes_mut()?);
        self.arrays.upload(0, &mut self.device, ARRAYS_AT, self.layout.bytes())?;
        if let Some(changed) = fill_table(batch, self.stride, self.table.bytes_mut()?) {
            let pitch = self.stride * size_of::<i32>();
            let at = changed.first * pitch;
            let rows = PitchedRows {
                at,
                to_at: self.table_at + at,
                pitch,
                width: changed.width * size_of::<i32>(),
                height: changed.rows,
            };
            self.table.upload_rows(&mut self.device, rows)?;
        }
        Ok(dims)
    }

    /// The `Step`, for a kernel.
    pub fn arg(&self) -> Arg<'_> {
        let int = |n: usize| n as i32;
        let numbers = [int(self.limits.page_size), int(self.stride), int(self.limits.pages), int(self.limits.state_slots)];
        Arg::step(&self.device, self.layout.addresses(ARRAYS_AT, self.table_at, 0), numbers)
    }

    /// Ends a step: waits for it, looks at the error word, and copies the first `wanted` rows of logits.
    ///
    /// # Errors
    /// When something of the step failed, or a value broke a contract.
    ///
    /// # Panics
    /// If the logits were made for another vocabulary.
    pub fn finish<const VOCAB: usize>(
        &mut self,
        logits: &DeviceRows<F32, VOCAB>,
        wanted: usize,
        out: &mut Logits,
    ) -> Result<(), StepError> {
        let from = logits.buffer(wanted).memory();
        let total = wanted * VOCAB * F32::BYTES;
        self.error.download(0, &self.device, 0, size_of::<u32>())?;
        let part = |index: usize| (index * ROOM).min(total)..((index + 1) * ROOM).min(total);
        let parts = total.div_ceil(ROOM);
        for index in 0..parts.min(2) {
            self.room[index].download(0, from, part(index).start, part(index).len())?;
        }
        self.check()?;
        let out = out.room::<VOCAB>(wanted);
        for index in 0..parts {
            let (range, room) = (part(index), &mut self.room[index % 2]);
            let bytes = &room.bytes_mut()?[..range.len()];
            for (out, bytes) in out[range.start / F32::BYTES..].iter_mut().zip(bytes.as_chunks::<4>().0) {
                *out = f32::from_le_bytes(*bytes);
            }
            if index + 2 < parts {
                let next = part(index + 2);
                room.download(0, from, next.start, next.len())?;
            }
        }
        Ok(())
    }

    /// Ends a step whose results stay on the device: waits for it and looks at the error word.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn end(&mut self) -> Result<(), StepError> {
        self.error.download(0, &self.device, 0, size_of::<u32>())?;
        self.check()
    }

    /// Waits for the error word, and clears it where a bit is set.
    fn check(&mut self) -> Result<(), StepError> {
        let word = self.error.bytes_mut()?;
        let bits = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        if bits == 0 {
            return Ok(());
        }
        self.device.clear(0, size_of::<u32>())?;
        Err(CudaError::Contract { bits }.into())
    }
}

impl std::fmt::Debug for StepBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StepBuffer({} sequences, {})", self.max_sequences, self.limits)
    }
}
