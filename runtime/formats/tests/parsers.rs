//! Calls that real chat templates write into a history are read back as the same calls, from the folder that
//! `TENON_CHAT_TEMPLATES` names.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tenon_formats::chat::{ChatTemplate, Clock, Conversation, TemplateSource, ToolFormat, ToolSource, message, prompt};
use tenon_formats::tools::{Begun, Declared, OutputEnd, OutputFormat, ToolParser, whole};

const QUESTION: &str = "QUESTION-4711";
const RESULT: &str = "RESULT-4712";

fn parameters() -> Value {
    let properties = json!({
        "city": {"type": "string"}, "days": {"type": "integer"}, "share": {"type": "number"}, "metric": {"type": "boolean"},
        "note": {"type": ["string", "null"]}, "tags": {"type": "array"}, "deep": {"type": "object"},
    });
    json!({"type": "object", "properties": properties})
}

/// Arguments that templates write in ways of their own: escapes, Python's words, line breaks, marks of other formats.
fn arguments() -> Vec<Value> {
    vec![
        json!({"city": "Zürich \"x\" \\ <b> & 'y' {z}; </think>", "days": 3, "share": 0.5, "metric": true, "tags": ["a", 1, null], "deep": {"k": {"l": []}}}),
        json!({"city": "two\nlines\n\tand more", "days": -1, "share": 1.0, "metric": false, "note": null}),
        json!({"city": "42", "note": "true", "tags": [], "deep": {}}),
        json!({}),
    ]
}

#[test]
fn calls_of_a_history_are_read_back() {
    let Some(folder) = std::env::var_os("TENON_CHAT_TEMPLATES") else {
        eprintln!("skipped: TENON_CHAT_TEMPLATES does not name a folder of templates and goldens");
        return;
    };
    let tool = json!({"type": "function", "function": {"name": "f", "description": "A function.", "parameters": parameters()}});
    let declared = [Declared { name: "f".to_owned(), description: None, parameters: Some(parameters()), strict: false }];
    let tokens = ["bos_token", "eos_token", "unk_token", "pad_token"].map(|name| (name.to_owned(), "</s>".to_owned()));
    let mut read: BTreeMap<ToolParser, usize> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jinja") {
            continue;
        }
        let source = TemplateSource::new(std::fs::read_to_string(&path).unwrap());
        let Ok(template) = ChatTemplate::compile(&source, &tokens, Clock::Fixed(0)) else { continue };
        let Some(parser) = template.facts().ok().and_then(|facts| facts.shown.first().copied()) else { continue };
        let format = ToolFormat { parser, source: ToolSource::Template, steering: false, thinking: true };
        let template = template.with_tools(format);
        for arguments in arguments() {
            let call = json!({"id": "abcdef012", "type": "function", "function": {"name": "f", "arguments": arguments}});
            let answer = json!({"role": "assistant", "content": "", "tool_calls": [call]});
            let result = json!({"role": "tool", "tool_call_id": "abcdef012", "name": "f", "content": RESULT});
            let messages = [message("user", QUESTION), answer, result];
            let conversation = Conversation {
                tools: Some(std::slice::from_ref(&tool)),
                add_generation_prompt: false,
                ..Conversation::new(&messages)
            };
            // A few templates refuse such a history, in their own words.
            let Ok(text) = prompt(&template, &conversation) else { continue };
            let (Some(from), Some(to)) = (text.find(QUESTION), text.rfind(RESULT)) else { continue };
            // Between them stands the call, with the marks of turns around it, which are content here.
            let output = &text[from + QUESTION.len()..to];
            let format = OutputFormat {
                tools: Some(parser),
                reasoning: None,
                declared: Arc::from(declared.clone()),
                begun: Begun::Nothing,
                parallel: true,
            };
            let parsed = whole(format, output, OutputEnd::Complete);
            let calls: Vec<_> = parsed.calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
            assert_eq!(calls, [json!({"name": "f", "arguments": arguments})], "{}, {parser}: {output}", path.display());
            *read.entry(parser).or_default() += 1;
        }
    }
    println!("calls read back: {read:?}");
    for parser in [
        ToolParser::Hermes,
        ToolParser::Qwen3Coder,
        ToolParser::Mistral,
        ToolParser::Llama3Json,
        ToolParser::Deepseek,
        ToolParser::GptOss,
    ] {
        assert!(read.get(&parser).is_some_and(|read| *read >= 3), "{parser}: {read:?}");
    }
}
