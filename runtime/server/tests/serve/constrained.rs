//! Answers that a grammar holds to a form, from a model that would say something else.

use serde_json::{Value, json};
use tenon_engine::template::{Settings, ToolSettings};
use tenon_formats::tools::ToolParser;

use crate::client::post;
use crate::setup::{Setup, TEMPLATE, TestServer};
use crate::{CHAT, chat, deltas};

fn server(settings: Settings) -> TestServer {
    let (context, template) = (4096, TEMPLATE.to_owned());
    TestServer::with(Setup { max_sequences: 2, queue: 2, context, settings, template })
}

/// An object whose only valid value is this one.
fn only(key: &str, value: &str) -> Value {
    let properties = json!({ key: {"type": "string", "enum": [value]} });
    json!({"type": "object", "properties": properties, "required": [key], "additionalProperties": false})
}

#[test]
fn a_schema_holds_whatever_the_model_would_say() {
    let server = server(Settings::default());
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": only("colour", "blue")}});
    for more in [json!({}), json!({"temperature": 2, "seed": 3}), json!({"logit_bias": {"123": -100}})] {
        let mut body = chat("^I like red.", json!({"response_format": format, "n": 2}));
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = post(server.address, CHAT, &body).ok();
        for choice in answer["choices"].as_array().unwrap() {
            let text = choice["message"]["content"].as_str().unwrap();
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!({"colour": "blue"}), "{text}");
            assert_eq!(choice["finish_reason"], "stop");
        }
    }
    let body = chat("^I like red.", json!({"response_format": format, "stream": true}));
    let chunks = post(server.address, CHAT, &body).events().chunks();
    assert_eq!(serde_json::from_str::<Value>(&deltas(&chunks)).unwrap(), json!({"colour": "blue"}));
    // Any object.
    let body = chat("^{\"a\": [1]}", json!({"response_format": {"type": "json_object"}, "max_tokens": 200}));
    let answer = post(server.address, CHAT, &body).ok();
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(text.starts_with('{'), "{text}");
}

#[test]
fn a_call_is_made_in_every_format_whatever_the_model_would_say() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": only("city", "Oslo")}});
    let named = json!({"type": "function", "function": {"name": "news"}});
    for parser in ToolParser::ALL {
        for steering in [false, true].into_iter().filter(|steering| !steering || parser.opening().is_some()) {
            let tools = ToolSettings { parser, skip_template_tools: true, steering, thinking: false };
            let server = server(Settings { tools: Some(tools), reasoning: None });
            for (choice, finish) in [(json!("required"), "tool_calls"), (named.clone(), "stop")] {
                let more = json!({
                    "tools": [tool("weather"), tool("news")], "tool_choice": choice, "parallel_tool_calls": false, "max_tokens": 400,
                });
                let answer = post(server.address, CHAT, &chat("^No, thanks.", more)).ok();
                let choice = &answer["choices"][0];
                let calls = choice["message"]["tool_calls"].as_array().unwrap_or_else(|| panic!("{parser}: {answer}"));
                assert_eq!((calls.len(), &choice["message"]["content"]), (1, &Value::Null), "{parser}: {answer}");
                let arguments = calls[0]["function"]["arguments"].as_str().unwrap();
                assert_eq!(serde_json::from_str::<Value>(arguments).ok(), Some(json!({"city": "Oslo"})), "{parser}: {answer}");
                assert_eq!(choice["finish_reason"], finish);
                if finish == "stop" {
                    assert_eq!(calls[0]["function"]["name"], "news", "{parser}");
                }
            }
        }
    }
}
