//! `Conv`: the filters of a causal depthwise convolution.

use tenon_formats::StorageFormat;

use super::{PackError, decode, row_bytes};

/// One filter of `KERNEL` taps for each of `DIM` channels. The last tap is for the current token.
#[derive(Clone, Debug)]
pub struct Conv<const DIM: usize, const KERNEL: usize>(Vec<f32>);

impl<const DIM: usize, const KERNEL: usize> Conv<DIM, KERNEL> {
    /// Decodes filters that are stored as `[DIM, 1, KERNEL]` in f32, f16 or bf16.
    ///
    /// # Errors
    /// When `data` has another length or a quantised format.
    pub fn decode(format: StorageFormat, data: &[u8]) -> Result<Self, PackError> {
        const { assert!(DIM > 0 && KERNEL > 1, "a convolution has at least one channel and two taps") };
        if format.block_len() > 1 {
            return Err(PackError::Vector { format });
        }
        row_bytes(format, DIM, KERNEL, data.len())?;
        let mut stored = vec![0.0; DIM * KERNEL];
        decode::decode_row(format, data, &mut stored);
        let mut taps = vec![0.0; DIM * KERNEL];
        for (channel, filter) in stored.chunks_exact(KERNEL).enumerate() {
            for (tap, &weight) in filter.iter().enumerate() {
                taps[tap * DIM + channel] = weight;
            }
        }
        Ok(Self(taps))
    }

    /// The weights as `[KERNEL][DIM]`: a tap of all channels side by side.
    pub(crate) fn taps(&self) -> &[f32] {
        &self.0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of_val(self.0.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_of_all_channels_lie_side_by_side() {
        // bf16 keeps the upper half of an f32.
        let stored: Vec<u8> = (0..6).flat_map(|i| ((i as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec()).collect();
        let conv = Conv::<2, 3>::decode(StorageFormat::Bf16, &stored).unwrap();
        assert_eq!(conv.taps(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(conv.bytes(), 24);
        let error = Conv::<3, 2>::decode(StorageFormat::F32, &stored).unwrap_err();
        assert_eq!(error.to_string(), "3 rows of 2 in f32 are 24 bytes, and there are 12");
        assert!(matches!(Conv::<1, 32>::decode(StorageFormat::Q8_0, &[0; 34]), Err(PackError::Vector { .. })));
    }
}
