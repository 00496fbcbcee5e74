//! The exact prompt of a request, with tools and without.

use serde_json::{Value, json};
use tenon_engine::template::{Settings, ToolSettings, message};
use tenon_formats::tools::ToolParser;
use tenon_server::serve::render;

use crate::client::post;
use crate::setup::{MODEL, TestServer, served};
use crate::{CHAT, COMPLETIONS};

fn tool() -> Value {
    json!({"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}})
}

/// A parser that brings its own instructions, since the template has none.
fn bare_json() -> Settings {
    let tools = ToolSettings { parser: ToolParser::BareJson, skip_template_tools: true, steering: false, thinking: false };
    Settings { tools: Some(tools), reasoning: None }
}

#[test]
fn what_is_shown_is_what_a_route_counts() {
    let server = TestServer::start(1, 0);
    let shown = served(Settings::default());
    let call = json!([{"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{\"city\": \"Paris\"}"}}]);
    let chat = json!({"model": MODEL, "max_tokens": 1, "messages": [
        message("developer", "Be terse."), message("user", "Hi"), {"role": "assistant", "content": null, "tool_calls": call},
        {"role": "tool", "content": "21", "tool_call_id": "c1"},
    ]});
    for (route, body) in [(CHAT, chat), (COMPLETIONS, json!({"model": MODEL, "max_tokens": 1, "prompt": [72, 105, 62]}))] {
        let text = render(&shown, body.clone()).unwrap();
        let counted = &post(server.address, route, &body).ok()["usage"]["prompt_tokens"];
        assert_eq!(shown.tokenizer.encode_rendered(&text).unwrap().len() as u64, counted.as_u64().unwrap(), "{text}");
    }
    assert_eq!(render(&shown, json!({"model": MODEL, "prompt": "Hi <|open|>"})).unwrap(), "Hi <|open|>");
}

#[test]
fn tools_are_declared_by_the_one_source_of_instructions() {
    let call = json!([{"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{\"city\": \"Paris\"}"}}]);
    let body = json!({"model": MODEL, "tools": [tool()], "messages": [
        message("system", "Be terse."), message("user", "Hi"), {"role": "assistant", "content": null, "tool_calls": call},
    ]});
    let text = render(&served(bare_json()), body.clone()).unwrap();
    let instructions = ToolParser::BareJson.prompt(&[tool()]);
    let written = "{\"name\": \"get\", \"arguments\": {\"city\": \"Paris\"}}";
    let expected = format!(
        "<|open|>system\nBe terse.\n\n{instructions}<|close|><|open|>user\nHi<|close|><|open|>assistant\n{written}<|close|>\
         <|open|>assistant\n"
    );
    assert_eq!(text, expected);
    // A choice of none declares none, and the call of the history stays in the parser's form.
    let mut none = body.clone();
    none["tool_choice"] = json!("none");
    assert_eq!(render(&served(bare_json()), none).unwrap(), expected.replace(&format!("\n\n{instructions}"), ""));
    let refused = render(&served(Settings::default()), body).unwrap_err();
    assert_eq!(refused, "the model calls no tools: its spec says `[tools] parser = \"none\"`");
}

#[test]
fn a_body_that_no_route_takes_is_refused_in_the_same_words() {
    let refused = render(&served(Settings::default()), json!({"model": "other", "messages": []})).unwrap_err();
    assert_eq!(refused, format!("the model `other` is not served here; `{MODEL}` is"));
}
