//! Reasoning as its own part of an answer.

use serde_json::{Value, json};
use tenon_engine::template::{Settings, ToolSettings};
use tenon_formats::tools::{ReasoningParser, ToolParser};

use crate::client::post;
use crate::setup::{CONTEXT, Setup, TestServer};
use crate::{CHAT, chat, computed};

/// Opens reasoning where the answer begins, unless it is told not to.
const SWITCHED: &str = "{% for m in messages %}<|open|>{{ m.role }}\n\
    {% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}{{ m.content }}<|close|>{% endfor %}\
    {% if add_generation_prompt %}<|open|>assistant\n\
    {% if enable_thinking is not defined or enable_thinking %}<think>{% else %}<think></think>{% endif %}{% endif %}";

fn server(template: &str, settings: Settings, context: usize) -> TestServer {
    TestServer::with(Setup { queue: 2, context, settings, template: template.to_owned(), ..Setup::default() })
}

fn thinking() -> Settings {
    Settings { tools: None, reasoning: Some(ReasoningParser::Think) }
}

#[test]
fn what_the_prompt_has_begun_is_reasoning_up_to_its_end() {
    let server = server(SWITCHED, thinking(), CONTEXT);
    let said = "<think>I add.</think>\n\nIt is 4.";
    let answer = post(server.address, CHAT, &chat(said, json!({"logprobs": true}))).ok();
    let message = &answer["choices"][0]["message"];
    assert_eq!((&message["reasoning_content"], &message["content"]), (&json!("I add."), &json!("It is 4.")));
    let count = answer["choices"][0]["logprobs"]["content"].as_array().unwrap().len();
    assert_eq!(count, said.len() - "<think>".len(), "tokens of the reasoning are told too");
    let details = &answer["usage"]["completion_tokens_details"];
    let reasoned = details["reasoning_tokens"].as_u64().unwrap() as usize;
    assert!((6.."I add.</think>\n\n".len() + 1).contains(&reasoned), "{reasoned}");

    let more = json!({"stream": true, "stream_options": {"include_usage": true}});
    let mut chunks = post(server.address, CHAT, &chat(said, more)).events().chunks();
    assert_eq!(computed(&chunks.pop().unwrap()["usage"]), computed(&answer["usage"]));
    let join = |key: &str| chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"][key].as_str()).collect::<String>();
    assert_eq!((join("reasoning_content"), join("content")), ("I add.".into(), "It is 4.".into()));
}

/// A conversation about the marks is no reasoning.
#[test]
fn marks_in_messages_open_nothing() {
    let template = SWITCHED.replace("%}<think>{% else %}<think></think>", "%}{% else %}{# </think> #}");
    let server = server(&template, thinking(), CONTEXT);
    let messages = json!([{"role": "user", "content": "What is <think> for?"}, {"role": "user", "content": "What is <think"}]);
    let answer = post(server.address, CHAT, &chat("", json!({"messages": messages}))).ok();
    let message = &answer["choices"][0]["message"];
    assert_eq!((&message["content"], message.get("reasoning_content")), (&json!("What is <think"), None));
}

#[test]
fn effort_and_variables_turn_reasoning_off_where_the_template_can() {
    let server = server(SWITCHED, thinking(), CONTEXT);
    let said = "<think></think>It is 4.";
    for more in [
        json!({"reasoning_effort": "none"}),
        json!({"chat_template_kwargs": {"enable_thinking": false}}),
        json!({"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": false}}),
    ] {
        let answer = post(server.address, CHAT, &chat(said, more.clone())).ok();
        assert_eq!(answer["choices"][0]["message"]["content"], "It is 4.", "{more}");
        assert_eq!(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], 0);
    }
    for effort in ["minimal", "extreme"] {
        let refused = post(server.address, CHAT, &chat("x", json!({"reasoning_effort": effort}))).error(400);
        assert_eq!(refused["param"], "reasoning_effort");
    }
    drop(server);
    let always = SWITCHED.replace("<think></think>", "<think>{# </think> #}");
    let server = self::server(&always, thinking(), CONTEXT);
    let refused = post(server.address, CHAT, &chat("x", json!({"reasoning_effort": "none"}))).error(400);
    assert!(refused["message"].as_str().unwrap().contains("no way to turn reasoning off"), "{refused}");
}

/// The spec's `thinking` decides whether a model reasons beside tools; a call that the prompt begins stands outside of reasoning.
#[test]
fn tools_leave_reasoning_where_the_spec_allows_it() {
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}});
    for (thinking, steering) in [(true, false), (false, false), (true, true)] {
        let tools = ToolSettings { parser: ToolParser::Hermes, skip_template_tools: true, steering, thinking };
        let settings = Settings { tools: Some(tools), reasoning: Some(ReasoningParser::Think) };
        let server = server(SWITCHED, settings, 4096);
        let call = ToolParser::Hermes.example_call("f", &serde_json::Map::new());
        for (choice, reasons) in [("auto", thinking), ("required", thinking && !steering)] {
            let opening = if reasons { "<think>I call.</think>" } else { "<think></think>" };
            let body = chat(&format!("{opening}{call}"), json!({"tools": [tool], "tool_choice": choice}));
            let answer = post(server.address, CHAT, &body).ok();
            let message = &answer["choices"][0]["message"];
            let expected = if reasons { Some(&json!("I call.")) } else { None };
            assert_eq!(message.get("reasoning_content"), expected, "{thinking} {steering} {choice}: {answer}");
            assert_eq!(message["tool_calls"][0]["function"]["name"], "f", "{thinking} {steering} {choice}: {answer}");
        }
    }
}

#[test]
fn reasoning_of_earlier_answers_reaches_the_template_under_both_names() {
    let server = server(SWITCHED, thinking(), CONTEXT);
    let tokens = |assistant: Value| {
        let messages = json!([{"role": "user", "content": "2+2"}, assistant, {"role": "user", "content": "so"}]);
        let answer = post(server.address, CHAT, &chat("", json!({"messages": messages, "max_tokens": 1}))).ok();
        answer["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    let without = tokens(json!({"role": "assistant", "content": "4"}));
    for key in ["reasoning", "reasoning_content"] {
        let mut message = json!({"role": "assistant", "content": "4"});
        message[key] = json!("add");
        assert_eq!(tokens(message), without + 5);
    }
}

#[test]
fn an_answer_can_be_begun_by_the_request() {
    let server = server(crate::setup::TEMPLATE, Settings::default(), CONTEXT);
    let messages = json!([{"role": "user", "content": "one two three"}, {"role": "assistant", "content": "one two "}]);
    let answer = post(server.address, CHAT, &chat("", json!({"messages": messages, "continue_final_message": true}))).ok();
    assert_eq!(answer["choices"][0]["message"]["content"], "three");
    let messages = json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": ""}]);
    let refused = post(server.address, CHAT, &chat("", json!({"messages": messages, "continue_final_message": true}))).error(400);
    assert_eq!(refused["param"], "messages[1].content");
}
