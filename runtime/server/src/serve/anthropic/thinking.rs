//! `thinking` and `output_config.effort`: whether the model reasons, how much, and whether it is shown.

use serde_json::{Map, Value, json};
use tenon_engine::ChatTemplate;
use tenon_formats::tools::ReasoningParser;

use super::blocks::one_of;
use crate::serve::error::ApiError;
use crate::serve::fields::Fields;
use crate::serve::prompt;

/// Fewest tokens of a budget, as the API has it.
const MIN_BUDGET: i128 = 1024;

/// What a request asks about reasoning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Thinking {
    asked: Asked,
    effort: Option<String>,
    /// Blocks of reasoning come without their text.
    pub(super) omitted: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Asked {
    /// The template decides, as on every route.
    #[default]
    Nothing,
    Disabled,
    /// The model may reason.
    Adaptive,
    /// The model must.
    Enabled,
}

/// What else of a request bears on reasoning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// Tools are declared.
    pub(super) tools: bool,
    /// The answer must be a call.
    pub(super) forced: bool,
    /// The answer is begun.
    pub(super) prefill: bool,
}

/// Reads `thinking`, beside the effort that `output_config` gives. `max_tokens` is that of the answer, where the route has one.
pub(super) fn read(fields: &mut Fields, effort: Option<String>, max_tokens: Option<usize>) -> Result<Thinking, ApiError> {
    let Some(value) = fields.take("thinking") else { return Ok(Thinking { effort, ..Thinking::default() }) };
    let mut fields = Fields::new(value, "thinking")?;
    let asked = match fields.required_string("type")?.as_str() {
        "disabled" => Asked::Disabled,
        "adaptive" => Asked::Adaptive,
        "enabled" => {
            budget(&mut fields, max_tokens)?;
            Asked::Enabled
        }
        other => {
            let message = format!("`thinking.type` is `{other}`, and must be enabled, disabled or adaptive");
            return Err(ApiError::field("unsupported_value", "thinking.type", message));
        }
    };
    let mut omitted = false;
    if asked != Asked::Disabled {
        omitted = one_of(&mut fields, "display", &["summarized", "omitted"], false)?.is_some_and(|display| display == "omitted");
    }
    fields.finish()?;
    Ok(Thinking { asked, effort, omitted })
}

/// A budget is checked as the API checks it. It does not end reasoning here, where `max_tokens` ends everything.
fn budget(fields: &mut Fields, max_tokens: Option<usize>) -> Result<(), ApiError> {
    let Some(budget) = fields.integer("budget_tokens", MIN_BUDGET..=u32::MAX.into())? else {
        return Err(fields.missing("budget_tokens"));
    };
    match max_tokens {
        Some(max_tokens) if budget >= max_tokens as i128 => {
            let message =
                format!("`thinking.budget_tokens` is {budget}, and must be less than `max_tokens`, which is {max_tokens}");
            Err(ApiError::field("invalid_value", "thinking.budget_tokens", message))
        }
        _ => Ok(()),
    }
}

impl Thinking {
    /// The variables with which the chat template is told; an error where the model cannot do what is asked for.
    pub(super) fn variables(&self, template: &ChatTemplate, beside: Beside) -> Result<Map<String, Value>, ApiError> {
        let reasoning = template.reasoning();
        let mut variables = match (self.asked, reasoning) {
            (Asked::Nothing, _) | (Asked::Disabled, None) => Map::new(),
            (Asked::Disabled, Some(_)) => off(template)?,
            (Asked::Adaptive | Asked::Enabled, None) => {
                return Err(refused("and this model does not reason: its spec says `[reasoning] parser = \"none\"`"));
            }
            (asked, Some(reasoning)) => {
                let quiet_beside_tools = template.tools().is_some_and(|format| !format.thinking);
                match beside {
                    // The first two are rules of the API.
                    Beside { prefill: true, .. } => {
                        return Err(refused("and the last message begins the answer, before which there is no reasoning then"));
                    }
                    Beside { forced: true, .. } if asked == Asked::Enabled => {
                        return Err(refused("and `tool_choice` forces a call; with reasoning it may be `auto` or `none`"));
                    }
                    Beside { tools: true, .. } if asked == Asked::Enabled && quiet_beside_tools => {
                        return Err(refused(
                            "and this model does not reason beside `tools`: its spec says `[tools] thinking = false`",
                        ));
                    }
                    _ => reasoning.variables(true),
                }
            }
        };
        if let Some(effort) = &self.effort {
            variables.extend(of_effort(effort, reasoning)?);
        }
        Ok(variables)
    }
}

fn refused(why: &str) -> ApiError {
    ApiError::field("unsupported_value", "thinking.type", format!("`thinking.type` asks for reasoning, {why}"))
}

/// Turns reasoning off, if the template can.
fn off(template: &ChatTemplate) -> Result<Map<String, Value>, ApiError> {
    prompt::without_reasoning(template).ok_or_else(|| {
        let message = "`thinking.type` is `disabled`, and this model's chat format has no way to turn reasoning off";
        ApiError::field("unsupported_value", "thinking.type", message)
    })
}

/// How much a model of harmony reasons. Others have no such measure, and `high` is what the API has when nothing is asked for.
fn of_effort(effort: &str, reasoning: Option<ReasoningParser>) -> Result<Map<String, Value>, ApiError> {
    let known: &[&str] = if reasoning == Some(ReasoningParser::Harmony) { &["low", "medium", "high"] } else { &["high"] };
    if !known.contains(&effort) {
        let message = format!("`output_config.effort` is `{effort}`, and for this model it may be {}", known.join(", "));
        return Err(ApiError::field("unsupported_value", "output_config.effort", message));
    }
    let mut variables = Map::new();
    if reasoning == Some(ReasoningParser::Harmony) {
        variables.insert("reasoning_effort".to_owned(), json!(effort));
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use tenon_engine::template::{Clock, Settings, TemplateSource, ToolSettings, prepare};
    use tenon_formats::tools::ToolParser;

    use super::*;

    const CHAT: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>\
        {{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</tool_call>{% endfor %}\n{% endfor %}\
        {% for t in tools or [] %}{{ t | tojson }} <tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>{% endfor %}\
        {% if add_generation_prompt %}<assistant>";

    /// A model that opens its reasoning, unless it is told not to; one that always does; and one that does not reason.
    fn template(opening: &str, thinking: bool) -> ChatTemplate {
        let reasoning = (!opening.is_empty()).then_some(ReasoningParser::Think);
        let source = TemplateSource::new(format!("{CHAT}{opening}{{% endif %}}"));
        let tools = ToolSettings { parser: ToolParser::Hermes, skip_template_tools: false, steering: false, thinking };
        let tools = (reasoning.is_none() || opening.contains("enable_thinking")).then_some(tools);
        prepare(&source, &[], Clock::Fixed(0), Settings { tools, reasoning }).unwrap()
    }

    const SWITCHED: &str =
        "{% if enable_thinking is not defined or enable_thinking %}<think>{% else %}<think></think>{% endif %}";

    fn thinking(body: Value) -> Result<Thinking, ApiError> {
        let mut fields = Fields::new(json!({ "thinking": body }), "")?;
        read(&mut fields, None, Some(4096))
    }

    #[test]
    fn reasoning_is_turned_on_and_off_with_the_variables_of_the_templates() {
        let template = template(SWITCHED, true);
        let told = |body: Value| Value::Object(thinking(body).unwrap().variables(&template, Beside::default()).unwrap());
        assert_eq!(told(json!(null)), json!({}));
        assert_eq!(told(json!({"type": "disabled"})), json!({"enable_thinking": false, "thinking": false}));
        for on in [json!({"type": "enabled", "budget_tokens": 1024}), json!({"type": "adaptive"})] {
            assert_eq!(told(on), json!({"enable_thinking": true, "thinking": true}));
        }
    }

    #[test]
    fn what_the_model_cannot_do_is_refused() {
        let (enabled, adaptive) = (json!({"type": "enabled", "budget_tokens": 2048}), json!({"type": "adaptive"}));
        let none = Beside::default();
        let (tools, forced) = (Beside { tools: true, ..none }, Beside { tools: true, forced: true, ..none });
        let prefill = Beside { prefill: true, ..none };
        let (loud, quiet) = (template(SWITCHED, true), template(SWITCHED, false));
        for (body, template, beside, said) in [
            (&enabled, &template("", false), none, Some("does not reason")),
            (&adaptive, &template("", false), none, Some("does not reason")),
            (&json!({"type": "disabled"}), &template("", false), none, None),
            (&json!({"type": "disabled"}), &template("<think>{# </think> #}", true), none, Some("no way to turn")),
            (&enabled, &loud, prefill, Some("begins the answer")),
            (&adaptive, &loud, prefill, Some("begins the answer")),
            (&enabled, &loud, tools, None),
            (&enabled, &loud, forced, Some("tool_choice")),
            (&adaptive, &loud, forced, None),
            (&enabled, &quiet, tools, Some("beside `tools`")),
            (&adaptive, &quiet, tools, None),
            (&enabled, &quiet, none, None),
        ] {
            let found = thinking(body.clone()).unwrap().variables(template, beside).err();
            let message = found.map(|error| (error.param.unwrap_or_default(), error.message));
            match (said, &message) {
                (None, None) => {}
                (Some(said), Some((param, message))) => assert!(param == "thinking.type" && message.contains(said), "{message}"),
                _ => panic!("{body} {beside:?}: {message:?}"),
            }
        }
    }

    #[test]
    fn effort_is_a_measure_of_harmony() {
        let told = |effort: &str, of| of_effort(effort, of).map(Value::Object).map_err(|error| error.param.unwrap());
        assert_eq!(told("low", Some(ReasoningParser::Harmony)), Ok(json!({"reasoning_effort": "low"})));
        assert_eq!(told("high", Some(ReasoningParser::Think)), Ok(json!({})));
        assert_eq!(told("high", None), Ok(json!({})));
        for (effort, of) in [("max", Some(ReasoningParser::Harmony)), ("low", Some(ReasoningParser::Think)), ("low", None)] {
            assert_eq!(told(effort, of), Err("output_config.effort".to_owned()));
        }
    }

    #[test]
    fn what_is_wrong_is_named_from_the_root() {
        assert!(thinking(json!({"type": "adaptive", "display": "omitted"})).unwrap().omitted);
        for (body, param) in [
            (json!("enabled"), "thinking"),
            (json!({}), "thinking.type"),
            (json!({"type": "between_tools"}), "thinking.type"),
            (json!({"type": "enabled"}), "thinking.budget_tokens"),
            (json!({"type": "enabled", "budget_tokens": 1023}), "thinking.budget_tokens"),
            (json!({"type": "enabled", "budget_tokens": 4096}), "thinking.budget_tokens"),
            (json!({"type": "adaptive", "budget_tokens": 2048}), "thinking.budget_tokens"),
            (json!({"type": "disabled", "display": "omitted"}), "thinking.display"),
            (json!({"type": "adaptive", "display": "full"}), "thinking.display"),
        ] {
            assert_eq!(thinking(body.clone()).unwrap_err().param.as_deref(), Some(param), "{body}");
        }
    }
}
