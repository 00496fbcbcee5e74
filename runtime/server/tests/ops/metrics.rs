//! What is told about requests: metrics, ids, and the log.

use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use tenon_server::serve::{Access, Keys, LogFormat, LogLevel, start_log};

use crate::client::{post, send};
use crate::setup::TestServer;
use crate::{CHAT, chat, eventually, metric, setup, until};

/// The log of this process.
static LOG: LazyLock<Log> = LazyLock::new(|| {
    let log = Log::default();
    let writer = log.clone();
    start_log(LogFormat::Json, LogLevel::Debug, move || writer.clone());
    log
});

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The line of the request with this id.
fn line(id: &str) -> Value {
    eventually("a log line", || {
        let text = String::from_utf8(LOG.0.lock().unwrap().clone()).unwrap();
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {line}")));
        lines.into_iter().find(|line| line["request_id"] == id && line["message"] == "request")
    })
}

#[test]
fn what_is_counted_is_what_happened() {
    let server = TestServer::start(2, 0);
    let address = server.address;
    for stream in [false, true] {
        let answer = post(address, CHAT, &chat("hello", json!({ "stream": stream }))).answer();
        assert_eq!(answer.status, 200);
    }
    assert_eq!(post(address, CHAT, &chat("~x", json!({"max_tokens": 7}))).answer().status, 200);
    assert_eq!(post(address, CHAT, &chat("abcSTOPdef", json!({"stop": "STOP"}))).answer().status, 200);
    assert_eq!(post(address, CHAT, &chat("x", json!({"temperature": 9}))).answer().status, 400);
    assert_eq!(send(address, "GET", "/nothing", &[], b"").answer().status, 404);
    until(&server, "tenon_http_requests_total{method=\"POST\",route=\"/v1/chat/completions\",status=\"200\"}", 4.0);
    until(&server, "tenon_sequences_running", 0.0);
    let value = |series: &str| metric(&server, series).unwrap_or_else(|| panic!("there is no {series}"));
    for (series, expected) in [
        ("tenon_http_requests_total{method=\"POST\",route=\"/v1/chat/completions\",status=\"400\"}", 1.0),
        ("tenon_http_requests_total{method=\"GET\",route=\"other\",status=\"404\"}", 1.0),
        ("tenon_requests_refused_total{reason=\"invalid_value\"}", 1.0),
        ("tenon_requests_refused_total{reason=\"not_found\"}", 1.0),
        ("tenon_answers_total{reason=\"stop\"}", 3.0),
        ("tenon_answers_total{reason=\"length\"}", 1.0),
        ("tenon_time_to_first_token_seconds_count", 4.0),
        ("tenon_queue_time_seconds_count", 4.0),
        ("tenon_http_request_duration_seconds_count{route=\"/v1/chat/completions\"}", 5.0),
        ("tenon_sequences_waiting", 0.0),
    ] {
        assert_eq!(value(series), expected, "{series}");
    }
    let prompt = |said: &str| (1 + "user\n".len() + said.len() + 1 + 1 + "assistant\n".len()) as f64;
    assert_eq!(value("tenon_prompt_tokens_total"), 2.0 * prompt("hello") + prompt("~x") + prompt("abcSTOPdef"));
    let (tokens, between) = (value("tenon_generated_tokens_total"), value("tenon_inter_token_latency_seconds_count"));
    // Between tokens there are as many times, less one for each answer; the end tokens of two answers are told to nobody. The third may be
    // over before the engine hears of its stop sequence, and some tokens beyond it.
    assert!([4.0 + 2.0, 4.0 + 3.0].contains(&(tokens - between)), "{tokens} and {between}");
    let least = (2 * ("hello".len() + 1) + 7 + "abcSTOP".len()) as f64;
    assert!((least..=least + 4.0).contains(&tokens), "{tokens}");
    assert!(value("tenon_engine_steps_total") >= 7.0);
    assert!(value("process_resident_memory_bytes") > 1e6);
    let text = send(address, "GET", "/metrics", &[], b"").answer();
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(text.body.contains("tenon_build_info{version=\"0.1.0\",model=\"tiny\"} 1"), "{}", text.body);
    let names = text.body.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    for name in names {
        assert!(name.starts_with("tenon_") || name.starts_with("process_"), "{name}");
        assert!(text.body.contains(&format!("# HELP {name} ")), "{name}");
    }
}

#[test]
fn clients_that_leave_are_counted() {
    let server = TestServer::start(1, 0);
    server.gate.close();
    let sent = post(server.address, CHAT, &chat("~for ever", json!({})));
    eventually("the first step", || server.gate.is_waited_for().then_some(()));
    let refused = post(server.address, CHAT, &chat("x", json!({}))).answer();
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    drop(sent);
    std::thread::sleep(crate::MOMENT);
    server.gate.open();
    until(&server, "tenon_http_requests_total{method=\"POST\",route=\"/v1/chat/completions\",status=\"499\"}", 1.0);
    until(&server, "tenon_answers_total{reason=\"cancelled\"}", 1.0);
    until(&server, "tenon_requests_refused_total{reason=\"queue_full\"}", 1.0);
    until(&server, "tenon_sequences_running", 0.0);
}

/// Some of these have closed the connection before anybody has looked at their request, which then has no route. All were made.
#[test]
fn clients_that_leave_at_once_are_counted() {
    const CLIENTS: usize = 200;
    let server = TestServer::start(2, 64);
    for _ in 0..CLIENTS {
        drop(post(server.address, CHAT, &chat("hello", json!({}))));
    }
    let mut counted = 0.0;
    eventually("the last request", || {
        let text = send(server.address, "GET", "/metrics", &[], b"").answer().body;
        let others = text.lines().filter(|line| line.starts_with("tenon_http_requests_total") && !line.contains("/metrics"));
        counted = others.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum();
        // A request that is never counted is waited for in vain.
        (counted >= CLIENTS as f64).then_some(())
    });
    assert_eq!(counted, CLIENTS as f64);
    let unlooked_at = metric(&server, "tenon_http_requests_total{method=\"POST\",route=\"other\",status=\"499\"}");
    assert!(unlooked_at.is_some_and(|requests| requests >= 1.0), "each of {CLIENTS} was looked at: this test tests nothing");
    until(&server, "tenon_sequences_running", 0.0);
}

#[test]
fn an_id_stands_on_every_answer_and_in_the_log() {
    LazyLock::force(&LOG);
    let keys = Keys::read("sk-secret-of-carol carol").unwrap();
    let server = TestServer::adjusted(setup(1, 0), None, |server| server.access(Access { keys, ..Access::default() }));
    let key = ("authorization", "Bearer sk-secret-of-carol");
    let ask = |path: &str, id: &str, headers: &[(&str, &str)], body: &Value| {
        let headers: Vec<_> = headers.iter().copied().chain([("x-request-id", id)]).collect();
        let answer = send(server.address, "POST", path, &headers, body.to_string().as_bytes()).answer();
        let echoed = answer.header("x-request-id").unwrap().to_owned();
        (answer, echoed)
    };
    let body = chat("purple-prompt", json!({}));
    let (answer, id) = ask(CHAT, "ops-test:1", &[key], &body);
    assert_eq!((answer.status, &*id), (200, "ops-test:1"));
    let told = line(&id);
    for (field, expected) in [
        ("level", json!("INFO")),
        ("method", json!("POST")),
        ("route", json!(CHAT)),
        ("status", json!(200)),
        ("model", json!("tiny")),
        ("prompt_tokens", json!(31)),
        ("cached_tokens", json!(0)),
        ("finish_reason", json!("stop")),
        ("client_gone", json!(false)),
        ("key", json!("carol")),
    ] {
        assert_eq!(told[field], expected, "{field} in {told}");
    }
    assert_eq!(told["completion_tokens"], "purple-prompt".len());
    for time in ["queue_ms", "ttft_ms", "total_ms"] {
        assert!(told[time].as_f64().is_some_and(|ms| (0.0..20_000.0).contains(&ms)), "{time} in {told}");
    }
    for (path, id, headers, status, code) in [
        (CHAT, "ops-test:2", &[][..], 401, "invalid_api_key"),
        ("/nothing", "ops-test:3", &[key], 404, "not_found"),
        (CHAT, "ops-test:4", &[key], 400, "invalid_value"),
    ] {
        let (answer, echoed) = ask(path, id, headers, &chat("purple-prompt", json!({"temperature": 9})));
        assert_eq!((answer.status, &*echoed), (status, id));
        let told = line(id);
        assert_eq!((&told["status"], &told["error_code"]), (&json!(status), &json!(code)), "{told}");
        assert_eq!(told.get("prompt_tokens"), None);
    }
    let (_, invented) = ask(CHAT, "not one {word}", &[key], &body);
    assert!(invented.starts_with("req_"), "{invented}");
    line(&invented);
    let all = String::from_utf8(LOG.0.lock().unwrap().clone()).unwrap();
    assert!(!all.contains("purple") && !all.contains("sk-secret"), "{all}");
}
