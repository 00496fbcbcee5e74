//! `system` and `messages`: checked, and brought into the form that chat templates read.

use serde_json::{Map, Value, json};

use super::blocks::{self, Block, Content, Role};
use crate::serve::error::ApiError;
use crate::serve::fields::{Fields, wrong_type};

/// A conversation as chat templates read it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conversation {
    /// Messages as the chat completions API has them, with the arguments of calls as objects.
    pub(super) messages: Vec<Value>,
    /// The last one is the assistant's, and the answer continues it.
    pub(super) prefill: bool,
}

/// Messages of one role that follow each other: the API combines them.
#[derive(Debug)]
struct Turn {
    role: Role,
    blocks: Vec<Block>,
    /// The content of its last message.
    at: String,
}

/// A call that the next turn must answer.
struct Call {
    id: String,
    at: String,
    answered: bool,
}

/// Reads the two fields.
pub(super) fn read(system: Option<Value>, messages: Value) -> Result<Conversation, ApiError> {
    let Value::Array(messages) = messages else { return Err(wrong_type("messages", "an array", &messages)) };
    if messages.is_empty() {
        return Err(ApiError::field("invalid_value", "messages", "`messages` is empty, and needs at least one message"));
    }
    let mut turns: Vec<Turn> = Vec::new();
    if let Some(system) = system {
        let text = blocks::texts(system, "system")?;
        if !text.is_empty() {
            let block = Block { at: "system".to_owned(), content: Content::Text(text) };
            turns.push(Turn { role: Role::System, blocks: vec![block], at: "system".to_owned() });
        }
    }
    let last = messages.len() - 1;
    for (i, message) in messages.into_iter().enumerate() {
        let turn = one(message, &format!("messages[{i}]"))?;
        if turn.blocks.is_empty() && !(i == last && turn.role == Role::Assistant) {
            let message = format!("`{}` is empty, and only the last message may be, where it is the assistant's", turn.at);
            return Err(ApiError::field("invalid_value", turn.at, message));
        }
        match turns.last_mut().filter(|before| before.role == turn.role) {
            Some(before) => {
                before.blocks.extend(turn.blocks);
                before.at = turn.at;
            }
            None => turns.push(turn),
        }
    }
    calls_and_results(&turns)?;
    let prefill = match turns.pop_if(|last| last.role == Role::Assistant) {
        Some(last) => prefill(last)?,
        None => None,
    };
    if turns.iter().all(|turn| turn.role == Role::System) {
        let message = "`messages` has nothing that the assistant could answer: it needs a message of the user";
        return Err(ApiError::field("invalid_value", "messages", message));
    }
    let mut messages: Vec<Value> = turns.into_iter().flat_map(Turn::into_messages).collect();
    messages.extend(prefill.as_ref().map(|text| json!({ "role": "assistant", "content": text })));
    Ok(Conversation { messages, prefill: prefill.is_some() })
}

fn one(message: Value, at: &str) -> Result<Turn, ApiError> {
    let mut fields = Fields::new(message, at)?;
    let role = match fields.required_string("role")?.as_str() {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        other => {
            let message = format!("`{at}.role` is `{other}`, and must be user, assistant or system");
            return Err(ApiError::field("invalid_value", fields.name("role"), message));
        }
    };
    let content = fields.required("content")?;
    let at = fields.name("content");
    fields.finish()?;
    Ok(Turn { role, blocks: blocks::read(content, &at, role)?, at })
}

/// Every call is answered by the next turn, which begins with the results, one for each.
fn calls_and_results(turns: &[Turn]) -> Result<(), ApiError> {
    let mut open: Vec<Call> = Vec::new();
    for turn in turns {
        let mut results_are_over = false;
        let mut calls: Vec<Call> = Vec::new();
        for Block { at, content } in &turn.blocks {
            match content {
                Content::ToolUse { id, .. } => {
                    if calls.iter().any(|call| call.id == *id) {
                        let message = format!("`{at}.id` is `{id}`, as that of another call beside it");
                        return Err(ApiError::field("invalid_value", format!("{at}.id"), message));
                    }
                    calls.push(Call { id: id.clone(), at: at.clone(), answered: false });
                }
                Content::ToolResult { .. } if results_are_over => {
                    let message =
                        format!("`{at}` is a result behind a text, and results stand first in the turn after their calls");
                    return Err(ApiError::field("invalid_value", at, message));
                }
                Content::ToolResult { id, .. } => answer(&mut open, id, &format!("{at}.tool_use_id"))?,
                Content::Text(_) | Content::Thinking(_) => results_are_over = true,
            }
        }
        unanswered(&open)?;
        open = calls;
    }
    unanswered(&open)
}

fn answer(open: &mut [Call], id: &str, at: &str) -> Result<(), ApiError> {
    let wrong = |what: &str| Err(ApiError::field("invalid_value", at, format!("`{at}` is `{id}`, {what}")));
    match open.iter_mut().find(|call| call.id == id) {
        None => wrong("and no `tool_use` of the turn before has that id"),
        Some(call) if call.answered => wrong("which has a result already"),
        Some(call) => {
            call.answered = true;
            Ok(())
        }
    }
}

fn unanswered(open: &[Call]) -> Result<(), ApiError> {
    let Some(Call { id, at, .. }) = open.iter().find(|call| !call.answered) else { return Ok(()) };
    let message = format!("`{at}` is the call `{id}`, and the next turn does not begin with a `tool_result` for it");
    Err(ApiError::field("invalid_value", at, message))
}

/// The beginning of the answer: what a message of the assistant says that nobody answers.
fn prefill(turn: Turn) -> Result<Option<String>, ApiError> {
    let Turn { blocks, at, .. } = turn;
    let mut texts = Vec::new();
    for Block { at, content } in blocks {
        let Content::Text(text) = content else {
            let message = format!("`{at}` stands in the message that the answer continues, which may hold text only");
            return Err(ApiError::field("invalid_value", at, message));
        };
        texts.push(text);
    }
    let text = texts.join("\n");
    if text.ends_with(char::is_whitespace) {
        // Tokens begin with their space: a model that has to go on behind one is somewhere it has never been.
        let message = format!("`{at}` is the beginning of the answer, and must not end with white space");
        return Err(ApiError::field("invalid_value", at, message));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

impl Turn {
    /// The messages of a turn: the results of tools are messages of their own, before what the user says.
    fn into_messages(self) -> Vec<Value> {
        let (mut texts, mut thoughts, mut calls, mut messages) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for block in self.blocks {
            match block.content {
                Content::Text(text) => texts.push(text),
                Content::Thinking(thought) => thoughts.extend(thought),
                Content::ToolUse { id, name, input } => {
                    calls.push(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": input } }));
                }
                Content::ToolResult { id, text } => {
                    messages.push(json!({ "role": "tool", "content": text, "tool_call_id": id }));
                }
            }
        }
        if texts.is_empty() && self.role != Role::Assistant {
            return messages;
        }
        let mut message = Map::new();
        message.insert("role".to_owned(), json!(self.role.as_str()));
        // None, not empty, for an assistant that says nothing: templates ask for either.
        let content = if texts.is_empty() { Value::Null } else { json!(texts.join("\n")) };
        message.insert("content".to_owned(), content);
        if !thoughts.is_empty() {
            message.insert("reasoning_content".to_owned(), json!(thoughts.join("\n")));
        }
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), json!(calls));
        }
        messages.push(Value::Object(message));
        messages
    }
}

#[cfg(test)]
mod tests;
