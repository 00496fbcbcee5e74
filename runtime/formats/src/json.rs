//! JSON in which a repeated key is an error: readers that keep the first or the last one disagree about what a file says.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::shown::shown;

/// Values that a text may hold, all levels together. An object of five characters takes hundreds of bytes of memory; configs have
/// hundreds of values, and tens of thousands where they name the classes of a classifier.
pub const MAX_VALUES: usize = 1 << 16;

/// Why a text is not JSON, or not JSON that has one meaning.
#[derive(Debug, thiserror::Error)]
#[error("{}", shown(&.0.to_string()))]
pub struct JsonError(#[from] serde_json::Error);

/// Reads one JSON value; a key that stands twice in an object is an error that names it, and so are more than [`MAX_VALUES`].
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    parse_within(text, MAX_VALUES)
}

/// The same with another limit.
pub fn parse_within(text: &[u8], most: usize) -> Result<Value, JsonError> {
    let left = Cell::new(most);
    let mut from = serde_json::Deserializer::from_slice(text);
    let value = Strict { left: &left, most }.deserialize(&mut from)?;
    from.end()?;
    Ok(value)
}

/// Reads a [`Value`] without repeated keys.
#[derive(Clone, Copy)]
struct Strict<'a> {
    /// Values that may still come.
    left: &'a Cell<usize>,
    /// All of them.
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => return Err(D::Error::custom(format!("more than {} values", self.most))),
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
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
        while let Some(item) = from.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(duplicate("key", &key));
            }
            let value = from.next_value_seed(self)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// The error of a name that stands twice.
pub(crate) fn duplicate<E: Error>(what: &str, name: &str) -> E {
    E::custom(format_args!("duplicate {what} `{}`", shown(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn reads_what_serde_json_reads() {
        let text = br#"{"a": [1, -2, 0.5, null, true, "\u00e9"], "b": {"c": {}}}"#;
        assert_eq!(parse(text).unwrap(), serde_json::from_slice::<Value>(text).unwrap());
        assert!(message("{} {}").starts_with("trailing characters"));
    }

    #[test]
    fn a_repeated_key_is_named() {
        assert_eq!(message(r#"{"a": {"b": 1, "b": 2}}"#), "duplicate key `b` at line 1 column 18");
        let long = format!(r#"{{"{0}": 1, "{0}": 2}}"#, "k".repeat(100_000));
        assert!(message(&long).len() < 400);
    }

    #[test]
    fn deep_nesting_is_an_error() {
        for open in ["[", r#"{"a":"#] {
            assert!(message(&open.repeat(100_000)).contains("recursion limit"), "{open}");
        }
    }

    #[test]
    fn values_are_counted() {
        let list = |values: usize| format!("[{}0]", "0,".repeat(values - 2));
        assert!(parse(list(MAX_VALUES).as_bytes()).is_ok());
        assert!(message(&list(MAX_VALUES + 1)).starts_with("more than 65536 values"));
    }
}
