//! Outputs from public bug reports, whole, in their chunks, in every two pieces and in random ones.

use serde_json::{Value, json};

use super::*;

/// Formats of which cases are there and that no parser reads.
const LATER: [&str; 4] = ["glm", "minimax_xml", "gemma4", "kimi_k2"];

fn format(input: &Value, parser: ToolParser) -> OutputFormat {
    let reasoning = input["reasoning_parser"]
        .as_str()
        .map(|name| *ReasoningParser::ALL.iter().find(|parser| parser.as_str() == name).expect("a reasoning parser"));
    OutputFormat { tools: Some(parser), reasoning, declared: declared(&input["tools"]), begun: Begun::Nothing, parallel: true }
}

fn trimmed(text: Option<&str>) -> &str {
    text.unwrap_or_default().trim_matches(|c: char| c.is_ascii_whitespace())
}

fn check(id: &str, expect: &Value, parsed: &Parsed, ending: OutputEnd) {
    let calls: Vec<_> = parsed.calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
    assert_eq!(json!(calls), expect["calls"], "{id}");
    if expect["content_any"].is_null() {
        assert_eq!(trimmed(parsed.content.as_deref()), trimmed(expect["content"].as_str()), "{id}");
    }
    assert_eq!(trimmed(parsed.reasoning.as_deref()), trimmed(expect["reasoning"].as_str()), "{id}");
    assert_eq!(Finish::of(ending, parsed.calls.len()).as_str(), expect["finish_reason"], "{id}");
}

#[test]
fn outputs_of_public_reports_are_read_right_however_they_are_cut() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("cases.json")).unwrap();
    let mut random = Random(7);
    let mut read = 0;
    for case in &cases {
        let (id, input, expect) = (case["id"].as_str().unwrap(), &case["input"], &case["expect"]);
        let dialect = input["dialect"].as_str().unwrap();
        let Ok(parser) = dialect.parse::<ToolParser>() else {
            assert!(LATER.contains(&dialect), "{id}: {dialect}");
            continue;
        };
        read += 1;
        let format = format(input, parser);
        let ending = if input["finish"] == "length" { OutputEnd::Cut } else { OutputEnd::Complete };
        let text = input["text"].as_str().unwrap();
        let deltas = joined(&format, [text], ending);
        check(id, expect, &Parsed::of(&deltas, ending), ending);
        if let Some(chunks) = input["chunks"].as_array() {
            let chunks: Vec<_> = chunks.iter().map(|chunk| chunk.as_str().unwrap()).collect();
            assert_eq!(chunks.concat(), text, "{id}");
            assert_eq!(joined(&format, chunks, ending), deltas, "{id}, in its chunks");
        }
        for at in cuts(text) {
            assert_eq!(joined(&format, [&text[..at], &text[at..]], ending), deltas, "{id}, cut at {at}");
        }
        for longest in [1, 2, 5, 16].into_iter().cycle().take(40) {
            let pieces = random.pieces(text, longest);
            assert_eq!(joined(&format, pieces.iter().copied(), ending), deltas, "{id}: {pieces:?}");
        }
        if let Some(pattern) = expect["id_pattern"].as_str() {
            // The one pattern that stands in the cases.
            assert_eq!(pattern, "^[A-Za-z0-9]{9}$", "{id}");
            let made = parser.call_id("call_", [u64::MAX, 5, 7]);
            assert!(made.len() == 9 && made.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}: {made}");
        }
    }
    assert_eq!(read, cases.len() - 9, "cases of formats that have no parser");
}
