//! Cases from public bug reports of loaders: what each file must be understood as, or which error must name what.
//!
//! `cases/loading.json` says for each where it comes from and why. An error must come within a second, and without an allocation
//! near the sizes that the file claims.

#[path = "../../runtime/formats/tests/counting/mod.rs"]
mod counting;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use serde_json::Value;
use tenon_core::weights::{CanonicalConfig, Checkpoint, LoadError};
use tenon_formats::gguf;
use tenon_formats::write::{self, Tensor};

#[derive(Deserialize)]
struct Case {
    id: String,
    what: String,
    input: Input,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Input {
    /// Files as parsed JSON.
    Config {
        files: BTreeMap<String, Value>,
    },
    /// Names of a file's tensors; a final `*` stands for some.
    TensorNames {
        architecture: String,
        tensors: Vec<String>,
    },
    Safetensors(File),
    Gguf(File),
    SafetensorsDir {
        files_base64: BTreeMap<String, String>,
        index: Value,
    },
    /// A conversation under a tokenizer: rendered prompts, not files.
    Tokenizer {},
}

/// The bytes of one file.
#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Whole { file_base64: String },
    Parts { file_parts: Vec<Part> },
}

#[derive(Deserialize)]
struct Part {
    base64: String,
    repeat: Option<usize>,
}

#[derive(Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum Expect {
    Error {
        message_names: Vec<String>,
    },
    Load {
        #[serde(default)]
        resolved: BTreeMap<String, Value>,
        #[serde(default)]
        tensors: BTreeMap<String, Loaded>,
    },
}

#[derive(Deserialize)]
struct Loaded {
    shape: Option<Vec<usize>>,
    values: Vec<f32>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/loading.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let cases: Vec<Case> = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut trials = Vec::new();
    for case in cases {
        let is_prompt = matches!(case.input, Input::Tokenizer {});
        if is_prompt {
            println!("skipped: {} ({}): its input is a tokenizer with a template and no file of weights", case.id, case.what);
        }
        trials.push(Trial::test(case.id.clone(), move || run(&case)).with_ignored_flag(is_prompt));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(case: &Case) -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let bytes = put(dir.path(), &case.input)?;
    let start = Instant::now();
    let (opened, peak) = counting::peak(|| Checkpoint::open(dir.path()));
    let took = start.elapsed();
    // Numbers of a config take more than their text, and every config is small.
    if took > Duration::from_secs(1) || peak > 8 * bytes + 64 * 1024 {
        return Err(format!("{}: {took:?}, and {peak} bytes were allocated for files of {bytes}", case.what).into());
    }
    match &case.expect {
        Expect::Error { message_names } => refused(opened, message_names, dir.path()),
        Expect::Load { resolved, tensors } => {
            let checkpoint = opened.map_err(|e| format!("{}: {e}", case.what))?;
            for (key, expected) in resolved {
                understood(&checkpoint, key, expected)?;
            }
            loaded(&checkpoint, tensors)
        }
    }
}

/// Writes the files of a case, and what else a directory needs; returns the bytes of all.
fn put(dir: &Path, input: &Input) -> Result<usize, Failed> {
    let config = || ("config.json".to_owned(), br#"{"model_type": "llama"}"#.to_vec());
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    match input {
        Input::Config { files: given } => {
            files.insert("model.safetensors".to_owned(), write::safetensors(&[]));
            files.extend(given.iter().map(|(name, json)| (name.clone(), json.to_string().into_bytes())));
        }
        Input::TensorNames { architecture, tensors } => {
            let architecture = ("general.architecture", gguf::Value::String(architecture.clone()));
            let tensors: Vec<_> =
                tensors.iter().map(|name| Tensor::f32(&name.replace('*', "attn_q.weight"), &[1], &[0.0])).collect();
            files.insert("model.gguf".to_owned(), write::gguf(&[architecture], &tensors));
        }
        Input::Gguf(file) => _ = files.insert("model.gguf".to_owned(), file.bytes()?),
        Input::Safetensors(file) => {
            files.extend([config(), ("model.safetensors".to_owned(), file.bytes()?)]);
        }
        Input::SafetensorsDir { files_base64, index } => {
            files.extend([config(), ("model.safetensors.index.json".to_owned(), index.to_string().into_bytes())]);
            for (name, text) in files_base64 {
                files.insert(name.clone(), base64(text)?);
            }
        }
        Input::Tokenizer {} => return Err("it holds no files".into()),
    }
    for (name, bytes) in &files {
        fs::write(dir.join(name), bytes)?;
    }
    Ok(files.values().map(Vec::len).sum())
}

/// The error names what it must, beside the path.
fn refused(opened: Result<Checkpoint, LoadError>, names: &[String], dir: &Path) -> Result<(), Failed> {
    let Err(error) = opened else { return Err("it was loaded".into()) };
    let message = error.to_string().replace(&dir.display().to_string(), "");
    for name in names {
        // A tensor's name of one letter is in any sentence, and messages quote what they name.
        let quoted = if name.len() < 3 { format!("`{name}`") } else { name.clone() };
        if !message.contains(&quoted) {
            return Err(format!("`{message}` does not name {quoted}").into());
        }
    }
    println!("{message}");
    Ok(())
}

/// A setting under the name that the cases have for it.
fn understood(checkpoint: &Checkpoint, key: &str, expected: &Value) -> Result<(), Failed> {
    let config: &CanonicalConfig = checkpoint.config();
    let found = match key {
        "rope_factor" => config.get("factor").map(|v| v.value.clone()),
        "stop_token_ids" => config.token_ids("eos_token_id").map(Value::from),
        // Where no tensor of the output is, the embeddings are it.
        "output" => {
            let tied = config.bool("tie_word_embeddings");
            tied.map(|tied| if tied { "token_embd.weight" } else { "output.weight" }.into())
        }
        _ => config.get(key).map(|v| v.value.clone()),
    };
    if found.as_ref() == Some(expected) {
        return Ok(());
    }
    Err(format!("{key} was understood as {found:?}, and it is {expected}").into())
}

fn loaded(checkpoint: &Checkpoint, tensors: &BTreeMap<String, Loaded>) -> Result<(), Failed> {
    for (name, expected) in tensors {
        let tensor = checkpoint.tensor(name).ok_or_else(|| format!("there is no tensor {name}"))?;
        if expected.shape.as_ref().is_some_and(|shape| *shape != tensor.shape) {
            return Err(format!("{name} is {:?}, and it must be {:?}", tensor.shape, expected.shape).into());
        }
        let values: Vec<f32> = checkpoint.data(tensor).as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        if values != expected.values {
            return Err(format!("{name} holds {values:?}, and it must hold {:?}", expected.values).into());
        }
    }
    Ok(())
}

impl File {
    fn bytes(&self) -> Result<Vec<u8>, Failed> {
        match self {
            Self::Whole { file_base64 } => base64(file_base64),
            Self::Parts { file_parts } => {
                let mut bytes = Vec::new();
                for part in file_parts {
                    bytes.extend(base64(&part.base64)?.repeat(part.repeat.unwrap_or(1)));
                }
                Ok(bytes)
            }
        }
    }
}

/// The bytes of a base64 text with its padding.
fn base64(text: &str) -> Result<Vec<u8>, Failed> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let digits = text.trim_end_matches('=').as_bytes();
    for four in digits.chunks(4) {
        let mut group = 0u32;
        for (i, digit) in four.iter().enumerate() {
            let value = DIGITS.iter().position(|d| d == digit).ok_or_else(|| format!("{:?} is no base64", *digit as char))?;
            group |= (value as u32) << (18 - 6 * i);
        }
        bytes.extend_from_slice(&group.to_be_bytes()[1..four.len()]);
    }
    Ok(bytes)
}
