//! What is told before anything is compiled; what grammars accept is tested where they are compiled, with the engine.

use serde_json::{Value, json};

use super::*;

fn function(parameters: Value, strict: bool) -> Declared {
    Declared { name: "f".to_owned(), description: None, parameters: Some(parameters), strict }
}

fn request<'a>(
    parser: ToolParser,
    declared: &'a [Declared],
    choice: &'a ToolChoice,
    output: &'a OutputShape,
) -> GrammarRequest<'a> {
    GrammarRequest { parser: Some(parser), reasoning: None, declared, choice, parallel: true, begun: Begun::Nothing, output }
}

fn error(parser: ToolParser, parameters: Value, strict: bool) -> String {
    let declared = [function(json!({}), true), function(parameters, strict)];
    grammar(&request(parser, &declared, &ToolChoice::Required, &OutputShape::Text)).unwrap_err().to_string()
}

#[test]
fn without_a_promise_nothing_is_constrained() {
    let loose = [function(json!({"type": "object"}), false)];
    let strict = [loose[0].clone(), function(json!({"type": "object"}), true)];
    for parser in ToolParser::ALL {
        let made = |declared, choice, output| grammar(&request(parser, declared, choice, output)).unwrap();
        assert_eq!(made(&loose, &ToolChoice::Auto, &OutputShape::Text), None);
        assert_eq!(made(&[], &ToolChoice::Auto, &OutputShape::Text), None);
        assert!(made(&strict, &ToolChoice::Auto, &OutputShape::Text).is_some());
        assert!(made(&loose, &ToolChoice::Required, &OutputShape::Text).is_some());
        assert!(made(&[], &ToolChoice::Auto, &OutputShape::JsonObject).is_some());
        // One cannot be told from the other where calls have no tag.
        let both = grammar(&request(parser, &loose, &ToolChoice::Auto, &OutputShape::JsonObject));
        assert_eq!(both.is_err(), parser.opening().is_none(), "{parser}: {both:?}");
    }
}

#[test]
fn choices_that_cannot_be_met_are_told() {
    let declared = [function(json!({}), false)];
    let named = ToolChoice::Named("g".to_owned());
    let text = OutputShape::Text;
    let told = |request: &GrammarRequest<'_>| grammar(request).unwrap_err().to_string();
    assert_eq!(
        told(&request(ToolParser::Hermes, &declared, &named, &text)),
        "tool_choice names the function `g`, which is not declared"
    );
    let none = request(ToolParser::Hermes, &[], &ToolChoice::Required, &text);
    assert_eq!(told(&none), "tool_choice asks for a call, and no function is declared");
    let without = GrammarRequest { parser: None, declared: &declared, ..none };
    assert_eq!(told(&without), "tool_choice asks for a call, and the model calls no tools");
}

#[test]
fn what_a_strict_schema_cannot_enforce_is_told_with_its_place() {
    for parser in ToolParser::ALL {
        for (schema, message) in [
            (
                json!({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true}}}),
                "the keyword `uniqueItems` is not supported here (at `properties.a.uniqueItems`)",
            ),
            (
                json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"not": {}}]}}}),
                "the keyword `not` is not supported here (at `properties.a.anyOf.1.not`)",
            ),
            (json!({"type": "object", "$defs": {"d": {"if": {}}}}), "the keyword `if` is not supported here (at `$defs.d.if`)"),
            (
                json!({"type": "object", "properties": {"a": {"minimun": 1}}}),
                "the keyword `minimun` is not supported here (at `properties.a.minimun`)",
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string", "format": "phone"}}}),
                "the format `phone` is not supported here (at `properties.a.format`)",
            ),
        ] {
            assert_eq!(error(parser, schema.clone(), true), format!("the parameters of function 1: {message}"), "{parser}");
            let loose = [function(schema, false)];
            grammar(&request(parser, &loose, &ToolChoice::Required, &OutputShape::Text)).unwrap();
        }
    }
}

#[test]
fn what_no_schema_may_have_is_told_whether_it_is_strict_or_not() {
    let deep = (0..70).fold(json!({"type": "null"}), |inner, _| json!({"type": "array", "items": inner}));
    let wide: serde_json::Map<String, Value> = (0..300).map(|i| (format!("p{i}"), json!({}))).collect();
    for (schema, message) in [
        (
            json!({"type": "object", "x-guidance": {"lenient": true}}),
            "the keyword `x-guidance` is not supported here (at `x-guidance`)",
        ),
        (json!({"type": "array"}), "arguments are an object, and this is \"array\" (at `type`)"),
        (json!([]), "a schema is an object, and this is []"),
        (json!({"type": "object", "properties": 3}), "this is an object of schemas, and not a number (at `properties`)"),
        (json!({"type": "object", "properties": {"a": 3}}), "a schema is an object, and this is a number (at `properties.a`)"),
        (
            json!({"properties": {"a": {"$ref": "https://example.org/s.json"}}}),
            "references stay within the schema, and this one is to `https://example.org/s.json` (at `properties.a.$ref`)",
        ),
        (json!({"properties": wide}), "an object may have 256 properties, and this one has 300 (at `properties`)"),
        (
            json!({"properties": {"a": {"allOf": [{"multipleOf": 101}, {"multipleOf": 103}]}}}),
            "together, multiples are not enforced beyond 10000 (at `properties.a.allOf.1.multipleOf`)",
        ),
        (json!({"properties": {"a": {"enum": vec![1; 30_000]}}}), "the schema has more than 20000 values"),
        (
            json!({"properties": {"a": deep}}),
            "schemas may be nested 64 levels deep, and one in here is deeper (at `properties.a.items`)",
        ),
    ] {
        for strict in [true, false] {
            assert_eq!(error(ToolParser::Mistral, schema.clone(), strict), format!("the parameters of function 1: {message}"));
        }
    }
}

#[test]
fn parameters_that_tags_cannot_carry_are_told() {
    for (schema, message) in [
        (
            json!({"properties": {"a": {"type": "string", "pattern": "^a"}}}),
            "`pattern` is not enforced on a text that the model's calls write without quotes (at `properties.a`)",
        ),
        (
            json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "object"}]}}}),
            "`anyOf` is not enforced on a text that the model's calls write without quotes (at `properties.a`)",
        ),
        (
            json!({"properties": {"a": {"enum": ["x", 1]}}}),
            "`enum` is not enforced on a text that the model's calls write without quotes (at `properties.a`)",
        ),
        (
            json!({"properties": {"a>b": {}}}),
            "the model's calls write names in tags, and this one has a character that ends them (at `properties.a>b`)",
        ),
        (json!({"required": ["a"]}), "`a` is required and not among the properties (at `required`)"),
        (
            json!({"minProperties": 1}),
            "the model's calls write one parameter at a time, and this keyword is about all of them (at `minProperties`)",
        ),
        (
            json!({"properties": {"a": {"type": "array", "items": {"$ref": "#"}}}}),
            "references are to `#/$defs/` or `#/definitions/` where a model's calls write each parameter by itself (at `properties.a`)",
        ),
    ] {
        assert_eq!(error(ToolParser::Qwen3Coder, schema, true), format!("the parameters of function 1: {message}"));
    }
}

#[test]
fn lines_lead_back_to_schemas() {
    let declared = [function(json!({}), true), function(json!({"properties": {"a": {"type": "integer"}}}), true)];
    let schema = OutputShape::JsonSchema { schema: json!({"type": "integer"}), strict: true };
    for parser in [ToolParser::Hermes, ToolParser::Qwen3Coder] {
        let text = grammar(&request(parser, &declared, &ToolChoice::Auto, &schema)).unwrap().unwrap();
        let places: Vec<_> = (0..=text.lines().count() + 1).filter_map(|line| place_of_line(&text, line)).collect();
        let functions = if parser == ToolParser::Hermes { vec![SchemaPlace::Function(0)] } else { vec![] };
        assert_eq!(places, [functions, vec![SchemaPlace::Function(1), SchemaPlace::Output]].concat(), "{text}");
    }
}
