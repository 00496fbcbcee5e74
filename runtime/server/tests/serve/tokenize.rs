//! `/tokenize` and `/detokenize`.

use serde_json::{Value, json};

use crate::client::post;
use crate::setup::{CLOSE, CONTEXT, MODEL, OPEN, TestServer};
use crate::{CHAT, chat};

fn tokenize(server: &TestServer, body: Value) -> Value {
    post(server.address, "/tokenize", &body).ok()
}

#[test]
fn a_text_becomes_its_ids_and_they_the_text() {
    let server = TestServer::start(1, 0);
    let answer = tokenize(&server, json!({"model": MODEL, "prompt": "Hi é<|open|>", "return_token_strs": true}));
    let ids = json!([72, 105, 32, 0xC3, 0xA9, OPEN]);
    let strings = json!(["H", "i", " ", "\u{FFFD}", "\u{FFFD}", "<|open|>"]);
    assert_eq!(answer, json!({"count": 6, "max_model_len": CONTEXT, "tokens": ids, "token_strs": strings}));
    assert_eq!(tokenize(&server, json!({"prompt": "a", "add_special_tokens": false}))["token_strs"], Value::Null);
    let back = post(server.address, "/detokenize", &json!({"model": MODEL, "tokens": ids})).ok();
    assert_eq!(back, json!({"prompt": "Hi é<|open|>"}));
}

#[test]
fn a_conversation_has_the_ids_that_the_chat_route_counts() {
    let server = TestServer::start(1, 0);
    let body = chat("Hi there", json!({}));
    let answer = tokenize(&server, body.clone());
    assert_eq!(answer["count"], post(server.address, CHAT, &body).ok()["usage"]["prompt_tokens"]);
    assert_eq!(answer["tokens"][0], OPEN);
    let mut open = body.clone();
    open["add_generation_prompt"] = json!(false);
    let short = tokenize(&server, open)["tokens"].as_array().unwrap().clone();
    assert_eq!(short.last(), Some(&json!(CLOSE)));
    assert!(answer["tokens"].as_array().unwrap().starts_with(&short));
}

#[test]
fn refusals_name_the_field() {
    let server = TestServer::start(1, 0);
    for (path, body, status, param) in [
        ("/tokenize", json!({}), 400, json!("prompt")),
        ("/tokenize", json!({"model": "x", "prompt": "a"}), 404, json!("model")),
        ("/tokenize", json!({"prompt": 1}), 400, json!("prompt")),
        ("/tokenize", json!({"prompt": "a", "x": 1}), 400, json!("x")),
        ("/tokenize", json!({"prompt": "a", "messages": [{"role": "user", "content": "x"}]}), 400, json!("messages")),
        ("/tokenize", json!({"messages": []}), 400, json!("messages")),
        (
            "/tokenize",
            json!({"messages": [{"role": "user", "content": "x"}], "add_special_tokens": true}),
            400,
            json!("add_special_tokens"),
        ),
        ("/detokenize", json!({}), 400, json!("tokens")),
        ("/detokenize", json!({"tokens": [1, -1]}), 400, json!("tokens[1]")),
        ("/detokenize", json!({"tokens": [280]}), 400, json!("tokens[0]")),
        ("/detokenize", json!({"tokens": "a"}), 400, json!("tokens")),
    ] {
        assert_eq!(post(server.address, path, &body).error(status)["param"], param, "{body}");
    }
    assert_eq!(post(server.address, "/detokenize", &json!({"tokens": []})).ok(), json!({"prompt": ""}));
}
