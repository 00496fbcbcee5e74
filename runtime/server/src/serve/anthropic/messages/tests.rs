//! Conversations in the form that templates read.

use super::*;

fn user(content: impl Into<Value>) -> Value {
    json!({"role": "user", "content": content.into()})
}

fn assistant(content: impl Into<Value>) -> Value {
    json!({"role": "assistant", "content": content.into()})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "get", "input": {"city": id}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": format!("result {id}")})
}

fn converted(messages: Value) -> Value {
    let Conversation { messages, prefill } = read(None, messages).unwrap();
    assert!(!prefill);
    Value::Array(messages)
}

fn refused(messages: Value) -> (String, String) {
    let error = read(None, messages.clone()).expect_err(&messages.to_string());
    (error.param.unwrap(), error.message)
}

#[test]
fn texts_and_blocks_are_the_same_and_turns_of_one_role_are_one() {
    let expected = json!([
        {"role": "system", "content": "s\nt"},
        {"role": "user", "content": "a\nb\nc"},
        {"role": "assistant", "content": "d"},
        {"role": "system", "content": "u"},
        {"role": "user", "content": "e"},
    ]);
    for (system, messages) in [
        (json!("s\nt"), json!([user("a"), user("b"), user("c"), assistant("d"), {"role": "system", "content": "u"}, user("e")])),
        (
            json!([text("s"), text("t")]),
            json!([
                user(json!([text("a"), text("b")])), user("c"), assistant(json!([text("d")])),
                {"role": "system", "content": [text("u")]}, user("e"),
            ]),
        ),
        (
            json!("s"),
            json!([{"role": "system", "content": "t"}, user("a\nb\nc"), assistant("d"), {"role": "system", "content": "u"}, user("e")]),
        ),
    ] {
        assert_eq!(Value::Array(read(Some(system), messages).unwrap().messages), expected);
    }
    // No instructions are no message.
    for system in [None, Some(json!("")), Some(json!([]))] {
        assert_eq!(read(system, json!([user("a")])).unwrap().messages, [json!({"role": "user", "content": "a"})]);
    }
}

#[test]
fn calls_and_results_become_messages_and_the_text_follows_the_results() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": ""});
    let redacted = json!({"type": "redacted_thinking", "data": "=="});
    let read = converted(json!([
        user("q"),
        assistant(json!([thinking, redacted, text("let me see"), call("A"), call("B")])),
        user(json!([result("B"), result("A"), text("and?")])),
        assistant(json!([call("A")])),
        // Two messages of the user are one turn.
        user(json!([result("A")])),
        user("thanks"),
    ]));
    let called = |id: &str| json!({"id": id, "type": "function", "function": {"name": "get", "arguments": {"city": id}}});
    let returned = |id: &str| json!({"role": "tool", "content": format!("result {id}"), "tool_call_id": id});
    let expected = json!([
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "let me see", "reasoning_content": "hm", "tool_calls": [called("A"), called("B")]},
        returned("B"), returned("A"),
        {"role": "user", "content": "and?"},
        {"role": "assistant", "content": null, "tool_calls": [called("A")]},
        returned("A"),
        {"role": "user", "content": "thanks"},
    ]);
    assert_eq!(read, expected);
    let only = converted(json!([user("q"), assistant(json!([call("A")])), user(json!([result("A")]))]));
    assert_eq!(only.as_array().unwrap().last(), Some(&returned("A")));
}

#[test]
fn calls_and_results_that_do_not_match_are_refused() {
    let (q, calls) = (user("q"), |ids: &[&str]| assistant(ids.iter().map(|id| call(id)).collect::<Value>()));
    for (messages, param, said) in [
        // Case http-anth-04.
        (json!([user(json!([result("toolu_zz9")]))]), "messages[0].content[0].tool_use_id", "toolu_zz9"),
        (json!([q, calls(&["A"]), user(json!([result("B")]))]), "messages[2].content[0].tool_use_id", "`B`"),
        (json!([q, calls(&["A"]), user(json!([result("A"), result("A")]))]), "messages[2].content[1].tool_use_id", "already"),
        (json!([q, calls(&["A", "B"]), user(json!([result("A")]))]), "messages[1].content[1]", "`B`"),
        (json!([q, calls(&["A"]), user("no")]), "messages[1].content[0]", "tool_result"),
        (json!([q, calls(&["A"])]), "messages[1].content[0]", "tool_result"),
        (json!([q, calls(&["A", "A"]), user(json!([result("A")]))]), "messages[1].content[1].id", "`A`"),
        (json!([q, calls(&["A"]), user(json!([text("x"), result("A")]))]), "messages[2].content[1]", "first"),
        (
            json!([q, calls(&["A"]), user(json!([result("A")])), assistant("ok"), user(json!([result("A")]))]),
            "messages[4].content[0].tool_use_id",
            "`A`",
        ),
    ] {
        let (found, message) = refused(messages.clone());
        assert_eq!(found, param, "{messages}");
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn the_last_message_may_begin_the_answer() {
    let begun = |last: Value| read(None, json!([user("q"), last])).unwrap();
    for (last, prefill) in [
        (assistant("It is ("), Some("It is (")),
        (assistant(json!([text("It is"), text("(")])), Some("It is\n(")),
        (assistant(""), None),
        (assistant(json!([])), None),
    ] {
        let Conversation { mut messages, prefill: found } = begun(last);
        assert_eq!(found, prefill.is_some());
        if let Some(text) = prefill {
            assert_eq!(messages.pop(), Some(json!({"role": "assistant", "content": text})));
        }
        assert_eq!(messages, [json!({"role": "user", "content": "q"})]);
    }
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": ""});
    for (last, param) in [
        (assistant("It is "), "messages[1].content"),
        (assistant(json!([text("It is\n")])), "messages[1].content"),
        (assistant(json!([thinking, text("It")])), "messages[1].content[0]"),
    ] {
        assert_eq!(refused(json!([user("q"), last])).0, param);
    }
    assert_eq!(refused(json!([assistant("It")])).0, "messages");
}

#[test]
fn what_is_wrong_is_named_from_the_root() {
    for (messages, param) in [
        (json!("Hi"), "messages"),
        (json!([]), "messages"),
        (json!(["Hi"]), "messages[0]"),
        (json!([{"content": "x"}]), "messages[0].role"),
        (json!([{"role": "tool", "content": "x"}]), "messages[0].role"),
        (json!([{"role": "user"}]), "messages[0].content"),
        (json!([user(Value::Null)]), "messages[0].content"),
        (json!([user(3)]), "messages[0].content"),
        (json!([user("")]), "messages[0].content"),
        (json!([user(json!([])), user("x")]), "messages[0].content"),
        (json!([user("x"), assistant(""), user("y")]), "messages[1].content"),
        (json!([{"role": "user", "content": "x", "name": "n"}]), "messages[0].name"),
        (json!([user("x"), user(json!([{"type": "image"}]))]), "messages[1].content[0].type"),
        (json!([{"role": "system", "content": "x"}]), "messages"),
    ] {
        assert_eq!(refused(messages.clone()).0, param, "{messages}");
    }
    let system = |system: Value| read(Some(system), json!([user("x")])).unwrap_err().param.unwrap();
    assert_eq!(system(json!(3)), "system");
    assert_eq!(system(json!([text("x"), {"type": "image"}])), "system[1].type");
    assert_eq!(system(json!([text("")])), "system[0].text");
}
