//! The OpenAPI document. It is a file that people read and tools take; the tests here compare it with the routes, and with the fields
//! that the readers of bodies ask for, in both directions.

/// The document, as it is sent.
pub(super) const DOCUMENT: &str = include_str!("openapi.json");

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::{Value, json};

    use super::*;
    use crate::serve::fields::recorded::{Accepts, during};
    use crate::serve::testing::served;
    use crate::serve::{anthropic, openai, routes};

    fn document() -> Value {
        tenon_formats::json::parse(DOCUMENT.as_bytes()).unwrap()
    }

    #[test]
    fn every_route_is_documented_and_every_documented_route_exists() {
        let table: BTreeSet<(String, String)> =
            routes::table().iter().map(|(method, path, _)| ((*path).to_owned(), method.as_str().to_ascii_lowercase())).collect();
        let document = document();
        let documented: BTreeSet<(String, String)> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| (path.clone(), method.clone())))
            .collect();
        assert_eq!(table, documented);
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn all<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
            match value {
                Value::Object(object) => {
                    found.extend(object.get("$ref").and_then(Value::as_str));
                    object.values().for_each(|value| all(value, found));
                }
                Value::Array(list) => list.iter().for_each(|value| all(value, found)),
                _ => {}
            }
        }
        let (document, mut found) = (document(), Vec::new());
        all(&document, &mut found);
        assert!(found.len() > 50);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    /// The properties of a schema by name, those within objects behind a dot.
    fn properties(schema: &Value, at: &str, found: &mut BTreeMap<String, Value>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let name = format!("{at}{name}");
            properties(property, &format!("{name}."), found);
            found.insert(name, property.clone());
        }
    }

    fn compare(schema: &str, read: BTreeMap<String, Accepts>) {
        let mut documented = BTreeMap::new();
        properties(&document()["components"]["schemas"][schema], "", &mut documented);
        // What is never accepted is no field, although its refusal says that others have it.
        let read: BTreeMap<String, Accepts> =
            read.into_iter().filter(|(name, accepts)| !name.contains('[') && *accepts != Accepts::Only(vec![])).collect();
        assert_eq!(documented.keys().collect::<Vec<_>>(), read.keys().collect::<Vec<_>>(), "{schema}");
        for (name, accepts) in read {
            if let Accepts::Only(values) = accepts
                // What it may be depends on another field.
                && name != "best_of"
            {
                assert_eq!(documented[&name]["enum"], json!(values), "{schema}: {name}");
            }
        }
    }

    #[test]
    fn the_chat_routes_fields_are_those_that_are_read() {
        let body = json!({
            "model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": true, "stream_options": {},
            "response_format": {"type": "json_schema", "json_schema": {"name": "x"}},
        });
        compare("ChatCompletionRequest", during(|| drop(openai::read_chat(body, &served()).unwrap())));
    }

    #[test]
    fn the_completion_routes_fields_are_those_that_are_read() {
        let body = json!({"model": "m", "prompt": "Hi", "stream": true, "stream_options": {}});
        compare("CompletionRequest", during(|| drop(openai::read_completion_to_render(body, &served()).unwrap())));
    }

    #[test]
    fn the_messages_routes_fields_are_those_that_are_read() {
        let body = json!({
            "model": "m", "max_tokens": 2048, "messages": [{"role": "user", "content": "Hi"}], "metadata": {},
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "output_config": {"format": {"type": "json_schema", "schema": {}}},
        });
        compare("MessagesRequest", during(|| drop(anthropic::read_to_render(body, &served()).unwrap())));
    }

    #[test]
    fn a_messages_fields_are_those_that_are_read() {
        let mut all = BTreeMap::new();
        for message in [
            json!({"role": "user", "content": "Hi"}),
            json!({"role": "assistant", "content": "Hi"}),
            json!({"role": "tool", "content": "Hi", "tool_call_id": "1"}),
        ] {
            let body = json!({"model": "m", "messages": [message]});
            let read = during(|| drop(openai::read_chat(body, &served()).unwrap()));
            let own = |(name, accepts): (String, Accepts)| Some((name.strip_prefix("messages[0].")?.to_owned(), accepts));
            all.extend(read.into_iter().filter_map(own));
        }
        compare("Message", all);
    }
}
