//! Blocks and events of answers.

use super::*;

fn content(text: &str) -> Delta {
    Delta::Content(text.into())
}

fn reasoning(text: &str) -> Delta {
    Delta::Reasoning(text.into())
}

fn call(index: usize, arguments: &[&str], ends: bool) -> Vec<Delta> {
    let mut deltas = vec![Delta::CallBegin { index, name: "get".into() }];
    deltas.extend(arguments.iter().map(|&text| Delta::CallArguments { index, text: text.into() }));
    deltas.extend(ends.then_some(Delta::CallEnd { index }));
    deltas
}

fn events(deltas: Vec<Delta>, omit_thinking: bool) -> Vec<BlockEvent> {
    let mut count = 0;
    let mut blocks = Blocks::new(omit_thinking, move || {
        count += 1;
        format!("toolu_{count}")
    });
    let mut events = Vec::new();
    for delta in deltas {
        blocks.push(delta, &mut |event| events.push(event));
    }
    blocks.finish(&mut |event| events.push(event));
    events
}

fn whole(deltas: Vec<Delta>, omit_thinking: bool) -> Value {
    let mut content = Content::default();
    events(deltas, omit_thinking).into_iter().for_each(|event| content.add(event));
    Value::Array(content.into_blocks())
}

#[test]
fn a_block_begins_when_the_one_before_has_ended() {
    let mut deltas = vec![reasoning("h"), reasoning("m"), content("I "), content("look")];
    deltas.extend(call(0, &["{\"city\": ", "\"Paris\"}"], true));
    deltas.extend(call(1, &["{}"], true));
    deltas.push(content("done"));
    let tool = |id: &str| Block::ToolUse { id: id.into(), name: "get".into() };
    let more = |text: &str| BlockEvent::More(text.into());
    let stop = BlockEvent::Stop { complete: true };
    let expected = [
        BlockEvent::Start(Block::Thinking),
        more("h"),
        more("m"),
        stop.clone(),
        BlockEvent::Start(Block::Text),
        more("I "),
        more("look"),
        stop.clone(),
        BlockEvent::Start(tool("toolu_1")),
        more("{\"city\": "),
        more("\"Paris\"}"),
        stop.clone(),
        BlockEvent::Start(tool("toolu_2")),
        more("{}"),
        stop.clone(),
        BlockEvent::Start(Block::Text),
        more("done"),
        stop,
    ];
    assert_eq!(events(deltas.clone(), false), expected);
    let blocks = json!([
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "I look"},
        {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {"city": "Paris"}},
        {"type": "tool_use", "id": "toolu_2", "name": "get", "input": {}},
        {"type": "text", "text": "done"},
    ]);
    assert_eq!(whole(deltas.clone(), false), blocks);
    let mut without = blocks;
    without[0]["thinking"] = json!("");
    assert_eq!(whole(deltas, true), without);
}

#[test]
fn an_answer_that_says_nothing_has_no_blocks() {
    assert_eq!(events(vec![], false), []);
    assert_eq!(whole(vec![], false), json!([]));
}

/// Case tools-hermes-13, as a message.
#[test]
fn a_call_that_was_cut_is_none() {
    let mut deltas = vec![content("I write")];
    deltas.extend(call(0, &["{\"path\": \"a.txt\", \"text\": \"hello wor"], false));
    assert_eq!(whole(deltas.clone(), false), json!([{"type": "text", "text": "I write"}]));
    // A stream has told of it already, and ends its block.
    assert_eq!(events(deltas, false).last(), Some(&BlockEvent::Stop { complete: false }));
    // Two calls beside each other are two, also when the first was not ended.
    let deltas: Vec<Delta> = call(0, &["{"], false).into_iter().chain(call(1, &["{}"], true)).collect();
    assert_eq!(whole(deltas, false), json!([{"type": "tool_use", "id": "toolu_2", "name": "get", "input": {}}]));
}

#[test]
fn inputs_keep_their_order_and_their_numbers() {
    let blocks = whole(call(0, &["{\"b\": 1.0, \"a\": [1e2, null]}"], true), false);
    assert_eq!(blocks[0]["input"].to_string(), r#"{"b":1.0,"a":[100.0,null]}"#);
}

#[test]
fn endings_and_counts_are_the_apis() {
    let reasons = |ending: Option<Ending>| Value::Object(stopped(ending.as_ref()));
    assert_eq!(reasons(None), json!({"stop_reason": null, "stop_sequence": null}));
    for (ending, reason, sequence) in [
        (Ending::Stop, "end_turn", json!(null)),
        (Ending::StopSequence("three".into()), "stop_sequence", json!("three")),
        (Ending::Length, "max_tokens", json!(null)),
        (Ending::ToolCalls, "tool_use", json!(null)),
    ] {
        assert_eq!(reasons(Some(ending)), json!({"stop_reason": reason, "stop_sequence": sequence}));
    }
    let usage = TokenUsage { prompt_tokens: 40, cached_tokens: 32, completion_tokens: 9, reasoning_tokens: 4 };
    let expected = json!({
        "input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 32, "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
    });
    assert_eq!(counts(usage), expected);
    let message = Reply::new("tiny").message(vec![], Some(&Ending::Stop), usage);
    assert!(message["id"].as_str().unwrap().starts_with("msg_"));
    let keys: Vec<&String> = message.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"]);
}
