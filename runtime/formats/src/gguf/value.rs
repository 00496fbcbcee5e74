//! Metadata values of GGUF.

use super::ReadError;
use super::cursor::Cursor;

/// Arrays in arrays beyond this depth are refused; no known key nests at all.
const MAX_DEPTH: usize = 4;

/// One metadata value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is the GGUF type of that name")]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    Array(Array),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// A metadata array; its elements have one type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is an array of the GGUF type of that name")]
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    String(Vec<String>),
    Array(Vec<Array>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

impl Value {
    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// An integer of any width that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::U8(v) => Some(v.into()),
            Self::U16(v) => Some(v.into()),
            Self::U32(v) => Some(v.into()),
            Self::U64(v) => Some(v),
            Self::I8(v) => v.try_into().ok(),
            Self::I16(v) => v.try_into().ok(),
            Self::I32(v) => v.try_into().ok(),
            Self::I64(v) => v.try_into().ok(),
            _ => None,
        }
    }

    /// A float of either width.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::F32(v) => Some(v.into()),
            Self::F64(v) => Some(v),
            _ => None,
        }
    }

    /// A bool.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(v) = self { Some(*v) } else { None }
    }

    /// An array.
    pub fn as_array(&self) -> Option<&Array> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }

    /// An array of strings.
    pub fn as_strings(&self) -> Option<&[String]> {
        if let Self::Array(Array::String(items)) = self { Some(items) } else { None }
    }

    /// An array of 32-bit integers.
    pub fn as_i32s(&self) -> Option<&[i32]> {
        if let Self::Array(Array::I32(items)) = self { Some(items) } else { None }
    }

    /// An array of 32-bit floats.
    pub fn as_f32s(&self) -> Option<&[f32]> {
        if let Self::Array(Array::F32(items)) = self { Some(items) } else { None }
    }

    /// The value for a message that says that it is the wrong one.
    pub(super) fn brief(&self) -> String {
        match self {
            Self::Array(array) => format!("an array of {}", array.len()),
            other => format!("{other:?}"),
        }
    }

    pub(super) fn read(from: &mut Cursor<'_>) -> Result<Self, ReadError> {
        let ty = from.u32()?;
        Ok(match ty {
            0 => Self::U8(from.array::<1>()?[0]),
            1 => Self::I8(i8::from_le_bytes(from.array()?)),
            2 => Self::U16(u16::from_le_bytes(from.array()?)),
            3 => Self::I16(i16::from_le_bytes(from.array()?)),
            4 => Self::U32(from.u32()?),
            5 => Self::I32(i32::from_le_bytes(from.array()?)),
            6 => Self::F32(f32::from_le_bytes(from.array()?)),
            7 => Self::Bool(bool_of(from.array::<1>()?[0])?),
            8 => Self::String(from.string()?.to_owned()),
            9 => Self::Array(Array::read(from, 1)?),
            10 => Self::U64(from.u64()?),
            11 => Self::I64(i64::from_le_bytes(from.array()?)),
            12 => Self::F64(f64::from_le_bytes(from.array()?)),
            _ => return Err(ReadError::ValueType(ty)),
        })
    }
}

impl Array {
    /// Elements.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::I8(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::I16(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::I32(v) => v.len(),
            Self::F32(v) => v.len(),
            Self::Bool(v) => v.len(),
            Self::String(v) => v.len(),
            Self::Array(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn read(from: &mut Cursor<'_>, depth: usize) -> Result<Self, ReadError> {
        if depth > MAX_DEPTH {
            return Err(ReadError::TooDeep { limit: MAX_DEPTH });
        }
        let ty = from.u32()?;
        let count = from.u64()?;
        Ok(match ty {
            0 => Self::U8(from.take(count, 1)?.to_vec()),
            1 => Self::I8(numbers(from, count, i8::from_le_bytes)?),
            2 => Self::U16(numbers(from, count, u16::from_le_bytes)?),
            3 => Self::I16(numbers(from, count, i16::from_le_bytes)?),
            4 => Self::U32(numbers(from, count, u32::from_le_bytes)?),
            5 => Self::I32(numbers(from, count, i32::from_le_bytes)?),
            6 => Self::F32(numbers(from, count, f32::from_le_bytes)?),
            7 => Self::Bool(from.take(count, 1)?.iter().map(|&b| bool_of(b)).collect::<Result<_, _>>()?),
            8 => Self::String(many(from, count, 8, |from| from.string().map(str::to_owned))?),
            9 => Self::Array(many(from, count, 12, |from| Self::read(from, depth + 1))?),
            10 => Self::U64(numbers(from, count, u64::from_le_bytes)?),
            11 => Self::I64(numbers(from, count, i64::from_le_bytes)?),
            12 => Self::F64(numbers(from, count, f64::from_le_bytes)?),
            _ => return Err(ReadError::ValueType(ty)),
        })
    }
}

/// `count` numbers of `N` bytes: they are known to be in the file before anything is allocated.
fn numbers<const N: usize, T>(from: &mut Cursor<'_>, count: u64, decode: fn([u8; N]) -> T) -> Result<Vec<T>, ReadError> {
    let (items, _) = from.take(count, N as u64)?.as_chunks::<N>();
    Ok(items.iter().copied().map(decode).collect())
}

/// `count` items of at least `size` bytes each: they can be in the file before anything is allocated.
fn many<T>(
    from: &mut Cursor<'_>,
    count: u64,
    size: u64,
    next: impl Fn(&mut Cursor<'_>) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    from.expect(count, size)?;
    let mut items = Vec::with_capacity(count as usize);
    for _ in 0..count {
        items.push(next(from)?);
    }
    Ok(items)
}

fn bool_of(byte: u8) -> Result<bool, ReadError> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(ReadError::Bool(byte)),
    }
}
