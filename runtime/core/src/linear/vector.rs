//! `Vector`: `N` numbers that an operation reads as they are stored.

use tenon_formats::StorageFormat;

use super::{PackError, RowOrder, decode_vector};

/// `N` numbers in f32.
#[derive(Clone, Debug)]
pub struct Vector<const N: usize>(Box<[f32; N]>);

impl<const N: usize> Vector<N> {
    /// Decodes `N` elements of f32, f16 or bf16.
    ///
    /// # Errors
    /// When `data` has another length or a quantised format.
    pub fn decode(format: StorageFormat, data: &[u8]) -> Result<Self, PackError> {
        decode_vector(format, data, RowOrder::Stored).map(Self)
    }

    /// The numbers.
    pub fn values(&self) -> &[f32; N] {
        &self.0
    }

    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        size_of::<[f32; N]>()
    }
}
