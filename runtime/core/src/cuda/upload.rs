//! `Uploader`: rows that threads of the host rearrange while the device copies those before them.

use std::sync::Arc;

use super::driver::Pinned;
use super::{CudaError, Device, DeviceBuffer, U8};
use crate::cpu::Cpu;
use crate::cpu::grid::Grid;

/// Bytes that are rearranged while as many are copied.
const STAGING: usize = 32 << 20;

/// Two pieces of pinned memory that take turns.
pub(super) struct Uploader {
    device: Arc<Device>,
    staging: [Option<Pinned>; 2],
    next: usize,
}

impl Uploader {
    pub(super) fn new(device: &Arc<Device>) -> Self {
        Self { device: Arc::clone(device), staging: [None, None], next: 0 }
    }

    /// Writes `rows` rows of `row_bytes` to the device, from byte `at` of `to` on. `fill` writes a row; its last argument is a buffer that a
    /// thread keeps from row to row.
    pub(super) fn rows(
        &mut self,
        cpu: &Cpu,
        to: &mut DeviceBuffer<U8>,
        at: usize,
        rows: usize,
        row_bytes: usize,
        fill: impl Fn(usize, &mut [u8], &mut Vec<u8>) + Sync,
    ) -> Result<(), CudaError> {
        let wanted = STAGING.max(row_bytes);
        for (first, count) in pieces(rows, row_bytes) {
            let staging = &mut self.staging[self.next];
            if staging.as_ref().is_none_or(|s| s.len() < wanted) {
                *staging = Some(Pinned::new(self.device.context(), wanted)?);
            }
            let staging = staging.as_mut().expect("it was just made");
            let bytes = &mut staging.bytes_mut()?[..count * row_bytes];
            let unit = cpu.row_unit(count, bytes.len());
            cpu.over(&mut Grid::of_rows(bytes, row_bytes, unit), |mut cell| {
                let mut buffer = Vec::new();
                for row in cell.rows.clone() {
                    fill(first + row, cell.row_mut(row), &mut buffer);
                }
            });
            staging.upload(0, to.memory_mut(), at + first * row_bytes, count * row_bytes)?;
            self.next ^= 1;
        }
        Ok(())
    }
}

/// The first row of each piece and how many it has: as many as fit into the staging memory, and at least one.
fn pieces(rows: usize, row_bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let most = (STAGING / row_bytes).max(1);
    (0..rows).step_by(most).map(move |first| (first, most.min(rows - first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_all_rows_and_fit() {
        assert_eq!(pieces(5, 16).collect::<Vec<_>>(), [(0, 5)]);
        assert_eq!(pieces(5, STAGING / 2).collect::<Vec<_>>(), [(0, 2), (2, 2), (4, 1)]);
        assert_eq!(pieces(2, 3 * STAGING).collect::<Vec<_>>(), [(0, 1), (1, 1)]);
        assert_eq!(pieces(0, 16).next(), None);
    }
}
