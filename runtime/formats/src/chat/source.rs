//! The text of a chat template, and where checkpoints keep it.

use serde_json::Value;

use crate::Gguf;
use crate::tools::ReasoningParser;

/// The text of a template, and of a second one for conversations with tools where the checkpoint has two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSource {
    /// For every conversation.
    pub default: String,
    /// For conversations with tools.
    pub tool_use: Option<String>,
    /// The file or key that it came from, for messages.
    pub origin: &'static str,
}

/// The small files of a checkpoint's folder that may hold a template, as far as they are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemplateFiles<'a> {
    /// The text of chat_template.jinja.
    pub jinja: Option<&'a str>,
    /// tokenizer_config.json.
    pub tokenizer_config: Option<&'a Value>,
    /// chat_template.json, where processors keep it.
    pub chat_template_json: Option<&'a Value>,
}

/// An entry that should hold a template, and does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`chat_template` of {origin} {what}")]
pub struct SourceError {
    /// The file or key.
    pub origin: &'static str,
    /// What is wrong with it.
    pub what: &'static str,
}

const JINJA: &str = "chat_template.jinja";
const TOKENIZER: &str = "tokenizer_config.json";
const PROCESSOR: &str = "chat_template.json";
const GGUF: &str = "the GGUF's metadata";

impl TemplateSource {
    /// One template for everything, from a file that a spec names.
    pub fn new(text: impl Into<String>) -> Self {
        Self { default: text.into(), tool_use: None, origin: JINJA }
    }

    /// The template of a folder: chat_template.jinja, or else the entry of tokenizer_config.json, or else chat_template.json, in
    /// the order in which transformers looks. `None` where no file has one.
    ///
    /// # Errors
    /// An entry that is neither a text nor a list with a `default` template.
    pub fn of_files(files: &TemplateFiles<'_>) -> Result<Option<Self>, SourceError> {
        if let Some(text) = files.jinja {
            return Ok(Some(Self::new(text)));
        }
        for (config, origin) in [(files.tokenizer_config, TOKENIZER), (files.chat_template_json, PROCESSOR)] {
            if let Some(entry) = config.and_then(|config| config.get("chat_template")).filter(|entry| !entry.is_null()) {
                return Self::of_entry(entry, origin).map(Some);
            }
        }
        Ok(None)
    }

    /// The template of a GGUF: `tokenizer.chat_template`, and `tokenizer.chat_template.tool_use` beside it.
    ///
    /// # Errors
    /// A key that is there and is not a text.
    pub fn of_gguf(gguf: &Gguf) -> Result<Option<Self>, SourceError> {
        let text = |key| match gguf.metadata.get(key) {
            None => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(SourceError { origin: GGUF, what: "is not a text" }),
            },
        };
        let tool_use = text("tokenizer.chat_template.tool_use")?;
        Ok(text("tokenizer.chat_template")?.map(|default| Self { default, tool_use, origin: GGUF }))
    }

    /// A text, or the older form: `[{"name": "default", "template": ".."}, {"name": "tool_use", ..}]`.
    fn of_entry(entry: &Value, origin: &'static str) -> Result<Self, SourceError> {
        let named = |name| {
            let entry = entry.as_array()?.iter().find(|e| e["name"] == name)?;
            entry["template"].as_str().map(str::to_owned)
        };
        match (entry.as_str(), named("default")) {
            (Some(text), _) => Ok(Self { default: text.to_owned(), tool_use: None, origin }),
            (None, Some(default)) => Ok(Self { default, tool_use: named("tool_use"), origin }),
            (None, None) => Err(SourceError { origin, what: "is neither a text nor a list that has a `default` template" }),
        }
    }

    /// The parsers whose marks of reasoning it writes or looks for.
    pub fn reasoning(&self) -> Vec<ReasoningParser> {
        let tools = self.tool_use.as_deref().map(ReasoningParser::of_template).unwrap_or_default();
        let mut all = ReasoningParser::of_template(&self.default);
        all.extend(tools);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The text that renders conversations with tools.
    pub fn for_tools(&self) -> &str {
        self.tool_use.as_deref().unwrap_or(&self.default)
    }
}
