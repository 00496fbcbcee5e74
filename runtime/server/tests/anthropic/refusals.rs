//! What is refused, and that every refusal has the API's form, whoever raised it.

use serde_json::{Value, json};

use crate::client::{Answer, post, send};
use crate::setup::{CONTEXT, MAX_BODY, TestServer};
use crate::{COUNT, MESSAGES, ask, to_count, user};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Type and message of an error, whose form is checked.
pub fn error(answer: &Answer, status: u16) -> (String, String) {
    assert_eq!((answer.status, answer.header("content-type")), (status, Some("application/json")), "{}", answer.body);
    let body = answer.json();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        (keys(&body), keys(&body["error"])),
        (vec!["type".into(), "error".into(), "request_id".into()], vec!["type".into(), "message".into()])
    );
    assert_eq!(body["type"], "error");
    assert_eq!(body["request_id"].as_str(), answer.header("request-id"));
    let text = |key: &str| body["error"][key].as_str().unwrap().to_owned();
    (text("type"), text("message"))
}

#[test]
fn refusals_name_the_field() {
    let server = TestServer::start(1, 0);
    let image = json!([{"type": "text", "text": "x"}, {"type": "image", "source": {}}]);
    for (more, status, kind, named) in [
        (json!({"model": "gpt-4"}), 404, "not_found_error", "gpt-4"),
        (json!({"max_tokens": null}), 400, "invalid_request_error", "`max_tokens`"),
        (json!({"messages": []}), 400, "invalid_request_error", "`messages`"),
        (json!({"messages": [user("refuse this")]}), 400, "invalid_request_error", "`messages`"),
        (json!({"messages": [user("x"), user(image)]}), 400, "invalid_request_error", "`messages[1].content[1].type`"),
        (json!({"temperature": 1.1}), 400, "invalid_request_error", "`temperature`"),
        (json!({"top_pp": 1}), 400, "invalid_request_error", "`top_pp`"),
        (json!({"thinking": {"type": "adaptive"}}), 400, "invalid_request_error", "`thinking.type`"),
        (json!({"tools": [{"name": "f", "input_schema": {}}]}), 400, "invalid_request_error", "`tools`"),
        (json!({"max_tokens": CONTEXT}), 400, "invalid_request_error", "`messages`: the context holds 256 tokens"),
    ] {
        for stream in [false, true] {
            let mut body = ask("x", more.clone());
            body["stream"] = json!(stream);
            let (found, message) = error(&post(server.address, MESSAGES, &body).answer(), status);
            assert!(found == kind && message.contains(named), "{more}: {found}: {message}");
        }
    }
    let counted = post(server.address, COUNT, &ask("x", json!({}))).answer();
    assert!(error(&counted, 400).1.contains("`max_tokens`"));
    assert_eq!(post(server.address, COUNT, &to_count(ask("x", json!({})))).answer().status, 200);
}

#[test]
fn errors_before_the_route_have_the_form_too() {
    let server = TestServer::start(1, 0);
    let whole = ask("x", json!({})).to_string();
    let send = |method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]| {
        send(server.address, method, path, headers, body).answer()
    };
    for path in [MESSAGES, COUNT] {
        // The second is case http-body-02.
        let lone =
            b"{\"model\": \"tiny\", \"max_tokens\": 4, \"messages\": [{\"role\": \"user\", \"content\": \"\\udf0d tail\"}]}";
        for body in [&b"{"[..], lone, b"", b"[1, 2, 3]"] {
            assert_eq!(error(&send("POST", path, &[JSON], body), 400).0, "invalid_request_error");
        }
        let plain = error(&send("POST", path, &[("content-type", "text/plain")], whole.as_bytes()), 400);
        assert!(plain.1.contains("text/plain"));
        let large = send("POST", path, &[JSON], &vec![b' '; MAX_BODY + 1]);
        assert_eq!(error(&large, 413).0, "request_too_large");
        let get = send("GET", path, &[], b"");
        assert_eq!(error(&get, 405).0, "invalid_request_error");
        assert_eq!(get.header("allow"), Some("POST"));
    }
    for path in ["/v1/messages/batches", "/v1/complete"] {
        let (kind, message) = error(&send("POST", path, &[JSON], b"{}"), 404);
        assert!(kind == "not_found_error" && message.contains(path), "{message}");
    }
    // Other routes have the other form.
    assert_eq!(send("POST", "/v1/messages2", &[JSON], b"{}").error()["code"], "not_found");
    // An id that is given comes back.
    let given = send("POST", MESSAGES, &[JSON, ("x-request-id", "mine-1")], b"{");
    assert_eq!(given.json()["request_id"], "mine-1");
}

/// Case eng-queue-01, on these routes.
#[test]
fn a_full_queue_is_told_before_any_event() {
    let server = TestServer::start(1, 0);
    server.gate.close();
    let running = post(server.address, MESSAGES, &ask("x", json!({})));
    while !server.gate.is_waited_for() {
        std::thread::yield_now();
    }
    for stream in [false, true] {
        let full = post(server.address, MESSAGES, &ask("x", json!({ "stream": stream }))).answer();
        assert_eq!(error(&full, 429).0, "rate_limit_error");
        assert_eq!(full.header("retry-after"), Some("1"));
    }
    // Counting needs no place.
    assert_eq!(post(server.address, COUNT, &to_count(ask("x", json!({})))).answer().status, 200);
    server.gate.open();
    assert_eq!(running.ok()["stop_reason"], "end_turn");
}

#[test]
fn a_model_that_fails_is_a_500() {
    let server = TestServer::start(1, 0);
    let (kind, message) = error(&post(server.address, MESSAGES, &ask("!", json!({}))).answer(), 500);
    assert!(kind == "api_error" && message.contains("NaN"), "{message}");
}
