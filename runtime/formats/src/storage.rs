//! Storage formats: how a tensor's elements lie in a checkpoint.

/// How the elements of a tensor are stored. Quantised formats store rows as blocks; a block never crosses a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StorageFormat {
    /// IEEE single precision, little endian.
    F32,
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// GGUF: 32 elements, `d * (q - 8)` with an f16 scale `d` and 4-bit `q`.
    Q4_0,
    /// GGUF: 32 elements, `d * q + m` with f16 `d` and `m` and 4-bit `q`.
    Q4_1,
    /// GGUF: 32 elements, `d * q` with an f16 scale `d` and signed 8-bit `q`.
    Q8_0,
}

impl StorageFormat {
    /// Every format that this version reads.
    pub const ALL: [Self; 6] = [Self::F32, Self::F16, Self::Bf16, Self::Q4_0, Self::Q4_1, Self::Q8_0];

    /// The spelling in specs and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Q4_0 => "q4_0",
            Self::Q4_1 => "q4_1",
            Self::Q8_0 => "q8_0",
        }
    }

    /// The format with this spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.as_str() == text)
    }

    /// Elements in a block.
    pub const fn block_len(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q8_0 => 32,
        }
    }

    /// Bytes of a block.
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q4_0 => 2 + 16,
            Self::Q4_1 => 2 + 2 + 16,
            Self::Q8_0 => 2 + 32,
        }
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
        }
        assert_eq!(StorageFormat::parse("q4_k"), None);
    }

    #[test]
    fn a_row_is_a_whole_number_of_blocks() {
        assert_eq!(StorageFormat::Q4_1.row_bytes(64), Some(40));
        assert_eq!(StorageFormat::Q4_1.row_bytes(40), None);
        assert_eq!(StorageFormat::F32.row_bytes(usize::MAX), None);
    }
}
