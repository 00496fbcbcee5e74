//! What a grammar lets through, the parser of the format reads as what was asked for.

use serde_json::{Map, Value, json};

use super::*;

fn weather(strict: bool) -> Declared {
    let parameters = json!({"type": "object", "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["C", "F"]},
    }, "required": ["city"], "additionalProperties": false});
    declared("get_weather", parameters, strict)
}

fn now() -> Declared {
    Declared { name: "now".to_owned(), description: None, parameters: None, strict: false }
}

fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn canonical_calls_are_accepted() {
    let tokenizer = bytes_and_marks();
    let factory = factory(&tokenizer);
    for parser in ToolParser::ALL {
        let constraint = Case::of(parser, &[weather(true), now()]).compile(&factory);
        for values in [json!({"city": "Zürich"}), json!({"city": "a\"b\\c {x}", "days": -3, "unit": "F"}), json!({"city": ""})] {
            let call = parser.example_call("get_weather", &arguments(values));
            accepts(&tokenizer, &*constraint, &call).unwrap_or_else(|error| panic!("{parser}: {error}"));
        }
        let call = parser.example_call("now", &Map::new());
        accepts(&tokenizer, &*constraint, &call).unwrap_or_else(|error| panic!("{parser}: {error}"));
    }
}
