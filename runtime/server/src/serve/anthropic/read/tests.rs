//! Bodies of messages: what is taken, and what is refused by name.

use tenon_formats::tools::ToolChoice;

use super::*;
use crate::serve::testing::served;

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn prompted() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
}

fn body(more: &Value) -> Value {
    with(with(prompted(), &json!({"max_tokens": 2048})), more)
}

fn accepted(more: Value) -> (GenerateRequest, Delivery) {
    read(body(&more), &served()).unwrap_or_else(|error| panic!("{more}: {error:?}"))
}

fn refused(more: &Value) -> (String, &'static str, String) {
    let error = read(body(more), &served()).expect_err(&more.to_string());
    (error.param.unwrap_or_default(), error.code, error.message)
}

fn chat(request: GenerateRequest) -> Chat {
    let Prompt::Chat(chat) = request.prompt else { panic!("no chat") };
    chat
}

#[test]
fn a_plain_request_leaves_everything_open() {
    let (request, delivery) = accepted(json!({}));
    let prompt = Prompt::Chat(Chat::new(vec![json!({"role": "user", "content": "Hi"})]));
    let expected =
        GenerateRequest { max_tokens: Some(2048), output_field: "output_config.format.schema", ..GenerateRequest::new(prompt) };
    assert_eq!((request, delivery), (expected, Delivery::default()));
}

#[test]
fn every_parameter_arrives() {
    let schema = json!({"type": "object"});
    let (request, delivery) = accepted(json!({
        "system": "s", "temperature": 0.5, "top_p": 1, "top_k": 3, "stop_sequences": ["a", "\n"], "stream": true,
        "tools": [{"name": "f", "input_schema": schema}], "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": schema}},
        "chat_template_kwargs": {"x": 1},
    }));
    let sampling = Sampling { temperature: Some(0.5), top_p: Some(1.0), top_k: Some(3), ..Sampling::default() };
    assert_eq!((&request.sampling, &request.stop), (&sampling, &vec!["a".to_owned(), "\n".to_owned()]));
    assert_eq!(request.output, OutputShape::JsonSchema { schema, strict: true });
    assert_eq!(delivery, Delivery { stream: true, omit_thinking: false });
    let chat = chat(request);
    assert_eq!(chat.messages.len(), 2);
    assert_eq!((chat.tools.functions.len(), &chat.tools.choice, chat.tools.parallel), (1, &ToolChoice::Required, false));
    assert_eq!(Value::Object(chat.variables), json!({"x": 1}));
    assert!(chat.add_generation_prompt && !chat.continue_final_message);
}

#[test]
fn the_answer_continues_a_last_message_of_the_assistant() {
    let messages = json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Oh"}]);
    let begun = chat(accepted(json!({ "messages": messages })).0);
    assert!(begun.continue_final_message && !begun.add_generation_prompt);
    assert_eq!(begun.messages.len(), 2);
    let tools = json!([{"name": "f", "input_schema": {}}]);
    let forced = json!({"messages": messages, "tools": tools, "tool_choice": {"type": "any"}});
    assert_eq!(refused(&forced).0, "tool_choice");
    assert_eq!(refused(&json!({"messages": messages, "add_generation_prompt": true})).0, "add_generation_prompt");
    assert!(!chat(accepted(json!({"add_generation_prompt": false})).0).add_generation_prompt);
}

#[test]
fn values_that_ask_for_nothing_pass() {
    let asks_nothing = json!({
        "metadata": {"user_id": "u"}, "service_tier": "standard_only", "cache_control": {"type": "ephemeral"}, "speed": "standard",
        "system": "", "tools": [], "tool_choice": {"type": "auto"}, "stop_sequences": [], "stream": false, "thinking": null,
        "mcp_servers": [], "container": null, "context_management": {"edits": []}, "output_config": {}, "temperature": null,
    });
    assert_eq!(accepted(asks_nothing).0, accepted(json!({})).0);
}

#[test]
fn values_out_of_range_are_named_with_the_value() {
    for (more, param, said) in [
        (json!({"max_tokens": 0}), "max_tokens", "0"),
        (json!({"max_tokens": null}), "max_tokens", "missing"),
        (json!({"max_tokens": "9"}), "max_tokens", "string"),
        (json!({"temperature": 1.5}), "temperature", "1.5"),
        (json!({"top_p": -0.1}), "top_p", "-0.1"),
        (json!({"top_k": -1}), "top_k", "-1"),
        (json!({"stop_sequences": "x"}), "stop_sequences", "string"),
        (json!({"stop_sequences": [""]}), "stop_sequences[0]", "empty"),
        (json!({"stop_sequences": ["a", 1]}), "stop_sequences[1]", "1"),
        (json!({"stop_sequences": vec!["a"; 65]}), "stop_sequences", "65"),
        (json!({"stream": "yes"}), "stream", "string"),
        (json!({"metadata": {"user": "u"}}), "metadata.user", "user"),
        (json!({"service_tier": "priority"}), "service_tier", "priority"),
        (json!({"output_config": {"effort": "huge"}}), "output_config.effort", "huge"),
        (json!({"output_config": {"format": {"type": "xml"}}}), "output_config.format.type", "xml"),
        (json!({"output_config": {"format": {"type": "json_schema"}}}), "output_config.format.schema", "missing"),
        (json!({"output_config": {"format": {"type": "json_schema", "schema": []}}}), "output_config.format.schema", "array"),
        (json!({"thinking": {"type": "enabled", "budget_tokens": 2048}}), "thinking.budget_tokens", "2048"),
        (json!({"chat_template_kwargs": []}), "chat_template_kwargs", "array"),
        (json!({"cache_control": {"type": "x"}}), "cache_control.type", "x"),
    ] {
        let (found, _, message) = refused(&more);
        assert_eq!(found, param, "{more}");
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn what_is_not_implemented_and_what_does_not_exist_is_refused_by_name() {
    for (more, param) in [
        (json!({"speed": "fast"}), "speed"),
        (json!({"container": {"id": "c"}}), "container"),
        (json!({"mcp_servers": [{"url": "u"}]}), "mcp_servers"),
        (json!({"context_management": {"edits": [{}]}}), "context_management"),
        (json!({"inference_geo": "us"}), "inference_geo"),
    ] {
        let (found, code, _) = refused(&more);
        assert_eq!((found.as_str(), code), (param, "unsupported_parameter"), "{more}");
    }
    for (more, param) in [(json!({"top_pp": 0.1}), "top_pp"), (json!({"n": 2}), "n"), (json!({"stop": ["a"]}), "stop")] {
        let (found, code, _) = refused(&more);
        assert_eq!((found.as_str(), code), (param, "unknown_parameter"));
    }
}

#[test]
fn a_count_has_the_prompt_of_a_generation_and_no_other_fields() {
    let more = json!({
        "system": "s", "tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "tool", "name": "f"},
        "thinking": {"type": "disabled"}, "output_config": {"effort": "high"}, "chat_template_kwargs": {"x": 1},
        "cache_control": {"type": "ephemeral"}, "speed": "standard",
    });
    let counted = read_to_count(with(prompted(), &more), &served()).unwrap();
    assert_eq!(counted, accepted(more.clone()).0.prompt);
    assert_eq!(counted, read_to_render(with(prompted(), &more), &served()).unwrap());
    assert_eq!(counted, read_to_render(body(&with(more, &json!({"temperature": 1}))), &served()).unwrap());
    for field in ["max_tokens", "temperature", "stream", "stop_sequences", "metadata"] {
        let error = read_to_count(with(prompted(), &json!({ field: 1 })), &served()).unwrap_err();
        assert_eq!((error.code, error.param.as_deref()), ("unknown_parameter", Some(field)));
    }
}

#[test]
fn the_model_and_the_messages_must_be_there() {
    let param = |body: Value| read(body, &served()).unwrap_err().param.unwrap();
    assert_eq!(param(json!({"messages": []})), "model");
    assert_eq!(param(json!({"model": "m", "messages": []})), "max_tokens");
    assert_eq!(param(json!({"model": "m", "max_tokens": 1})), "messages");
    let unknown = read(json!({"model": "no-such-model"}), &served()).unwrap_err();
    assert_eq!(unknown.status.as_u16(), 404);
    assert!(unknown.message.contains("no-such-model"));
}

#[test]
fn a_body_tells_its_dialect() {
    for more in [
        json!({"system": "s"}),
        json!({"stop_sequences": []}),
        json!({"tools": [{"name": "f", "input_schema": {}}]}),
        json!({"tool_choice": {"type": "auto"}}),
        json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "i"}]}]}),
    ] {
        assert!(is_its_form(&body(&more)), "{more}");
    }
    for more in [
        json!({}),
        json!({"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto"}),
        json!({"tool_choice": {"type": "function", "function": {"name": "f"}}}),
        json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
    ] {
        assert!(!is_its_form(&body(&more)), "{more}");
    }
    assert!(!is_its_form(&json!("text")));
}

/// The places of all values within a value, as JSON pointers.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(i, item)| places(item, &format!("{at}/{i}"), out)),
        Value::Object(object) => object.iter().for_each(|(key, item)| places(item, &format!("{at}/{key}"), out)),
        _ => {}
    }
}

#[test]
fn whatever_stands_in_a_place_is_read_or_refused_with_its_name() {
    let full = body(&json!({
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "5m"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "q"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "redacted_thinking", "data": "d"},
                {"type": "tool_use", "id": "i", "name": "f", "input": {"a": [1]}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "i", "is_error": false, "content": [{"type": "text", "text": "r"}]},
            ]},
        ],
        "tools": [{"type": "custom", "name": "f", "description": "d", "input_schema": {"type": "object"}, "strict": true}],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true}, "temperature": 0.5, "top_p": 0.5, "top_k": 5,
        "thinking": {"type": "enabled", "budget_tokens": 1024, "display": "omitted"}, "stop_sequences": ["x"], "stream": false,
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {}}}, "metadata": {"user_id": "u"},
        "service_tier": "auto", "chat_template_kwargs": {"x": 1}, "add_generation_prompt": true,
    }));
    let served = served();
    assert!(read(full.clone(), &served).is_ok());
    let mut all = Vec::new();
    places(&full, "", &mut all);
    let mut refusals = 0;
    for place in all {
        for other in [
            json!(null),
            json!(true),
            json!(-1),
            json!(1e300),
            json!(""),
            json!("\u{0}"),
            json!([]),
            json!([null]),
            json!({"x": []}),
        ] {
            let mut changed = full.clone();
            *changed.pointer_mut(&place).unwrap() = other.clone();
            if let Err(error) = read(changed, &served) {
                refusals += 1;
                let named = error.param.as_ref().is_none_or(|param| error.message.contains(param.as_str()));
                assert!(named && error.status.is_client_error(), "{place} as {other}: {error:?}");
            }
        }
    }
    assert!(refusals > 300, "{refusals}");
}
