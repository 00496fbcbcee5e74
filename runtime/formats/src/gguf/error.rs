//! Why a file is not GGUF, or not a whole one.

use super::MAX_DIMS;
use crate::shown::shown;

/// Why a stretch of the file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Less is left than the next item takes.
    #[error("the file is cut off: {count} x {size} bytes are wanted at byte {at}, and {left} are left")]
    Truncated {
        /// Where the item begins.
        at: u64,
        /// How many items.
        count: u64,
        /// Bytes of each.
        size: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// A string that is not text.
    #[error("the string at byte {at} is not UTF-8")]
    Utf8 {
        /// Where it begins.
        at: u64,
    },
    /// A value type that does not exist.
    #[error("value type {0} does not exist (0 to 12 do)")]
    ValueType(u32),
    /// A bool that is neither.
    #[error("a bool is 0 or 1, and here it is {0}")]
    Bool(u8),
    /// Arrays in arrays in arrays.
    #[error("arrays are nested deeper than {limit}")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
}

/// Why a file is not GGUF, or not a whole one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GgufError {
    /// Something else.
    #[error("not a GGUF file: it does not begin with \"GGUF\"")]
    Magic,
    /// Written for big-endian machines.
    #[error("the file is big-endian, and only little-endian GGUF is read: convert it with gguf-py's gguf-convert-endian")]
    BigEndian,
    /// A version without a reader.
    #[error("GGUF version {0}, and versions 2 and 3 are read: write the file again with a current llama.cpp")]
    Version(u32),
    /// The counts behind the version.
    #[error("header: {0}")]
    Header(ReadError),
    /// A key that cannot be read.
    #[error("metadata key {index} of {count}: {problem}")]
    Key {
        /// Which, from 0.
        index: u64,
        /// Of how many.
        count: u64,
        /// What is wrong.
        problem: ReadError,
    },
    /// A value that cannot be read.
    #[error("metadata `{}`: {problem}", shown(key))]
    Value {
        /// The key.
        key: String,
        /// What is wrong.
        problem: ReadError,
    },
    /// A key that stands twice.
    #[error("metadata `{}` is a duplicate: it stands twice in the file", shown(key))]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// An alignment that is none.
    #[error("metadata `general.alignment` is {}, and it must be a 32-bit power of two, at least 8", shown(found))]
    Alignment {
        /// What stands there.
        found: String,
    },
    /// Tensor data would begin behind the file's end.
    #[error(
        "the tensor data begins at byte {start} (the header's end, {header}, rounded up to general.alignment = {alignment}), and the file ends at {length}"
    )]
    DataStart {
        /// Where the data would begin.
        start: u64,
        /// Where the header ends.
        header: u64,
        /// The alignment.
        alignment: u64,
        /// Bytes of the file.
        length: u64,
    },
    /// An entry of the tensor table that cannot be read.
    #[error("tensor {index} of {count}: {problem}")]
    TensorTable {
        /// Which, from 0.
        index: u64,
        /// Of how many.
        count: u64,
        /// What is wrong.
        problem: ReadError,
    },
    /// A tensor that stands twice.
    #[error("tensor `{}` is a duplicate: it stands twice in the file", shown(name))]
    DuplicateTensor {
        /// The name.
        name: String,
    },
    /// A tensor that contradicts the format or the file.
    #[error("tensor `{}`: {problem}", shown(name))]
    Tensor {
        /// The name.
        name: String,
        /// What is wrong.
        problem: TensorProblem,
    },
}

/// What is wrong with one tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorProblem {
    /// The rest of its entry.
    #[error("{0}")]
    Read(ReadError),
    /// More dimensions than ggml has.
    #[error("{0} dimensions, and GGUF has at most {MAX_DIMS}")]
    Dims(u32),
    /// A dimension of zero.
    #[error("the dimensions {0:?} hold a zero")]
    ZeroDim(Vec<u64>),
    /// A type that does not exist.
    #[error("tensor type {0} is not known to this version")]
    Type(u32),
    /// Rows that are no whole number of blocks.
    #[error("rows of {row} elements are no whole number of {format} blocks, which hold {block}")]
    Blocks {
        /// Elements in a row.
        row: u64,
        /// The format.
        format: &'static str,
        /// Elements in a block.
        block: u64,
    },
    /// More elements or bytes than 64 bits count.
    #[error("the dimensions {0:?} multiply to more than can be addressed")]
    TooLarge(Vec<u64>),
    /// An offset that is not aligned.
    #[error("its offset {offset} is no multiple of the alignment {alignment}")]
    Unaligned {
        /// The offset.
        offset: u64,
        /// The alignment.
        alignment: u64,
    },
    /// Data behind the end of the file.
    #[error("its {bytes} bytes begin at byte {start}, and the file ends at {length}: the file is cut off")]
    OutOfFile {
        /// Bytes of the tensor.
        bytes: u64,
        /// Where they begin in the file (saturated).
        start: u64,
        /// Bytes of the file.
        length: u64,
    },
    /// Data that is not where the tensor before it ends.
    #[error("its data begins at byte {begin}, and {previous} ends at {end}: {what}")]
    Layout {
        /// Where it begins.
        begin: u64,
        /// What stands before it: a tensor, or the header.
        previous: String,
        /// Where that ends, padding included.
        end: u64,
        /// `they overlap`, or that bytes between the two belong to no tensor.
        what: &'static str,
    },
}
