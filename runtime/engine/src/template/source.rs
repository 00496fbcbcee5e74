//! Where a chat template comes from.

use std::path::Path;

use serde_json::Value;
use tenon_core::model;
use tenon_core::weights::Checkpoint;
use tenon_formats::Gguf;

use super::{ChatTemplate, Clock, TemplateError};
use crate::tokenizer::{Tokenizer, TokenizerError, optional_json};

/// The text of a template, and of a second one for conversations with tools where the checkpoint has two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSource {
    /// For every conversation.
    pub default: String,
    /// For conversations with tools.
    pub tool_use: Option<String>,
}

impl TemplateSource {
    /// One template for everything.
    pub fn new(text: impl Into<String>) -> Self {
        Self { default: text.into(), tool_use: None }
    }

    /// The template of a checkpoint: `tokenizer.chat_template` of a GGUF; `chat_template.jinja` or else the entry of
    /// `tokenizer_config.json` of a directory.
    pub fn of_checkpoint(checkpoint: &Checkpoint) -> Result<Self, TemplateError> {
        match checkpoint.gguf() {
            Some(gguf) => Self::of_gguf(gguf),
            None => Self::of_dir(checkpoint.dir()),
        }
    }

    fn of_gguf(gguf: &Gguf) -> Result<Self, TemplateError> {
        let text = |key| match gguf.metadata.get(key) {
            None => Ok(None),
            Some(value) => {
                let what = "is not a string".to_owned();
                value.as_str().map(|t| Some(t.to_owned())).ok_or(TokenizerError::Metadata { key, what })
            }
        };
        let looked = || "its GGUF metadata has no `tokenizer.chat_template`".to_owned();
        let default = text("tokenizer.chat_template")?.ok_or_else(|| TemplateError::Missing { looked: looked() })?;
        Ok(Self { default, tool_use: text("tokenizer.chat_template.tool_use")? })
    }

    fn of_dir(dir: &Path) -> Result<Self, TemplateError> {
        let path = dir.join("chat_template.jinja");
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok(Self::new(text)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(TokenizerError::Read { path, source }.into()),
        }
        let Some((path, config)) = optional_json(&dir.join("tokenizer_config.json"))? else {
            return Err(TemplateError::Missing {
                looked: format!("neither chat_template.jinja nor tokenizer_config.json is in {}", dir.display()),
            });
        };
        match config.get("chat_template") {
            None | Some(Value::Null) => Err(TemplateError::Missing {
                looked: format!("no chat_template.jinja, and no `chat_template` in {}", path.display()),
            }),
            Some(Value::String(text)) => Ok(Self::new(text.as_str())),
            Some(list) => Self::of_list(list).ok_or_else(|| {
                let what = "`chat_template` is neither a text nor a list that has a `default` template".to_owned();
                TokenizerError::File { path, what }.into()
            }),
        }
    }

    /// The older form: `[{"name": "default", "template": ".."}, {"name": "tool_use", ..}]`.
    fn of_list(list: &Value) -> Option<Self> {
        let named = |name| {
            let entry = list.as_array()?.iter().find(|e| e["name"] == name)?;
            entry["template"].as_str().map(str::to_owned)
        };
        Some(Self { default: named("default")?, tool_use: named("tool_use") })
    }
}

impl ChatTemplate {
    /// The template that a spec asks for, compiled and tried; `None` for a model without a chat format.
    pub fn load(
        checkpoint: &Checkpoint,
        template: model::ChatTemplate,
        tokenizer: &Tokenizer,
    ) -> Result<Option<Self>, TemplateError> {
        let source = match template {
            model::ChatTemplate::Checkpoint => TemplateSource::of_checkpoint(checkpoint)?,
            model::ChatTemplate::Spec(text) => TemplateSource::new(text),
            model::ChatTemplate::None => return Ok(None),
        };
        Self::new(&source, tokenizer.named_tokens(), Clock::System).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_directory_has_a_file_or_an_entry_or_a_list() {
        let dir = tempfile::tempdir().unwrap();
        let missing = TemplateSource::of_dir(dir.path()).unwrap_err().to_string();
        assert!(missing.contains("neither chat_template.jinja nor tokenizer_config.json"), "{missing}");

        let write = |value: Value| std::fs::write(dir.path().join("tokenizer_config.json"), value.to_string()).unwrap();
        write(json!({"chat_template": null}));
        assert!(matches!(TemplateSource::of_dir(dir.path()), Err(TemplateError::Missing { .. })));
        write(json!({"chat_template": "one"}));
        assert_eq!(TemplateSource::of_dir(dir.path()).unwrap(), TemplateSource::new("one"));
        write(json!({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]}));
        let both = TemplateSource { default: "d".into(), tool_use: Some("t".into()) };
        assert_eq!(TemplateSource::of_dir(dir.path()).unwrap(), both);
        write(json!({"chat_template": [{"name": "rag", "template": "t"}]}));
        assert!(TemplateSource::of_dir(dir.path()).unwrap_err().to_string().contains("a `default` template"));

        std::fs::write(dir.path().join("chat_template.jinja"), "file").unwrap();
        assert_eq!(TemplateSource::of_dir(dir.path()).unwrap(), TemplateSource::new("file"));
    }
}
