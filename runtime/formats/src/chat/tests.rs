//! Tests of rendering, of what is found out about a template, and of the one way to a prompt.

use serde_json::{Value, json};

use super::*;
use crate::tools::{ReasoningParser, ToolParser};

fn tokens() -> [(String, String); 2] {
    [("bos_token".to_owned(), "<s>".to_owned()), ("eos_token".to_owned(), "</s>".to_owned())]
}

fn tried(source: &str, tools: Option<ToolSettings>) -> Result<ChatTemplate, Vec<Fault>> {
    tried_with(source, Settings { tools, reasoning: None })
}

fn tried_with(source: &str, settings: Settings) -> Result<ChatTemplate, Vec<Fault>> {
    prepare(&TemplateSource::new(source), &tokens(), Clock::Fixed(0), settings)
}

/// Compiled only: most of these are too small to be tried.
fn compiled(source: &str) -> ChatTemplate {
    ChatTemplate::compile(&TemplateSource::new(source), &tokens(), Clock::Fixed(0)).unwrap()
}

const CHATML: &str = "{%- for m in messages %}
    {%- generation %}{{ '<|' + m['role'] + '|>' + m.content }}{% endgeneration %}
{{ eos_token }}
    {% endfor %}
{% if add_generation_prompt %}<|assistant|>{% endif %}";

#[test]
fn blocks_trim_as_transformers_sets_them() {
    let chat = tried(CHATML, None).unwrap();
    let messages = [message("user", "Hi"), message("assistant", "Yo <&>")];
    let text = prompt(&chat, &Conversation::new(&messages)).unwrap();
    assert_eq!(text, "<|user|>Hi</s>\n<|assistant|>Yo <&></s>\n<|assistant|>");
    let closed = Conversation { add_generation_prompt: false, ..Conversation::new(&messages) };
    assert_eq!(prompt(&chat, &closed).unwrap(), "<|user|>Hi</s>\n<|assistant|>Yo <&></s>\n");
}

#[test]
fn python_values_and_methods_work() {
    let source = "{{ bos_token }}{% set ns = namespace(n=0) %}{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}\
                  {% set ns.n = ns.n + 1 %}{{ m.content.strip().upper() }}{% endfor %}{{ ns.n }}{{ tools is none }}\
                  {{ enable_thinking | default(true) }}{{ strftime_now('%Y') }}{{ messages[0].get('content') }}";
    let variables = json!({"enable_thinking": false});
    let messages = [message("user", " hi "), message("user", "no")];
    let conversation = Conversation { variables: variables.as_object(), ..Conversation::new(&messages) };
    assert_eq!(prompt(&compiled(source), &conversation).unwrap(), "<s>HI1TrueFalse1970 hi ");
}

#[test]
fn a_template_that_cannot_work_is_refused_with_its_line() {
    for (source, expected, line) in [
        ("\n{% if %}", "the chat template does not compile: syntax error", Some(2)),
        ("{{ messages[0].content | frobnicate }}", "frobnicate", Some(1)),
        ("a\nb\n{{ nothing.at.all }}", "the chat template fails at a message of the user: undefined value", Some(3)),
        ("constant", "the chat template renders a message of the user without the user's message", None),
        (
            "{% for m in messages[-2:] %}{{ m.content }}{% endfor %}",
            "the chat template renders a conversation of several turns without the user's message",
            None,
        ),
        (
            "{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}",
            "the chat template renders a system message and one of the user without the system message",
            None,
        ),
        (
            "{{ raise_exception('never') }}",
            "fails at a message of the user: the chat template refuses this conversation: never",
            None,
        ),
    ] {
        let faults = tried(source, None).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].to_string().contains(expected), "{}\nexpected: {expected}", faults[0]);
        assert_eq!(faults[0].place().and_then(|place| place.line), line, "{source}");
        assert_eq!(faults[0].id(), "template-unsupported");
    }
}

#[test]
fn an_endless_template_is_stopped() {
    const DOUBLED: &str = "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}\
                           {% set ns.y = [ns.y, ns.y] %}{% endfor %}";
    for source in [
        "{% for i in range(9999) %}{% for i in range(9999) %}{% endfor %}{% endfor %}",
        &format!("{DOUBLED}{{{{ ns.x }}}}"),
        &format!("{DOUBLED}{{{{ ns.x|tojson }}}}"),
        &format!("{DOUBLED}{{{{ ns.x == ns.y }}}}"),
        &format!("{DOUBLED}{{{{ ns.x < ns.y }}}}"),
        &format!("{DOUBLED}{{{{ ns.x ~ 'x' }}}}"),
        "{{ range(9999)|list|map('string')|join('x' * 9999) }}",
    ] {
        let mut chat = compiled(source);
        chat.set_fuel(20_000);
        let stopped = prompt(&chat, &Conversation::new(&[message("user", "Hi")])).unwrap_err().to_string();
        assert!(stopped.contains("ran out of fuel"), "{source}: {stopped}");
    }
}

#[test]
fn a_template_may_refuse_a_conversation_and_system_messages() {
    let source = "{% if messages[0].role != 'user' %}{{ raise_exception('start with the user') }}{% endif %}\
                  {% for m in messages %}{{ m.content }}{% endfor %}";
    let chat = tried(source, None).unwrap();
    let refused = prompt(&chat, &Conversation::new(&[message("system", "x")])).unwrap_err();
    assert_eq!(refused.to_string(), "the chat template refuses this conversation: start with the user");
}

#[test]
fn conversations_with_tools_take_the_second_template() {
    let source =
        TemplateSource { tool_use: Some("{{ tools|tojson }}".into()), ..TemplateSource::new("{{ messages[0].content }}") };
    let format = ToolFormat { parser: ToolParser::Hermes, source: ToolSource::Template, steering: false, thinking: false };
    let chat = ChatTemplate::compile(&source, &[], Clock::System).unwrap().with_tools(format);
    let tools = [json!({"name": "f", "arguments": {}})];
    let messages = [message("user", "Hi")];
    let with = Conversation { tools: Some(&tools), ..Conversation::new(&messages) };
    assert_eq!(prompt(&chat, &with).unwrap(), r#"[{"name": "f", "arguments": {}}]"#);
    assert_eq!(prompt(&chat, &Conversation { tools: Some(&[]), ..with }).unwrap(), "Hi");
}

#[test]
fn the_role_developer_is_the_systems_where_the_template_has_no_other() {
    let messages = [message("developer", "d"), message("user", "u")];
    let text = |source: &str| prompt(&compiled(source), &Conversation::new(&messages)).unwrap();
    assert_eq!(text("{% for m in messages %}{{ m.role }};{% endfor %}"), "system;user;");
    assert_eq!(text("{# developer #}{% for m in messages %}{{ m.role }};{% endfor %}"), "developer;user;");
}

/// A template that declares tools with `teach`, and writes calls with `call`.
fn with_tools(teach: &str, call: &str) -> String {
    format!(
        "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{% if loop.first and tools %}}{teach}{{% endif %}}{{{{ m.content or '' }}}}\
         {{% for c in m.tool_calls or [] %}}{call}{{% endfor %}}<|end|>\n{{% endfor %}}"
    )
}

const HERMES_TEACH: &str = "Tools: {{ tools | tojson }} <tool_call>\n{\"name\": <name>, \"arguments\": <object>}\n</tool_call>\n";
const HERMES_CALL: &str =
    "<tool_call>\n{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>";
const XML_TEACH: &str = "Tools: {{ tools | tojson }} <tool_call>\n<function=f>\n<parameter=p>\nv\n</parameter>\n</function>";
const XML_CALL: &str = "<tool_call>\n<function={{ c.function.name }}>\n{% for k, v in c.function.arguments|items %}<parameter={{ k }}>\n\
                        {{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>";

fn settings(parser: ToolParser, skip_template_tools: bool, steering: bool) -> Option<ToolSettings> {
    Some(ToolSettings { parser, skip_template_tools, steering, thinking: false })
}

#[test]
fn facts_tell_what_a_template_teaches_and_writes() {
    let facts = compiled(&with_tools(HERMES_TEACH, HERMES_CALL)).facts().unwrap();
    assert_eq!((facts.declares_tools, facts.readers()), (true, vec![ToolParser::Hermes]));
    let call = "<tool_call>\n{\"name\": \"probe_weather\", \"arguments\": {\"city\": \"Yak-12\"}}\n</tool_call>";
    assert_eq!(facts.call.as_deref(), Some(call));
    let facts = compiled(&with_tools(XML_TEACH, XML_CALL)).facts().unwrap();
    assert_eq!((facts.taught, facts.shown), (vec![ToolParser::Qwen3Coder], vec![ToolParser::Qwen3Coder]));
    // Asking for one form and writing another is read by nobody.
    assert_eq!(compiled(&with_tools(HERMES_TEACH, XML_CALL)).facts().unwrap().readers(), []);
    assert_eq!(compiled(CHATML).facts().unwrap(), TemplateFacts::default());
}

#[test]
fn there_is_exactly_one_source_of_instructions() {
    let template = |declares_tools| TemplateFacts { declares_tools, ..TemplateFacts::default() };
    use SourceConflict::{Both, Neither};
    use ToolSource::{Parser, Template};
    for (parser, skip, declares, expected) in [
        (ToolParser::Hermes, false, true, Ok(Template)),
        (ToolParser::Hermes, false, false, Err(Neither)),
        (ToolParser::Hermes, true, true, Ok(Parser)),
        (ToolParser::Hermes, true, false, Ok(Parser)),
        (ToolParser::BareJson, false, true, Err(Both)),
        (ToolParser::BareJson, false, false, Ok(Parser)),
        (ToolParser::BareJson, true, true, Ok(Parser)),
        // Suppressed by the parser's own design.
        (ToolParser::Deepseek, false, true, Ok(Parser)),
        (ToolParser::Deepseek, false, false, Ok(Parser)),
    ] {
        assert_eq!(tool_source(parser, skip, &template(declares)), expected, "{parser} skip {skip} declares {declares}");
    }
}

#[test]
fn a_template_and_a_parser_that_disagree_are_refused() {
    let hermes = with_tools(HERMES_TEACH, HERMES_CALL);
    let silent = with_tools("", HERMES_CALL);
    let newline = with_tools(HERMES_TEACH, &HERMES_CALL.replace("<tool_call>\n", "<tool_call>"));
    let escaped = with_tools(HERMES_TEACH, &HERMES_CALL.replace("arguments | tojson", "arguments | tojson | tojson"));
    let only = |source: &str, tools| {
        let faults = tried(source, tools).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].id(), "tool-format-conflict");
        faults[0].to_string()
    };
    use ToolParser::{BareJson, Hermes, Mistral, Qwen3Coder};
    assert!(tried(&hermes, settings(Hermes, false, true)).is_ok());
    assert!(tried(&newline, settings(Hermes, false, true)).is_ok());
    assert!(only(&hermes, settings(Qwen3Coder, false, false)).ends_with("is that of `hermes`, and the parser is `qwen3_coder`"));
    assert!(only(&hermes, settings(BareJson, false, false)).contains("both teach a tool format, and not the same one"));
    assert!(only(&silent, settings(Hermes, false, false)).contains("says nothing about tools"));
    assert!(
        only(&with_tools("{{ tools }}", "call {{ c.function.arguments }}"), settings(Mistral, false, false))
            .contains("none that")
    );
    // Arguments in the history that are escaped twice teach a model to escape them.
    assert!(only(&escaped, settings(Hermes, false, false)).ends_with("writes calls of the history in another form"));
    // What is skipped cannot disagree.
    assert!(tried(&hermes, settings(BareJson, true, false)).is_ok());
    assert!(tried(&silent, settings(Hermes, true, true)).is_ok());
    // What a parser leaves out by design is its own family's; another's is refused, unless the spec says so.
    let sibling = only(&hermes, settings(ToolParser::Deepseek, false, false));
    assert!(sibling.ends_with("is that of `hermes`, and the parser is `deepseek`"), "{sibling}");
    assert!(tried(&hermes, settings(ToolParser::Deepseek, true, false)).is_ok());
}

#[test]
fn a_call_must_begin_with_what_steering_writes() {
    // The format is right, but the recipient stands where the prefix does not reach.
    let teach = "{{ tools | tojson }} namespace functions { calls go to the commentary channel";
    let call = "{{ '' }} to=functions.{{ c.function.name }}<|channel|>commentary<|message|>{{ c.function.arguments | tojson }}";
    let template = with_tools(teach, call);
    assert!(tried(&template, settings(ToolParser::GptOss, false, true)).is_ok());
    let quoted = with_tools(teach, &call.replace("{{ '' }}", "role=assistant"));
    assert!(tried(&quoted, settings(ToolParser::GptOss, false, false)).is_ok());
    let faults = tried(&quoted, settings(ToolParser::GptOss, false, true)).unwrap_err();
    let shown = "role=assistant to=functions.probe_weath".to_owned() + "e";
    assert_eq!(faults, [Fault::Steering { parser: ToolParser::GptOss, shown }]);
}

#[test]
fn a_call_without_words_has_the_content_that_the_template_can_take() {
    let messages = [message("user", "u"), facts::call(Value::Null)];
    let text = |source: &str| prompt(&compiled(source), &Conversation::new(&messages)).unwrap();
    let calls = "{% for c in m.tool_calls or [] %}{{ c.function.arguments.city }}{% endfor %}";
    // Prints it, fails at it, asks for it.
    assert_eq!(text(&format!("{{% for m in messages %}}[{{{{ m.content }}}}]{calls}{{% endfor %}}")), "[u][]Yak-12");
    assert_eq!(text(&format!("{{% for m in messages %}}[{{{{ '!' + m.content }}}}]{calls}{{% endfor %}}")), "[!u][!]Yak-12");
    let asks = format!(
        "{{% for m in messages %}}{{% if m.content is none %}}{calls}{{% else %}}{{{{ m.content }}}}{{% endif %}}{{% endfor %}}"
    );
    assert_eq!(text(&asks), "uYak-12");
}

#[test]
fn skipped_tools_come_from_the_parser_and_so_do_calls_of_the_history() {
    let chat = tried(&with_tools(XML_TEACH, XML_CALL), settings(ToolParser::BareJson, true, false)).unwrap();
    let tools = [facts::tool()];
    let messages = [message("system", "Be terse."), message("user", "Hi"), facts::call(Value::Null)];
    let text = prompt(&chat, &Conversation { tools: Some(&tools), ..Conversation::new(&messages) }).unwrap();
    assert!(!text.contains("<tool_call>") && !text.contains("<function="), "{text}");
    let head = format!("<|system|>Be terse.\n\n{}<|end|>\n", ToolParser::BareJson.prompt(&tools));
    let tail = "<|user|>Hi<|end|>\n<|assistant|>{\"name\": \"probe_weather\", \"arguments\": {\"city\": \"Yak-12\"}}<|end|>\n";
    assert_eq!(text, format!("{head}{tail}"));
    // Without tools, instructions would be about nothing.
    let plain = prompt(&chat, &Conversation::new(&messages[1..2])).unwrap();
    assert_eq!(plain, "<|user|>Hi<|end|>\n");
}

#[test]
fn a_forced_call_is_begun_where_the_spec_steers() {
    let source = with_tools(HERMES_TEACH, HERMES_CALL);
    let tools = [facts::tool()];
    let messages = [message("user", "Hi")];
    for (steering, call_forced, given, begun) in
        [(true, true, true, true), (true, false, true, false), (false, true, true, false), (true, true, false, false)]
    {
        let chat = tried(&source, settings(ToolParser::Hermes, false, steering)).unwrap();
        let tools = given.then_some(&tools[..]);
        let text = prompt(&chat, &Conversation { tools, call_forced, ..Conversation::new(&messages) }).unwrap();
        assert_eq!(text.ends_with("<tool_call>"), begun, "{text}");
    }
}

/// A template that opens reasoning unless `enable_thinking` is false, and one that always does.
const SWITCH: &str = "{% if add_generation_prompt %}<think>{% if enable_thinking is false %}</think>{% endif %}{% endif %}";
const ALWAYS: &str = "{% if add_generation_prompt %}<think>{% endif %}{# </think> #}";

fn reasons(source: &str, steering: bool, thinking: bool) -> Result<ChatTemplate, Vec<Fault>> {
    let tools = ToolSettings { parser: ToolParser::Hermes, skip_template_tools: false, steering, thinking };
    tried_with(source, Settings { tools: Some(tools), reasoning: Some(ReasoningParser::Think) })
}

#[test]
fn reasoning_beside_tools_is_as_the_spec_says() {
    let base = with_tools(HERMES_TEACH, HERMES_CALL);
    let (switch, always) = (format!("{base}{SWITCH}"), format!("{base}{ALWAYS}"));
    let reasoning = ReasoningParser::Think;
    let no_switch = vec![Fault::NoSwitch { reasoning }];
    assert_eq!(reasons(&format!("{base}{{# </think> #}}"), false, false).unwrap_err(), no_switch);
    assert_eq!(reasons(&always, false, false).unwrap_err(), no_switch);
    assert_eq!(reasons(&always, true, true).unwrap_err(), [Fault::SteeringInReasoning { reasoning }]);
    assert!(reasons(&always, false, true).is_ok() && reasons(&switch, true, false).is_ok());

    let (tools, messages) = ([facts::tool()], [message("user", "Hi")]);
    let asked = json!({"enable_thinking": true});
    let conversation = Conversation { tools: Some(&tools), variables: asked.as_object(), ..Conversation::new(&messages) };
    let text = |thinking, asked: Conversation<'_>| prompt(&reasons(&switch, true, thinking).unwrap(), &asked).unwrap();
    assert!(text(true, conversation).ends_with("<think>"));
    // What the spec does not allow, no request can ask for; without tools it can.
    assert!(text(false, conversation).ends_with("<think></think>"));
    assert!(text(false, Conversation { tools: None, ..conversation }).ends_with("<think>"));
    // A call that is begun stands outside of reasoning.
    assert!(text(true, Conversation { call_forced: true, ..conversation }).ends_with("<think></think><tool_call>"));
}

#[test]
fn marks_of_reasoning_are_those_of_the_parser() {
    let with = |source: &str, reasoning| tried_with(source, Settings { tools: None, reasoning });
    use ReasoningParser::{Mistral, Think};
    let (plain, think) = (CHATML.to_owned(), format!("{CHATML}{SWITCH}"));
    assert!(with(&plain, None).is_ok() && with(&think, Some(Think)).is_ok());
    for (source, parser, written) in
        [(&plain, Some(Think), vec![]), (&think, None, vec![Think]), (&think, Some(Mistral), vec![Think])]
    {
        assert_eq!(with(source, parser).unwrap_err(), [Fault::OtherReasoning { parser, written }]);
    }
}

#[test]
fn settings_that_contradict_themselves_need_no_template() {
    let tools = |parser, steering, thinking| Some(ToolSettings { parser, skip_template_tools: false, steering, thinking });
    let of = |tools, reasoning| Settings { tools, reasoning }.contradictions();
    let parser = ToolParser::BareJson;
    assert_eq!(of(tools(parser, true, false), None), [Fault::NoOpening { parser }]);
    assert_eq!(of(tools(parser, false, true), None), [Fault::UnreadReasoning]);
    assert_eq!(of(tools(ToolParser::Hermes, true, true), Some(ReasoningParser::Think)), []);
    assert_eq!(of(None, None), []);
}

#[test]
fn what_fits_a_template_is_found_out() {
    let of = |source: &str| detect(&TemplateSource::new(source));
    let hermes = with_tools(HERMES_TEACH, HERMES_CALL);
    let found = |steering, thinking| ToolSettings { parser: ToolParser::Hermes, skip_template_tools: false, steering, thinking };
    let settings = |tools, reasoning| Settings { tools, reasoning };
    let think = Some(ReasoningParser::Think);
    assert_eq!(of(&hermes).settings, settings(Some(found(true, false)), None));
    assert_eq!(of(&format!("{hermes}{SWITCH}")).settings, settings(Some(found(true, true)), think));
    assert_eq!(of(&format!("{hermes}{ALWAYS}")).settings, settings(Some(found(false, true)), think));
    assert_eq!(of(CHATML), Detected::default());
    let unknown = of(&with_tools("{{ tools }}", "call {{ c.function.arguments }}"));
    assert_eq!((unknown.settings.tools, unknown.declares_tools), (None, true));
    assert_eq!(of("{% frobnicate %}").faults.len(), 1);
}

#[test]
fn tools_for_a_model_that_calls_none_are_an_error() {
    let chat = tried(CHATML, None).unwrap();
    let (tools, messages) = ([facts::tool()], [message("user", "Hi")]);
    let error = prompt(&chat, &Conversation { tools: Some(&tools), ..Conversation::new(&messages) }).unwrap_err();
    assert_eq!(error, TemplateError::NoTools);
}

#[test]
fn a_checkpoint_has_a_file_or_an_entry_or_a_list() {
    let of = |jinja: Option<&str>, tokenizer: Value, processor: Value| {
        let (tokenizer_config, chat_template_json) = (Some(&tokenizer), Some(&processor));
        TemplateSource::of_files(&TemplateFiles { jinja, tokenizer_config, chat_template_json })
    };
    assert_eq!(TemplateSource::of_files(&TemplateFiles::default()), Ok(None));
    assert_eq!(of(None, json!({"chat_template": null}), json!({})), Ok(None));
    let text = |result: Result<Option<TemplateSource>, SourceError>| {
        let source = result.unwrap().unwrap();
        (source.default, source.tool_use, source.origin)
    };
    let entry = json!({"chat_template": "one"});
    assert_eq!(text(of(None, entry.clone(), json!({}))), ("one".into(), None, "tokenizer_config.json"));
    assert_eq!(text(of(None, json!({}), entry.clone())), ("one".into(), None, "chat_template.json"));
    assert_eq!(text(of(Some("file"), entry, json!({}))), ("file".into(), None, "chat_template.jinja"));
    let list = json!({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]});
    assert_eq!(text(of(None, list, json!({}))), ("d".into(), Some("t".into()), "tokenizer_config.json"));
    let none = of(None, json!({"chat_template": [{"name": "rag", "template": "t"}]}), json!({})).unwrap_err().to_string();
    assert_eq!(none, "`chat_template` of tokenizer_config.json is neither a text nor a list that has a `default` template");
}
