//! How schemas are given to llguidance.

use serde_json::{Value, json};

use super::lark::SPACE;

/// A schema with the options of its compiler: bounded whitespace, and escapes of any character as models write them.
pub(super) fn with_options(mut schema: Value, strict: bool) -> Value {
    // What may be absent everywhere else is never empty here: the compiler decides where whitespace may stand.
    let whitespace = SPACE.trim_end_matches('?');
    if let Value::Object(schema) = &mut schema {
        schema.insert(
            "x-guidance".to_owned(),
            json!({
                "whitespace_pattern": whitespace,
                "json_allow_general_unicode_escapes": true,
                // Passes over keywords that it does not know, and takes oneOf for anyOf.
                "lenient": !strict,
            }),
        );
    }
    schema
}

/// Any object.
pub(super) fn object() -> Value {
    with_options(json!({ "type": "object" }), true)
}
