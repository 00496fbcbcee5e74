//! Log-probabilities in the two forms of the API.

use serde_json::{Map, Value, json};
use tenon_engine::Tokenizer;

use crate::serve::answer::Told;

/// What the API has instead of the logarithm of 0, which JSON cannot say.
const IMPOSSIBLE: f32 = -9999.0;

/// The form of `/v1/chat/completions`: `content`, one entry per token with its text, its bytes and the most likely tokens.
pub(super) fn chat(tokenizer: &Tokenizer, tokens: &[Told]) -> Value {
    let entries: Vec<Value> = tokens
        .iter()
        .map(|told| {
            let mut entry = chat_entry(tokenizer, told.id, told.logprobs.logprob);
            // Ids that the model has and the tokenizer has not are no alternatives.
            let known = told.logprobs.top.iter().filter(|(id, _)| tokenizer.bytes(*id).is_some());
            entry["top_logprobs"] = known.map(|&(id, logprob)| chat_entry(tokenizer, id, logprob)).collect();
            entry
        })
        .collect();
    json!({ "content": entries, "refusal": null })
}

fn chat_entry(tokenizer: &Tokenizer, id: u32, logprob: f32) -> Value {
    let bytes = tokenizer.bytes(id).unwrap_or_default();
    json!({ "token": String::from_utf8_lossy(bytes), "logprob": finite(logprob), "bytes": bytes })
}

/// The form of `/v1/completions`: four lists of one entry per token. The token itself is always among its alternatives.
pub(super) fn completion(tokenizer: &Tokenizer, tokens: &[Told]) -> Value {
    let top = |told: &Told| {
        let own = (told.id, told.logprobs.logprob);
        let others = told.logprobs.top.iter().copied().filter(|&(id, _)| id != told.id && tokenizer.bytes(id).is_some());
        let mut all: Vec<(u32, f32)> = others.chain([own]).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.into_iter().map(|(id, logprob)| (spelled(tokenizer, id), json!(finite(logprob)))).collect::<Map<_, _>>()
    };
    json!({
        "tokens": tokens.iter().map(|t| spelled(tokenizer, t.id)).collect::<Vec<_>>(),
        "token_logprobs": tokens.iter().map(|t| finite(t.logprobs.logprob)).collect::<Vec<_>>(),
        "top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
        "text_offset": tokens.iter().map(|t| t.offset).collect::<Vec<_>>(),
    })
}

/// A token's text, or `bytes:\xf0\x9f` for one that is part of a character, so that different tokens have different names.
fn spelled(tokenizer: &Tokenizer, id: u32) -> String {
    let bytes = tokenizer.bytes(id).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().fold("bytes:".to_owned(), |text, byte| format!("{text}\\x{byte:02x}")),
    }
}

fn finite(logprob: f32) -> f32 {
    logprob.max(IMPOSSIBLE)
}
