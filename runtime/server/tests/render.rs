//! `render --template FILE`: a template outside of a checkpoint is given what transformers would give it, and its text is all that
//! is printed.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a template and what a test writes beside it.
struct Folder(TempDir);

impl Folder {
    fn new(template: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        std::fs::write(folder.path("t.jinja"), template).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, value: &Value) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path
    }

    fn run(&self, template: &str, request: &Value, flags: &[&str]) -> (Option<i32>, String, String) {
        let request = self.write("request.json", request);
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenon-server"));
        command.arg("render").arg("--template").arg(self.path(template)).arg("--request").arg(request).args(flags);
        let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    fn text(&self, request: &Value, flags: &[&str]) -> String {
        let (code, text, said) = self.run("t.jinja", request, flags);
        assert_eq!((code, said.as_str()), (Some(0), ""));
        text
    }

    /// The one line of an error.
    fn error(&self, request: &Value, flags: &[&str]) -> String {
        let (code, text, said) = self.run("t.jinja", request, flags);
        assert_eq!((code, text.as_str(), said.lines().count()), (Some(1), "", 1), "{said}");
        said.trim_end().to_owned()
    }
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

#[test]
fn messages_reach_the_template_as_they_are() {
    let folder = Folder::new("{{ messages|tojson }}{{ tools|tojson }}");
    let call = |arguments: Value| json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}});
    let assistant =
        |arguments| json!({"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [call(arguments)]});
    let parts = json!([{"type": "text", "text": "a"}, {"type": "image"}]);
    let message =
        |arguments| json!([user(parts.clone()), {"role": "developer", "content": "d", "name": "n"}, assistant(arguments)]);
    let tool = json!({"type": "function", "function": {"name": "f", "x-extra": [1.0]}});
    let as_text = json!({"messages": message(json!("{\"a\": 1.0}")), "tools": [tool]});
    let as_object = json!({"messages": message(json!({"a": 1.0})), "tools": [tool]});
    let expected = concat!(
        r#"[{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}, "#,
        r#"{"role": "developer", "content": "d", "name": "n"}, {"role": "assistant", "content": null, "reasoning_content": "r", "#,
        r#""tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1.0}}}]}]"#,
        r#"[{"type": "function", "function": {"name": "f", "x-extra": [1.0]}}]"#,
    );
    assert_eq!(folder.text(&as_text, &[]), expected);
    assert_eq!(folder.text(&as_object, &[]), expected);
}

#[test]
fn variables_tokens_and_the_time_come_from_where_they_are_given() {
    let template = "{{ bos_token }}{{ enable_thinking }}{{ effort }}{{ documents }}{{ add_generation_prompt }}{{ model }}\
                    {{ strftime_now('%Y-%m-%d %H:%M:%S') }}";
    let folder = Folder::new(template);
    let request = json!({
        "messages": [user(json!("x"))], "model": "any", "temperature": 0.5, "effort": "top", "documents": [{"t": 1}],
        "chat_template_kwargs": {"enable_thinking": false}, "add_generation_prompt": false,
    });
    let now = ["--now", "2026-07-04T12:00:00Z"];
    let expected = |token: &str| format!("{token}Falsetop[{{'t': 1}}]False2026-07-04 12:00:00");
    let tokens = r#"{"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": null}"#;
    assert_eq!(folder.text(&request, &[&["--special-tokens", tokens][..], &now].concat()), expected("<s>"));
    let file = folder.write("special_tokens_map.json", &json!({"bos_token": {"content": "<f>"}}));
    let file = file.to_str().unwrap();
    assert_eq!(folder.text(&request, &[&["--special-tokens", file][..], &now].concat()), expected("<f>"));
    folder.write("tokenizer_config.json", &json!({"chat_template": template, "bos_token": "<c>"}));
    assert_eq!(folder.run("tokenizer_config.json", &request, &now), (Some(0), expected("<c>"), String::new()));
}

#[test]
fn a_final_message_can_be_continued() {
    let folder = Folder::new(
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
    );
    let body = json!({"messages": [user(json!("q")), {"role": "assistant", "content": "It is "}]});
    assert_eq!(folder.text(&body, &[]), "<user>q</><assistant>It is </><assistant>");
    let mut continued = body.clone();
    continued["continue_final_message"] = json!(true);
    assert_eq!(folder.text(&continued, &[]), "<user>q</><assistant>It is ");
    continued["add_generation_prompt"] = json!(true);
    assert!(folder.error(&continued, &[]).contains("`continue_final_message`"));
}

#[test]
fn a_request_in_anthropics_form_is_brought_into_the_one_that_templates_know() {
    let folder = Folder::new("{{ messages|tojson }}{{ tools|map(attribute='function.name')|list }}");
    let body = json!({
        "max_tokens": 9, "system": "Be terse.", "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [user(json!("q")), {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}]},
                     user(json!([{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]))],
    });
    let text = folder.text(&body, &[]);
    assert!(text.starts_with(r#"[{"role": "system", "content": "Be terse."}, {"role": "user", "content": "q"}, "#), "{text}");
    assert!(text.contains(r#""arguments": {"a": 1}"#) && text.contains(r#""role": "tool""#) && text.ends_with("['f']"), "{text}");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = Folder::new("a\n{{ raise_exception('only ' ~ messages|length) if messages|length < 2 else messages[0].x.y }}");
    let one = json!({"messages": [user(json!("x"))]});
    assert!(folder.error(&one, &[]).ends_with("the chat template refuses this conversation: only 1"));
    let two = json!({"messages": [user(json!("x")), user(json!("y"))]});
    assert!(folder.error(&two, &[]).ends_with("(line 2)"));
    let call = json!({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]});
    for (request, flags, named) in [
        (json!([]), &[][..], "the request"),
        (json!({}), &[], "`messages`"),
        (json!({"messages": ["x"]}), &[], "`messages[0]`"),
        (json!({"messages": [call]}), &[], "`messages[0].tool_calls[0].function.arguments`"),
        (json!({"messages": [], "chat_template_kwargs": 1}), &[], "`chat_template_kwargs`"),
        (json!({"messages": [], "add_generation_prompt": "yes"}), &[], "`add_generation_prompt`"),
        (one.clone(), &["--now", "yesterday"], "`--now yesterday`"),
        (one.clone(), &["--special-tokens", "{\"bos_token\": 3}"], "`bos_token`"),
        (one.clone(), &["--weights", "w"], "`--weights`"),
    ] {
        let said = folder.error(&request, flags);
        assert!(said.contains(named), "{said}: {named}");
    }
    let (code, _, said) = folder.run("none.jinja", &one, &[]);
    assert!(code == Some(1) && said.contains("is neither a file nor a model of this binary, which has "), "{said}");
    std::fs::write(folder.path("bad.jinja"), "\n{% if %}").unwrap();
    let (code, _, said) = folder.run("bad.jinja", &one, &[]);
    assert!(code == Some(1) && said.contains("does not compile: syntax error") && said.contains("(line 2)"), "{said}");
}

/// The stack and the memory are not a template's to take; its time is, in the library's tests, its fuel.
#[test]
fn hostile_templates_end() {
    let one = json!({"messages": [user(json!("x"))]});
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(20_000), ")".repeat(20_000));
    for template in [
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = namespace(x=ns.x) %}{% endfor %}",
        "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{{ 'x' * 99999999999 }}",
        "{{ 'x'.center(99999999999) }}",
        "{{ '%99999999999d' % 1 }}",
        "{{ range(99999999999) }}",
        &deep,
    ] {
        let said = Folder::new(template).error(&one, &[]);
        assert!(said.starts_with("error: "), "{said}");
    }
}
