//! One value: its type, its range, and what to say when it has neither.

use std::ops::RangeInclusive;

use toml::Spanned as TomlSpanned;
use toml::de::{DeInteger, DeValue};

use super::{Reading, Table};
use crate::diagnostic::{Diagnostic, Id, nearest, quoted};
use crate::expr::Expr;
use crate::source::{Span, Spanned};

/// A value of the file, not yet of any type. Every conversion reports what is wrong and then gives `None`.
pub(crate) struct Value<'r> {
    reading: &'r Reading<'r>,
    /// The key, for messages; the elements of a list have that of the list.
    name: &'r str,
    key: Span,
    span: Span,
    value: &'r DeValue<'r>,
}

/// The names that a key takes, and what they mean.
pub(crate) struct Vocabulary<T: 'static> {
    /// Every name with its meaning.
    pub names: &'static [(&'static str, T)],
    /// Names that the field uses and this version does not take.
    pub not_yet: &'static [&'static str],
    /// The error for one of those.
    pub not_yet_id: Id,
}

impl<'r> Value<'r> {
    /// `None` for a value that is still to be filled in.
    pub(super) fn new(reading: &'r Reading<'r>, name: &'r str, key: Span, value: &'r TomlSpanned<DeValue<'r>>) -> Option<Self> {
        let (span, value) = (reading.span(value.span()), value.get_ref());
        if value.as_str().is_some_and(|text| text.starts_with("TODO")) {
            let todo = Diagnostic::new(Id::TodoValue, format!("`{name}` is still to be filled in")).label(&span, "a placeholder");
            let place = (reading.whereabouts)(name).map(|place| format!("`{name}` is usually found in {place}"));
            reading.push(place.into_iter().fold(todo, Diagnostic::help));
            return None;
        }
        Some(Self { reading, name, key, span, value })
    }

    /// Any string but an empty one.
    pub(crate) fn text(&self) -> Option<Spanned<String>> {
        let text = self.string()?;
        if text.is_empty() || text.chars().any(char::is_control) {
            return self.out_of_range("must be text on one line");
        }
        Some(self.spanned(text.to_owned()))
    }

    /// A string of which `is_legal` holds; `what` ends the sentence "`key` must be ..".
    pub(crate) fn text_that(&self, what: &str, is_legal: impl Fn(&str) -> bool) -> Option<Spanned<String>> {
        let text = self.text()?;
        if is_legal(&text) { Some(text) } else { self.out_of_range(&format!("must be {what}")) }
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&self) -> Option<Spanned<bool>> {
        match self.value {
            DeValue::Boolean(value) => Some(self.spanned(*value)),
            _ => self.wrong_type("`true` or `false`", self.unquoted(|text| matches!(text, "true" | "false"))),
        }
    }

    /// A whole number within `range`.
    pub(crate) fn integer(&self, range: RangeInclusive<u64>) -> Option<Spanned<u64>> {
        let DeValue::Integer(integer) = self.value else {
            let unquoted = self.unquoted(|text| text.parse::<u64>().is_ok());
            return self.wrong_type("a whole number", unquoted.or_else(|| self.without_fraction()));
        };
        let value = number(integer);
        let legal = value.and_then(|v| u64::try_from(v).ok()).filter(|v| range.contains(v));
        if legal.is_none() {
            // Beyond 128 bits, it is the sign that says on which side.
            let low = value.map_or(integer.as_str().starts_with('-'), |v| v < i128::from(*range.start()));
            let rule = if low { format!("at least {}", range.start()) } else { format!("at most {}", range.end()) };
            return self.out_of_range(&format!("must be {rule}"));
        }
        legal.map(|v| self.spanned(v))
    }

    /// A finite number of which `is_legal` holds; `what` ends the sentence "`key` must be ..". Whole numbers count.
    pub(crate) fn float(&self, what: &str, is_legal: impl Fn(f64) -> bool) -> Option<Spanned<f64>> {
        let value = match self.value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => number(integer).map(|v| v as f64),
            _ => return self.wrong_type("a number", self.unquoted(|text| text.parse::<f64>().is_ok_and(f64::is_finite))),
        };
        let value = value.filter(|v: &f64| v.is_finite() && is_legal(*v));
        if value.is_none() {
            return self.out_of_range(&format!("must be {what}"));
        }
        value.map(|v| self.spanned(v))
    }

    /// What `read` makes of it, or `"none"`; `what` ends the sentence "`key` must be ..".
    pub(crate) fn or_none<T>(&self, what: &str, read: impl FnOnce(&Self) -> Option<Spanned<T>>) -> Option<Spanned<Option<T>>> {
        match self.value {
            DeValue::String(_) => self.text_that(what, |text| text == "none").map(|none| none.with(None)),
            _ => read(self).map(|value| value.map(Some)),
        }
    }

    /// One of the names of a vocabulary.
    pub(crate) fn choice<T: Copy>(&self, vocabulary: &Vocabulary<T>) -> Option<Spanned<T>> {
        let text = self.string()?;
        if let Some(value) = vocabulary.meaning(text) {
            return Some(self.spanned(value));
        }
        self.reading.push(vocabulary.refuse(text, &format!("`{}`", self.name), &self.span, true));
        None
    }

    /// An expression, with ranges of the file where the string has no escapes, and else with that of the whole string.
    pub(crate) fn expression(&self) -> Option<Spanned<Expr>> {
        let text = self.string()?;
        let raw = self.reading.text.get(self.span.range.clone()).unwrap_or_default();
        let inside = raw.find(text).map(|offset| self.span.range.start + offset);
        let place = |range: std::ops::Range<usize>| match inside {
            Some(start) => start + range.start..start + range.end,
            None => self.span.range.clone(),
        };
        match Expr::parse(text) {
            Ok(expr) => Some(self.spanned(expr.with_ranges(&place))),
            Err(error) => {
                let message = format!("`{}` is not an expression", self.name);
                let diagnostic = Diagnostic::new(Id::ExpressionSyntax, message);
                let diagnostic = diagnostic.label(&self.span.at(place(error.range)), error.message);
                let help = "it may hold names, numbers, `+ - * / ^`, and functions such as `rsqrt(head_dim)`";
                self.reading.push(diagnostic.help(help));
                None
            }
        }
    }

    /// A list, which may be empty.
    pub(crate) fn list<T>(&self, read: impl Fn(&Self) -> Option<Spanned<T>>) -> Option<Spanned<Vec<Spanned<T>>>> {
        let DeValue::Array(array) = self.value else {
            let scalar = !self.value.is_table();
            let in_brackets = scalar.then(|| ("write it in brackets", format!("[{}]", self.raw())));
            return self.wrong_type("a list", in_brackets);
        };
        // All elements are read before the list is given up, so that each can be reported.
        let elements = array.iter().map(|e| Value::new(self.reading, self.name, self.key.clone(), e));
        let values: Vec<Option<_>> = elements.map(|e| read(&e?)).collect();
        Some(self.spanned(values.into_iter().collect::<Option<_>>()?))
    }

    /// A list of values that differ.
    pub(crate) fn set<T: PartialEq>(&self, read: impl Fn(&Self) -> Option<Spanned<T>>) -> Option<Spanned<Vec<Spanned<T>>>> {
        let list = self.list(read)?;
        for (i, element) in list.iter().enumerate() {
            if let Some(first) = list[..i].iter().find(|other| other.value == element.value) {
                let text = &self.reading.text[element.span.range.clone()];
                let diagnostic = Diagnostic::new(Id::DuplicateValue, format!("`{}` lists {text} twice", self.name));
                let diagnostic = diagnostic.label(&element.span, "again").context(&first.span, "first here");
                self.reading.push(diagnostic.help("delete one of them"));
            }
        }
        Some(list)
    }

    /// Whether this is a list.
    pub(crate) fn is_list(&self) -> bool {
        self.value.is_array()
    }

    /// Whether this is a string.
    pub(crate) fn is_text(&self) -> bool {
        self.value.is_str()
    }

    /// Whether this is a whole number.
    pub(crate) fn is_integer(&self) -> bool {
        self.value.is_integer()
    }

    /// An inline table, which is called by its key alone.
    pub(crate) fn inline_table(&self) -> Option<Table<'r>> {
        self.table(self.name.to_owned())
    }

    /// A table of this path.
    pub(super) fn table(&self, path: String) -> Option<Table<'r>> {
        match self.value {
            DeValue::Table(table) => Some(Table::new(self.reading, path, self.span.clone(), table)),
            _ => self.wrong_type("a table", None),
        }
    }

    /// The tables of an array, each of this path.
    pub(super) fn tables(&self, path: &str) -> Vec<Table<'r>> {
        let DeValue::Array(array) = self.value else {
            let none: Option<()> = self.wrong_type(&format!("a list of tables, `[[{path}]]`"), None);
            debug_assert!(none.is_none());
            return Vec::new();
        };
        let elements = array.iter().filter_map(|e| Value::new(self.reading, self.name, self.key.clone(), e));
        elements.filter_map(|e| e.table(path.to_owned())).collect()
    }

    /// Reports `value-out-of-range`: "`key` " and the rule.
    pub(crate) fn out_of_range<T>(&self, rule: &str) -> Option<T> {
        let diagnostic = Diagnostic::new(Id::ValueOutOfRange, format!("`{}` {rule}", self.name)).label(&self.span, "");
        self.reading.push(self.usual(diagnostic));
        None
    }

    /// The text of the file.
    fn raw(&self) -> &'r str {
        self.reading.text.get(self.span.range.clone()).unwrap_or_default()
    }

    fn string(&self) -> Option<&'r str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => self.wrong_type("a string", None),
        }
    }

    /// Reports `wrong-type`, with a fix and what to write instead where there is one.
    pub(crate) fn wrong_type<T>(&self, wanted: &str, fix: Option<(&str, String)>) -> Option<T> {
        let article = if matches!(self.value, DeValue::Integer(_) | DeValue::Array(_)) { "an" } else { "a" };
        let diagnostic = Diagnostic::new(Id::WrongType, format!("`{}` must be {wanted}", self.name))
            .label(&self.span, format!("this is {article} {}", self.value.type_str()));
        self.reading.push(match fix {
            Some((help, replacement)) => diagnostic.help(help).patch(&self.span, replacement),
            None => self.usual(diagnostic),
        });
        None
    }

    /// Adds where the value is usually found.
    fn usual(&self, diagnostic: Diagnostic) -> Diagnostic {
        match (self.reading.whereabouts)(self.name) {
            Some(place) => diagnostic.help(format!("`{}` is usually found in {place}", self.name)),
            None => diagnostic.help("the other files under model-specs/ and kernel-templates/ show how it is written"),
        }
    }

    /// The fix for a string that holds what is wanted.
    fn unquoted(&self, is_wanted: impl Fn(&str) -> bool) -> Option<(&'static str, String)> {
        let text = self.value.as_str().filter(|text| is_wanted(text))?;
        Some(("write it without quotes", text.to_owned()))
    }

    /// The fix for a float that is a whole number.
    fn without_fraction(&self) -> Option<(&'static str, String)> {
        let DeValue::Float(float) = self.value else { return None };
        let (whole, fraction) = float.as_str().split_once('.')?;
        let is_whole = whole.bytes().all(|b| b.is_ascii_digit()) && fraction.bytes().all(|b| b == b'0');
        is_whole.then(|| ("write it without a fraction", whole.to_owned()))
    }

    /// What was made of this value, with its place.
    pub(crate) fn spanned<T>(&self, value: T) -> Spanned<T> {
        Spanned { value, span: self.span.clone(), key: self.key.clone() }
    }
}

impl<T: Copy> Vocabulary<T> {
    /// What a name means.
    pub(crate) fn meaning(&self, text: &str) -> Option<T> {
        self.names.iter().find(|(name, _)| *name == text).map(|(_, meaning)| *meaning)
    }

    /// The error for a name that means nothing here; `subject` is what should have a meaning. `quotes` says whether the place
    /// includes quotes, for the fix.
    pub(crate) fn refuse(&self, text: &str, subject: &str, span: &Span, quotes: bool) -> Diagnostic {
        let names = || self.names.iter().map(|(name, _)| *name);
        if self.not_yet.contains(&text) {
            let help = match self.not_yet_id {
                Id::UnknownValue => {
                    format!("what needs `{text}` does not run on this version, and another name computes something else")
                }
                _ => "choose among those that this version has".to_owned(),
            };
            return Diagnostic::new(self.not_yet_id, format!("{subject} cannot be `{text}` yet"))
                .label(span, format!("this version has {}", quoted(names())))
                .help(help);
        }
        let near = nearest(text, names());
        let nearest_first = near.iter().copied().chain(names().filter(|name| !near.contains(name)));
        let diagnostic = Diagnostic::new(Id::UnknownValue, format!("{subject} cannot be `{}`", text.escape_debug()))
            .label(span, format!("legal: {}", quoted(nearest_first)));
        match near.first() {
            None => diagnostic.help("write one of the legal names"),
            Some(name) => {
                let replacement = if quotes { format!("\"{name}\"") } else { (*name).to_owned() };
                diagnostic.help(format!("did you mean `{name}`?")).patch(span, replacement)
            }
        }
    }
}

/// The number, or `None` beyond 128 bits.
fn number(integer: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}
