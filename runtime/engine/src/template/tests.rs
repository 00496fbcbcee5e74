//! Tests of rendering, and of the goldens in the folder that `TENON_CHAT_TEMPLATES` names.

use std::path::Path;

use serde_json::{Value, json};

use super::*;

fn template(source: &str) -> Result<ChatTemplate, TemplateError> {
    let tokens = [("bos_token".to_owned(), "<s>".to_owned()), ("eos_token".to_owned(), "</s>".to_owned())];
    ChatTemplate::new(&TemplateSource::new(source), &tokens, Clock::Fixed(0))
}

const CHATML: &str = "{%- for m in messages %}
    {%- generation %}{{ '<|' + m['role'] + '|>' + m.content }}{% endgeneration %}
{{ eos_token }}
    {% endfor %}
{% if add_generation_prompt %}<|assistant|>{% endif %}";

#[test]
fn blocks_trim_as_transformers_sets_them() {
    let chat = template(CHATML).unwrap();
    let messages = [message("user", "Hi"), message("assistant", "Yo <&>")];
    assert_eq!(chat.render(&Conversation::new(&messages)).unwrap(), "<|user|>Hi</s>\n<|assistant|>Yo <&></s>\n<|assistant|>");
    let closed = Conversation { add_generation_prompt: false, ..Conversation::new(&messages) };
    assert_eq!(chat.render(&closed).unwrap(), "<|user|>Hi</s>\n<|assistant|>Yo <&></s>\n");
}

#[test]
fn python_values_and_methods_work() {
    let source = "{{ bos_token }}{% set ns = namespace(n=0) %}{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}\
                  {% set ns.n = ns.n + 1 %}{{ m.content.strip().upper() }}{% endfor %}{{ ns.n }}{{ tools is none }}\
                  {{ enable_thinking | default(true) }}{{ strftime_now('%Y') }}{{ messages[0].get('content') }}";
    let chat = template(source).unwrap();
    let variables = json!({"enable_thinking": false});
    let messages = [message("user", " hi "), message("user", "no")];
    let conversation = Conversation { variables: variables.as_object(), ..Conversation::new(&messages) };
    assert_eq!(chat.render(&conversation).unwrap(), "<s>HI1TrueFalse1970 hi ");
}

#[test]
fn a_template_that_cannot_work_is_refused_at_load() {
    for (source, expected) in [
        ("{% if %}", "the chat template does not compile: syntax error"),
        ("{{ messages[0].content | frobnicate }}", "frobnicate"),
        ("{{ nothing.at.all }}", "the chat template fails on a plain user message: "),
        ("constant", "the message does not appear in the result"),
    ] {
        let error = template(source).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    }
}

#[test]
fn an_endless_template_is_stopped() {
    let mut chat = template("{% for i in range(9999) %}{% endfor %}{{ messages[0].content }}").unwrap();
    chat.environment.set_fuel(Some(1_000));
    let stopped = chat.render(&Conversation::new(&[message("user", "Hi")])).unwrap_err().to_string();
    assert!(stopped.contains("ran out of fuel"), "{stopped}");
}

#[test]
fn a_template_may_refuse_a_conversation() {
    let source =
        "{% if messages[0].role != 'user' %}{{ raise_exception('start with the user') }}{% endif %}{{ messages[0].content }}";
    let chat = template(source).unwrap();
    let refused = chat.render(&Conversation::new(&[message("system", "x")])).unwrap_err();
    assert_eq!(refused.to_string(), "the chat template refuses this conversation: start with the user");
}

#[test]
fn conversations_with_tools_take_the_second_template() {
    let source = TemplateSource { default: "{{ messages[0].content }}".into(), tool_use: Some("{{ tools|tojson }}".into()) };
    let chat = ChatTemplate::new(&source, &[], Clock::System).unwrap();
    let tools = [json!({"name": "f", "arguments": {}})];
    let messages = [message("user", "Hi")];
    let with = Conversation { tools: Some(&tools), ..Conversation::new(&messages) };
    assert_eq!(chat.render(&with).unwrap(), r#"[{"name": "f", "arguments": {}}]"#);
    assert_eq!(chat.render(&Conversation { tools: Some(&[]), ..with }).unwrap(), "Hi");
}

/// What transformers renders for real templates: `<name>.jinja`, `<name>.golden.json` and `cases.json` of one folder.
#[test]
fn real_templates_render_as_transformers_renders_them() {
    let Some(folder) = std::env::var_os("TENON_CHAT_TEMPLATES") else {
        eprintln!("skipped: TENON_CHAT_TEMPLATES does not name a folder of templates and goldens");
        return;
    };
    let folder = Path::new(&folder);
    let read = |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let cases = read(&folder.join("cases.json"));
    let tokens: Vec<(String, String)> = cases["special_tokens"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(cases["now"], "2026-07-04T12:00:00");
    let clock = Clock::Fixed(1_783_166_400);

    let (mut equal, mut known, mut both_refuse, mut rendered, mut refused) = (0, 0, 0, 0, 0);
    let mut different = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "jinja") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let source = TemplateSource::new(std::fs::read_to_string(&path).unwrap());
        let goldens = read(&folder.join(format!("{name}.golden.json")));
        let chat = ChatTemplate::compile(&source, &tokens, clock);
        for (case, golden) in goldens.as_object().unwrap() {
            let found = chat.as_ref().map_err(ToString::to_string).and_then(|chat| render_case(chat, &cases["cases"][case]));
            match (golden["rendered"].as_str(), found) {
                (Some(expected), found) => {
                    rendered += 1;
                    match found {
                        Ok(text) if text == expected => equal += 1,
                        other if KNOWN.contains(&(&name, case)) => known += usize::from(other.is_ok()),
                        other => different.push((format!("{name} {case}"), expected.to_owned(), other)),
                    }
                }
                (None, found) => {
                    refused += 1;
                    both_refuse += usize::from(found.is_err());
                }
            }
        }
    }
    different.sort();
    for (case, expected, found) in &different {
        eprintln!("--- {case}\n{}", first_difference(expected, found));
    }
    println!(
        "{equal} of {rendered} goldens are equal, {known} differ as known; {both_refuse} of {refused} that the reference refuses are refused"
    );
    assert!(rendered > 0 && different.is_empty(), "{} goldens differ", different.len());
}

/// `'text'|safe + json` escapes the right side as HTML in Jinja2, since `safe` makes a Markup and Markup escapes what is added to
/// it. That is not what the author of this template wants (`&#34;` for each quote), and it is not done here.
const KNOWN: [(&str, &str); 3] = [
    ("meetkai-functionary-medium-v3.1", "tools"),
    ("meetkai-functionary-medium-v3.1", "tools_system"),
    ("meetkai-functionary-medium-v3.1", "tool_round_trip"),
];

fn render_case(chat: &ChatTemplate, case: &Value) -> Result<String, String> {
    let mut variables = case.as_object().unwrap().clone();
    let messages = variables.remove("messages").unwrap();
    let tools = variables.remove("tools");
    let add = variables.remove("add_generation_prompt");
    let conversation = Conversation {
        messages: messages.as_array().unwrap(),
        tools: tools.as_ref().map(|t| t.as_array().unwrap().as_slice()),
        add_generation_prompt: add.is_none_or(|v| v == true),
        variables: Some(&variables),
    };
    chat.render(&conversation).map_err(|e| e.to_string())
}

fn first_difference(expected: &str, found: &Result<String, String>) -> String {
    let found = match found {
        Err(e) => return format!("error: {e}"),
        Ok(text) => text,
    };
    let same = expected.bytes().zip(found.bytes()).take_while(|(a, b)| a == b).count();
    let from = (0..=same.saturating_sub(60)).rev().find(|&i| expected.is_char_boundary(i) && found.is_char_boundary(i));
    let part = |text: &str| text[from.unwrap_or(0)..].chars().take(160).collect::<String>();
    format!("expected {:?}\nfound    {:?}", part(expected), part(found))
}
