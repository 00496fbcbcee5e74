//! `parse`: what a model's output says, as the server reads it.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tenon_formats::tools::{
    Begun, Declared, Delta, Finish, OutputEnd, OutputFormat, OutputParser, Parsed, ReasoningParser, ToolParser,
};

use crate::Failure;
use crate::cli::{BegunName, ParseArgs};

/// Reads an output on stdin and prints its content, reasoning and calls as one line of JSON.
pub fn run(args: &ParseArgs) -> Result<(), Failure> {
    let declared = match &args.tools {
        Some(file) => tools(file).map_err(|e| format!("--tools {}: {e}", file.display()))?,
        None => Arc::from([]),
    };
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| format!("standard input: {e}"))?;
    let text = String::from_utf8(bytes).map_err(|e| format!("standard input: {}", e.utf8_error()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", parse(args, declared, &text))?;
    Ok(out.flush()?)
}

/// What is printed: with pieces, also what each of them added.
fn parse(args: &ParseArgs, declared: Arc<[Declared]>, text: &str) -> Value {
    let begun = match args.begun {
        None => Begun::Nothing,
        Some(BegunName::Reasoning) => Begun::Reasoning,
        Some(BegunName::Call) => Begun::Call,
    };
    let reasoning = args.reasoning.map_or_else(|| Some(usual(args.parser)), |named| named.0);
    let ending = if args.cut { OutputEnd::Cut } else { OutputEnd::Complete };
    let mut parser =
        OutputParser::new(OutputFormat { tools: Some(args.parser), reasoning, declared, begun, parallel: !args.one_call });
    let mut deltas = Vec::new();
    let mut told = Vec::new();
    let mut read = 0;
    let mut tell = |read: usize, deltas: &[Delta]| told.extend(deltas.iter().map(|delta| shown(read, delta)));
    for piece in pieces(text, args.stream.unwrap_or(usize::MAX)) {
        let before = deltas.len();
        parser.push(piece, &mut deltas);
        read += piece.chars().count();
        tell(read, &deltas[before..]);
    }
    let before = deltas.len();
    parser.finish(ending, &mut deltas);
    tell(read, &deltas[before..]);

    let parsed = Parsed::of(&deltas, ending);
    let calls: Vec<Value> = parsed.calls.iter().map(|call| json!({ "name": call.name, "arguments": call.arguments })).collect();
    let mut shown = json!({
        "content": parsed.content,
        "reasoning": parsed.reasoning,
        "calls": calls,
        "finish_reason": Finish::of(ending, parsed.calls.len()).as_str(),
    });
    if let Some(call) = &parsed.unfinished {
        shown["unfinished"] = json!({ "name": call.name, "arguments": call.arguments });
    }
    if args.stream.is_some() {
        shown["deltas"] = json!(told);
    }
    shown
}

/// The reasoning that stands beside a format of calls where nothing else is said: what no output begins with by accident.
fn usual(parser: ToolParser) -> ReasoningParser {
    match parser {
        ToolParser::GptOss => ReasoningParser::Harmony,
        ToolParser::Mistral => ReasoningParser::Mistral,
        _ => ReasoningParser::Think,
    }
}

/// A text in pieces of that many characters.
fn pieces(text: &str, characters: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(characters).map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(end);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

/// A delta, with how many characters were read when it came.
fn shown(read: usize, delta: &Delta) -> Value {
    match delta {
        Delta::Content(text) => json!({ "read": read, "content": text }),
        Delta::Reasoning(text) => json!({ "read": read, "reasoning": text }),
        Delta::CallBegin { index, name } => json!({ "read": read, "call": index, "name": name }),
        Delta::CallArguments { index, text } => json!({ "read": read, "call": index, "arguments": text }),
        Delta::CallEnd { index } => json!({ "read": read, "call": index, "end": true }),
    }
}

fn tools(file: &Path) -> Result<Arc<[Declared]>, Failure> {
    Ok(declared(&tenon_formats::json::parse(&std::fs::read(file)?)?)?)
}

/// The functions of a list of tools, or of the request that has it, in the form of either API.
fn declared(request: &Value) -> Result<Arc<[Declared]>, String> {
    let list = request.as_array().or_else(|| request["tools"].as_array());
    let list = list.ok_or("neither a list of tools nor a request with `tools`")?;
    list.iter().enumerate().map(|(at, tool)| function(at, tool)).collect()
}

fn function(at: usize, tool: &Value) -> Result<Declared, String> {
    let (place, function) = match tool.get("function") {
        Some(function) => (format!("tools[{at}].function"), function),
        None => (format!("tools[{at}]"), tool),
    };
    let name = function["name"].as_str().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("`{place}.name` is not the name of a function"))?;
    let key = if function.get("input_schema").is_some() { "input_schema" } else { "parameters" };
    let parameters = function.get(key).filter(|schema| !schema.is_null());
    if parameters.is_some_and(|schema| !schema.is_object()) {
        return Err(format!("`{place}.{key}` is not a schema: an object is needed"));
    }
    Ok(Declared {
        name: name.to_owned(),
        description: function["description"].as_str().map(str::to_owned),
        parameters: parameters.cloned(),
        strict: function["strict"] == true,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args(flags: &[&str]) -> ParseArgs {
        match Cli::try_parse_from(["tenon-server", "parse"].iter().chain(flags)).unwrap().command {
            Command::Parse(args) => args,
            other => panic!("{other:?}"),
        }
    }

    const CALL: &str =
        "<think>Hm.</think>Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"é\"}}\n</tool_call>";

    #[test]
    fn prints_what_the_server_would_send() {
        let expected = json!({
            "content": "Let me see.", "reasoning": "Hm.", "calls": [{ "name": "f", "arguments": { "a": "é" } }],
            "finish_reason": "tool_calls",
        });
        assert_eq!(parse(&args(&["--parser", "hermes"]), Arc::from([]), CALL), expected);

        let mut streamed = parse(&args(&["--parser", "hermes", "--stream", "3"]), Arc::from([]), CALL);
        let deltas = streamed.as_object_mut().unwrap().remove("deltas").unwrap();
        assert_eq!(streamed, expected);
        let deltas = deltas.as_array().unwrap();
        let joined: String = deltas.iter().filter_map(|delta| delta["arguments"].as_str()).collect();
        assert_eq!(joined, "{\"a\": \"é\"}");
        assert!(deltas.iter().filter(|delta| delta["arguments"].is_string()).count() > 3, "{deltas:?}");
        assert!(deltas.windows(2).all(|pair| pair[0]["read"].as_u64() <= pair[1]["read"].as_u64()), "{deltas:?}");
        assert_eq!(deltas.last().unwrap()["end"], true);
    }

    #[test]
    fn flags_say_how_the_output_began_and_ended() {
        let rest = "{\"name\": \"f\", \"arguments\": {\"a\": \"x";
        let cut = parse(&args(&["--parser", "hermes", "--begun", "call", "--cut"]), Arc::from([]), rest);
        assert_eq!(
            cut,
            json!({
                "content": null, "reasoning": null, "calls": [], "finish_reason": "length",
                "unfinished": { "name": "f", "arguments": "{\"a\": \"x" },
            })
        );
        let begun = parse(&args(&["--parser", "llama3_json", "--begun", "reasoning"]), Arc::from([]), "Hm.</think>\n\nYes.");
        assert_eq!((begun["reasoning"].as_str(), begun["content"].as_str()), (Some("Hm."), Some("Yes.")));
        let none = parse(&args(&["--parser", "hermes", "--reasoning", "none"]), Arc::from([]), "<think>Hm.</think>");
        assert_eq!((none["reasoning"].as_str(), none["content"].as_str()), (None, Some("<think>Hm.</think>")));
        let two = "[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{}";
        let one = parse(&args(&["--parser", "mistral", "--one-call"]), Arc::from([]), two);
        assert_eq!(one["content"], "[TOOL_CALLS]g[ARGS]{}");
    }

    #[test]
    fn tools_have_the_form_of_either_api_alone_or_in_a_request() {
        let schema = json!({ "type": "object", "properties": { "id": { "type": "string" } } });
        let openai = json!([{ "type": "function", "function": { "name": "f", "parameters": schema } }]);
        let anthropic = json!([{ "name": "f", "input_schema": schema }]);
        let text = "<function=f>\n<parameter=id>\n42\n</parameter>\n</function>";
        for tools in [openai.clone(), anthropic.clone(), json!({ "tools": openai }), json!({ "tools": anthropic })] {
            let parsed = parse(&args(&["--parser", "qwen3_coder"]), declared(&tools).unwrap(), text);
            assert_eq!(parsed["calls"][0]["arguments"], json!({ "id": "42" }), "{tools}");
        }
        let undeclared = parse(&args(&["--parser", "qwen3_coder"]), declared(&json!([{ "name": "g" }])).unwrap(), text);
        assert_eq!((undeclared["calls"].clone(), undeclared["content"].as_str()), (json!([]), Some(text)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (tools, expected) in [
            (json!({}), "neither a list of tools nor a request with `tools`"),
            (json!([{ "function": { "nam": "f" } }]), "`tools[0].function.name` is not the name of a function"),
            (json!([{ "name": "f" }, { "name": "" }]), "`tools[1].name` is not the name of a function"),
            (json!([{ "name": "f", "input_schema": [] }]), "`tools[0].input_schema` is not a schema: an object is needed"),
        ] {
            assert_eq!(declared(&tools).unwrap_err(), expected);
        }
        let missing = tools(Path::new("does-not-exist.json")).unwrap_err().to_string();
        assert!(missing.contains("No such file"), "{missing}");
        let refused =
            |flags: &[&str]| Cli::try_parse_from(["tenon-server", "parse"].iter().chain(flags)).unwrap_err().to_string();
        let named = refused(&["--parser", "glm"]);
        assert!(named.contains("no tool parser is named `glm`; these are: hermes, qwen3_coder, mistral"), "{named}");
        let reasoning = refused(&["--parser", "hermes", "--reasoning", "deep"]);
        assert!(
            reasoning.contains("no reasoning parser is named `deep`; these are: think, mistral, harmony, none"),
            "{reasoning}"
        );
        assert!(refused(&["--parser", "hermes", "--stream", "0"]).contains("must be at least 1"));
    }
}
