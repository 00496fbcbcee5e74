//! The end of a server: in time, and with a word to those that watch.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::post;
use crate::{CHAT, chat, eventually, limited, raw};

#[test]
fn requests_that_do_not_end_in_time_are_cut_off() {
    let mut server = limited(1, |limits| limits.drain_timeout = Duration::from_millis(300));
    server.gate.close();
    let stream = post(server.address, CHAT, &chat("~abc", json!({"stream": true})));
    eventually("the first step", || server.gate.is_waited_for().then_some(()));
    let gate = server.gate.clone();
    let started = Instant::now();
    server.shut_down();
    // A step that runs is finished, long after the time was over.
    let opener = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(900));
        gate.open();
    });
    server.end().unwrap();
    assert!(
        started.elapsed() >= Duration::from_millis(800) && started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    opener.join().unwrap();
    // It was cut, and does not claim to be whole.
    let steps = server.steps.lock().unwrap().len();
    assert!(steps <= 2, "{steps} steps");
    drop(stream);
}

#[test]
fn while_it_ends_a_server_lives_and_is_not_ready() {
    let mut server = limited(1, |_| ());
    server.gate.close();
    let busy = post(server.address, CHAT, &chat("busy", json!({})));
    eventually("the first step", || server.gate.is_waited_for().then_some(()));
    // Begun before the end, so that they are still served.
    let half = |path: &str| raw(server.address, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"));
    let (mut ready, mut health) = (half("/ready"), half("/health"));
    std::thread::sleep(Duration::from_millis(150));
    server.shut_down();
    std::thread::sleep(Duration::from_millis(150));
    let finish = |stream: &mut std::net::TcpStream| {
        stream.write_all(b"\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let (ready, health) = (finish(&mut ready), finish(&mut health));
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("draining"), "{ready}");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    server.gate.open();
    assert_eq!(busy.ok()["choices"][0]["message"]["content"], "busy");
    server.end().unwrap();
}
