//! `[tools]` and `[reasoning]`: in which format a model calls tools, and how it marks its reasoning.

use tenon_formats::tools::{ReasoningParser, ToolParser};

use crate::diagnostic::{Diagnostic, Id};
use crate::reader::{Table, Vocabulary};
use crate::source::Spanned;
use crate::spec::{ReasoningTable, ToolRules, ToolsTable};

const TOOL_PARSERS: Vocabulary<Option<ToolParser>> = Vocabulary {
    names: &{
        let mut names = [("none", None); ToolParser::ALL.len() + 1];
        let mut i = 1;
        while i < names.len() {
            names[i] = (ToolParser::ALL[i - 1].as_str(), Some(ToolParser::ALL[i - 1]));
            i += 1;
        }
        names
    },
    not_yet: &["glm", "minimax_xml", "gemma4", "kimi_k2"],
    not_yet_id: Id::UnknownValue,
};

const REASONING_PARSERS: Vocabulary<Option<ReasoningParser>> = Vocabulary {
    names: &{
        let mut names = [("none", None); ReasoningParser::ALL.len() + 1];
        let mut i = 1;
        while i < names.len() {
            names[i] = (ReasoningParser::ALL[i - 1].as_str(), Some(ReasoningParser::ALL[i - 1]));
            i += 1;
        }
        names
    },
    not_yet: &[],
    not_yet_id: Id::UnknownValue,
};

/// Keys that a parser asks for.
const RULES: [&str; 3] = ["skip_template_tools", "steering", "thinking"];

/// Reads `[tools]`. A parser needs every rule; without one there is nothing that a rule could be about.
pub(super) fn tools(mut table: Table<'_>) -> Option<ToolsTable> {
    let Some(parser) = table.required("parser").and_then(|v| v.choice(&TOOL_PARSERS)) else {
        // They are known all the same, so that the other keys of the table are not told to be unknown.
        table.abandon();
        return None;
    };
    if parser.value.is_none() {
        no_rules(&mut table, &parser);
        table.finish();
        return Some(ToolsTable { parser, rules: None });
    }
    let [skip_template_tools, steering, thinking] = RULES.map(|key| table.required(key).and_then(|v| v.boolean()));
    table.finish();
    let rules = ToolRules { skip_template_tools: skip_template_tools?, steering: steering?, thinking: thinking? };
    Some(ToolsTable { parser, rules: Some(rules) })
}

fn no_rules(table: &mut Table<'_>, parser: &Spanned<Option<ToolParser>>) {
    for key in RULES {
        let Some(span) = table.key_span(key) else { continue };
        let diagnostic = Diagnostic::new(Id::UnknownKey, format!("`{key}` is about the calls of a parser, and there is none"))
            .label(&span, "would not be obeyed")
            .context(&parser.span, "the model calls no tools");
        table.report(diagnostic.help("take it out, or name the parser that it belongs to"));
        table.skip(key);
    }
}

/// Reads `[reasoning]`.
pub(super) fn reasoning(mut table: Table<'_>) -> Option<ReasoningTable> {
    let parser = table.required("parser").and_then(|v| v.choice(&REASONING_PARSERS));
    table.finish();
    Some(ReasoningTable { parser: parser? })
}
