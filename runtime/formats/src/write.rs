//! Writers of small checkpoints for tests: they write what they are told, also what no valid file may say.

use crate::gguf::{Array, Value, id_of};

/// One tensor to be written.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Row-major, outermost first.
    pub shape: Vec<usize>,
    /// The spelling of specs: `f32`, `q4_1`, `q6_k`.
    pub format: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

impl Tensor {
    /// A tensor of zeros in a format whose rows have `row_bytes` bytes; for one dimension, that is all of it.
    pub fn zeros(name: &str, shape: &[usize], format: &str, row_bytes: usize) -> Self {
        let rows: usize = shape[..shape.len().saturating_sub(1)].iter().product();
        Self { name: name.to_owned(), shape: shape.to_vec(), format: format.to_owned(), data: vec![0; rows * row_bytes] }
    }

    /// A tensor of 32-bit floats.
    pub fn f32(name: &str, shape: &[usize], values: &[f32]) -> Self {
        let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { name: name.to_owned(), shape: shape.to_vec(), format: "f32".to_owned(), data }
    }
}

/// The bytes of a safetensors file.
pub fn safetensors(tensors: &[Tensor]) -> Vec<u8> {
    let mut header = String::from("{");
    let mut end = 0;
    for (i, t) in tensors.iter().enumerate() {
        let begin = end;
        end += t.data.len();
        let comma = if i == 0 { "" } else { "," };
        let (name, dtype) = (serde_json::Value::from(t.name.as_str()), t.format.to_uppercase());
        header += &format!(r#"{comma}{name}:{{"dtype":"{dtype}","shape":{:?},"data_offsets":[{begin},{end}]}}"#, t.shape);
    }
    header += "}";
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    tensors.iter().for_each(|t| file.extend_from_slice(&t.data));
    file
}

/// The bytes of a GGUF file, version 3. `general.alignment` is taken from the metadata, 32 where it is not there.
///
/// # Panics
/// For a format that GGUF does not have.
pub fn gguf(metadata: &[(&str, Value)], tensors: &[Tensor]) -> Vec<u8> {
    let alignment = metadata
        .iter()
        .find(|(key, _)| *key == "general.alignment")
        .and_then(|(_, value)| value.as_u64())
        .map_or(32, |bytes| bytes as usize);
    let mut file = b"GGUF".to_vec();
    file.extend(3u32.to_le_bytes());
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        string(&mut file, key);
        write_value(&mut file, value);
    }
    let mut offset = 0u64;
    for t in tensors {
        string(&mut file, &t.name);
        file.extend((t.shape.len() as u32).to_le_bytes());
        t.shape.iter().rev().for_each(|&dim| file.extend((dim as u64).to_le_bytes()));
        file.extend(id_of(&t.format).expect("a type of ggml").to_le_bytes());
        file.extend(offset.to_le_bytes());
        offset += t.data.len().next_multiple_of(alignment) as u64;
    }
    for t in tensors {
        file.resize(file.len().next_multiple_of(alignment), 0);
        file.extend_from_slice(&t.data);
    }
    file
}

fn string(file: &mut Vec<u8>, text: &str) {
    file.extend((text.len() as u64).to_le_bytes());
    file.extend_from_slice(text.as_bytes());
}

macro_rules! scalars {
    ($file:expr, $value:expr, $($variant:ident = $id:literal),+) => {
        match $value {
            $(Value::$variant(v) => { $file.extend(u32::to_le_bytes($id)); $file.extend(v.to_le_bytes()); })+
            Value::Bool(v) => { $file.extend(7u32.to_le_bytes()); $file.push((*v).into()); }
            Value::String(v) => { $file.extend(8u32.to_le_bytes()); string($file, v); }
            Value::Array(v) => { $file.extend(9u32.to_le_bytes()); write_array($file, v); }
        }
    };
}

fn write_value(file: &mut Vec<u8>, value: &Value) {
    scalars!(file, value, U8 = 0, I8 = 1, U16 = 2, I16 = 3, U32 = 4, I32 = 5, F32 = 6, U64 = 10, I64 = 11, F64 = 12);
}

macro_rules! arrays {
    ($file:expr, $array:expr, $($variant:ident = $id:literal),+) => {
        match $array {
            $(Array::$variant(v) => {
                begin($file, $id, v.len());
                v.iter().for_each(|item| $file.extend(item.to_le_bytes()));
            })+
            Array::Bool(v) => { begin($file, 7, v.len()); $file.extend(v.iter().map(|&b| u8::from(b))); }
            Array::String(v) => { begin($file, 8, v.len()); v.iter().for_each(|item| string($file, item)); }
            Array::Array(v) => { begin($file, 9, v.len()); v.iter().for_each(|item| write_array($file, item)); }
        }
    };
}

fn begin(file: &mut Vec<u8>, ty: u32, count: usize) {
    file.extend(ty.to_le_bytes());
    file.extend((count as u64).to_le_bytes());
}

fn write_array(file: &mut Vec<u8>, array: &Array) {
    arrays!(file, array, U8 = 0, I8 = 1, U16 = 2, I16 = 3, U32 = 4, I32 = 5, F32 = 6, U64 = 10, I64 = 11, F64 = 12);
}
