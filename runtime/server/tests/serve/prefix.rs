//! Prompts that share a beginning: what is found in the cache changes nothing but the time.

use serde_json::{Value, json};

use crate::client::post;
use crate::setup::TestServer;
use crate::{COMPLETIONS, completion};

/// Two and a half pages.
const P: &str = "a story about a duck and a goose, ending";

fn ask(server: &TestServer, prompt: &str, more: Value) -> Value {
    let mut body = completion(prompt, json!({"max_tokens": 100, "logprobs": 5, "seed": 1, "temperature": 1}));
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    post(server.address, COMPLETIONS, &body).ok()
}

/// Cases eng-prefix-02 and eng-prefix-05: each answer and each of its numbers is that of a server that has seen nothing before.
#[test]
fn a_shared_beginning_changes_no_answer() {
    let warm = TestServer::start(2, 2);
    let first = ask(&TestServer::start(1, 0), &format!("{P} joke one>"), json!({}));
    let said = first["choices"][0]["text"].as_str().unwrap();
    let mut found = Vec::new();
    for prompt in [
        format!("{P} joke one>"),
        format!("{P} joke two>"),
        format!("{P} joke one>"),
        format!("{P}>"),
        format!("{P} joke one>{said} and a new turn>"),
    ] {
        let cold = ask(&TestServer::start(1, 0), &prompt, json!({}));
        let answer = ask(&warm, &prompt, json!({}));
        assert_eq!(answer["choices"], cold["choices"], "{prompt}");
        found.push(answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap());
        assert_eq!(cold["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    }
    // Whole pages, and never the last token of a prompt, from which the answer follows.
    assert_eq!(found[..4], [0, 32, 48, 32], "{found:?}");
    assert!(found[4] >= 48, "{found:?}");
}

/// The choices of a request share its prompt, which counts once.
#[test]
fn the_cached_tokens_of_several_choices_are_those_of_the_first() {
    let server = TestServer::start(4, 0);
    let cached = |answer: &Value| answer["usage"]["prompt_tokens_details"]["cached_tokens"].clone();
    assert_eq!(cached(&ask(&server, &format!("{P}>"), json!({"n": 3}))), 0);
    assert_eq!(cached(&ask(&server, &format!("{P}>"), json!({"n": 3}))), 32);
}
