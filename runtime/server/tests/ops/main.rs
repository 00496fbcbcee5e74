//! The server as its operator sees it: limits and times, who may ask, its end, metrics and logs; over a scripted model.

mod auth;
#[path = "../serve/client.rs"]
#[expect(dead_code, reason = "the dialects' tests use more of it")]
mod client;
mod drain;
mod limits;
mod metrics;
#[path = "../serve/setup.rs"]
#[expect(dead_code, reason = "the dialects' tests use more of it")]
mod setup;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenon_server::serve::HttpLimits;

use client::eventually;
use setup::{MODEL, Setup, TestServer};

const CHAT: &str = "/v1/chat/completions";

/// The body of a chat request with one user message.
fn chat(content: &str, more: Value) -> Value {
    let mut body = json!({"model": MODEL, "messages": [{"role": "user", "content": content}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn setup(max_sequences: usize, queue: usize) -> Setup {
    Setup { max_sequences, queue, ..Setup::default() }
}

/// One request at a time, with these limits.
fn limited(queue: usize, change: impl FnOnce(&mut HttpLimits)) -> TestServer {
    let mut limits = HttpLimits::default();
    change(&mut limits);
    TestServer::adjusted(setup(1, queue), None, |server| server.http(limits))
}

const MOMENT: Duration = Duration::from_millis(150);

/// A connection that sends what it is told.
fn raw(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// Everything that comes until the server closes the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end as well.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The value of one series of the metrics.
fn metric(server: &TestServer, series: &str) -> Option<f64> {
    let text = client::send(server.address, "GET", "/metrics", &[], b"").answer();
    assert_eq!(text.status, 200, "{}", text.body);
    let line = text.body.lines().find_map(|line| line.strip_prefix(series).and_then(|rest| rest.strip_prefix(' ')));
    line.map(|value| value.parse().unwrap())
}

/// Waits until a series has a value.
fn until(server: &TestServer, series: &str, value: f64) {
    let mut last = None;
    let started = Instant::now();
    while last != Some(value) {
        assert!(started.elapsed() < Duration::from_secs(20), "{series} is {last:?}, and not {value}");
        last = metric(server, series);
        std::thread::sleep(Duration::from_millis(5));
    }
}
