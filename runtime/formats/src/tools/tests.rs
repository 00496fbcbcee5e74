//! Each format teaches itself, writes itself, and is taken for no other.

use serde_json::{Map, Value, json};

use super::*;

fn weather() -> Value {
    json!({"type": "function", "function": {
        "name": "get_weather", "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }})
}

fn arguments() -> Map<String, Value> {
    let arguments = json!({"city": "Zürich \"x\" {</tool_call>", "days": 3, "deep": {"a": [1.5, null, true]}});
    arguments.as_object().unwrap().clone()
}

#[test]
fn names_read_back_and_others_are_refused_with_the_list() {
    for parser in ToolParser::ALL {
        assert_eq!(parser.as_str().parse(), Ok(parser));
    }
    let error = "hermess".parse::<ToolParser>().unwrap_err().to_string();
    assert!(error.starts_with("no tool parser is named `hermess`; these are: hermes, qwen3_coder, mistral, "), "{error}");
}

#[test]
fn every_prompt_teaches_its_own_format_and_no_other() {
    for parser in ToolParser::ALL {
        let prompt = parser.prompt(&[weather()]);
        assert_eq!(taught(&prompt), [parser], "{prompt}");
        assert!(prompt.contains("\"name\": \"get_weather\""), "{prompt}");
    }
}

#[test]
fn every_call_is_read_by_its_own_format_alone() {
    for writer in ToolParser::ALL {
        let call = writer.example_call("get_weather", &arguments());
        for reader in ToolParser::ALL {
            assert_eq!(reader.is_call(&call, "get_weather", &arguments()), reader == writer, "{reader} reads {call}");
            assert!(!reader.is_call(&call, "get_wea", &arguments()), "{reader} reads another name in {call}");
            assert!(!reader.is_call(&call, "get_weather", &Map::new()), "{reader} reads other arguments in {call}");
        }
    }
}

#[test]
fn a_call_begins_with_the_opening() {
    for parser in ToolParser::ALL {
        let call = parser.example_call("f", &arguments());
        assert_eq!(parser.opening().is_some(), parser.is_opened_by(&call), "{call}");
        for other in ToolParser::ALL.into_iter().filter(|other| other.opening() != parser.opening()) {
            assert!(!other.is_opened_by(&call), "{other} opens {call}");
        }
    }
}

#[test]
fn arguments_that_were_escaped_twice_are_no_call() {
    let twice = "<tool_call>\n{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}\n</tool_call>";
    let once = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    let arguments = json!({"a": 1}).as_object().unwrap().clone();
    assert!(!ToolParser::Hermes.is_call(twice, "f", &arguments));
    assert!(ToolParser::Hermes.is_call(once, "f", &arguments));
}

#[test]
fn other_spellings_of_a_format_are_read() {
    let arguments = json!({"a": "x"}).as_object().unwrap().clone();
    for (parser, text) in [
        (ToolParser::Mistral, "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}, \"id\": \"abcdef012\"}]</s>"),
        (ToolParser::Mistral, "[TOOL_CALLS]f[CALL_ID]abcdef012[ARGS]{\"a\": \"x\"}</s>"),
        (ToolParser::GptOss, " to=functions.f<|channel|>commentary json<|message|>{\"a\": \"x\"}<|call|>"),
        (ToolParser::Llama3Json, "<|python_tag|>{\"name\": \"f\", \"parameters\": {\"a\": \"x\"}}<|eom_id|>"),
        (ToolParser::Qwen3Coder, "<tool_call><function=f><parameter=a>x</parameter></function></tool_call>"),
    ] {
        assert!(parser.is_call(text, "f", &arguments), "{parser}: {text}");
        assert!(!parser.is_call(text, "g", &arguments), "{parser}: {text}");
    }
}

#[test]
fn siblings_that_share_a_tag_are_none_of_these() {
    for text in [
        // GLM
        "<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n<arg_value>{arg-value-1}</arg_value>\n</tool_call>",
        // Seed-OSS
        "<seed:tool_call>\n<function=f>\n<parameter=p>v</parameter>\n</function>\n</seed:tool_call>",
        // Lists of calls in tags of other families
        "<tool_calls>\n{\"name\": <tool-name>, \"arguments\": <args-json-object>}\n</tool_calls>",
        "<TOOLCALL>[{\"name\": \"tool_name1\", \"arguments\": \"tool_args1\"}]</TOOLCALL>",
        // The older form of DeepSeek
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        // Declarations alone
        "Here are the tools: {\"name\": \"f\", \"description\": \"d\", \"parameters\": {\"type\": \"object\"}}",
        "namespace functions {\ntype f = () => any;\n}\n>>>${recipient}",
    ] {
        assert_eq!(taught(text), [], "{text}");
    }
}

#[test]
fn json_is_spaced_as_models_know_it() {
    assert_eq!(dumps(&json!({"a": [1, 2.5, {}], "b": "é\n"})), "{\"a\": [1, 2.5, {}], \"b\": \"é\\n\"}");
}

#[test]
fn reasoning_is_known_by_its_marks() {
    assert_eq!(ReasoningParser::of_template("{{ '<think>' }}..{{ '</think>' }}"), [ReasoningParser::Think]);
    assert_eq!(ReasoningParser::of_template("[THINK]a[/THINK]"), [ReasoningParser::Mistral]);
    assert_eq!(ReasoningParser::of_template("<|start|>assistant<|channel|>analysis"), [ReasoningParser::Harmony]);
    assert_eq!(ReasoningParser::of_template("plain"), []);
}
