//! The calls of `qwen3_coder`: parameters as text.
//!
//! Parameters come in the order of the schema, those that are required without exception. A parameter of a string type stands as it
//! is, between its tags; one of any other type is JSON. A text that may be a string or something else is free, since the parser
//! takes it for what it looks like: of a strict function its schema can be no more than a list of such types.

use serde_json::{Map, Value, json};

use super::json::with_options;
use super::lark::{Lark, escape, pattern, without};
use super::{GrammarError, SchemaPlace, schema};
use crate::tools::Declared;

/// What a parameter's text cannot hold: the parser would see the end of it, or of the function, or the next parameter.
const NOT_IN_TEXT: &str = r"<\/parameter>|\n<parameter=|<\/function>";
/// References that lead to references.
const LONGEST_CHAIN: usize = 16;

/// A call from behind the opening tag.
pub(super) fn body(lark: &mut Lark, index: usize, function: &Declared) -> Result<String, GrammarError> {
    let place = SchemaPlace::Function(index);
    let root = schema::object_schema(function.parameters.as_ref(), place)?;
    // The whole is checked, so that a fault is told with its place in it.
    let prepared = schema::prepare(&root, function.strict, place)?;
    let none = Map::new();
    let properties = root["properties"].as_object().unwrap_or(&none);
    let required: Vec<&str> = root["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fault = |path: &str, what: &str| GrammarError::Schema { place, path: path.to_owned(), what: what.to_owned() };
    if function.strict {
        let joint = ["anyOf", "oneOf", "allOf", "$ref", "minProperties", "maxProperties", "enum", "const", "patternProperties"];
        if let Some(keyword) = joint.into_iter().find(|keyword| root.get(keyword).is_some()) {
            return Err(fault(keyword, "the model's calls write one parameter at a time, and this keyword is about all of them"));
        }
    }
    if let Some(missing) = required.iter().find(|name| !properties.contains_key(**name)) {
        return Err(fault("required", &format!("`{}` is required and not among the properties", missing.escape_debug())));
    }
    let mut parts = vec![pattern(&format!(r"[ \n]{{0,2}}<function={}>\n?", escape(&function.name)))];
    for (number, (name, property)) in properties.iter().enumerate() {
        let path = format!("properties.{name}");
        if name.contains(['>', '\n', '<']) {
            return Err(fault(&path, "the model's calls write names in tags, and this one has a character that ends them"));
        }
        let value = match Text::of(property, &root, LONGEST_CHAIN) {
            Text::Json => {
                let one = alone(&prepared, name).ok_or_else(|| {
                    fault(
                        &path,
                        "references are to `#/$defs/` or `#/definitions/` where a model's calls write each parameter by itself",
                    )
                })?;
                let json = lark.json(&format!("args_{index}_{number}"), &with_options(one, function.strict));
                format!(r"/\n?/ {json} {}", pattern(r"[ \n]{0,2}<\/parameter>\n?"))
            }
            Text::OneOf(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| escape(text)).collect();
                pattern(&format!(r"\n?({})\n?<\/parameter>\n?", texts.join("|")))
            }
            Text::Free { least, most } => {
                let most = most.map_or(String::new(), |most| most.to_string());
                let length = match (least, most.as_str()) {
                    (0, "") => String::new(),
                    (least, most) => format!(r" & /\n(?s:.){{{least},{most}}}\n/"),
                };
                let text = format!("P_{index}_{number}");
                lark.rule(&text, &format!(r"({}{length}) /<\/parameter>\n?/", without(NOT_IN_TEXT)));
                text
            }
            Text::Unenforced(keyword) if function.strict => {
                return Err(fault(
                    &path,
                    &format!("`{keyword}` is not enforced on a text that the model's calls write without quotes"),
                ));
            }
            Text::Unenforced(_) => {
                let text = format!("P_{index}_{number}");
                lark.rule(&text, &format!(r"{} /<\/parameter>\n?/", without(NOT_IN_TEXT)));
                text
            }
        };
        let parameter = format!("{} {value}", pattern(&format!("<parameter={}>", escape(name))));
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        parts.push(format!("({parameter}){optional}"));
    }
    parts.push(pattern(r"<\/function>[ \n]{0,2}<\/tool_call>"));
    Ok(lark.rule(&format!("call_{index}"), &parts.join(" ")))
}

/// How the text of a parameter is written.
enum Text {
    /// As JSON.
    Json,
    /// One of these strings.
    OneOf(Vec<String>),
    /// Any string, of so many characters.
    Free { least: u64, most: Option<u64> },
    /// A string of which this keyword asks more, or which may be something else.
    Unenforced(&'static str),
}

impl Text {
    fn of(schema: &Value, root: &Value, left: usize) -> Self {
        let target = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
        if let Some(target) = target.filter(|_| left > 0) {
            return Self::of(target, root, left - 1);
        }
        let keywords = [("anyOf", schema.get("anyOf")), ("oneOf", schema.get("oneOf")), ("allOf", schema.get("allOf"))];
        for (keyword, listed) in keywords {
            let options = listed.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if options.iter().any(|option| !matches!(Self::of(option, root, left.saturating_sub(1)), Self::Json)) && left > 0 {
                return Self::Unenforced(keyword);
            }
        }
        let has_options = keywords.iter().any(|(_, listed)| listed.is_some());
        let listed = schema["enum"].as_array().cloned().or_else(|| schema.get("const").map(|value| vec![value.clone()]));
        let is_string = |types: &Value| types == "string" || *types == json!(["string"]);
        let may_be_string = match (&schema["type"], &listed) {
            (Value::String(name), _) => name == "string",
            (Value::Array(names), _) => names.contains(&json!("string")),
            (_, Some(values)) => values.iter().any(Value::is_string),
            _ => !has_options,
        };
        if !may_be_string {
            return Self::Json;
        }
        if let Some(values) = listed {
            let texts: Option<Vec<String>> = values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
            return texts.filter(|texts| texts.iter().all(|text| is_plain(text))).map_or(Self::Unenforced("enum"), Self::OneOf);
        }
        if let Some(keyword) = ["pattern", "format"].into_iter().find(|keyword| schema.get(keyword).is_some()) {
            return Self::Unenforced(keyword);
        }
        let (least, most) = (schema["minLength"].as_u64().unwrap_or(0), schema["maxLength"].as_u64());
        if is_string(&schema["type"]) {
            return Self::Free { least, most };
        }
        let more = ["minLength", "maxLength", "items", "properties", "minimum", "maximum", "required", "additionalProperties"];
        match more.into_iter().find(|keyword| schema.get(keyword).is_some()) {
            Some(keyword) => Self::Unenforced(keyword),
            None => Self::Free { least: 0, most: None },
        }
    }
}

/// Whether a string comes back as it was written.
fn is_plain(text: &str) -> bool {
    !(text.starts_with('\n')
        || text.ends_with('\n')
        || ["</parameter>", "\n<parameter=", "</function>"].iter().any(|tag| text.contains(tag)))
}

/// The schema of one parameter as a document of its own, with the definitions that it may refer to.
fn alone(root: &Value, name: &str) -> Option<Value> {
    let property = root["properties"].get(name)?;
    let mut document = match property {
        Value::Object(property) => property.clone(),
        other => Map::from_iter([("allOf".to_owned(), json!([other]))]),
    };
    for key in ["$defs", "definitions", "$schema"] {
        if let Some(value) = root.get(key) {
            document.insert(key.to_owned(), value.clone());
        }
    }
    let document = Value::Object(document);
    refers_to_definitions(&document).then_some(document)
}

fn refers_to_definitions(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().all(|(key, value)| match (key.as_str(), value) {
            ("$ref", Value::String(to)) => to.starts_with("#/$defs/") || to.starts_with("#/definitions/"),
            (_, value) => refers_to_definitions(value),
        }),
        Value::Array(list) => list.iter().all(refers_to_definitions),
        _ => true,
    }
}
