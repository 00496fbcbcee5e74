//! The planes layout: how weights lie on a device, where threads next to each other read bytes next to each other.

use crate::StorageFormat;

/// Bytes `offset..offset + len` of every block of a format, gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Where they begin in a stored block.
    pub offset: usize,
    /// How many they are.
    pub len: usize,
}

/// A plane begins at a multiple of so many bytes of a row, and a row has a multiple of so many: what one thread loads at once.
pub const PLANE_ALIGN: usize = 16;

const fn plane(offset: usize, len: usize) -> Plane {
    Plane { offset, len }
}

impl StorageFormat {
    /// The planes of a row, in their order. Together they are the bytes of its blocks.
    pub const fn planes(self) -> &'static [Plane] {
        match self {
            Self::F32 => const { &[plane(0, 4)] },
            Self::F16 | Self::Bf16 => const { &[plane(0, 2)] },
            Self::Fp8E4m3 => const { &[plane(0, 1)] },
            Self::Q4_0 => const { &[plane(2, 16), plane(0, 2)] },
            Self::Q4_1 => const { &[plane(4, 16), plane(0, 4)] },
            Self::Q5_0 => const { &[plane(6, 16), plane(2, 4), plane(0, 2)] },
            Self::Q5_1 => const { &[plane(8, 16), plane(4, 4), plane(0, 4)] },
            Self::Q8_0 => const { &[plane(2, 32), plane(0, 2)] },
            Self::Q4K => const { &[plane(16, 128), plane(0, 16)] },
            Self::Q5K => const { &[plane(48, 128), plane(16, 32), plane(0, 16)] },
            Self::Q6K => const { &[plane(0, 128), plane(128, 64), plane(192, 16), plane(208, 2)] },
            Self::Nvfp4 => const { &[plane(1, 8), plane(0, 1)] },
            Self::Mxfp4 => const { &[plane(1, 16), plane(0, 1)] },
        }
    }

    /// Bytes of a row of `len` elements in planes, each padded to [`PLANE_ALIGN`], or `None` when `len` is not a whole number of blocks (or
    /// does not fit in memory).
    pub fn planes_row_bytes(self, len: usize) -> Option<usize> {
        let blocks = len / self.block_len();
        self.row_bytes(len)?;
        self.planes().iter().try_fold(0usize, |sum, plane| sum.checked_add(padded(blocks.checked_mul(plane.len)?)?))
    }

    /// Rearranges one stored row into planes. Padding is zeroed.
    ///
    /// # Panics
    /// If `stored` is not whole blocks, or `out` is not the row's [`planes_row_bytes`](Self::planes_row_bytes).
    pub fn to_planes(self, stored: &[u8], out: &mut [u8]) {
        let size = self.block_bytes();
        assert!(stored.len().is_multiple_of(size), "{} bytes are not blocks of {size}", stored.len());
        let (blocks, mut rest) = (stored.len() / size, out);
        for plane in self.planes() {
            let bytes = blocks * plane.len;
            let (this, after) = rest.split_at_mut(bytes.next_multiple_of(PLANE_ALIGN));
            let (gathered, padding) = this.split_at_mut(bytes);
            if plane.len == size {
                gathered.copy_from_slice(stored);
            } else {
                for (to, from) in gathered.chunks_exact_mut(plane.len).zip(stored.chunks_exact(size)) {
                    to.copy_from_slice(&from[plane.offset..][..plane.len]);
                }
            }
            padding.fill(0);
            rest = after;
        }
        assert!(rest.is_empty(), "{} bytes more than the planes of {blocks} blocks", rest.len());
    }
}

/// Up to a multiple of [`PLANE_ALIGN`].
fn padded(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(PLANE_ALIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_all_bytes_of_a_block_once() {
        for format in StorageFormat::ALL {
            let mut bytes: Vec<usize> = format.planes().iter().flat_map(|p| p.offset..p.offset + p.len).collect();
            bytes.sort_unstable();
            assert_eq!(bytes, (0..format.block_bytes()).collect::<Vec<_>>(), "{format}");
        }
    }

    #[test]
    fn rows_are_padded_plane_by_plane() {
        // 5 blocks: 80 bytes of quants, and 10 of scales in 16.
        assert_eq!(StorageFormat::Q4_0.planes_row_bytes(160), Some(80 + 16));
        assert_eq!(StorageFormat::Q6K.planes_row_bytes(256), Some(128 + 64 + 16 + 16));
        assert_eq!(StorageFormat::Nvfp4.planes_row_bytes(48), Some(32 + 16));
        assert_eq!(StorageFormat::Bf16.planes_row_bytes(9), Some(32));
        assert_eq!(StorageFormat::Q4_0.planes_row_bytes(100), None);
        assert_eq!(StorageFormat::F32.planes_row_bytes(usize::MAX), None);
    }

    #[test]
    fn bytes_of_blocks_are_gathered() {
        // Two blocks of q4_0 whose bytes are their numbers.
        let stored: Vec<u8> = (0..36).collect();
        let mut out = [0xee; 48];
        StorageFormat::Q4_0.to_planes(&stored, &mut out);
        let expected: Vec<u8> = (2..18).chain(20..36).chain([0, 1, 18, 19]).chain([0; 12]).collect();
        assert_eq!(out, *expected);
        let mut out = [0xee; 16];
        StorageFormat::Fp8E4m3.to_planes(&[1, 2, 3], &mut out);
        assert_eq!(out, [1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    /// Every byte of every format comes back from where its plane has it.
    #[test]
    fn every_format_loses_nothing() {
        for format in StorageFormat::ALL {
            let (size, blocks) = (format.block_bytes(), 3);
            let stored: Vec<u8> = (0..size * blocks).map(|i| (i * 7 % 251) as u8).collect();
            let row = format.planes_row_bytes(blocks * format.block_len()).unwrap();
            assert!(row.is_multiple_of(PLANE_ALIGN));
            let mut out = vec![0xee; row];
            format.to_planes(&stored, &mut out);
            let mut start = 0;
            for plane in format.planes() {
                for block in 0..blocks {
                    let expected = &stored[block * size + plane.offset..][..plane.len];
                    assert_eq!(&out[start + block * plane.len..][..plane.len], expected, "{format}");
                }
                start += (blocks * plane.len).next_multiple_of(PLANE_ALIGN);
            }
            assert_eq!(start, row, "{format}");
        }
    }

    #[test]
    #[should_panic(expected = "more than the planes of 1 blocks")]
    fn refuses_room_of_another_size() {
        StorageFormat::Q8_0.to_planes(&[0; 34], &mut [0; 64]);
    }
}
