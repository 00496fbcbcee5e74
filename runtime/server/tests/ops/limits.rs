//! What a connection and a body may take, and how long; and that nobody waits for those that take too long.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{post, send};
use crate::setup::TestServer;
use crate::{CHAT, MOMENT, chat, eventually, limited, metric, raw, rest, setup, until};

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn a_head_that_does_not_come_is_not_waited_for() {
    let server = limited(0, |limits| limits.header_timeout = SHORT);
    for begun in ["", "POST /v1/chat/comp", "GET /health HTTP/1.1\r\nhost: localhost\r\n"] {
        let started = Instant::now();
        assert_eq!(rest(raw(server.address, begun)), "");
        assert!(started.elapsed() >= SHORT && started.elapsed() < SHORT * 10, "{begun:?}: {:?}", started.elapsed());
    }
    until(&server, "tenon_http_connections_closed_total{reason=\"header_timeout\"}", 3.0);
}

#[test]
fn a_head_that_trickles_in_is_not_waited_for_either() {
    let server = limited(0, |limits| limits.header_timeout = SHORT);
    let mut stream = raw(server.address, "GET /health HTTP/1.1\r\nhost: localhost\r\nx: ");
    let started = Instant::now();
    while stream.write_all(b"a").is_ok() {
        std::thread::sleep(Duration::from_millis(20));
        assert!(started.elapsed() < SHORT * 20, "it is still open");
    }
    until(&server, "tenon_http_connections_closed_total{reason=\"header_timeout\"}", 1.0);
}

#[test]
fn a_connection_is_kept_for_a_while_between_requests() {
    let server = limited(0, |limits| (limits.header_timeout, limits.idle_timeout) = (SHORT, SHORT * 3));
    let get = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut stream = BufReader::new(raw(server.address, get));
    let read = |stream: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        while !line.ends_with('}') {
            let bytes = stream.fill_buf().unwrap().to_vec();
            assert!(!bytes.is_empty(), "it was closed after {line:?}");
            stream.consume(bytes.len());
            line.push_str(&String::from_utf8(bytes).unwrap());
        }
        line
    };
    assert!(read(&mut stream).starts_with("HTTP/1.1 200"));
    // Longer than a head may take, and shorter than a connection may be idle.
    std::thread::sleep(SHORT * 2);
    stream.get_mut().write_all(get.as_bytes()).unwrap();
    assert!(read(&mut stream).starts_with("HTTP/1.1 200"));
    let started = Instant::now();
    assert_eq!(rest(stream.into_inner()), "");
    assert!(started.elapsed() >= SHORT * 2 && started.elapsed() < SHORT * 20, "{:?}", started.elapsed());
    until(&server, "tenon_http_connections_closed_total{reason=\"idle_timeout\"}", 1.0);
}

#[test]
fn a_body_that_does_not_come_is_answered_with_408() {
    let server = limited(0, |limits| limits.body_timeout = SHORT);
    let head = format!("POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{{");
    let answer = rest(raw(server.address, &head));
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("\"code\":\"body_timeout\""), "{answer}");
    // It takes no place meanwhile.
    let _half = raw(server.address, &head);
    assert_eq!(post(server.address, CHAT, &chat("x", json!({}))).answer().status, 200);
}

#[test]
fn heads_and_nesting_have_limits() {
    let server = limited(0, |limits| {
        (limits.max_headers, limits.max_header_bytes, limits.max_json_depth) = (20, 4096, 5);
    });
    let many: String = (0..30).map(|i| format!("x-{i}: 1\r\n")).collect();
    let long = format!("x: {}\r\n", "a".repeat(8192));
    for headers in [many, long] {
        let answer = rest(raw(server.address, &format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n")));
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
    let deep = chat("x", json!({"stop": [[[[["x"]]]]]}));
    let error = post(server.address, CHAT, &deep).error(400);
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("nesting_too_deep"), &json!("the body has arrays and objects nested more than 5 deep"))
    );
    assert_eq!(post(server.address, CHAT, &chat("x", json!({}))).answer().status, 200);
}

#[test]
fn connections_beyond_the_limit_are_told_so() {
    let server = limited(0, |limits| limits.max_connections = 2);
    let open: Vec<TcpStream> = (0..2).map(|_| raw(server.address, "")).collect();
    std::thread::sleep(MOMENT);
    let refused = send(server.address, "GET", "/health", &[], b"").answer();
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(refused.error()["code"], "too_many_connections");
    drop(open);
    eventually("a free place", || (send(server.address, "GET", "/health", &[], b"").answer().status == 200).then_some(()));
    assert!(metric(&server, "tenon_http_connections_refused_total").unwrap() >= 1.0);
}

#[test]
fn a_client_that_reads_nothing_is_left_and_nobody_waits_for_it() {
    let limits = tenon_server::serve::HttpLimits { write_timeout: SHORT, ..Default::default() };
    let server = TestServer::adjusted(setup(1, 4), Some(4096), |server| server.http(limits));
    let much = json!({"stream": true, "logprobs": true, "top_logprobs": 20});
    let lazy = post(server.address, CHAT, &chat("~x", much));
    let started = Instant::now();
    assert_eq!(post(server.address, CHAT, &chat("quick", json!({}))).answer().status, 200);
    until(&server, "tenon_http_connections_closed_total{reason=\"write_timeout\"}", 1.0);
    assert!(started.elapsed() >= SHORT);
    until(&server, "tenon_http_clients_gone_total{route=\"/v1/chat/completions\"}", 1.0);
    until(&server, "tenon_sequences_running", 0.0);
    drop(lazy);
}

#[test]
fn silence_is_filled_with_comments_also_before_the_first_token() {
    let server = limited(1, |limits| limits.sse_keep_alive = Duration::from_millis(50));
    server.gate.close();
    let stream = raw(server.address, "");
    let body = chat("hi", json!({"stream": true})).to_string();
    let mut stream = stream;
    write!(
        stream,
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    server.gate.open();
    let text = rest(stream);
    let comments = text.matches("\n: keep-alive\n\n").count();
    assert!((3..=12).contains(&comments), "{comments} comments in {text}");
    assert!(text.contains("data: [DONE]"), "{text}");
    let first = text.find("\"content\":\"h\"").unwrap_or_else(|| panic!("no content in {text}"));
    assert!(text.find(": keep-alive").unwrap() < first);
}

#[test]
fn the_operators_time_ends_an_answer() {
    let server = limited(1, |limits| limits.request_timeout = Some(SHORT));
    server.gate.close();
    let sent = post(server.address, CHAT, &chat("~for ever", json!({})));
    eventually("the first step", || server.gate.is_waited_for().then_some(()));
    std::thread::sleep(SHORT * 2);
    server.gate.open();
    // Whatever there is of the answer is the answer; nothing at all is an error.
    let answer = sent.answer();
    match answer.status {
        200 => assert_eq!(answer.json()["choices"][0]["finish_reason"], "length"),
        status => assert!((400..600).contains(&status), "{}", answer.body),
    }
    until(&server, "tenon_deadlines_total", 1.0);
}
