//! `response_format`.

use serde_json::Value;

use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::request::OutputShape;

/// Reads what form the answer's text is to have.
pub(super) fn read(fields: &mut Fields) -> Result<OutputShape, ApiError> {
    let Some(format) = fields.take("response_format") else { return Ok(OutputShape::Text) };
    let mut format = Fields::new(format, fields.name("response_format"))?;
    let kind = format.required_string("type")?;
    let shape = match kind.as_str() {
        "text" => OutputShape::Text,
        "json_object" => OutputShape::JsonObject,
        "json_schema" => schema(&mut format)?,
        other => {
            let name = format.name("type");
            let message = format!("`{name}` is `{other}`, and must be text, json_object or json_schema");
            return Err(ApiError::field("invalid_value", name, message));
        }
    };
    format.finish()?;
    Ok(shape)
}

fn schema(format: &mut Fields) -> Result<OutputShape, ApiError> {
    let mut of = Fields::new(format.required("json_schema")?, format.name("json_schema"))?;
    of.required_string("name")?;
    of.string("description")?;
    let strict = of.boolean("strict")?.unwrap_or(false);
    let shape = match of.take("schema") {
        // Without one, any object is valid.
        None => OutputShape::JsonObject,
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => OutputShape::JsonSchema { schema, strict },
        Some(other) => return Err(wrong_type(&of.name("schema"), "a JSON schema", &other)),
    };
    of.finish()?;
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shape(format: Value) -> Result<OutputShape, ApiError> {
        let mut fields = Fields::new(json!({ "response_format": format }), "")?;
        read(&mut fields)
    }

    #[test]
    fn every_type_is_read() {
        let schema = json!({"type": "object"});
        let of = |schema: Value| json!({"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": schema}});
        for (format, expected) in [
            (json!(null), OutputShape::Text),
            (json!({"type": "text"}), OutputShape::Text),
            (json!({"type": "json_object"}), OutputShape::JsonObject),
            (of(schema.clone()), OutputShape::JsonSchema { schema, strict: true }),
            (of(json!(null)), OutputShape::JsonObject),
        ] {
            assert_eq!(shape(format.clone()), Ok(expected), "{format}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_from_the_root() {
        for (format, param) in [
            (json!("text"), "response_format"),
            (json!({}), "response_format.type"),
            (json!({"type": "grammar"}), "response_format.type"),
            (json!({"type": "text", "schema": {}}), "response_format.schema"),
            (json!({"type": "json_schema"}), "response_format.json_schema"),
            (json!({"type": "json_schema", "json_schema": {"schema": {}}}), "response_format.json_schema.name"),
            (json!({"type": "json_schema", "json_schema": {"name": "x", "schema": "y"}}), "response_format.json_schema.schema"),
            (json!({"type": "json_schema", "json_schema": {"name": "x", "schemas": {}}}), "response_format.json_schema.schemas"),
        ] {
            assert_eq!(shape(format.clone()).unwrap_err().param.as_deref(), Some(param), "{format}");
        }
    }
}
