//! `StackBuilder`: a [`DeviceStack`] that is filled matrix by matrix.

use std::sync::Arc;

use tenon_formats::StorageFormat;

use super::planes::{self, Beside};
use super::upload::Uploader;
use super::{CudaError, Device, DeviceBuffer, DeviceStack, U8};
use crate::cpu::Cpu;
use crate::linear::PackError;
use crate::weights::{ExpertMatrix, LoadError};

/// Matrices of one shape and format, of which each is added once.
pub(super) struct StackBuilder {
    count: usize,
    /// What the first matrix decides.
    made: Option<Made>,
    scales: Vec<f32>,
    factors: Vec<f32>,
}

struct Made {
    format: StorageFormat,
    planes: DeviceBuffer<U8>,
    matrix_bytes: usize,
}

impl StackBuilder {
    /// For `count` matrices.
    pub(super) fn new(count: usize) -> Self {
        Self { count, made: None, scales: Vec::new(), factors: vec![1.0; count] }
    }

    /// Uploads a matrix to its place.
    pub(super) fn add(
        &mut self,
        device: &Arc<Device>,
        uploader: &mut Uploader,
        cpu: &Cpu,
        matrix: &ExpertMatrix<'_>,
        place: usize,
    ) -> Result<(), LoadError> {
        let ExpertMatrix { role, source, outputs, row, .. } = *matrix;
        let unpackable = |problem| LoadError::Pack { tensor: format!("experts ({role:?})"), problem };
        let matrix_bytes = outputs * planes::row_bytes(source).map_err(unpackable)?;
        let beside = Beside::of(source, outputs, row).map_err(unpackable)?;
        let made = match &mut self.made {
            Some(made) => made,
            empty => {
                let planes = DeviceBuffer::uninitialised(device, self.count.saturating_mul(matrix_bytes))?;
                self.scales = vec![0.0; self.count * beside.scales.len()];
                empty.insert(Made { format: source.format, planes, matrix_bytes })
            }
        };
        if made.format != source.format {
            return Err(unpackable(PackError::MixedFormats { first: made.format, other: source.format }));
        }
        let len = beside.scales.len();
        self.scales[place * len..][..len].copy_from_slice(&beside.scales);
        self.factors[place] = beside.factor;
        Ok(planes::upload(uploader, cpu, source, outputs, row, &mut made.planes, place * made.matrix_bytes)?)
    }

    /// The stack, once every matrix was added.
    ///
    /// # Panics
    /// If none was.
    pub(super) fn finish(self, device: &Arc<Device>) -> Result<DeviceStack, CudaError> {
        let made = self.made.expect("a layer has at least one expert");
        Ok(DeviceStack {
            format: made.format,
            planes: made.planes,
            scales: DeviceBuffer::from_host(device, &self.scales)?,
            factors: DeviceBuffer::from_host(device, &self.factors)?,
        })
    }
}
