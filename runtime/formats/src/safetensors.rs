//! The header of a safetensors file: which tensors it holds, and where.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Error, MapAccess, Visitor};

use crate::json::{JsonError, Strict};
use crate::tensor::{TensorEntry, TensorFormat, elements};

/// Bytes before the header: its length as a little-endian 64-bit number.
const LENGTH_BYTES: u64 = 8;
/// The limit of the reference implementation. A header is parsed into memory several times its size.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Why a file is not safetensors, or not a whole one.
#[derive(Debug, thiserror::Error)]
pub enum SafetensorsError {
    /// The file ends inside the header, or is something else.
    #[error(
        "the header is {header} bytes long by its first 8 bytes, and {available} bytes follow: the file is cut off or not safetensors"
    )]
    HeaderLength {
        /// What the file claims.
        header: u64,
        /// What the file has.
        available: u64,
    },
    /// Fewer than 8 bytes.
    #[error("the file has {length} bytes, and a safetensors file begins with 8 bytes that say how long its header is")]
    NoLength {
        /// Bytes of the file.
        length: u64,
    },
    /// A header beyond the limit of the format's reference implementation.
    #[error("the header is {header} bytes long, and the format allows at most {MAX_HEADER_BYTES}")]
    HeaderTooLong {
        /// What the file claims.
        header: u64,
    },
    /// The header is not the JSON that it should be.
    #[error("the header is not valid: {0}")]
    Header(JsonError),
    /// A shape with more elements or bytes than can be counted.
    #[error("tensor `{name}`: the shape {shape:?} has more elements than can be addressed")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// Offsets that contradict shape and format.
    #[error("tensor `{name}`: {shape:?} of {format} takes {needed} bytes, and data_offsets [{}, {}] hold {}", .given.start, .given.end, .given.end.saturating_sub(.given.start))]
    Size {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<u64>,
        /// Its format.
        format: TensorFormat,
        /// Bytes of that shape and format.
        needed: u64,
        /// The range in the header, from the start of the data.
        given: Range<u64>,
    },
    /// Offsets behind the end of the file.
    #[error("tensor `{name}`: its data ends at byte {end} of the data, and the file holds {available}: the file is cut off")]
    OutOfFile {
        /// The tensor.
        name: String,
        /// End of its range, from the start of the data.
        end: u64,
        /// Bytes of data in the file.
        available: u64,
    },
    /// Two tensors share bytes.
    #[error("tensors `{first}` and `{second}` overlap: the one ends at byte {end} of the data, the other begins at {begin}")]
    Overlap {
        /// The tensor that begins first.
        first: String,
        /// The other one.
        second: String,
        /// Where the first ends.
        end: u64,
        /// Where the second begins.
        begin: u64,
    },
    /// Bytes that belong to no tensor; the format forbids them.
    #[error("bytes {} to {} of the data, before tensor `{before}`, belong to no tensor", .hole.start, .hole.end)]
    Hole {
        /// The tensor behind the hole.
        before: String,
        /// The bytes, from the start of the data.
        hole: Range<u64>,
    },
    /// Bytes behind the last tensor; the format forbids them.
    #[error("{bytes} bytes behind the last tensor belong to no tensor")]
    Trailing {
        /// How many.
        bytes: u64,
    },
}

/// The tensors of a safetensors file, by name; `file` becomes [`TensorEntry::file`].
///
/// As strict as the format: every byte of data belongs to exactly one tensor.
pub fn read(bytes: &[u8], file: usize) -> Result<Vec<TensorEntry>, SafetensorsError> {
    let length = bytes.len() as u64;
    let (prefix, rest) = bytes.split_first_chunk::<8>().ok_or(SafetensorsError::NoLength { length })?;
    let header_bytes = u64::from_le_bytes(*prefix);
    let available = length - LENGTH_BYTES;
    if header_bytes > available {
        return Err(SafetensorsError::HeaderLength { header: header_bytes, available });
    }
    if header_bytes > MAX_HEADER_BYTES {
        return Err(SafetensorsError::HeaderTooLong { header: header_bytes });
    }
    let text = &rest[..header_bytes as usize];
    let Header(infos) = serde_json::from_slice(text).map_err(|e| SafetensorsError::Header(e.into()))?;

    let data_start = LENGTH_BYTES + header_bytes;
    let data_bytes = length - data_start;
    let mut tensors =
        infos.into_iter().map(|(name, info)| entry(name, info, file, data_start, data_bytes)).collect::<Result<Vec<_>, _>>()?;
    check_layout(&mut tensors, data_start, length)?;
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tensors)
}

/// Checks one tensor by itself.
fn entry(name: String, info: TensorInfo, file: usize, data_start: u64, data_bytes: u64) -> Result<TensorEntry, SafetensorsError> {
    let TensorInfo { dtype, shape, data_offsets: [begin, end] } = info;
    let format = TensorFormat::from_name(&dtype);
    let given = begin..end;
    let Some(elements) = elements(&shape) else { return Err(SafetensorsError::Shape { name, shape }) };
    let needed = match element_bits(&dtype) {
        // Of a dtype that nobody knows only the place in the file can be checked.
        None => end.saturating_sub(begin),
        Some(bits) => match elements.checked_mul(bits) {
            Some(bits) => bits.div_ceil(8),
            None => return Err(SafetensorsError::Shape { name, shape }),
        },
    };
    if end.checked_sub(begin) != Some(needed) {
        return Err(SafetensorsError::Size { name, shape, format, needed, given });
    }
    if end > data_bytes {
        return Err(SafetensorsError::OutOfFile { name, end, available: data_bytes });
    }
    match shape.iter().map(|&dim| usize::try_from(dim)).collect() {
        Ok(shape) => Ok(TensorEntry { name, shape, format, file, range: data_start + begin..data_start + end }),
        Err(_) => Err(SafetensorsError::Shape { name, shape }),
    }
}

/// Checks that the tensors tile the data; leaves them in the order of the file.
fn check_layout(tensors: &mut [TensorEntry], data_start: u64, length: u64) -> Result<(), SafetensorsError> {
    tensors.sort_by_key(|t| (t.range.start, t.range.end));
    let mut end = data_start;
    let mut previous = "";
    for tensor in tensors.iter() {
        let begin = tensor.range.start;
        if begin < end {
            return Err(SafetensorsError::Overlap {
                first: previous.to_owned(),
                second: tensor.name.clone(),
                end: end - data_start,
                begin: begin - data_start,
            });
        }
        if begin > end {
            let hole = end - data_start..begin - data_start;
            return Err(SafetensorsError::Hole { before: tensor.name.clone(), hole });
        }
        end = tensor.range.end;
        previous = &tensor.name;
    }
    if end < length { Err(SafetensorsError::Trailing { bytes: length - end }) } else { Ok(()) }
}

/// Bits of one element, for the dtypes of the format's reference implementation.
fn element_bits(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "F4" => 4,
        "F6_E2M3" | "F6_E3M2" => 6,
        "BOOL" | "U8" | "I8" | "F8_E5M2" | "F8_E4M3" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => 8,
        "I16" | "U16" | "F16" | "BF16" => 16,
        "I32" | "U32" | "F32" => 32,
        "I64" | "U64" | "F64" | "C64" => 64,
        _ => return None,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TensorInfo {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// The header's JSON: tensors, and `__metadata__`, which says nothing about them.
struct Header(Vec<(String, TensorInfo)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Header, A::Error> {
        let mut seen = std::collections::HashSet::new();
        let mut infos = Vec::new();
        while let Some(name) = from.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("duplicate tensor `{name}`")));
            }
            // Through a value, so that the message can name the tensor.
            let Strict(value) = from.next_value()?;
            if name == "__metadata__" {
                continue;
            }
            let info = TensorInfo::deserialize(value).map_err(|e| A::Error::custom(format!("tensor `{name}`: {e}")))?;
            infos.push((name, info));
        }
        Ok(Header(infos))
    }
}

#[cfg(test)]
mod tests;
