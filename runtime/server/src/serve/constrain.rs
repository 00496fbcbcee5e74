//! What the answers to a request may say: its grammar, compiled for the model's vocabulary.

use std::sync::OnceLock;

use tenon_engine::{CompileError, Constraint, GrammarFactory};
use tenon_formats::tools::grammar::{GrammarError, GrammarRequest, OutputShape, SchemaPlace, grammar};
use tenon_formats::tools::marks;

use super::Served;
use super::error::ApiError;
use super::prompt::Reading;

/// Compiles grammars. What it needs of a vocabulary is made for the first request that has one.
#[derive(Debug, Default)]
pub(super) struct Grammars(OnceLock<Result<GrammarFactory, CompileError>>);

/// What of a request bears on the grammar, beside its prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) output: &'a OutputShape,
    /// The field of the body that says so.
    pub(super) output_field: &'static str,
}

impl Grammars {
    /// The constraint of the answers to a prompt; `None` where they may say anything. It takes milliseconds, up to hundreds for large
    /// schemas.
    pub(super) fn constraint(
        &self,
        served: &Served,
        reading: &Reading,
        asked: Asked<'_>,
    ) -> Result<Option<Box<dyn Constraint>>, ApiError> {
        let format = &reading.format;
        let request = GrammarRequest {
            parser: format.tools,
            reasoning: reading.may_reason(),
            declared: &format.declared,
            choice: &reading.choice,
            parallel: format.parallel,
            begun: format.begun,
            output: asked.output,
        };
        let Some(lark) = grammar(&request).map_err(|error| refused(error, asked))? else { return Ok(None) };
        let factory = self.0.get_or_init(|| {
            let template = served.template.as_ref();
            let tools = template.and_then(|template| template.tools()).map(|tools| tools.parser);
            let reasoning = template.and_then(|template| template.reasoning());
            GrammarFactory::new(&served.tokenizer, &marks(tools, reasoning))
        });
        let compiled = factory.as_ref().map_err(Clone::clone).and_then(|factory| factory.compile(&lark));
        compiled.map(Some).map_err(|error| uncompiled(error, asked))
    }
}

fn refused(error: GrammarError, asked: Asked<'_>) -> ApiError {
    let message = error.to_string();
    match error {
        GrammarError::Schema { place, what, path } => {
            let at = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
            schema(place, &format!("{what}{at}"), asked)
        }
        GrammarError::Undeclared(_) | GrammarError::NoCalls(_) => ApiError::field("invalid_value", "tool_choice", message),
        GrammarError::Together => ApiError::field("unsupported_value", asked.output_field, message),
    }
}

fn uncompiled(error: CompileError, asked: Asked<'_>) -> ApiError {
    let field = if *asked.output == OutputShape::Text { "tools" } else { asked.output_field };
    match error {
        CompileError::Schema { place, what } => schema(place, &what, asked),
        CompileError::Failed(_) => ApiError::internal(error.to_string()),
        CompileError::NoEnd | CompileError::Grammar(_) => ApiError::field("unsupported_value", field, error.to_string()),
    }
}

/// A schema that cannot be enforced. Both dialects call a function's place `tools[i]`.
fn schema(place: SchemaPlace, what: &str, asked: Asked<'_>) -> ApiError {
    let (field, of) = match place {
        SchemaPlace::Function(i) => (format!("tools[{i}]"), "the parameters' schema"),
        SchemaPlace::Output => (asked.output_field.to_owned(), "the schema"),
    };
    let message = format!("`{field}`: {of} cannot be enforced: {what}");
    ApiError::field("invalid_schema", field, message)
}
