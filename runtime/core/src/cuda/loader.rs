//! `DeviceLoader`: the checks of [`Loader`], and weights that go to a device.

use std::cell::RefCell;
use std::sync::Arc;

use half::bf16;
use tenon_formats::expect::ConfigContract;
use tenon_formats::expect::tensors::in_layer;
use tenon_formats::expect::tensors::stored::{Lies, MatrixNeed};

use super::buffer::DeviceBuffer;
use super::linear::Matrix;
use super::planes::{self, Beside};
use super::stack::StackBuilder;
use super::upload::Uploader;
use super::{CudaError, Device, DeviceConv, DeviceEmbedding, DeviceExperts, DeviceLatentUp, DeviceLinear, DeviceVector, F32};
use crate::cpu::Cpu;
use crate::linear::source::Source;
use crate::linear::{Embedding, PackError};
use crate::weights::{
    BiasSpec, Checkpoint, ConvSpec, DecaySpec, EmbeddingSpec, ExpertRole, GatedExpertsSpec, LatentUpSpec, LinearSpec, LoadError,
    Loader, NormSpec, PlainExpertsSpec, PlannedTensor, VectorSpec, unpackable,
};

/// Told how many bytes of the checkpoint were loaded, and how many there are.
pub type Progress = Box<dyn FnMut(u64, u64) + Send>;

/// Loads weights onto a device out of a checkpoint that was compared with the plan.
pub struct DeviceLoader<'a> {
    loader: Loader<'a>,
    device: &'a Arc<Device>,
    uploader: RefCell<Uploader>,
    loaded: RefCell<u64>,
    all: u64,
}

impl<'a> DeviceLoader<'a> {
    /// Compares every tensor and every config key with the plan; nothing is loaded before all of it fits. `cpu` checks and rearranges
    /// weights. Whoever called [`Device::on_progress`] is told how far it is.
    ///
    /// # Errors
    /// [`LoadError::Mismatch`] with all differences.
    pub fn new(
        checkpoint: &'a Arc<Checkpoint>,
        cpu: &'a Cpu,
        device: &'a Arc<Device>,
        tensors: &[PlannedTensor],
        config: &ConfigContract<'_>,
    ) -> Result<Self, LoadError> {
        let loader = Loader::new(checkpoint, cpu, tensors, config)?;
        let all = checkpoint.tensors().iter().map(|tensor| tensor.range.end - tensor.range.start).sum();
        Ok(Self { loader, device, uploader: RefCell::new(Uploader::new(device)), loaded: RefCell::new(0), all })
    }

    /// Calls `load` with the number of each layer, in order.
    ///
    /// # Errors
    /// Those of `load`.
    pub fn layers<T, const N: usize>(
        &self,
        layers: &[usize; N],
        load: fn(&Self, usize) -> Result<T, LoadError>,
    ) -> Result<Box<[T; N]>, LoadError> {
        let loaded = layers.iter().map(|&layer| load(self, layer)).collect::<Result<Vec<T>, _>>()?;
        Ok(loaded.try_into().unwrap_or_else(|_| unreachable!("one value per layer was collected")))
    }

    /// The weight of a linear layer, as [`Loader::linear`] finds it.
    ///
    /// # Errors
    /// As [`Loader::linear`], and when the device refuses.
    pub fn linear<const OUT: usize, const IN: usize>(
        &self,
        spec: &LinearSpec<OUT, IN>,
        layer: usize,
    ) -> Result<DeviceLinear<OUT, IN>, LoadError> {
        let rows = spec.order.stored_rows(OUT);
        let need = MatrixNeed { stack: None, rows, inputs: IN, lies: Lies::Rows };
        let matrix = self.loader.matrix(&in_layer(spec.name, layer), need, spec.accept)?;
        let uploaded = matrix.with(0, |source| {
            spec.order.check(OUT).map_err(|what| PackError::Order { what })?;
            self.matrix(source, OUT, |row| spec.order.stored_row(row, OUT))
        })?;
        Ok(DeviceLinear(uploaded?))
    }

    /// The token embedding.
    ///
    /// # Errors
    /// As [`Loader::embedding`], and when the device refuses.
    pub fn embedding<const VOCAB: usize, const HIDDEN: usize>(
        &self,
        spec: &EmbeddingSpec<VOCAB, HIDDEN>,
    ) -> Result<DeviceEmbedding<VOCAB, HIDDEN>, LoadError> {
        let tensor = self.loader.find(spec.name.to_owned(), spec.need())?;
        // The host's refuses what has scales in another tensor.
        Embedding::<VOCAB, HIDDEN>::new(tensor.clone()).map_err(|e| unpackable(&tensor, e))?;
        let source = Source::of_rows(tensor.format(), tensor.bytes(), VOCAB, HIDDEN).map_err(|e| unpackable(&tensor, e))?;
        let uploaded = self.matrix(&source, VOCAB, |row| row).map_err(|e| unpackable(&tensor, e))?;
        Ok(DeviceEmbedding(uploaded?))
    }

    /// The weight of a norm, with the 1 that it may be counted from.
    ///
    /// # Errors
    /// As [`Loader::norm`], and when the device refuses.
    pub fn norm<const D: usize>(&self, spec: &NormSpec<D>, layer: usize) -> Result<DeviceVector<D>, LoadError> {
        self.numbers(self.loader.norm(spec, layer)?.weights())
    }

    /// The bias of a linear layer.
    ///
    /// # Errors
    /// As [`Loader::bias`], and when the device refuses.
    pub fn bias<const D: usize>(&self, spec: &BiasSpec<D>, layer: usize) -> Result<DeviceVector<D>, LoadError> {
        self.numbers(self.loader.bias(spec, layer)?.values())
    }

    /// A vector of a layer.
    ///
    /// # Errors
    /// As [`Loader::vector`], and when the device refuses.
    pub fn vector<const N: usize>(&self, spec: &VectorSpec<N>, layer: usize) -> Result<DeviceVector<N>, LoadError> {
        self.numbers(self.loader.vector(spec, layer)?.values())
    }

    /// The decays of heads, `-exp(A_log)`.
    ///
    /// # Errors
    /// As [`Loader::decay`], and when the device refuses.
    pub fn decay<const N: usize>(&self, spec: &DecaySpec<N>, layer: usize) -> Result<DeviceVector<N>, LoadError> {
        self.numbers(self.loader.decay(spec, layer)?.values())
    }

    /// The filters of a depthwise convolution.
    ///
    /// # Errors
    /// As [`Loader::conv`], and when the device refuses.
    pub fn conv<const DIM: usize, const KERNEL: usize>(
        &self,
        spec: &ConvSpec<DIM, KERNEL>,
        layer: usize,
    ) -> Result<DeviceConv<DIM, KERNEL>, LoadError> {
        Ok(DeviceConv::new(self.device, self.loader.conv(spec, layer)?.taps())?)
    }

    /// The projection from latents to keys and values, rounded to bf16.
    ///
    /// # Errors
    /// As [`Loader::latent_up`], and when the device refuses.
    pub fn latent_up<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize>(
        &self,
        spec: &LatentUpSpec<HEADS, NOPE, V, R>,
        layer: usize,
    ) -> Result<DeviceLatentUp<HEADS, NOPE, V, R>, LoadError> {
        let need = MatrixNeed { stack: None, rows: HEADS * (NOPE + V), inputs: R, lies: Lies::Rows };
        let matrix = self.loader.matrix(&in_layer(spec.name, layer), need, spec.accept)?;
        let uploaded = matrix.with(0, |source| {
            self.progress(source);
            let [keys, values] = planes::latent_up(source, HEADS, NOPE, V);
            let upload = |rows: &[bf16]| DeviceBuffer::from_host(self.device, rows);
            Ok(upload(&keys).and_then(|keys| Ok(DeviceLatentUp { keys, values: upload(&values)? })))
        })?;
        Ok(uploaded?)
    }

    /// The experts of a layer.
    ///
    /// # Errors
    /// As [`Loader::gated_experts`], when they are stored in several formats, and when the device refuses.
    pub fn gated_experts<const E: usize, const H: usize, const I: usize>(
        &self,
        spec: &GatedExpertsSpec<E, H, I>,
        layer: usize,
    ) -> Result<DeviceExperts<E, H, I>, LoadError> {
        let (mut up, mut down) = (StackBuilder::new(2 * E), StackBuilder::new(E));
        let biases = self.loader.gated_matrices(spec, layer, |matrix| {
            self.progress_rows(matrix.source, matrix.outputs);
            let uploader = &mut self.uploader.borrow_mut();
            match matrix.role {
                ExpertRole::Gate => up.add(self.device, uploader, self.loader.cpu, &matrix, 2 * matrix.expert),
                ExpertRole::Up => up.add(self.device, uploader, self.loader.cpu, &matrix, 2 * matrix.expert + 1),
                ExpertRole::Down => down.add(self.device, uploader, self.loader.cpu, &matrix, matrix.expert),
            }
        })?;
        let upload = |values: &[f32]| DeviceBuffer::<F32>::from_host(self.device, values);
        let biases = match biases {
            Some(biases) => Some([upload(&biases.gate)?, upload(&biases.up)?, upload(&biases.down)?]),
            None => None,
        };
        let (up, down) = (up.finish(self.device)?, down.finish(self.device)?);
        Ok(DeviceExperts { up, down, biases, gated: true })
    }

    /// The experts of a layer.
    ///
    /// # Errors
    /// As [`Loader::plain_experts`], when they are stored in several formats, and when the device refuses.
    pub fn plain_experts<const E: usize, const H: usize, const I: usize>(
        &self,
        spec: &PlainExpertsSpec<E, H, I>,
        layer: usize,
    ) -> Result<DeviceExperts<E, H, I>, LoadError> {
        let (mut up, mut down) = (StackBuilder::new(E), StackBuilder::new(E));
        self.loader.plain_matrices(spec, layer, |matrix| {
            self.progress_rows(matrix.source, matrix.outputs);
            let stack = if matrix.role == ExpertRole::Down { &mut down } else { &mut up };
            stack.add(self.device, &mut self.uploader.borrow_mut(), self.loader.cpu, &matrix, matrix.expert)
        })?;
        Ok(DeviceExperts { up: up.finish(self.device)?, down: down.finish(self.device)?, biases: None, gated: false })
    }

    /// Ends loading: waits until everything is on the device.
    ///
    /// # Errors
    /// When a copy failed.
    pub fn finish(self) -> Result<(), LoadError> {
        self.device.synchronise()?;
        self.device.report(self.all, self.all);
        Ok(())
    }

    fn numbers<const D: usize>(&self, values: &[f32; D]) -> Result<DeviceVector<D>, LoadError> {
        Ok(DeviceVector::new(self.device, values)?)
    }

    /// A matrix of `outputs` rows, of which output `o` is row `row(o)` of `source`.
    fn matrix(
        &self,
        source: &Source<'_>,
        outputs: usize,
        row: impl Fn(usize) -> usize + Sync,
    ) -> Result<Result<Matrix, CudaError>, PackError> {
        let row_bytes = planes::row_bytes(source)?;
        let Beside { scales, factor } = Beside::of(source, outputs, &row)?;
        self.progress_rows(source, outputs);
        Ok((|| {
            let mut rows = DeviceBuffer::uninitialised(self.device, outputs.saturating_mul(row_bytes))?;
            planes::upload(&mut self.uploader.borrow_mut(), self.loader.cpu, source, outputs, row, &mut rows, 0)?;
            let scales = Arc::new(DeviceBuffer::from_host(self.device, &scales)?);
            Ok(Matrix { format: source.format, planes: Arc::new(rows), scales, factor, row_bytes })
        })())
    }

    fn progress(&self, source: &Source<'_>) {
        self.progress_rows(source, source.rows);
    }

    /// So many rows of a matrix are being loaded.
    fn progress_rows(&self, source: &Source<'_>, rows: usize) {
        let bytes = source.format.row_bytes(source.inputs).map_or(0, |row| row * rows) as u64;
        let mut loaded = self.loaded.borrow_mut();
        *loaded = self.all.min(*loaded + bytes);
        self.device.report(*loaded, self.all);
    }
}

impl std::fmt::Debug for DeviceLoader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DeviceLoader").field(&self.loader).finish()
    }
}
