//! Tools and reasoning: what a spec says about them, against itself and against a chat template.
//!
//! A template is rendered with a probe tool, so that what is compared is what a model would read. [`tenon_formats::chat::prepare()`]
//! does it, here and when a server loads a checkpoint.

mod explain;
#[cfg(test)]
mod tests;

use tenon_formats::chat::{Clock, TemplateSource, prepare, special_tokens};
use tenon_formats::tools::{Settings, ToolSettings};

use super::folder_of;
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::ChatTemplate;
use crate::source::{FileId, SourceMap};
use crate::spec::ModelSpec;

/// A chat template among the sources.
#[derive(Clone, Copy, Debug)]
pub struct TemplateFile {
    /// The text for every conversation.
    pub default: FileId,
    /// The text for conversations with tools, where there are two.
    pub tool_use: Option<FileId>,
}

impl TemplateFile {
    /// Adds the texts of a checkpoint's template to the sources, so that diagnostics can point into them.
    pub fn of_checkpoint(template: &TemplateSource, sources: &mut SourceMap) -> Self {
        let origin = template.origin;
        let mut add = |what: &str, text: &str| sources.add(format!("{origin} (of the checkpoint{what})"), text);
        let tool_use = template.tool_use.as_deref().map(|text| add(", for tools", text));
        Self { default: add("", &template.default), tool_use }
    }

    fn source(self, sources: &SourceMap) -> TemplateSource {
        let text = |file| sources.file(file).text.clone();
        TemplateSource { tool_use: self.tool_use.map(text), ..TemplateSource::new(text(self.default)) }
    }

    /// The text that renders conversations with tools.
    fn for_tools(self) -> FileId {
        self.tool_use.unwrap_or(self.default)
    }
}

/// `[tools]` and `[reasoning]` of a spec.
pub(super) fn settings(spec: &ModelSpec) -> Settings {
    let tools = spec.tools.parser.zip(spec.tools.rules.as_ref()).map(|(parser, rules)| ToolSettings {
        parser,
        skip_template_tools: *rules.skip_template_tools,
        steering: *rules.steering,
        thinking: *rules.thinking,
    });
    Settings { tools, reasoning: spec.reasoning.parser.value }
}

/// Finds the chat template and checks what can be checked without a checkpoint: the spec against itself, and against a template of
/// its own.
pub(super) fn check(spec: &ModelSpec, sources: &SourceMap, diags: &mut Diagnostics) -> ChatTemplate {
    let contradictions = settings(spec).contradictions();
    if !contradictions.is_empty() {
        diags.extend(contradictions.iter().map(|fault| explain::explain(spec, fault, None, sources)));
    }
    let name = &spec.chat.template;
    match name.value.as_str() {
        "checkpoint" => ChatTemplate::Checkpoint,
        "none" => {
            no_template(spec, diags);
            ChatTemplate::None
        }
        file => {
            let path = format!("{}/{file}", folder_of(&sources.file(spec.file).path));
            let Some((default, source)) = sources.files().find(|(_, f)| f.path == path) else {
                diags.push(
                    Diagnostic::new(Id::UnknownReference, "the chat template is not there")
                        .label(&name.span, format!("no file `{path}`"))
                        .help("write \"checkpoint\", \"none\", or the name of a .jinja file beside MODEL.toml"),
                );
                return ChatTemplate::None;
            };
            // What contradicts itself is compared with nothing else.
            if contradictions.is_empty() {
                diags.extend(against_template(spec, TemplateFile { default, tool_use: None }, sources));
            }
            ChatTemplate::Text(source.text.clone())
        }
    }
}

/// Renders a template as the spec would have it: exactly one source of instructions about tools, in the format that the parser reads,
/// with the prefix that begins a call, and with the reasoning that the spec separates. The template is one of the spec's own folder,
/// or that of a checkpoint ([`TemplateFile::of_checkpoint`]).
pub fn against_template(spec: &ModelSpec, template: TemplateFile, sources: &SourceMap) -> Vec<Diagnostic> {
    let source = template.source(sources);
    match prepare(&source, &special_tokens(), Clock::Fixed(0), settings(spec)) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(|fault| explain::explain(spec, fault, Some(template), sources)).collect(),
    }
}

/// The chat template that a checkpoint brings, where the spec takes it: what `tenon check --checkpoint` asks of it. Its texts are added
/// to the sources, for the diagnostics to point into.
pub fn against_checkpoint(spec: &ModelSpec, template: Option<&TemplateSource>, sources: &mut SourceMap) -> Vec<Diagnostic> {
    if spec.chat.template.value != "checkpoint" {
        return Vec::new();
    }
    let Some(template) = template else { return vec![explain::missing(spec, sources)] };
    let file = TemplateFile::of_checkpoint(template, sources);
    against_template(spec, file, sources)
}

/// Without a chat template there is no conversation in which tools or reasoning could be.
fn no_template(spec: &ModelSpec, diags: &mut Diagnostics) {
    let (tools, reasoning) = (&spec.tools.parser, &spec.reasoning.parser);
    let named = [("tool", tools.value.is_some(), &tools.span), ("reasoning", reasoning.value.is_some(), &reasoning.span)];
    for (what, _, span) in named.into_iter().filter(|(_, is_some, _)| *is_some) {
        diags.push(
            Diagnostic::new(
                Id::ToolFormatConflict,
                format!("a {what} parser needs a conversation, and there is no chat template"),
            )
            .label(span, "nothing is rendered that it could belong to")
            .context(&spec.chat.template.span, "prompts are continued as they are")
            .help("write \"none\": the model answers in text")
            .patch(span, "\"none\""),
        );
    }
}
