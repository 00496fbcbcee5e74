//! Calls as each format writes them, and what may stand around them.
//!
//! The library's lexer takes the longest match and never goes back, so that what begins alike must be decided within one lexeme: the
//! opening of a call is one with the text before it, and the name of the function one with everything in front of it.

use serde_json::Value;

use super::lark::{Lark, SPACE, escape, literal, pattern, without};
use super::{GrammarError, GrammarRequest, SchemaPlace, parameters, schema};
use crate::tools::{Begun, Declared, ReasoningParser, ToolChoice, ToolParser};

/// Whitespace before a call.
const LEAD: &str = r"[ \t\r\n]{0,8}";
/// Whitespace within what begins like a call, however much.
const BLANK: &str = r"[ \t\r\n]*";

const DEEPSEEK_CALLS: &str = "<｜tool▁calls▁begin｜>";
const DEEPSEEK_CALL: &str = "<｜tool▁call▁begin｜>";
const DEEPSEEK_END: &str = "<｜tool▁calls▁end｜>";

/// Every mark of harmony: none stands in the text of a message.
const HARMONY: &str = r"<\|(start|channel|constrain|message|end|call|return)\|>";
/// The end of a message and the beginning of the next.
const NEXT_MESSAGE: &str = "<|end|><|start|>assistant";

/// The rules of calls.
pub(super) struct Calls {
    /// An answer that is calls and nothing else, from where the prompt ends.
    forced: String,
    /// Text without calls, or calls with such a text before them.
    auto: String,
    /// The calls begin with a brace, like an answer in JSON.
    are_bare: bool,
}

/// Writes the rules of a format's calls.
pub(super) fn calls(
    lark: &mut Lark,
    parser: ToolParser,
    functions: &[(usize, &Declared)],
    request: &GrammarRequest<'_>,
) -> Result<Calls, GrammarError> {
    let mut bodies = Vec::new();
    for &(index, function) in functions {
        bodies.push(body(lark, parser, index, function)?);
    }
    let body = lark.rule("call", &bodies.join(" | "));
    let several = request.parallel && !matches!(request.choice, ToolChoice::Named(_));
    let more = |opening: String| if several { format!("({} {body})*", pattern(&opening)) } else { String::new() };
    let begun = request.begun == Begun::Call;
    let opened = |opening: &str| if begun { String::new() } else { pattern(&format!("{LEAD}{opening}")) };

    // Reasoning opens at the beginning or not at all: text that began with its mark would be taken for text to the end.
    let thought = request.reasoning.map_or(String::new(), |reasoning| format!("|{}", escape(reasoning.marks().0)));
    let text = |lark: &mut Lark, not: &str| lark.rule("TEXT", &format!("/(?s:.+)/ & {}", without(&format!("{not}{thought}"))));
    let free = |lark: &mut Lark, not: &str, opening: &str| {
        text(lark, not);
        lark.rule("LEAD_TEXT", &format!("{} {}", without(&format!("{not}{thought}")), pattern(opening)));
    };
    let (forced, auto) = match parser {
        ToolParser::Hermes | ToolParser::Qwen3Coder | ToolParser::Mistral => {
            let opening = escape(parser.opening().unwrap_or_default());
            let not = if parser == ToolParser::Qwen3Coder { format!("{opening}|<function=") } else { opening.clone() };
            free(lark, &not, &opening);
            let more = more(format!("{LEAD}{opening}"));
            (format!("{} {body} {more}", opened(&opening)), format!("TEXT? | LEAD_TEXT {body} {more}"))
        }
        ToolParser::Deepseek => {
            let (calls, call) = (escape(DEEPSEEK_CALLS), escape(DEEPSEEK_CALL));
            free(lark, &format!("{calls}|{call}"), &calls);
            let more = more(format!("{LEAD}{call}"));
            let end = pattern(&format!("{LEAD}{}", escape(DEEPSEEK_END)));
            let first = opened(&format!("{calls}{LEAD}{call}"));
            (
                format!("{first} {body} {more} {end}"),
                format!("TEXT? | LEAD_TEXT {} {body} {more} {end}", pattern(&format!("{LEAD}{call}"))),
            )
        }
        ToolParser::BareJson | ToolParser::Llama3Json => {
            // The opening is part of the body, with the name of the function.
            let separator = if parser == ToolParser::Llama3Json { r"[ \t]?;" } else { r"[ \t]?\n" };
            let more = more(separator.to_owned());
            let names: Vec<String> = functions.iter().map(|(_, function)| escape(&quoted(&function.name))).collect();
            let tag = if parser == ToolParser::Llama3Json { r"|<\|python_tag\|>" } else { "" };
            let not = format!(
                "\\{{{BLANK}(\"name\"{BLANK}:{BLANK}({})|\"(arguments|parameters)\"{BLANK}:{BLANK}\\{{|\"(id|type)\"{BLANK}:){tag}",
                names.join("|"),
            );
            text(lark, &not);
            (format!("{body} {more}"), format!("TEXT? | {body} {more}"))
        }
        ToolParser::GptOss => {
            let opening = escape(parser.opening().unwrap_or_default());
            messages(lark);
            let preamble = lark.rule("preamble", &format!("{} MESSAGE_TEXT", literal("<|channel|>commentary<|message|>")));
            let call = if begun { body.clone() } else { format!("{} {body}", pattern(&opening)) };
            let before = if begun { String::new() } else { format!("{preamble}*") };
            let last = lark.rule("final", &format!("{} FINAL_TEXT?", literal("<|channel|>final<|message|>")));
            lark.rule("FINAL_TEXT", &format!("/(?s:.+)/ & {}", without(HARMONY)));
            (format!("{before} {call}"), format!("{before} ({call} | {last})"))
        }
    };
    Ok(Calls {
        forced: lark.rule("calls", &forced),
        auto: lark.rule("free", &auto),
        are_bare: matches!(parser, ToolParser::BareJson | ToolParser::Llama3Json),
    })
}

/// One call from behind the opening, named so that a compiler's error leads back to the function.
fn body(lark: &mut Lark, parser: ToolParser, index: usize, function: &Declared) -> Result<String, GrammarError> {
    let place = SchemaPlace::Function(index);
    if parser == ToolParser::Qwen3Coder {
        return parameters::body(lark, index, function);
    }
    let schema = schema::of_arguments(function.parameters.as_ref(), function.strict, place)?;
    let arguments = lark.json(&format!("args_{index}"), &schema);
    let name = escape(&function.name);
    let object = |key: &str| {
        let quoted = escape(&quoted(&function.name));
        format!("\\{{{SPACE}\"name\"{SPACE}:{SPACE}{quoted}{SPACE},{SPACE}\"{key}\"{SPACE}:{SPACE}")
    };
    let close = format!("{SPACE}\\}}");
    let (head, tail) = match parser {
        ToolParser::Hermes => (format!("{SPACE}{}", object("arguments")), format!("{close}{SPACE}{}", escape("</tool_call>"))),
        ToolParser::BareJson => (format!("{LEAD}{}", object("arguments")), close),
        ToolParser::Llama3Json => (format!("{LEAD}(<\\|python_tag\\|>)?{}", object("parameters")), close),
        ToolParser::Mistral => (format!("{name}{}", escape("[ARGS]")), String::new()),
        ToolParser::Deepseek => (format!("{name}<｜tool▁sep｜>"), escape("<｜tool▁call▁end｜>")),
        ToolParser::GptOss => (format!("{name} ?(<\\|constrain\\|>json)?<\\|message\\|>"), String::new()),
        ToolParser::Qwen3Coder => (String::new(), String::new()),
    };
    let tail = match parser {
        // Where the end of a call ends an answer it is no text, and what stands here is another way to write it.
        ToolParser::GptOss => format!("{}?", literal("<|call|>")),
        _ if tail.is_empty() => tail,
        _ => pattern(&tail),
    };
    Ok(lark.rule(&format!("call_{index}"), &format!("{} {arguments} {tail}", pattern(&head))))
}

/// The whole answer.
pub(super) fn answer(
    lark: &mut Lark,
    request: &GrammarRequest<'_>,
    calls: Option<Calls>,
    output: Option<String>,
) -> Result<String, GrammarError> {
    let is_harmony = request.parser == Some(ToolParser::GptOss) || request.reasoning == Some(ReasoningParser::Harmony);
    let output = output.map(|output| match is_harmony {
        true => {
            let header = format!("{}( ?<\\|constrain\\|>json)?{}", escape("<|channel|>final"), escape("<|message|>"));
            format!("{} {output}", pattern(&header))
        }
        false => {
            lark.skip_whitespace_as_json();
            let gap = if request.reasoning.is_some() { format!("{}?", pattern(r"[ \t\r\n]{1,8}")) } else { String::new() };
            format!("{gap} {output}")
        }
    });
    let body = match (calls, output) {
        (Some(calls), None) if request.choice.is_forced() => calls.forced,
        (Some(calls), None) => calls.auto,
        (Some(calls), Some(_)) if calls.are_bare => return Err(GrammarError::Together),
        (Some(calls), Some(output)) => format!("({} | {output})", calls.forced),
        (None, Some(output)) => output,
        (None, None) => String::new(),
    };
    Ok(format!("{} {body}", reasoning(lark, request, is_harmony)))
}

/// Reasoning before the answer: open where the prompt has begun it, and otherwise optional.
fn reasoning(lark: &mut Lark, request: &GrammarRequest<'_>, is_harmony: bool) -> String {
    let Some(parser) = request.reasoning.filter(|_| request.begun != Begun::Call) else { return String::new() };
    let (open, close) = parser.marks();
    let rest = match is_harmony {
        true => {
            messages(lark);
            "MESSAGE_TEXT".to_owned()
        }
        false => lark.lazy("thought", &format!("(?s:.*){}", escape(close))),
    };
    match (request.begun, is_harmony) {
        (Begun::Reasoning, false) => rest,
        (Begun::Reasoning, true) => format!("{rest} ({} {rest})*", literal(open)),
        (_, true) => format!("({} {rest})*", literal(open)),
        // What a template leaves to the model may have a line break in front.
        (_, false) => format!("({} {rest})?", pattern(&format!("{LEAD}{}", escape(open)))),
    }
}

/// The text of a message of harmony that is not the last.
fn messages(lark: &mut Lark) {
    lark.once("MESSAGE_TEXT", &format!("{} {}", without(HARMONY), literal(NEXT_MESSAGE)));
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}
