//! Real vocabularies: bard-mla's, which is in the repository, and SmolLM2's where its weights are; and what masks cost.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenon_core::weights::Checkpoint;

use super::*;
use crate::rng::SplitMix64;

fn bard() -> Tokenizer {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../model-specs/bard-mla/weights");
    Tokenizer::from_dir(&dir).unwrap()
}

/// `None` where the weights are not on this machine, which is said.
fn smollm2() -> Option<Tokenizer> {
    let dir = Path::new(&std::env::var_os("TENON_HOME").unwrap_or_default()).join("smollm2-135m-instruct");
    let mut files = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let Some(file) = files.find(|file| file.extension().is_some_and(|extension| extension == "gguf")) else {
        println!("skipped: TENON_HOME has no GGUF of smollm2-135m-instruct; `tenon-server pull` fetches it");
        return None;
    };
    Some(Tokenizer::load(&Checkpoint::open(&file).unwrap()).unwrap())
}

/// A byte-level vocabulary of so many tokens: the bytes, and words of printable characters, each one once.
fn synthetic(tokens: usize) -> Tokenizer {
    let mut vocabulary = crate::tokenizer::tests::vocabulary();
    let mut rng = SplitMix64::new(3);
    let mut seen: std::collections::HashSet<String> = vocabulary.tokens.iter().cloned().collect();
    while vocabulary.tokens.len() < tokens {
        // Four of five begin with a space, as most words of a vocabulary do.
        let mut word = String::from(if rng.below(5) > 0 { "Ġ" } else { "" });
        for _ in 0..2 + rng.below(9) {
            word.push(char::from(if rng.below(12) > 0 { b'a' + rng.below(26) as u8 } else { b'!' + rng.below(94) as u8 }));
        }
        if seen.insert(word.clone()) {
            vocabulary.tokens.push(word);
        }
    }
    vocabulary.token_types.resize(tokens, TokenType::Normal);
    Tokenizer::from_gguf(&vocabulary).unwrap()
}

fn weather() -> Declared {
    let parameters = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["C", "F"]},
    }, "required": ["city"], "additionalProperties": false});
    declared("get_weather", parameters, true)
}

fn call() -> String {
    let arguments: Value = json!({"city": "Zürich, at the lake", "days": 3, "unit": "C"});
    ToolParser::Hermes.example_call("get_weather", arguments.as_object().unwrap())
}

fn accepts_a_call(tokenizer: &Tokenizer) {
    let factory = GrammarFactory::new(tokenizer, ToolParser::Hermes.marks()).unwrap();
    let case = Case::of(ToolParser::Hermes, &[weather()]);
    accepts(tokenizer, &*case.compile(&factory), &call()).unwrap();
    accepts(tokenizer, &*case.compile(&factory), "I would say 20 degrees.").unwrap_err();
    let auto = Case { choice: ToolChoice::Auto, ..case };
    accepts(tokenizer, &*auto.compile(&factory), "I would say 20 degrees.").unwrap();
    accepts(tokenizer, &*auto.compile(&factory), &format!("Let me see.\n{}", call())).unwrap();
}

#[test]
fn bard_mla_can_be_made_to_call() {
    accepts_a_call(&bard());
}

#[test]
fn smollm2_can_be_made_to_call() {
    if let Some(tokenizer) = smollm2() {
        accepts_a_call(&tokenizer);
    }
}

/// Megabytes that this process has in memory.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}

/// `cargo test -p tenon-engine --release --lib -- --ignored --nocapture masks`
#[test]
#[ignore = "a measurement"]
fn what_masks_cost() {
    let small = smollm2().map(|tokenizer| ("smollm2", tokenizer));
    for (name, tokenizer) in small.into_iter().chain([("synthetic", synthetic(150_000))]) {
        let (before, begun) = (resident(), Instant::now());
        let factory = GrammarFactory::new(&tokenizer, ToolParser::Hermes.marks()).unwrap();
        let (tree, memory) = (begun.elapsed(), resident() - before);
        for (what, choice) in [("required", ToolChoice::Required), ("auto", ToolChoice::Auto)] {
            let case = Case { choice, ..Case::of(ToolParser::Hermes, &[weather()]) };
            let begun = Instant::now();
            let mut constraint = case.compile(&factory);
            let compiled = begun.elapsed();
            let mut allowed = TokenSet::alloc(tokenizer.vocab_size());
            let mut masks: Vec<Duration> = Vec::new();
            for id in tokenizer.encode_rendered(&call()).unwrap() {
                let begun = Instant::now();
                constraint.allowed(&mut allowed).unwrap();
                masks.push(begun.elapsed());
                constraint.accept(id).unwrap();
            }
            masks.sort_unstable();
            let mean = masks.iter().sum::<Duration>() / masks.len() as u32;
            println!(
                "{name}, {} tokens, {what}: tree {tree:.1?} and {memory:.0} MB; compiled in {compiled:.1?}; {} masks, mean {mean:.1?}, \
                 median {:.1?}, largest {:.1?}",
                tokenizer.vocab_size(),
                masks.len(),
                masks[masks.len() / 2],
                masks[masks.len() - 1],
            );
        }
    }
}
