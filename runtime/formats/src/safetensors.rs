//! The header of a safetensors file: which tensors it holds, and where.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::json::{JsonError, duplicate};
use crate::shown::shown;
use crate::tensor::{TensorEntry, TensorFormat, elements};

/// Bytes before the header: its length as a little-endian 64-bit number.
const LENGTH_BYTES: u64 = 8;
/// The limit of the reference implementation. A header is parsed into memory several times its size.
const MAX_HEADER_BYTES: u64 = 100_000_000;
/// The format has no limit of its own; this is PyTorch's, whose files these are.
const MAX_DIMS: usize = 64;

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
    #[error("tensor `{}`: the shape {shape:?} has more elements than can be addressed", shown(name))]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// A dtype that is not written as the format writes them.
    #[error("tensor `{}`: the dtype is `{}`, and dtypes are capitals and digits, as in `BF16`", shown(name), shown(dtype))]
    Dtype {
        /// The tensor.
        name: String,
        /// Its dtype.
        dtype: String,
    },
    /// Elements of less than a byte that do not fill their last one.
    #[error("tensor `{}`: {shape:?} of {format} is no whole number of bytes", shown(name))]
    PartOfAByte {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<u64>,
        /// Its format.
        format: TensorFormat,
    },
    /// Offsets that contradict shape and format.
    #[error(
        "tensor `{}`: {shape:?} of {format} takes {needed} bytes, and data_offsets [{}, {}] hold {}",
        shown(name), .given.start, .given.end, .given.end.saturating_sub(.given.start)
    )]
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
    #[error(
        "tensor `{}`: its data ends at byte {end} of the data, and the file holds {available}: the file is cut off",
        shown(name)
    )]
    OutOfFile {
        /// The tensor.
        name: String,
        /// End of its range, from the start of the data.
        end: u64,
        /// Bytes of data in the file.
        available: u64,
    },
    /// Two tensors share bytes.
    #[error(
        "tensors `{}` and `{}` overlap: the one ends at byte {end} of the data, the other begins at {begin}",
        shown(first),
        shown(second)
    )]
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
    #[error("bytes {} to {} of the data, before tensor `{}`, belong to no tensor", .hole.start, .hole.end, shown(before))]
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
    read_header(bytes, bytes.len() as u64, file)
}

/// How many bytes a file begins with before its data, by its first 8.
pub fn header_bytes(prefix: [u8; 8]) -> Result<u64, SafetensorsError> {
    match u64::from_le_bytes(prefix) {
        header if header > MAX_HEADER_BYTES => Err(SafetensorsError::HeaderTooLong { header }),
        header => Ok(LENGTH_BYTES + header),
    }
}

/// As [`read`], of a file of `length` bytes whose first ones are given: all of its header at least.
pub fn read_header(bytes: &[u8], length: u64, file: usize) -> Result<Vec<TensorEntry>, SafetensorsError> {
    let length = length.max(bytes.len() as u64);
    let (prefix, rest) = bytes.split_first_chunk::<8>().ok_or(SafetensorsError::NoLength { length })?;
    let header_bytes = u64::from_le_bytes(*prefix);
    let available = length - LENGTH_BYTES;
    if header_bytes > available {
        return Err(SafetensorsError::HeaderLength { header: header_bytes, available });
    }
    if header_bytes > MAX_HEADER_BYTES {
        return Err(SafetensorsError::HeaderTooLong { header: header_bytes });
    }
    let Some(text) = rest.get(..header_bytes as usize) else {
        return Err(SafetensorsError::HeaderLength { header: header_bytes, available: rest.len() as u64 });
    };
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
    if !dtype.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_') {
        return Err(SafetensorsError::Dtype { name, dtype });
    }
    let format = TensorFormat::from_name(&dtype);
    let given = begin..end;
    let Some(elements) = elements(&shape) else { return Err(SafetensorsError::Shape { name, shape }) };
    let needed = match element_bits(&dtype) {
        // Of a dtype that nobody knows only the place in the file can be checked.
        None => end.saturating_sub(begin),
        Some(bits) => match elements.checked_mul(bits) {
            Some(bits) if bits.is_multiple_of(8) => bits / 8,
            Some(_) => return Err(SafetensorsError::PartOfAByte { name, shape, format }),
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

/// An entry of the header.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TensorInfo {
    dtype: String,
    #[serde(deserialize_with = "shape")]
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

fn shape<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    from.deserialize_seq(ShapeVisitor)
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Vec<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a shape of at most {MAX_DIMS} dimensions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<u64>, A::Error> {
        let mut dims = Vec::new();
        while let Some(dim) = from.next_element()? {
            if dims.len() == MAX_DIMS {
                return Err(A::Error::invalid_length(MAX_DIMS + 1, &self));
            }
            dims.push(dim);
        }
        Ok(dims)
    }
}

/// An entry as an object: serde would take the list `["F32", [2], [0, 8]]` too, and the format does not.
struct Info(TensorInfo);

impl<'de> Deserialize<'de> for Info {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(InfoVisitor)
    }
}

struct InfoVisitor;

impl<'de> Visitor<'de> for InfoVisitor {
    type Value = Info;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with dtype, shape and data_offsets")
    }

    fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Info, A::Error> {
        TensorInfo::deserialize(MapAccessDeserializer::new(from)).map(Info)
    }
}

/// `__metadata__`: texts by name, which say nothing about the tensors. They are checked and not kept.
struct Metadata;

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MetadataVisitor)
    }
}

struct MetadataVisitor;

impl<'de> Visitor<'de> for MetadataVisitor {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Metadata, A::Error> {
        while from.next_entry::<String, String>()?.is_some() {}
        Ok(Metadata)
    }
}

/// The header's JSON: tensors as they stand there, by name.
struct Header(Vec<(String, TensorInfo)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
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
        let mut infos = Vec::new();
        let mut has_metadata = false;
        while let Some(name) = from.next_key::<String>()? {
            let about = |what: &str, e| A::Error::custom(format_args!("{what} `{}`: {e}", shown(&name)));
            if name != "__metadata__" {
                let Info(info) = from.next_value().map_err(|e| about("tensor", e))?;
                infos.push((name, info));
            } else if std::mem::replace(&mut has_metadata, true) {
                return Err(duplicate("key", &name));
            } else {
                let Metadata = from.next_value().map_err(|e| about("key", e))?;
            }
        }
        infos.sort_by(|(a, _), (b, _)| a.cmp(b));
        match infos.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(duplicate("tensor", &pair[0].0)),
            None => Ok(Header(infos)),
        }
    }
}

#[cfg(test)]
mod tests;
