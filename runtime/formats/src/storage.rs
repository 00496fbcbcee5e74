//! Storage formats: how a tensor's elements lie in a checkpoint.

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
    pub const ALL: [Self; 11] = [
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

    /// Where the f16 scales and minima of a block begin, in bytes from its start. None where elements are floats themselves.
    pub const fn scales(self) -> &'static [usize] {
        self.facts().scales
    }

    /// Bytes of a row of `len` elements, or `None` when that is not a whole number of blocks (or does not fit in memory).
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
    fn a_row_is_a_whole_number_of_blocks() {
        assert_eq!(StorageFormat::Q4_1.row_bytes(64), Some(40));
        assert_eq!(StorageFormat::Q4_1.row_bytes(40), None);
        assert_eq!(StorageFormat::Q6K.row_bytes(512), Some(420));
        assert_eq!(StorageFormat::Q6K.row_bytes(640), None);
        assert_eq!(StorageFormat::F32.row_bytes(usize::MAX), None);
    }
}
