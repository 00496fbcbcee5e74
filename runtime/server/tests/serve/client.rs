//! A small HTTP client that can also leave, send half a request, and read events one by one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than anything that a test waits for.
const TIMEOUT: Duration = Duration::from_secs(20);

/// For what happens on the server soon after something that a client does.
pub fn eventually<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = check() {
            return value;
        }
        assert!(started.elapsed() < TIMEOUT, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A request that was sent, and whose answer was not read yet. Dropping it closes the connection.
pub struct Sent(BufReader<TcpStream>);

/// The beginning of an answer.
pub struct Head {
    pub status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

/// A whole answer.
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

/// Sends a request with any bytes as its body.
pub fn send(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Sent {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    Sent(BufReader::new(stream))
}

/// Sends JSON.
pub fn post(address: SocketAddr, path: &str, body: &Value) -> Sent {
    send(address, "POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
}

impl Sent {
    /// Reads status and headers.
    pub fn head(mut self) -> Head {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status in {line:?}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let of = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        let left = of("content-length").map_or(0, |length| length.parse().unwrap());
        let chunked = of("transfer-encoding") == Some("chunked");
        Head { status, headers, body: Body { stream: self.0, chunked, left, first: true } }
    }

    /// Reads everything.
    pub fn answer(self) -> Answer {
        self.head().answer()
    }

    /// Reads a whole answer with status 200.
    pub fn ok(self) -> Value {
        let answer = self.answer();
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// The error object of a refusal with this status.
    pub fn error(self, status: u16) -> Value {
        let answer = self.answer();
        assert_eq!(answer.status, status, "{}", answer.body);
        answer.error()
    }

    /// The events of a stream.
    pub fn events(self) -> Events {
        let head = self.head();
        if head.status != 200 {
            let answer = head.answer();
            panic!("status {}: {}", answer.status, answer.body);
        }
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        Events(BufReader::new(head.body))
    }
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn answer(mut self) -> Answer {
        let mut body = String::new();
        self.body.read_to_string(&mut body).unwrap();
        Answer { status: self.status, headers: self.headers, body }
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e} in {:?}", self.body))
    }

    /// The error object, whose form is checked.
    pub fn error(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let mut body = self.json();
        assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
        let error = body["error"].take();
        let keys: Vec<&String> = error.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["message", "type", "param", "code"]);
        assert!(
            error["message"].as_str().is_some_and(|m| !m.is_empty()) && error["type"].is_string() && error["code"].is_string()
        );
        error
    }
}

/// A body, of a given length or in chunks.
struct Body {
    stream: BufReader<TcpStream>,
    chunked: bool,
    left: usize,
    first: bool,
}

impl Read for Body {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.chunked && self.left == 0 {
            let mut line = String::new();
            if !std::mem::take(&mut self.first) {
                self.stream.read_line(&mut line)?;
                line.clear();
            }
            self.stream.read_line(&mut line)?;
            let broken = || std::io::Error::other(format!("a chunk begins with {line:?}"));
            self.left = usize::from_str_radix(line.trim_end(), 16).map_err(|_| broken())?;
            if self.left == 0 {
                self.chunked = false;
            }
        }
        let most = out.len().min(self.left);
        if most == 0 {
            // A reader asked for nothing would wait for more all the same.
            return Ok(0);
        }
        let count = self.stream.read(&mut out[..most])?;
        self.left -= count;
        Ok(count)
    }
}

/// The events of a stream, as their data.
pub struct Events(BufReader<Body>);

impl Iterator for Events {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(data) = line.trim_end_matches('\n').strip_prefix("data: ") {
                return Some(data.to_owned());
            }
            assert!(line == "\n" || line.starts_with(':'), "{line:?}");
        }
    }
}

impl Events {
    /// All chunks up to the end, which must be there.
    pub fn chunks(self) -> Vec<Value> {
        let mut events: Vec<String> = self.collect();
        assert_eq!(events.pop().as_deref(), Some("[DONE]"));
        events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }
}
