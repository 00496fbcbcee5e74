//! GGUF: metadata and tensor table of versions 2 and 3, little endian.

mod cursor;
mod types;
mod value;

use std::collections::{BTreeMap, HashSet};

pub use value::{Array, Value};

use crate::tensor::{TensorEntry, TensorFormat, elements};
use cursor::Cursor;

#[cfg(any(test, feature = "write"))]
pub(crate) use types::id_of;

const ALIGNMENT_KEY: &str = "general.alignment";
/// Alignment of tensor data where the file does not state one.
const DEFAULT_ALIGNMENT: u32 = 32;
/// ggml's own limit.
const MAX_DIMS: u32 = 4;

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
    #[error("metadata `{key}`: {problem}")]
    Value {
        /// The key.
        key: String,
        /// What is wrong.
        problem: ReadError,
    },
    /// A key that stands twice.
    #[error("metadata `{key}` is a duplicate: it stands twice in the file")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// An alignment that is none.
    #[error("metadata `general.alignment` is {found}, and it must be a 32-bit power of two, at least 8")]
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
    #[error("tensor `{name}` is a duplicate: it stands twice in the file")]
    DuplicateTensor {
        /// The name.
        name: String,
    },
    /// A tensor that contradicts the format or the file.
    #[error("tensor `{name}`: {problem}")]
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

/// The header of one GGUF file.
#[derive(Clone, Debug, PartialEq)]
pub struct Gguf {
    /// Version of the container.
    pub version: u32,
    /// Metadata by key.
    pub metadata: BTreeMap<String, Value>,
    /// Tensors by name; [`TensorEntry::file`] is 0.
    pub tensors: Vec<TensorEntry>,
}

impl Gguf {
    /// Reads the header of a file given in whole: tensor ranges are checked against its length, their bytes are not read.
    pub fn read(bytes: &[u8]) -> Result<Self, GgufError> {
        let mut from = Cursor::new(bytes);
        if from.array() != Ok(*b"GGUF") {
            return Err(GgufError::Magic);
        }
        let version = from.u32().map_err(GgufError::Header)?;
        match version {
            // Version 2 and little-endian version 3 are the same bytes; version 1 had 32-bit lengths.
            2 | 3 => {}
            _ if (1..=3).contains(&version.swap_bytes()) => return Err(GgufError::BigEndian),
            _ => return Err(GgufError::Version(version)),
        }
        let tensor_count = from.u64().map_err(GgufError::Header)?;
        let key_count = from.u64().map_err(GgufError::Header)?;

        let metadata = read_metadata(&mut from, key_count)?;
        let alignment = alignment(&metadata)?;
        let infos = read_tensor_table(&mut from, tensor_count)?;

        let length = bytes.len() as u64;
        let header = from.position();
        let start = header.next_multiple_of(alignment);
        if !infos.is_empty() && start > length {
            return Err(GgufError::DataStart { start, header, alignment, length });
        }
        let mut tensors = infos
            .into_iter()
            .map(|info| place(&info, start, alignment, length).map_err(|problem| tensor_error(&info.name, problem)))
            .collect::<Result<Vec<_>, _>>()?;
        check_layout(&mut tensors, start, alignment)?;
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { version, metadata, tensors })
    }

    /// `general.architecture`, which prefixes the keys of the model.
    pub fn architecture(&self) -> Option<&str> {
        self.metadata.get("general.architecture")?.as_str()
    }

    /// The tensor with this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorEntry> {
        let at = self.tensors.binary_search_by(|t| t.name.as_str().cmp(name)).ok()?;
        Some(&self.tensors[at])
    }
}

fn tensor_error(name: &str, problem: TensorProblem) -> GgufError {
    GgufError::Tensor { name: name.to_owned(), problem }
}

fn read_metadata(from: &mut Cursor<'_>, count: u64) -> Result<BTreeMap<String, Value>, GgufError> {
    let mut metadata = BTreeMap::new();
    for index in 0..count {
        let key = from.string().map_err(|problem| GgufError::Key { index, count, problem })?.to_owned();
        let value = Value::read(from).map_err(|problem| GgufError::Value { key: key.clone(), problem })?;
        if metadata.contains_key(&key) {
            return Err(GgufError::DuplicateKey { key });
        }
        metadata.insert(key, value);
    }
    Ok(metadata)
}

fn alignment(metadata: &BTreeMap<String, Value>) -> Result<u64, GgufError> {
    match metadata.get(ALIGNMENT_KEY) {
        None => Ok(DEFAULT_ALIGNMENT.into()),
        Some(&Value::U32(bytes)) if bytes >= 8 && bytes.is_power_of_two() => Ok(bytes.into()),
        Some(Value::Array(array)) => Err(GgufError::Alignment { found: format!("an array of {}", array.len()) }),
        Some(other) => Err(GgufError::Alignment { found: format!("{other:?}") }),
    }
}

/// One entry of the tensor table, as it stands there: dimensions innermost first.
struct Info {
    name: String,
    dims: Vec<u64>,
    ty: u32,
    offset: u64,
}

fn read_tensor_table(from: &mut Cursor<'_>, count: u64) -> Result<Vec<Info>, GgufError> {
    let mut infos = Vec::new();
    let mut names = HashSet::new();
    for index in 0..count {
        let name = from.string().map_err(|problem| GgufError::TensorTable { index, count, problem })?;
        if !names.insert(name) {
            return Err(GgufError::DuplicateTensor { name: name.to_owned() });
        }
        infos.push(read_info(from, name).map_err(|problem| tensor_error(name, problem))?);
    }
    Ok(infos)
}

fn read_info(from: &mut Cursor<'_>, name: &str) -> Result<Info, TensorProblem> {
    let dim_count = from.u32().map_err(TensorProblem::Read)?;
    if dim_count > MAX_DIMS {
        return Err(TensorProblem::Dims(dim_count));
    }
    let dims = (0..dim_count).map(|_| from.u64()).collect::<Result<Vec<_>, _>>().map_err(TensorProblem::Read)?;
    let ty = from.u32().map_err(TensorProblem::Read)?;
    let offset = from.u64().map_err(TensorProblem::Read)?;
    Ok(Info { name: name.to_owned(), dims, ty, offset })
}

/// Checks one tensor by itself and finds its bytes.
fn place(info: &Info, data_start: u64, alignment: u64, length: u64) -> Result<TensorEntry, TensorProblem> {
    let dims = &info.dims;
    if dims.contains(&0) {
        return Err(TensorProblem::ZeroDim(dims.clone()));
    }
    let too_large = || TensorProblem::TooLarge(dims.clone());
    let ty = types::by_id(info.ty).ok_or(TensorProblem::Type(info.ty))?;
    let row = dims.first().copied().unwrap_or(1);
    if !row.is_multiple_of(ty.block_len) {
        return Err(TensorProblem::Blocks { row, format: ty.name, block: ty.block_len });
    }
    let elements = elements(dims).ok_or_else(too_large)?;
    let bytes = (elements / ty.block_len).checked_mul(ty.block_bytes).ok_or_else(too_large)?;
    let shape = dims.iter().rev().map(|&d| usize::try_from(d)).collect::<Result<_, _>>().map_err(|_| too_large())?;
    if !info.offset.is_multiple_of(alignment) {
        return Err(TensorProblem::Unaligned { offset: info.offset, alignment });
    }
    let start = data_start.saturating_add(info.offset);
    match start.checked_add(bytes) {
        Some(end) if end <= length => Ok(TensorEntry {
            name: info.name.clone(),
            shape,
            format: TensorFormat::from_name(ty.name),
            file: 0,
            range: start..end,
        }),
        _ => Err(TensorProblem::OutOfFile { bytes, start, length }),
    }
}

/// Checks that each tensor begins where the one before it ends, padding included (ggml's reader asks for the same). What stands
/// behind the last one is padding.
fn check_layout(tensors: &mut [TensorEntry], data_start: u64, alignment: u64) -> Result<(), GgufError> {
    tensors.sort_by_key(|t| (t.range.start, t.range.end));
    let mut end = data_start;
    let mut previous = "the header".to_owned();
    for tensor in tensors.iter() {
        let begin = tensor.range.start;
        if begin != end {
            let what = if begin < end { "they overlap" } else { "bytes between the two belong to no tensor" };
            return Err(tensor_error(&tensor.name, TensorProblem::Layout { begin, previous, end, what }));
        }
        end = tensor.range.end.next_multiple_of(alignment);
        previous = format!("`{}`", tensor.name);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
