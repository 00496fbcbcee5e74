//! Noise: valid outputs that were spoilt, and texts of fragments. However an output is cut, it gives the same; nothing is lost.
//!
//! The cases are the same on every machine. `TENON_FUZZ=N` runs N times as many.

use serde_json::json;

use super::*;

/// Outputs of each kind per run.
const CASES: usize = 100;

fn functions() -> Arc<[Declared]> {
    let properties = json!({"a": {"type": "string"}, "b": {"type": "integer"}, "c": {}, "d": {"type": ["string", "null"]}});
    let function = |name: &str| json!({"function": {"name": name, "parameters": {"type": "object", "properties": properties}}});
    declared(&json!([function("f"), function("get_weather"), {"function": {"name": "now"}}]))
}

/// What noise is made of: every mark, and what stands between marks.
fn fragments() -> Vec<&'static str> {
    let mut fragments = vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        ":",
        "\"",
        "\\",
        "\n",
        " ",
        "\t",
        "\u{0}",
        "```",
        "é",
        "🦀",
        "1",
        "1e400",
        "-",
        "null",
        "true",
        "\\ud83d",
        "\"name\"",
        "\"arguments\"",
        "\"parameters\"",
        "\"f\"",
        "\"g\"",
        "{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}",
        "{\"arguments\": {}, \"name\": \"now\"}",
        "{\"name\": \"f\", \"parameters\": {}}",
        "[{\"name\": \"f\", \"arguments\": {}}]",
        "f",
        "g",
        "get_weather",
        "a",
        "b",
        ">",
        "=",
        "<function=f>",
        "<parameter=a>",
        "<parameter=d>",
        "No",
        "nul",
        "</",
        "<|",
        "[/",
        "text",
        "to=functions.f",
        "<|channel|>analysis<|message|>",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
        "<|start|>assistant<|channel|>final<|message|>",
        "[TOOL_CALLS]f[ARGS]{}",
        "<tool_call>\n<function=f>\n</function>\n</tool_call>",
    ];
    for parser in ToolParser::ALL {
        fragments.extend(parser.marks());
    }
    for parser in ReasoningParser::ALL {
        fragments.extend(parser.tokens());
    }
    fragments
}

/// A valid output: perhaps reasoning, perhaps text, calls.
fn valid(parser: ToolParser, reasoning: Option<ReasoningParser>, random: &mut Random) -> String {
    let mut text = String::new();
    if let Some((open, close)) = reasoning.map(ReasoningParser::marks).filter(|_| random.below(2) == 0) {
        text += &format!("{open}\nLet me <tool_call> see [TOOL_CALLS].\n{close}\n");
    }
    if random.below(2) == 0 {
        text += "I look {that} up;\n";
    }
    let values = [json!("x"), json!("} ]<b> \"\\\n"), json!(7), json!({"k": [1, null, "é"]}), json!(true), json!(null)];
    let calls: Vec<_> = (0..1 + random.below(3))
        .map(|_| {
            let name = *random.pick(&["f", "get_weather", "now", "g"]);
            let keys = ["a", "b", "c", "d"].into_iter().take(random.below(5));
            let arguments: serde_json::Map<_, _> = keys.map(|key| (key.to_owned(), random.pick(&values).clone())).collect();
            (name, arguments)
        })
        .collect();
    let calls: Vec<_> = calls.iter().map(|(name, arguments)| (*name, arguments)).collect();
    text + &parser.calls(&calls)
}

/// The same with pieces taken out, doubled, moved or put in.
fn spoilt(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let fragments = fragments();
    for _ in 0..1 + random.below(3) {
        let at = random.below(chars.len() + 1);
        let end = (at + 1 + random.below(8)).min(chars.len());
        match random.below(5) {
            0 => drop(chars.drain(at..end)),
            1 => chars.splice(at..at, random.pick(&fragments).chars()).for_each(drop),
            2 => chars.truncate(at),
            3 => {
                let piece = chars[at..end].to_vec();
                chars.splice(at..at, piece).for_each(drop);
            }
            _ => {
                let piece: Vec<char> = chars.drain(at..end).collect();
                let at = random.below(chars.len() + 1);
                chars.splice(at..at, piece).for_each(drop);
            }
        }
    }
    chars.into_iter().collect()
}

/// What holds of every output.
fn rules(format: &OutputFormat, text: &str, random: &mut Random) {
    for ending in [OutputEnd::Complete, OutputEnd::Cut] {
        let deltas = joined(format, [text], ending);
        for longest in [1, 3, 12] {
            let pieces = random.pieces(text, longest);
            assert_eq!(joined(format, pieces.iter().copied(), ending), deltas, "{format:?} {pieces:?}");
        }
        order(&deltas, ending);
        let told: usize = deltas.iter().map(size).sum();
        // A control character takes six in JSON, and a call that was none is told twice.
        assert!(told <= 7 * text.len() + 64, "{told} bytes of {text:?}");
        nothing_is_lost(format, text, &deltas, ending);
    }
}

fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Content(text) | Delta::Reasoning(text) | Delta::CallArguments { text, .. } => text.len(),
        Delta::CallBegin { name, .. } => name.len(),
        Delta::CallEnd { .. } => 0,
    }
}

/// Calls are numbered as they begin, one at a time, and those that end have an object.
fn order(deltas: &[Delta], ending: OutputEnd) {
    let (mut next, mut open) = (0, None);
    for delta in deltas {
        match delta {
            Delta::CallBegin { index, .. } => {
                assert_eq!(*index, next, "{deltas:?}");
                next += 1;
                open = Some((*index, String::new()));
            }
            Delta::CallArguments { index, text } => {
                let (of, arguments) = open.as_mut().expect("a call");
                assert_eq!(of, index, "{deltas:?}");
                arguments.push_str(text);
            }
            Delta::CallEnd { index } => {
                let (of, arguments) = open.take().expect("a call");
                assert_eq!(of, *index, "{deltas:?}");
                let value: Result<serde_json::Map<String, Value>, _> = serde_json::from_str(&arguments);
                assert!(value.is_ok(), "{arguments}");
            }
            Delta::Content(text) | Delta::Reasoning(text) => assert!(!text.is_empty()),
        }
    }
    // A call that never ended is the last thing told of a cut output, or its text follows.
    let unfinished = Parsed::of(deltas, ending).unfinished;
    assert!(unfinished.is_none() || ending == OutputEnd::Cut, "{deltas:?}");
}

/// Content and reasoning stand in the output in this order; what lies between is calls, marks and whitespace. Without a call and
/// without a mark that was taken, everything is there.
fn nothing_is_lost(format: &OutputFormat, text: &str, deltas: &[Delta], ending: OutputEnd) {
    let parsed = Parsed::of(deltas, ending);
    let solid = |text: &str| text.chars().filter(|c| !c.is_ascii_whitespace()).collect::<String>();
    let mut marks = marks(format.tools, format.reasoning);
    marks.extend(["to=functions.", "[", "]", ",", ";"]);
    let mut told = String::new();
    let mut rest = solid(text);
    let mut calls = parsed.calls.iter();
    for delta in deltas {
        match delta {
            Delta::Content(more) | Delta::Reasoning(more) => {
                for c in solid(more).chars() {
                    let at = rest.find(c).unwrap_or_else(|| panic!("{c:?} of {told:?} is not in {text:?}: {format:?}"));
                    told.push(c);
                    rest = rest[at + c.len_utf8()..].to_owned();
                }
            }
            Delta::CallEnd { .. } => {
                let name = solid(&calls.next().expect("a call").name);
                assert!(solid(text).contains(&name) || text.contains('\\'), "{name} in {text:?}");
            }
            Delta::CallBegin { .. } | Delta::CallArguments { .. } => {}
        }
    }
    let is_taken = format.tools == Some(ToolParser::GptOss) || format.reasoning.is_some();
    if parsed.calls.is_empty() && parsed.unfinished.is_none() && !is_taken {
        assert_eq!(told, solid(text), "{format:?}");
    }
}

fn run(parser: ToolParser) {
    let times: usize = std::env::var("TENON_FUZZ").map_or(1, |n| n.parse().expect("TENON_FUZZ is a number"));
    let mut random = Random(parser as u64 + 1);
    let fragments = fragments();
    let declared = functions();
    let kinds = [None, Some(ReasoningParser::Think), Some(ReasoningParser::Mistral), Some(ReasoningParser::Harmony)];
    let mut with_calls = 0;
    for _ in 0..CASES * times {
        let reasoning = *random.pick(&kinds);
        let begun = *random.pick(&[Begun::Nothing, Begun::Nothing, Begun::Reasoning, Begun::Call]);
        let declared = if random.below(4) == 0 { Arc::from([]) } else { declared.clone() };
        let format = OutputFormat { tools: Some(parser), reasoning, declared, begun, parallel: random.below(3) > 0 };
        let text = valid(parser, reasoning, &mut random);
        with_calls += usize::from(!whole(format.clone(), &text, OutputEnd::Complete).calls.is_empty());
        rules(&format, &text, &mut random);
        rules(&format, &spoilt(&text, &mut random), &mut random);
        let noise: String = (0..random.below(24)).map(|_| *random.pick(&fragments)).collect();
        rules(&format, &noise, &mut random);
        rules(&OutputFormat { tools: None, ..format }, &noise, &mut random);
    }
    assert!(with_calls > CASES / 3, "valid outputs have calls: {with_calls}");
}

macro_rules! fuzz {
    ($($name:ident: $parser:ident,)*) => {
        $(#[test]
        fn $name() {
            run(ToolParser::$parser);
        })*
    };
}

fuzz! {
    hermes: Hermes,
    qwen3_coder: Qwen3Coder,
    mistral: Mistral,
    bare_json: BareJson,
    llama3_json: Llama3Json,
    deepseek: Deepseek,
    gpt_oss: GptOss,
}
