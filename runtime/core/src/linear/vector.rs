//! `Vector`: numbers of a layer that are neither a norm nor a bias, one per head or expert.

use tenon_formats::StorageFormat;

use super::{PackError, RowOrder, decode_vector};

/// `N` numbers in f32: attention sinks, step biases, score corrections of a router.
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

    /// The elements.
    pub fn values(&self) -> &[f32; N] {
        &self.0
    }

    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        size_of::<[f32; N]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_those_that_are_stored() {
        let vector = Vector::<3>::decode(StorageFormat::Bf16, &[0xc0, 0x3f, 0x00, 0xc0, 0x00, 0x00]).unwrap();
        assert_eq!((vector.values(), vector.bytes()), (&[1.5, -2.0, 0.0], 12));
        assert!(matches!(Vector::<3>::decode(StorageFormat::F32, &[0; 8]), Err(PackError::Length { .. })));
        assert!(matches!(Vector::<32>::decode(StorageFormat::Q8_0, &[0; 34]), Err(PackError::Vector { .. })));
    }
}
