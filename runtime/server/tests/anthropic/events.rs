//! Streams: the events, their order, and that they add up to the whole message.

use serde_json::{Value, json};

use crate::client::post;
use crate::setup::TestServer;
use crate::{MESSAGES, ask};

/// The events of a stream: each has a name, which is also the type of its object.
pub fn events(server: &TestServer, body: &Value) -> Vec<Value> {
    let answer = post(server.address, MESSAGES, body).answer();
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")), "{}", answer.body);
    let one = |event: &str| {
        let lines: Vec<&str> = event.lines().collect();
        let [name, data] = lines[..] else { panic!("{event:?}") };
        let object: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(object["type"], name.strip_prefix("event: ").unwrap());
        object
    };
    answer.body.split_terminator("\n\n").map(one).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The message that a client puts together from a stream.
pub fn joined(events: &[Value]) -> Value {
    let mut message = events[0]["message"].clone();
    for event in events {
        let index = event["index"].as_u64().map(|index| index as usize);
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                let blocks = message["content"].as_array_mut().unwrap();
                assert_eq!(index, Some(blocks.len()));
                blocks.push(event["content_block"].clone());
            }
            "content_block_delta" => {
                let (block, delta) = (&mut message["content"][index.unwrap()], &event["delta"]);
                let (key, more) = match delta["type"].as_str().unwrap() {
                    "text_delta" => ("text", "text"),
                    "thinking_delta" => ("thinking", "thinking"),
                    "signature_delta" => ("signature", "signature"),
                    "input_json_delta" => ("json", "partial_json"),
                    other => panic!("{other}"),
                };
                let before = block[key].as_str().unwrap_or_default().to_owned();
                block[key] = json!(before + delta[more].as_str().unwrap());
            }
            "content_block_stop" => {
                let block = message["content"][index.unwrap()].as_object_mut().unwrap();
                if let Some(input) = block.remove("json") {
                    block["input"] = serde_json::from_str(input.as_str().unwrap()).unwrap();
                }
            }
            "message_delta" => {
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                message["stop_sequence"] = event["delta"]["stop_sequence"].clone();
                message["usage"] = event["usage"].clone();
            }
            "message_start" | "ping" | "message_stop" => {}
            other => panic!("{other}"),
        }
    }
    message
}

/// A message without what differs between two requests.
pub fn unnamed(mut message: Value) -> Value {
    for key in ["cache_read_input_tokens", "input_tokens"] {
        message["usage"].as_object_mut().unwrap().remove(key);
    }
    message.as_object_mut().unwrap().remove("id");
    message
}

#[test]
fn a_stream_adds_up_to_the_whole_message() {
    let server = TestServer::start(1, 0);
    for (content, more) in [
        ("Hello, 世界 👩‍🚀!", json!({})),
        ("~ab", json!({"max_tokens": 9})),
        ("one two three four", json!({"stop_sequences": ["zzz", "three"]})),
        ("three", json!({"stop_sequences": ["three"]})),
    ] {
        let body = ask(content, more);
        let whole = post(server.address, MESSAGES, &body).ok();
        let streamed = events(&server, &crate::with(body, json!({"stream": true})));
        assert_eq!(unnamed(joined(&streamed)), unnamed(whole), "{content}");
    }
}

#[test]
fn events_come_in_their_order() {
    let server = TestServer::start(1, 0);
    let text = events(&server, &ask("abc", json!({"stream": true})));
    let delta = "content_block_delta";
    let expected = [
        "message_start",
        "ping",
        "content_block_start",
        delta,
        delta,
        delta,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(kinds(&text), expected);
    let start = &text[0]["message"];
    assert!(start["id"].as_str().unwrap().starts_with("msg_"));
    assert_eq!((&start["role"], &start["content"], &start["stop_reason"]), (&json!("assistant"), &json!([]), &json!(null)));
    let counts = |usage: &Value| usage["input_tokens"].as_u64().unwrap() + usage["cache_read_input_tokens"].as_u64().unwrap();
    assert_eq!(counts(&start["usage"]), counts(&text[7]["usage"]));
    assert_eq!(text[2]["content_block"], json!({"type": "text", "text": ""}));
    assert_eq!(text[7]["delta"], json!({"stop_reason": "end_turn", "stop_sequence": null}));
    assert_eq!(text[7]["usage"]["output_tokens"], 4);
    // An answer that says nothing has no block.
    let nothing = events(&server, &ask("three", json!({"stream": true, "stop_sequences": ["three"]})));
    assert_eq!(kinds(&nothing), ["message_start", "ping", "message_delta", "message_stop"]);
}

#[test]
fn a_failure_is_an_event_and_nothing_ends_after_it() {
    let server = TestServer::start(1, 0);
    let failed = events(&server, &ask("!", json!({"stream": true})));
    assert_eq!(kinds(&failed), ["error"]);
    assert_eq!(failed[0]["error"]["type"], "api_error");
    assert!(failed[0]["error"]["message"].as_str().unwrap().contains("NaN"));
}
