//! Weights on a device with their dimensions in the type: projections, the embedding, and the projection of latents.

use std::sync::Arc;

use tenon_formats::StorageFormat;

use super::buffer::{DeviceBuffer, F32, U8};
use super::{Arg, Bf16, GemmWeight};

/// A matrix as it lies on a device.
#[derive(Clone)]
pub(super) struct Matrix {
    pub(super) format: StorageFormat,
    /// `[outputs, row_bytes]`
    pub(super) planes: Arc<DeviceBuffer<U8>>,
    /// Scales that stand beside elements; empty where a format has none.
    pub(super) scales: Arc<DeviceBuffer<F32>>,
    pub(super) factor: f32,
    pub(super) row_bytes: usize,
}

/// A matrix `[OUT, IN]` in the planes of its stored format.
pub struct DeviceLinear<const OUT: usize, const IN: usize>(pub(super) Matrix);

/// Token embeddings, `[VOCAB, HIDDEN]`, in the planes of their stored format.
pub struct DeviceEmbedding<const VOCAB: usize, const HIDDEN: usize>(pub(super) Matrix);

/// What both kinds of matrices have.
macro_rules! matrix {
    ($($name:ident<$rows:ident, $inputs:ident>)+) => {$(
        impl<const $rows: usize, const $inputs: usize> $name<$rows, $inputs> {
            /// The storage format.
            pub fn format(&self) -> StorageFormat {
                self.0.format
            }

            /// The rows, for a kernel.
            pub fn planes(&self) -> Arg<'_> {
                self.0.planes.arg()
            }

            /// Scales of blocks of 128 rows by as many columns, for a kernel; null where the format has none.
            pub fn scales(&self) -> Arg<'_> {
                self.0.scales.arg()
            }

            /// What every weight is multiplied by, after everything else.
            pub fn factor(&self) -> f32 {
                self.0.factor
            }

            /// Bytes held, alone or shared.
            pub fn bytes(&self) -> usize {
                self.0.planes.bytes() + self.0.scales.bytes()
            }
        }

        impl<const $rows: usize, const $inputs: usize> std::fmt::Debug for $name<$rows, $inputs> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "<{}, {}>({})"), $rows, $inputs, self.format())
            }
        }
    )+};
}
matrix! {
    DeviceLinear<OUT, IN>
    DeviceEmbedding<VOCAB, HIDDEN>
}

impl<const OUT: usize, const IN: usize> DeviceLinear<OUT, IN> {
    /// Elements of a workspace for this weight as bf16: none where it is stored so.
    pub fn elements_to_dequantise(&self) -> usize {
        if self.0.format == StorageFormat::Bf16 { 0 } else { OUT * IN }
    }

    /// The weight as cuBLASLt takes it, where it is stored as bf16.
    pub fn as_bf16(&self) -> Option<GemmWeight<'_, OUT, IN>> {
        let Matrix { format, planes, row_bytes, .. } = &self.0;
        (*format == StorageFormat::Bf16).then(|| GemmWeight::new(planes.memory(), row_bytes / 2))
    }
}

impl<const VOCAB: usize, const HIDDEN: usize> DeviceEmbedding<VOCAB, HIDDEN> {
    /// The head of a model that has its embedding as head: the same memory.
    pub fn tied(&self) -> DeviceLinear<VOCAB, HIDDEN> {
        DeviceLinear(self.0.clone())
    }
}

/// The projection from latents to keys and values in bf16: `[HEADS, NOPE, R]` and `[HEADS, V, R]`.
pub struct DeviceLatentUp<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> {
    pub(super) keys: DeviceBuffer<Bf16>,
    pub(super) values: DeviceBuffer<Bf16>,
}

impl<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> DeviceLatentUp<HEADS, NOPE, V, R> {
    /// `[HEADS, NOPE, R]`, for a kernel: what makes the part of a key that has no position.
    pub fn keys(&self) -> Arg<'_> {
        self.keys.arg()
    }

    /// `[HEADS, V, R]`, for a kernel: what makes a value.
    pub fn values(&self) -> Arg<'_> {
        self.values.arg()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.keys.bytes() + self.values.bytes()
    }
}

impl<const HEADS: usize, const NOPE: usize, const V: usize, const R: usize> std::fmt::Debug
    for DeviceLatentUp<HEADS, NOPE, V, R>
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceLatentUp<{HEADS}, {NOPE}, {V}, {R}>")
    }
}
