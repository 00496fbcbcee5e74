//! Whole messages.

use serde_json::{Value, json};

use crate::client::{post, send};
use crate::setup::{MODEL, TestServer};
use crate::{COUNT, MESSAGES, ask, assistant, to_count, user, with};

/// All tokens of the prompt, cached or not.
fn prompt_tokens(message: &Value) -> u64 {
    ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
        .iter()
        .map(|key| message["usage"][key].as_u64().unwrap())
        .sum()
}

#[test]
fn a_message_has_the_apis_form() {
    let server = TestServer::start(1, 0);
    let answer = post(server.address, MESSAGES, &ask("Hello", json!({}))).answer();
    assert!(answer.header("request-id").is_some_and(|id| id.starts_with("req_")));
    let mut message = answer.json();
    assert!(message["id"].as_str().unwrap().starts_with("msg_"));
    assert_eq!(prompt_tokens(&message), "<user\nHello><assistant\n".len() as u64);
    let usage = message["usage"].take();
    assert_eq!(usage["output_tokens"], 6);
    message["id"].take();
    let expected = json!({
        "id": null, "type": "message", "role": "assistant", "model": MODEL, "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": null,
    });
    assert_eq!(message, expected);
}

#[test]
fn endings_say_why() {
    let server = TestServer::start(1, 0);
    for (content, more, text, reason, sequence) in [
        ("ab", json!({}), "ab", "end_turn", json!(null)),
        ("~ab", json!({"max_tokens": 5}), "~ab~a", "max_tokens", json!(null)),
        // Case http-anth-07.
        ("one two three four", json!({"stop_sequences": ["three"]}), "one two ", "stop_sequence", json!("three")),
        // Over the edge of a token.
        ("red, blue, green, grey", json!({"stop_sequences": ["x", "green"]}), "red, blue, ", "stop_sequence", json!("green")),
        ("ab", json!({"stop_sequences": ["c"]}), "ab", "end_turn", json!(null)),
    ] {
        let message = post(server.address, MESSAGES, &ask(content, more)).ok();
        assert_eq!(message["content"], json!([{"type": "text", "text": text}]));
        assert_eq!((&message["stop_reason"], &message["stop_sequence"]), (&json!(reason), &sequence), "{content}");
    }
    let nothing = post(server.address, MESSAGES, &ask("three", json!({"stop_sequences": ["three"]}))).ok();
    assert_eq!((&nothing["content"], &nothing["stop_reason"]), (&json!([]), &json!("stop_sequence")));
}

#[test]
fn the_version_and_betas_may_be_given() {
    let server = TestServer::start(1, 0);
    let body = ask("x", json!({})).to_string();
    let status =
        |headers: &[(&str, &str)], path: &str| send(server.address, "POST", path, headers, body.as_bytes()).answer().status;
    assert_eq!(status(&[], MESSAGES), 200);
    assert_eq!(status(&[("anthropic-version", "2023-06-01")], MESSAGES), 200);
    let headers = [("anthropic-version", "2026-10-21"), ("anthropic-beta", "x-2026-01-01,y"), ("x-api-key", "k")];
    // Clients of betas add a query.
    assert_eq!(status(&headers, "/v1/messages?beta=true"), 200);
    assert_eq!(status(&[("anthropic-version", "2023-01-01")], MESSAGES), 400);
    assert_eq!(status(&[("anthropic-version", "2023-01-01")], COUNT), 400);
}

#[test]
fn a_count_is_what_a_message_uses() {
    let server = TestServer::start(1, 0);
    let turns = json!([
        user("Hi"),
        assistant(json!([{"type": "tool_use", "id": "t1", "name": "get", "input": {"city": "Paris"}}])),
        user(
            json!([{"type": "tool_result", "tool_use_id": "t1", "content": "21", "is_error": true}, {"type": "text", "text": "so?"}])
        ),
    ]);
    let begun = json!([user("Hello"), assistant("Hel")]);
    let mut counts = Vec::new();
    for more in [json!({}), json!({"system": "Be terse."}), json!({ "messages": turns }), json!({ "messages": begun })] {
        let body = ask("Hi", with(more, json!({"max_tokens": 1})));
        let counted = post(server.address, COUNT, &to_count(body.clone())).ok();
        assert_eq!(counted.as_object().unwrap().len(), 1);
        let counted = counted["input_tokens"].as_u64().unwrap();
        assert_eq!(counted, prompt_tokens(&post(server.address, MESSAGES, &body).ok()), "{body}");
        counts.push(counted);
    }
    assert!(counts[1] > counts[0]);
}

#[test]
fn an_answer_continues_what_the_assistant_has_begun() {
    let server = TestServer::start(1, 0);
    let message = post(server.address, MESSAGES, &ask("", json!({"messages": [user("Hello"), assistant("Hel")]}))).ok();
    assert_eq!(message["content"], json!([{"type": "text", "text": "lo"}]));
    assert_eq!(server.begun().last().map(String::as_str), Some("user\nHelloassistant\nHel"));
}

#[test]
fn models_are_listed_in_the_form_of_who_asks() {
    let server = TestServer::start(1, 0);
    let get = |path: &str, headers: &[(&str, &str)]| send(server.address, "GET", path, headers, b"").answer();
    let ours = [("anthropic-version", "2023-06-01")];
    let list = get("/v1/models", &ours).json();
    assert_eq!(
        (&list["data"][0]["type"], &list["data"][0]["id"], &list["has_more"]),
        (&json!("model"), &json!(MODEL), &json!(false))
    );
    assert_eq!(get(&format!("/v1/models/{MODEL}"), &ours).json(), list["data"][0]);
    assert_eq!(get("/v1/models", &[]).json()["object"], "list");
    let unknown = get("/v1/models/other", &ours);
    assert_eq!((unknown.status, &unknown.json()["error"]["type"]), (404, &json!("not_found_error")));
    assert_eq!(get("/v1/models/other", &[]).error()["code"], "model_not_found");
}
