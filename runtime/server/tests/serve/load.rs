//! Several clients at a time: the queue, its limits, and clients that leave.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{eventually, post};
use crate::setup::{CONTEXT, TestServer};
use crate::{CHAT, chat, deltas};

/// Case eng-batch-01, on a scripted model: what is beside a request does not change it. That real logits do not change either is a
/// property of the CPU target, tested with the goldens.
#[test]
fn answers_are_the_same_alone_and_beside_others() {
    let server = TestServer::start(4, 64);
    let body = |i: usize| {
        let said = format!("~{}", "answer me ".repeat(1 + i % 7));
        chat(
            &said,
            json!({"max_tokens": 1 + (i * 37) % 90, "stream": i.is_multiple_of(2), "logprobs": true, "temperature": 1, "seed": i}),
        )
    };
    let address = server.address;
    let ask = move |body: Value| {
        let sent = post(address, CHAT, &body);
        if body["stream"] == true {
            let chunks = sent.events().chunks();
            (deltas(&chunks), chunks.last().unwrap()["choices"][0]["finish_reason"].clone())
        } else {
            let whole = sent.ok();
            let choice = &whole["choices"][0];
            (choice["message"]["content"].as_str().unwrap().to_owned(), choice["finish_reason"].clone())
        }
    };
    let alone: Vec<_> = (0..24).map(|i| ask(body(i))).collect();
    let threads: Vec<_> = (0..24).map(|i| std::thread::spawn(move || ask(body(i)))).collect();
    let beside: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(alone, beside);
    let mixed = server.steps.lock().unwrap().iter().any(|step| step.len() == 4);
    assert!(mixed, "never four sequences in one step");
}

/// Case eng-queue-01.
#[test]
fn more_requests_than_places_are_refused_at_once() {
    let server = TestServer::start(2, 4);
    server.gate.close();
    let address = server.address;
    let threads: Vec<_> = (0..50)
        .map(|i| std::thread::spawn(move || post(address, CHAT, &chat("hello", json!({"stream": i % 2 == 0}))).answer()))
        .collect();
    // The gate is closed, so nobody is served before everyone has been answered or has a place.
    eventually("44 refusals", || (threads.iter().filter(|thread| thread.is_finished()).count() == 44).then_some(()));
    server.gate.open();
    let answers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let served = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(served, 6);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
        let error = answer.error();
        assert_eq!((&error["type"], &error["code"]), (&json!("rate_limit_error"), &json!("queue_full")));
        assert!(error["message"].as_str().unwrap().starts_with("too few of the 6 places for answers that run or wait are free"));
    }
    assert_eq!(post(address, CHAT, &chat("hello", json!({}))).ok()["choices"][0]["message"]["content"], "hello");
}

/// A client that leaves makes room: the only place, and all pages of the cache.
#[test]
fn leaving_cancels_streams_and_whole_answers() {
    let server = TestServer::start(1, 0);
    let endless = |stream: bool| chat("~for ever", json!({ "stream": stream }));
    let fills_the_cache = || {
        let sent = post(server.address, CHAT, &chat("~x", json!({})));
        let answer = sent.answer();
        (answer.status == 200).then(|| answer.json()["usage"]["total_tokens"].clone())
    };
    for stream in [true, false, true] {
        server.gate.close();
        let sent = post(server.address, CHAT, &endless(stream));
        eventually("the first step", || server.gate.is_waited_for().then_some(()));
        assert_eq!(post(server.address, CHAT, &endless(false)).answer().status, 429);
        drop(sent);
        // The engine is told while it is inside a step.
        std::thread::sleep(Duration::from_millis(200));
        let before = server.steps.lock().unwrap().len();
        server.gate.open();
        let total = eventually("a free place", fills_the_cache);
        assert_eq!(total, CONTEXT);
        // The first token of the one that left, the prompt and the tokens of the other: the rest was never computed.
        let steps = server.steps.lock().unwrap().len() - before;
        assert!(steps <= CONTEXT, "{steps} steps after the client had left");
    }
}

/// Case eng-cancel-03.
#[test]
fn a_client_that_leaves_the_queue_is_never_served() {
    let server = TestServer::start(1, 3);
    server.gate.close();
    let send = |name: &str| {
        let sent = post(server.address, CHAT, &chat(name, json!({})));
        // Long enough for the request to reach the queue before the next is sent.
        std::thread::sleep(Duration::from_millis(150));
        sent
    };
    let running = send("running");
    let (first, second, third) = (send("first"), send("second"), send("third"));
    assert_eq!(post(server.address, CHAT, &chat("x", json!({}))).answer().status, 429);
    drop(second);
    std::thread::sleep(Duration::from_millis(200));
    server.gate.open();
    for (sent, name) in [(running, "running"), (first, "first"), (third, "third")] {
        assert_eq!(sent.ok()["choices"][0]["message"]["content"], name);
    }
    let begun: Vec<_> = server.begun().iter().map(|text| text.split('\n').nth(1).unwrap().replace("assistant", "")).collect();
    assert_eq!(begun, ["running", "first", "third"]);
    // All four places are free again.
    server.gate.close();
    let sent: Vec<_> = ["a", "b", "c", "d"].map(send).into_iter().collect();
    assert_eq!(post(server.address, CHAT, &chat("x", json!({}))).answer().status, 429);
    server.gate.open();
    assert!(sent.into_iter().all(|sent| sent.answer().status == 200));
}

/// Answers wait in memory for a client that does not read, and nobody waits with it.
#[test]
fn a_client_that_does_not_read_stalls_nobody() {
    let server = TestServer::start(1, 1);
    let lazy = post(server.address, CHAT, &chat("~slow", json!({"stream": true})));
    let prompt = || {
        let answer = post(server.address, CHAT, &chat("quick", json!({}))).answer();
        (answer.status == 200).then_some(())
    };
    eventually("an answer beside it", prompt);
    assert_eq!(lazy.events().chunks().len(), 2 + CONTEXT - "<user\n~slow><assistant\n".len());
}
