//! Grammars of answers, in llguidance's variant of Lark: what a model may write, so that the parser of its format reads it as what the
//! request asks for.
//!
//! | request | what the grammar allows |
//! |---|---|
//! | `tool_choice` required | one call or, where they may be parallel, several, and nothing else |
//! | `tool_choice` named | exactly one call, of that function |
//! | `tool_choice` auto, some function strict | any text without an opening tag, or calls, after such a text where the format has a tag |
//! | `response_format` | one JSON value; or calls, where tools are declared and the choice is auto |
//! | anything else | no grammar |
//!
//! Where a model reasons, reasoning may come first; what stands in it is free. Calls are always of declared functions.
//!
//! Arguments follow the function's schema. Of a `strict` one nothing is left out: a keyword that cannot be enforced is an error that
//! says where it stands. One that is not strict promises less, by the definition of the API: keywords that cannot be enforced are
//! passed over, and the rest holds. Keys come in the order of the schema, whitespace is bounded: a space, or a line break and an
//! indentation, so that no answer can be blanks without end.
//!
//! Formats: the grammar writes the canonical form, of which [`ToolParser::example_call`] is an instance. Harmony ends a message with a
//! call, so that its grammar has one at most. Where a call is bare JSON, free text holds nothing that begins like one.

mod calls;
mod json;
mod lark;
mod parameters;
mod schema;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use self::lark::Lark;
use super::{Begun, Declared, ReasoningParser, ToolChoice, ToolParser};

/// What a request asks of the form of its answer.
#[derive(Clone, Copy, Debug)]
pub struct GrammarRequest<'a> {
    /// Who reads calls; `None` for a model that calls no tools.
    pub parser: Option<ToolParser>,
    /// Who reads reasoning; `None` where the answer has none.
    pub reasoning: Option<ReasoningParser>,
    /// The functions that may be called.
    pub declared: &'a [Declared],
    /// Whether one must be.
    pub choice: &'a ToolChoice,
    /// More than one call is welcome.
    pub parallel: bool,
    /// What the prompt has begun.
    pub begun: Begun,
    /// The form of an answer that is no call.
    pub output: &'a OutputShape,
}

/// The form of an answer's text: `response_format`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OutputShape {
    /// Any text.
    #[default]
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON that is valid against a schema.
    JsonSchema {
        /// The schema.
        schema: Value,
        /// No keyword of the schema may be passed over.
        strict: bool,
    },
}

/// Which schema of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaPlace {
    /// The parameters of the declared function with this number.
    Function(usize),
    /// The schema of the answer.
    Output,
}

impl fmt::Display for SchemaPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(index) => write!(f, "the parameters of function {index}"),
            Self::Output => write!(f, "the schema of the answer"),
        }
    }
}

/// Why a request has no grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// A schema that cannot be enforced.
    #[error("{place}: {what}{}", at(.path))]
    Schema {
        /// Which.
        place: SchemaPlace,
        /// Where in the schema, keys joined by dots; empty for the schema itself.
        path: String,
        /// What cannot be enforced there.
        what: String,
    },
    /// A choice that names no declared function.
    #[error("tool_choice names the function `{0}`, which is not declared")]
    Undeclared(String),
    /// A call is asked for where none can be made.
    #[error("tool_choice asks for a call, and {0}")]
    NoCalls(&'static str),
    /// A form of the answer where a call looks like one.
    #[error(
        "response_format together with tools: calls of this model are JSON like the answer, and one could not be told from the other"
    )]
    Together,
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" (at `{path}`)") }
}

/// The grammar of an answer; `None` where nothing constrains it.
///
/// # Errors
/// When a schema has what cannot be enforced, or the choice cannot be met.
pub fn grammar(request: &GrammarRequest<'_>) -> Result<Option<String>, GrammarError> {
    let forced = request.choice.is_forced();
    let functions = chosen(request)?;
    let has_calls = request.parser.is_some() && !functions.is_empty();
    if forced && !has_calls {
        let why = if request.parser.is_none() { "the model calls no tools" } else { "no function is declared" };
        return Err(GrammarError::NoCalls(why));
    }
    let strict = has_calls && functions.iter().any(|(_, function)| function.strict);
    if !forced && !strict && *request.output == OutputShape::Text {
        return Ok(None);
    }
    let mut lark = Lark::default();
    let calls = match request.parser.filter(|_| has_calls) {
        Some(parser) => Some(calls::calls(&mut lark, parser, &functions, request)?),
        None => None,
    };
    let output = match request.output {
        _ if forced => None,
        OutputShape::Text => None,
        OutputShape::JsonObject => Some(lark.json("output", &json::object())),
        OutputShape::JsonSchema { schema, strict } => {
            let schema = schema::prepare(schema, *strict, SchemaPlace::Output)?;
            Some(lark.json("output", &schema))
        }
    };
    let start = calls::answer(&mut lark, request, calls, output)?;
    Ok(Some(lark.finish(&start)))
}

/// The functions that the choice leaves, with their numbers.
fn chosen<'a>(request: &GrammarRequest<'a>) -> Result<Vec<(usize, &'a Declared)>, GrammarError> {
    let declared = request.declared.iter().enumerate();
    match request.choice {
        ToolChoice::Auto | ToolChoice::Required => Ok(declared.collect()),
        ToolChoice::Named(name) => {
            let found: Vec<_> = declared.filter(|(_, function)| function.name == *name).take(1).collect();
            if found.is_empty() { Err(GrammarError::Undeclared(name.clone())) } else { Ok(found) }
        }
    }
}

/// Which schema of a request stands on a line of its grammar, counted from 1.
pub fn place_of_line(grammar: &str, line: usize) -> Option<SchemaPlace> {
    let (rule, body) = grammar.lines().nth(line.checked_sub(1)?)?.split_once(": ")?;
    if !body.starts_with("%json ") {
        return None;
    }
    match rule.strip_prefix("args_") {
        Some(rest) => rest.split('_').next()?.parse().ok().map(SchemaPlace::Function),
        None => (rule == "output").then_some(SchemaPlace::Output),
    }
}
