//! Calls of functions: whole and streamed, in every format.

use serde_json::{Map, Value, json};
use tenon_engine::template::{Settings, ToolSettings};
use tenon_formats::tools::{ReasoningParser, ToolParser};
use tenon_server::serve::render;

use crate::client::{Sent, post};
use crate::setup::{MODEL, Setup, TestServer, served_with};
use crate::{CHAT, chat};

/// Room for the instructions of every parser, in bytes.
const CONTEXT: usize = 4096;

fn weather() -> Value {
    json!({"type": "function", "function": {
        "name": "get_weather", "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }})
}

fn paris() -> Map<String, Value> {
    json!({"city": "Paris"}).as_object().unwrap().clone()
}

/// A model whose calls this parser reads, and whose instructions are the parser's own.
fn settings(parser: ToolParser, steering: bool) -> Settings {
    Settings { tools: Some(ToolSettings { parser, skip_template_tools: true, steering, thinking: false }), reasoning: None }
}

fn server(parser: ToolParser, steering: bool) -> TestServer {
    TestServer::with(Setup { queue: 2, context: CONTEXT, settings: settings(parser, steering), ..Setup::default() })
}

fn ask(server: &TestServer, said: &str, more: Value) -> Sent {
    let mut body = chat(said, json!({"tools": [weather()], "temperature": 0}));
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    post(server.address, CHAT, &body)
}

/// A message and its end, as a client puts them together from a stream's chunks.
fn joined(chunks: &[Value]) -> (Value, Value) {
    let (mut content, mut reasoning) = (String::new(), String::new());
    let (mut calls, mut finish): (Vec<Value>, Value) = (Vec::new(), Value::Null);
    for chunk in chunks {
        let choice = &chunk["choices"][0];
        assert_eq!(finish, Value::Null, "nothing comes behind the end");
        finish = choice["finish_reason"].clone();
        content.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        reasoning.push_str(choice["delta"]["reasoning_content"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap() as usize;
            let more = call["function"]["arguments"].as_str().unwrap();
            if index == calls.len() {
                let keys: Vec<_> = call.as_object().unwrap().keys().map(String::as_str).collect();
                assert_eq!(keys, ["index", "id", "type", "function"]);
                calls.push(json!({"type": call["type"], "function": call["function"]}));
            } else {
                let keys: Vec<_> = call.as_object().unwrap().keys().map(String::as_str).collect();
                assert_eq!((keys, index), (vec!["index", "function"], calls.len() - 1));
                let Value::String(arguments) = &mut calls[index]["function"]["arguments"] else { panic!("no text") };
                arguments.push_str(more);
            }
        }
    }
    // What a stream had told of a call that turned out to be none is no object.
    calls.retain(|call| finish == "length" || is_object(call["function"]["arguments"].as_str().unwrap()));
    (json!({"content": content, "reasoning": reasoning, "calls": calls}), finish)
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}

/// The same of a whole answer.
fn whole(answer: &Value) -> (Value, Value) {
    let message = &answer["choices"][0]["message"];
    let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
    let call = |call: &Value| json!({"type": call["type"], "function": call["function"]});
    let calls: Vec<Value> = message["tool_calls"].as_array().into_iter().flatten().map(call).collect();
    let message = json!({"content": text("content"), "reasoning": text("reasoning_content"), "calls": calls});
    (message, answer["choices"][0]["finish_reason"].clone())
}

#[test]
fn a_call_of_each_format_is_a_call_whole_and_streamed() {
    for parser in ToolParser::ALL {
        let server = server(parser, false);
        let said = parser.example_call("get_weather", &paris());
        let answer = ask(&server, &said, json!({})).ok();
        let message = &answer["choices"][0]["message"];
        assert_eq!(message["content"], Value::Null, "{parser}: {answer}");
        let calls = message["tool_calls"].as_array().unwrap_or_else(|| panic!("{parser}: {answer}"));
        assert_eq!(
            (calls.len(), &calls[0]["type"], &calls[0]["function"]["name"]),
            (1, &json!("function"), &json!("get_weather"))
        );
        let arguments = calls[0]["function"]["arguments"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({"city": "Paris"}), "{parser}");
        let id = calls[0]["id"].as_str().unwrap();
        // Case tools-mistral-02: its templates take no other ids.
        let length = if parser == ToolParser::Mistral { 9 } else { "call_".len() + 24 };
        assert_eq!((id.len(), id.starts_with("call_")), (length, parser != ToolParser::Mistral), "{parser}: {id}");
        assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
        let chunks = ask(&server, &said, json!({"stream": true})).events().chunks();
        assert_eq!(joined(&chunks), whole(&answer), "{parser}");
        let streamed = chunks.iter().filter(|chunk| !chunk["choices"][0]["delta"]["tool_calls"].is_null()).count();
        assert!(streamed > 2, "{parser}: arguments come in pieces");
    }
}

/// Case http-tool-05, with the format's opening tag in the prompt and without.
#[test]
fn a_call_that_is_required_is_made_and_one_that_is_named_ends_with_stop() {
    for steering in [false, true] {
        let server = server(ToolParser::Hermes, steering);
        let said = ToolParser::Hermes.example_call("get_weather", &paris());
        let named = json!({"type": "function", "function": {"name": "get_weather"}});
        for (choice, finish) in [(json!("required"), "tool_calls"), (named, "stop")] {
            let answer = ask(&server, &said, json!({"tool_choice": choice})).ok();
            let (message, found) = whole(&answer);
            assert_eq!((&message["calls"][0]["function"]["name"], &found), (&json!("get_weather"), &json!(finish)), "{answer}");
            let chunks = ask(&server, &said, json!({"tool_choice": choice, "stream": true})).events().chunks();
            assert_eq!(joined(&chunks), (message, found));
        }
    }
}

/// What a spec says means the same on every route: a forced call is begun by the prompt, in each count and in each answer.
#[test]
fn steering_is_part_of_the_prompt_wherever_it_is_looked_at() {
    let server = server(ToolParser::Hermes, true);
    let shown = served_with(crate::setup::TEMPLATE, CONTEXT, settings(ToolParser::Hermes, true));
    for (choice, steered) in [("auto", false), ("required", true)] {
        let said = ToolParser::Hermes.example_call("get_weather", &paris());
        let mut body = chat(&said, json!({"tools": [weather()], "tool_choice": choice}));
        let text = render(&shown, body.clone()).unwrap();
        assert_eq!(text.ends_with("<tool_call>"), steered, "{text}");
        let ids = shown.tokenizer.encode_rendered(&text).unwrap();
        let tokenized = post(server.address, "/tokenize", &body).ok();
        assert_eq!(tokenized["tokens"], json!(ids));
        body["max_tokens"] = json!(1);
        assert_eq!(post(server.address, CHAT, &body).ok()["usage"]["prompt_tokens"], ids.len());
    }
}

#[test]
fn calls_one_after_the_other_are_several_unless_they_may_not_be() {
    let server = server(ToolParser::Hermes, false);
    let arguments = paris();
    let said = ToolParser::Hermes.calls(&[("get_weather", &arguments), ("get_weather", &arguments)]);
    let (message, _) = whole(&ask(&server, &said, json!({})).ok());
    assert_eq!(message["calls"].as_array().unwrap().len(), 2);
    let answer = ask(&server, &said, json!({"parallel_tool_calls": false})).ok();
    let (message, _) = whole(&answer);
    assert_eq!(message["calls"].as_array().unwrap().len(), 1, "{answer}");
}

#[test]
fn without_tools_and_with_a_choice_of_none_everything_is_text() {
    let server = server(ToolParser::Hermes, false);
    let said = ToolParser::Hermes.example_call("get_weather", &paris());
    for more in [json!({"tools": []}), json!({"tool_choice": "none"})] {
        let answer = ask(&server, &said, more).ok();
        assert_eq!(answer["choices"][0]["message"]["content"], said);
        assert!(answer["choices"][0]["message"].get("tool_calls").is_none());
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    }
}

#[test]
fn a_call_that_is_cut_says_so() {
    let server = server(ToolParser::Hermes, false);
    let said = ToolParser::Hermes.example_call("get_weather", &paris());
    let limit = json!({"max_tokens": said.find("aris").unwrap()});
    let answer = ask(&server, &said, limit.clone()).ok();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    let arguments = &answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
    assert!(arguments.as_str().is_some_and(|text| text.ends_with("\"P") && !is_object(text)), "{answer}");
    let mut more = limit;
    more["stream"] = json!(true);
    assert_eq!(joined(&ask(&server, &said, more).events().chunks()), whole(&answer));
}

/// A stop sequence is one of the answer's text: what stands in a call's arguments ends nothing.
#[test]
fn stop_sequences_are_looked_for_in_content_alone() {
    let server = server(ToolParser::Hermes, false);
    let said = format!("Let me look. {}", ToolParser::Hermes.example_call("get_weather", &paris()));
    let (message, finish) = whole(&ask(&server, &said, json!({"stop": ["Paris", "city"]})).ok());
    assert_eq!((message["calls"].as_array().unwrap().len(), finish), (1, json!("tool_calls")));
    let answer = ask(&server, &said, json!({"stop": " look"})).ok();
    assert_eq!(answer["choices"][0]["message"]["content"], "Let me");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
}

/// Case http-msg-01: a history with a call without words, whose content is null, absent or empty.
#[test]
fn a_history_of_calls_and_results_is_answered() {
    let server = server(ToolParser::Hermes, false);
    let call = json!([{"id": "abcdef012", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}}]);
    let tokens = |assistant: Value| {
        let messages = json!([
            {"role": "user", "content": "Weather in Paris?"}, assistant,
            {"role": "tool", "content": "21 degrees", "tool_call_id": "abcdef012"},
        ]);
        let answer = ask(&server, "", json!({"messages": messages, "max_tokens": 16})).ok();
        assert_eq!(answer["choices"][0]["message"]["role"], "assistant");
        answer["usage"]["prompt_tokens"].clone()
    };
    let with_null = tokens(json!({"role": "assistant", "content": null, "tool_calls": call}));
    assert_eq!(with_null, tokens(json!({"role": "assistant", "tool_calls": call})));
    assert_eq!(with_null, tokens(json!({"role": "assistant", "content": "", "tool_calls": call})));
}

#[test]
fn every_token_is_told_with_its_probability_calls_included() {
    let server = server(ToolParser::Hermes, false);
    let said = ToolParser::Hermes.example_call("get_weather", &paris());
    let answer = ask(&server, &said, json!({"logprobs": true})).ok();
    let content = answer["choices"][0]["logprobs"]["content"].as_array().unwrap();
    assert_eq!(content.len(), said.len(), "one per byte");
    let chunks = ask(&server, &said, json!({"logprobs": true, "stream": true})).events().chunks();
    let streamed: Vec<Value> =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["logprobs"]["content"].as_array()).flatten().cloned().collect();
    assert_eq!(&streamed, content);
}

/// A grammar is made of the schemas before anything is answered.
#[test]
fn schemas_that_cannot_be_enforced_are_refused() {
    let server = server(ToolParser::Hermes, false);
    let strict = json!([{"type": "function", "function": {"name": "f", "strict": true, "parameters": {"type": "intt"}}}]);
    let refused = ask(&server, "x", json!({"tools": strict, "stream": true})).error(400);
    assert_eq!((&refused["param"], &refused["code"]), (&json!("tools[0]"), &json!("invalid_schema")), "{refused}");
    // Case http-json-02.
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": {"type": "intt"}}});
    let refused = ask(&server, "x", json!({"tools": [], "response_format": format, "stream": true})).error(400);
    assert_eq!(refused["param"], "response_format");
}

/// Pieces of calls, of reasoning and of text, put together at random: however it is read, a stream is the whole answer.
#[test]
fn streams_of_noise_are_the_whole_answers() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let template = "{% if add_generation_prompt %}{% set opening = '<|open|>assistant\n' %}{% endif %}\
        {% for m in messages %}<|open|>{{ m.role }}\n{{ m.content }}<|close|>{% endfor %}{{ opening }}{# </think> #}";
    for parser in ToolParser::ALL {
        let reasoning = Some(ReasoningParser::Think).filter(|_| parser != ToolParser::GptOss);
        let mut settings = Settings { reasoning, ..settings(parser, false) };
        settings.tools = settings.tools.map(|tools| ToolSettings { thinking: reasoning.is_some(), ..tools });
        let template = if reasoning.is_some() { template } else { crate::setup::TEMPLATE }.to_owned();
        let server = TestServer::with(Setup { queue: 2, context: CONTEXT, settings, template, ..Setup::default() });
        let call = parser.example_call("get_weather", &paris());
        let opening = parser.opening().unwrap_or("{\"name\": \"get_weather\", ").to_owned();
        let pieces = [&*call, &opening, "text ", "\n", "{", "}", "<think>", "</think>", "get_weather", "é😀", "[", "\"", &call];
        for _ in 0..12 {
            let said: String = (0..1 + below(6)).map(|_| pieces[below(pieces.len())]).collect();
            if said.trim().is_empty() {
                continue;
            }
            let limits = json!({"max_tokens": 1 + said.len() - below(2) * (said.len() / 3)});
            let streamed = json!({"stream": true, "max_tokens": limits["max_tokens"]});
            let answer = ask(&server, &said, limits).ok();
            let chunks = ask(&server, &said, streamed).events().chunks();
            assert_eq!(joined(&chunks), whole(&answer), "{parser}: {said:?}");
        }
    }
    assert_eq!(MODEL, "tiny");
}
