//! The HTTP server as its clients see it: a real listener in this process, over a scripted model.

mod answers;
mod cases;
mod choices;
mod client;
mod constrained;
mod load;
mod logprobs;
mod params;
mod prefix;
mod reasoning;
mod refusals;
mod render;
mod setup;
mod shutdown;
mod tokenize;
mod tools;

use serde_json::{Value, json};

use setup::MODEL;

/// The body of a chat request with one user message.
fn chat(content: &str, more: Value) -> Value {
    with(json!({"model": MODEL, "messages": [{"role": "user", "content": content}]}), more)
}

/// The body of a completion request.
fn completion(prompt: impl Into<Value>, more: Value) -> Value {
    with(json!({"model": MODEL, "prompt": prompt.into()}), more)
}

fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";

/// A usage apart from what was found in the cache, which an earlier request with the same prompt has left there.
fn computed(usage: &Value) -> Value {
    let mut usage = usage.clone();
    assert!(usage["prompt_tokens_details"]["cached_tokens"].take().is_u64());
    usage
}

/// The text of a stream's chunks on the chat route.
fn deltas(chunks: &[Value]) -> String {
    chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect()
}
