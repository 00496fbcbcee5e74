//! Activations, vectors and scratch memory on a device, with their widths in the type.

use std::sync::Arc;

use super::buffer::{DeviceBuffer, DeviceElement, F32};
use super::{Arg, CudaError, Device};

/// A matrix of `capacity` rows of exactly `D` elements. How many of them a step uses is an argument of its kernels.
pub struct DeviceRows<T: DeviceElement, const D: usize>(DeviceBuffer<T>);

impl<T: DeviceElement, const D: usize> DeviceRows<T, D> {
    /// Zeroed rows.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(device: &Arc<Device>, capacity: usize) -> Result<Self, CudaError> {
        const { assert!(D > 0, "a row has at least one element") };
        DeviceBuffer::new(device, capacity.saturating_mul(D)).map(Self)
    }

    /// Rows that fit.
    pub fn capacity(&self) -> usize {
        self.0.len() / D
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// For a kernel that reads the first `rows` rows.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn arg(&self, rows: usize) -> Arg<'_> {
        self.check(rows);
        self.0.arg()
    }

    /// For a kernel that writes the first `rows` rows.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn arg_mut(&mut self, rows: usize) -> Arg<'_> {
        self.check(rows);
        self.0.arg_mut()
    }

    fn check(&self, rows: usize) {
        assert!(rows <= self.capacity(), "{rows} rows in a device buffer for {}", self.capacity());
    }

    /// The first `rows` rows, once everything before is done: for tests and tools.
    ///
    /// # Errors
    /// When something before failed.
    pub fn download(&self, rows: usize) -> Result<Vec<T::Host>, CudaError> {
        self.check(rows);
        self.0.download(0, rows * D)
    }

    /// Replaces the first rows: for tests and tools.
    ///
    /// # Errors
    /// When something before failed.
    pub fn upload(&mut self, values: &[T::Host]) -> Result<(), CudaError> {
        self.0.upload(0, values)
    }

    pub(super) fn buffer(&self, rows: usize) -> &DeviceBuffer<T> {
        self.check(rows);
        &self.0
    }

    pub(super) fn buffer_mut(&mut self, rows: usize) -> &mut DeviceBuffer<T> {
        self.check(rows);
        &mut self.0
    }
}

impl<T: DeviceElement, const D: usize> std::fmt::Debug for DeviceRows<T, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceRows<{}, {D}>({})", T::NAME, self.capacity())
    }
}

/// `D` numbers of a layer in f32: the weight of a norm, a bias, sinks, decays.
pub struct DeviceVector<const D: usize>(DeviceBuffer<F32>);

impl<const D: usize> DeviceVector<D> {
    /// A copy of these numbers.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(device: &Arc<Device>, values: &[f32; D]) -> Result<Self, CudaError> {
        DeviceBuffer::from_host(device, values).map(Self)
    }

    /// For a kernel.
    pub fn arg(&self) -> Arg<'_> {
        self.0.arg()
    }

    /// For a kernel that can do without; null where there is none.
    pub fn optional(vector: Option<&Self>) -> Arg<'_> {
        vector.map_or(Arg::null(), Self::arg)
    }

    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        D * size_of::<f32>()
    }
}

impl<const D: usize> std::fmt::Debug for DeviceVector<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceVector<{D}>")
    }
}

/// The filters of a causal depthwise convolution, `[KERNEL][DIM]`.
pub struct DeviceConv<const DIM: usize, const KERNEL: usize>(DeviceBuffer<F32>);

impl<const DIM: usize, const KERNEL: usize> DeviceConv<DIM, KERNEL> {
    /// A copy of these taps, `[KERNEL][DIM]`.
    pub(super) fn new(device: &Arc<Device>, taps: &[f32]) -> Result<Self, CudaError> {
        assert_eq!(taps.len(), KERNEL * DIM, "a tap per channel and place");
        DeviceBuffer::from_host(device, taps).map(Self)
    }

    /// For a kernel.
    pub fn arg(&self) -> Arg<'_> {
        self.0.arg()
    }

    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        KERNEL * DIM * size_of::<f32>()
    }
}

impl<const DIM: usize, const KERNEL: usize> std::fmt::Debug for DeviceConv<DIM, KERNEL> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceConv<{DIM}, {KERNEL}>")
    }
}

/// Memory for what kernels keep within a launch or hand to the next one: partial sums, counters, expanded keys. Zeroed when it is made.
pub struct DeviceWorkspace<T: DeviceElement>(DeviceBuffer<T>);

impl<T: DeviceElement> DeviceWorkspace<T> {
    /// So many elements.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(device: &Arc<Device>, elements: usize) -> Result<Self, CudaError> {
        DeviceBuffer::new(device, elements).map(Self)
    }

    /// Elements that fit.
    pub fn capacity(&self) -> usize {
        self.0.len()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// For a kernel that reads the first `elements`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn arg(&self, elements: usize) -> Arg<'_> {
        self.check(elements);
        self.0.arg()
    }

    /// For a kernel that writes the first `elements`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn arg_mut(&mut self, elements: usize) -> Arg<'_> {
        self.check(elements);
        self.0.arg_mut()
    }

    /// Replaces the first elements: for tests and tools.
    ///
    /// # Errors
    /// When something before failed.
    pub fn upload(&mut self, values: &[T::Host]) -> Result<(), CudaError> {
        self.0.upload(0, values)
    }

    fn check(&self, elements: usize) {
        assert!(elements <= self.capacity(), "{elements} elements in a workspace for {}", self.capacity());
    }

    pub(super) fn buffer(&self, elements: usize) -> &DeviceBuffer<T> {
        self.check(elements);
        &self.0
    }
}

impl<T: DeviceElement> std::fmt::Debug for DeviceWorkspace<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceWorkspace<{}>({})", T::NAME, self.capacity())
    }
}
