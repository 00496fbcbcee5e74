//! Safetensors headers, compared with the reference implementation.

use ::safetensors::SafeTensors;
use tenon_formats::safetensors::read;
use tenon_formats::write::{self, Tensor};

use super::random::Random;
use super::{message, text, within};

const NAMES: [&str; 5] = ["w", "model.layers.0.w", "", "__metadata__", "\\n"];
const DTYPES: [&str; 9] = ["F32", "F16", "BF16", "I8", "F4", "F6_E2M3", "F8_E4M3", "F32x", "f32"];
const KEYS: [&str; 5] = ["dtype", "shape", "data_offsets", "w", "format"];

pub fn make(random: &mut Random) -> Vec<u8> {
    if random.one_in(3) {
        return valid(random);
    }
    let mut header = String::from("{");
    let mut end = 0;
    for i in 0..random.below(5) {
        header.push_str(if i == 0 { "" } else { "," });
        header.push_str(&format!("\"{}{}\":", random.pick(&NAMES), if random.one_in(4) { String::new() } else { i.to_string() }));
        if random.one_in(8) {
            text::value(&mut header, random, &KEYS, 2);
        } else {
            entry(&mut header, random, &mut end);
        }
    }
    header.push('}');
    let spaces = random.below(9);
    header.push_str(&" ".repeat(spaces));
    let length = if random.one_in(16) { random.number() } else { header.len() as u64 };
    let data = if random.one_in(8) { random.below(64) } else { end };
    [&length.to_le_bytes(), header.as_bytes(), &vec![0; data.min(4096)]].concat()
}

/// An entry that fits the ones before it, mostly.
fn entry(header: &mut String, random: &mut Random, end: &mut usize) {
    let dims: Vec<u64> =
        (0..random.below(4)).map(|_| if random.one_in(8) { random.number() } else { random.below(6) as u64 }).collect();
    let dtype = random.pick(&DTYPES);
    let bits = match dtype {
        "F32" => 32,
        "F16" | "BF16" => 16,
        "F4" => 4,
        "F6_E2M3" => 6,
        _ => 8,
    };
    let elements = dims.iter().fold(1u64, |product, dim| product.wrapping_mul(*dim));
    let bytes = (elements.wrapping_mul(bits) / 8).min(1 << 10) as usize;
    let begin = if random.one_in(12) { random.below(*end + 8) } else { *end };
    *end = begin + bytes;
    let offsets =
        if random.one_in(16) { format!("[{},{}]", random.number(), random.number()) } else { format!("[{begin},{end}]") };
    let extra = random.pick(&["", "", "", "", "", "", ",\"dtype\":\"F32\"", ",\"order\":1"]);
    header.push_str(&format!(r#"{{"dtype":"{dtype}","shape":{dims:?},"data_offsets":{offsets}{extra}}}"#));
}

fn valid(random: &mut Random) -> Vec<u8> {
    let tensors: Vec<_> = (0..random.below(4))
        .map(|i| {
            let shape: Vec<usize> = (0..random.below(4)).map(|_| 1 + random.below(4)).collect();
            let (format, bytes) = random.pick(&[("f32", 4), ("f16", 2), ("bf16", 2), ("u8", 1)]);
            let data = vec![random.next() as u8; shape.iter().product::<usize>() * bytes];
            Tensor { name: format!("t{i}"), shape, format: format.to_owned(), data }
        })
        .collect();
    write::safetensors(&tensors)
}

/// What we refuse and the reference takes, by our message: what has two meanings, and what the format's description lacks.
const STRICTER: [&str; 7] = [
    "duplicate tensor",
    "duplicate key",
    "unknown field",
    "expected an object with dtype",
    "expected an object of texts",
    "at most 64 dimensions",
    "duplicate field",
];

pub fn check(case: &[u8]) -> Result<(), String> {
    let ours = within(16, case, || read(case, 0)).map_err(|e| message(&e));
    let theirs = SafeTensors::deserialize(case);
    let tensors = match (ours, &theirs) {
        (Ok(tensors), _) => tensors,
        (Err(message), Err(_)) => return Err(message),
        (Err(message), Ok(_)) => {
            assert!(STRICTER.iter().any(|reason| message.contains(reason)), "the reference takes it, and we say: {message}");
            return Err(message);
        }
    };
    // Sorted by place: every byte behind the header is in one tensor.
    let mut ranges: Vec<_> = tensors.iter().map(|t| t.range.clone()).collect();
    ranges.sort_by_key(|range| (range.start, range.end));
    let header = u64::from_le_bytes(case[..8].try_into().expect("it was read"));
    let end = ranges.iter().fold(8 + header, |end, range| {
        assert_eq!(range.start, end);
        range.end
    });
    assert_eq!(end, case.len() as u64);
    assert!(tensors.is_sorted_by(|a, b| a.name < b.name));
    // Of a dtype that the reference does not know we know the name only.
    let is_known = |name: &str| DTYPES.contains(&name.to_uppercase().as_str()) && !matches!(name, "f32x");
    if let Ok(theirs) = theirs {
        assert_eq!(theirs.len(), tensors.len());
        for t in &tensors {
            let view = theirs.tensor(&t.name).expect("both take the same tensors");
            assert_eq!(view.shape(), t.shape);
            assert_eq!(view.data().as_ptr() as usize - case.as_ptr() as usize, t.range.start as usize);
            assert_eq!(view.data().len() as u64, t.range.end - t.range.start);
        }
    } else if tensors.iter().all(|t| is_known(t.format.as_str())) {
        panic!("we take it, and the reference says: {}", theirs.unwrap_err());
    }
    Ok(())
}
