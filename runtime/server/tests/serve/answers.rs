//! What the routes answer, whole and streamed.

use serde_json::{Value, json};

use crate::client::{post, send};
use crate::setup::{CONTEXT, MODEL, TestServer};
use crate::{CHAT, COMPLETIONS, chat, completion, computed, deltas};

#[test]
fn a_chat_answer_has_every_field() {
    let server = TestServer::start(1, 0);
    let mut answer = post(server.address, CHAT, &chat("Hi there", json!({}))).ok();
    let id = answer["id"].take();
    assert!(id.as_str().is_some_and(|id| id.starts_with("chatcmpl-") && id.len() > 24), "{id}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let fingerprint = answer["system_fingerprint"].take();
    assert!(fingerprint.as_str().is_some_and(|name| name.starts_with("fp_") && name.len() == 13), "{fingerprint}");
    let created = answer["created"].take().as_u64().unwrap();
    assert!(created.abs_diff(now) < 60, "{created}");
    // `<open>user\nHi there<close><open>assistant\n`, and the answer with its end token.
    let expected = json!({
        "id": null, "object": "chat.completion", "created": null, "model": MODEL, "system_fingerprint": null,
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": "Hi there", "refusal": null},
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": usage(26, 9),
    });
    assert_eq!(answer, expected);
    let again = post(server.address, CHAT, &chat("Hi there", json!({}))).ok();
    assert_ne!(again["id"], id);
    assert_eq!(again["system_fingerprint"], fingerprint);
}

fn usage(prompt: usize, completion: usize) -> Value {
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 0},
    })
}

/// Case http-tool-08: no delta has `tool_calls`, the first has the role, exactly the last has a finish reason.
#[test]
fn a_stream_is_the_same_answer_in_pieces() {
    let server = TestServer::start(1, 0);
    let whole = post(server.address, CHAT, &chat("Hi, you", json!({"max_tokens": 5}))).ok();
    let chunks = post(server.address, CHAT, &chat("Hi, you", json!({"max_tokens": 5, "stream": true}))).events().chunks();
    assert_eq!(deltas(&chunks), "Hi, y");
    assert_eq!(whole["choices"][0]["message"]["content"], "Hi, y");
    assert_eq!(whole["choices"][0]["finish_reason"], "length");
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    for (i, chunk) in chunks.iter().enumerate() {
        assert_eq!((&chunk["object"], &chunk["model"]), (&json!("chat.completion.chunk"), &json!(MODEL)));
        assert_eq!((&chunk["id"], &chunk["created"]), (&chunks[0]["id"], &chunks[0]["created"]));
        assert!(chunk.get("usage").is_none());
        let choice = &chunk["choices"][0];
        let keys: Vec<_> = choice["delta"].as_object().unwrap().keys().map(String::as_str).collect();
        let last = i == chunks.len() - 1;
        let expected: &[&str] = if last {
            &[]
        } else if i == 0 {
            &["role", "content"]
        } else {
            &["content"]
        };
        assert_eq!(keys, expected);
        assert_eq!(choice["finish_reason"], if last { json!("length") } else { Value::Null });
    }
    assert_eq!(chunks.len(), 7);
}

/// Case http-stream-01.
#[test]
fn the_usage_of_a_stream_comes_in_a_chunk_without_choices() {
    let server = TestServer::start(1, 0);
    let whole = post(server.address, CHAT, &chat("Say hi.", json!({}))).ok();
    let more = json!({"stream": true, "stream_options": {"include_usage": true}});
    let mut chunks = post(server.address, CHAT, &chat("Say hi.", more.clone())).events().chunks();
    let last = chunks.pop().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(computed(&last["usage"]), computed(&whole["usage"]));
    assert!(chunks.iter().all(|chunk| chunk["usage"].is_null() && chunk["choices"].as_array().unwrap().len() == 1));
    assert!(chunks.iter().all(|chunk| chunk.as_object().unwrap().contains_key("usage")));

    let chunks = post(server.address, COMPLETIONS, &completion("ab>", more)).events().chunks();
    assert_eq!(chunks.last().unwrap()["usage"], usage(3, 3));
}

#[test]
fn completions_continue_text_and_token_ids() {
    let server = TestServer::start(1, 0);
    let long = "abcdefghijklmnopqrst>";
    let answer = post(server.address, COMPLETIONS, &completion(long, json!({}))).ok();
    assert!(answer["id"].as_str().is_some_and(|id| id.starts_with("cmpl-")));
    assert_eq!(answer["object"], "text_completion");
    let choice = json!({"index": 0, "text": "abcdefghijklmnop", "logprobs": null, "finish_reason": "length"});
    assert_eq!(answer["choices"], json!([choice]), "16 tokens, where the request does not say how many");
    assert_eq!(answer["usage"], usage(21, 16));

    for prompt in [json!([104, 105, 62]), json!([[104, 105, 62]]), json!(["hi>"])] {
        let answer = post(server.address, COMPLETIONS, &completion(prompt, json!({}))).ok();
        assert_eq!(answer["choices"][0]["text"], "hi");
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    }
    let chunks = post(server.address, COMPLETIONS, &completion("hi>", json!({"stream": true}))).events().chunks();
    let texts: Vec<_> = chunks.iter().map(|chunk| chunk["choices"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["h", "i", ""]);
    assert!(chunks.iter().all(|chunk| chunk["object"] == "text_completion"));
    assert_eq!(chunks[2]["choices"][0]["finish_reason"], "stop");
}

/// Case eng-stop-03: three tokens, of which the second holds the end of one word, a whole one, and the beginning of a third.
#[test]
fn stop_sequences_are_never_emitted_also_across_tokens() {
    let server = TestServer::start(1, 0);
    let said = "red, blue, green, grey, white, pink";
    for (stop, text, tokens) in [
        (json!("white"), "red, blue, green, grey, ", 3),
        (json!(["grey", "green"]), "red, blue, ", 2),
        (json!(["n, g"]), "red, blue, gree", 2),
        (json!(["zzz", "grey", "blue", "yyy"]), "red, ", 1),
        (json!(["red"]), "", 1),
        (json!(["pinkish", "black"]), said, 4),
    ] {
        let whole = post(server.address, CHAT, &chat(said, json!({ "stop": stop }))).ok();
        assert_eq!(whole["choices"][0]["message"]["content"], text, "{stop}");
        assert_eq!(whole["choices"][0]["finish_reason"], "stop");
        assert_eq!(whole["usage"]["completion_tokens"], tokens);
        let more = json!({"stop": stop, "stream": true, "stream_options": {"include_usage": true}});
        let chunks = post(server.address, CHAT, &chat(said, more)).events().chunks();
        assert_eq!(deltas(&chunks), text, "{stop}");
        assert_eq!(computed(&chunks.last().unwrap()["usage"]), computed(&whole["usage"]));
    }
    // One token per letter: the sequence lies across three of them, and its beginning does not leak.
    let chunks = post(server.address, CHAT, &chat("one two", json!({"stop": "e t", "stream": true}))).events().chunks();
    assert_eq!(deltas(&chunks), "on");
    // A beginning that goes on otherwise was text.
    let chunks = post(server.address, CHAT, &chat("one two", json!({"stop": "e x", "stream": true}))).events().chunks();
    assert_eq!(deltas(&chunks), "one two");
}

/// Cases http-stream-04 and eng-utf8-01.
#[test]
fn characters_arrive_whole_and_broken_ones_as_one_replacement() {
    let server = TestServer::start(1, 0);
    let said = "😀 ď 東京 👩‍🚀";
    let whole = post(server.address, CHAT, &chat(said, json!({"max_tokens": 64}))).ok();
    assert_eq!(whole["choices"][0]["message"]["content"], said);
    let chunks = post(server.address, CHAT, &chat(said, json!({"max_tokens": 64, "stream": true}))).events().chunks();
    assert_eq!(deltas(&chunks), said);
    let first = chunks[1]["choices"][0]["delta"]["content"].as_str();
    assert_eq!(first, Some("😀"), "four tokens, one piece");

    let bytes = |bytes: &[u8], more: Value| {
        let prompt: Vec<Value> = bytes.iter().chain(b">").map(|byte| json!(byte)).collect();
        post(server.address, COMPLETIONS, &completion(prompt, more))
    };
    let broken = b"\xf0\x9f\x98\x80 \xff\xc4\x8f";
    let chunks = bytes(broken, json!({"stream": true})).events().chunks();
    let texts: Vec<_> = chunks.iter().map(|chunk| chunk["choices"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["😀", " ", "\u{FFFD}", "ď", ""]);
    assert_eq!(bytes(broken, json!({})).ok()["choices"][0]["text"], "😀 \u{FFFD}ď");
    // Cut inside a character, by the end and by the limit.
    assert_eq!(bytes(b"a\xf0\x9f", json!({})).ok()["choices"][0]["text"], "a\u{FFFD}");
    let chunks = bytes(b"a\xf0\x9f\x98\x80", json!({"max_tokens": 3, "stream": true})).events().chunks();
    let texts: Vec<_> = chunks.iter().map(|chunk| chunk["choices"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["a", "\u{FFFD}", ""]);
}

#[test]
fn a_seed_fixes_an_answer() {
    let server = TestServer::start(1, 0);
    let text = |more: Value| {
        let answer = post(server.address, COMPLETIONS, &completion("~abcdefgh>", more)).ok();
        answer["choices"][0]["text"].as_str().unwrap().to_owned()
    };
    let warm = |seed: Value| text(json!({"temperature": 2.0, "seed": seed, "max_tokens": 32}));
    assert_eq!(warm(json!(7)), warm(json!(7)));
    assert_ne!(warm(json!(7)), warm(json!(8)));
    assert_eq!(warm(json!(-3)), warm(json!(-3)));
    assert_ne!(warm(json!(null)), warm(json!(null)), "without a seed each answer has its own");
    // Case eng-batch-04: at temperature 0 nothing else matters, and a temperature near 0 is no error.
    for more in [
        json!({"temperature": 0, "top_p": 0.1}),
        json!({"temperature": 0, "top_k": 50, "seed": 1}),
        json!({"temperature": 0, "seed": 2}),
        json!({"temperature": 1e-4, "seed": 1}),
        json!({"temperature": 1e-300, "seed": 1}),
        json!({"temperature": 2, "top_p": 0, "seed": 1}),
        json!({"temperature": 2, "top_k": 1, "seed": 1}),
    ] {
        assert_eq!(text(more.clone()), "~abcdefgh~abcdef", "{more}");
    }
}

#[test]
fn messages_of_every_kind_reach_the_template() {
    let server = TestServer::start(1, 0);
    let tokens = |messages: Value| {
        let body = json!({"model": MODEL, "messages": messages, "max_tokens": 1});
        post(server.address, CHAT, &body).ok()["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    let user = json!({"role": "user", "content": "Hi"});
    let alone = tokens(json!([user]));
    for role in ["system", "developer"] {
        // The template has no role `developer`, so both are `<open>system\n12345<close>`.
        assert_eq!(tokens(json!([{"role": role, "content": "12345"}, user])), alone + 14);
    }
    let parts = json!([{"type": "text", "text": "123"}, {"type": "text", "text": "45"}]);
    assert_eq!(tokens(json!([{"role": "system", "content": parts}, user])), alone + 14);

    // A history with a call, in a conversation without `tools`: null, no key and an empty text are the same prompt. With tools: case
    // http-msg-01 in `tools.rs`.
    let call = json!([{"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{\"city\": \"Paris\"}"}}]);
    let result = json!({"role": "tool", "content": "21", "tool_call_id": "c1"});
    let with_null = tokens(json!([user, {"role": "assistant", "content": null, "tool_calls": call}, result]));
    let without = tokens(json!([user, {"role": "assistant", "tool_calls": call}, result]));
    let with_empty = tokens(json!([user, {"role": "assistant", "content": "", "tool_calls": call}, result]));
    assert_eq!((with_null, without), (with_empty, with_empty));
    let rendered = "<assistant\n[get{\"city\": \"Paris\"}]><tool\n21>";
    assert_eq!(with_null, alone + rendered.len() as u64);
}

#[test]
fn an_answer_may_fill_the_context() {
    let server = TestServer::start(1, 0);
    let answer = post(server.address, CHAT, &chat("~ab", json!({}))).ok();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["usage"]["total_tokens"], CONTEXT);
}

#[test]
fn models_and_health_are_told() {
    let server = TestServer::start(1, 0);
    let get = |path: &str| send(server.address, "GET", path, &[], b"").answer();
    assert_eq!((get("/health").status, get("/health").json()), (200, json!({"status": "ok"})));
    let mut list = get("/v1/models").json();
    assert!(list["data"][0]["created"].take().is_u64());
    let expected = json!({"id": MODEL, "object": "model", "created": null, "owned_by": "tenon", "max_model_len": CONTEXT});
    assert_eq!(list, json!({"object": "list", "data": [expected]}));
    assert_eq!(get("/v1/models/tiny").json()["id"], MODEL);
    assert_eq!(get("/v1/models/other").error()["code"], "model_not_found");
    assert_eq!(send(server.address, "HEAD", "/health", &[], b"").head().status, 200);
}
