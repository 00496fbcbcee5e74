//! Valid files and hostile ones.

use super::*;
use crate::StorageFormat;
use crate::write::{self, Tensor};

fn metadata() -> Vec<(&'static str, Value)> {
    vec![
        ("general.architecture", Value::String("llama".into())),
        ("a.u8", Value::U8(1)),
        ("a.i8", Value::I8(-1)),
        ("a.u16", Value::U16(2)),
        ("a.i16", Value::I16(-2)),
        ("a.u32", Value::U32(3)),
        ("a.i32", Value::I32(-3)),
        ("a.f32", Value::F32(0.5)),
        ("a.bool", Value::Bool(true)),
        ("a.u64", Value::U64(4)),
        ("a.i64", Value::I64(-4)),
        ("a.f64", Value::F64(0.25)),
        ("a.strings", Value::Array(Array::String(vec!["x".into(), "".into()]))),
        ("a.bools", Value::Array(Array::Bool(vec![true, false]))),
        ("a.bytes", Value::Array(Array::U8(vec![1, 2, 3]))),
        ("a.floats", Value::Array(Array::F32(vec![1.0, 2.0]))),
        ("a.nested", Value::Array(Array::Array(vec![Array::I32(vec![1]), Array::U64(vec![])]))),
    ]
}

fn tensors() -> Vec<Tensor> {
    vec![Tensor::zeros("w", &[3, 64], "q4_1", 40), Tensor::f32("norm", &[5], &[1.0; 5])]
}

fn valid() -> Vec<u8> {
    write::gguf(&metadata(), &tensors())
}

fn message(file: &[u8]) -> String {
    Gguf::read(file).expect_err("the file is wrong").to_string()
}

/// A header without tensors: magic, version and counts.
fn header(version: u32, tensor_count: u64, key_count: u64) -> Vec<u8> {
    [b"GGUF".as_slice(), &version.to_le_bytes(), &tensor_count.to_le_bytes(), &key_count.to_le_bytes()].concat()
}

fn text(of: &str) -> Vec<u8> {
    [&(of.len() as u64).to_le_bytes(), of.as_bytes()].concat()
}

/// One tensor table entry in a file with room for 64 bytes of data.
fn one_tensor(dims: &[u64], ty: u32, offset: u64) -> Vec<u8> {
    let mut file = [header(3, 1, 0), text("w")].concat();
    file.extend((dims.len() as u32).to_le_bytes());
    dims.iter().for_each(|d| file.extend(d.to_le_bytes()));
    file.extend(ty.to_le_bytes());
    file.extend(offset.to_le_bytes());
    file.resize(file.len().next_multiple_of(32) + 64, 0);
    file
}

#[test]
fn every_value_type_is_read_back() {
    let gguf = Gguf::read(&valid()).unwrap();
    assert_eq!(gguf.version, 3);
    let expected: BTreeMap<String, Value> = metadata().into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    assert_eq!(gguf.metadata, expected);
    assert_eq!(gguf.architecture(), Some("llama"));
}

#[test]
fn shapes_are_outermost_first_and_ranges_absolute() {
    let file = valid();
    let gguf = Gguf::read(&file).unwrap();
    let w = gguf.tensor("w").unwrap();
    assert_eq!((&w.shape[..], &w.format), (&[3, 64][..], &TensorFormat::Known(StorageFormat::Q4_1)));
    assert_eq!(w.range.end - w.range.start, 120);
    let norm = gguf.tensor("norm").unwrap();
    assert_eq!(norm.range.start, w.range.start + 128);
    assert_eq!(file[norm.range.start as usize..][..4], 1.0f32.to_le_bytes());
    assert_eq!(gguf.tensor("v"), None);
}

#[test]
fn every_truncation_is_an_error() {
    let file = valid();
    for end in 0..file.len() {
        assert!(Gguf::read(&file[..end]).is_err(), "{end} of {}", file.len());
    }
    assert!(message(&file[..file.len() - 1]).starts_with("tensor `norm`: its 20 bytes begin at byte"));
}

#[test]
fn no_flipped_byte_panics() {
    let file = valid();
    for at in 0..file.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut broken = file.clone();
            broken[at] ^= flip;
            if let Ok(gguf) = Gguf::read(&broken) {
                assert!(gguf.tensors.iter().all(|t| t.range.end <= file.len() as u64), "byte {at}");
            }
        }
    }
}

#[test]
fn padding_behind_the_last_tensor_is_nothing() {
    let mut file = valid();
    file.resize(file.len() + 100, 0);
    assert_eq!(Gguf::read(&file), Gguf::read(&valid()));
}

#[test]
fn versions() {
    let mut file = valid();
    file[4] = 2;
    assert_eq!(Gguf::read(&file).unwrap().version, 2);
    assert!(message(&header(1, 0, 0)).starts_with("GGUF version 1, and versions 2 and 3 are read"));
    assert!(message(&header(3u32.swap_bytes(), 0, 0)).starts_with("the file is big-endian"));
    assert_eq!(message(b"\x08\0\0\0\0\0\0\0{}"), "not a GGUF file: it does not begin with \"GGUF\"");
}

#[test]
fn counts_are_not_believed() {
    for count in [1u64 << 63, u64::MAX, (1 << 61) + 1] {
        assert!(message(&header(3, count, 0)).starts_with(&format!("tensor 0 of {count}: the file is cut off")));
        assert!(message(&header(3, 0, count)).starts_with(&format!("metadata key 0 of {count}: the file is cut off")));
        for element in [0u32, 3, 6, 7, 8, 9, 12] {
            let array = [9u32.to_le_bytes().as_slice(), &element.to_le_bytes(), &count.to_le_bytes(), &[0; 64]].concat();
            let file = [header(3, 0, 1), text("x.y"), array].concat();
            assert!(message(&file).starts_with("metadata `x.y`: "), "{element}: {}", message(&file));
        }
        let long_key = [header(3, 0, 1), count.to_le_bytes().to_vec()].concat();
        assert!(message(&long_key).contains("the file is cut off"));
    }
}

#[test]
fn nesting_has_a_limit() {
    let nest = |depth: usize| {
        let mut file = [header(3, 0, 1), text("x.y"), 9u32.to_le_bytes().to_vec()].concat();
        for _ in 1..depth {
            file.extend(9u32.to_le_bytes());
            file.extend(1u64.to_le_bytes());
        }
        file.extend(4u32.to_le_bytes());
        file.extend(0u64.to_le_bytes());
        file
    };
    assert!(Gguf::read(&nest(4)).is_ok());
    assert_eq!(message(&nest(5)), "metadata `x.y`: arrays are nested deeper than 4");
    assert_eq!(message(&nest(10_000)), "metadata `x.y`: arrays are nested deeper than 4");
}

#[test]
fn values_that_are_none() {
    let value = |ty: u32, bytes: &[u8]| [header(3, 0, 1), text("k"), ty.to_le_bytes().to_vec(), bytes.to_vec()].concat();
    assert_eq!(message(&value(7, &[2])), "metadata `k`: a bool is 0 or 1, and here it is 2");
    assert_eq!(message(&value(13, &[])), "metadata `k`: value type 13 does not exist (0 to 12 do)");
    let invalid = value(8, &[2, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0x28]);
    assert_eq!(message(&invalid), "metadata `k`: the string at byte 45 is not UTF-8");
}

#[test]
fn names_stand_once() {
    let twice = [("k", Value::U8(1)), ("k", Value::U8(2))];
    assert_eq!(message(&write::gguf(&twice, &[])), "metadata `k` is a duplicate: it stands twice in the file");
    let w = Tensor::f32("w", &[1], &[0.0]);
    let file = write::gguf(&[], &[w.clone(), w]);
    assert_eq!(message(&file), "tensor `w` is a duplicate: it stands twice in the file");
}

#[test]
fn alignment_moves_the_data() {
    let aligned = |alignment: Value| write::gguf(&[("general.alignment", alignment)], &tensors());
    let gguf = Gguf::read(&aligned(Value::U32(256))).unwrap();
    assert!(gguf.tensors.iter().all(|t| t.range.start.is_multiple_of(256)));
    for (wrong, found) in [
        (Value::U32(0), "U32(0)"),
        (Value::U32(4), "U32(4)"),
        (Value::U32(48), "U32(48)"),
        (Value::U64(64), "U64(64)"),
        (Value::String("64".into()), "String(\"64\")"),
    ] {
        let file = write::gguf(&[("general.alignment", wrong)], &[]);
        let expected = format!("metadata `general.alignment` is {found}, and it must be a 32-bit power of two, at least 8");
        assert_eq!(message(&file), expected);
    }
    let mut far = aligned(Value::U32(32));
    let at = far.windows(17).position(|w| w == b"general.alignment").unwrap() + 17 + 4;
    far[at..at + 4].copy_from_slice(&(1u32 << 30).to_le_bytes());
    assert!(message(&far).starts_with("the tensor data begins at byte 1073741824 (the header's end"), "{}", message(&far));
}

#[test]
fn tensors_that_contradict_the_format() {
    let of = |dims: &[u64], ty, offset| message(&one_tensor(dims, ty, offset));
    assert!(Gguf::read(&one_tensor(&[16], 0, 0)).is_ok());
    assert_eq!(of(&[4, 0], 0, 0), "tensor `w`: the dimensions [4, 0] hold a zero");
    assert_eq!(of(&[1; 5], 0, 0), "tensor `w`: 5 dimensions, and GGUF has at most 4");
    assert_eq!(of(&[16], 99, 0), "tensor `w`: tensor type 99 is not known to this version");
    assert_eq!(of(&[48], 3, 0), "tensor `w`: rows of 48 elements are no whole number of q4_1 blocks, which hold 32");
    assert_eq!(of(&[8], 0, 33), "tensor `w`: its offset 33 is no multiple of the alignment 32");
    for dims in [&[u64::MAX, 2][..], &[1 << 32, 1 << 32, 4], &[1 << 62], &[1 << 16, 1 << 16, 1 << 16, 1 << 16]] {
        assert!(of(dims, 0, 0).ends_with("multiply to more than can be addressed"), "{dims:?}");
    }
    assert!(of(&[1 << 40], 0, 0).contains("the file is cut off"));
    assert!(of(&[8], 0, u64::MAX - 31).contains("the file is cut off"));
    assert!(of(&[17], 0, 0).starts_with("tensor `w`: its 68 bytes begin at byte 64, and the file ends at 128"));
    assert!(of(&[8], 0, 32).ends_with("and the header ends at 64: bytes between the two belong to no tensor"));
}

#[test]
fn tensors_do_not_share_bytes() {
    let mut file = write::gguf(&[], &[Tensor::f32("a", &[8], &[0.0; 8]), Tensor::f32("b", &[8], &[0.0; 8])]);
    let table_end = 24 + 2 * (8 + 1 + 4 + 8 + 4 + 8);
    assert_eq!(file[table_end - 8..table_end], 32u64.to_le_bytes());
    file[table_end - 8..table_end].fill(0);
    assert_eq!(message(&file), "tensor `b`: its data begins at byte 96, and `a` ends at 128: they overlap");
}

#[test]
fn formats_without_a_reader_keep_name_and_size() {
    let file = write::gguf(&[], &[Tensor::zeros("w", &[2, 256], "q3_k", 110)]);
    let w = &Gguf::read(&file).unwrap().tensors[0];
    assert!(!matches!(w.format, TensorFormat::Known(_)), "{:?}", w.format);
    assert_eq!((w.format.as_str(), w.range.end - w.range.start), ("q3_k", 220));
}
