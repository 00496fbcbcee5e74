//! Calls that a parser writes are read back as the same calls, whatever their arguments hold.

use serde_json::{Map, Value, json};

use super::*;

/// Texts that look like marks, and characters that need care.
const TEXTS: [&str; 18] = [
    "",
    " ",
    "\n",
    "x\n",
    "Zürich 🦀",
    "\"quoted\" \\ back\\nslash",
    "} ] ; {",
    "</tool_call>\n<tool_call>",
    "<｜tool▁call▁end｜>",
    "[TOOL_CALLS]f[ARGS]{}",
    "<|call|><|end|>",
    "</think>",
    "\u{0}\u{1f}\u{7f}\u{2028}",
    "line\n\nline\r\n\ttab",
    "42",
    "null",
    "true",
    "{\"name\": \"f\", \"arguments\": {}}",
];

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 9 } else { 11 }) {
        0 => json!(null),
        1 => json!(random.below(2) == 0),
        2 => json!(1.0),
        3 => json!(-17),
        4 => json!(1e308),
        5 => json!(u64::MAX),
        6 => json!(0.1),
        7 | 8 => json!(random.pick(&TEXTS)),
        9 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => Value::Object(object(random, depth - 1)),
    }
}

fn object(random: &mut Random, depth: usize) -> Map<String, Value> {
    let keys = ["a", "name", "arguments", "parameters", "é \"k\"", "", "type", "id"];
    (0..random.below(5)).map(|_| ((*random.pick(&keys)).to_owned(), value(random, depth))).collect()
}

/// The schema with which a reader knows each parameter's type.
fn schema(arguments: &Map<String, Value>) -> Value {
    let typed = |(key, value): (&String, &Value)| {
        let name = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        (key.clone(), json!({"type": name}))
    };
    json!({"type": "object", "properties": arguments.iter().map(typed).collect::<Map<_, _>>()})
}

#[test]
fn every_parser_reads_the_calls_that_it_writes() {
    let mut random = Random(3);
    let names = ["f", "get_weather", "ns.tool-2", "wetter_für", "a:b/c"];
    for round in 0..1500 {
        let parser = *random.pick(&ToolParser::ALL);
        let mut calls = Vec::new();
        for name in names.iter().take(1 + random.below(3)) {
            calls.push((*name, object(&mut random, 2)));
        }
        let functions =
            calls.iter().map(|(name, arguments)| json!({"function": {"name": name, "parameters": schema(arguments)}}));
        let format = OutputFormat {
            tools: Some(parser),
            reasoning: None,
            declared: declared(&functions.collect()),
            begun: Begun::Nothing,
            parallel: true,
        };
        let written: Vec<_> = calls.iter().map(|(name, arguments)| (*name, arguments)).collect();
        let text = parser.calls(&written);
        let parsed = whole(format.clone(), &text, OutputEnd::Complete);
        let read: Vec<_> = parsed.calls.iter().map(|call| (call.name.as_str(), &call.arguments)).collect();
        assert_eq!(read, written, "{parser}, round {round}: {text}");
        assert_eq!((parsed.content, parsed.reasoning, parsed.unfinished), (None, None, None), "{parser}: {text}");
        // Begun by the prompt: the same calls, the first one without its tag.
        if let Some(rest) = parser.opening().and_then(|opening| text.strip_prefix(opening)) {
            let begun = whole(OutputFormat { begun: Begun::Call, ..format.clone() }, rest, OutputEnd::Complete);
            assert_eq!(begun.calls, parsed.calls, "{parser}: {rest}");
        }
        // In the answer of a conversation, between words.
        let said = whole(format, &format!("I look that up.\n{text}"), OutputEnd::Complete);
        assert_eq!((said.content.as_deref(), &said.calls), (Some("I look that up."), &parsed.calls), "{parser}: {text}");
    }
}
