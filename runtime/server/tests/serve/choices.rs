//! Several answers to a request, and several prompts in one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::client::post;
use crate::setup::TestServer;
use crate::{CHAT, COMPLETIONS, chat, completion, computed};

/// The texts of the choices of a whole answer, which are in order.
fn texts(answer: &Value) -> Vec<String> {
    let choices = answer["choices"].as_array().unwrap();
    for (i, choice) in choices.iter().enumerate() {
        assert_eq!(choice["index"], i);
    }
    let text = |choice: &Value| choice["text"].as_str().or(choice["message"]["content"].as_str()).unwrap().to_owned();
    choices.iter().map(text).collect()
}

/// The same of a stream, whose choices come as they are computed.
fn streamed(chunks: &[Value]) -> Vec<String> {
    let mut texts: BTreeMap<u64, String> = BTreeMap::new();
    let mut over = Vec::new();
    for choice in chunks.iter().flat_map(|chunk| chunk["choices"].as_array().unwrap()) {
        let index = choice["index"].as_u64().unwrap();
        assert!(!over.contains(&index), "choice {index} goes on after its end");
        let text = choice["text"].as_str().or(choice["delta"]["content"].as_str()).unwrap_or_default();
        texts.entry(index).or_default().push_str(text);
        if !choice["finish_reason"].is_null() {
            over.push(index);
        }
    }
    assert_eq!(over.len(), texts.len(), "every choice ends");
    assert!(texts.keys().copied().eq(0..texts.len() as u64));
    texts.into_values().collect()
}

/// Case eng-seed-03.
#[test]
fn one_seed_has_a_stream_for_each_choice() {
    let server = TestServer::start(2, 2);
    let ask = |n: usize, more: Value| {
        let mut body = completion("~abcdefgh>", json!({"n": n, "seed": 7, "temperature": 1.5, "max_tokens": 16}));
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post(server.address, COMPLETIONS, &body)
    };
    let three = texts(&ask(3, json!({})).ok());
    assert_eq!(three.len(), 3);
    assert!(three[0] != three[1] && three[1] != three[2] && three[0] != three[2], "{three:?}");
    assert_eq!(texts(&ask(3, json!({})).ok()), three);
    assert_eq!(texts(&ask(1, json!({})).ok()), three[..1], "the first is that of a request for one");
    assert_eq!(streamed(&ask(3, json!({"stream": true})).events().chunks()), three);
    // Two compute at a time, so that the third begins when another has ended: the order of the ends is not that of the indices.
    let greedy = texts(&ask(4, json!({"temperature": 0})).ok());
    assert!(greedy.iter().all(|text| *text == greedy[0]));
}

#[test]
fn the_prompt_of_several_choices_counts_once() {
    let server = TestServer::start(4, 0);
    let one = post(server.address, CHAT, &chat("hello", json!({}))).ok();
    let three = post(server.address, CHAT, &chat("hello", json!({"n": 3}))).ok();
    assert_eq!(texts(&three), ["hello"; 3]);
    assert_eq!(three["usage"]["prompt_tokens"], one["usage"]["prompt_tokens"]);
    assert_eq!(three["usage"]["completion_tokens"], 3 * 6);
    let more = json!({"n": 3, "stream": true, "stream_options": {"include_usage": true}});
    let mut chunks = post(server.address, CHAT, &chat("hello", more)).events().chunks();
    let last = chunks.pop().unwrap();
    assert_eq!((computed(&last["usage"]), &last["choices"]), (computed(&three["usage"]), &json!([])));
    assert_eq!(streamed(&chunks), ["hello"; 3]);
    let opening: Vec<_> = chunks[..3].iter().map(|chunk| chunk["choices"][0]["index"].as_u64().unwrap()).collect();
    assert_eq!(opening, [0, 1, 2]);
    assert!(chunks[..3].iter().all(|chunk| chunk["choices"][0]["delta"]["role"] == "assistant"));
}

/// Prompt `i` of several has the choices from `i * n` on.
#[test]
fn several_prompts_are_answered_together() {
    let server = TestServer::start(4, 4);
    let ask = |prompt: Value, more: Value| post(server.address, COMPLETIONS, &completion(prompt, more));
    let answer = ask(json!(["ab>", "cd>", "ef>"]), json!({"n": 2})).ok();
    assert_eq!(texts(&answer), ["ab", "ab", "cd", "cd", "ef", "ef"]);
    assert_eq!((&answer["usage"]["prompt_tokens"], &answer["usage"]["completion_tokens"]), (&json!(9), &json!(18)));
    let chunks = ask(json!([[97, 62], "cde>"]), json!({"stream": true})).events().chunks();
    assert_eq!(streamed(&chunks), ["a", "cde"]);
    // A prompt's answer is the same alone and in a list.
    let warm = json!({"temperature": 2, "seed": 5, "max_tokens": 12, "n": 2});
    let alone = [texts(&ask(json!("~abc>"), warm.clone()).ok()), texts(&ask(json!("~xyz>"), warm.clone()).ok())].concat();
    assert_eq!(texts(&ask(json!(["~abc>", "~xyz>"]), warm).ok()), alone);
}

#[test]
fn a_stop_sequence_ends_one_choice_and_not_the_others() {
    let server = TestServer::start(4, 0);
    let body = |stream: bool| completion(json!(["one>", "two x three>", "four>"]), json!({"stop": "x", "stream": stream}));
    let whole = post(server.address, COMPLETIONS, &body(false)).ok();
    assert_eq!(texts(&whole), ["one", "two ", "four"]);
    assert_eq!(whole["usage"]["completion_tokens"], 4 + 5 + 5);
    assert_eq!(streamed(&post(server.address, COMPLETIONS, &body(true)).events().chunks()), ["one", "two ", "four"]);
}

/// A place is one answer: a request gets all that it needs or none, and gives each back when that answer is over.
#[test]
fn each_answer_takes_a_place() {
    let server = TestServer::start(2, 2);
    let ask = |n: usize| post(server.address, CHAT, &chat("~x", json!({"n": n, "max_tokens": 3})));
    let never = ask(5).error(400);
    assert_eq!((&never["code"], &never["param"]), (&json!("invalid_value"), &json!("n")));
    assert_eq!(never["message"], "the request asks for 5 answers, and this server has places for 4");
    server.gate.close();
    let three = ask(3);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(ask(2).error(429)["code"], "queue_full");
    let one = ask(1);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(ask(1).answer().status, 429);
    server.gate.open();
    assert_eq!((texts(&three.ok()).len(), texts(&one.ok()).len()), (3, 1));
    assert_eq!(texts(&ask(4).ok()).len(), 4, "all places are free again");
}
