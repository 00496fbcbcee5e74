//! Small inputs from public bug reports, with the right answers: those whose whole expectation is a status and an error's form.
//! The others of the collection are named at the tests that check more; those of Anthropic's routes are with the tests of these.

use serde_json::Value;

use crate::client::send;
use crate::setup::{CONTEXT, MODEL, TestServer};
use crate::{CHAT, chat};

/// Replaces the placeholders of the collection.
fn expand(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(repeated) = text.strip_prefix("@repeat(@context_length,").and_then(|rest| rest.strip_suffix(')')) {
                *text = repeated.repeat(CONTEXT);
            }
            *text = text.replace("@model", MODEL);
        }
        Value::Array(items) => items.iter_mut().for_each(expand),
        Value::Object(object) => object.values_mut().for_each(expand),
        _ => {}
    }
}

#[test]
fn cases_from_public_bug_reports() {
    let server = TestServer::start(1, 0);
    let mut cases: Value = serde_json::from_str(include_str!("cases.json")).unwrap();
    expand(&mut cases);
    let cases = cases.as_array().unwrap();
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let body = case["body"].as_str().map_or_else(|| case["body"].to_string(), str::to_owned);
        let json = [("content-type", "application/json")];
        let answer = send(server.address, "POST", case["path"].as_str().unwrap(), &json, body.as_bytes()).answer();
        let allowed = case["status"].as_array().unwrap();
        assert!(allowed.contains(&answer.status.into()), "{id}: {} {}", answer.status, answer.body);
        if let Some(names) = case["names"].as_array() {
            // Also for what was asked to be streamed: the answer is an error, not an event stream that fails later.
            let error = answer.error();
            assert_eq!(error["type"], "invalid_request_error", "{id}");
            let told = format!("{} {}", error["param"], error["message"]);
            let named = names.iter().any(|name| told.contains(name.as_str().unwrap()));
            assert!(named || names.is_empty(), "{id}: {told}");
            assert!(case.get("code").is_none_or(|code| *code == error["code"]), "{id}: {error}");
        }
        let after = send(server.address, "POST", CHAT, &json, chat("x", serde_json::json!({})).to_string().as_bytes());
        assert_eq!(after.answer().status, 200, "{id}: a valid request afterwards");
    }
    assert_eq!(cases.len(), 16);
}
