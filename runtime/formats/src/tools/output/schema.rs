//! The type that a schema gives to a parameter, and a text as a value of it.

use serde_json::{Value, json};

use super::json::JsonScanner;
use crate::tools::Declared;

/// What the text of a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A string, as it stands.
    Text,
    /// A string as it stands, but for the word that says that there is none.
    NullableText,
    /// A value of one of these types, as JSON; a string where it is none.
    Typed(Types),
    /// Nothing is known: JSON where it is that, and a string otherwise.
    Guess,
}

/// Types of JSON schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types {
    string: bool,
    number: bool,
    integer: bool,
    boolean: bool,
    object: bool,
    array: bool,
    null: bool,
}

/// References that lead to references.
const LONGEST_CHAIN: usize = 16;

impl Wanted {
    /// What a function's schema says of a parameter. A schema that lists others has no place for it, and its text stays text.
    pub(crate) fn of(function: Option<&Declared>, key: &str) -> Self {
        let Some(root) = function.and_then(|function| function.parameters.as_ref()) else { return Self::Guess };
        let Some(properties) = root["properties"].as_object().filter(|properties| !properties.is_empty()) else {
            return Self::Guess;
        };
        let Some(schema) = properties.get(key).or_else(|| root.get("additionalProperties").filter(|more| more.is_object()))
        else {
            return Self::Text;
        };
        let mut types = Types::default();
        types.add(schema, root, LONGEST_CHAIN);
        match types {
            _ if types == Types::default() => Self::Guess,
            _ if types == (Types { string: true, ..Types::default() }) => Self::Text,
            _ if types == (Types { string: true, null: true, ..Types::default() }) => Self::NullableText,
            _ => Self::Typed(types),
        }
    }

    /// A text as a JSON value.
    pub(crate) fn value(self, text: &str) -> String {
        let plain = || json!(text).to_string();
        let json = text.trim();
        match self {
            Self::Text => plain(),
            Self::NullableText if is_null(json) => "null".to_owned(),
            Self::NullableText => plain(),
            Self::Guess if JsonScanner::is_value(json) => json.to_owned(),
            Self::Guess => plain(),
            // Templates of the family write the values of a history as Python does: `True`, `None`.
            Self::Typed(types) if types.boolean && json.eq_ignore_ascii_case("true") => "true".to_owned(),
            Self::Typed(types) if types.boolean && json.eq_ignore_ascii_case("false") => "false".to_owned(),
            Self::Typed(types) if (types.null || !types.string) && is_null(json) => "null".to_owned(),
            Self::Typed(types) if JsonScanner::is_value(json) && types.have(json) => json.to_owned(),
            Self::Typed(_) => plain(),
        }
    }
}

/// The words for nothing.
pub(crate) const NULLS: [&str; 2] = ["null", "None"];

fn is_null(text: &str) -> bool {
    NULLS.contains(&text)
}

impl Types {
    fn add(&mut self, schema: &Value, root: &Value, left: usize) {
        let Some(left) = left.checked_sub(1) else { return };
        if let Some(target) = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?)) {
            self.add(target, root, left);
        }
        let listed = |key: &str| schema[key].as_array().map_or(&[][..], Vec::as_slice).iter();
        match &schema["type"] {
            Value::String(name) => self.name(name),
            Value::Array(names) => names.iter().filter_map(Value::as_str).for_each(|name| self.name(name)),
            _ => {
                listed("enum").chain(schema.get("const")).for_each(|value| self.like(value));
                self.object |= schema["properties"].is_object();
                self.array |= schema["items"].is_object();
            }
        }
        self.null |= schema["nullable"] == true;
        for key in ["anyOf", "oneOf", "allOf"] {
            listed(key).for_each(|schema| self.add(schema, root, left));
        }
    }

    fn name(&mut self, name: &str) {
        match name {
            "string" => self.string = true,
            "number" => self.number = true,
            "integer" => self.integer = true,
            "boolean" => self.boolean = true,
            "object" => self.object = true,
            "array" => self.array = true,
            "null" => self.null = true,
            _ => {}
        }
    }

    fn like(&mut self, value: &Value) {
        self.name(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        });
    }

    /// Whether a JSON value is of one of these types. One in quotes is a text with quotes: strings stand without.
    fn have(self, json: &str) -> bool {
        match json.as_bytes().first() {
            Some(b'{') => self.object,
            Some(b'[') => self.array,
            Some(b't' | b'f') => self.boolean,
            Some(b'n') => self.null,
            Some(b'-' | b'0'..=b'9') => {
                self.number || self.integer && json.parse::<f64>().is_ok_and(|number| number.fract() == 0.0)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(schema: Value, text: &str) -> String {
        let parameters =
            json!({"properties": {"p": schema}, "$defs": {"n": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}}});
        let function = Declared { name: "f".to_owned(), description: None, parameters: Some(parameters), strict: false };
        Wanted::of(Some(&function), "p").value(text)
    }

    #[test]
    fn texts_become_values_of_the_declared_type() {
        for (schema, text, expected) in [
            (json!({"type": "string"}), "42", "\"42\""),
            (json!({"type": "string"}), "null", "\"null\""),
            (json!({"type": "integer"}), " 7 ", "7"),
            (json!({"type": "integer"}), "7.0", "7.0"),
            (json!({"type": "integer"}), "7.5", "\"7.5\""),
            (json!({"type": "integer"}), "007", "\"007\""),
            (json!({"type": "integer"}), "null", "null"),
            (json!({"type": "number"}), "1e400", "\"1e400\""),
            (json!({"type": "number"}), "-1.50", "-1.50"),
            (json!({"type": "boolean"}), "True", "true"),
            (json!({"type": "boolean"}), "yes", "\"yes\""),
            (json!({"type": "object"}), "{\"a\": [1]}", "{\"a\": [1]}"),
            (json!({"type": "object"}), "{'a': 1}", "\"{'a': 1}\""),
            (json!({"type": "array"}), "[]", "[]"),
            (json!({"type": "null"}), "None", "null"),
            (json!({"type": ["string", "null"]}), "null", "null"),
            (json!({"type": "string", "nullable": true}), "nulls", "\"nulls\""),
            (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "None", "null"),
            (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), "42", "42"),
            (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), "true", "\"true\""),
            (json!({"oneOf": [{"type": "array"}, {"type": "string"}]}), "\"a\"", "\"\\\"a\\\"\""),
            (json!({"$ref": "#/$defs/n"}), "3", "3"),
            (json!({"$ref": "#/$defs/loop"}), "3", "3"),
            (json!({"enum": ["1", "2"]}), "1", "\"1\""),
            (json!({"const": 1}), "1", "1"),
            (json!({"properties": {}}), "{}", "{}"),
            (json!({"items": {"type": "string"}}), "[\"a\"]", "[\"a\"]"),
            (json!({}), "3", "3"),
            (json!({}), "a b", "\"a b\""),
        ] {
            assert_eq!(value(schema.clone(), text), expected, "{schema} {text}");
        }
    }

    #[test]
    fn a_parameter_that_the_schema_lacks_is_text_unless_nothing_is_known() {
        let function = |parameters| Declared { name: "f".to_owned(), description: None, parameters, strict: false };
        let listed = json!({"properties": {"a": {"type": "string"}}});
        let open = json!({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}});
        assert_eq!(Wanted::of(Some(&function(Some(listed))), "b").value("1"), "\"1\"");
        assert_eq!(Wanted::of(Some(&function(Some(open))), "b").value("1"), "1");
        assert_eq!(Wanted::of(Some(&function(Some(json!({"properties": {}})))), "b").value("1"), "1");
        assert_eq!(Wanted::of(Some(&function(None)), "b").value("1"), "1");
        assert_eq!(Wanted::of(None, "b").value("1"), "1");
    }
}
