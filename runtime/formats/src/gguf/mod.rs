//! GGUF: metadata and tensor table of versions 2 and 3, little endian.

mod cursor;
mod error;
pub mod split;
mod types;
mod value;

use std::collections::{BTreeMap, HashSet};

pub use error::{GgufError, ReadError, TensorProblem};
pub use value::{Array, Value};

use crate::shown::shown;
use crate::tensor::{TensorEntry, TensorFormat, elements};
use cursor::Cursor;

#[cfg(any(test, feature = "write"))]
pub(crate) use types::id_of;

const ALIGNMENT_KEY: &str = "general.alignment";
/// Alignment of tensor data where the file does not state one.
const DEFAULT_ALIGNMENT: u32 = 32;
/// ggml's own limit.
const MAX_DIMS: u32 = 4;

/// The header of one GGUF file, or of the parts of a split one together.
#[derive(Clone, Debug, PartialEq)]
pub struct Gguf {
    /// Version of the container.
    pub version: u32,
    /// Metadata by key.
    pub metadata: BTreeMap<String, Value>,
    /// Tensors by name. [`TensorEntry::file`] is 0 in one file, and the part's number in [`split::join`]ed ones.
    pub tensors: Vec<TensorEntry>,
}

impl Gguf {
    /// Reads the header of a file given in whole: tensor ranges are checked against its length, their bytes are not read.
    pub fn read(bytes: &[u8]) -> Result<Self, GgufError> {
        Self::read_header(bytes, bytes.len() as u64)
    }

    /// As [`Gguf::read`], of a file of `length` bytes whose first ones are given: all of its header at least.
    pub fn read_header(bytes: &[u8], length: u64) -> Result<Self, GgufError> {
        let length = length.max(bytes.len() as u64);
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

        let header = from.position();
        let start = header.next_multiple_of(alignment);
        if !infos.is_empty() && start > length {
            return Err(GgufError::DataStart { start, header, alignment, length });
        }
        let mut tensors = infos.into_iter().map(|info| place(info, start, alignment, length)).collect::<Result<Vec<_>, _>>()?;
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
        Some(other) => Err(GgufError::Alignment { found: other.brief() }),
    }
}

/// One entry of the tensor table, as it stands there: dimensions innermost first.
struct Info<'a> {
    name: &'a str,
    dims: [u64; MAX_DIMS as usize],
    dim_count: usize,
    ty: u32,
    offset: u64,
}

impl Info<'_> {
    fn dims(&self) -> &[u64] {
        &self.dims[..self.dim_count]
    }
}

fn read_tensor_table<'a>(from: &mut Cursor<'a>, count: u64) -> Result<Vec<Info<'a>>, GgufError> {
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

fn read_info<'a>(from: &mut Cursor<'a>, name: &'a str) -> Result<Info<'a>, TensorProblem> {
    let dim_count = from.u32().map_err(TensorProblem::Read)?;
    if dim_count > MAX_DIMS {
        return Err(TensorProblem::Dims(dim_count));
    }
    let dim_count = dim_count as usize;
    let mut dims = [0; MAX_DIMS as usize];
    for dim in &mut dims[..dim_count] {
        *dim = from.u64().map_err(TensorProblem::Read)?;
    }
    let ty = from.u32().map_err(TensorProblem::Read)?;
    let offset = from.u64().map_err(TensorProblem::Read)?;
    Ok(Info { name, dims, dim_count, ty, offset })
}

/// Finds the bytes of a tensor.
fn place(info: Info<'_>, data_start: u64, alignment: u64, length: u64) -> Result<TensorEntry, GgufError> {
    let (shape, format, bytes) = extent(&info).map_err(|problem| tensor_error(info.name, problem))?;
    if !info.offset.is_multiple_of(alignment) {
        return Err(tensor_error(info.name, TensorProblem::Unaligned { offset: info.offset, alignment }));
    }
    let start = data_start.saturating_add(info.offset);
    match start.checked_add(bytes) {
        Some(end) if end <= length => Ok(TensorEntry { name: info.name.to_owned(), shape, format, file: 0, range: start..end }),
        _ => Err(tensor_error(info.name, TensorProblem::OutOfFile { bytes, start, length })),
    }
}

/// The shape of a tensor, its format, and how many bytes the two make.
fn extent(info: &Info<'_>) -> Result<(Vec<usize>, TensorFormat, u64), TensorProblem> {
    let dims = info.dims();
    if dims.contains(&0) {
        return Err(TensorProblem::ZeroDim(dims.to_vec()));
    }
    let too_large = || TensorProblem::TooLarge(dims.to_vec());
    let ty = types::by_id(info.ty).ok_or(TensorProblem::Type(info.ty))?;
    let row = dims.first().copied().unwrap_or(1);
    if !row.is_multiple_of(ty.block_len) {
        return Err(TensorProblem::Blocks { row, format: ty.name, block: ty.block_len });
    }
    let elements = elements(dims).ok_or_else(too_large)?;
    let bytes = (elements / ty.block_len).checked_mul(ty.block_bytes).ok_or_else(too_large)?;
    let shape = dims.iter().rev().map(|&d| usize::try_from(d)).collect::<Result<_, _>>().map_err(|_| too_large())?;
    Ok((shape, TensorFormat::from_name(ty.name), bytes))
}

/// Checks that each tensor begins where the one before it ends, padding included (ggml's reader asks for the same). What stands
/// behind the last one is padding.
fn check_layout(tensors: &mut [TensorEntry], data_start: u64, alignment: u64) -> Result<(), GgufError> {
    tensors.sort_by_key(|t| (t.range.start, t.range.end));
    let mut end = data_start;
    let mut previous = "";
    for tensor in tensors.iter() {
        let begin = tensor.range.start;
        if begin != end {
            let what = if begin < end { "they overlap" } else { "bytes between the two belong to no tensor" };
            let previous = if previous.is_empty() { "the header".to_owned() } else { format!("`{}`", shown(previous)) };
            return Err(tensor_error(&tensor.name, TensorProblem::Layout { begin, previous, end, what }));
        }
        end = tensor.range.end.next_multiple_of(alignment);
        previous = tensor.name.as_str();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
