//! What a grammar lets through, the parser of the format reads as what was asked for: texts are drawn from grammars at random and read.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tenon_formats::tools::{OutputEnd, OutputFormat, Parsed, whole};

use super::*;
use crate::rng::SplitMix64;

fn functions(strict: bool) -> Vec<Declared> {
    let weather = json!({"type": "object", "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": -5, "maximum": 100},
        "unit": {"enum": ["C", "F"]},
        "exact": {"type": "boolean"},
        "deep": {"$ref": "#/$defs/point"},
        "note": {"type": ["string", "null"]},
    }, "required": ["city", "days"], "additionalProperties": false,
    "$defs": {"point": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": false}}});
    let empty = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let get = json!({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "boolean"}}}, "required": ["list"], "additionalProperties": false});
    vec![
        declared("get_weather", weather, strict),
        Declared { name: "now".to_owned(), description: None, parameters: None, strict },
        declared("get", get, strict),
        declared("get-it_2", empty, strict),
    ]
}

/// Whether a value is valid against what the schemas above say.
fn is_valid(value: &Value, schema: &Value, root: &Value) -> bool {
    if let Some(path) = schema["$ref"].as_str() {
        return is_valid(value, root.pointer(&path[1..]).unwrap(), root);
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        // `-0` is read as -0.0.
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_kind = |wanted: &Value| wanted == kind;
    let typed = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is_kind),
        Value::Null => true,
        wanted => is_kind(wanted),
    };
    let listed = schema["enum"].as_array().is_none_or(|values| values.contains(value));
    let number = value.as_f64().unwrap_or_default();
    let least = schema["minimum"].as_f64().is_none_or(|least| number >= least);
    let bounds = least && schema["maximum"].as_f64().is_none_or(|most| number <= most);
    let items = value.as_array().into_iter().flatten().all(|item| is_valid(item, &schema["items"], root));
    let members = value.as_object().is_none_or(|object| {
        let known =
            object.iter().all(|(key, value)| schema["properties"].get(key).is_some_and(|schema| is_valid(value, schema, root)));
        known && schema["required"].as_array().into_iter().flatten().all(|key| object.contains_key(key.as_str().unwrap()))
    });
    typed && listed && bounds && items && members
}

fn valid_call(declared: &[Declared], name: &str, arguments: &Map<String, Value>) -> bool {
    let Some(function) = declared.iter().find(|function| function.name == name) else { return false };
    match &function.parameters {
        None => arguments.is_empty(),
        Some(schema) => is_valid(&Value::Object(arguments.clone()), schema, schema),
    }
}

/// Texts that are drawn for a request; more were when this was written.
const DRAWS: usize = 6;

/// Texts with which free text may look like something else.
const NEAR: [&str; 16] = [
    "<tool_call",
    "</parameter",
    "<parameter=",
    "\n<parameter=city>",
    "</function",
    "{\"name\": \"",
    "{\"name\": \"now\"",
    "[TOOL_CALLS",
    "</tool_call>",
    "<｜tool▁call",
    "<|channel|",
    "\\\"",
    "null",
    "}}",
    "ä😀",
    "\n\n",
];

/// A text that a grammar allows, drawn at random; `None` where it came to no end.
///
/// Now and then the text is pushed towards `hint`.
fn draw(tokenizer: &Tokenizer, constraint: &dyn Constraint, hint: &str, rng: &mut SplitMix64) -> Option<String> {
    let mut constraint = constraint.fork();
    let mut allowed = TokenSet::alloc(tokenizer.vocab_size());
    let (mut text, mut wanted): (Vec<u8>, Vec<u32>) = (Vec::new(), Vec::new());
    let length = 20 + rng.below(150);
    let queue = |text: &str| tokenizer.encode_rendered(text).unwrap().into_iter().rev().collect::<Vec<_>>();
    if rng.below(2) == 0 {
        wanted = queue(hint);
    }
    for step in 0..900 {
        constraint.allowed(&mut allowed).unwrap_or_else(|e| panic!("{e} after {:?}", String::from_utf8_lossy(&text)));
        let ids = allowed.to_list();
        let may_end = tokenizer.end_ids().iter().any(|&id| allowed.is_allowed(id));
        if may_end && (ids.len() == tokenizer.end_ids().len() || step > length || rng.below(12) == 0) {
            return Some(String::from_utf8(text).expect("an answer ends with a character"));
        }
        let follows = wanted.pop().filter(|&id| allowed.is_allowed(id));
        if follows.is_none() {
            wanted.clear();
        }
        let closing: Vec<u32> = ids.iter().copied().filter(|&id| id < 256 && b"\"}]<>/:, \n".contains(&(id as u8))).collect();
        let visible: Vec<u32> =
            ids.iter().copied().filter(|&id| (id < 256 && (id as u8).is_ascii_graphic()) || id > 258).collect();
        let choice = match follows {
            Some(id) => id,
            None if step > length && !closing.is_empty() && rng.below(8) > 0 => closing[rng.below(closing.len())],
            None if rng.below(10) == 0 => {
                wanted = queue(if rng.below(4) == 0 { hint } else { NEAR[rng.below(NEAR.len())] });
                ids[rng.below(ids.len())]
            }
            None if rng.below(4) > 0 && !closing.is_empty() => closing[rng.below(closing.len())],
            None if rng.below(10) > 0 && !visible.is_empty() => visible[rng.below(visible.len())],
            None => ids[rng.below(ids.len())],
        };
        if tokenizer.end_ids().contains(&choice) {
            return Some(String::from_utf8(text).expect("an answer ends with a character"));
        }
        constraint.accept(choice).unwrap();
        text.extend_from_slice(tokenizer.bytes(choice).unwrap());
    }
    None
}

impl Case {
    fn read(&self, text: &str) -> Parsed {
        let format = OutputFormat {
            tools: Some(self.parser),
            reasoning: self.reasoning,
            declared: Arc::from(self.declared.clone()),
            begun: self.begun,
            parallel: self.parallel,
        };
        whole(format, text, OutputEnd::Complete)
    }

    /// Draws texts and reads each; returns how many there were, and how many of them had calls.
    fn draw_and_read(&self, factory: &GrammarFactory, tokenizer: &Tokenizer, draws: usize) -> (usize, usize) {
        let constraint = self.compile(factory);
        let mut rng = SplitMix64::new(11);
        let call = self.parser.example_call("now", &Map::new());
        // Where nothing but its name opens a call, chance would not find one.
        let hint = match self.parser.opening() {
            Some(_) => &call[..call.find("now").unwrap()],
            None => &call[..call.find("{}").unwrap()],
        };
        let thought = self.reasoning.filter(|reasoning| *reasoning != ReasoningParser::Harmony && self.begun == Begun::Nothing);
        let hint = thought.map_or(String::new(), |reasoning| format!("{}a{}", reasoning.marks().0, reasoning.marks().1)) + hint;
        let (mut drawn, mut with_calls) = (0, 0);
        for _ in 0..draws {
            let Some(text) = draw(tokenizer, &*constraint, &hint, &mut rng) else { continue };
            let parsed = self.read(&text);
            let Self { parser, choice, begun, .. } = self;
            let told = || format!("{parser} {choice:?} {begun:?} {:?}:\n{text:?}\n{parsed:#?}", self.reasoning);
            for call in &parsed.calls {
                assert!(valid_call(&self.declared, &call.name, &call.arguments), "{}", told());
            }
            let content = parsed.content.as_deref().unwrap_or_default().trim_ascii();
            match choice {
                ToolChoice::Auto => {}
                // Harmony allows a preamble, which is content.
                _ => assert!(!parsed.calls.is_empty() && (content.is_empty() || *parser == ToolParser::GptOss), "{}", told()),
            }
            if let ToolChoice::Named(name) = choice {
                assert!(parsed.calls.len() == 1 && parsed.calls[0].name == *name, "{}", told());
            }
            assert!(self.parallel || parsed.calls.len() < 2, "{}", told());
            drawn += 1;
            with_calls += usize::from(!parsed.calls.is_empty());
        }
        (drawn, with_calls)
    }
}

fn reasoning_of(parser: ToolParser) -> ReasoningParser {
    match parser {
        ToolParser::GptOss => ReasoningParser::Harmony,
        ToolParser::Mistral => ReasoningParser::Mistral,
        _ => ReasoningParser::Think,
    }
}

#[test]
fn forced_calls_are_read_as_calls_and_nothing_else() {
    let tokenizer = bytes_and_marks();
    let factory = factory(&tokenizer);
    for parser in ToolParser::ALL {
        let (mut drawn, mut total) = (0, 0);
        for (choice, parallel) in
            [(ToolChoice::Required, true), (ToolChoice::Required, false), (ToolChoice::Named("get_weather".to_owned()), true)]
        {
            for reasoning in [None, Some(reasoning_of(parser))] {
                for begun in [Begun::Nothing, Begun::Call, Begun::Reasoning] {
                    let is_open = reasoning.is_some_and(|reasoning| reasoning != ReasoningParser::Harmony);
                    if (begun == Begun::Reasoning && !is_open) || (begun == Begun::Call && parser.opening().is_none()) {
                        continue;
                    }
                    let choice = choice.clone();
                    let case = Case { reasoning, choice, parallel, begun, ..Case::of(parser, &functions(true)) };
                    drawn += case.draw_and_read(&factory, &tokenizer, DRAWS).0;
                    total += DRAWS;
                }
            }
        }
        println!("{parser}: {drawn} of {total} texts came to an end");
        assert!(drawn * 4 > total, "{parser}: {drawn} of {total}");
    }
}

#[test]
fn free_text_holds_no_call_that_is_not_valid() {
    let tokenizer = bytes_and_marks();
    let factory = factory(&tokenizer);
    for parser in ToolParser::ALL {
        for reasoning in [None, Some(reasoning_of(parser))] {
            let case = Case { reasoning, choice: ToolChoice::Auto, ..Case::of(parser, &functions(true)) };
            let (drawn, with_calls) = case.draw_and_read(&factory, &tokenizer, 4 * DRAWS);
            println!("{parser} {reasoning:?}: {drawn} texts, {with_calls} with calls");
            assert!(drawn > DRAWS && with_calls > 0 && with_calls < drawn, "{parser} {reasoning:?}: {drawn}, {with_calls}");
        }
    }
}

#[test]
fn canonical_calls_are_accepted() {
    let tokenizer = bytes_and_marks();
    let factory = factory(&tokenizer);
    let arguments = |value: Value| value.as_object().unwrap().clone();
    for parser in ToolParser::ALL {
        for strict in [true, false] {
            let case = Case::of(parser, &functions(strict));
            let constraint = case.compile(&factory);
            let auto = Case { choice: ToolChoice::Auto, ..Case::of(parser, &functions(true)) }.compile(&factory);
            for values in [
                json!({"city": "Zürich", "days": 3}),
                json!({"city": "a\"b\\c {x}\ny", "days": -3, "unit": "F", "exact": true, "deep": {"x": 1}, "note": "n"}),
                json!({"city": "", "days": 0, "note": null}),
            ] {
                let call = parser.example_call("get_weather", &arguments(values.clone()));
                accepts(&tokenizer, &*constraint, &call).unwrap_or_else(|error| panic!("{parser}: {error}"));
                accepts(&tokenizer, &*auto, &call).unwrap_or_else(|error| panic!("{parser}: {error}"));
                assert_eq!(Value::Object(case.read(&call).calls[0].arguments.clone()), values, "{parser}");
            }
            for (name, values) in [("now", json!({})), ("get", json!({"list": [true, false]})), ("get-it_2", json!({}))] {
                let call = parser.example_call(name, &arguments(values));
                accepts(&tokenizer, &*constraint, &call).unwrap_or_else(|error| panic!("{parser}: {error}"));
                assert_eq!(case.read(&call).calls[0].name, name);
            }
        }
    }
}

#[test]
fn several_calls_only_where_they_are_welcome() {
    let tokenizer = bytes_and_marks();
    let factory = factory(&tokenizer);
    let none = Map::new();
    for parser in ToolParser::ALL {
        let two = parser.calls(&[("now", &none), ("get-it_2", &none)]);
        let accepted = |parallel, choice: &ToolChoice| {
            let case = Case { parallel, choice: choice.clone(), ..Case::of(parser, &functions(true)) };
            accepts(&tokenizer, &*case.compile(&factory), &two).is_ok()
        };
        let may = parser != ToolParser::GptOss;
        assert_eq!(accepted(true, &ToolChoice::Required), may, "{parser}: {two}");
        assert_eq!(accepted(true, &ToolChoice::Auto), may, "{parser}");
        assert!(!accepted(false, &ToolChoice::Required), "required {parser}");
        assert!(!accepted(false, &ToolChoice::Auto), "auto {parser}");
        assert!(!accepted(true, &ToolChoice::Named("now".to_owned())), "{parser}");
    }
}

/// An answer in JSON, alone, behind reasoning, and where calls are another choice.
#[test]
fn answers_in_json_are_valid_or_calls() {
    let tokenizer = bytes_and_marks();
    let factory = factory(&tokenizer);
    let schema = functions(true)[0].parameters.clone().unwrap();
    for (output, schema) in [
        (OutputShape::JsonObject, None),
        (OutputShape::JsonSchema { schema: schema.clone(), strict: true }, Some(&schema)),
        (OutputShape::JsonSchema { schema: schema.clone(), strict: false }, Some(&schema)),
    ] {
        for parser in ToolParser::ALL {
            let are_bare = matches!(parser, ToolParser::BareJson | ToolParser::Llama3Json);
            for (reasoning, declared) in
                [(None, vec![]), (Some(reasoning_of(parser)), vec![]), (Some(reasoning_of(parser)), functions(true))]
            {
                if are_bare && !declared.is_empty() {
                    continue;
                }
                let has_calls = !declared.is_empty();
                let case = Case { reasoning, choice: ToolChoice::Auto, output: output.clone(), ..Case::of(parser, &declared) };
                let constraint = case.compile(&factory);
                let mut rng = SplitMix64::new(5);
                let mut drawn = 0;
                for _ in 0..DRAWS {
                    let hint = if rng.below(2) == 0 { parser.opening().unwrap_or_default() } else { "{" };
                    let Some(text) = draw(&tokenizer, &*constraint, hint, &mut rng) else { continue };
                    let parsed = case.read(&text);
                    let told = || format!("{parser} {reasoning:?} {output:?}:\n{text:?}\n{parsed:#?}");
                    if parsed.calls.is_empty() {
                        let value: Value = serde_json::from_str(parsed.content.as_deref().unwrap_or_default())
                            .unwrap_or_else(|error| panic!("{error}: {}", told()));
                        assert!(value.is_object() && schema.is_none_or(|schema| is_valid(&value, schema, schema)), "{}", told());
                    } else {
                        assert!(has_calls, "{}", told());
                        assert!(parsed.calls.iter().all(|call| valid_call(&declared, &call.name, &call.arguments)), "{}", told());
                    }
                    drawn += 1;
                }
                assert!(drawn > 0, "{parser} {reasoning:?}");
            }
        }
    }
}
