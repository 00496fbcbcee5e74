//! Anthropic's routes as their clients see them: a real listener in this process, over the scripted model of `serve`.

mod answers;
mod cases;
#[expect(dead_code, reason = "the other dialect's tests use more of it")]
#[path = "../serve/client.rs"]
mod client;
mod events;
mod prompts;
mod refusals;
#[expect(dead_code, reason = "the other dialect's tests use more of it")]
#[path = "../serve/setup.rs"]
mod setup;
mod tools;

use serde_json::{Value, json};

use setup::MODEL;

const MESSAGES: &str = "/v1/messages";
const COUNT: &str = "/v1/messages/count_tokens";

/// The body of a request with one user message.
fn ask(content: &str, more: Value) -> Value {
    with(json!({"model": MODEL, "max_tokens": 100, "messages": [user(content)]}), more)
}

fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The body without the fields that a count does not take.
fn to_count(mut body: Value) -> Value {
    let fields = body.as_object_mut().unwrap();
    for field in ["max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "stream"] {
        fields.remove(field);
    }
    body
}

fn user(content: impl Into<Value>) -> Value {
    json!({"role": "user", "content": content.into()})
}

fn assistant(content: impl Into<Value>) -> Value {
    json!({"role": "assistant", "content": content.into()})
}
