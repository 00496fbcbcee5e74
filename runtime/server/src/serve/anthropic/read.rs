//! The bodies of `/v1/messages` and `/v1/messages/count_tokens`.

use serde_json::{Map, Value, json};
use tenon_engine::ChatTemplate;

use super::blocks::{cache_control, one_of};
use super::thinking::{self, Beside};
use super::{messages, tools};
use crate::serve::Served;
use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};
use crate::serve::openai::{chat_template_kwargs, read_model, read_timeout};
use crate::serve::request::{Chat, GenerateRequest, OutputShape, Prompt, Sampling};

/// Most stop sequences of a request: each is looked for behind every token.
const MAX_STOPS: usize = 64;

/// How an answer is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::serve) struct Delivery {
    /// As server-sent events, while it is generated.
    pub(in crate::serve) stream: bool,
    /// Reasoning comes without its text.
    pub(in crate::serve) omit_thinking: bool,
}

/// What makes the prompt, and what is asked of the answer beside it.
struct Asked {
    chat: Chat,
    output: OutputShape,
    omit_thinking: bool,
}

/// Reads a body for the model that is served.
pub(in crate::serve) fn read(body: Value, served: &Served) -> Result<(GenerateRequest, Delivery), ApiError> {
    let mut fields = of_model(body, served)?;
    let max_tokens = max_tokens(&mut fields)?.ok_or_else(|| fields.missing("max_tokens"))?;
    generate(fields, served.template.as_ref(), Some(max_tokens))
}

/// Reads a body whose prompt is to be counted: one of [`read`] without the fields that say how it is continued.
pub(in crate::serve) fn read_to_count(body: Value, served: &Served) -> Result<Prompt, ApiError> {
    let mut fields = of_model(body, served)?;
    let Asked { chat, .. } = prompt(&mut fields, served.template.as_ref(), None)?;
    fields.finish()?;
    Ok(Prompt::Chat(chat))
}

/// Reads a body whose prompt is to be shown: one of either route.
pub(in crate::serve) fn read_to_render(body: Value, served: &Served) -> Result<Prompt, ApiError> {
    let mut fields = of_model(body, served)?;
    let max_tokens = max_tokens(&mut fields)?;
    generate(fields, served.template.as_ref(), max_tokens).map(|(request, _)| request.prompt)
}

/// Reads a body for a template that stands alone. Which model it names says nothing about that.
pub(in crate::serve) fn read_for(template: &ChatTemplate, body: Value) -> Result<Chat, ApiError> {
    let mut fields = Fields::new(body, "")?;
    fields.string("model")?;
    let max_tokens = max_tokens(&mut fields)?;
    // Only the prompt is made, but a field that no route would take is an error here too.
    match generate(fields, Some(template), max_tokens)?.0.prompt {
        Prompt::Chat(chat) => Ok(chat),
        Prompt::Text(_) | Prompt::Tokens(_) => Err(ApiError::internal("a conversation is read as a text")),
    }
}

/// Whether a body is written in this dialect. What both have is read in the same way, so that one without a sign of it is the other's.
pub(in crate::serve) fn is_its_form(body: &Value) -> bool {
    let items = |value: &Value, is_sign: fn(&Value) -> bool| value.as_array().is_some_and(|items| items.iter().any(is_sign));
    let has_key = ["system", "stop_sequences", "thinking", "output_config"].iter().any(|key| body.get(key).is_some());
    let has_tool = items(&body["tools"], |tool| tool.get("input_schema").is_some());
    let chooses = matches!(body["tool_choice"]["type"].as_str(), Some("auto" | "any" | "tool" | "none"));
    let has_block = |message: &Value| {
        let kinds = ["tool_use", "tool_result", "thinking", "redacted_thinking"];
        message["content"]
            .as_array()
            .is_some_and(|blocks| blocks.iter().any(|block| kinds.iter().any(|kind| block["type"] == *kind)))
    };
    has_key || has_tool || chooses || items(&body["messages"], has_block)
}

fn of_model(body: Value, served: &Served) -> Result<Fields, ApiError> {
    let mut fields = Fields::new(body, "")?;
    read_model(&mut fields, &served.name)?;
    Ok(fields)
}

fn max_tokens(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    Ok(fields.integer("max_tokens", 1..=u32::MAX.into())?.map(|tokens| tokens as usize))
}

fn generate(
    mut fields: Fields,
    template: Option<&ChatTemplate>,
    max_tokens: Option<usize>,
) -> Result<(GenerateRequest, Delivery), ApiError> {
    let Asked { chat, output, omit_thinking } = prompt(&mut fields, template, max_tokens)?;
    let sampling = Sampling {
        temperature: fields.number("temperature", 0.0..=1.0)?,
        top_p: fields.number("top_p", 0.0..=1.0)?,
        top_k: fields.integer("top_k", 0..=u32::MAX.into())?.map(|k| k as u32),
        ..Sampling::default()
    };
    let stop = stop_sequences(&mut fields)?;
    let timeout = read_timeout(&mut fields)?;
    let stream = fields.boolean("stream")?.unwrap_or(false);
    labels(&mut fields)?;
    fields.unsupported("mcp_servers", &[json!([])])?;
    fields.unsupported("context_management", &[json!({}), json!({"edits": []})])?;
    for key in ["container", "diagnostics", "inference_geo"] {
        fields.unsupported(key, &[])?;
    }
    fields.finish()?;
    let output_field = "output_config.format.schema";
    let request =
        GenerateRequest { sampling, max_tokens, stop, output, output_field, timeout, ..GenerateRequest::new(Prompt::Chat(chat)) };
    Ok((request, Delivery { stream, omit_thinking }))
}

/// Reads the fields that both routes have: they make the prompt, by which its tokens are counted as they are generated from.
fn prompt(fields: &mut Fields, template: Option<&ChatTemplate>, max_tokens: Option<usize>) -> Result<Asked, ApiError> {
    let conversation = messages::read(fields.take("system"), fields.required("messages")?)?;
    let tools = tools::read(fields)?;
    let (effort, output) = output_config(fields)?;
    let thinking = thinking::read(fields, effort, max_tokens)?;
    let beside = Beside { tools: !tools.declared.is_empty(), forced: tools.choice.is_forced(), prefill: conversation.prefill };
    if beside.forced && beside.prefill {
        let message = "`tool_choice` forces a call, and the last message begins the answer with a text; give one of the two";
        return Err(ApiError::field("invalid_value", "tool_choice", message));
    }
    // Without a template there is no prompt, and rendering says so.
    let mut variables = template.map_or(Ok(Map::new()), |template| thinking.variables(template, beside))?;
    // They are more exact, so that they count where both say something.
    variables.extend(chat_template_kwargs(fields)?);
    let generation_prompt = fields.boolean("add_generation_prompt")?;
    if conversation.prefill && generation_prompt == Some(true) {
        let message =
            "`add_generation_prompt` begins a message of the assistant, and the last message is one that the answer continues";
        return Err(ApiError::field("invalid_value", "add_generation_prompt", message));
    }
    cache_control(fields)?;
    fields.unsupported("speed", &[json!("standard")])?;
    let chat = Chat {
        tools,
        variables,
        add_generation_prompt: generation_prompt.unwrap_or(!conversation.prefill),
        continue_final_message: conversation.prefill,
        ..Chat::new(conversation.messages)
    };
    Ok(Asked { chat, output, omit_thinking: thinking.omitted })
}

/// `output_config`: an effort, and the form of the answer.
fn output_config(fields: &mut Fields) -> Result<(Option<String>, OutputShape), ApiError> {
    let Some(config) = fields.take("output_config") else { return Ok((None, OutputShape::Text)) };
    let mut config = Fields::new(config, "output_config")?;
    let effort = one_of(&mut config, "effort", &["low", "medium", "high", "xhigh", "max"], false)?;
    let mut output = OutputShape::Text;
    if let Some(format) = config.take("format") {
        let mut format = Fields::new(format, config.name("format"))?;
        one_of(&mut format, "type", &["json_schema"], true)?;
        let schema = format.required("schema")?;
        if !schema.is_object() {
            return Err(wrong_type(&format.name("schema"), "an object", &schema));
        }
        format.finish()?;
        output = OutputShape::JsonSchema { schema, strict: true };
    }
    config.finish()?;
    Ok((effort, output))
}

fn stop_sequences(fields: &mut Fields) -> Result<Vec<String>, ApiError> {
    let stops = match fields.take("stop_sequences") {
        None => return Ok(Vec::new()),
        Some(Value::Array(stops)) => stops,
        Some(other) => return Err(wrong_type("stop_sequences", "an array of strings", &other)),
    };
    if stops.len() > MAX_STOPS {
        let message = format!("`stop_sequences` has {} texts, and may have at most {MAX_STOPS}", stops.len());
        return Err(ApiError::field("invalid_value", "stop_sequences", message));
    }
    let one = |(i, stop)| match stop {
        Value::String(stop) if stop.is_empty() => {
            let name = format!("stop_sequences[{i}]");
            let message = format!("`{name}` is empty, and every answer would end at once");
            Err(ApiError::field("invalid_value", name, message))
        }
        Value::String(stop) => Ok(stop),
        other => Err(wrong_type(&format!("stop_sequences[{i}]"), "a string", &other)),
    };
    stops.into_iter().enumerate().map(one).collect()
}

/// Labels for the operator's books, which ask for nothing.
fn labels(fields: &mut Fields) -> Result<(), ApiError> {
    if let Some(metadata) = fields.take("metadata") {
        let mut metadata = Fields::new(metadata, "metadata")?;
        metadata.string("user_id")?;
        metadata.finish()?;
    }
    one_of(fields, "service_tier", &["auto", "standard_only"], false).map(drop)
}

#[cfg(test)]
mod tests;
