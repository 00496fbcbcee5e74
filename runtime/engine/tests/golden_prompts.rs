//! The tokenizer and chat template of a real GGUF against stored prompts and token ids.

use std::path::PathBuf;

use serde_json::Value;
use tenon_core::model;
use tenon_core::weights::Checkpoint;
use tenon_engine::template::{self, Settings, message};
use tenon_engine::{Conversation, SpecialTokens, Tokenizer};

/// `TENON_GOLDENS` names the folder of goldens, and `TENON_SMOLLM2` the GGUF that one of them belongs to.
fn inputs() -> Option<(PathBuf, PathBuf)> {
    let goldens = std::env::var_os("TENON_GOLDENS")?;
    let weights = std::env::var_os("TENON_SMOLLM2")?;
    Some((PathBuf::from(goldens).join("smollm2-135m-instruct-q4_1"), weights.into()))
}

#[test]
fn smollm2_renders_and_encodes_as_the_reference_does() {
    let Some((folder, weights)) = inputs() else {
        eprintln!("skipped: TENON_GOLDENS and TENON_SMOLLM2 do not name the goldens and the GGUF");
        return;
    };
    let checkpoint = Checkpoint::open(&weights).unwrap();
    let tokenizer = Tokenizer::load(&checkpoint).unwrap();
    let chat = template::load(&checkpoint, model::ChatTemplate::Checkpoint, Settings::default(), &tokenizer).unwrap().unwrap();
    assert_eq!((tokenizer.vocab_size(), tokenizer.end_ids()), (49152, &[2][..]));

    let file = std::fs::read(folder.join("golden.safetensors")).unwrap();
    let tensors = tenon_formats::safetensors::read(&file, 0).unwrap();
    let ids = |name: String| -> Vec<u32> {
        let entry = tensors.iter().find(|t| t.name == name).unwrap();
        let bytes = &file[entry.range.start as usize..entry.range.end as usize];
        bytes.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
    };
    let golden: Value = serde_json::from_slice(&std::fs::read(folder.join("golden.json")).unwrap()).unwrap();
    let prompts = golden.as_array().unwrap();
    for (i, prompt) in prompts.iter().enumerate() {
        let messages = [message("user", prompt["prompt"].as_str().unwrap())];
        let conversation = Conversation::new(&messages);
        assert_eq!(template::prompt(&chat, &conversation).unwrap(), prompt["rendered"].as_str().unwrap(), "prompt {i}");
        assert_eq!(template::encode(&chat, &tokenizer, &conversation).unwrap(), ids(format!("{i}.input_ids")), "prompt {i}");
        let greedy = ids(format!("{i}.greedy"));
        let answer = greedy.strip_suffix(&[2]).unwrap_or(&greedy);
        assert_eq!(tokenizer.decode(answer, SpecialTokens::Hide).unwrap(), prompt["greedy_text"].as_str().unwrap());
    }
    assert_eq!(prompts.len(), 8);
}
