//! Calls and reasoning as blocks. The scripted model says what the user has said, so that it calls what it is told to.

use serde_json::{Value, json};
use tenon_engine::template::Settings;
use tenon_formats::tools::{ReasoningParser, ToolParser, ToolSettings};

use crate::client::post;
use crate::events::{events, joined, unnamed};
use crate::refusals::error;
use crate::setup::{Setup, TestServer};
use crate::{COUNT, MESSAGES, ask, to_count, with};

/// A model that calls and reasons. The model of the tests says what stands in the message before, wherever that is.
const TEMPLATE: &str = "{% for m in messages %}<|open|>{{ m.role }}\n\
    {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content if m.content is not none else '' }}\
    {% for c in m.tool_calls or [] %}<tool_call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</tool_call>\
    {% endfor %}<|close|>{% endfor %}{% for t in tools or [] %}{{ t | tojson }}{% endfor %}\
    {% if tools %}<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>{% endif %}\
    {% if add_generation_prompt %}<|open|>assistant\n{% if enable_thinking is defined and not enable_thinking %}<think></think>\
    {% endif %}{% endif %}";

fn server() -> TestServer {
    let tools = ToolSettings { parser: ToolParser::Hermes, skip_template_tools: false, steering: false, thinking: true };
    let settings = Settings { tools: Some(tools), reasoning: Some(ReasoningParser::Think) };
    TestServer::with(Setup { context: 2048, settings, template: TEMPLATE.to_owned(), ..Setup::default() })
}

fn tools() -> Value {
    json!({"max_tokens": 400, "tools": [{"name": "get", "input_schema": {"type": "object"}}]})
}

const CALL: &str = "<tool_call>{\"name\": \"get\", \"arguments\": {\"city\": \"Paris\", \"n\": 1.0}}</tool_call>";

/// A message whole and put together from its stream, which must be the same but for the ids of calls.
fn both(server: &TestServer, body: Value) -> Value {
    let nameless = |message: Value| {
        let mut message = unnamed(message);
        for block in message["content"].as_array_mut().unwrap() {
            if let Some(id) = block.get("id") {
                assert!(id.as_str().is_some_and(|id| id.starts_with("toolu_") && id.len() == 30), "{id}");
                block["id"] = json!("toolu");
            }
        }
        message
    };
    let whole = nameless(post(server.address, MESSAGES, &body).ok());
    assert_eq!(nameless(joined(&events(server, &with(body, json!({"stream": true}))))), whole);
    whole
}

#[test]
fn reasoning_text_and_calls_are_blocks() {
    let server = server();
    let said = format!("<think>hm</think>I look.{CALL}{CALL}");
    let message = both(&server, ask(&said, tools()));
    let call = json!({"type": "tool_use", "id": "toolu", "name": "get", "input": {"city": "Paris", "n": 1.0}});
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": ""});
    assert_eq!(message["content"], json!([thinking, {"type": "text", "text": "I look."}, call, call]));
    assert_eq!(message["stop_reason"], "tool_use");
    assert!(message["usage"]["output_tokens_details"]["thinking_tokens"].as_u64().is_some_and(|tokens| tokens >= 2));
    // Reasoning that is not asked for stays a block, without its text.
    let omitted = both(&server, ask(&said, json!({"max_tokens": 400, "thinking": {"type": "adaptive", "display": "omitted"}})));
    assert_eq!(omitted["content"][0], json!({"type": "thinking", "thinking": "", "signature": ""}));
    // Without tools, or with a choice of none, nothing is a call.
    for more in [json!({}), with(tools(), json!({"tool_choice": {"type": "none"}}))] {
        let text = both(&server, ask(CALL, more));
        assert_eq!((&text["content"], &text["stop_reason"]), (&json!([{"type": "text", "text": CALL}]), &json!("end_turn")));
    }
}

#[test]
fn one_call_is_enough_where_more_are_not_wanted() {
    let server = server();
    let choice = json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}});
    let message = both(&server, ask(&format!("{CALL}{CALL}"), with(tools(), choice)));
    let calls = message["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_use").count();
    assert_eq!((calls, &message["stop_reason"]), (1, &json!("tool_use")));
}

#[test]
fn stop_sequences_are_for_text() {
    let server = server();
    let message = both(&server, ask(&format!("<think>Paris</think>{CALL}"), with(tools(), json!({"stop_sequences": ["Paris"]}))));
    assert_eq!(message["stop_reason"], "tool_use");
}

#[test]
fn a_call_that_max_tokens_cuts_is_told_by_the_stop_reason() {
    let server = server();
    let body = ask(CALL, with(tools(), json!({"max_tokens": CALL.len() - 20})));
    let whole = post(server.address, MESSAGES, &body).ok();
    assert_eq!((&whole["content"], &whole["stop_reason"]), (&json!([]), &json!("max_tokens")));
    let streamed = events(&server, &with(body, json!({"stream": true})));
    let of = |kind: &str| streamed.iter().filter(|event| event["type"] == kind).count();
    assert_eq!(of("content_block_start"), of("content_block_stop"));
    let input: String = streamed.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert!(!input.is_empty() && serde_json::from_str::<Value>(&input).is_err(), "{input}");
}

/// Case http-anth-01.
#[test]
fn a_count_has_the_tools_that_a_message_has() {
    let server = server();
    let count = |body: Value| post(server.address, COUNT, &to_count(body)).ok()["input_tokens"].as_u64().unwrap();
    let body = ask("Hi", with(tools(), json!({"system": "You are terse."})));
    let usage = post(server.address, MESSAGES, &body).ok()["usage"].take();
    let used: u64 = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
        .iter()
        .map(|key| usage[key].as_u64().unwrap())
        .sum();
    assert_eq!(count(body), used);
    assert!(used > count(ask("Hi", tools())) && used > count(ask("Hi", json!({"system": "You are terse."}))));
}

#[test]
fn a_forced_call_is_one() {
    let server = server();
    for choice in [json!({"type": "any"}), json!({"type": "tool", "name": "get"})] {
        let message = both(&server, ask(CALL, with(tools(), json!({ "tool_choice": choice }))));
        assert_eq!((&message["content"][0]["type"], &message["stop_reason"]), (&json!("tool_use"), &json!("tool_use")));
    }
}

#[test]
fn an_answer_has_the_form_that_its_schema_asks_for() {
    let server = server();
    let format = |schema: Value| json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}});
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
    let message = both(&server, ask("{\"n\":7}", format(schema)));
    assert_eq!(message["content"], json!([{"type": "text", "text": "{\"n\":7}"}]));
    let wrong = json!({"type": "intt"});
    let strict =
        json!({"tools": [{"name": "get", "input_schema": {"type": "object", "properties": {"x": wrong}}, "strict": true}]});
    for (more, named) in [(format(wrong.clone()), "`output_config.format.schema`"), (strict, "`tools[0]`")] {
        let (kind, message) = error(&post(server.address, MESSAGES, &ask("x", more)).answer(), 400);
        assert!(kind == "invalid_request_error" && message.contains(named), "{message}");
    }
}
