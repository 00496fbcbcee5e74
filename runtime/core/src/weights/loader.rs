//! `Loader`: packs the tensors of a checkpoint that fits.

use std::fmt;
use std::sync::Arc;

use tenon_formats::expect::ConfigContract;
use tenon_formats::expect::tensors::stored::{Lies, MatrixNeed};
use tenon_formats::expect::tensors::{Need, in_layer};

use super::compare::{compare, compare_one};
use super::spec::{BiasSpec, ConvSpec, DecaySpec, EmbeddingSpec, LatentUpSpec, LinearSpec, NormSpec, VectorSpec};
use super::{Checkpoint, LoadError, MappedTensor, PlannedTensor, finite};
use crate::cpu::Cpu;
use crate::linear::{Bias, Conv, Decay, Embedding, LatentUp, Linear, Norm, PackError, Vector};

/// Loads weights for the CPU out of a checkpoint that was compared with the plan.
pub struct Loader<'a> {
    pub(crate) checkpoint: &'a Arc<Checkpoint>,
    pub(crate) cpu: &'a Cpu,
}

impl<'a> Loader<'a> {
    /// Compares every tensor and every config key with the plan; nothing is loaded before all of it fits.
    ///
    /// # Errors
    /// [`LoadError::Mismatch`] with all differences.
    pub fn new(
        checkpoint: &'a Arc<Checkpoint>,
        cpu: &'a Cpu,
        tensors: &[PlannedTensor],
        config: &ConfigContract<'_>,
    ) -> Result<Self, LoadError> {
        compare(checkpoint, tensors, config)?;
        Ok(Self { checkpoint, cpu })
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

    /// The weight of a linear layer, repacked. A name without `{layer}` is the same tensor for every `layer`.
    ///
    /// # Errors
    /// When a weight is NaN or infinite, or when the tensor is not what the spec says, which [`Loader::new`] excludes for a plan
    /// that lists it.
    pub fn linear<const OUT: usize, const IN: usize>(
        &self,
        spec: &LinearSpec<OUT, IN>,
        layer: usize,
    ) -> Result<Linear<OUT, IN>, LoadError> {
        let rows = spec.order.stored_rows(OUT);
        let need = MatrixNeed { stack: None, rows, inputs: IN, lies: Lies::Rows };
        let matrix = self.matrix(&in_layer(spec.name, layer), need, spec.accept)?;
        matrix.with(0, |source| Linear::from_source(self.cpu, source, spec.order))
    }

    /// The weight of a norm. A name without `{layer}` is the same tensor for every `layer`.
    ///
    /// # Errors
    /// As [`Loader::linear`].
    pub fn norm<const D: usize>(&self, spec: &NormSpec<D>, layer: usize) -> Result<Norm<D>, LoadError> {
        let tensor = self.find(in_layer(spec.name, layer), spec.need())?;
        let norm = Norm::decode(tensor.format(), tensor.bytes()).map_err(|e| unpackable(&tensor, e))?;
        Ok(if spec.plus_one { norm.plus_one() } else { norm })
    }

    /// The bias of a linear layer. A name without `{layer}` is the same tensor for every `layer`.
    ///
    /// # Errors
    /// As [`Loader::linear`].
    pub fn bias<const D: usize>(&self, spec: &BiasSpec<D>, layer: usize) -> Result<Bias<D>, LoadError> {
        let tensor = self.find(in_layer(spec.name, layer), spec.need())?;
        Bias::decode(tensor.format(), tensor.bytes(), spec.order).map_err(|e| unpackable(&tensor, e))
    }

    /// The projection from latents to keys and values. A name without `{layer}` is the same tensor for every `layer`.
    ///
    /// # Errors
    /// As [`Loader::linear`].
    pub fn latent_up<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize>(
        &self,
        spec: &LatentUpSpec<HEADS, NOPE, V, R>,
        layer: usize,
    ) -> Result<LatentUp<HEADS, NOPE, V, R>, LoadError> {
        let need = MatrixNeed { stack: None, rows: HEADS * (NOPE + V), inputs: R, lies: Lies::Rows };
        let matrix = self.matrix(&in_layer(spec.name, layer), need, spec.accept)?;
        matrix.with(0, |source| Ok(LatentUp::from_source(source)))
    }

    /// A vector of a layer. A name without `{layer}` is the same tensor for every `layer`.
    ///
    /// # Errors
    /// As [`Loader::linear`].
    pub fn vector<const N: usize>(&self, spec: &VectorSpec<N>, layer: usize) -> Result<Vector<N>, LoadError> {
        let tensor = self.find(in_layer(spec.name, layer), spec.need())?;
        Vector::decode(tensor.format(), tensor.bytes()).map_err(|e| unpackable(&tensor, e))
    }

    /// The filters of a depthwise convolution. A name without `{layer}` is the same tensor for every `layer`.
    ///
    /// # Errors
    /// As [`Loader::linear`].
    pub fn conv<const DIM: usize, const KERNEL: usize>(
        &self,
        spec: &ConvSpec<DIM, KERNEL>,
        layer: usize,
    ) -> Result<Conv<DIM, KERNEL>, LoadError> {
        let tensor = self.find(in_layer(spec.name, layer), spec.need())?;
        Conv::decode(tensor.format(), tensor.bytes()).map_err(|e| unpackable(&tensor, e))
    }

    /// The decays of heads, `-exp(A_log)`. A name without `{layer}` is the same tensor for every `layer`.
    ///
    /// # Errors
    /// As [`Loader::linear`], and when a decay is not below 0 and finite.
    pub fn decay<const N: usize>(&self, spec: &DecaySpec<N>, layer: usize) -> Result<Decay<N>, LoadError> {
        let tensor = self.find(in_layer(spec.name, layer), spec.need())?;
        Decay::decode(tensor.format(), tensor.bytes()).map_err(|e| unpackable(&tensor, e))
    }

    /// The token embedding, which stays mapped.
    ///
    /// # Errors
    /// As [`Loader::linear`].
    pub fn embedding<const VOCAB: usize, const HIDDEN: usize>(
        &self,
        spec: &EmbeddingSpec<VOCAB, HIDDEN>,
    ) -> Result<Embedding<VOCAB, HIDDEN>, LoadError> {
        let tensor = self.find(spec.name.to_owned(), spec.need())?;
        Embedding::new(tensor.clone()).map_err(|e| unpackable(&tensor, e))
    }

    /// A tensor by name, of which every weight is a number. It is compared again, because a table may not list what a plan loads.
    pub(crate) fn find(&self, name: String, need: Need<'_>) -> Result<MappedTensor, LoadError> {
        compare_one(self.checkpoint, &name, &need)?;
        let tensor = MappedTensor::new(self.checkpoint, &name).expect("a tensor that fits is there in a known format");
        finite::check(self.cpu, tensor.name(), tensor.shape(), tensor.format(), tensor.bytes())?;
        Ok(tensor)
    }
}

impl fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader").field("checkpoint", &self.checkpoint.path()).finish_non_exhaustive()
    }
}

pub(crate) fn unpackable(tensor: &MappedTensor, problem: PackError) -> LoadError {
    LoadError::Pack { tensor: tensor.name().to_owned(), problem }
}
