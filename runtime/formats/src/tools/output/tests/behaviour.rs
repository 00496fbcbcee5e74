//! What the module's table says of outputs that are not as they should be, row by row, and what streams when.

use serde_json::json;

use super::*;

fn format(parser: ToolParser, reasoning: Option<ReasoningParser>) -> OutputFormat {
    let properties = json!({"a": {"type": "string"}, "n": {"type": "integer"}});
    let function = |name: &str| json!({"function": {"name": name, "parameters": {"type": "object", "properties": properties}}});
    let declared = declared(&json!([function("f"), function("g")]));
    OutputFormat { tools: Some(parser), reasoning, declared, begun: Begun::Nothing, parallel: true }
}

/// `content | reasoning | f{arguments} g{arguments}`, where something is.
fn summary(format: &OutputFormat, text: &str, ending: OutputEnd) -> String {
    let deltas = joined(format, [text], ending);
    for at in cuts(text) {
        assert_eq!(joined(format, [&text[..at], &text[at..]], ending), deltas, "{text:?} cut at {at}");
    }
    let parsed = Parsed::of(&deltas, ending);
    let calls = parsed.calls.iter().map(|call| format!("{}{}", call.name, Value::Object(call.arguments.clone())));
    let calls: Vec<_> =
        calls.chain(parsed.unfinished.map(|call| format!("{}{} unfinished", call.name, call.arguments))).collect();
    [parsed.content, parsed.reasoning.map(|text| format!("~{text}")), Some(calls.join(" ")).filter(|calls| !calls.is_empty())]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" | ")
}

/// Outputs that end by themselves; an empty expectation means that all of it is content, as it is written.
fn complete(parser: ToolParser, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let expected = if expected.is_empty() { text } else { expected };
        assert_eq!(summary(&format(parser, None), text, OutputEnd::Complete), *expected, "{parser}: {text}");
    }
}

#[test]
fn hermes() {
    complete(
        ToolParser::Hermes,
        &[
            ("<tool_call>{\"arguments\": {\"a\": \"x\"}, \"name\": \"f\"}</tool_call>", "f{\"a\":\"x\"}"),
            ("<tool_call>{\"name\": \"f\"}</tool_call>", "f{}"),
            ("<tool_call>{\"name\": \"f\", \"arguments\": null}</tool_call>", "f{}"),
            ("<tool_call>{\"id\": [1, {\"name\": \"g\"}], \"name\": \"f\", \"arguments\": {}, \"x\": 1.5}</tool_call>", "f{}"),
            ("<tool_call>{\"na\\u006de\": \"\\u0066\", \"arguments\": {\"a\": \"\\u00e9\"}}</tool_call>", "f{\"a\":\"é\"}"),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"1\", \"a\": \"2\"}}</tool_call>", "f{\"a\":\"2\"}"),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {}}", "f{}"),
            ("A.\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\nB.\n", "A.\n\nB.\n | f{}"),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", \"arguments\": {}}</tool_call>", "f{} g{}"),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {}}}</tool_call>", "} | f{}"),
            ("<tool_call><tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>", "<tool_call> | f{}"),
            // No calls.
            ("<tool_call>{\"name\": \"h\", \"arguments\": {\"a\": \"<tool_call>{\\\"name\\\": \\\"f\\\"}\"}}</tool_call>", ""),
            ("<tool_call>{\"name\": \"f\", \"arguments\": \"{}\"}</tool_call>", ""),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {}, \"arguments\": {}}</tool_call>", ""),
            ("<tool_call>{\"name\": \"f\", \"name\": \"g\", \"arguments\": {}}</tool_call>", ""),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": }}</tool_call>", ""),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1e400}}</tool_call>", ""),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"line\nbreak\"}}</tool_call>", ""),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x", ""),
            ("<tool_call>f</tool_call> </tool_call> <tool_", ""),
            (" \n plain \n", ""),
        ],
    );
}

#[test]
fn qwen3_coder() {
    complete(
        ToolParser::Qwen3Coder,
        &[
            ("<tool_call>\n<function=f>\n</function>\n</tool_call>", "f{}"),
            ("<function=f><parameter=a>\n\nx\n\n</parameter></function>", "f{\"a\":\"\\nx\\n\"}"),
            ("<function=f><parameter=a>\n</parameter></function>", "f{\"a\":\"\"}"),
            (
                "<function=f><parameter=a></tool_call> </function> x</parameter></function>",
                "f{\"a\":\"</tool_call> </function> x\"}",
            ),
            ("<function=f><parameter=a></function>\n</parameter></function>", "f{\"a\":\"</function>\"}"),
            // Missing ends.
            ("<function=f>\n<parameter=a>\nx\n<parameter=n>\n1\n</function>\n</tool_call>", "f{\"a\":\"x\",\"n\":1}"),
            ("<function=f>\n<parameter=a>\nx\n</function>", "f{\"a\":\"x\"}"),
            ("<function=f>\n<parameter=a>\nx\n</parameter>\n</tool_call>", "f{\"a\":\"x\"}"),
            ("<function=f>\n<parameter=a>\nx\n</parameter>", "f{\"a\":\"x\"}"),
            ("<function=f><parameter=n>seven</parameter></function>", "f{\"n\":\"seven\"}"),
            ("<function=f><parameter=other>7</parameter></function>", "f{\"other\":\"7\"}"),
            // No calls.
            ("<tool_call>\n<function=h>\n<parameter=a>\n<function=f>\n</parameter>\n</function>\n</tool_call>", ""),
            ("Write <function=f> to call it.", ""),
            ("<function=f>\n<parameter=a>\nx", ""),
            ("<function=f>\n<parameter=a>\nx\n</parameter>\n<b>", ""),
            ("<tool_call>\n{\"name\": \"f\"}\n</tool_call>", ""),
        ],
    );
}

#[test]
fn mistral() {
    complete(
        ToolParser::Mistral,
        &[
            ("Now.[TOOL_CALLS]f[ARGS]{\"a\": \"x\"}[TOOL_CALLS]g[ARGS]{}", "Now. | f{\"a\":\"x\"} g{}"),
            ("[TOOL_CALLS] f [CALL_ID]abcdef012[ARGS] {}", "f{}"),
            ("[TOOL_CALLS]f{\"a\": \"x\"}", "f{\"a\":\"x\"}"),
            ("[TOOL_CALLS]{\"name\": \"f\", \"arguments\": {}}", "f{}"),
            ("[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, \"id\": \"abcdef012\"}, {\"name\": \"g\"}] ", "f{} g{}"),
            ("[TOOL_CALLS][TOOL_CALLS]f[ARGS]{}", "[TOOL_CALLS] | f{}"),
            ("[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}", "f{}"),
            ("[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"h\"}]", ", {\"name\": \"h\"}] | f{}"),
            // No calls.
            ("[TOOL_CALLS]h[ARGS]{\"a\": \"[TOOL_CALLS]f[ARGS]{}\"}", ""),
            ("[TOOL_CALLS]f[ARGS]x", ""),
            ("[TOOL_CALLS]f[ARGS]{\"a\": 01}", ""),
            ("[TOOL_CALLS]f[CALL_ID]é[ARGS]{}", ""),
            ("[TOOL_CALLS][]", ""),
            ("[TOOL_CALLS]", ""),
        ],
    );
}

#[test]
fn bare_json_and_llama() {
    let call = "{\"name\": \"f\", \"parameters\": {\"a\": \"x;\"}}";
    complete(
        ToolParser::BareJson,
        &[
            (
                "\n{\"name\": \"f\", \"arguments\": {}}\n{\"type\": \"function\", \"arguments\": {\"n\": 1}, \"name\": \"g\"}",
                "f{} g{\"n\":1}",
            ),
            ("Let me see.\n{\"name\": \"f\", \"arguments\": {}}", "Let me see. | f{}"),
            // No calls.
            ("Write {\"name\": \"f\", \"arguments\": {}} to call it.", ""),
            ("```json\n{\"name\": \"f\", \"arguments\": {}}\n```", ""),
            ("{\"name\": \"f\", \"arguments\": {}, \"why\": \"an example\"}", ""),
            ("{\"calls\": [\n{\"name\": \"f\", \"arguments\": {}}\n]}", ""),
            ("[\n{\"name\": \"f\", \"arguments\": {}}\n]", ""),
            ("{\"name\": \"h\", \"arguments\": {}}", ""),
            ("{\"name\": \"f\"}", ""),
            ("{\"name\": \"f\", \"parameters\": {}}", ""),
            ("{not json}", ""),
        ],
    );
    complete(
        ToolParser::Llama3Json,
        &[
            (&format!("<|python_tag|>{call}; {call}"), "f{\"a\":\"x;\"} f{\"a\":\"x;\"}"),
            (&format!("Here: {call};"), "Here: | f{\"a\":\"x;\"}"),
            (&format!("{call}; and more"), "; and more | f{\"a\":\"x;\"}"),
            ("{\"name\": \"f\", \"arguments\": {}}", "f{}"),
            (&format!("{{{{x}} {call}"), "{{x} | f{\"a\":\"x;\"}"),
            // No calls.
            ("<|python_tag|>print(1)", ""),
            ("{\"name\": \"f\", \"parameters\": {}", ""),
            ("{\"name\": \"f\", \"description\": \"d\", \"parameters\": {}}", ""),
        ],
    );
}

#[test]
fn deepseek() {
    complete(
        ToolParser::Deepseek,
        &[
            ("<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}", "f{}"),
            (
                "<｜tool▁calls▁begin｜>\n<｜tool▁call▁begin｜>\nf\n<｜tool▁sep｜>\n{}\n<｜tool▁call▁end｜>\n<｜tool▁calls▁end｜>\nDone.",
                "Done. | f{}",
            ),
            ("<｜tool▁calls▁begin｜>x", ""),
            ("<｜tool▁call▁begin｜>h<｜tool▁sep｜>{}<｜tool▁call▁end｜>", ""),
            ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜>", ""),
        ],
    );
}

#[test]
fn harmony() {
    let all = format(ToolParser::GptOss, Some(ReasoningParser::Harmony));
    for (text, expected) in [
        (" to=functions.f<|channel|>commentary json<|message|>{}<|call|>", "f{}"),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>", "Yes. | ~Hm."),
        ("<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>Yes.", "Yes. | ~Hm."),
        ("<|channel|>analysis<|message|>a<|end|><|channel|>analysis<|message|>b<|end|>", "~a\n\nb"),
        ("<|channel|>commentary<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>Two.", "One.\n\nTwo."),
        ("<|channel|>analysis to=functions.f<|message|>{}<|call|>", "f{}"),
        ("<|channel|>commentary to=functions.f<|message|>{\"a\": \"<|call|>\"}<|call|>", "f{\"a\":\"<|call|>\"}"),
        ("plain", "plain"),
        // No calls.
        ("<|channel|>commentary to=functions.h<|message|>{}<|call|>", ""),
        ("<|channel|>commentary to=python<|message|>1<|call|>", ""),
        ("<|channel|>commentary to=functions.f<|message|>{\"a\": x}<|call|>", ""),
        ("<|channel|>final<|end|>", ""),
        ("<|channel|>final", ""),
    ] {
        let expected = if expected.is_empty() { text } else { expected };
        assert_eq!(summary(&all, text, OutputEnd::Complete), expected, "{text}");
    }
    let calls_only = format(ToolParser::GptOss, None);
    let reasoning_only = OutputFormat { tools: None, ..all.clone() };
    let text =
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>";
    assert_eq!(summary(&calls_only, text, OutputEnd::Complete), "Hm. | f{}");
    let shown = "<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|> | ~Hm.";
    assert_eq!(summary(&reasoning_only, text, OutputEnd::Complete), shown);
    assert_eq!(summary(&all, "<|channel|>final<|message|>Yes.<|end|><|channel|>ana", OutputEnd::Cut), "Yes.");
    let begun = OutputFormat { begun: Begun::Call, ..all };
    assert_eq!(summary(&begun, "f <|constrain|>json<|message|>{\"a\": \"x\"}<|call|>", OutputEnd::Complete), "f{\"a\":\"x\"}");
}

#[test]
fn reasoning() {
    let hermes = format(ToolParser::Hermes, Some(ReasoningParser::Think));
    let begun = OutputFormat { begun: Begun::Reasoning, ..hermes.clone() };
    let plain = OutputFormat { tools: None, ..format(ToolParser::Mistral, Some(ReasoningParser::Mistral)) };
    for (format, text, expected) in [
        (&hermes, "\n<think>\nHm.\n</think>\n\nYes.\n", "Yes.\n | ~Hm."),
        (&hermes, "<think>\n\n</think>\n\nYes.", "Yes."),
        (&hermes, "<think>a</think>\n<think>b</think>", "~a\n\nb"),
        (&hermes, "<think>Hm. </thin", "~Hm. </thin"),
        (&hermes, "Yes. <think>no</think>", "Yes. <think>no</think>"),
        (&hermes, " <thin", " <thin"),
        (&begun, "Hm. <think> </think>Yes.", "Yes. | ~Hm. <think>"),
        (&begun, "\n<think>\nHm.</think>", "~Hm."),
        (&plain, "[THINK]Hm.[/THINK]Yes. [TOOL_CALLS]f[ARGS]{}\n", "Yes. [TOOL_CALLS]f[ARGS]{}\n | ~Hm."),
    ] {
        assert_eq!(summary(format, text, OutputEnd::Complete), expected, "{text}");
    }
}

#[test]
fn a_cut_call_is_told_as_far_as_it_came_and_never_ends() {
    for (parser, text, expected) in [
        (ToolParser::Hermes, "A <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x", "A | f{\"a\": \"x unfinished"),
        // All of it came, but for what closes it.
        (ToolParser::Hermes, "<tool_call>{\"name\": \"f\", \"arguments\": {}", "f{} unfinished"),
        (ToolParser::Hermes, "<tool_call>{\"name\": \"f\", \"arguments\": {}}", "f{}"),
        (ToolParser::Qwen3Coder, "<function=f><parameter=a>x</parameter>", "f{\"a\": \"x\" unfinished"),
        (ToolParser::Mistral, "[TOOL_CALLS]f[ARGS]{\"a", "f{\"a unfinished"),
        (ToolParser::Deepseek, "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{", "f{ unfinished"),
        (ToolParser::GptOss, "<|channel|>commentary to=functions.f<|message|>{\"n\": 1", "f{\"n\": 1 unfinished"),
        (ToolParser::Llama3Json, "{\"name\": \"f\", \"parameters\": {", "f{ unfinished"),
        // Nothing was certain yet.
        (ToolParser::Hermes, "<tool_call>{\"name\": \"f\", ", "<tool_call>{\"name\": \"f\", "),
        (ToolParser::Hermes, "Well <tool_", "Well <tool_"),
    ] {
        assert_eq!(summary(&format(parser, None), text, OutputEnd::Cut), expected, "{parser}: {text}");
    }
    assert_eq!(Finish::of(OutputEnd::Cut, 1), Finish::Length);
}

#[test]
fn one_call_where_no_more_are_allowed() {
    for parser in ToolParser::ALL {
        let arguments = json!({"a": "x"}).as_object().cloned().unwrap_or_default();
        let (one, two) = (parser.calls(&[("f", &arguments)]), parser.calls(&[("f", &arguments), ("g", &arguments)]));
        let format = OutputFormat { parallel: false, ..format(parser, None) };
        assert_eq!(summary(&format, &one, OutputEnd::Complete), "f{\"a\":\"x\"}", "{parser}");
        let parsed = whole(format, &two, OutputEnd::Complete);
        assert_eq!(parsed.calls.len(), 1, "{parser}");
        assert!(parsed.content.is_some_and(|text| text.contains('g')), "{parser}: the second call is text");
    }
}

#[test]
fn arguments_stream_with_every_character_once_they_are_certain() {
    for (parser, head, body) in [
        (ToolParser::Hermes, "<tool_call>{\"name\": \"f\", \"arguments\": ", "{\"a\": \"xyz\"}"),
        (ToolParser::Qwen3Coder, "<function=f><parameter=a>", "xyz"),
        (ToolParser::Mistral, "[TOOL_CALLS]f[ARGS]", "{\"a\": \"xyz\"}"),
        (ToolParser::BareJson, "{\"name\": \"f\", \"arguments\": ", "{\"a\": \"xyz\"}"),
        (ToolParser::Llama3Json, "{\"name\": \"f\", \"parameters\": ", "{\"a\": \"xyz\"}"),
        (ToolParser::Deepseek, "<｜tool▁call▁begin｜>f<｜tool▁sep｜>", "{\"a\": \"xyz\"}"),
        (ToolParser::GptOss, "<|channel|>commentary to=functions.f<|message|>", "{\"a\": \"xyz\"}"),
    ] {
        let mut reader = OutputParser::new(format(parser, None));
        reader.push(head, &mut Vec::new());
        for c in body.chars() {
            let mut deltas = Vec::new();
            reader.push(&c.to_string(), &mut deltas);
            let is_told = |delta: &Delta| matches!(delta, Delta::CallArguments { text, .. } if text.ends_with(c));
            assert!(deltas.iter().any(is_told), "{parser}, {c:?}: {deltas:?}");
        }
    }
}

#[test]
fn nothing_is_held_back_longer_than_it_may_become_a_tag() {
    let mut reader = OutputParser::new(format(ToolParser::Hermes, None));
    for (piece, expected) in [("a <tool", "a"), ("box> <", " <toolbox>"), ("b", " <b"), (" ", ""), ("c", " c"), ("\n", "")] {
        let mut deltas = Vec::new();
        reader.push(piece, &mut deltas);
        let told: Vec<_> = deltas.iter().map(|delta| format!("{delta:?}")).collect();
        let wanted: Vec<_> =
            Some(expected).filter(|text| !text.is_empty()).map(|text| format!("Content({text:?})")).into_iter().collect();
        assert_eq!(told, wanted, "{piece:?}");
    }
}

#[test]
fn ids_have_the_form_that_templates_take() {
    let random = [u64::MAX, 0, 1];
    let id = ToolParser::Hermes.call_id("call_", random);
    assert!(id.len() == 29 && id.starts_with("call_") && id[5..].bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
    assert!(ToolParser::GptOss.call_id("toolu_", random).starts_with("toolu_"));
    assert_eq!(ToolParser::Mistral.call_id("call_", random).len(), 9);
    assert_ne!(ToolParser::Mistral.call_id("", [1, 2, 3]), ToolParser::Mistral.call_id("", [2, 2, 3]));
}

#[test]
fn marks_are_those_of_both_parsers_once() {
    assert_eq!(
        marks(Some(ToolParser::Hermes), Some(ReasoningParser::Think)),
        ["<tool_call>", "</tool_call>", "<think>", "</think>"]
    );
    assert_eq!(marks(Some(ToolParser::GptOss), Some(ReasoningParser::Harmony)), ToolParser::GptOss.marks());
    assert!(marks(None, None).is_empty());
}
