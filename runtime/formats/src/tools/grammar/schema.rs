//! Schemas of requests: what in them cannot be enforced is told before anything is compiled.

use serde_json::{Map, Value, json};

use super::json::with_options;
use super::{GrammarError, SchemaPlace};

/// Keywords that are enforced.
const ENFORCED: [&str; 27] = [
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "const",
    "enum",
    "type",
    "items",
    "additionalItems",
    "prefixItems",
    "minItems",
    "maxItems",
    "properties",
    "additionalProperties",
    "patternProperties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// Keywords that constrain nothing. `$id` and its like are not among them: they change what a reference means.
const ANNOTATIONS: [&str; 15] = [
    "$anchor",
    "$defs",
    "definitions",
    "$schema",
    "$comment",
    "title",
    "description",
    "default",
    "readOnly",
    "writeOnly",
    "examples",
    "example",
    "deprecated",
    "contentMediaType",
    "contentEncoding",
];

/// Formats of texts that are enforced.
const FORMATS: [&str; 10] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

/// Values in a schema, and levels of nesting. A schema of the first size compiles within the limits of time and stack.
const MOST_VALUES: usize = 20_000;
const MOST_LEVELS: usize = 64;
/// Properties of one object: each that may be missing is a branch, and the work for a token grows with them.
const MOST_PROPERTIES: usize = 256;
/// The least common multiple of the digits of every `multipleOf`: divisibility is an automaton with as many states.
const LARGEST_MULTIPLE: u64 = 10_000;
/// References to definitions follow each other by recursion.
const MOST_REFERENCES: usize = 1_000;

/// A schema of arguments: always of an object. A function without one takes no arguments.
pub(super) fn of_arguments(schema: Option<&Value>, strict: bool, place: SchemaPlace) -> Result<Value, GrammarError> {
    let schema = object_schema(schema, place)?;
    prepare(&schema, strict, place)
}

/// The schema as one of an object.
pub(super) fn object_schema(schema: Option<&Value>, place: SchemaPlace) -> Result<Value, GrammarError> {
    match schema {
        None => Ok(json!({ "type": "object", "properties": {}, "additionalProperties": false })),
        Some(Value::Bool(true)) => Ok(json!({ "type": "object" })),
        Some(Value::Object(schema)) => {
            let has_object =
                |types: &Value| types == "object" || types.as_array().is_some_and(|list| list.contains(&json!("object")));
            if schema.get("type").is_some_and(|types| !has_object(types)) {
                return Err(fault(place, "type", format!("arguments are an object, and this is {}", schema["type"])));
            }
            let mut schema = schema.clone();
            schema.insert("type".to_owned(), json!("object"));
            Ok(Value::Object(schema))
        }
        Some(other) => Err(fault(place, "", format!("a schema is an object, and this is {other}"))),
    }
}

fn fault(place: SchemaPlace, path: &str, what: String) -> GrammarError {
    GrammarError::Schema { place, path: path.to_owned(), what }
}

/// A schema for the compiler: checked, and without annotations, of which the compiler refuses some.
pub(super) fn prepare(schema: &Value, strict: bool, place: SchemaPlace) -> Result<Value, GrammarError> {
    let mut walk = Walk { strict, place, path: Vec::new(), values: 0, references: 0, multiple: 1 };
    let mut schema = match schema {
        // The compiler takes no options beside a schema that is `true` or `false`.
        Value::Bool(true) => json!({}),
        Value::Bool(false) => return Err(fault(place, "", "no value is valid against `false`".to_owned())),
        schema => schema.clone(),
    };
    walk.schema(&mut schema)?;
    Ok(with_options(schema, strict))
}

/// A walk over the schemas of a schema.
struct Walk {
    strict: bool,
    place: SchemaPlace,
    path: Vec<String>,
    values: usize,
    references: usize,
    multiple: u64,
}

impl Walk {
    fn fault(&self, what: impl Into<String>) -> GrammarError {
        fault(self.place, &self.path.join("."), what.into())
    }

    fn within<T>(&mut self, key: &str, walk: impl FnOnce(&mut Self) -> Result<T, GrammarError>) -> Result<T, GrammarError> {
        self.path.push(key.to_owned());
        if self.path.len() > MOST_LEVELS {
            self.path.truncate(3);
            return Err(self.fault(format!("schemas may be nested {MOST_LEVELS} levels deep, and one in here is deeper")));
        }
        let walked = walk(self)?;
        self.path.pop();
        Ok(walked)
    }

    fn count(&mut self) -> Result<(), GrammarError> {
        self.values += 1;
        match self.values <= MOST_VALUES {
            true => Ok(()),
            false => Err(fault(self.place, "", format!("the schema has more than {MOST_VALUES} values"))),
        }
    }

    fn schema(&mut self, schema: &mut Value) -> Result<(), GrammarError> {
        self.count()?;
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            other => return Err(self.fault(format!("a schema is an object, and this is {}", kind(other)))),
        };
        let dropped: Vec<String> = keywords.keys().filter(|key| is_annotation(key)).cloned().collect();
        for key in dropped.iter().filter(|key| !matches!(key.as_str(), "$defs" | "definitions" | "$schema")) {
            keywords.remove(key);
        }
        self.keywords(keywords)
    }

    fn keywords(&mut self, keywords: &mut Map<String, Value>) -> Result<(), GrammarError> {
        let mut passed_over = Vec::new();
        for (key, value) in keywords.iter_mut() {
            let known = ENFORCED.contains(&key.as_str()) || is_annotation(key);
            if known {
                self.within(key, |walk| walk.keyword(key, value))?;
            } else if self.strict || key == "x-guidance" {
                return self
                    .within(key, |walk| Err(walk.fault(format!("the keyword `{}` is not supported here", key.escape_debug()))));
            } else {
                passed_over.push(key.clone());
            }
        }
        for key in passed_over {
            keywords.remove(&key);
        }
        Ok(())
    }

    fn keyword(&mut self, key: &str, value: &mut Value) -> Result<(), GrammarError> {
        match (key, value) {
            ("properties", Value::Object(schemas)) if schemas.len() > MOST_PROPERTIES => {
                Err(self.fault(format!("an object may have {MOST_PROPERTIES} properties, and this one has {}", schemas.len())))
            }
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(schemas)) => {
                schemas.iter_mut().try_for_each(|(name, schema)| self.within(name, |walk| walk.schema(schema)))
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                (0..).zip(schemas).try_for_each(|(i, schema): (usize, _)| self.within(&i.to_string(), |walk| walk.schema(schema)))
            }
            ("properties" | "patternProperties" | "$defs" | "definitions", other) => {
                Err(self.fault(format!("this is an object of schemas, and not {}", kind(other))))
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", other) => {
                Err(self.fault(format!("this is a list of schemas, and not {}", kind(other))))
            }
            ("items" | "additionalItems" | "additionalProperties", schema) => self.schema(schema),
            ("$ref", Value::String(to)) => {
                self.references += 1;
                if !to.starts_with('#') {
                    return Err(
                        self.fault(format!("references stay within the schema, and this one is to `{}`", to.escape_debug()))
                    );
                }
                match self.references <= MOST_REFERENCES {
                    true => Ok(()),
                    false => Err(fault(self.place, "", format!("the schema has more than {MOST_REFERENCES} references"))),
                }
            }
            ("format", Value::String(format)) if self.strict && !FORMATS.contains(&format.as_str()) => {
                Err(self.fault(format!("the format `{}` is not supported here", format.escape_debug())))
            }
            ("multipleOf", Value::Number(number)) => {
                let digits = number.to_string().trim_start_matches('-').replace('.', "");
                let multiple = digits.parse().ok().filter(|digits| *digits > 0 && *digits <= LARGEST_MULTIPLE);
                let multiple = multiple.map(|digits: u64| self.multiple / gcd(self.multiple, digits) * digits);
                match multiple.filter(|multiple| *multiple <= LARGEST_MULTIPLE) {
                    Some(multiple) => self.multiple = multiple,
                    None => return Err(self.fault(format!("together, multiples are not enforced beyond {LARGEST_MULTIPLE}"))),
                }
                Ok(())
            }
            ("enum" | "const", value) => self.data(value),
            _ => Ok(()),
        }
    }

    fn data(&mut self, value: &Value) -> Result<(), GrammarError> {
        self.count()?;
        match value {
            Value::Array(list) => list.iter().try_for_each(|value| self.data(value)),
            Value::Object(map) => map.values().try_for_each(|value| self.data(value)),
            _ => Ok(()),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn is_annotation(key: &str) -> bool {
    ANNOTATIONS.contains(&key) || (key.starts_with("x-") && key != "x-guidance")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
