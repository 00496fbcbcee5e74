//! A checkpoint's template against a spec; `tests/ui` has the texts for templates of a spec's own.

use tenon_formats::chat::TemplateSource;

use super::against_checkpoint;
use crate::diagnostic::{Diagnostics, Format};
use crate::parse::fixtures::{MODEL, parse_files};

const TEACHES: &str = "{% for m in messages %}\n<|{{ m.role }}|>{{ m.content or '' }}\n\
    {% if loop.first and tools %}\n{{ tools | tojson }} Call so: <tool_call>\n{\"name\": <name>, \"arguments\": <object>}\n</tool_call>\n{% endif %}\n\
    {% for c in m.tool_calls or [] %}\n\
    <tool_call>{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}</tool_call>\n\
    {% endfor %}\n{% endfor %}\n";

/// What is said, in the short form, about a checkpoint with this template.
fn said(tools: &str, template: &TemplateSource) -> (String, String) {
    said_of(tools, Some(template))
}

fn said_of(tools: &str, template: Option<&TemplateSource>) -> (String, String) {
    let model = MODEL.replace("[tools]\nparser = \"none\"", &format!("[tools]\n{tools}"));
    assert_ne!(model, MODEL);
    let (specs, diags, mut sources) = parse_files(&[("specs/smol/MODEL.toml", &model)]);
    assert!(!diags.has_errors(), "{}", diags.render(&sources, Format::Short, false));
    let mut found = Diagnostics::default();
    found.extend(against_checkpoint(&specs.models["smol"].0, template, &mut sources));
    (found.render(&sources, Format::Short, false), found.render(&sources, Format::Human, false))
}

fn rules(parser: &str) -> String {
    format!("parser = \"{parser}\"\nskip_template_tools = false\nsteering = true\nthinking = false\n")
}

#[test]
fn a_checkpoint_whose_template_fits_is_accepted() {
    assert_eq!(said(&rules("hermes"), &TemplateSource::new(TEACHES)).0, "");
}

#[test]
fn a_checkpoint_without_a_template_is_refused_where_the_spec_takes_it() {
    let (short, _) = said_of(&rules("hermes"), None);
    assert!(short.ends_with("error[template-unsupported]: the checkpoint has no chat template\n"), "{short}");
}

#[test]
fn a_conflict_points_into_the_checkpoints_template() {
    let (short, human) = said(&rules("qwen3_coder"), &TemplateSource::new(TEACHES));
    assert_eq!(short.lines().count(), 1, "{short}");
    assert!(short.contains("error[tool-format-conflict]: the chat template's tool format is that of `hermes`"), "{short}");
    assert!(human.contains("chat_template.jinja (of the checkpoint):4:"), "{human}");
}

#[test]
fn places_lie_in_the_second_template_where_there_is_one() {
    let tool_use = Some("{{ messages[0].content }}\n{{ tools | frobnicate }}".to_owned());
    let plain = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let (short, _) = said(&rules("hermes"), &TemplateSource { tool_use, ..TemplateSource::new(plain) });
    let place = "chat_template.jinja (of the checkpoint, for tools):2:1: error[template-unsupported]: ";
    assert!(short.starts_with(place), "{short}");
}
