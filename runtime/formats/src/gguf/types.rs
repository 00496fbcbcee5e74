//! The tensor types of GGUF: their numbers, names and block sizes.

/// One tensor type of ggml.
pub(super) struct GgmlType {
    pub(super) id: u32,
    pub(super) name: &'static str,
    /// Elements in a block.
    pub(super) block_len: u64,
    /// Bytes of a block.
    pub(super) block_bytes: u64,
}

const fn ty(id: u32, name: &'static str, block_len: u64, block_bytes: u64) -> GgmlType {
    GgmlType { id, name, block_len, block_bytes }
}

/// Types that a file may hold (`ggml_type` in ggml.h). Those that [`StorageFormat`](crate::StorageFormat) lacks are
/// here for their size, so that a file with one of them can be checked and the tensor named.
const TYPES: [GgmlType; 33] = [
    ty(0, "f32", 1, 4),
    ty(1, "f16", 1, 2),
    ty(2, "q4_0", 32, 18),
    ty(3, "q4_1", 32, 20),
    ty(6, "q5_0", 32, 22),
    ty(7, "q5_1", 32, 24),
    ty(8, "q8_0", 32, 34),
    ty(9, "q8_1", 32, 36),
    ty(10, "q2_k", 256, 84),
    ty(11, "q3_k", 256, 110),
    ty(12, "q4_k", 256, 144),
    ty(13, "q5_k", 256, 176),
    ty(14, "q6_k", 256, 210),
    ty(15, "q8_k", 256, 292),
    ty(16, "iq2_xxs", 256, 66),
    ty(17, "iq2_xs", 256, 74),
    ty(18, "iq3_xxs", 256, 98),
    ty(19, "iq1_s", 256, 50),
    ty(20, "iq4_nl", 32, 18),
    ty(21, "iq3_s", 256, 110),
    ty(22, "iq2_s", 256, 82),
    ty(23, "iq4_xs", 256, 136),
    ty(24, "i8", 1, 1),
    ty(25, "i16", 1, 2),
    ty(26, "i32", 1, 4),
    ty(27, "i64", 1, 8),
    ty(28, "f64", 1, 8),
    ty(29, "iq1_m", 256, 56),
    ty(30, "bf16", 1, 2),
    ty(34, "tq1_0", 256, 54),
    ty(35, "tq2_0", 256, 66),
    ty(39, "mxfp4", 32, 17),
    // Its blocks are not those of the format that other files call nvfp4.
    ty(40, "ggml_nvfp4", 64, 36),
];

/// The type with this number.
pub(super) fn by_id(id: u32) -> Option<&'static GgmlType> {
    TYPES.iter().find(|t| t.id == id)
}

/// The number of the type with this name.
#[cfg(any(test, feature = "write"))]
pub(crate) fn id_of(name: &str) -> Option<u32> {
    TYPES.iter().find(|t| t.name == name).map(|t| t.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StorageFormat;

    #[test]
    fn formats_that_are_read_have_the_sizes_of_the_table() {
        let elsewhere = [StorageFormat::Fp8E4m3, StorageFormat::Nvfp4];
        for format in StorageFormat::ALL.into_iter().filter(|format| !elsewhere.contains(format)) {
            let id = id_of(format.as_str()).expect("every other format is a type of ggml");
            let ty = by_id(id).unwrap();
            assert_eq!(ty.block_len, format.block_len() as u64, "{format}");
            assert_eq!(ty.block_bytes, format.block_bytes() as u64, "{format}");
        }
        elsewhere.iter().for_each(|format| assert_eq!(id_of(format.as_str()), None));
    }

    #[test]
    fn numbers_and_names_are_unique() {
        for (i, a) in TYPES.iter().enumerate() {
            assert!(TYPES[..i].iter().all(|b| a.id > b.id && a.name != b.name), "{}", a.name);
        }
    }
}
