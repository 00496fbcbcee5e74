//! Storage formats: how a tensor's elements lie in a checkpoint.

/// Rows and columns of an fp8 block that share a scale.
pub const FP8_BLOCK: usize = 128;

/// How the elements of a tensor are stored. Quantised formats store rows as blocks; a block never crosses a row.
///
/// A `q` is a quant of as many bits as the name of the format says, `d` and `m` (`dmin`) are f16. The formats whose names end
/// in `k` have blocks of 256 elements, and divide them into groups with a scale `s` (and minimum) of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StorageFormat {
    /// IEEE single precision, little endian.
    F32,
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// GGUF: 32 elements, `d * (q - 8)`.
    Q4_0,
    /// GGUF: 32 elements, `d * q + m`.
    Q4_1,
    /// GGUF: 32 elements, `d * (q - 16)`.
    Q5_0,
    /// GGUF: 32 elements, `d * q + m`.
    Q5_1,
    /// GGUF: 32 elements, `d * q` with a signed `q`.
    Q8_0,
    /// GGUF: 8 groups of 32 elements, `d * s * q - dmin * m` with 6-bit `s` and `m`.
    Q4K,
    /// GGUF: 8 groups of 32 elements, `d * s * q - dmin * m` with 6-bit `s` and `m`.
    Q5K,
    /// GGUF: 16 groups of 16 elements, `d * s * (q - 32)` with a signed 8-bit `s`.
    Q6K,
    /// OCP E4M3 (no infinities), one byte, times an f32 that stands in another tensor: one for all, or one per block of 128 rows by
    /// 128 columns.
    Fp8E4m3,
    /// 16 elements of OCP E2M1, two in a byte with the first in the low bits, times an E4M3 scale, times an f32 for all. Checkpoints
    /// keep elements and scales in two tensors; a block is the byte of the scale and the 8 bytes of the elements. (GGUF's type of
    /// this name has other blocks.)
    Nvfp4,
    /// 32 elements of OCP E2M1 times a power of two, `2^(s - 127)`: a byte `s`, and 16 bytes of which the low nibbles are the first
    /// half, as in GGUF. Hugging Face checkpoints keep scales and elements in two tensors, there with neighbours in a byte.
    Mxfp4,
}

/// What there is to know about a format.
struct Facts {
    name: &'static str,
    variant: &'static str,
    block_len: usize,
    block_bytes: usize,
    scales: &'static [usize],
}

const fn facts(
    name: &'static str,
    variant: &'static str,
    block_len: usize,
    block_bytes: usize,
    scales: &'static [usize],
) -> Facts {
    Facts { name, variant, block_len, block_bytes, scales }
}

impl StorageFormat {
    /// Every format that this version reads.
    pub const ALL: [Self; 14] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
        Self::Fp8E4m3,
        Self::Nvfp4,
        Self::Mxfp4,
    ];

    const fn facts(self) -> Facts {
        match self {
            Self::F32 => facts("f32", "F32", 1, 4, &[]),
            Self::F16 => facts("f16", "F16", 1, 2, &[]),
            Self::Bf16 => facts("bf16", "Bf16", 1, 2, &[]),
            Self::Q4_0 => facts("q4_0", "Q4_0", 32, 2 + 16, &[0]),
            Self::Q4_1 => facts("q4_1", "Q4_1", 32, 2 + 2 + 16, &[0, 2]),
            Self::Q5_0 => facts("q5_0", "Q5_0", 32, 2 + 4 + 16, &[0]),
            Self::Q5_1 => facts("q5_1", "Q5_1", 32, 2 + 2 + 4 + 16, &[0, 2]),
            Self::Q8_0 => facts("q8_0", "Q8_0", 32, 2 + 32, &[0]),
            Self::Q4K => facts("q4_k", "Q4K", 256, 2 + 2 + 12 + 128, &[0, 2]),
            Self::Q5K => facts("q5_k", "Q5K", 256, 2 + 2 + 12 + 32 + 128, &[0, 2]),
            Self::Q6K => facts("q6_k", "Q6K", 256, 128 + 64 + 16 + 2, &[208]),
            Self::Fp8E4m3 => facts("fp8_e4m3", "Fp8E4m3", 1, 1, &[]),
            Self::Nvfp4 => facts("nvfp4", "Nvfp4", 16, 1 + 8, &[]),
            Self::Mxfp4 => facts("mxfp4", "Mxfp4", 32, 1 + 16, &[]),
        }
    }

    /// The spelling in specs and messages.
    pub const fn as_str(self) -> &'static str {
        self.facts().name
    }

    /// The name of the variant: what generated code writes after `StorageFormat::`.
    pub const fn variant(self) -> &'static str {
        self.facts().variant
    }

    /// The format with this spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.as_str() == text)
    }

    /// Elements in a block.
    pub const fn block_len(self) -> usize {
        self.facts().block_len
    }

    /// Bytes of a block.
    pub const fn block_bytes(self) -> usize {
        self.facts().block_bytes
    }

    /// True where an element is less than its bits say: it needs a scale, of its block or of its tensor. Norms, biases and other
    /// vectors are not stored so.
    pub const fn is_quantised(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// Neighbours of a row that share a scale; 1 where elements have none.
    pub const fn per_scale(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q6K | Self::Nvfp4 => 16,
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 | Self::Q4K | Self::Q5K | Self::Mxfp4 => 32,
            Self::Fp8E4m3 => FP8_BLOCK,
        }
    }

    /// Where the f16 scales and minima of a block begin, in bytes from its start. None where elements are floats themselves, and
    /// where scales are not f16.
    pub const fn scales(self) -> &'static [usize] {
        self.facts().scales
    }

    /// Bytes of a row of `len` elements with the scales of its blocks, without those of larger parts of a tensor, or `None` when that is not a whole number of blocks (or does not fit in memory).
    pub const fn row_bytes(self, len: usize) -> Option<usize> {
        if len.is_multiple_of(self.block_len()) { (len / self.block_len()).checked_mul(self.block_bytes()) } else { None }
    }
}

impl std::fmt::Display for StorageFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for format in StorageFormat::ALL {
            assert_eq!(StorageFormat::parse(format.as_str()), Some(format));
            assert_eq!(format.variant(), format!("{format:?}"));
        }
        assert_eq!(StorageFormat::parse("q2_k"), None);
    }

    #[test]
    fn what_needs_a_scale_is_quantised() {
        let plain: Vec<_> = StorageFormat::ALL.into_iter().filter(|f| !f.is_quantised()).collect();
        assert_eq!(plain, [StorageFormat::F32, StorageFormat::F16, StorageFormat::Bf16]);
    }

    #[test]
    fn a_row_is_a_whole_number_of_blocks() {
        assert_eq!(StorageFormat::Q4_1.row_bytes(64), Some(40));
        assert_eq!(StorageFormat::Q4_1.row_bytes(40), None);
        assert_eq!(StorageFormat::Q6K.row_bytes(512), Some(420));
        assert_eq!(StorageFormat::Q6K.row_bytes(640), None);
        assert_eq!(StorageFormat::F32.row_bytes(usize::MAX), None);
    }
}
