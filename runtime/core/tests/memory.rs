//! What opening a checkpoint allocates: a small multiple of the files' bytes, whatever the files claim.

#[path = "../../formats/tests/counting/mod.rs"]
mod counting;

use std::fs;
use std::path::Path;

use tenon_core::weights::Checkpoint;
use tenon_formats::gguf::{Array, Value};
use tenon_formats::write::{self, Tensor};

/// Messages, paths, and what reading a directory takes.
const BESIDE: usize = 64 * 1024;
/// The most that JSON values take, which are limited in number.
const VALUES: usize = 64 << 20;

/// Opens a directory of these files; returns the error, the peak of what was allocated, and the bytes of the files.
fn open(files: &[(&str, &[u8])]) -> (Option<String>, usize, usize) {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    let (opened, peak) = counting::peak(|| Checkpoint::open(dir.path()));
    let error = opened.err().map(|e| e.to_string());
    (error, peak, files.iter().map(|(_, bytes)| bytes.len()).sum())
}

/// Opens a directory and checks that opening took at most `factor` times the bytes of the files, and `beside`.
fn within(what: &str, factor: usize, beside: usize, files: &[(&str, &[u8])]) -> Option<String> {
    let (error, peak, bytes) = open(files);
    println!("{what}: {peak} bytes allocated for {bytes} bytes of files, {:.1} times", peak as f64 / bytes as f64);
    assert!(peak <= factor * bytes + beside, "{what}: {peak} bytes allocated for {bytes} bytes of files");
    error
}

fn gguf(metadata: &[(&str, Value)], tensors: &[Tensor]) -> Vec<u8> {
    let architecture = ("general.architecture", Value::String("llama".into()));
    write::gguf(&[&[architecture], metadata].concat(), tensors)
}

const CONFIG: (&str, &[u8]) = ("config.json", br#"{"model_type": "llama"}"#);

#[test]
fn claims_cost_nothing() {
    let number = |at: usize, claimed: u64| {
        let mut file = gguf(&[("x", Value::Array(Array::U64(vec![1; 8])))], &[Tensor::f32("w", &[8], &[0.0; 8])]);
        file[at..at + 8].copy_from_slice(&claimed.to_le_bytes());
        file
    };
    let whole = number(0, u64::from_le_bytes(*b"GGUF\x03\0\0\0"));
    let find = |what: &[u8]| whole.windows(what.len()).position(|w| w == what).unwrap();
    let array = find(&[9, 0, 0, 0, 10, 0, 0, 0]) + 8;
    let tensor = find(b"w\x01\0\0\0");
    // Counts of tensors and keys, lengths of a key, a text, an array and a name, a dimension, an offset.
    let places = [8, 16, 24, 24 + 8 + 20 + 4, array, tensor - 8, tensor + 5, tensor + 5 + 8 + 4];
    for claimed in [u64::MAX, 1 << 63, (1 << 61) + 1, 1 << 40] {
        for at in places {
            let error = within("gguf", 4, BESIDE, &[("m.gguf", &number(at, claimed))]);
            assert!(error.is_some(), "{claimed} at {at}");
        }
        let safetensors = [&claimed.to_le_bytes()[..], b"{}"].concat();
        assert!(within("header", 4, BESIDE, &[CONFIG, ("model.safetensors", &safetensors)]).is_some());
        for shape in [format!("[{claimed}]"), format!("[{claimed}, 2]"), format!("[0, {claimed}]")] {
            let header = format!(r#"{{"w":{{"dtype":"F32","shape":{shape},"data_offsets":[0,{claimed}]}}}}"#);
            let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
            assert!(within("shape", 4, BESIDE, &[CONFIG, ("model.safetensors", &file)]).is_some(), "{shape}");
        }
    }
}

#[test]
fn a_large_file_of_small_things() {
    let strings = Value::Array(Array::String(vec![String::new(); 100_000]));
    let arrays = Value::Array(Array::Array(vec![Array::U8(vec![]); 100_000]));
    let bools = Value::Array(Array::Bool(vec![true; 1_000_000]));
    for (what, value) in [("texts", strings), ("arrays", arrays), ("bools", bools)] {
        assert_eq!(within(what, 8, BESIDE, &[("m.gguf", &gguf(&[("tokenizer.x", value.clone())], &[]))]), None);
        // A key of the model is copied into the config, as JSON.
        let error = within(what, 8, BESIDE, &[("m.gguf", &gguf(&[("llama.x", value)], &[]))]);
        assert!(error.unwrap().contains("`llama.x` is a list of 1"));
    }
    let most = Value::Array(Array::U8(vec![0; 1 << 16]));
    assert_eq!(within("the longest list", 8, VALUES, &[("m.gguf", &gguf(&[("llama.x", most)], &[]))]), None);
    let names: Vec<String> = (0..50_000).map(|i| format!("{i:x}")).collect();
    let keys: Vec<_> = names.iter().map(|name| (name.as_str(), Value::U8(0))).collect();
    assert_eq!(within("keys", 24, BESIDE, &[("m.gguf", &gguf(&keys, &[]))]), None);

    let tensors: Vec<_> = names.iter().map(|name| Tensor::zeros(name, &[1], "i8", 1)).collect();
    assert_eq!(within("gguf tensors", 16, BESIDE, &[("m.gguf", &gguf(&[], &tensors))]), None);
    let file = write::safetensors(&tensors);
    assert_eq!(within("safetensors tensors", 16, BESIDE, &[CONFIG, ("model.safetensors", &file)]), None);

    let map: Vec<_> = names.iter().map(|name| format!("\"{name}\":\"{name}\"")).collect();
    let index = format!("{{\"weight_map\":{{{}}}}}", map.join(","));
    let error = within("index", 16, BESIDE, &[CONFIG, ("model.safetensors.index.json", index.as_bytes())]);
    assert!(error.unwrap().contains("and that file is not beside it"));
}

#[test]
fn json_does_not_explode() {
    let config = |value: &str| format!(r#"{{"model_type":"llama","x":{value}}}"#).into_bytes();
    let many = |item: &str, count: usize| config(&format!("[{}0]", format!("{item},").repeat(count)));
    let objects = |depth: usize| format!("{}0{}", r#"{"":"#.repeat(depth), "}".repeat(depth));
    let file = write::safetensors(&[]);
    for (what, text, is_refused) in [
        ("numbers", many("0", 60_000), false),
        ("numbers, too many", many("0", 4_000_000), true),
        ("objects", many(&objects(1), 30_000), false),
        ("nested objects", many(&objects(100), 600), false),
        ("nested objects, too many", many(&objects(100), 60_000), true),
        ("one deep object", config(&objects(1_000_000)), true),
        ("one deep list", config(&"[".repeat(4_000_000)), true),
        ("a long text", config(&format!("\"{}\"", "x".repeat(4_000_000))), false),
    ] {
        let error = within(what, 8, VALUES, &[("config.json", &text), ("model.safetensors", &file)]);
        assert_eq!(error.is_some(), is_refused, "{what}: {error:?}");
        assert!(error.is_none_or(|e| e.len() < 1000));
    }
}

/// A sparse file is as long as it says and takes no room: it is mapped, not read.
#[test]
fn a_long_file_is_mapped() {
    const LENGTH: u64 = 1 << 36;
    let long = |path: &Path, start: &[u8]| {
        fs::write(path, start).unwrap();
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(LENGTH).unwrap();
    };
    let header = format!(r#"{{"w":{{"dtype":"U8","shape":[{0}],"data_offsets":[0,{0}]}}}}"#, LENGTH - 8 - 73);
    let safetensors = [&73u64.to_le_bytes()[..], header.as_bytes()].concat();
    assert_eq!(header.len(), 73);
    for (name, start) in [("m.gguf", gguf(&[], &[])), ("model.safetensors", safetensors), ("config.json", b"{".to_vec())] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(CONFIG.0), CONFIG.1).unwrap();
        if name != "m.gguf" {
            fs::write(dir.path().join("model.safetensors"), write::safetensors(&[])).unwrap();
        }
        long(&dir.path().join(name), &start);
        let (opened, peak) = counting::peak(|| Checkpoint::open(dir.path()));
        assert_eq!(opened.is_ok(), name != "config.json", "{opened:?}");
        assert!(peak < BESIDE, "{name}: {peak} bytes");
    }
}
