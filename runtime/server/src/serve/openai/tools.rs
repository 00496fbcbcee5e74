//! `tools`, `tool_choice` and `parallel_tool_calls`.

use std::sync::Arc;

use serde_json::Value;
use tenon_formats::tools::{Declared, ToolChoice};

use crate::serve::declared::{self, Names};
use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::request::Tools;

/// Longest name of a function, as the API documents it.
const MAX_NAME: usize = 64;

/// Reads what may be called. A choice of none declares nothing: a model that is shown tools would call them.
pub(super) fn read(fields: &mut Fields) -> Result<Tools, ApiError> {
    let declared = declared::list(fields)?;
    let (functions, names) = functions(&declared)?;
    let parallel = fields.boolean("parallel_tool_calls")?.unwrap_or(true);
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
            names.find(&chosen, "tool_choice.function.name")?;
            ToolChoice::Named(chosen)
        }
    };
    if choice.is_forced() {
        names.some()?;
    }
    Ok(Tools { declared, functions, choice, parallel })
}

/// The same as the rest of the server reads it.
fn functions(declared: &[Value]) -> Result<(Arc<[Declared]>, Names), ApiError> {
    let (mut functions, mut names) = (Vec::with_capacity(declared.len()), Names::default());
    for (i, tool) in declared.iter().enumerate() {
        let function = function_of(tool.clone(), &format!("tools[{i}]"))?;
        names.add(&function.name, i, &format!("tools[{i}].function.name"), MAX_NAME)?;
        functions.push(function);
    }
    Ok((functions.into(), names))
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
    use serde_json::json;

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
        let read = tools(json!({"tools": [f()], "parallel_tool_calls": false})).unwrap();
        assert_eq!((&read.declared, read.parallel), (&vec![f()], false), "word for word");
        let function = &read.functions[0];
        assert_eq!((function.name.as_str(), function.strict), ("f", false));
        assert_eq!((function.description.as_deref(), &function.parameters), (Some("d"), &Some(json!({"type": "object"}))));
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
            (json!({"tools": [f(), f()]}), "tools[1].function.name"),
            (json!({"tools": [{"type": "function", "function": {"name": "a b"}}]}), "tools[0].function.name"),
            (json!({"tools": [{"type": "function", "function": {"name": ""}}]}), "tools[0].function.name"),
            (json!({"tools": [f()], "parallel_tool_calls": 1}), "parallel_tool_calls"),
            (json!({"tools": [f()], "tool_choice": {"type": "allowed_tools", "allowed_tools": {}}}), "tool_choice.type"),
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
