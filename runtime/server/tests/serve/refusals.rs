//! What is refused, how, and that nothing else suffers from it.

use serde_json::{Value, json};

use crate::client::{post, send};
use crate::setup::{CONTEXT, MAX_BODY, MODEL, TestServer};
use crate::{CHAT, COMPLETIONS, chat, completion, deltas};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Status, code and field of a refusal.
fn refusal(server: &TestServer, path: &str, body: &Value) -> (u16, String, Value) {
    let answer = post(server.address, path, body).answer();
    let error = answer.error();
    assert_eq!(error["type"], "invalid_request_error");
    (answer.status, error["code"].as_str().unwrap().to_owned(), error["param"].clone())
}

#[test]
fn refusals_name_the_field() {
    let server = TestServer::start(1, 0);
    for (path, body, status, code, param) in [
        (CHAT, chat("x", json!({"model": "gpt-4"})), 404, "model_not_found", json!("model")),
        (COMPLETIONS, completion("x>", json!({"model": "gpt-4"})), 404, "model_not_found", json!("model")),
        (CHAT, json!({"messages": []}), 400, "missing_required_parameter", json!("model")),
        (CHAT, chat("x", json!({"messages": []})), 400, "invalid_value", json!("messages")),
        (CHAT, chat("x", json!({"temperature": "hot"})), 400, "invalid_type", json!("temperature")),
        (CHAT, chat("x", json!({"n": 2})), 400, "invalid_value", json!("n")),
        (COMPLETIONS, completion(json!(["a", "b"]), json!({})), 400, "invalid_value", json!("prompt")),
        (
            CHAT,
            chat("x", json!({"tools": [{"type": "function"}]})),
            400,
            "missing_required_parameter",
            json!("tools[0].function"),
        ),
        (
            CHAT,
            chat("x", json!({"tools": [{"type": "function", "function": {"name": "f"}}]})),
            400,
            "unsupported_value",
            json!("tools"),
        ),
        (CHAT, chat("x", json!({"prompt": "x"})), 400, "unknown_parameter", json!("prompt")),
        (CHAT, chat("refuse this", json!({})), 400, "unsupported_value", json!("messages")),
        (COMPLETIONS, completion("x>", json!({"echo": true})), 400, "unsupported_parameter", json!("echo")),
        (COMPLETIONS, completion("", json!({})), 400, "invalid_value", json!("prompt")),
        (COMPLETIONS, completion(json!([300, 62]), json!({})), 400, "invalid_value", json!("prompt")),
    ] {
        assert_eq!(refusal(&server, path, &body), (status, code.to_owned(), param), "{body}");
    }
    let refused = post(server.address, CHAT, &chat("refuse this", json!({"stream": true}))).error(400);
    assert_eq!(refused["message"], "the chat template refuses this conversation: not with me");
}

#[test]
fn a_prompt_that_does_not_fit_is_told_with_both_numbers() {
    let server = TestServer::start(1, 0);
    // 18 tokens are the conversation's own.
    let long = post(server.address, CHAT, &chat(&"w".repeat(CONTEXT), json!({}))).error(400);
    assert_eq!((&long["code"], &long["param"]), (&json!("context_length_exceeded"), &json!("messages")));
    assert_eq!(long["message"], "the context holds 256 tokens, prompt and answer together, and the prompt alone has 274");
    let both = post(server.address, COMPLETIONS, &completion("ab>", json!({"max_tokens": 300, "stream": true}))).error(400);
    assert_eq!((&both["code"], &both["param"]), (&json!("context_length_exceeded"), &json!("prompt")));
    assert_eq!(both["message"], "the context holds 256 tokens, and 303 are asked for: 3 in the prompt and 300 to generate");
    assert_eq!(
        post(server.address, COMPLETIONS, &completion("ab>", json!({"max_tokens": 253}))).ok()["choices"][0]["text"],
        "ab"
    );
}

#[test]
fn bodies_that_are_not_json_are_refused() {
    let server = TestServer::start(1, 0);
    let raw = |headers: &[(&str, &str)], body: &[u8]| send(server.address, "POST", CHAT, headers, body);
    let whole = chat("x", json!({})).to_string();
    for body in [
        &b""[..],
        b"{\"model\": ",
        b"not json",
        b"{\"model\": \"tiny\", \"messages\": [{\"role\": \"user\", \"content\": \"\\udf0d tail\"}]}",
        b"{\"model\": \"tiny\", \"messages\": [{\"role\": \"user\", \"content\": \"\xff\"}]}",
        b"{\"model\": \"tiny\", \"model\": \"tiny\"}",
        b"{\"model\": \"tiny\", \"temperature\": NaN}",
        format!("{whole}{whole}").as_bytes(),
    ] {
        let error = raw(&[JSON], body).error(400);
        assert_eq!(
            (&error["code"], &error["param"]),
            (&json!("invalid_json"), &Value::Null),
            "{}",
            String::from_utf8_lossy(body)
        );
    }
    let deep = raw(&[JSON], "[".repeat(20_000).as_bytes()).error(400);
    assert_eq!((&deep["code"], &deep["param"]), (&json!("nesting_too_deep"), &Value::Null));
    for body in [&b"[1, 2, 3]"[..], b"\"x\"", b"null", b"7"] {
        assert_eq!(raw(&[JSON], body).error(400)["code"], "invalid_type");
    }
    // A form or a plain text is what a foreign page could send without asking.
    for media_type in ["text/plain", "application/x-www-form-urlencoded"] {
        let error = raw(&[("content-type", media_type)], whole.as_bytes()).error(400);
        assert!(error["message"].as_str().unwrap().contains(media_type), "{error}");
    }
    for headers in [&[][..], &[("content-type", "Application/JSON; charset=utf-8")]] {
        assert_eq!(raw(headers, whole.as_bytes()).answer().status, 200);
    }
}

#[test]
fn a_body_over_the_limit_is_refused_with_both_numbers() {
    let server = TestServer::start(1, 0);
    // The larger one is more than sockets hold: it arrives whole although it is refused.
    for size in [MAX_BODY + 1, 16 << 20] {
        let error = send(server.address, "POST", CHAT, &[JSON], &vec![b' '; size]).error(413);
        assert_eq!(error["code"], "request_too_large");
        assert_eq!(error["message"], format!("the body has {size} bytes, and the limit is {MAX_BODY}"));
    }
    // Not announced: in chunks.
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n",
        MAX_BODY + 1
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b' '; MAX_BODY + 1]).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    assert_eq!(post(server.address, CHAT, &chat("ok", json!({}))).answer().status, 200);
}

/// Cases http-resp-01 and http-resp-04 are about a route that this server does not have, which is a 404: after a 501, clients would try again.
#[test]
fn unknown_routes_and_wrong_methods_are_errors_of_the_same_form() {
    let server = TestServer::start(1, 0);
    let ask = |method: &str, path: &str| send(server.address, method, path, &[JSON], b"{}").answer();
    for path in ["/v1/embeddings", "/v1/responses", "/v1/responses/resp_1", "/v1/images/generations", "/v1/files"] {
        for method in ["POST", "GET"] {
            let answer = ask(method, path);
            assert_eq!((answer.status, &answer.error()["code"]), (404, &json!("not_implemented")), "{method} {path}");
            let message = answer.error()["message"].as_str().unwrap().to_owned();
            assert!(message.starts_with(path) && message.contains("/v1/chat/completions"), "{message}");
        }
    }
    for path in ["/pages", "/v1/chat", "/v1/respond"] {
        let answer = ask("POST", path);
        assert_eq!((answer.status, &answer.error()["code"]), (404, &json!("not_found")));
        assert!(answer.error()["message"].as_str().unwrap().ends_with(&format!("POST {path}")));
    }
    for (method, path, allowed) in
        [("GET", CHAT, "POST"), ("PUT", COMPLETIONS, "POST"), ("DELETE", CHAT, "POST"), ("POST", "/v1/models", "GET,HEAD")]
    {
        let answer = ask(method, path);
        assert_eq!((answer.status, &answer.error()["code"]), (405, &json!("method_not_allowed")), "{method} {path}");
        assert_eq!(answer.header("allow"), Some(allowed));
    }
}

#[test]
fn a_model_that_fails_is_a_500_for_that_request_alone() {
    let server = TestServer::start(2, 4);
    let address = server.address;
    let healthy = std::thread::spawn(move || post(address, CHAT, &chat("~fine", json!({"max_tokens": 100}))).ok());
    let error = post(address, CHAT, &chat("!", json!({}))).error(500);
    assert_eq!(error["type"], "server_error");
    assert_eq!(error["message"], "the logit of token 7 is NaN: the model or its weights are broken");
    // In a stream the status is sent already: an error object takes the place of a chunk, and no end is claimed.
    let events: Vec<String> = post(address, CHAT, &chat("!", json!({"stream": true}))).events().collect();
    assert_eq!(events.len(), 2);
    assert_eq!(serde_json::from_str::<Value>(&events[1]).unwrap()["error"]["type"], "server_error");
    // An id that the model has and the tokenizer has not, as embeddings that are padded have them: it stands for no text.
    let padding = post(address, COMPLETIONS, &completion(json!([280, 62]), json!({}))).ok();
    assert_eq!((&padding["choices"][0]["text"], &padding["usage"]["completion_tokens"]), (&json!(""), &json!(2)));
    assert_eq!(healthy.join().unwrap()["usage"]["completion_tokens"], 100);
}

/// Case eng-robust-01.
#[test]
fn poisonous_requests_do_not_disturb_streams() {
    let server = TestServer::start(3, 8);
    let body = |name: &str| chat(&format!("~{name}"), json!({"max_tokens": 150, "stream": true}));
    let text = |name: &str| deltas(&post(server.address, CHAT, &body(name)).events().chunks());
    let names = ["one", "two", "three"];
    let alone = names.map(text);
    server.gate.close();
    let streams = names.map(|name| post(server.address, CHAT, &body(name)));
    for (more, param) in [
        (json!({"logit_bias": {"1000000000": 1}}), "logit_bias.1000000000"),
        (json!({"temperature": "NaN"}), "temperature"),
        (json!({"logprobs": true, "top_logprobs": 100_000}), "top_logprobs"),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "intt"}}}}),
            "response_format",
        ),
        (json!({"stop": [""]}), "stop[0]"),
    ] {
        assert_eq!(refusal(&server, CHAT, &chat("x", more)).2, param);
    }
    server.gate.open();
    let beside = streams.map(|stream| deltas(&stream.events().chunks()));
    assert_eq!(beside, alone);
    assert_eq!(beside[0].len(), 150);
    assert_eq!(MODEL, "tiny");
}
