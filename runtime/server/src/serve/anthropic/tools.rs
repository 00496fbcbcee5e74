//! `tools` and `tool_choice`.

use serde_json::{Value, json};
use tenon_formats::tools::{Declared, ToolChoice};

use super::blocks::cache_control;
use crate::serve::declared::{self, Names};
use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::request::Tools;

/// Most characters of a tool's name.
const MAX_NAME: usize = 128;

/// Reads both fields. A choice of none declares none.
pub(super) fn read(fields: &mut Fields) -> Result<Tools, ApiError> {
    let (mut functions, mut names) = (Vec::new(), Names::default());
    for (i, tool) in declared::list(fields)?.into_iter().enumerate() {
        functions.push(one(tool, i, &mut names)?);
    }
    let declared = functions.iter().map(Declared::openai).collect();
    let mut tools = Tools { declared, functions: functions.into(), ..Tools::default() };
    if let Some(choice) = fields.take("tool_choice") {
        choose(&mut tools, &names, Fields::new(choice, "tool_choice")?)?;
    }
    Ok(tools)
}

fn one(tool: Value, index: usize, names: &mut Names) -> Result<Declared, ApiError> {
    let at = format!("tools[{index}]");
    let mut fields = Fields::new(tool, &*at)?;
    let name = fields.string("name")?;
    if let Some(kind) = fields.string("type")?.filter(|kind| kind != "custom") {
        let called = name.map_or_else(String::new, |name| format!(" (`{name}`)"));
        let message = format!(
            "`{at}.type` is `{kind}`{called}, a tool that Anthropic's service defines or runs; this server takes tools of type `custom`, \
             with an `input_schema`"
        );
        return Err(ApiError::field("unsupported_value", fields.name("type"), message));
    }
    let name = name.ok_or_else(|| fields.missing("name"))?;
    names.add(&name, index, &fields.name("name"), MAX_NAME)?;
    let description = fields.string("description")?;
    let schema = fields.required("input_schema")?;
    let of_object = schema.as_object().ok_or_else(|| wrong_type(&fields.name("input_schema"), "an object", &schema))?;
    if of_object.get("type").is_some_and(|kind| kind != "object") {
        let message =
            format!("`{at}.input_schema.type` is `{}`, and must be `object`: a call has named arguments", of_object["type"]);
        return Err(ApiError::field("invalid_value", fields.name("input_schema.type"), message));
    }
    let strict = fields.boolean("strict")?.unwrap_or(false);
    cache_control(&mut fields)?;
    // Inputs always stream as they are generated.
    fields.boolean("eager_input_streaming")?;
    fields.unsupported("defer_loading", &[json!(false)])?;
    fields.unsupported("allowed_callers", &[json!(["direct"])])?;
    fields.unsupported("input_examples", &[json!([])])?;
    fields.finish()?;
    Ok(Declared { name, description, parameters: Some(schema), strict })
}

fn choose(tools: &mut Tools, names: &Names, mut fields: Fields) -> Result<(), ApiError> {
    let kind = fields.required_string("type")?;
    let forces = match kind.as_str() {
        "none" => {
            *tools = Tools::default();
            return fields.finish();
        }
        "auto" => false,
        "any" => {
            tools.choice = ToolChoice::Required;
            true
        }
        "tool" => {
            let name = fields.required_string("name")?;
            names.find(&name, "tool_choice.name")?;
            tools.choice = ToolChoice::Named(name);
            true
        }
        other => {
            let message = format!("`tool_choice.type` is `{other}`, and must be auto, any, tool or none");
            return Err(ApiError::field("invalid_value", "tool_choice.type", message));
        }
    };
    tools.parallel = !fields.boolean("disable_parallel_tool_use")?.unwrap_or(false);
    fields.finish()?;
    if forces { names.some() } else { Ok(()) }
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
        json!({"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}})
    }

    #[test]
    fn tools_are_declared_as_the_parsers_and_the_templates_have_them() {
        let strict = json!({
            "type": "custom", "name": "g-1", "input_schema": {"type": "object"}, "strict": true, "eager_input_streaming": true,
            "cache_control": {"type": "ephemeral"}, "defer_loading": false, "allowed_callers": ["direct"], "input_examples": [],
        });
        let read = tools(json!({"tools": [f(), strict]})).unwrap();
        let expected = [
            Declared {
                name: "f".into(),
                description: Some("d".into()),
                parameters: Some(json!({"type": "object", "properties": {}})),
                strict: false,
            },
            Declared { name: "g-1".into(), description: None, parameters: Some(json!({"type": "object"})), strict: true },
        ];
        assert_eq!((&*read.functions, read.choice, read.parallel), (&expected[..], ToolChoice::Auto, true));
        let f = json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": f()["input_schema"]}});
        assert_eq!((read.declared.len(), &read.declared[0]), (2, &f));
        assert_eq!(tools(json!({})).unwrap(), Tools::default());
    }

    #[test]
    fn a_choice_says_what_must_be_called_and_how_often() {
        for (choice, declared, forced, parallel) in [
            (json!(null), 1, ToolChoice::Auto, true),
            (json!({"type": "auto"}), 1, ToolChoice::Auto, true),
            (json!({"type": "auto", "disable_parallel_tool_use": true}), 1, ToolChoice::Auto, false),
            (json!({"type": "any"}), 1, ToolChoice::Required, true),
            (json!({"type": "tool", "name": "f", "disable_parallel_tool_use": true}), 1, ToolChoice::Named("f".into()), false),
            (json!({"type": "none"}), 0, ToolChoice::Auto, true),
        ] {
            let read = tools(json!({"tools": [f()], "tool_choice": choice})).unwrap();
            assert_eq!((read.declared.len(), read.choice, read.parallel), (declared, forced, parallel), "{choice}");
            assert_eq!(read.functions.len(), declared);
        }
        assert!(tools(json!({"tool_choice": {"type": "auto"}})).is_ok());
    }

    #[test]
    fn what_is_wrong_is_named_from_the_root() {
        let with = |more: Value| {
            let mut tool = f();
            tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"tools": [tool]})
        };
        for (body, param) in [
            (json!({"tools": {}}), "tools"),
            (json!({"tools": [f(), "g"]}), "tools[1]"),
            (json!({"tools": [{"input_schema": {}}]}), "tools[0].name"),
            (json!({"tools": [{"name": "f"}]}), "tools[0].input_schema"),
            (json!({"tools": [f(), f()]}), "tools[1].name"),
            (with(json!({"name": "a>b"})), "tools[0].name"),
            (with(json!({"name": ""})), "tools[0].name"),
            (with(json!({"name": "n".repeat(129)})), "tools[0].name"),
            (with(json!({"input_schema": "x"})), "tools[0].input_schema"),
            (with(json!({"input_schema": {"type": "array"}})), "tools[0].input_schema.type"),
            (with(json!({"parameters": {}})), "tools[0].parameters"),
            (with(json!({"strict": 1})), "tools[0].strict"),
            (with(json!({"defer_loading": true})), "tools[0].defer_loading"),
            (with(json!({"type": "function"})), "tools[0].type"),
            (json!({"tools": [f()], "tool_choice": "any"}), "tool_choice"),
            (json!({"tools": [f()], "tool_choice": {}}), "tool_choice.type"),
            (json!({"tools": [f()], "tool_choice": {"type": "required"}}), "tool_choice.type"),
            (json!({"tools": [f()], "tool_choice": {"type": "tool"}}), "tool_choice.name"),
            (json!({"tools": [f()], "tool_choice": {"type": "tool", "name": "g"}}), "tool_choice.name"),
            (json!({"tools": [f()], "tool_choice": {"type": "any", "name": "f"}}), "tool_choice.name"),
            (
                json!({"tools": [f()], "tool_choice": {"type": "none", "disable_parallel_tool_use": true}}),
                "tool_choice.disable_parallel_tool_use",
            ),
            (json!({"tools": [], "tool_choice": {"type": "any"}}), "tool_choice"),
        ] {
            assert_eq!(tools(body.clone()).unwrap_err().param.as_deref(), Some(param), "{body}");
        }
    }

    #[test]
    fn tools_of_the_service_are_refused_by_name() {
        let error = tools(json!({"tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]})).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("tools[0].type"));
        assert!(error.message.contains("`web_search_20250305` (`web_search`)"), "{}", error.message);
    }
}
