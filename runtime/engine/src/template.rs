//! The chat template of a model that is loaded: found where the spec says, tried, and joined with the tokenizer.
//!
//! Templates themselves are [`tenon_formats::chat`]'s, which the compiler uses too.

use std::path::Path;

use tenon_core::model;
use tenon_core::weights::Checkpoint;

pub use tenon_formats::chat::{
    ChatTemplate, Clock, Conversation, Fault, Settings, TemplateError as PromptError, TemplateFiles, TemplateSource, ToolFormat,
    ToolSettings, ToolSource, message, prepare, prompt, verbatim,
};

use crate::tokenizer::{Tokenizer, TokenizerError, optional_json};

/// Why a template cannot be used, or gives no prompt.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// A file of the checkpoint cannot be read, or a text not be tokenized.
    #[error(transparent)]
    File(#[from] TokenizerError),
    /// The checkpoint has no template, and the spec says it has.
    #[error("the checkpoint has no chat template: {looked}; a spec can bring its own with `[chat] template`")]
    Missing {
        /// Where it was looked for.
        looked: String,
    },
    /// The place where the template should be holds something else.
    #[error("{}: {source}", path.display())]
    Source {
        /// The checkpoint.
        path: std::path::PathBuf,
        /// What is there.
        source: tenon_formats::chat::SourceError,
    },
    /// The template cannot do what it is needed for, or contradicts the spec's `[tools]`.
    #[error("{}", explained(.0))]
    Unfit(Vec<Fault>),
    /// A conversation that the template cannot render.
    #[error(transparent)]
    Prompt(#[from] tenon_formats::chat::TemplateError),
}

/// Every fault with its id, as the compiler's diagnostics have it.
fn explained(faults: &[Fault]) -> String {
    let lines: Vec<String> =
        faults.iter().map(|fault| format!("[{}] {fault}; `tenon explain {}` says more", fault.id(), fault.id())).collect();
    lines.join("\n")
}

/// The template that a spec asks for, tried with the spec's tools and reasoning; `None` for a model without a chat format.
///
/// # Errors
/// No template, or one that cannot be used; every fault of it.
pub fn load(
    checkpoint: &Checkpoint,
    template: model::ChatTemplate,
    settings: Settings,
    tokenizer: &Tokenizer,
) -> Result<Option<ChatTemplate>, TemplateError> {
    let source = match template {
        model::ChatTemplate::Checkpoint => of_checkpoint(checkpoint)?,
        model::ChatTemplate::Spec(text) => TemplateSource::new(text),
        model::ChatTemplate::None => return Ok(None),
    };
    prepare(&source, tokenizer.named_tokens(), Clock::System, settings).map(Some).map_err(TemplateError::Unfit)
}

/// The token ids of a conversation: [`prompt()`], tokenized.
///
/// # Errors
/// What the template refuses or fails at.
pub fn encode(template: &ChatTemplate, tokenizer: &Tokenizer, conversation: &Conversation) -> Result<Vec<u32>, TemplateError> {
    Ok(tokenizer.encode_rendered(&prompt(template, conversation)?)?)
}

fn of_checkpoint(checkpoint: &Checkpoint) -> Result<TemplateSource, TemplateError> {
    let Some(gguf) = checkpoint.gguf() else { return of_dir(checkpoint.dir()) };
    let wrong = |source| TemplateError::Source { path: checkpoint.dir().to_path_buf(), source };
    let looked = || "its GGUF metadata has no `tokenizer.chat_template`".to_owned();
    TemplateSource::of_gguf(gguf).map_err(wrong)?.ok_or_else(|| TemplateError::Missing { looked: looked() })
}

fn of_dir(dir: &Path) -> Result<TemplateSource, TemplateError> {
    let path = dir.join("chat_template.jinja");
    let jinja = match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(source) => return Err(TokenizerError::Read { path, source }.into()),
    };
    let json = |name: &str| optional_json(&dir.join(name)).map(|found| found.map(|(_, value)| value));
    let (tokenizer_config, processor) = (json("tokenizer_config.json")?, json("chat_template.json")?);
    let files = TemplateFiles {
        jinja: jinja.as_deref(),
        tokenizer_config: tokenizer_config.as_ref(),
        chat_template_json: processor.as_ref(),
    };
    let wrong = |source| TemplateError::Source { path: dir.to_path_buf(), source };
    TemplateSource::of_files(&files).map_err(wrong)?.ok_or_else(|| {
        let names = "chat_template.jinja, and no `chat_template` in tokenizer_config.json or chat_template.json";
        TemplateError::Missing { looked: format!("{} has no {names}", dir.display()) }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_directory_has_a_file_or_an_entry() {
        let dir = tempfile::tempdir().unwrap();
        let missing = of_dir(dir.path()).unwrap_err().to_string();
        assert!(missing.starts_with("the checkpoint has no chat template: ") && missing.contains("has no chat_template.jinja"));

        let write = |name: &str, value: Value| std::fs::write(dir.path().join(name), value.to_string()).unwrap();
        write("chat_template.json", json!({"chat_template": "two"}));
        assert_eq!(of_dir(dir.path()).unwrap().default, "two");
        write("tokenizer_config.json", json!({"chat_template": null}));
        assert_eq!(of_dir(dir.path()).unwrap().default, "two");
        write("tokenizer_config.json", json!({"chat_template": "one"}));
        assert_eq!(of_dir(dir.path()).unwrap().default, "one");
        write("tokenizer_config.json", json!({"chat_template": 3}));
        let wrong = of_dir(dir.path()).unwrap_err().to_string();
        assert!(wrong.contains("`chat_template` of tokenizer_config.json is neither a text nor a list"), "{wrong}");
        std::fs::write(dir.path().join("chat_template.jinja"), "file").unwrap();
        assert_eq!(of_dir(dir.path()).unwrap(), TemplateSource::new("file"));
    }

    #[test]
    fn faults_name_their_ids_and_where_to_read_on() {
        let faults = prepare(&TemplateSource::new("constant"), &[], Clock::System, Settings::default()).unwrap_err();
        assert_eq!(
            TemplateError::Unfit(faults).to_string(),
            "[template-unsupported] the chat template renders a message of the user without the user's message; \
             `tenon explain template-unsupported` says more"
        );
    }
}
