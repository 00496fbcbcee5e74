//! Who may ask, over HTTP: keys, names and pages.

use serde_json::json;
use tenon_server::serve::{Access, Keys};

use crate::client::{Answer, send};
use crate::setup::TestServer;
use crate::{CHAT, chat, setup};

fn server() -> TestServer {
    let access = Access {
        keys: Keys::read("sk-alice alice\nsk-bob\n").unwrap(),
        origins: vec!["https://app.example".parse().unwrap()],
        hosts: vec![],
    };
    TestServer::adjusted(setup(1, 1), None, |server| server.access(access))
}

fn ask(server: &TestServer, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let body = if method == "POST" { chat("hello", json!({})).to_string() } else { String::new() };
    send(server.address, method, path, headers, body.as_bytes()).answer()
}

#[test]
fn every_route_but_the_probes_needs_a_key() {
    let server = server();
    for (method, path) in [
        ("GET", "/metrics"),
        ("GET", "/debug/plan"),
        ("GET", "/openapi.json"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/tiny"),
        ("GET", "/nothing"),
        ("POST", CHAT),
        ("POST", "/v1/completions"),
        ("POST", "/tokenize"),
        ("DELETE", CHAT),
    ] {
        let refused = ask(&server, method, path, &[]);
        assert_eq!(refused.status, 401, "{method} {path}: {}", refused.body);
        assert_eq!(refused.header("www-authenticate"), Some("Bearer realm=\"tenon-server\""));
        let error = refused.error();
        assert_eq!((&error["type"], &error["code"]), (&json!("authentication_error"), &json!("invalid_api_key")));
        let wrong = ask(&server, method, path, &[("authorization", "Bearer sk-carol")]);
        assert_eq!(wrong.status, 401);
        assert!(!wrong.body.contains("carol"), "{}", wrong.body);
        assert_ne!(ask(&server, method, path, &[("authorization", "Bearer sk-alice")]).status, 401);
        assert_ne!(ask(&server, method, path, &[("x-api-key", "sk-bob")]).status, 401);
    }
    assert_eq!(ask(&server, "GET", "/health", &[]).status, 200);
    assert_eq!(ask(&server, "GET", "/ready", &[]).status, 200);
    assert_eq!(ask(&server, "POST", CHAT, &[("x-api-key", "sk-bob")]).status, 200);
}

#[test]
fn a_refused_request_computes_nothing() {
    let server = server();
    assert_eq!(ask(&server, "POST", CHAT, &[("authorization", "Bearer nothing")]).status, 401);
    assert!(server.steps.lock().unwrap().is_empty());
}

#[test]
fn a_named_page_may_ask_and_others_may_not() {
    let server = server();
    let key = ("authorization", "Bearer sk-alice");
    let page = ("origin", "https://app.example");
    let preflight = ask(
        &server,
        "OPTIONS",
        CHAT,
        &[page, ("access-control-request-method", "POST"), ("access-control-request-headers", "authorization,x-stainless-os")],
    );
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(preflight.header("access-control-allow-methods"), Some("GET, POST, OPTIONS"));
    assert_eq!(preflight.header("access-control-allow-headers"), Some("authorization,x-stainless-os"));
    let answer = ask(&server, "POST", CHAT, &[page, key]);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("https://app.example")));
    assert_eq!(answer.header("vary"), Some("origin"));
    // The page reads the refusal too.
    let refused = ask(&server, "POST", CHAT, &[page]);
    assert_eq!(refused.status, 401);
    let other = ask(&server, "POST", CHAT, &[("origin", "https://evil.example"), key]);
    assert_eq!((other.status, other.error()["code"].clone()), (403, json!("origin_not_allowed")));
    assert_eq!(other.header("access-control-allow-origin"), None);
    assert!(server.steps.lock().unwrap().iter().flatten().count() > 0);
}

#[test]
fn without_keys_pages_and_foreign_names_are_still_kept_out() {
    let server = TestServer::start(1, 1);
    assert_eq!(ask(&server, "POST", CHAT, &[]).status, 200);
    assert_eq!(ask(&server, "POST", CHAT, &[("origin", "https://evil.example")]).status, 403);
    assert_eq!(ask(&server, "POST", CHAT, &[("origin", "null")]).status, 403);
    let rebound =
        crate::rest(crate::raw(server.address, "GET /v1/models HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"));
    assert!(rebound.starts_with("HTTP/1.1 403") && rebound.contains("host_not_allowed"), "{rebound}");
}
