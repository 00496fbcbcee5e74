//! Ids of a corpus of text against llama.cpp's, for real and small vocabularies and for every pre-tokenizer.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use tenon_core::weights::Checkpoint;
use tenon_engine::Tokenizer;
use tenon_engine::tokenizer::GgufVocabulary;
use tenon_formats::Gguf;

/// Vocabularies that are too large for the repository: folders of the place where `tenon-server pull` keeps weights.
const REAL: [&str; 2] = ["smollm2-135m-instruct", "gemma-3-270m"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let golden = read("llama_cpp.txt");
    let golden = String::from_utf8(golden).expect("the goldens are text");
    let mut trials = Vec::new();
    let mut skipped = Vec::new();
    for row in golden.lines() {
        let row = Arc::new(Row::parse(row));
        for case in &row.cases {
            let (vocabulary, variant) = case.split_once('/').unwrap_or((case, ""));
            let source = if REAL.contains(&vocabulary) { real(vocabulary) } else { Some(small(vocabulary)) };
            if source.is_none() {
                skipped.push(case.clone());
            }
            let (ignored, name, variant, row) = (source.is_none(), case.clone(), variant.to_owned(), row.clone());
            let compare = move || compare(&name, &row, source.expect("ignored without weights"), &variant);
            let trial = Trial::test(case, compare);
            trials.push(trial.with_ignored_flag(ignored));
        }
    }
    if !skipped.is_empty() {
        println!("skipped: {}; `tenon-server pull` fetches the weights", skipped.join(", "));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What llama.cpp has for some cases.
struct Row {
    cases: Vec<String>,
    total: usize,
    hashes: Vec<u32>,
}

impl Row {
    fn parse(row: &str) -> Self {
        let fields: Vec<&str> = row.split(' ').collect();
        let [cases, total, hashes] = fields[..] else { panic!("not a row: {row}") };
        let hash = |digits: &[u8; 6]| u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
        let hashes: Option<Vec<u32>> = hashes.as_bytes().as_chunks().0.iter().map(hash).collect();
        let (cases, total) = (cases.split(',').map(str::to_owned).collect(), total.parse().expect("a count"));
        Self { cases, total, hashes: hashes.expect("hexadecimal digits") }
    }
}

fn read(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tokenizer").join(file);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn small(name: &str) -> GgufVocabulary {
    let file = read(&format!("{name}.gguf"));
    let gguf = Gguf::read(&file).expect("a small vocabulary is a valid file");
    GgufVocabulary::read(&gguf).expect("a small vocabulary has every key")
}

/// The vocabulary of pulled weights; `None` where they are absent and need not be there.
fn real(name: &str) -> Option<GgufVocabulary> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("TENON_HOME")
        .or_else(|| Some(set("XDG_DATA_HOME").filter(|path| path.is_absolute())?.join("tenon")))
        .or_else(|| Some(set("HOME")?.join(".local/share/tenon")));
    let folder = home.map(|home| home.join(name)).filter(|folder| folder.exists());
    let required = std::env::var_os("TENON_REQUIRE_WEIGHTS").is_some();
    assert!(folder.is_some() || !required, "TENON_REQUIRE_WEIGHTS is set, and {name} is not where `tenon-server pull` puts it");
    let checkpoint = Checkpoint::open(&folder?).expect("weights that were pulled are valid");
    let gguf = checkpoint.gguf().expect("weights that were pulled are GGUF");
    Some(GgufVocabulary::read(gguf).expect("weights that were pulled have a tokenizer"))
}

fn corpus() -> &'static [String] {
    static CORPUS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let file = String::from_utf8(read("corpus.jsonl")).expect("the corpus is text");
        let line = |line: &str| match serde_json::from_str(line).expect("a line of the corpus is JSON") {
            Value::String(text) => text,
            long => long["repeat"].as_str().expect("a text").repeat(long["times"].as_u64().expect("a number") as usize),
        };
        file.split_terminator('\n').map(line).collect()
    });
    &CORPUS
}

/// The low 24 bits of FNV-1a.
fn fnv(bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)) & 0xFF_FFFF
}

fn compare(case: &str, row: &Row, mut vocabulary: GgufVocabulary, variant: &str) -> Result<(), Failed> {
    let (variant, of_pieces) = match variant.strip_suffix("pieces") {
        Some(variant) => (variant.trim_end_matches('/'), true),
        None => (variant, false),
    };
    match variant {
        "" => {}
        "no-space-prefix" => vocabulary.add_space_prefix = Some(false),
        "phi-3" => vocabulary.name = Some("Phi-3 mini".into()),
        "eos" => (vocabulary.add_bos, vocabulary.add_eos) = (Some(false), Some(true)),
        pre => vocabulary.pre = Some(pre.into()),
    }
    let tokenizer = Tokenizer::from_gguf(&vocabulary)?;
    if of_pieces { pieces(row, &tokenizer) } else { ids(case, row, &tokenizer) }
}

fn ids(case: &str, row: &Row, tokenizer: &Tokenizer) -> Result<(), Failed> {
    let (mut equal, mut total) = (0, 0);
    let mut differences = Vec::new();
    for (number, text) in corpus().iter().enumerate() {
        let ids = tokenizer.encode_text(text)?;
        total += ids.len();
        if row.hashes.get(number) == Some(&fnv(ids.iter().flat_map(|id| id.to_le_bytes()))) {
            equal += 1;
        } else {
            let (text, ids): (String, Vec<_>) = (text.chars().take(120).collect(), ids.iter().take(120).collect());
            differences.push(format!("\nline {}: {text:?}\n  {ids:?}", number + 1));
        }
    }
    let lines = corpus().len();
    println!("{case}: {equal} of {lines} lines equal, {total} ids");
    match equal == lines && row.hashes.len() == lines && row.total == total {
        true => Ok(()),
        false => {
            differences.truncate(5);
            Err(format!("{equal} of {lines} lines equal, {total} of {} ids{}", row.total, differences.concat()).into())
        }
    }
}

/// The bytes of every token.
fn pieces(row: &Row, tokenizer: &Tokenizer) -> Result<(), Failed> {
    let all: Vec<u32> = (0..row.total as u32).collect();
    let mut different = Vec::new();
    for (block, ids) in all.chunks(256).enumerate() {
        let pieces = ids.iter().map(|&id| tokenizer.bytes(id).unwrap_or_default());
        let bytes = pieces.flat_map(|piece| piece.iter().copied().chain((piece.len() as u32).to_le_bytes()));
        if row.hashes.get(block) != Some(&fnv(bytes)) {
            different.push(ids[0]);
        }
    }
    match different.is_empty() && tokenizer.vocab_size() == row.total {
        true => Ok(()),
        false => {
            Err(format!("{} of {} tokens; blocks of 256 that differ: {different:?}", tokenizer.vocab_size(), row.total).into())
        }
    }
}
