//! Prompts as `tenon-server render` shows them: those that the routes count and generate from.

use serde_json::{Value, json};
use tenon_engine::template::Settings;
use tenon_formats::tools::{ReasoningParser, ToolParser, ToolSettings};
use tenon_server::serve::{Served, render};

use crate::setup::{CONTEXT, MODEL, served, served_with};
use crate::{assistant, user, with};

/// A template that opens reasoning unless it is told not to, or always.
fn reasoning(always: bool) -> Served {
    let condition = if always { "true" } else { "enable_thinking is not defined or enable_thinking" };
    let source = format!(
        "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.reasoning_content %}}<think>{{{{ m.reasoning_content }}}}</think>{{% endif %}}\
         {{{{ m.content }}}}\n{{% endfor %}}{{% if add_generation_prompt %}}<assistant>\
         {{% if {condition} %}}<think>{{% else %}}<think></think>{{% endif %}}{{% endif %}}"
    );
    served_with(&source, CONTEXT, Settings { tools: None, reasoning: Some(ReasoningParser::Think) })
}

fn prompt(served: &Served, messages: Value, more: Value) -> Result<String, String> {
    // A key that only this dialect has.
    let body = with(json!({"model": MODEL, "stop_sequences": [], "messages": messages}), more);
    render(served, body)
}

#[test]
fn a_conversation_with_tools_is_rendered_as_the_other_dialect_renders_it() {
    let tools = ToolSettings { parser: ToolParser::BareJson, skip_template_tools: true, steering: false, thinking: false };
    let served = served(Settings { tools: Some(tools), reasoning: None });
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let ours = json!({
        "model": MODEL, "system": "Be terse.",
        "tools": [{"name": "get", "description": "Gets.", "input_schema": schema}],
        "messages": [
            user("Hi"),
            assistant(json!([{"type": "text", "text": "Look"}, {"type": "tool_use", "id": "c1", "name": "get", "input": {"city": "Paris"}}])),
            user(json!([{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "21"}]}])),
            user("And Rome?"),
        ],
    });
    let call = json!([{"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{\"city\": \"Paris\"}"}}]);
    let theirs = json!({
        "model": MODEL,
        "tools": [{"type": "function", "function": {"name": "get", "description": "Gets.", "parameters": schema}}],
        "messages": [
            {"role": "system", "content": "Be terse."}, {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Look", "tool_calls": call},
            {"role": "tool", "tool_call_id": "c1", "content": "21"}, {"role": "user", "content": "And Rome?"},
        ],
    });
    let text = render(&served, ours).unwrap();
    assert_eq!(text, render(&served, theirs).unwrap());
    assert!(text.contains("<|open|>tool\n21<|close|><|open|>user\nAnd Rome?<|close|>"), "{text}");
}

#[test]
fn thinking_turns_the_templates_reasoning_on_and_off() {
    let served = reasoning(false);
    let told = |more: Value| prompt(&served, json!([user("q")]), more).unwrap();
    assert_eq!(told(json!({})), "<user>q\n<assistant><think>");
    assert_eq!(told(json!({"thinking": {"type": "adaptive"}})), "<user>q\n<assistant><think>");
    assert_eq!(told(json!({"thinking": {"type": "disabled"}})), "<user>q\n<assistant><think></think>");
    let over = json!({"thinking": {"type": "adaptive"}, "chat_template_kwargs": {"enable_thinking": false}});
    assert_eq!(told(over), "<user>q\n<assistant><think></think>");
    assert_eq!(told(json!({"add_generation_prompt": false})), "<user>q\n");
    let history = json!([
        user("q"),
        assistant(json!([{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": "a"}])),
        user("r")
    ]);
    assert_eq!(
        prompt(&served, history, json!({})).unwrap(),
        "<user>q\n<assistant><think>hm</think>a\n<user>r\n<assistant><think>"
    );
}

#[test]
fn what_the_assistant_has_begun_is_continued_without_reasoning() {
    let begun = json!([user("q"), assistant("It is (")]);
    for always in [false, true] {
        assert_eq!(prompt(&reasoning(always), begun.clone(), json!({})).unwrap(), "<user>q\n<assistant>It is (");
    }
    let both = prompt(&reasoning(false), begun, json!({"thinking": {"type": "adaptive"}})).unwrap_err();
    assert!(both.contains("`thinking.type`"), "{both}");
    // Also where the text stands elsewhere too, as in the mark that would close the message.
    let short = prompt(&served(Settings::default()), json!([user("los"), assistant("los")]), json!({})).unwrap();
    assert_eq!(short, "<|open|>user\nlos<|close|><|open|>assistant\nlos");
}
