//! `DeviceExperts`: the matrices of all experts of a layer, in stacks.

use tenon_formats::StorageFormat;

use super::Arg;
use super::buffer::{DeviceBuffer, F32, U8};

/// Matrices of one shape and format, one after the other.
pub struct DeviceStack {
    pub(super) format: StorageFormat,
    pub(super) planes: DeviceBuffer<U8>,
    /// Of each matrix its table; empty where the format has none.
    pub(super) scales: DeviceBuffer<F32>,
    /// One per matrix.
    pub(super) factors: DeviceBuffer<F32>,
}

impl DeviceStack {
    /// The storage format.
    pub fn format(&self) -> StorageFormat {
        self.format
    }

    /// The rows of all matrices, for a kernel.
    pub fn planes(&self) -> Arg<'_> {
        self.planes.arg()
    }

    /// The tables of scales of blocks of 128 rows by as many columns, for a kernel; null where the format has none.
    pub fn scales(&self) -> Arg<'_> {
        self.scales.arg()
    }

    /// What the weights of each matrix are multiplied by, for a kernel.
    pub fn factors(&self) -> Arg<'_> {
        self.factors.arg()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.planes.bytes() + self.scales.bytes() + self.factors.bytes()
    }
}

impl std::fmt::Debug for DeviceStack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceStack({} of {})", self.factors.len(), self.format)
    }
}

/// `E` experts with hidden size `H` and intermediate size `I`. With gates the gate of expert `e` is matrix `2 e` of the first stack and its
/// up `2 e + 1`; without them the up is matrix `e`.
pub struct DeviceExperts<const E: usize, const H: usize, const I: usize> {
    /// `[E or 2 E, I, H]`
    pub(super) up: DeviceStack,
    /// `[E, H, I]`
    pub(super) down: DeviceStack,
    /// Of gates `[E, I]`, of ups `[E, I]` and of downs `[E, H]`.
    pub(super) biases: Option<[DeviceBuffer<F32>; 3]>,
    pub(super) gated: bool,
}

impl<const E: usize, const H: usize, const I: usize> DeviceExperts<E, H, I> {
    /// Gates and ups, or ups alone.
    pub fn up(&self) -> &DeviceStack {
        &self.up
    }

    /// Downs.
    pub fn down(&self) -> &DeviceStack {
        &self.down
    }

    /// Biases of gates, `[E, I]`, for a kernel; null where experts have none.
    pub fn gate_bias(&self) -> Arg<'_> {
        self.bias(0)
    }

    /// Biases of ups, `[E, I]`, for a kernel; null where experts have none.
    pub fn up_bias(&self) -> Arg<'_> {
        self.bias(1)
    }

    /// Biases of downs, `[E, H]`, for a kernel; null where experts have none.
    pub fn down_bias(&self) -> Arg<'_> {
        self.bias(2)
    }

    fn bias(&self, which: usize) -> Arg<'_> {
        self.biases.as_ref().map_or(Arg::null(), |biases| biases[which].arg())
    }

    /// True where experts have gates.
    pub fn is_gated(&self) -> bool {
        self.gated
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let biases = self.biases.iter().flatten().map(DeviceBuffer::bytes).sum::<usize>();
        self.up.bytes() + self.down.bytes() + biases
    }
}

impl<const E: usize, const H: usize, const I: usize> std::fmt::Debug for DeviceExperts<E, H, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.gated { "gated" } else { "plain" };
        write!(f, "DeviceExperts<{E}, {H}, {I}>({kind}, {} and {})", self.up.format, self.down.format)
    }
}
