//! Tools as a request declares them, and what it asks of their calls.

use serde_json::{Value, json};

/// A function that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// A JSON schema of its arguments, an object; `None` takes none.
    pub parameters: Option<Value>,
    /// Arguments must be valid against the schema, which the grammar of the answer then enforces whenever it is called.
    pub strict: bool,
}

impl Declared {
    /// As the chat completions API declares it, which is what chat templates are given.
    pub fn openai(&self) -> Value {
        let mut function = json!({ "name": self.name });
        if let Some(description) = &self.description {
            function["description"] = json!(description);
        }
        if let Some(parameters) = &self.parameters {
            function["parameters"] = parameters.clone();
        }
        json!({ "type": "function", "function": function })
    }
}

/// Whether a request asks for calls. A request that wants none declares no tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// At least one call, of any function.
    Required,
    /// A call of this function.
    Named(String),
}

impl ToolChoice {
    /// The answer must be a call.
    pub fn is_forced(&self) -> bool {
        *self != Self::Auto
    }
}
