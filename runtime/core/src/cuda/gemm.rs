//! `Gemm`: products of many rows by a bf16 weight, through cuBLASLt.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::marker::PhantomData;
use std::sync::Arc;

use super::buffer::{DeviceBuffer, F32};
use super::driver::Memory;
use super::lt::{Library, Mode, Plan, Product};
use super::{Bf16, CudaError, Device, DeviceRows, DeviceWorkspace};

/// A weight `[OUT, IN]` in bf16: one that is stored so, or one that was dequantised into a workspace.
#[derive(Clone, Copy)]
pub struct GemmWeight<'a, const OUT: usize, const IN: usize> {
    memory: &'a Memory,
    /// Elements from one row to the next.
    pitch: usize,
    shape: PhantomData<[(); OUT]>,
}

impl<'a, const OUT: usize, const IN: usize> GemmWeight<'a, OUT, IN> {
    pub(super) fn new(memory: &'a Memory, pitch: usize) -> Self {
        Self { memory, pitch, shape: PhantomData }
    }

    /// The matrix that a kernel wrote to the start of a workspace, row after row.
    ///
    /// # Panics
    /// If the workspace is smaller.
    pub fn dequantised(workspace: &'a DeviceWorkspace<Bf16>) -> Self {
        Self::new(workspace.buffer(OUT * IN).memory(), IN)
    }
}

impl<const OUT: usize, const IN: usize> std::fmt::Debug for GemmWeight<'_, OUT, IN> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GemmWeight<{OUT}, {IN}>")
    }
}

/// cuBLASLt with a workspace of its own, and the algorithm that it chose for each product that was computed before.
pub struct Gemm {
    /// Before the library, so that they are dropped first.
    plans: HashMap<Product, Plan>,
    library: Library,
}

impl Gemm {
    /// Opens the library.
    ///
    /// # Errors
    /// When it is not installed, or there is no room for its workspace.
    pub fn new(device: &Arc<Device>) -> Result<Self, CudaError> {
        Ok(Self { plans: HashMap::new(), library: Library::open(device.context())? })
    }

    /// Bytes of the workspace.
    pub fn bytes(&self) -> usize {
        self.library.bytes()
    }

    /// `y = W x` for the first `rows` rows, rounded to bf16.
    ///
    /// # Errors
    /// When the library has no algorithm for the shape, or the device refuses.
    pub fn store<const OUT: usize, const IN: usize>(
        &mut self,
        weight: GemmWeight<'_, OUT, IN>,
        x: &DeviceRows<Bf16, IN>,
        y: &mut DeviceRows<Bf16, OUT>,
        rows: usize,
    ) -> Result<(), CudaError> {
        self.run(weight, x.buffer(rows), y.buffer_mut(rows).memory_mut(), rows, Mode::Bf16)
    }

    /// `y = W x` for the first `rows` rows, in f32.
    ///
    /// # Errors
    /// As [`Self::store`].
    pub fn store_f32<const OUT: usize, const IN: usize>(
        &mut self,
        weight: GemmWeight<'_, OUT, IN>,
        x: &DeviceRows<Bf16, IN>,
        y: &mut DeviceRows<F32, OUT>,
        rows: usize,
    ) -> Result<(), CudaError> {
        self.run(weight, x.buffer(rows), y.buffer_mut(rows).memory_mut(), rows, Mode::F32)
    }

    /// `y += W x` for the first `rows` rows, in f32.
    ///
    /// # Errors
    /// As [`Self::store`].
    pub fn add<const OUT: usize, const IN: usize>(
        &mut self,
        weight: GemmWeight<'_, OUT, IN>,
        x: &DeviceRows<Bf16, IN>,
        y: &mut DeviceRows<F32, OUT>,
        rows: usize,
    ) -> Result<(), CudaError> {
        self.run(weight, x.buffer(rows), y.buffer_mut(rows).memory_mut(), rows, Mode::Add)
    }

    fn run<const OUT: usize, const IN: usize>(
        &mut self,
        weight: GemmWeight<'_, OUT, IN>,
        x: &DeviceBuffer<Bf16>,
        y: &mut Memory,
        rows: usize,
        mode: Mode,
    ) -> Result<(), CudaError> {
        if rows == 0 {
            return Ok(());
        }
        let product = Product { rows, outputs: OUT, inputs: IN, pitch: weight.pitch, mode };
        let plan = match self.plans.entry(product) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.library.plan(product)?),
        };
        self.library.run(plan, weight.memory, x.memory(), y)
    }
}

impl std::fmt::Debug for Gemm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gemm({} products)", self.plans.len())
    }
}
