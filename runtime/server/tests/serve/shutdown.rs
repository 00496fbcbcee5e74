//! The end of a server: what runs is finished, nothing new is begun.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::post;
use crate::setup::TestServer;
use crate::{CHAT, chat};

#[test]
fn running_and_waiting_requests_are_finished_and_new_ones_refused() {
    let mut server = TestServer::start(1, 2);
    server.gate.close();
    let address = server.address;
    let stream = post(address, CHAT, &chat("~abc", json!({"stream": true, "max_tokens": 50})));
    std::thread::sleep(Duration::from_millis(150));
    let waiting = post(address, CHAT, &chat("waiting", json!({})));
    std::thread::sleep(Duration::from_millis(150));
    server.shut_down();
    // The listener closes; the gate keeps the engine busy meanwhile.
    let started = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(started.elapsed() < Duration::from_secs(10), "the port stays open");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.gate.open();
    let mut events: Vec<String> = stream.events().collect();
    assert_eq!(events.pop().as_deref(), Some("[DONE]"));
    assert_eq!(events.len(), 52);
    assert_eq!(waiting.ok()["choices"][0]["message"]["content"], "waiting");
    server.end().unwrap();
}

#[test]
fn an_idle_server_ends_at_once_also_with_idle_connections() {
    let mut server = TestServer::start(1, 0);
    let _idle = TcpStream::connect(server.address).unwrap();
    assert_eq!(post(server.address, CHAT, &chat("x", json!({}))).answer().status, 200);
    let started = Instant::now();
    server.shut_down();
    server.end().unwrap();
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[test]
fn half_a_request_does_not_hold_the_end_up() {
    let mut server = TestServer::start(1, 0);
    let mut half = TcpStream::connect(server.address).unwrap();
    half.write_all(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let started = Instant::now();
    server.shut_down();
    server.end().unwrap();
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[test]
fn a_connection_that_stays_open_gets_no_further_request_served() {
    use std::io::{BufRead, BufReader};
    let mut server = TestServer::start(1, 1);
    server.gate.close();
    let busy = post(server.address, CHAT, &chat("busy", json!({})));
    // Its body is complete only after the server has begun to end.
    let body = chat("late", json!({})).to_string();
    let mut late = TcpStream::connect(server.address).unwrap();
    write!(late, "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len()).unwrap();
    std::thread::sleep(Duration::from_millis(150));
    server.shut_down();
    while TcpStream::connect(server.address).is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
    late.write_all(body.as_bytes()).unwrap();
    let head: Vec<String> = BufReader::new(late).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    assert!(head[0].contains("503"), "{head:?}");
    assert!(head.iter().any(|line| line == "retry-after: 1"), "{head:?}");
    server.gate.open();
    assert_eq!(busy.ok()["choices"][0]["message"]["content"], "busy");
    server.end().unwrap();
}
