//! `SampledRows`: what the sampling kernel reads of each row of logits, and the ids that it draws.

use std::sync::Arc;

use super::buffer::{DeviceBuffer, DeviceElement, I32};
use super::driver::{Memory, Pinned};
use super::{Arg, CudaError, Device};
use crate::model::RowSampling;

/// Parameters of rows and the ids that were drawn for them, on the host and on the device.
pub struct SampledRows {
    capacity: usize,
    parameters: Memory,
    parameters_host: Pinned,
    ids: DeviceBuffer<I32>,
    ids_host: Pinned,
}

impl SampledRows {
    /// Room for so many rows.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(device: &Arc<Device>, capacity: usize) -> Result<Self, CudaError> {
        let bytes = 4 * capacity * size_of::<u32>();
        Ok(Self {
            capacity,
            parameters: Memory::zeroed(device.context(), bytes)?,
            parameters_host: Pinned::new(device.context(), bytes)?,
            ids: DeviceBuffer::new(device, capacity)?,
            ids_host: Pinned::new(device.context(), capacity * I32::BYTES)?,
        })
    }

    /// Bytes held on the device.
    pub fn bytes(&self) -> usize {
        self.parameters.bytes() + self.ids.bytes()
    }

    /// temperature, top_k, top_p, random and ids, for the sampling kernel of `rows` rows.
    ///
    /// # Panics
    /// If there is room for fewer rows.
    pub fn args_mut(&mut self, rows: usize) -> [Arg<'_>; 5] {
        self.check(rows);
        let part = |index: usize| Arg::part(&self.parameters, index * self.capacity * size_of::<u32>());
        [part(0), part(1), part(2), part(3), self.ids.arg_mut()]
    }

    /// The ids alone, for a kernel that takes the most likely token of `rows` rows.
    ///
    /// # Panics
    /// If there is room for fewer rows.
    pub fn ids_mut(&mut self, rows: usize) -> Arg<'_> {
        self.check(rows);
        self.ids.arg_mut()
    }

    /// The ids of the first `rows` rows, once the kernel has drawn them.
    ///
    /// # Errors
    /// When something before failed.
    ///
    /// # Panics
    /// If there is room for fewer rows.
    pub fn ids(&mut self, rows: usize) -> Result<Vec<u32>, CudaError> {
        self.check(rows);
        self.ids_host.download(0, self.ids.memory(), 0, rows * I32::BYTES)?;
        let bytes = self.ids_host.bytes_mut()?;
        Ok(bytes.as_chunks::<4>().0[..rows].iter().map(|b| u32::from_le_bytes(*b)).collect())
    }

    /// Copies how the tokens of a step's rows are chosen to the device.
    ///
    /// # Errors
    /// When the device refuses.
    ///
    /// # Panics
    /// If there is room for fewer rows.
    pub fn write(&mut self, rows: &[RowSampling]) -> Result<(), CudaError> {
        write(rows, self.capacity, self.parameters_host.bytes_mut()?);
        let bytes = self.parameters.bytes();
        self.parameters_host.upload(0, &mut self.parameters, 0, bytes)
    }

    /// The tokens of the first `rows` rows; `None` where the logits of a row are broken.
    ///
    /// # Errors
    /// As [`Self::ids`].
    pub fn read(&mut self, rows: usize) -> Result<Vec<Option<u32>>, CudaError> {
        Ok(self.ids(rows)?.into_iter().map(|id| (id <= i32::MAX as u32).then_some(id)).collect())
    }

    fn check(&self, rows: usize) {
        assert!(rows <= self.capacity, "{rows} rows are sampled, and there is room for {}", self.capacity);
    }
}

impl std::fmt::Debug for SampledRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SampledRows({})", self.capacity)
    }
}

/// Four arrays of `capacity` numbers; rows that are not there take the most likely token.
fn write(rows: &[RowSampling], capacity: usize, bytes: &mut [u8]) {
    assert!(rows.len() <= capacity, "{} rows are sampled, and there is room for {capacity}", rows.len());
    let (numbers, _) = bytes.as_chunks_mut::<4>();
    for index in 0..capacity {
        let row = rows.get(index).unwrap_or(&RowSampling::GREEDY);
        let of_row = [row.temperature.to_bits(), row.top_k, row.top_p.to_bits(), row.random.to_bits()];
        for (array, number) in of_row.into_iter().enumerate() {
            numbers[array * capacity + index] = number.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_four_arrays() {
        let rows = [
            RowSampling { temperature: 0.5, top_k: 3, top_p: 0.25, random: 0.75 },
            RowSampling { temperature: 2.0, top_k: 0, top_p: 1.0, random: 0.5 },
        ];
        let mut bytes = vec![0xee; 4 * 3 * 4];
        write(&rows, 3, &mut bytes);
        let numbers: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        let float = |i: usize| f32::from_bits(numbers[i]);
        assert_eq!([float(0), float(1), float(2)], [0.5, 2.0, 0.0]);
        assert_eq!(numbers[3..6], [3, 0, 0]);
        assert_eq!([float(6), float(7), float(8)], [0.25, 1.0, 1.0]);
        assert_eq!([float(9), float(10), float(11)], [0.75, 0.5, 0.0]);
    }

    #[test]
    #[should_panic(expected = "1 rows are sampled, and there is room for 0")]
    fn refuses_more_rows_than_fit() {
        write(&[RowSampling { temperature: 0.0, top_k: 0, top_p: 1.0, random: 0.0 }], 0, &mut []);
    }
}
