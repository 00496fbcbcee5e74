//! Which format a text asks for.

use super::ToolParser;

/// The formats that a text teaches: instructions that a chat template renders for a tool, or a parser's own prompt.
///
/// Templates word this freely but copy the syntax, so the syntax is looked for: a tag and what follows it. Formats of other families
/// that share a tag (`<tool_call>name<arg_key>`, `<seed:tool_call><function=..`) are none of these.
pub fn taught(text: &str) -> Vec<ToolParser> {
    ToolParser::ALL.into_iter().filter(|parser| teaches(*parser, text)).collect()
}

fn teaches(parser: ToolParser, text: &str) -> bool {
    match parser {
        ToolParser::Hermes => follows(text, "<tool_call>", |rest| object_of(rest, "\"arguments\"")),
        ToolParser::Qwen3Coder => follows(text, "<tool_call>", |rest| rest.starts_with("<function=")),
        ToolParser::Mistral => text.contains("[AVAILABLE_TOOLS]") || text.contains("[TOOL_CALLS]"),
        ToolParser::BareJson => bare(text, "\"arguments\""),
        ToolParser::Llama3Json => bare(text, "\"parameters\""),
        // The older form has a type before the separator and a Markdown block behind the name.
        ToolParser::Deepseek => {
            text.contains("<｜tool▁call▁begin｜>") && !text.contains("function<｜tool▁sep｜>") && text.contains("<｜tool▁sep｜>")
        }
        // The recipient of a call: other templates declare functions in the same TypeScript.
        ToolParser::GptOss => {
            text.contains("commentary channel") && (text.contains("namespace functions {") || text.contains("to=functions."))
        }
    }
}

/// Whether somewhere behind `tag`, blanks apart, comes what is wanted.
fn follows(text: &str, tag: &str, is_wanted: impl Fn(&str) -> bool) -> bool {
    text.match_indices(tag).any(|(at, _)| is_wanted(text[at + tag.len()..].trim_start()))
}

/// Characters in which the two keys of a call stand; a schema of a function has its description between them.
const CALL: usize = 96;

/// Whether a text begins with an object of a name and then `key`.
fn object_of(text: &str, key: &str) -> bool {
    let Some(rest) = text.strip_prefix('{').map(str::trim_start).and_then(|rest| rest.strip_prefix("\"name\"")) else {
        return false;
    };
    let near = rest.char_indices().nth(CALL).map_or(rest, |(end, _)| &rest[..end]);
    // The schema of a function has one more key in between, and a schema of calls has types.
    near.split_once(key).is_some_and(|(between, _)| between.matches(':').count() == 1 && !between.contains("\"description\""))
}

/// Whether such an object stands in running text, where no tag or list of another format holds it.
fn bare(text: &str, key: &str) -> bool {
    text.match_indices('{').any(|(at, _)| {
        let before = text[..at].trim_end();
        let open = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ':' | '`' | '.'));
        open && object_of(&text[at..], key)
    })
}
