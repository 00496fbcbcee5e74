//! What a request says to the chat template: `reasoning_effort`, `chat_template_kwargs`, and where the prompt ends.

use serde_json::{Map, Value, json};
use tenon_formats::tools::ReasoningParser;

use crate::serve::Served;
use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::prompt;
use crate::serve::request::Chat;

/// Names that the prompt's own parts have in templates.
const RESERVED: [&str; 6] =
    ["messages", "tools", "documents", "add_generation_prompt", "continue_final_message", "chat_template"];

/// Reads all of it into a conversation.
pub(super) fn read(fields: &mut Fields, served: &Served, chat: &mut Chat) -> Result<(), ApiError> {
    let mut variables = match fields.string("reasoning_effort")? {
        None => Map::new(),
        Some(effort) => of_effort(&effort, served)?,
    };
    // They are more exact, so that they count where both say something.
    variables.extend(kwargs(fields)?);
    chat.variables = variables;
    let begins = fields.boolean("add_generation_prompt")?;
    let continues = fields.boolean("continue_final_message")?.unwrap_or(false);
    if continues && begins == Some(true) {
        let message = "`continue_final_message` continues the last message, and `add_generation_prompt` begins another";
        return Err(ApiError::field("invalid_value", "continue_final_message", message));
    }
    let last = chat.messages.last().map(|message| message["role"].as_str().unwrap_or_default());
    if continues && last != Some("assistant") {
        let message = "`continue_final_message` needs a last message of the role assistant, which is continued";
        return Err(ApiError::field("invalid_value", "continue_final_message", message));
    }
    chat.continue_final_message = continues;
    chat.add_generation_prompt = begins.unwrap_or(!continues);
    Ok(())
}

/// `chat_template_kwargs`, which is the same in every dialect.
pub(in crate::serve) fn kwargs(fields: &mut Fields) -> Result<Map<String, Value>, ApiError> {
    let name = fields.name("chat_template_kwargs");
    let variables = match fields.take("chat_template_kwargs") {
        None => return Ok(Map::new()),
        Some(Value::Object(variables)) => variables,
        Some(other) => return Err(wrong_type(&name, "an object", &other)),
    };
    match RESERVED.iter().find(|reserved| variables.contains_key(**reserved)) {
        Some(reserved) => {
            let message = format!("`{name}` has `{reserved}`, which is not a variable of its own");
            Err(ApiError::field("invalid_value", format!("{name}.{reserved}"), message))
        }
        None => Ok(variables),
    }
}

/// `reasoning_effort` as variables of the template. Only harmony has a measure; other models reason or do not.
fn of_effort(effort: &str, served: &Served) -> Result<Map<String, Value>, ApiError> {
    let refused = |why: &str| {
        let message = format!("`reasoning_effort` is `{effort}`, and {why}");
        Err(ApiError::field("unsupported_value", "reasoning_effort", message))
    };
    let template = served.template.as_ref();
    let Some((template, parser)) = template.and_then(|template| Some((template, template.reasoning()?))) else {
        // A model that does not reason makes no effort.
        return if effort == "none" { Ok(Map::new()) } else { refused("this model does not reason") };
    };
    match (effort, parser) {
        ("low" | "medium" | "high", ReasoningParser::Harmony) => Ok(of_pairs([("reasoning_effort", json!(effort))])),
        (_, ReasoningParser::Harmony) => refused("this model knows low, medium and high"),
        ("none", _) => match prompt::without_reasoning(template) {
            Some(variables) => Ok(variables),
            None => refused("this model's chat format has no way to turn reasoning off"),
        },
        ("low" | "medium" | "high", _) => Ok(parser.variables(true)),
        _ => refused("this model knows none, and low, medium and high, which are the same to it"),
    }
}

fn of_pairs<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
