//! The binary refuses what contradicts its spec and what does not fit into memory, before it loads anything; and what it overrides, it
//! says. The model is the one whose weights the binary carries.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

fn server(home: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenon-server"));
    command.args(arguments).env("TENON_HOME", home.path()).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let home = tempfile::tempdir().unwrap();
    let Output { status, stdout, stderr } = server(&home, arguments).output().unwrap();
    assert!(stdout.is_empty(), "{}", String::from_utf8_lossy(&stdout));
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_flag_that_contradicts_the_spec_is_refused() {
    let expected = "error[override-refused]: `--context 4096` contradicts the spec of `bard-mla`\n --> command line\n  |\n  \
                    | tenon-server serve bard-mla --context 4096\n  \
                    |                             ^^^^^^^^^^^^^^ longer than the spec allows\n \
                    ::: model-specs/bard-mla/MODEL.toml [model], as compiled in\n  |\n  \
                    | max_position_embeddings = 2048\n  | ------------------------------ the spec says so\n  |\n";
    let (code, said) = run(&["serve", "bard-mla", "--context", "4096"]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with(expected), "{said}");
    assert!(said.contains("= help: with `--override` it is done all the same"), "{said}");
    for command in [
        &["generate", "bard-mla", "--raw", "--prompt", "x", "--context", "4096"][..],
        &["chat", "bard-mla", "--context", "4096"],
        &["serve", "bard-mla", "--chat-template", "t.jinja"],
        &["generate", "bard-mla", "--prompt", "x", "--chat-template", "t.jinja"],
    ] {
        let (code, said) = run(command);
        assert!(code == Some(1) && said.starts_with("error[override-refused]: "), "{command:?}: {said}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_table_and_advice_that_works() {
    let serve = ["serve", "bard-mla", "--threads", "1", "--memory", "12MiB"];
    let (code, said) = run(&serve);
    assert_eq!(code, Some(1));
    // Its headers are read, for which the weights are unpacked.
    assert!(said.contains("\nerror[memory-does-not-fit]: `bard-mla` needs "), "{said}");
    for line in
        ["weights, bf16", "KV cache", "state pool", "snapshot pool", "rollback ring", "workspace, step", "total", "available"]
    {
        assert!(said.contains(&format!("\n    {line}")), "{line} is not in\n{said}");
    }
    let advice: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  = help: `")?.strip_suffix("` fits")).collect();
    assert!(!advice.is_empty(), "{said}");
    for flags in advice {
        let home = tempfile::tempdir().unwrap();
        let flags: Vec<&str> = flags.split(' ').collect();
        let running = Running::start(server(&home, &[&serve[..], &["--port", "0"], &flags].concat()));
        assert!(running.said.iter().any(|line| line.starts_with("memory of bard-mla: ")), "{:?}", running.said);
    }
    for command in
        [&["generate", "bard-mla", "--raw", "--prompt", "x", "--memory", "1MiB"][..], &["bench", "bard-mla", "--memory", "1MiB"]]
    {
        let (code, said) = run(command);
        assert!(code == Some(1) && said.contains("\nerror[memory-does-not-fit]: "), "{command:?}: {said}");
    }
}

#[test]
fn what_is_overridden_is_printed_and_reported() {
    let home = tempfile::tempdir().unwrap();
    let template = home.path().join("t.jinja");
    std::fs::write(&template, "{% for m in messages %}{{ m.content }}{% endfor %}").unwrap();
    let template = template.to_str().unwrap();
    let flags = ["--context", "4096", "--chat-template", template, "--temperature", "0.25", "--max-sequences", "2"];
    let arguments = [&["serve", "bard-mla", "--override", "--port", "0", "--threads", "1"][..], &flags].concat();
    let running = Running::start(server(&home, &arguments));
    for line in [
        "overridden: the spec says max_position_embeddings = 2048, and --context 4096 was given".to_owned(),
        format!("overridden: the spec says template = \"none\", and --chat-template {template} was given"),
    ] {
        assert!(running.said.contains(&line), "{line} is not in {:?}", running.said);
    }
    let plan = running.get("/debug/plan");
    assert_eq!(
        plan["overrides"],
        json!([
            { "key": "max_position_embeddings", "spec": "2048", "flag": "--context 4096" },
            { "key": "template", "spec": "\"none\"", "flag": format!("--chat-template {template}") },
        ])
    );
    assert_eq!((&plan["deployment"]["context"], &plan["deployment"]["max_sequences"]), (&json!(4096), &json!(2)));
    assert_eq!((&plan["sampling"]["default"]["temperature"], &plan["chat_template"]), (&json!(0.25), &json!(template)));
    assert_eq!((&plan["spec"]["model"]["name"], &plan["memory"]["fits"]), (&json!("bard-mla"), &json!(true)));
    assert_ne!(plan["sampling"]["spec"]["temperature"], plan["sampling"]["default"]["temperature"]);
}

#[test]
fn a_server_without_overrides_says_that_there_are_none() {
    let home = tempfile::tempdir().unwrap();
    let running = Running::start(server(&home, &["serve", "bard-mla", "--override", "--port", "0", "--threads", "1"]));
    assert!(running.said.contains(&"note: --override was given, and no flag contradicts the spec".to_owned()));
    assert_eq!(running.get("/debug/plan")["overrides"], json!([]));
}

/// A server that ends with the test.
struct Running {
    child: Child,
    address: String,
    said: Vec<String>,
}

impl Running {
    /// Waits for the line that says where it is.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // Made before it is waited for, so that it ends where the wait fails.
        let mut running = Self { child, address: String::new(), said: Vec::new() };
        loop {
            let Some(line) = lines.next() else { panic!("it ended: {:?}", running.said) };
            let line = line.unwrap();
            if let Some((_, address)) = line.split_once(" at http://") {
                running.address = address.split(';').next().unwrap().to_owned();
                return running;
            }
            running.said.push(line);
        }
    }

    fn get(&self, path: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        serde_json::from_str(body).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
