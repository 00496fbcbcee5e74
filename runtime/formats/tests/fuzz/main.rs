//! Fuzzers of the readers: spoilt files never panic, never take more memory than a small multiple of the file, and are never
//! taken for something that they are not.
//!
//! Each reader runs for `TENON_FUZZ_SECONDS` (5 by default) from a fixed seed (`TENON_FUZZ_SEED`). A case is a file of the corpus,
//! one that the writers make, or an earlier case that was answered in a new way; then bytes of it are spoilt. A case that breaks
//! a rule is written to the target directory: put it into `corpus/READER/` and mend the reader. With `TENON_FUZZ_KEEP=DIR`, the
//! cases that were answered in a new way are written there.

mod config;
#[path = "../counting/mod.rs"]
mod counting;
mod gguf;
mod index;
mod random;
mod safetensors;
mod text;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use random::Random;

/// One reader under test.
struct Reader {
    /// Its name, and that of its folder in the corpus.
    name: &'static str,
    /// Makes a file, which may be wrong.
    make: fn(&mut Random) -> Vec<u8>,
    /// Reads a file and checks what comes of it. The error is what the reader says.
    check: fn(&[u8]) -> Result<(), String>,
}

const GGUF: Reader = Reader { name: "gguf", make: gguf::make, check: gguf::check };
const SAFETENSORS: Reader = Reader { name: "safetensors", make: safetensors::make, check: safetensors::check };
const INDEX: Reader = Reader { name: "index", make: index::make, check: index::check };
const CONFIG: Reader = Reader { name: "config", make: config::make, check: config::check };

/// No file of the corpus or of a writer is longer, but what grows from them may be.
const LONGEST: usize = 16 * 1024;
/// Cases that were answered in a new way and are spoilt again.
const POOL: usize = 400;
/// A reader that needs longer for one case hangs.
const SLOWEST: Duration = Duration::from_secs(1);

#[test]
fn gguf_fuzz() {
    GGUF.fuzz();
}

#[test]
fn safetensors_fuzz() {
    SAFETENSORS.fuzz();
}

#[test]
fn index_fuzz() {
    INDEX.fuzz();
}

#[test]
fn config_fuzz() {
    CONFIG.fuzz();
}

/// What was found once stays found.
#[test]
fn corpus() {
    for reader in [GGUF, SAFETENSORS, INDEX, CONFIG] {
        let corpus = reader.corpus();
        assert!(!corpus.is_empty(), "the corpus of {} is empty", reader.name);
        let taken = corpus.iter().filter(|(path, file)| reader.run(file, &path.display().to_string()).is_ok()).count();
        println!("{}: {} files, {taken} of them taken", reader.name, corpus.len());
        assert!(taken > 0 && taken < corpus.len(), "the corpus of {} holds one side only", reader.name);
    }
}

impl Reader {
    fn fuzz(&self) {
        let seconds = number("TENON_FUZZ_SECONDS", 5);
        let mut random = Random(number("TENON_FUZZ_SEED", 1));
        let mut pool: Vec<Vec<u8>> = self.corpus().into_iter().map(|(_, file)| file).collect();
        let kept = pool.len();
        let mut answers = HashSet::new();
        let (mut taken, mut refused) = (0u64, 0u64);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(seconds) {
            for _ in 0..64 {
                let case = self.case(&pool, &mut random);
                let answer = self.run(&case, &format!("case {}", taken + refused));
                if answer.is_ok() {
                    taken += 1
                } else {
                    refused += 1
                }
                let shape = answer.map_or_else(|message| shape(&message), |()| "taken".to_owned());
                if !answers.contains(&shape) {
                    self.keep(&shape, &case);
                    answers.insert(shape);
                    if pool.len() < kept + POOL {
                        pool.push(case);
                    }
                }
            }
        }
        println!("{}: {taken} taken, {refused} refused in {} ways, in {seconds} s", self.name, answers.len());
        if env::var_os("TENON_SHOW").is_some() {
            for a in &answers {
                println!("  {a}");
            }
        }
        assert!(taken > 0 && refused > 0, "the cases miss one side");
    }

    fn case(&self, pool: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
        let mut case =
            if pool.is_empty() || random.one_in(2) { (self.make)(random) } else { pool[random.below(pool.len())].clone() };
        // Most of the first kind are left whole: they are wrong in ways that bytes do not find.
        let times = if random.one_in(3) { 0 } else { 1 + random.below(4) };
        for _ in 0..times {
            random.spoil(&mut case, pool);
        }
        case.truncate(LONGEST);
        case
    }

    /// Runs one case; what breaks a rule is written down before the test fails.
    fn run(&self, case: &[u8], what: &str) -> Result<(), String> {
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| (self.check)(case)));
        let took = start.elapsed();
        match result {
            Ok(answer) if took < SLOWEST => answer,
            _ => {
                let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{:016x}", self.name, hash(case)));
                fs::write(&path, case).expect("the target directory is writable");
                panic!("{}: {what} breaks a rule after {took:?}: {}", self.name, path.display());
            }
        }
    }

    fn corpus(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(self.name);
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("the corpus is readable").path()).collect();
        paths.sort();
        paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("the corpus is readable"))).collect()
    }

    fn keep(&self, shape: &str, case: &[u8]) {
        let Some(folder) = env::var_os("TENON_FUZZ_KEEP") else { return };
        let folder = Path::new(&folder).join(self.name);
        fs::create_dir_all(&folder).expect("TENON_FUZZ_KEEP is writable");
        fs::write(folder.join(shape), case).expect("TENON_FUZZ_KEEP is writable");
    }
}

/// A message without what differs between two of its kind: numbers, what stands in quotes, and most of what is neither its
/// beginning nor its end.
fn shape(message: &str) -> String {
    // From the first quote to the last, because a name may hold more of them.
    let outside = |text: &str, quote| match (text.find(quote), text.rfind(quote)) {
        (Some(first), Some(last)) => text[..first].to_owned() + &text[last..],
        _ => text.to_owned(),
    };
    let plain = outside(&outside(message, '"'), '`').replace(|c: char| !c.is_ascii_alphabetic(), " ");
    let words: Vec<_> = plain.split_whitespace().map(str::to_lowercase).collect();
    let (beginning, end) = (&words[..words.len().min(2)], &words[words.len().saturating_sub(5).max(2.min(words.len()))..]);
    [beginning, end].concat().join("-")
}

fn number(variable: &str, default: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is `{text}`, and it must be a number")),
        Err(_) => default,
    }
}

fn hash(case: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    case.hash(&mut hasher);
    hasher.finish()
}

/// Reads, and checks that reading took at most `factor` times the bytes of the file (and a little for the message).
fn within<T>(factor: usize, case: &[u8], read: impl FnOnce() -> T) -> T {
    within_and(factor, 16 * 1024, case, read)
}

/// The same with so many bytes for whatever does not grow with the file.
fn within_and<T>(factor: usize, beside: usize, case: &[u8], read: impl FnOnce() -> T) -> T {
    let (result, peak) = counting::peak(read);
    let bound = factor * case.len() + beside;
    assert!(peak <= bound, "{peak} bytes were allocated for {} bytes of file, and {bound} may be", case.len());
    result
}

/// A message is one line, in plain characters, and not longer than a screen.
fn message(error: &dyn std::error::Error) -> String {
    let message = error.to_string();
    assert!(!message.is_empty() && message.len() < 2000, "{} bytes: {message}", message.len());
    assert!(!message.contains(|c: char| c.is_control() || c == '\u{202e}'), "{message:?}");
    message
}
