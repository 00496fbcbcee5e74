//! From a fault of a template to a diagnostic: where it stands in the template and in MODEL.toml, and the way out.

use std::ops::Range;

use tenon_formats::chat::{Fault, Place};
use tenon_formats::tools::{ReasoningParser, ToolParser};

use super::TemplateFile;
use crate::diagnostic::{Diagnostic, Id};
use crate::source::{FileId, SourceMap, Span};
use crate::spec::ModelSpec;

/// The diagnostic of a fault; of one that a spec has by itself, without a template.
pub(super) fn explain(spec: &ModelSpec, fault: &Fault, template: Option<TemplateFile>, sources: &SourceMap) -> Diagnostic {
    let to = To { spec, template, sources };
    match fault {
        Fault::Compile(place) => to.unsupported("the chat template does not compile".to_owned(), place),
        Fault::Probe { probe, place } => to.unsupported(format!("the chat template fails at {probe}"), place),
        Fault::Dropped { .. } => to.unfit(fault.to_string(), "the model would answer what it has not read"),
        Fault::TwoSources { parser, readers } => to.two_sources(fault, *parser, readers),
        Fault::NoSource { parser } => to.no_source(fault, *parser),
        Fault::OtherFormat { parser, readers } => to.other_format(fault, *parser, readers),
        Fault::OtherHistory { parser, shown } => to.other_history(fault, *parser, shown),
        Fault::Steering { parser, shown } => {
            let begins = to.find([parser.marker(), "tool_calls"]);
            let shown = format!("begins a call with `{}`", text(shown));
            to.begun(fault, *parser, begins.map(|span| (span, shown)))
        }
        Fault::NoOpening { parser } => to.begun(fault, *parser, None),
        Fault::SteeringInReasoning { reasoning } => {
            let (open, close) = reasoning.marks();
            let opens = to.find([open, close]).map(|span| (span, "reasoning begins here, whatever is asked for".to_owned()));
            to.with_rule(fault, Rule::Steering, "would be written behind that tag", opens)
        }
        Fault::OtherReasoning { parser, written } => to.other_reasoning(fault, *parser, written),
        Fault::UnreadReasoning => {
            let parser = &spec.reasoning.parser.span;
            let unread = Some((parser.clone(), "reasoning would be part of the answer".to_owned()));
            to.with_rule(fault, Rule::Thinking, "allows what nothing separates", unread)
        }
        Fault::NoSwitch { reasoning } => {
            let (open, close) = reasoning.marks();
            let there = to.find([open, close]).map(|span| (span, "stays when the template is asked not to reason".to_owned()));
            to.with_rule(fault, Rule::Thinking, "would not be obeyed", there)
        }
    }
}

/// The diagnostic of a checkpoint that has no template for a spec that takes it.
pub(super) fn missing(spec: &ModelSpec, sources: &SourceMap) -> Diagnostic {
    let to = To { spec, template: None, sources };
    to.unfit("the checkpoint has no chat template".to_owned(), "takes that of the checkpoint")
}

/// A truth value of `[tools]`.
#[derive(Clone, Copy)]
enum Rule {
    Steering,
    Thinking,
}

struct To<'s> {
    spec: &'s ModelSpec,
    template: Option<TemplateFile>,
    sources: &'s SourceMap,
}

impl To<'_> {
    fn conflict(&self, fault: &Fault) -> Diagnostic {
        Diagnostic::new(Id::ToolFormatConflict, fault.to_string())
    }

    /// A template that cannot do what every conversation needs.
    fn unfit(&self, message: String, why: &str) -> Diagnostic {
        Diagnostic::new(Id::TemplateUnsupported, message)
            .label(&self.spec.chat.template.span, why)
            .help("put a template that renders such conversations beside MODEL.toml, and name it in `[chat] template`")
    }

    /// A template that fails, and where.
    fn unsupported(&self, message: String, place: &Place) -> Diagnostic {
        let chosen = &self.spec.chat.template.span;
        let Some(line) = self.line(place) else {
            // What the template says itself stands in it.
            let said = place.message.rsplit_once(": ").and_then(|(_, said)| self.find([said, said]));
            return said.iter().fold(self.unfit(message, &text(&place.message)), |d, said| d.context(said, "said here"));
        };
        Diagnostic::new(Id::TemplateUnsupported, message)
            .label(&line, text(&place.message))
            .context(chosen, "the template of this model")
            .help(
                "templates have what transformers gives them (Jinja2, Python's methods of strings and dicts, `strftime_now`, \
                 `raise_exception`); put one that keeps to it beside MODEL.toml, and name it in `[chat] template`",
            )
    }

    fn two_sources(&self, fault: &Fault, parser: ToolParser, readers: &[ToolParser]) -> Diagnostic {
        let asks = readers.first().map_or("asks for another form".to_owned(), |other| format!("asks for `{}`", other.shape()));
        let diagnostic = self.at_parser(fault, format!("its prompt asks for `{}`", parser.shape()));
        let diagnostic = self.at_teaching(diagnostic, readers.first().copied(), &format!("rendered for a probe tool, it {asks}"));
        let diagnostic =
            readers.iter().fold(diagnostic, |d, other| d.help(format!("`parser = \"{other}\"` reads what it asks for")));
        self.skip(diagnostic)
    }

    fn no_source(&self, fault: &Fault, parser: ToolParser) -> Diagnostic {
        let diagnostic = self.at_parser(fault, format!("reads `{}`, and leaves it to the template to say so", parser.shape()));
        let diagnostic =
            diagnostic.context(&self.spec.chat.template.span, "rendered for a probe tool, it does not name the tool");
        self.skip(diagnostic.help("`parser = \"none\"` where the model was not trained to call tools"))
    }

    fn other_format(&self, fault: &Fault, parser: ToolParser, readers: &[ToolParser]) -> Diagnostic {
        let diagnostic = self.at_parser(fault, format!("reads `{}`", parser.shape()));
        let asks = readers.first().map_or("another form".to_owned(), |other| format!("`{}`", other.shape()));
        let diagnostic =
            self.at_teaching(diagnostic, readers.first().copied(), &format!("rendered for a probe tool, it has {asks}"));
        let [other] = readers else {
            return self.skip(
                diagnostic.help("`parser = \"none\"` where the model's own format is to be kept: no parser here reads it"),
            );
        };
        let skips = format!("`skip_template_tools = true` teaches the model the format of `{parser}`, which it may not know");
        let diagnostic = diagnostic.help(skips).help("take the parser of the template");
        let diagnostic = diagnostic.patch(&self.spec.tools.parser.span, format!("\"{other}\""));
        match &self.spec.tools.rules {
            Some(rules) if *rules.steering && other.opening().is_none() => diagnostic.patch(&rules.steering.span, "false"),
            _ => diagnostic,
        }
    }

    fn other_history(&self, fault: &Fault, parser: ToolParser, shown: &str) -> Diagnostic {
        let diagnostic = self.at_parser(fault, format!("reads `{}`", parser.shape()));
        let label = format!("a call becomes `{}..`", text(shown));
        let diagnostic = self.at_teaching(diagnostic, None, &label);
        self.skip(diagnostic.help("a model goes on as its history goes: let the template write calls as it asks for them"))
    }

    /// A prefix that is not how calls begin.
    fn begun(&self, fault: &Fault, parser: ToolParser, shown: Option<(Span, String)>) -> Diagnostic {
        let label = match parser.opening() {
            Some(opening) => format!("would begin a call with `{opening}`"),
            None => "a call begins like any other answer in JSON".to_owned(),
        };
        let place =
            shown.unwrap_or_else(|| (self.spec.tools.parser.span.clone(), format!("calls look like `{}`", parser.shape())));
        self.with_rule(fault, Rule::Steering, &label, Some(place))
    }

    fn other_reasoning(&self, fault: &Fault, parser: Option<ReasoningParser>, written: &[ReasoningParser]) -> Diagnostic {
        let span = &self.spec.reasoning.parser.span;
        let label = match parser {
            Some(parser) => format!("separates what stands in `{}..{}`", parser.marks().0, parser.marks().1),
            None => "reasoning would be part of the answer".to_owned(),
        };
        let diagnostic = self.conflict(fault).label(span, label);
        let marks = written.first().and_then(|other| self.find([other.marks().1, other.marks().0]));
        let diagnostic = match marks {
            Some(place) => diagnostic.context(&place, "a tag of reasoning"),
            None => diagnostic.context(&self.spec.chat.template.span, "the template of this model"),
        };
        match written.first() {
            Some(other) => diagnostic.help("take the parser of these tags").patch(span, format!("\"{other}\"")),
            None => {
                let diagnostic =
                    diagnostic.help("a model whose template has no tags of reasoning does not reason").patch(span, "\"none\"");
                match &self.spec.tools.rules {
                    Some(rules) if *rules.thinking => diagnostic.patch(&rules.thinking.span, "false"),
                    _ => diagnostic,
                }
            }
        }
    }

    /// A truth value of `[tools]` that must be the other one.
    fn with_rule(&self, fault: &Fault, which: Rule, label: &str, place: Option<(Span, String)>) -> Diagnostic {
        let diagnostic = self.conflict(fault);
        let Some(rules) = &self.spec.tools.rules else { return diagnostic };
        let (rule, help) = match which {
            Rule::Steering => (&rules.steering, "write false: a model that must call begins the call itself"),
            Rule::Thinking if *rules.thinking => {
                (&rules.thinking, "write false: the model answers without reasoning where tools are declared")
            }
            Rule::Thinking => (&rules.thinking, "write true: the model may reason before it calls"),
        };
        let of_model = || (self.spec.chat.template.span.clone(), "the template of this model".to_owned());
        let (place, why) = place.unwrap_or_else(of_model);
        diagnostic.label(&rule.span, label).context(&place, why).help(help).patch(&rule.span, (!rule.value).to_string())
    }

    fn at_parser(&self, fault: &Fault, label: String) -> Diagnostic {
        self.conflict(fault).label(&self.spec.tools.parser.span, label)
    }

    /// Marks where a template teaches a format, or where it begins to speak of tools.
    fn at_teaching(&self, diagnostic: Diagnostic, reader: Option<ToolParser>, label: &str) -> Diagnostic {
        let marker = reader.map_or("tool_calls", ToolParser::marker);
        let place = self.find([marker, "tool_calls"]).or_else(|| self.find(["tools", "tool"]));
        diagnostic.context(place.as_ref().unwrap_or(&self.spec.chat.template.span), label)
    }

    fn skip(&self, diagnostic: Diagnostic) -> Diagnostic {
        let diagnostic =
            diagnostic.help("`skip_template_tools = true` leaves the parser's prompt as the only source of instructions");
        match &self.spec.tools.rules {
            Some(rules) => diagnostic.patch(&rules.skip_template_tools.span, "true"),
            None => diagnostic,
        }
    }

    /// The first of these texts that the template has.
    fn find(&self, texts: [&str; 2]) -> Option<Span> {
        let file = self.template?.for_tools();
        let whole = &self.sources.file(file).text;
        texts.into_iter().find_map(|text| whole.find(text).map(|at| Span { file, range: at..at + text.len() }))
    }

    /// The line of a place, without the blanks around it.
    fn line(&self, place: &Place) -> Option<Span> {
        let template = self.template?;
        let file = template.tool_use.filter(|_| place.tool_use).unwrap_or(template.default);
        Some(Span { file, range: line_of(file, self.sources, place.line?)? })
    }
}

fn line_of(file: FileId, sources: &SourceMap, number: usize) -> Option<Range<usize>> {
    let (text, before) = (&sources.file(file).text, number.checked_sub(1)?);
    let line = text.split_inclusive('\n').nth(before)?;
    let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let blank = line.len() - line.trim_start().len();
    Some(start + blank..start + blank + line.trim().len())
}

/// What a template says, as part of a line of a message.
fn text(said: &str) -> String {
    let line = said.replace('`', "'").split_whitespace().collect::<Vec<_>>().join(" ");
    line.trim_end_matches('.').to_owned()
}
