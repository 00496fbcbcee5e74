//! Log-probabilities in both forms, whole and streamed.

use serde_json::{Value, json};

use crate::client::post;
use crate::setup::TestServer;
use crate::{CHAT, COMPLETIONS, chat, completion};

fn close(value: &Value, expected: f64) -> bool {
    (value.as_f64().unwrap() - expected).abs() < 1e-5
}

/// Of the model's logits 5, 4.5 and 4, the logarithm of the probability of one.
fn expected(logit: f64) -> f64 {
    logit - (5f64.exp() + 4.5f64.exp() + 4f64.exp()).ln()
}

/// Case eng-batch-04: at temperature 0 every token is the likeliest. The temperature does not change what is told.
#[test]
fn chat_tells_each_token_with_the_likeliest() {
    let server = TestServer::start(1, 0);
    for temperature in [0.0, 1e-4] {
        let more = json!({"logprobs": true, "top_logprobs": 2, "temperature": temperature});
        let answer = post(server.address, CHAT, &chat("aé", more)).ok();
        let logprobs = &answer["choices"][0]["logprobs"];
        assert_eq!(logprobs["refusal"], Value::Null);
        let content = logprobs["content"].as_array().unwrap();
        assert_eq!(content.len(), 3, "one of a, two of é, none of the end");
        for (entry, bytes) in content.iter().zip([0x61, 0xC3, 0xA9]) {
            assert_eq!(entry["bytes"], json!([bytes]));
            assert!(close(&entry["logprob"], expected(5.0)), "{entry}");
            let top = entry["top_logprobs"].as_array().unwrap();
            assert_eq!((top.len(), &top[0]["bytes"], &top[0]["logprob"]), (2, &entry["bytes"], &entry["logprob"]));
            assert_eq!(top[1]["bytes"], json!([bytes + 1]));
            assert!(close(&top[1]["logprob"], expected(4.5)));
        }
        assert_eq!((&content[0]["token"], &content[1]["token"]), (&json!("a"), &json!("\u{FFFD}")));
    }
    // Three tokens are possible; JSON has no number for the others.
    let answer = post(server.address, CHAT, &chat("a", json!({"logprobs": true, "top_logprobs": 4}))).ok();
    let top = &answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"];
    assert_eq!((&top[2]["token"], &top[3]["logprob"]), (&json!("c"), &json!(-9999.0)));
    let answer = post(server.address, CHAT, &chat("ab", json!({"logprobs": true}))).ok();
    assert_eq!(answer["choices"][0]["logprobs"]["content"][1]["top_logprobs"], json!([]));
}

#[test]
fn a_streams_entries_joined_are_the_whole_answers() {
    let server = TestServer::start(1, 0);
    for (said, stop) in
        [("aé😀b", json!(null)), ("red, blue, green, grey, white, pink", json!("grey")), ("one two", json!("e t"))]
    {
        let body = |stream: bool| chat(said, json!({"logprobs": true, "top_logprobs": 1, "stop": stop, "stream": stream}));
        let whole = post(server.address, CHAT, &body(false)).ok();
        let content = whole["choices"][0]["logprobs"]["content"].as_array().unwrap();
        let chunks = post(server.address, CHAT, &body(true)).events().chunks();
        let entries = chunks.iter().filter_map(|chunk| chunk["choices"][0]["logprobs"]["content"].as_array());
        assert_eq!(&entries.flatten().cloned().collect::<Vec<_>>(), content);
        // The tokens of the answer, and none that begins in the stop sequence or behind it.
        let bytes = |entry: &Value| -> Vec<u8> { serde_json::from_value(entry["bytes"].clone()).unwrap() };
        let told = String::from_utf8(content.iter().flat_map(bytes).collect()).unwrap();
        let text = whole["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(told.starts_with(text), "{told} and {text}");
        let last = bytes(content.last().unwrap()).len();
        assert!(told.len() - last < text.len(), "the last token begins inside the text");
    }
}

/// Case http-logp-05.
#[test]
fn completions_tell_four_lists() {
    let server = TestServer::start(1, 0);
    let answer = post(server.address, COMPLETIONS, &completion("éa>", json!({"logprobs": 1}))).ok();
    let logprobs = &answer["choices"][0]["logprobs"];
    assert_eq!(logprobs["tokens"], json!(["bytes:\\xc3", "bytes:\\xa9", "a"]));
    assert_eq!(logprobs["text_offset"], json!([0, 0, 1]), "in characters");
    assert!(close(&logprobs["token_logprobs"][2], expected(5.0)));
    assert_eq!(logprobs["top_logprobs"][2], json!({"a": logprobs["token_logprobs"][2]}));
    assert_eq!(logprobs["top_logprobs"].as_array().unwrap().len(), 3);

    // The token itself is told also when others are likelier.
    let more = json!({"logprobs": 1, "temperature": 2, "max_tokens": 60, "seed": 1});
    let answer = post(server.address, COMPLETIONS, &completion("~a>", more)).ok();
    let logprobs = &answer["choices"][0]["logprobs"];
    let lists = logprobs["tokens"].as_array().unwrap().iter().zip(logprobs["top_logprobs"].as_array().unwrap());
    let mut two = 0;
    for (token, top) in lists {
        let top = top.as_object().unwrap();
        assert!(top.contains_key(token.as_str().unwrap()), "{token} in {top:?}");
        two += usize::from(top.len() == 2);
    }
    assert!(two > 0);

    let chunks = post(server.address, COMPLETIONS, &completion("hi>", json!({"logprobs": 0, "stream": true}))).events().chunks();
    assert_eq!(chunks[1]["choices"][0]["logprobs"]["tokens"], json!(["i"]));
    assert_eq!(chunks[1]["choices"][0]["logprobs"]["text_offset"], json!([1]));
}
