//! GGUF: headers, what configs become of them, and parts of split files.

use tenon_formats::CanonicalConfig;
use tenon_formats::gguf::{Array, Gguf, Value, split};
use tenon_formats::write::{self, Tensor};

use super::random::Random;
use super::{config, message, within};

const KEYS: [&str; 20] = [
    "general.architecture",
    "general.name",
    "llama.block_count",
    "llama.embedding_length",
    "llama.attention.head_count",
    "llama.attention.head_count_kv",
    "llama.attention.key_length",
    "llama.attention.value_length",
    "llama.rope.freq_base",
    "llama.rope.dimension_count",
    "llama.rope.scaling.type",
    "llama.vocab_size",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.eos_token_id",
    "split.no",
    "split.count",
    "split.tensors.count",
    "hidden_size",
    "model_type",
    "\u{1b}[2J",
];
const NAMES: [&str; 6] = ["token_embd.weight", "output.weight", "blk.0.attn_q.weight", "rope_freqs.weight", "", "\n"];
/// Formats, elements of a block and its bytes.
const FORMATS: [(&str, usize, usize); 8] = [
    ("f32", 1, 4),
    ("f16", 1, 2),
    ("bf16", 1, 2),
    ("q4_0", 32, 18),
    ("q4_1", 32, 20),
    ("q8_0", 32, 34),
    ("q6_k", 256, 210),
    ("i64", 1, 8),
];

pub fn make(random: &mut Random) -> Vec<u8> {
    let mut metadata = Vec::new();
    if !random.one_in(4) {
        metadata.push(("general.architecture", Value::String((random.pick(&["llama", "qwen3", "", "\u{202e}"])).to_owned())));
    }
    if random.one_in(3) {
        metadata.push(("general.alignment", Value::U32(random.pick(&[8, 16, 32, 64, 256, 1, 48]))));
    }
    for _ in 0..random.below(7) {
        metadata.push((random.pick(&KEYS), value(random)));
    }
    if !random.one_in(3) {
        // A key that stands twice ends the reading, so that few files come further.
        let mut seen = std::collections::HashSet::new();
        metadata.retain(|(key, _)| seen.insert(*key));
    }
    let tensors: Vec<_> = (0..random.below(4)).map(|i| tensor(random, i)).collect();
    write::gguf(&metadata, &tensors)
}

fn tensor(random: &mut Random, number: usize) -> Tensor {
    let (format, block, bytes) = random.pick(&FORMATS);
    let most = if random.one_in(8) { 6 } else { 3 };
    let dims = random.below(most + 1);
    let mut shape: Vec<usize> = (0..dims).map(|_| 1 + random.below(3)).collect();
    if let Some(row) = shape.last_mut() {
        *row *= block;
    }
    let mut data = vec![random.next() as u8; shape.iter().product::<usize>() / block * bytes];
    match random.below(16) {
        0 => data.truncate(random.below(data.len())),
        1 if dims > 0 => shape[random.below(dims)] = random.number() as usize,
        _ => {}
    }
    let suffix = if random.one_in(6) { String::new() } else { number.to_string() };
    Tensor { name: format!("{}{suffix}", random.pick(&NAMES)), shape, format: format.to_owned(), data }
}

fn value(random: &mut Random) -> Value {
    let number = if random.one_in(2) { random.number() } else { random.below(64) as u64 };
    match random.below(14) {
        0 => Value::U8(number as u8),
        1 => Value::I8(number as i8),
        2 => Value::U16(number as u16),
        3 => Value::I16(number as i16),
        4 | 5 => Value::U32(number as u32),
        6 => Value::I32(number as i32),
        7 => Value::F32(f32::from_bits(number as u32)),
        8 => Value::Bool(number & 1 == 1),
        9 => Value::String((random.pick(&["llama", "none", "yarn", "", "\0"])).to_owned()),
        10 => Value::U64(number),
        11 => Value::I64(number as i64),
        12 => Value::F64(f64::from_bits(number)),
        _ => Value::Array(array(random, 1)),
    }
}

fn array(random: &mut Random, depth: usize) -> Array {
    let count = random.below(6);
    match random.below(6) {
        0 => Array::U32((0..count).map(|_| random.number() as u32).collect()),
        1 => Array::I32(vec![1; count]),
        2 => Array::F32((0..count).map(|_| f32::from_bits(random.next() as u32)).collect()),
        3 => Array::Bool(vec![true; count]),
        4 => Array::String((0..count).map(|i| i.to_string()).collect()),
        _ if depth < 6 => Array::Array((0..count.min(2)).map(|_| array(random, depth + 1)).collect()),
        _ => Array::U8(vec![7; count]),
    }
}

pub fn check(case: &[u8]) -> Result<(), String> {
    let gguf = within(16, case, || Gguf::read(case)).map_err(|e| message(&e))?;
    layout(case, &gguf);
    written_again(case, &gguf);
    parts(&gguf);
    let config = within(80, case, || CanonicalConfig::from_gguf(&gguf)).map_err(|e| message(&e))?;
    config::look_at(&config);
    Ok(())
}

/// Tensors lie in the file, aligned, one behind the other, and are as large as shape and format say.
fn layout(case: &[u8], gguf: &Gguf) {
    assert!(gguf.tensors.is_sorted_by(|a, b| a.name < b.name), "names stand once");
    let alignment = gguf.metadata.get("general.alignment").map_or(32, |v| v.as_u64().expect("it was checked"));
    let mut by_place: Vec<_> = gguf.tensors.iter().collect();
    by_place.sort_by_key(|t| t.range.start);
    for pair in by_place.windows(2) {
        assert_eq!(pair[0].range.end.next_multiple_of(alignment), pair[1].range.start);
    }
    for tensor in by_place {
        assert!(tensor.range.end <= case.len() as u64 && tensor.range.start.is_multiple_of(alignment), "{tensor:?}");
        if let Some(format) = tensor.format.known() {
            let (row, rows) = (tensor.shape.last().copied().unwrap_or(1), tensor.shape.iter().rev().skip(1).product::<usize>());
            let bytes = format.row_bytes(row).expect("rows are whole") * rows;
            assert_eq!(tensor.range.end - tensor.range.start, bytes as u64, "{tensor:?}");
        }
    }
}

/// The writer makes the same of it.
fn written_again(case: &[u8], gguf: &Gguf) {
    if gguf.metadata.get("general.alignment").and_then(Value::as_u64).is_some_and(|bytes| bytes > 4096) {
        return;
    }
    let metadata: Vec<_> = gguf.metadata.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
    let data = |t: &tenon_formats::TensorEntry| t.range.start as usize..t.range.end as usize;
    let tensors: Vec<_> = gguf
        .tensors
        .iter()
        .map(|t| Tensor {
            name: t.name.clone(),
            shape: t.shape.clone(),
            format: t.format.as_str().to_owned(),
            data: case[data(t)].to_vec(),
        })
        .collect();
    let file = write::gguf(&metadata, &tensors);
    let again = Gguf::read(&file).expect("what was read can be written");
    // As text, in which NaN is NaN.
    assert_eq!(format!("{:?}", again.metadata), format!("{:?}", gguf.metadata));
    for (ours, written) in gguf.tensors.iter().zip(&again.tensors) {
        assert_eq!((&ours.name, &ours.shape, &ours.format), (&written.name, &written.shape, &written.format));
        assert_eq!(case[data(ours)], file[data(written)]);
    }
}

/// A file as a part of a split with itself: taken only as what it says that it is, and never twice.
fn parts(gguf: &Gguf) {
    match gguf.split() {
        Err(e) => _ = message(&e),
        Ok(None) => {}
        Ok(Some(of)) => {
            for no in [0, 1, of.no, u64::MAX - 1] {
                match split::check_part(gguf, of, gguf, no) {
                    Ok(()) => assert_eq!(no, of.no),
                    Err(e) => _ = message(&e),
                }
            }
            match split::join(vec![gguf.clone(), gguf.clone()], of) {
                Ok(whole) => assert!(whole.tensors.is_empty() && of.tensors == 0),
                Err((_, e)) => _ = message(&e),
            }
        }
    }
}
