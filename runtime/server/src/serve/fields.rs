//! Strict reading of a JSON object: every field is read once, and a field that nobody has read is an error.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::error::ApiError;

/// An object whose fields are taken out one by one. A field that is null counts as not given, as the API documents it.
#[derive(Debug)]
pub(super) struct Fields {
    object: Map<String, Value>,
    /// Its name from the root of the body; empty for the body itself.
    at: String,
}

impl Fields {
    /// The fields of `value`, which is called `at` in errors.
    pub(super) fn new(value: Value, at: impl Into<String>) -> Result<Self, ApiError> {
        let at = at.into();
        match value {
            Value::Object(object) => Ok(Self { object, at }),
            other if at.is_empty() => {
                let message = format!("the body must be a JSON object, and is {}", kind(&other));
                Err(ApiError::request("invalid_type", message))
            }
            other => Err(wrong_type(&at, "an object", &other)),
        }
    }

    /// The full name of a field.
    pub(super) fn name(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) }
    }

    /// Takes a field of any type.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.object.remove(key).filter(|value| !value.is_null())
    }

    /// Whether a field is given and was not taken.
    pub(super) fn has(&self, key: &str) -> bool {
        self.object.get(key).is_some_and(|value| !value.is_null())
    }

    /// Takes a field that must be given.
    pub(super) fn required(&mut self, key: &str) -> Result<Value, ApiError> {
        self.take(key).ok_or_else(|| self.missing(key))
    }

    /// The error about a field that is not given.
    pub(super) fn missing(&self, key: &str) -> ApiError {
        let name = self.name(key);
        ApiError::field("missing_required_parameter", &name, format!("`{name}` is missing"))
    }

    /// Takes a text.
    pub(super) fn string(&mut self, key: &str) -> Result<Option<String>, ApiError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(&self.name(key), "a string", &other)),
        }
    }

    /// Takes a text that must be given.
    pub(super) fn required_string(&mut self, key: &str) -> Result<String, ApiError> {
        self.string(key)?.ok_or_else(|| self.missing(key))
    }

    /// Takes a truth value.
    pub(super) fn boolean(&mut self, key: &str) -> Result<Option<bool>, ApiError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(wrong_type(&self.name(key), "true or false", &other)),
        }
    }

    /// Takes a number within a range.
    pub(super) fn number(&mut self, key: &str, range: RangeInclusive<f64>) -> Result<Option<f64>, ApiError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let Some(number) = value.as_f64() else { return Err(wrong_type(&self.name(key), "a number", &value)) };
        if range.contains(&number) { Ok(Some(number)) } else { Err(out_of_range(&self.name(key), &value, &range)) }
    }

    /// Takes an integer within a range.
    pub(super) fn integer(&mut self, key: &str, range: RangeInclusive<i128>) -> Result<Option<i128>, ApiError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let number = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
        let Some(number) = number else { return Err(wrong_type(&self.name(key), "an integer", &value)) };
        if range.contains(&number) { Ok(Some(number)) } else { Err(out_of_range(&self.name(key), &value, &range)) }
    }

    /// Takes a field that the API documents and this server does not implement. Values that ask for nothing pass.
    pub(super) fn unsupported(&mut self, key: &str, asks_nothing: &[Value]) -> Result<(), ApiError> {
        match self.take(key) {
            Some(value) if !asks_nothing.contains(&value) => {
                let name = self.name(key);
                let pass: Vec<String> = asks_nothing.iter().map(|v| format!("`{v}`")).collect();
                let but = if pass.is_empty() { String::new() } else { format!(" (only {} is accepted)", pass.join(" or ")) };
                Err(ApiError::field("unsupported_parameter", &name, format!("`{name}` is not supported by this server{but}")))
            }
            _ => Ok(()),
        }
    }

    /// Ends the reading: whatever is left was not asked for.
    pub(super) fn finish(self) -> Result<(), ApiError> {
        match self.object.keys().next() {
            None => Ok(()),
            Some(key) => {
                let name = self.name(key);
                Err(ApiError::field("unknown_parameter", &name, format!("`{name}` is not a field of this request")))
            }
        }
    }
}

/// The error about a value of another type than `wanted`.
pub(super) fn wrong_type(name: &str, wanted: &str, found: &Value) -> ApiError {
    ApiError::field("invalid_type", name, format!("`{name}` must be {wanted}, and is {}", kind(found)))
}

fn out_of_range<T: Display>(name: &str, value: &Value, range: &RangeInclusive<T>) -> ApiError {
    let message = format!("`{name}` is {value}, and must be from {} to {}", range.start(), range.end());
    ApiError::field("invalid_value", name, message)
}

/// What a value is, in words; numbers are shown, since an integer and a fraction differ.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Fields {
        Fields::new(value, "a[0]").unwrap()
    }

    #[test]
    fn what_nobody_reads_is_an_error_with_its_full_name() {
        let mut some = fields(json!({"known": null, "other": 1}));
        assert_eq!(some.take("known"), None);
        let error = some.finish().unwrap_err();
        assert_eq!((error.code, error.param.as_deref()), ("unknown_parameter", Some("a[0].other")));
        assert_eq!(fields(json!({})).finish(), Ok(()));
    }

    #[test]
    fn types_and_ranges_are_told_with_the_value() {
        let message = |error: ApiError| error.message;
        let one = |value: Value| fields(json!({ "x": value }));
        assert_eq!(message(one(json!("nan")).number("x", 0.0..=2.0).unwrap_err()), "`a[0].x` must be a number, and is a string");
        assert_eq!(message(one(json!(2.5)).number("x", 0.0..=2.0).unwrap_err()), "`a[0].x` is 2.5, and must be from 0 to 2");
        assert_eq!(message(one(json!(-7)).integer("x", 1..=9).unwrap_err()), "`a[0].x` is -7, and must be from 1 to 9");
        let fraction = one(json!(1.5)).integer("x", 1..=9).unwrap_err();
        assert_eq!(message(fraction), "`a[0].x` must be an integer, and is the number 1.5");
        assert_eq!(one(json!(u64::MAX)).integer("x", 0..=u64::MAX.into()), Ok(Some(u64::MAX.into())));
        assert_eq!(message(one(json!(1)).boolean("x").unwrap_err()), "`a[0].x` must be true or false, and is the number 1");
        assert_eq!(message(one(json!([])).string("x").unwrap_err()), "`a[0].x` must be a string, and is an array");
        assert_eq!(message(one(json!(null)).required("x").unwrap_err()), "`a[0].x` is missing");
        let body = Fields::new(json!([1]), "").unwrap_err();
        assert_eq!((body.param, body.message.as_str()), (None, "the body must be a JSON object, and is an array"));
    }

    #[test]
    fn an_unsupported_field_may_ask_for_nothing() {
        let one = |value: Value| fields(json!({ "x": value })).unsupported("x", &[json!(0), json!(0.0)]);
        assert_eq!((one(json!(0)), one(json!(0.0)), one(json!(null))), (Ok(()), Ok(()), Ok(())));
        assert_eq!(
            one(json!(1)).unwrap_err().message,
            "`a[0].x` is not supported by this server (only `0` or `0.0` is accepted)"
        );
        let never = fields(json!({"x": 1})).unsupported("x", &[]).unwrap_err();
        assert_eq!(never.message, "`a[0].x` is not supported by this server");
    }
}
