//! Expressions in Jinja2's grammar, said as calls of functions.

use std::fmt::Write;

use super::SyntaxError;
use super::lexer::Kind;
use super::parser::{Parsed, Parser};

/// How deep an expression may nest.
const DEPTH: usize = 60;

/// A literal that minijinja reads as this text.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Parser<'_> {
    /// Values with commas between them are a tuple.
    pub(super) fn tuple(&mut self, conditional: bool, ends: &[&str]) -> Parsed {
        let first = self.tuple_item(conditional)?;
        if !self.is_operator(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.skip_operator(",") {
            if self.at_end() || self.is_operator(")") || ends.iter().any(|end| self.is_name(end)) {
                break;
            }
            items.push(self.tuple_item(conditional)?);
        }
        Ok(format!("__tuple({})", items.join(", ")))
    }

    fn tuple_item(&mut self, conditional: bool) -> Parsed {
        if conditional { self.expression() } else { self.or() }
    }

    pub(super) fn expression(&mut self) -> Parsed {
        self.nested(|parser| {
            let mut value = parser.or()?;
            while parser.skip_keyword("if") {
                let condition = parser.or()?;
                if parser.skip_keyword("else") {
                    let other = parser.expression()?;
                    value = format!("({value} if {condition} else {other})");
                } else {
                    value = format!("({value} if {condition})");
                }
            }
            Ok(value)
        })
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH {
            let line = self.tokens.get(self.at).map_or(1, |token| token.line);
            return Err(SyntaxError { message: "an expression nests too deep".to_owned(), line });
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn or(&mut self) -> Parsed {
        let mut values = vec![self.and()?];
        while self.skip_keyword("or") {
            values.push(self.and()?);
        }
        Ok(joined(values, " or "))
    }

    fn and(&mut self) -> Parsed {
        let mut values = vec![self.not()?];
        while self.skip_keyword("and") {
            values.push(self.not()?);
        }
        Ok(joined(values, " and "))
    }

    fn not(&mut self) -> Parsed {
        if self.skip_keyword("not") {
            let value = self.nested(Self::not)?;
            return Ok(format!("(not {value})"));
        }
        self.compare()
    }

    fn compare(&mut self) -> Parsed {
        let mut left = self.sum()?;
        let mut parts = Vec::new();
        loop {
            let operator = match self.kind() {
                Some(Kind::Operator("==")) => "__eq",
                Some(Kind::Operator("!=")) => "__ne",
                Some(Kind::Operator("<")) => "__lt",
                Some(Kind::Operator("<=")) => "__le",
                Some(Kind::Operator(">")) => "__gt",
                Some(Kind::Operator(">=")) => "__ge",
                Some(Kind::Name(name)) if name == "in" => "__in",
                Some(Kind::Name(name)) if name == "not" => {
                    let next = self.tokens.get(self.at + 1).map(|token| &token.kind);
                    if !matches!(next, Some(Kind::Name(name)) if name == "in") {
                        break;
                    }
                    self.at += 1;
                    "__notin"
                }
                _ => break,
            };
            self.at += 1;
            let right = self.sum()?;
            parts.push(format!("{operator}({left}, {right})"));
            left = right;
        }
        Ok(if parts.is_empty() { left } else { joined(parts, " and ") })
    }

    /// A chain of operators of one rank, from the left: `__chain(a, "+", b, "-", c)`, so that a long one does not nest.
    fn chain(&mut self, operators: &[&str], next: fn(&mut Self) -> Parsed) -> Parsed {
        let first = next(self)?;
        let mut rest = String::new();
        while let Some(Kind::Operator(operator)) = self.kind()
            && operators.contains(operator)
        {
            self.at += 1;
            let value = next(self)?;
            let _ = write!(rest, ", \"{operator}\", {value}");
        }
        Ok(if rest.is_empty() { first } else { format!("__chain({first}{rest})") })
    }

    fn sum(&mut self) -> Parsed {
        self.chain(&["+", "-"], Self::concat)
    }

    fn concat(&mut self) -> Parsed {
        let mut values = vec![self.product()?];
        while self.skip_operator("~") {
            values.push(self.product()?);
        }
        Ok(if values.len() == 1 { values.remove(0) } else { format!("__concat({})", values.join(", ")) })
    }

    fn product(&mut self) -> Parsed {
        self.chain(&["*", "/", "//", "%"], Self::power)
    }

    fn power(&mut self) -> Parsed {
        self.chain(&["**"], |parser| parser.unary(true))
    }

    fn unary(&mut self, with_filters: bool) -> Parsed {
        let mut value = if self.skip_operator("-") {
            format!("__neg({})", self.nested(|parser| parser.unary(false))?)
        } else if self.skip_operator("+") {
            format!("__pos({})", self.nested(|parser| parser.unary(false))?)
        } else {
            self.primary()?
        };
        value = self.postfix(value)?;
        if with_filters { self.filtered(value) } else { Ok(value) }
    }

    fn primary(&mut self) -> Parsed {
        let value = match self.kind() {
            Some(Kind::Name(name)) => match name.as_str() {
                "true" | "True" => "true".to_owned(),
                "false" | "False" => "false".to_owned(),
                "none" | "None" => "none".to_owned(),
                name => {
                    self.at += 1;
                    // A call by name stays one: minijinja calls macros, `caller` and `loop` by it.
                    if !self.is_operator("(") {
                        return Ok(name.to_owned());
                    }
                    let arguments = self.arguments()?;
                    return Ok(if name == "loop" {
                        format!("loop(__iter({arguments}))")
                    } else {
                        format!("{name}({arguments})")
                    });
                }
            },
            Some(Kind::Text(text)) => {
                let mut text = text.clone();
                while let Some(Kind::Text(more)) = self.tokens.get(self.at + 1).map(|token| &token.kind) {
                    text.push_str(more);
                    self.at += 1;
                }
                quoted(&text)
            }
            Some(Kind::Integer(value)) => value.to_string(),
            Some(Kind::Float(value)) if value.is_finite() => format!("{value:?}"),
            Some(Kind::Float(_)) => "__infinity()".to_owned(),
            Some(Kind::Operator("(")) => {
                self.at += 1;
                let value =
                    if self.is_operator(")") { "__tuple()".to_owned() } else { self.nested(|parser| parser.tuple(true, &[]))? };
                self.expect_operator(")")?;
                return Ok(value);
            }
            Some(Kind::Operator("[")) => {
                self.at += 1;
                return Ok(format!("__list({})", self.items("]", Self::expression)?));
            }
            Some(Kind::Operator("{")) => {
                self.at += 1;
                let pair = |parser: &mut Self| {
                    let key = parser.expression()?;
                    parser.expect_operator(":")?;
                    Ok(format!("{key}, {}", parser.expression()?))
                };
                return Ok(format!("__dict({})", self.items("}", pair)?));
            }
            _ => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        Ok(value)
    }

    /// Items up to a bracket, with commas between them and perhaps behind the last.
    pub(super) fn items(&mut self, end: &str, item: impl Fn(&mut Self) -> Parsed) -> Parsed {
        let mut items = Vec::new();
        while !self.skip_operator(end) {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.skip_operator(end) {
                    break;
                }
            }
            items.push(item(self)?);
        }
        Ok(items.join(", "))
    }

    fn postfix(&mut self, mut value: String) -> Parsed {
        let depth = self.depth;
        loop {
            if self.skip_operator(".") {
                match self.next().map(|token| &token.kind) {
                    Some(Kind::Name(name)) if self.is_operator("(") => {
                        let arguments = self.arguments()?;
                        let comma = if arguments.is_empty() { "" } else { ", " };
                        value = format!("__method({value}, {}{comma}{arguments})", quoted(name));
                    }
                    Some(Kind::Name(name)) => value = format!("__attr({value}, {})", quoted(name)),
                    Some(Kind::Integer(index)) => value = format!("__item({value}, {index})"),
                    _ => {
                        self.at = self.at.saturating_sub(1);
                        return Err(self.unexpected("a name or a number"));
                    }
                }
            } else if self.skip_operator("[") {
                value = self.subscript(&value)?;
            } else if self.is_operator("(") {
                value = self.call(&value)?;
            } else {
                self.depth = depth;
                return Ok(value);
            }
            self.depth += 1;
            if self.depth > DEPTH {
                return self.nested(|_| Ok(String::new()));
            }
        }
    }

    fn call(&mut self, function: &str) -> Parsed {
        let arguments = self.arguments()?;
        let comma = if arguments.is_empty() { "" } else { ", " };
        Ok(format!("__call({function}{comma}{arguments})"))
    }

    fn subscript(&mut self, value: &str) -> Parsed {
        let item = |parser: &mut Self| {
            let part = |parser: &mut Self| {
                if parser.is_operator(":") || parser.is_operator("]") || parser.is_operator(",") {
                    Ok("none".to_owned())
                } else {
                    parser.expression()
                }
            };
            let start = part(parser)?;
            if !parser.skip_operator(":") {
                return Ok((start, false));
            }
            let stop = part(parser)?;
            let step = if parser.skip_operator(":") { part(parser)? } else { "none".to_owned() };
            Ok((format!("{start}, {stop}, {step}"), true))
        };
        if self.is_operator("]") {
            return Err(self.unexpected("a value"));
        }
        let mut items = Vec::new();
        while !self.skip_operator("]") {
            if !items.is_empty() {
                self.expect_operator(",")?;
            }
            items.push(item(self)?);
        }
        match items.as_slice() {
            [(slice, true)] => Ok(format!("__slice({value}, {slice})")),
            [(key, false)] => Ok(format!("__item({value}, {key})")),
            _ => {
                let keys: Vec<_> = items.into_iter().map(|(item, _)| item).collect();
                Ok(format!("__item({value}, __tuple({}))", keys.join(", ")))
            }
        }
    }

    fn arguments(&mut self) -> Parsed {
        self.expect_operator("(")?;
        self.items(")", |parser| {
            if parser.skip_operator("**") {
                return Ok(format!("**{}", parser.expression()?));
            }
            if parser.skip_operator("*") {
                return Ok(format!("*__iter({})", parser.expression()?));
            }
            let next = parser.tokens.get(parser.at + 1).map(|token| &token.kind);
            if let (Some(Kind::Name(name)), Some(Kind::Operator("="))) = (parser.kind(), next) {
                parser.at += 2;
                return Ok(format!("{name}={}", parser.expression()?));
            }
            parser.expression()
        })
    }

    /// Filters and tests behind a value.
    fn filtered(&mut self, mut value: String) -> Parsed {
        loop {
            if self.is_operator("|") {
                value.push_str(&self.filters()?);
            } else if self.skip_keyword("is") {
                value = self.test(&value)?;
            } else if self.is_operator("(") {
                value = self.call(&value)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// `|a|b(c)`, or nothing.
    pub(super) fn filters(&mut self) -> Parsed {
        if self.skip_operator("|") { Ok(format!("|{}", self.filter_chain()?)) } else { Ok(String::new()) }
    }

    /// `a|b(c)`.
    pub(super) fn filter_chain(&mut self) -> Parsed {
        let mut chain = Vec::new();
        loop {
            let name = self.dotted_name()?;
            let arguments = if self.is_operator("(") { format!("({})", self.arguments()?) } else { String::new() };
            chain.push(format!("{name}{arguments}"));
            if !self.skip_operator("|") {
                return Ok(chain.join("|"));
            }
        }
    }

    /// The name of a filter or a test, which may have dots in it.
    fn dotted_name(&mut self) -> Parsed {
        let mut name = self.expect_name()?;
        while self.skip_operator(".") {
            name = format!("{name}.{}", self.expect_name()?);
        }
        Ok(name)
    }

    fn test(&mut self, value: &str) -> Parsed {
        let not = if self.skip_keyword("not") { "not " } else { "" };
        let name = self.dotted_name()?;
        let arguments = match self.kind() {
            Some(Kind::Operator("(")) => self.arguments()?,
            Some(Kind::Name(word)) if matches!(word.as_str(), "else" | "or" | "and" | "if" | "in" | "not" | "recursive") => {
                String::new()
            }
            Some(Kind::Name(word)) if word == "is" => return Err(self.unexpected("no second test")),
            Some(Kind::Name(_) | Kind::Text(_) | Kind::Integer(_) | Kind::Float(_) | Kind::Operator("[" | "{")) => {
                let argument = self.primary()?;
                self.postfix(argument)?
            }
            _ => String::new(),
        };
        let arguments = if arguments.is_empty() { arguments } else { format!("({arguments})") };
        Ok(format!("({value} is {not}{name}{arguments})"))
    }
}

fn joined(mut values: Vec<String>, with: &str) -> String {
    if values.len() == 1 { values.remove(0) } else { format!("({})", values.join(with)) }
}
