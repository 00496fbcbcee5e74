//! `tools` and `tool_choice`.

use std::sync::Arc;

use serde_json::{Value, json};
use tenon_formats::tools::{Declared, ToolChoice};

use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::request::Tools;

/// Refuses tools: what a model calls would reach the client as text.
pub(super) fn refuse(fields: &mut Fields) -> Result<Tools, ApiError> {
    // First the tools that a choice could be among, so that the error names what the request is about.
    fields.unsupported("tools", &[json!([])])?;
    fields.unsupported("tool_choice", &[json!("none")])?;
    Ok(Tools::default())
}

/// Reads the tools that a prompt declares. A choice of none declares none.
pub(super) fn read(fields: &mut Fields) -> Result<Tools, ApiError> {
    let declared = match fields.take("tools") {
        None => Vec::new(),
        Some(Value::Array(tools)) => tools,
        Some(other) => return Err(wrong_type("tools", "an array", &other)),
    };
    let functions: Arc<[Declared]> = declared
        .iter()
        .enumerate()
        .map(|(i, tool)| function_of(tool.clone(), &format!("tools[{i}]")))
        .collect::<Result<_, _>>()?;
    let choice = match fields.take("tool_choice") {
        None => ToolChoice::Auto,
        Some(Value::String(choice)) => match choice.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => return Ok(Tools::default()),
            "required" => ToolChoice::Required,
            other => {
                let message = format!("`tool_choice` is `{other}`, and must be none, auto, required or a function");
                return Err(ApiError::field("invalid_value", "tool_choice", message));
            }
        },
        Some(chosen) => {
            let chosen = function_of(chosen, "tool_choice")?.name;
            if functions.iter().all(|function| function.name != chosen) {
                let message = format!("`tool_choice` names `{chosen}`, which is not among `tools`");
                return Err(ApiError::field("invalid_value", "tool_choice.function.name", message));
            }
            ToolChoice::Named(chosen)
        }
    };
    if choice.is_forced() && declared.is_empty() {
        let message = "`tool_choice` asks for a call, and `tools` has nothing to call";
        return Err(ApiError::field("invalid_value", "tool_choice", message));
    }
    Ok(Tools { declared, functions, choice, parallel: true })
}

/// The `function` of an object of `type` function, which has nothing else that is not read yet. `at` is where it stands.
pub(super) fn function(mut fields: Fields, at: &str) -> Result<Fields, ApiError> {
    let kind = fields.required_string("type")?;
    if kind != "function" {
        let message = format!("`{at}.type` is `{kind}`, and must be function");
        return Err(ApiError::field("unsupported_value", fields.name("type"), message));
    }
    let function = fields.required("function").and_then(|function| Fields::new(function, fields.name("function")))?;
    fields.finish()?;
    Ok(function)
}

/// A function, as a tool or as a choice.
fn function_of(value: Value, at: &str) -> Result<Declared, ApiError> {
    let mut function = function(Fields::new(value, at)?, at)?;
    let name = function.required_string("name")?;
    let description = function.string("description")?;
    let strict = function.boolean("strict")?.unwrap_or(false);
    let parameters = match function.take("parameters") {
        found @ (None | Some(Value::Object(_))) => found,
        Some(other) => return Err(wrong_type(&function.name("parameters"), "an object", &other)),
    };
    function.finish()?;
    Ok(Declared { name, description, parameters, strict })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(body: Value) -> Result<Tools, ApiError> {
        let mut fields = Fields::new(body, "")?;
        let tools = read(&mut fields)?;
        fields.finish()?;
        Ok(tools)
    }

    fn f() -> Value {
        json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": false}})
    }

    #[test]
    fn a_choice_says_whether_a_call_is_forced_and_whether_tools_are_declared() {
        let chosen = json!({"type": "function", "function": {"name": "f"}});
        for (choice, declared, call_forced) in [
            (json!(null), 1, false),
            (json!("auto"), 1, false),
            (json!("none"), 0, false),
            (json!("required"), 1, true),
            (chosen, 1, true),
        ] {
            let read = tools(json!({"tools": [f()], "tool_choice": choice})).unwrap();
            assert_eq!((read.declared.len(), read.choice.is_forced()), (declared, call_forced), "{choice}");
        }
        assert_eq!(tools(json!({"tools": [f()]})).unwrap().declared, [f()]);
        assert_eq!(tools(json!({})).unwrap(), Tools::default());
    }

    #[test]
    fn what_is_wrong_is_named_from_the_root() {
        for (body, param) in [
            (json!({"tools": {}}), "tools"),
            (json!({"tools": [f(), {"type": "function"}]}), "tools[1].function"),
            (json!({"tools": [{"type": "custom"}]}), "tools[0].type"),
            (
                json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]}),
                "tools[0].function.parameters",
            ),
            (json!({"tools": [{"type": "function", "function": {"name": "f", "x": 1}}]}), "tools[0].function.x"),
            (json!({"tools": [f()], "tool_choice": "any"}), "tool_choice"),
            (json!({"tools": [], "tool_choice": "required"}), "tool_choice"),
            (
                json!({"tools": [f()], "tool_choice": {"type": "function", "function": {"name": "g"}}}),
                "tool_choice.function.name",
            ),
        ] {
            assert_eq!(tools(body.clone()).unwrap_err().param.as_deref(), Some(param), "{body}");
        }
    }
}
