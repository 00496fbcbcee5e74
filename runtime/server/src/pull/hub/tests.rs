//! Tests against a hub on this machine that knows just enough of the protocol.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::*;

/// A repository `o/m` with these files, served until the process ends.
struct FakeHub {
    endpoint: String,
    requests: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
struct Files {
    files: Vec<(&'static str, Vec<u8>)>,
    /// Breaks off after that many bytes of a body, this often.
    breaks: Arc<Mutex<(usize, usize)>>,
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

impl FakeHub {
    fn start(files: Vec<(&'static str, Vec<u8>)>, breaks: (usize, usize)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, files) = (Arc::clone(&requests), Files { files, breaks: Arc::new(Mutex::new(breaks)) });
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), &files, &seen);
            }
        });
        Self { endpoint, requests }
    }

    fn settings(&self, shared: Option<&Path>) -> HubSettings {
        let shared = shared.map(|path| path.to_str().unwrap().to_owned());
        HubSettings::from_variables(|name| match name {
            "HF_ENDPOINT" => Some(self.endpoint.clone() + "/"),
            "HF_HUB_CACHE" => shared.clone(),
            _ => None,
        })
    }
}

fn serve(mut stream: TcpStream, files: &Files, requests: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut from = 0;
    let mut probe = false;
    for line in lines.take_while(|line| !line.is_empty()) {
        if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
            probe = range == "0-0";
            from = range.split('-').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        }
    }
    requests.lock().unwrap().push(format!("{path} from {from}"));
    if path.starts_with("/api/models/o/m") {
        let siblings: Vec<_> = files.files.iter().map(|(name, _)| json!({"rfilename": name})).collect();
        let body = json!({"siblings": siblings, "sha": "c0ffee"}).to_string();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).unwrap();
        return;
    }
    let file = files.files.iter().find(|(name, _)| path == format!("/o/m/resolve/main/{name}"));
    let Some((_, content)) = file else {
        write!(stream, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        return;
    };
    if from >= content.len() {
        write!(stream, "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        return;
    }
    let body = if probe { &content[..1] } else { &content[from..] };
    write!(
        stream,
        "HTTP/1.1 206 Partial Content\r\netag: \"{}\"\r\nx-repo-commit: c0ffee\r\ncontent-range: bytes {from}-{}/{}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        sha256(content),
        from + body.len() - 1,
        content.len(),
        body.len()
    )
    .unwrap();
    let mut breaks = files.breaks.lock().unwrap();
    let end = if !probe && breaks.1 > 0 && body.len() > breaks.0 {
        breaks.1 -= 1;
        breaks.0
    } else {
        body.len()
    };
    let _ = stream.write_all(&body[..end]);
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_stopped() {
    let content: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
    let hub = FakeHub::start(vec![("w.gguf", content.clone())], (100_000, 2));
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("m/w.gguf");
    let digest = sha256(&content);
    fetch_file(&hub.settings(None), "o/m", "w.gguf", Some(&digest), &dir.path().join("d"), &target).unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), content);
    let starts: Vec<String> = hub.requests.lock().unwrap().clone();
    let from = |n: usize| format!("/o/m/resolve/main/w.gguf from {n}");
    assert!(starts.contains(&from(100_000)) && starts.contains(&from(200_000)), "{starts:?}");
}

#[test]
fn a_part_that_is_whole_already_does_not_stand_in_the_way() {
    let hub = FakeHub::start(vec![("w.gguf", b"right".to_vec())], (0, 0));
    let dir = tempfile::tempdir().unwrap();
    let (downloads, target) = (dir.path().join("d"), dir.path().join("m/w.gguf"));
    let blobs = downloads.join("hub/models--o--m/blobs");
    make_dir(&blobs).unwrap();
    std::fs::write(blobs.join(format!("{}.part", sha256(b"right"))), "right").unwrap();
    fetch_file(&hub.settings(None), "o/m", "w.gguf", Some(&sha256(b"right")), &downloads, &target).unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"right");
}

#[test]
fn a_wrong_digest_is_refused_and_not_kept() {
    let hub = FakeHub::start(vec![("w.gguf", b"other".to_vec())], (0, 0));
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("m/w.gguf");
    let fetch = || {
        let error = fetch_file(&hub.settings(None), "o/m", "w.gguf", Some(&sha256(b"right")), &dir.path().join("d"), &target);
        error.unwrap_err().to_string()
    };
    assert!(fetch().ends_with(&format!("is {}, and must be {}", sha256(b"other"), sha256(b"right"))));
    let before = hub.requests.lock().unwrap().len();
    fetch();
    assert!(hub.requests.lock().unwrap().len() > before, "the refused file was not taken from the cache");
    assert!(!target.exists());
}

#[test]
fn a_repository_arrives_whole_and_under_its_own_names() {
    let index = json!({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}).to_string();
    let files = vec![
        ("config.json", b"{}".to_vec()),
        ("tokenizer.json", b"{\"t\":1}".to_vec()),
        ("tokenizer_config.json", b"{\"c\":1}".to_vec()),
        ("model.safetensors.index.json", index.into_bytes()),
        ("model-1.safetensors", vec![1; 9]),
        ("model-2.safetensors", vec![2; 9]),
        ("pytorch_model.bin", vec![3; 9]),
    ];
    let hub = FakeHub::start(files, (0, 0));
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("m");
    fetch_repository(&hub.settings(None), "o/m", &dir.path().join("d"), &target).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&target).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "config.json",
            "model-1.safetensors",
            "model-2.safetensors",
            "model.safetensors.index.json",
            "tokenizer.json",
            "tokenizer_config.json"
        ]
    );
    assert_eq!(std::fs::read(target.join("model-2.safetensors")).unwrap(), [2; 9]);
}

#[test]
fn a_repository_without_weights_leaves_nothing_in_place() {
    let hub = FakeHub::start(vec![("config.json", b"{}".to_vec()), ("tokenizer.json", b"{ }".to_vec())], (0, 0));
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("m");
    let error = fetch_repository(&hub.settings(None), "o/m", &dir.path().join("d"), &target).unwrap_err().to_string();
    assert!(error.starts_with("model.safetensors: ") && error.contains("404"), "{error}");
    assert!(!target.exists());
}

#[test]
fn the_cache_of_the_hubs_tools_serves_offline() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, target) = (dir.path().join("cache"), dir.path().join("m/w.gguf"));
    let repo = cache.join("models--o--m");
    std::fs::create_dir_all(repo.join("refs")).unwrap();
    std::fs::create_dir_all(repo.join("snapshots/c0ffee")).unwrap();
    std::fs::write(repo.join("refs/main"), "c0ffee").unwrap();
    std::fs::write(repo.join("snapshots/c0ffee/w.gguf"), "abc").unwrap();
    let settings = HubSettings::from_variables(|name| match name {
        "HF_HUB_CACHE" => Some(cache.to_str().unwrap().to_owned()),
        "HF_HUB_OFFLINE" => Some("1".to_owned()),
        _ => None,
    });
    let downloads = dir.path().join("d");
    fetch_file(&settings, "o/m", "w.gguf", Some(&sha256(b"abc")), &downloads, &target).unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"abc");
    let other = fetch_file(&settings, "o/m", "w.gguf", Some(&sha256(b"xyz")), &downloads, &target).unwrap_err();
    assert_eq!(other.to_string(), "HF_HUB_OFFLINE is set, and the file is not in the hub's cache");
}

#[test]
fn an_index_cannot_write_outside_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("i.json");
    let shards_of = |map: Value| {
        std::fs::write(&path, json!({"weight_map": map}).to_string()).unwrap();
        shards(&path).map_err(|e| e.to_string())
    };
    assert_eq!(shards_of(json!({"a": "x.safetensors", "b": "x.safetensors"})).unwrap().len(), 1);
    for name in ["../x", "/etc/x", "a/b", "..", "", ".hidden"] {
        assert!(shards_of(json!({"a": name})).unwrap_err().contains("is not the name of a file beside it"), "{name}");
    }
    assert!(shards_of(json!(3)).unwrap_err().contains("no `weight_map`"));
}
