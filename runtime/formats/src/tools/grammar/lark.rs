//! The text of a grammar while it is written.

use std::fmt::Write;

use serde_json::Value;

/// Whitespace where JSON allows it: none, a space, or a line break and an indentation.
pub(super) const SPACE: &str = r"(?: |\r?\n[ \t]{0,40})?";

/// Rules, one a line.
#[derive(Debug, Default)]
pub(super) struct Lark {
    rules: String,
}

impl Lark {
    /// Adds a rule and returns its name. Names of rules are in small letters.
    pub(super) fn rule(&mut self, name: &str, body: &str) -> String {
        // Writing to a text cannot fail.
        let _ = writeln!(self.rules, "{name}: {body}");
        name.to_owned()
    }

    /// Adds a rule that may be there already.
    pub(super) fn once(&mut self, name: &str, body: &str) {
        if !self.rules.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(": "))) {
            self.rule(name, body);
        }
    }

    /// Adds a rule whose expression takes the shortest text that it matches.
    pub(super) fn lazy(&mut self, name: &str, regex: &str) -> String {
        self.rule(&format!("{name}[lazy]"), &pattern(regex));
        name.to_owned()
    }

    /// Lets whitespace stand between all parts, once, as it stands in JSON. Where an answer may begin with a value of a schema this is
    /// needed to bound it: the library allows whitespace without end before a value at the beginning, unless its rules for whitespace
    /// are those of the whole grammar.
    pub(super) fn skip_whitespace_as_json(&mut self) {
        self.rules.push_str("%llguidance {\"ignore_once\": true}\n");
        let _ = writeln!(self.rules, "%ignore {}", pattern(SPACE.trim_end_matches('?')));
    }

    /// Adds a rule for a value of a prepared schema.
    pub(super) fn json(&mut self, name: &str, schema: &Value) -> String {
        self.rule(name, &format!("%json {schema}"))
    }

    /// The whole text.
    pub(super) fn finish(self, start: &str) -> String {
        format!("start: {start}\n{}", self.rules)
    }
}

/// An expression as an atom of a rule.
pub(super) fn pattern(regex: &str) -> String {
    format!("/{regex}/")
}

/// Texts in which an expression matches nowhere, as an atom of a terminal.
///
/// The complement alone would have every sequence of bytes that is no text, the library's marks of special tokens among them.
pub(super) fn without(regex: &str) -> String {
    format!("(/(?s:.*)/ & ~{})", pattern(&format!("(?s:.*)({regex})(?s:.*)")))
}

/// A text as an atom of a rule.
pub(super) fn literal(text: &str) -> String {
    pattern(&escape(text))
}

/// The expression that matches this text alone, as it may stand between slashes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str(r"\n"),
            '\r' => escaped.push_str(r"\r"),
            '\t' => escaped.push_str(r"\t"),
            c if c.is_control() => {
                let _ = write!(escaped, r"\x{{{:x}}}", u32::from(c));
            }
            // Not `<` and `>`: escaped they are edges of words.
            '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' | '#' | '&' | '-' | '~' | '/' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}
