//! JSON in which a repeated key is an error: readers that keep the first or the last one disagree about what a file says.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Why a text is not JSON, or not JSON that has one meaning.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct JsonError(#[from] serde_json::Error);

/// Reads one JSON value; a key that stands twice in an object is an error that names it.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    Ok(serde_json::from_slice::<Strict>(text)?.0)
}

/// A [`Value`] that was read without repeated keys.
pub(crate) struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = from.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
            let Strict(value) = from.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_what_serde_json_reads() {
        let text = br#"{"a": [1, -2, 0.5, null, true, "\u00e9"], "b": {"c": {}}}"#;
        assert_eq!(parse(text).unwrap(), serde_json::from_slice::<serde_json::Value>(text).unwrap());
    }

    #[test]
    fn a_repeated_key_is_named() {
        let error = parse(br#"{"a": {"b": 1, "b": 2}}"#).unwrap_err().to_string();
        assert_eq!(error, "duplicate key `b` at line 1 column 18");
    }

    #[test]
    fn deep_nesting_is_an_error() {
        assert!(parse("[".repeat(100_000).as_bytes()).unwrap_err().to_string().contains("recursion limit"));
    }
}
