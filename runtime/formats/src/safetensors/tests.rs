//! Valid files, checked against the reference implementation; and hostile ones.

use std::collections::HashMap;

use super::*;
use crate::StorageFormat;
use crate::write::{self, Tensor};

fn two() -> Vec<u8> {
    write::safetensors(&[Tensor::f32("w", &[2, 3], &[0.5; 6]), Tensor::zeros("norm", &[4], "bf16", 8)])
}

fn with_header(header: &str, data: usize) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.resize(file.len() + data, 0);
    file
}

fn message(file: &[u8]) -> String {
    read(file, 0).expect_err("the file is wrong").to_string()
}

#[test]
fn reads_what_the_reference_writes() {
    let data: Vec<u8> = (0..24).collect();
    let view = ::safetensors::tensor::TensorView::new(::safetensors::Dtype::F32, vec![2, 3], &data).unwrap();
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let file = ::safetensors::serialize([("w", view)], Some(metadata)).unwrap();
    let tensors = read(&file, 7).unwrap();
    assert_eq!(tensors.len(), 1);
    let w = &tensors[0];
    assert_eq!((w.name.as_str(), &w.shape[..], w.file), ("w", &[2, 3][..], 7));
    assert_eq!(w.format, TensorFormat::Known(StorageFormat::F32));
    assert_eq!(file[w.range.start as usize..w.range.end as usize], data);
}

#[test]
fn the_reference_reads_what_the_writer_writes() {
    let file = two();
    let theirs = ::safetensors::SafeTensors::deserialize(&file).unwrap();
    for tensor in read(&file, 0).unwrap() {
        let view = theirs.tensor(&tensor.name).unwrap();
        assert_eq!(view.shape(), tensor.shape);
        assert_eq!(view.data().as_ptr() as usize - file.as_ptr() as usize, tensor.range.start as usize);
    }
}

#[test]
fn every_truncation_is_an_error() {
    let file = two();
    for end in 0..file.len() {
        assert!(read(&file[..end], 0).is_err(), "{end} of {}", file.len());
    }
    let cut = message(&file[..file.len() - 1]);
    assert_eq!(cut, "tensor `norm`: its data ends at byte 32 of the data, and the file holds 31: the file is cut off");
}

#[test]
fn no_flipped_byte_panics() {
    let file = two();
    for at in 0..file.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut broken = file.clone();
            broken[at] ^= flip;
            if let Ok(tensors) = read(&broken, 0) {
                assert!(tensors.iter().all(|t| t.range.end <= file.len() as u64), "byte {at}");
            }
        }
    }
}

#[test]
fn lengths_are_not_believed() {
    assert!(message(&u64::MAX.to_le_bytes()).contains("18446744073709551615 bytes"));
    assert!(message(&(1u64 << 63).to_le_bytes()).contains("0 bytes follow"));
    assert!(message(b"PK").contains("the file has 2 bytes"));
}

#[test]
fn shapes_do_not_wrap() {
    for shape in ["[4294967296,4294967296,4]", "[9223372036854775807,2]", "[18446744073709551615]"] {
        let text = format!(r#"{{"w":{{"dtype":"F32","shape":{shape},"data_offsets":[0,0]}}}}"#);
        assert!(message(&with_header(&text, 0)).starts_with("tensor `w`: the shape"), "{shape}");
    }
}

#[test]
fn offsets_must_fit_the_shape_and_the_file() {
    let w = |offsets: &str| format!(r#"{{"w":{{"dtype":"F32","shape":[2],"data_offsets":{offsets}}}}}"#);
    let size = message(&with_header(&w("[0,12]"), 12));
    assert_eq!(size, "tensor `w`: [2] of f32 takes 8 bytes, and data_offsets [0, 12] hold 12");
    assert!(message(&with_header(&w("[8,0]"), 8)).contains("[8, 0] hold 0"));
    assert!(message(&with_header(&w("[18446744073709551608,18446744073709551615]"), 8)).contains("tensor `w`"));
    let far = message(&with_header(&w("[9223372036854775800,9223372036854775808]"), 8));
    assert!(far.contains("ends at byte 9223372036854775808 of the data, and the file holds 8"), "{far}");
    assert!(message(&with_header(&w("[-8,0]"), 8)).contains("tensor `w`"));
    assert_eq!(message(&with_header(&w("[0,8]"), 9)), "1 bytes behind the last tensor belong to no tensor");
}

#[test]
fn tensors_tile_the_data() {
    let pair = |b: &str| {
        format!(
            r#"{{"a":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}},"b":{{"dtype":"F32","shape":[2],"data_offsets":{b}}}}}"#
        )
    };
    assert!(read(&with_header(&pair("[8,16]"), 16), 0).is_ok());
    let overlap = message(&with_header(&pair("[4,12]"), 12));
    assert_eq!(overlap, "tensors `a` and `b` overlap: the one ends at byte 8 of the data, the other begins at 4");
    assert_eq!(message(&with_header(&pair("[12,20]"), 20)), "bytes 8 to 12 of the data, before tensor `b`, belong to no tensor");
}

#[test]
fn names_stand_once() {
    let text = r#"{"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#;
    assert!(message(&with_header(text, 0)).starts_with("the header is not valid: duplicate tensor `w`"));
    let text = r#"{"w":{"dtype":"F32","dtype":"F16","shape":[0],"data_offsets":[0,0]}}"#;
    assert!(message(&with_header(text, 0)).contains("tensor `w`: duplicate field `dtype`"));
    let text = r#"{"__metadata__":{},"__metadata__":{}}"#;
    assert!(message(&with_header(text, 0)).contains("duplicate key `__metadata__`"));
}

#[test]
fn unknown_dtypes_are_kept_and_unknown_keys_are_not() {
    let text = r#"{"w":{"dtype":"F8_NEW","shape":[3],"data_offsets":[0,5]}}"#;
    assert_eq!(read(&with_header(text, 5), 0).unwrap()[0].format, TensorFormat::Other("f8_new".into()));
    let text = r#"{"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"order":"F"}}"#;
    assert!(message(&with_header(text, 0)).contains("tensor `w`: unknown field `order`"));
}

#[test]
fn an_entry_is_an_object_of_the_three() {
    let of = |entry: &str| message(&with_header(&format!(r#"{{"w":{entry}}}"#), 8));
    for entry in [r#"["F32",[2],[0,8]]"#, "null", "3"] {
        let expected = "tensor `w`: invalid type: ";
        assert!(of(entry).contains(expected) && of(entry).contains("expected an object with dtype"), "{}", of(entry));
    }
    assert!(of(r#"{"dtype":"F32","shape":[2]}"#).contains("tensor `w`: missing field `data_offsets`"));
    assert!(of(r#"{"dtype":4,"shape":[2],"data_offsets":[0,8]}"#).contains("tensor `w`: invalid type: integer `4`"));
    assert!(of(r#"{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}"#).contains("tensor `w`: invalid type: sequence"));
    assert!(of(r#"{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}"#).contains("tensor `w`: invalid type: floating"));
    assert!(of(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}"#).contains("tensor `w`: "));
    let many = format!(r#"{{"dtype":"F32","shape":[{}1],"data_offsets":[0,4]}}"#, "1,".repeat(64));
    assert!(of(&many).contains("tensor `w`: invalid length 65, expected a shape of at most 64 dimensions"), "{}", of(&many));
}

#[test]
fn dtypes_are_capitals() {
    let text = r#"{"w":{"dtype":"f32","shape":[0],"data_offsets":[0,0]}}"#;
    let expected = "tensor `w`: the dtype is `f32`, and dtypes are capitals and digits, as in `BF16`";
    assert_eq!(message(&with_header(text, 0)), expected);
}

#[test]
fn elements_of_less_than_a_byte_fill_their_bytes() {
    let f4 = |shape: &str| with_header(&format!(r#"{{"w":{{"dtype":"F4","shape":{shape},"data_offsets":[0,2]}}}}"#), 2);
    assert_eq!(read(&f4("[2,2]"), 0).unwrap()[0].format.as_str(), "f4");
    assert_eq!(message(&f4("[3]")), "tensor `w`: [3] of f4 is no whole number of bytes");
}

#[test]
fn metadata_is_texts() {
    assert!(read(&with_header(r#"{"__metadata__":{"format":"pt"}}"#, 0), 0).unwrap().is_empty());
    let numbers = message(&with_header(r#"{"__metadata__":{"format":1}}"#, 0));
    assert!(numbers.contains("key `__metadata__`: invalid type: integer `1`, expected a string"), "{numbers}");
    let deep = format!(r#"{{"__metadata__":{}"#, "[".repeat(100_000));
    assert!(message(&with_header(&deep, 0)).contains("key `__metadata__`: invalid type: sequence"));
}

#[test]
fn messages_stay_short() {
    let name = "n".repeat(100_000);
    let text = format!(r#"{{"{name}":{{"dtype":"{name}","shape":[3],"data_offsets":[0,5]}},"{name}":1}}"#);
    assert!(message(&with_header(&text, 5)).len() < 1000);
    let text = format!(r#"{{"{name}":{{"dtype":"F32","shape":[3],"data_offsets":[0,5]}}}}"#);
    assert!(message(&with_header(&text, 5)).len() < 1000);
}
