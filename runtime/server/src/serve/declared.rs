//! What both dialects ask of tools, whatever they call their fields.

use std::collections::HashMap;

use serde_json::Value;

use super::error::ApiError;
use super::fields::{Fields, wrong_type};

/// Takes `tools`; none is an empty list.
pub(super) fn list(fields: &mut Fields) -> Result<Vec<Value>, ApiError> {
    match fields.take("tools") {
        None => Ok(Vec::new()),
        Some(Value::Array(tools)) => Ok(tools),
        Some(other) => Err(wrong_type("tools", "an array", &other)),
    }
}

/// The names of the functions of one request, each with its place.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    /// Takes the name of function `index`, which stands at `at` and has `most` characters at most. Names stand within the marks of a
    /// call's format, and two functions of one name could not be told apart in a call.
    pub(super) fn add(&mut self, name: &str, index: usize, at: &str, most: usize) -> Result<(), ApiError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=most).contains(&name.len()) || !name.bytes().all(is_plain) {
            let shown = name.escape_debug();
            let message = format!("`{at}` is `{shown}`, and must be 1 to {most} letters, digits, underscores and dashes");
            return Err(ApiError::field("invalid_value", at, message));
        }
        match self.0.insert(name.to_owned(), index) {
            None => Ok(()),
            Some(first) => {
                let message = format!("`{at}` is `{name}`, which is the name of tools[{first}] already");
                Err(ApiError::field("invalid_value", at, message))
            }
        }
    }

    /// Refuses a choice, which stands at `at`, of a function that was not declared.
    pub(super) fn find(&self, name: &str, at: &str) -> Result<(), ApiError> {
        if self.0.contains_key(name) {
            return Ok(());
        }
        let message = format!("`{at}` is `{}`, which is not among `tools`", name.escape_debug());
        Err(ApiError::field("invalid_value", at, message))
    }

    /// Refuses to force a call where there is nothing to call.
    pub(super) fn some(&self) -> Result<(), ApiError> {
        if !self.0.is_empty() {
            return Ok(());
        }
        let message = "`tool_choice` asks for a call, and `tools` has nothing to call";
        Err(ApiError::field("invalid_value", "tool_choice", message))
    }
}
